package kafkaspec.receiver;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import kafka.cluster.Broker;
import org.apache.kafka.common.message.LeaderAndIsrResponseData;
import org.apache.kafka.common.message.StopReplicaResponseData;
import org.apache.kafka.common.message.UpdateMetadataResponseData;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.RequestUtils;
import org.apache.kafka.common.requests.ResponseHeader;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/**
 * A broker at the other end of a channel, on loopback. It has no thread of its own: on request it reads a request and
 * holds it, then answers or hangs up.
 */
final class ListeningBroker implements AutoCloseable {
    private static final int PATIENCE_MS = 10_000;
    private static final int AT_ONCE_MS = 1;

    private final int id;
    /** Keeps the port reserved while this broker is down. */
    private final Socket place = new Socket();
    private ServerSocket listener;
    private Socket connection;
    private RequestHeader header;
    private int unread;

    ListeningBroker(int id) throws IOException {
        this.id = id;
        place.setOption(StandardSocketOptions.SO_REUSEPORT, true);
        place.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        start();
    }

    Broker asKafka() {
        return new Broker(
            id, place.getLocalAddress().getHostAddress(), place.getLocalPort(), new ListenerName("PLAINTEXT"),
            SecurityProtocol.PLAINTEXT);
    }

    void start() throws IOException {
        listener = new ServerSocket();
        listener.setReuseAddress(true);
        listener.setOption(StandardSocketOptions.SO_REUSEPORT, true);
        listener.bind(new InetSocketAddress(place.getLocalAddress(), place.getLocalPort()));
    }

    void stop() throws IOException {
        listener.close();
        hangUp();
    }

    boolean isUp() {
        return !listener.isClosed();
    }

    boolean holdsRequest() {
        return header != null;
    }

    /** Closes the connection, and so many of the next ones before anything is read from them. */
    void breakOff(int next) throws IOException {
        hangUp();
        unread = next;
    }

    /** Waits for a request, and holds it. */
    AbstractControlRequest receive() throws IOException {
        while (true) {
            if (connection == null) {
                connection = accept(PATIENCE_MS);
            }
            AbstractControlRequest request = unread-- > 0 ? null : read();
            if (request != null) {
                unread = 0;
                return request;
            }
            hangUp();
        }
    }

    /** The channel has ended: the next request that was already sent, or null. */
    AbstractControlRequest remainder() throws IOException {
        try {
            if (connection == null && isUp()) {
                connection = accept(AT_ONCE_MS);
            }
        } catch (SocketTimeoutException none) {
            return null;
        }
        AbstractControlRequest request = connection == null ? null : read();
        if (request == null) {
            hangUp();
        }
        return request;
    }

    void answer(Errors error) throws IOException {
        answer(error, header.correlationId());
        header = null;
    }

    /** Answers with the answer to something else. */
    void misanswer() throws IOException {
        answer(Errors.NONE, header.correlationId() + 1);
        header = null;
    }

    private void answer(Errors error, int correlation) throws IOException {
        ResponseHeader answers = new ResponseHeader(correlation, header.toResponseHeader().headerVersion());
        ByteBuffer answer = RequestUtils.serialize(
            answers.data(), answers.headerVersion(), response(error), header.apiVersion());
        DataOutputStream out = new DataOutputStream(connection.getOutputStream());
        byte[] bytes = new byte[Integer.BYTES + answer.remaining()];
        ByteBuffer.wrap(bytes).putInt(answer.remaining()).put(answer);
        out.write(bytes);
    }

    private ApiMessage response(Errors error) {
        return switch (header.apiKey()) {
            case LEADER_AND_ISR -> new LeaderAndIsrResponseData().setErrorCode(error.code());
            case STOP_REPLICA -> new StopReplicaResponseData().setErrorCode(error.code());
            case UPDATE_METADATA -> new UpdateMetadataResponseData().setErrorCode(error.code());
            default -> throw new IllegalStateException("a controller sent " + header.apiKey());
        };
    }

    private Socket accept(int patience) throws IOException {
        listener.setSoTimeout(patience);
        Socket accepted = listener.accept();
        accepted.setSoTimeout(PATIENCE_MS);
        return accepted;
    }

    /** The next request of this connection, or null if it has ended. */
    private AbstractControlRequest read() throws IOException {
        byte[] bytes;
        try {
            DataInputStream in = new DataInputStream(connection.getInputStream());
            bytes = new byte[in.readInt()];
            in.readFully(bytes);
        } catch (EOFException | SocketException ended) {
            return null;
        }
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        header = RequestHeader.parse(buffer);
        return (AbstractControlRequest) AbstractRequest.parseRequest(header.apiKey(), header.apiVersion(), buffer)
            .request;
    }

    private void hangUp() throws IOException {
        header = null;
        if (connection != null) {
            connection.close();
            connection = null;
        }
    }

    @Override
    public void close() throws IOException {
        stop();
        place.close();
    }
}
