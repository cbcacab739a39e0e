package kafkaspec.control;

import kafka.server.KafkaConfig;
import kafka.utils.ZkUtils;
import kafka.utils.ZkUtils$;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeper.Request;
import org.apache.zookeeper.ZooKeeper.Verdict;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.server.SynchronousServer;

/**
 * Kafka's own client of ZooKeeper until 1.0, which makes each request a batch of its own. Requests that do not count
 * are served at once: those that create a state's parent nodes, after the creation that finds them missing; the check
 * that the root exists; and the read of an existing state that an error quotes.
 */
final class BatchedClient implements ZooKeeper.Owner {
    private final Meanwhile meanwhile;
    private ZooKeeper handle;
    /** The path whose creation failed and which is read next, or null. */
    private String thereAlready;

    private BatchedClient(Meanwhile meanwhile) {
        this.meanwhile = meanwhile;
    }

    static ZkUtils connect(KafkaConfig config, Meanwhile meanwhile) {
        BatchedClient client = new BatchedClient(meanwhile);
        ZooKeeper.ownedBy(connectString -> client);
        return ZkUtils$.MODULE$.apply(
            config.zkConnect(), config.zkSessionTimeoutMs(), config.zkConnectionTimeoutMs(), false);
    }

    /** ZkClient handles events on a thread that may not send requests. */
    @Override
    public void tell(Runnable call) {
        Thread thread = new Thread(call);
        thread.setDaemon(true);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException problem) {
            throw new IllegalStateException(problem);
        }
    }

    @Override
    public SynchronousServer server() {
        return meanwhile.server();
    }

    /** ZkClient waits until another thread reports the connection. */
    @Override
    public void opens(ZooKeeper opening) {
        handle = opening;
        meanwhile.opens(opening);
        Thread thread = new Thread(opening::tellConnected);
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public Verdict sends(Request request) {
        if (handle.isAway()) {
            meanwhile.waitsForConnection();
        }
        boolean isQuoted = request.path().equals(thereAlready) && request.writes().isEmpty();
        thereAlready = null;
        if (isQuoted || !counts(request)) {
            return Verdict.SERVE;
        }
        meanwhile.batchBegins();
        Verdict verdict = meanwhile.sends(request);
        if (request.type() == OpCode.create && server().stat(request.path()) != null) {
            thereAlready = request.path();
        }
        return verdict;
    }

    private boolean counts(Request request) {
        if (request.type() != OpCode.create) {
            return request.type() != OpCode.exists;
        }
        String path = request.path();
        return path.endsWith("/state") && server().stat(path.substring(0, path.lastIndexOf('/'))) != null;
    }

    @Override
    public void waitsForConnection() { }

    @Override
    public void served(Request request) { }

    @Override
    public void waitsForEver() { }

    @Override
    public boolean learnsOfExpiry() {
        return false;
    }
}
