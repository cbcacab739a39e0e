package org.apache.zookeeper.server;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.apache.jute.BinaryOutputArchive;
import org.apache.jute.Record;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.SynchronousConnection.Reply;
import org.apache.zookeeper.server.watch.IWatchManager;
import org.apache.zookeeper.txn.CloseSessionTxn;

/**
 * A ZooKeeper server without threads, disk or network: it serves each request completely within the call.
 * The rules are ZooKeeper's own: PrepRequestProcessor, FinalRequestProcessor, DataTree, sessions, watch managers.
 * Nothing in it takes time: a session ends when `endSession` is called.
 */
public final class SynchronousServer extends ZooKeeperServer {
    private static final int SHORTEST_SESSION = 1;
    private static final int LONGEST_SESSION = Integer.MAX_VALUE;

    /** Runs a request in the caller's thread; ZooKeeper's own class queues it. */
    private static final class Preparation extends PrepRequestProcessor {
        Preparation(ZooKeeperServer server, RequestProcessor next) {
            super(server, next);
        }

        void run(Request request) {
            try {
                pRequest(request);
            } catch (RequestProcessorException failed) {
                throw new IllegalStateException(failed);
            }
        }
    }

    /** Decides which ephemeral nodes go with a session, and in which order; ZooKeeper uses the order of a set. */
    private final class Deletions implements RequestProcessor {
        private final RequestProcessor next;

        Deletions(RequestProcessor next) {
            this.next = next;
        }

        @Override
        public void processRequest(Request request) throws RequestProcessorException {
            if (request.type == OpCode.closeSession && request.getTxn() instanceof CloseSessionTxn end) {
                if (outliving) {
                    ephemerals.remove(request.sessionId);
                    end.setPaths2Delete(List.of());
                } else {
                    end.setPaths2Delete(ordered(end.getPaths2Delete()));
                }
            }
            next.processRequest(request);
        }

        private List<String> ordered(List<String> paths) {
            TreeSet<String> others = new TreeSet<>(paths);
            List<String> last = deletionOrder.stream().filter(others::remove).toList();
            List<String> ordered = new ArrayList<>(others);
            ordered.addAll(last);
            return ordered;
        }

        @Override
        public void shutdown() { }
    }

    private final boolean outliving;
    private final Map<Long, ?> ephemerals;
    private final IWatchManager dataWatches;
    private final IWatchManager childWatches;
    private Preparation preparation;
    private List<String> deletionOrder = List.of();
    private int requests;

    /**
     * @param outliving a fault: the end of a session deletes none of its ephemeral nodes [ZOOKEEPER-2985]
     */
    public SynchronousServer(boolean outliving) {
        this.outliving = outliving;
        setZKDatabase(new ZKDatabase(null));
        setMinSessionTimeout(SHORTEST_SESSION);
        setMaxSessionTimeout(LONGEST_SESSION);
        createSessionTracker();
        setupRequestProcessors();
        setState(State.RUNNING);
        ephemerals = ofTree("ephemerals");
        dataWatches = ofTree("dataWatches");
        childWatches = ofTree("childWatches");
    }

    @Override
    protected void setupRequestProcessors() {
        preparation = new Preparation(this, new Deletions(new FinalRequestProcessor(this)));
    }

    @Override
    public void submitRequest(Request request) {
        preparation.run(request);
    }

    @Override
    public void enqueueRequest(Request request) {
        preparation.run(request);
    }

    @Override
    public void submitRequestNow(Request request) {
        preparation.run(request);
    }

    // Sessions.

    /** A new session begins. */
    public SynchronousConnection connect(int sessionTimeout) {
        SynchronousConnection connection = new SynchronousConnection(this);
        createSession(connection, new byte[16], sessionTimeout);
        return connection;
    }

    /** A client returns to its session, without any watches. */
    public SynchronousConnection reconnect(long session) {
        SynchronousConnection connection = new SynchronousConnection(this);
        connection.setSessionId(session);
        return connection;
    }

    public boolean isAlive(long session) {
        return getSessionTracker().isTrackingSession(session);
    }

    /**
     * A session ends, and its ephemeral nodes are deleted, unless they outlive it.
     *
     * @param order the nodes that are deleted last, in this order; all others are deleted before, by path
     */
    public void endSession(long session, List<String> order) {
        deletionOrder = order;
        closeSession(session);
        deletionOrder = List.of();
    }

    // Requests.

    /** Serves a request. On return all resulting events are with their connections. */
    public Reply serve(SynchronousConnection connection, int type, Record body) {
        Request request = new Request(
            connection, connection.getSessionId(), ++requests, type, ByteBuffer.wrap(bytes(body)), List.of());
        preparation.run(request);
        return connection.takeReply();
    }

    private static byte[] bytes(Record body) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            body.serialize(BinaryOutputArchive.getArchive(bytes), "request");
            return bytes.toByteArray();
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible);
        }
    }

    // Observation and preparation from outside.

    /** A node's data, or null if the node does not exist. */
    public byte[] data(String path) {
        DataNode node = tree().getNode(path);
        return node == null ? null : node.data;
    }

    /** A node's stat, or null if the node does not exist. */
    public Stat stat(String path) {
        DataNode node = tree().getNode(path);
        if (node == null) {
            return null;
        }
        Stat stat = new Stat();
        node.copyStat(stat);
        return stat;
    }

    /** Creates a persistent node, without any session's request. */
    public void create(String path, byte[] data) {
        try {
            tree().createNode(path, data, Ids.OPEN_ACL_UNSAFE, 0, -1, 0, 0);
        } catch (KeeperException refused) {
            throw new IllegalArgumentException(path, refused);
        }
    }

    /** Deletes a node, without any session's request. */
    public void remove(String path) {
        try {
            tree().deleteNode(path, 0);
        } catch (KeeperException refused) {
            throw new IllegalArgumentException(path, refused);
        }
    }

    /** Replaces a node's data invisibly: version and zxid stay, no watch fires. */
    public void overwrite(String path, byte[] data) {
        tree().getNode(path).data = data;
    }

    public boolean watchesData(long session, String path) {
        return watches(dataWatches, session, path);
    }

    public boolean watchesChildren(long session, String path) {
        return watches(childWatches, session, path);
    }

    /** Does not use `containsWatcher`: in 3.8.4 it returns true if any connection watches the path. */
    private static boolean watches(IWatchManager watches, long session, String path) {
        var paths = watches.getWatches().getPaths(session);
        return paths != null && paths.contains(path);
    }

    /** A field of the tree by its name; the caller must know its type. */
    @SuppressWarnings("unchecked")
    private <T> T ofTree(String name) {
        try {
            Field field = DataTree.class.getDeclaredField(name);
            field.setAccessible(true);
            return (T) field.get(tree());
        } catch (ReflectiveOperationException changed) {
            throw new IllegalStateException("the tree of this ZooKeeper has no field " + name, changed);
        }
    }

    private DataTree tree() {
        return getZKDatabase().getDataTree();
    }
}
