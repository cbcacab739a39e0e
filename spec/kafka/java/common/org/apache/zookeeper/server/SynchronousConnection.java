package org.apache.zookeeper.server;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.security.cert.Certificate;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Queue;
import org.apache.jute.Record;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.ReplyHeader;

/**
 * The server's end of a connection without a socket: it keeps the last reply and the watch events.
 * ZooKeeper's processors write to it as to any other connection; the client's handle takes everything from here.
 */
public final class SynchronousConnection extends ServerCnxn {
    /** A reply: ZooKeeper's error code (0 is none), the zxid at which it holds, and the result. */
    public record Reply(int error, long zxid, Record body) {
        public static Reply of(Code code) {
            return new Reply(code.intValue(), 0, null);
        }

        public boolean isOk() {
            return error == Code.OK.intValue();
        }
    }

    private final SynchronousServer server;
    private final ServerStats stats;
    private final Queue<WatchedEvent> events = new ArrayDeque<>();
    private Reply reply;
    private boolean open = true;
    private long session;
    private int sessionTimeout;

    SynchronousConnection(SynchronousServer server) {
        super(server);
        this.server = server;
        stats = new ServerStats(server);
    }

    /** The pending events for the client, oldest first. */
    public Queue<WatchedEvent> events() {
        return events;
    }

    /** The connection ends, and the server forgets its watches; the session lives on. */
    public void close() {
        server.getZKDatabase().removeCnxn(this);
        open = false;
    }

    Reply takeReply() {
        Reply taken = reply;
        reply = null;
        return taken;
    }

    // Called by ZooKeeper's processors.

    @Override
    public int sendResponse(ReplyHeader header, Record body, String tag, String key, Stat stat, int operation) {
        reply = new Reply(header.getErr(), header.getZxid(), body);
        return 0;
    }

    @Override
    public void process(WatchedEvent event, List<ACL> acl) {
        if (open) {
            events.add(event);
        }
    }

    @Override
    public long getSessionId() {
        return session;
    }

    @Override
    void setSessionId(long session) {
        this.session = session;
    }

    @Override
    int getSessionTimeout() {
        return sessionTimeout;
    }

    @Override
    void setSessionTimeout(int timeout) {
        sessionTimeout = timeout;
    }

    @Override
    protected ServerStats serverStats() {
        return stats;
    }

    @Override
    public InetSocketAddress getRemoteSocketAddress() {
        return InetSocketAddress.createUnresolved("here", 0);
    }

    // Only for sockets.

    @Override
    public void close(DisconnectReason reason) { }

    @Override
    public void sendCloseSession() { }

    @Override
    void sendBuffer(ByteBuffer... buffers) { }

    @Override
    void enableRecv() { }

    @Override
    void disableRecv(boolean waitDisableRecv) { }

    @Override
    public int getInterestOps() {
        return 0;
    }

    @Override
    public boolean isSecure() {
        return false;
    }

    @Override
    public Certificate[] getClientCertificateChain() {
        return null;
    }

    @Override
    public void setClientCertificateChain(Certificate[] chain) { }
}
