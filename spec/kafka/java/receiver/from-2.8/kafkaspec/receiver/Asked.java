package kafkaspec.receiver;

import java.net.InetAddress;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.network.Send;
import org.apache.kafka.common.requests.AbstractControlRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;

/** The channel of a request; it keeps the response. */
final class Asked extends RequestContext {
    private AbstractResponse answer;

    Asked(AbstractControlRequest request) {
        super(
            new RequestHeader(request.apiKey(), request.version(), "controller", 0), "",
            InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS, new ListenerName("PLAINTEXT"),
            SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, true);
    }

    AbstractResponse answer() {
        return answer;
    }

    @Override
    public Send buildResponseSend(AbstractResponse response) {
        answer = response;
        return null;
    }
}
