package org.apache.zookeeper;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.jute.Record;
import org.apache.zookeeper.AsyncCallback.ACLCallback;
import org.apache.zookeeper.AsyncCallback.Children2Callback;
import org.apache.zookeeper.AsyncCallback.DataCallback;
import org.apache.zookeeper.AsyncCallback.MultiCallback;
import org.apache.zookeeper.AsyncCallback.StatCallback;
import org.apache.zookeeper.AsyncCallback.StringCallback;
import org.apache.zookeeper.AsyncCallback.VoidCallback;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.ZooDefs.OpCode;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.proto.CreateRequest;
import org.apache.zookeeper.proto.CreateResponse;
import org.apache.zookeeper.proto.DeleteRequest;
import org.apache.zookeeper.proto.ExistsRequest;
import org.apache.zookeeper.proto.ExistsResponse;
import org.apache.zookeeper.proto.GetChildren2Request;
import org.apache.zookeeper.proto.GetChildren2Response;
import org.apache.zookeeper.proto.GetDataRequest;
import org.apache.zookeeper.proto.GetDataResponse;
import org.apache.zookeeper.proto.SetDataRequest;
import org.apache.zookeeper.proto.SetDataResponse;
import org.apache.zookeeper.proto.SetWatches;
import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.SynchronousConnection;
import org.apache.zookeeper.server.SynchronousConnection.Reply;
import org.apache.zookeeper.server.SynchronousServer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A client's handle whose requests go to a server in this JVM, one at a time, each when the handle's owner lets it.
 * It replaces ZooKeeper's own class of this name, earlier on the class path, so that Kafka's unpatched
 * ZooKeeperClient opens it. It has the methods that Kafka calls, and answers within the call: events first, then the
 * reply.
 */
public class ZooKeeper implements AutoCloseable {
    /** ZooKeeper's own states, which Kafka reads. */
    public enum States {
        CONNECTING, ASSOCIATING, CONNECTED, CONNECTEDREADONLY, CLOSED, AUTH_FAILED, NOT_CONNECTED;

        public boolean isAlive() {
            return this != CLOSED && this != AUTH_FAILED;
        }

        public boolean isConnected() {
            return this == CONNECTED || this == CONNECTEDREADONLY;
        }
    }

    /** The fate of a request. */
    public enum Verdict {
        /** It is served and answered. */
        SERVE,
        /** It is served, and the connection is lost before the reply arrives. */
        LOSE_REPLY,
        /** The connection is lost before it is served. */
        LOSE_REQUEST,
        /** It throws, for a reason unrelated to ZooKeeper. */
        FAIL,
        /** The process dies before it sends the request. */
        DIE
    }

    /**
     * A request before it is sent.
     *
     * @param operation the name of the client's method
     * @param path its path; for a multi, that of the last operation
     * @param watch whether it arms a watch
     * @param type ZooKeeper's code of the operation
     * @param body the record that is sent
     * @param writes the operations of a writing request, in order; empty for a read
     */
    public record Request(String operation, String path, boolean watch, int type, Record body, List<Op> writes) {
        static Request read(String operation, String path, boolean watch, int type, Record body) {
            return new Request(operation, path, watch, type, body, List.of());
        }

        static Request write(String operation, int type, Record body, Op write) {
            return new Request(operation, write.getPath(), false, type, body, List.of(write));
        }
    }

    /** The process that owns a handle. All methods but `server` may block until it is this process's turn. */
    public interface Owner {
        /** The server to which the handle connects. */
        SynchronousServer server();

        /** A handle is about to open its session. */
        void opens(ZooKeeper handle);

        /** A handle is about to send a request; returns its fate. */
        Verdict sends(Request request);

        /** A thread reads the state of a handle that has no connection. */
        void waitsForConnection();

        /** A request was served, whether or not the reply arrives. */
        void served(Request request);

        /** A thread waits for an answer that will never come. */
        void waitsForEver();

        /** Whether a request that finds the session ended informs the client, or only fails. */
        boolean learnsOfExpiry();

        /** The client's watcher is called, on the calling thread. */
        default void tell(Runnable call) {
            call.run();
        }

        /** A handle sends a request although its session is known to have ended. */
        default void sendsTooLate() { }
    }

    private static final Logger LOG = LoggerFactory.getLogger(ZooKeeper.class);

    /** The opener of a handle, by its connect string. Kafka's constructor calls allow no other way. */
    private static volatile Function<String, Owner> owners;

    private final Owner owner;
    private final SynchronousServer server;
    private final Set<String> dataWatches = new LinkedHashSet<>();
    private final Set<String> existWatches = new LinkedHashSet<>();
    private final Set<String> childWatches = new LinkedHashSet<>();
    private volatile Watcher watcher;
    private volatile States state = States.CONNECTING;
    private SynchronousConnection connection;
    private long lastSeenZxid;

    public ZooKeeper(String connectString, int sessionTimeout, Watcher watcher, ZKClientConfig config) {
        this(connectString, sessionTimeout, watcher);
    }

    public ZooKeeper(String connectString, int sessionTimeout, Watcher watcher) {
        this.watcher = watcher;
        owner = owners.apply(connectString);
        server = owner.server();
        owner.opens(this);
        connection = server.connect(sessionTimeout);
        state = States.CONNECTED;
    }

    public static void ownedBy(Function<String, Owner> owners) {
        ZooKeeper.owners = owners;
    }

    // Kafka's questions to the handle itself.

    public long getSessionId() {
        return connection.getSessionId();
    }

    /** Without a connection, Kafka's waitUntilConnected waits here. */
    public States getState() {
        if (state == States.CONNECTING) {
            owner.waitsForConnection();
        }
        return state;
    }

    public void register(Watcher watcher) {
        this.watcher = watcher;
    }

    public void addAuthInfo(String scheme, byte[] credentials) {
        throw new UnsupportedOperationException("addAuthInfo");
    }

    @Override
    public void close() {
        if (isDead()) {
            return;
        }
        if (connection != null && server.isAlive(connection.getSessionId())) {
            server.endSession(connection.getSessionId(), List.of());
        }
        die();
    }

    // Called by the owner.

    public SynchronousConnection connection() {
        return connection;
    }

    public boolean isDead() {
        return state == States.CLOSED;
    }

    public boolean isAway() {
        return state == States.CONNECTING && connection != null;
    }

    /** Pending events arrive. */
    public void deliver() {
        for (WatchedEvent event; (event = connection.events().poll()) != null; ) {
            if (disarms(event)) {
                tell(event);
            }
        }
    }

    /**
     * Pending events about a path's children, if any, arrive before all others.
     */
    public boolean deliverChildrenOf(String path) {
        List<WatchedEvent> events = connection.events().stream().filter(event -> isOfChildren(event, path)).toList();
        connection.events().removeAll(events);
        events.stream().filter(this::disarms).forEach(this::tell);
        return !events.isEmpty();
    }

    /** Cancels a pending event about a path's children: its watch is armed as before. */
    public void watchChildrenOn(String path) {
        if (connection.events().removeIf(event -> isOfChildren(event, path))) {
            server.serve(connection, OpCode.getChildren2, new GetChildren2Request(path, true));
        }
    }

    private static boolean isOfChildren(WatchedEvent event, String path) {
        return event.getType() == Watcher.Event.EventType.NodeChildrenChanged && event.getPath().equals(path);
    }

    /** The connection is lost, with everything pending on it. */
    public void loseConnection() {
        connection.close();
        connection.events().clear();
        state = States.CONNECTING;
    }

    /**
     * The connection is restored, and the watches are armed again. Kafka's watcher receives no SyncConnected: that
     * would only wake threads in waitUntilConnected, and such a thread waits in getState, under the lock that the
     * watcher needs.
     */
    public void reconnect() {
        connection = server.reconnect(connection.getSessionId());
        state = States.CONNECTED;
        SetWatches watches = new SetWatches(
            lastSeenZxid, List.copyOf(dataWatches), List.copyOf(existWatches), List.copyOf(childWatches));
        server.serve(connection, OpCode.setWatches, watches);
    }

    /** The session has ended while the connection was lost: the next request, if any, will find out. */
    public void mayFindOut() {
        if (state == States.CONNECTING) {
            state = States.CONNECTED;
        }
    }

    /** The session has ended, and the client knows it. */
    public void expire() {
        die();
        tell(new WatchedEvent(Watcher.Event.EventType.None, Watcher.Event.KeeperState.Expired, null));
    }

    /** The client receives that it has its session. Kafka's own client polls instead. */
    public void tellConnected() {
        tell(new WatchedEvent(Watcher.Event.EventType.None, Watcher.Event.KeeperState.SyncConnected, null));
    }

    /** The client fails to authenticate; connection and session are unaffected. */
    public void failAuthentication() {
        watcher.process(new WatchedEvent(Watcher.Event.EventType.None, Watcher.Event.KeeperState.AuthFailed, null));
    }

    /** The process has ended: nothing is sent from now on. */
    public void die() {
        if (connection != null) {
            connection.close();
            connection.events().clear();
        }
        state = States.CLOSED;
    }

    private void tell(WatchedEvent event) {
        owner.tell(() -> watcher.process(event));
    }

    private boolean disarms(WatchedEvent event) {
        String path = event.getPath();
        return switch (event.getType()) {
            case NodeCreated, NodeDataChanged -> dataWatches.remove(path) | existWatches.remove(path);
            case NodeChildrenChanged -> childWatches.remove(path);
            case NodeDeleted -> dataWatches.remove(path) | existWatches.remove(path) | childWatches.remove(path);
            default -> false;
        };
    }

    // Requests.

    private Reply send(Request request) {
        if (isDead()) {
            owner.sendsTooLate();
            return Reply.of(Code.SESSIONEXPIRED);
        }
        Verdict verdict = owner.sends(request);
        if (verdict == Verdict.DIE || isDead()) {
            return Reply.of(Code.SESSIONEXPIRED);
        }
        if (verdict == Verdict.FAIL) {
            throw new IllegalArgumentException("this request fails");
        }
        if (!server.isAlive(connection.getSessionId())) {
            if (owner.learnsOfExpiry()) {
                die();
            }
            return Reply.of(Code.SESSIONEXPIRED);
        }
        if (verdict == Verdict.LOSE_REQUEST) {
            loseConnection();
            return Reply.of(Code.CONNECTIONLOSS);
        }
        Reply reply = server.serve(connection, request.type(), request.body());
        owner.served(request);
        if (verdict == Verdict.LOSE_REPLY) {
            loseConnection();
            return Reply.of(Code.CONNECTIONLOSS);
        }
        lastSeenZxid = Math.max(lastSeenZxid, reply.zxid());
        deliver();
        if (request.watch()) {
            arm(request, reply);
        }
        return reply;
    }

    /**
     * Calls back as ZooKeeper's event thread does: it logs an exception of the callback, and goes on. The thread of
     * Kafka that waits for the callback then waits for ever. [ClientCnxn.EventThread.processEvent, 3.8.4]
     */
    private void answer(Runnable callback) {
        try {
            callback.run();
        } catch (RuntimeException thrown) {
            LOG.error("Caught unexpected throwable", thrown);
            owner.waitsForEver();
        }
    }

    private void arm(Request request, Reply reply) {
        if (reply.isOk()) {
            (request.type() == OpCode.getChildren2 ? childWatches : dataWatches).add(request.path());
        } else if (request.type() == OpCode.exists && reply.error() == Code.NONODE.intValue()) {
            existWatches.add(request.path());
        }
    }

    private Reply sendExists(String path, boolean watch) {
        return send(Request.read("exists", path, watch, OpCode.exists, new ExistsRequest(path, watch)));
    }

    private Reply sendGetData(String path, boolean watch) {
        return send(Request.read("getData", path, watch, OpCode.getData, new GetDataRequest(path, watch)));
    }

    private Reply sendGetChildren(String path, boolean watch) {
        Record body = new GetChildren2Request(path, watch);
        return send(Request.read("getChildren", path, watch, OpCode.getChildren2, body));
    }

    private Reply sendCreate(String path, byte[] data, List<ACL> acl, CreateMode mode) {
        Record body = new CreateRequest(path, data, acl, mode.toFlag());
        return send(Request.write("create", OpCode.create, body, Op.create(path, data, acl, mode)));
    }

    private Reply sendSetData(String path, byte[] data, int version) {
        Record body = new SetDataRequest(path, data, version);
        return send(Request.write("setData", OpCode.setData, body, Op.setData(path, data, version)));
    }

    private Reply sendDelete(String path, int version) {
        Record body = new DeleteRequest(path, version);
        return send(Request.write("delete", OpCode.delete, body, Op.delete(path, version)));
    }

    /** Sorts children: the order of the server's set would differ between runs. */
    private static List<String> children(Reply reply) {
        List<String> children = new ArrayList<>(((GetChildren2Response) reply.body()).getChildren());
        Collections.sort(children);
        return children;
    }

    // Asynchronous requests; since 1.1 all of Kafka's are.

    public void exists(String path, boolean watch, StatCallback callback, Object context) {
        Reply reply = sendExists(path, watch);
        Stat stat = reply.isOk() ? ((ExistsResponse) reply.body()).getStat() : null;
        answer(() -> callback.processResult(reply.error(), path, context, stat));
    }

    public void getData(String path, boolean watch, DataCallback callback, Object context) {
        Reply reply = sendGetData(path, watch);
        if (reply.isOk()) {
            GetDataResponse found = (GetDataResponse) reply.body();
            answer(() -> callback.processResult(reply.error(), path, context, found.getData(), found.getStat()));
        } else {
            answer(() -> callback.processResult(reply.error(), path, context, null, null));
        }
    }

    public void getChildren(String path, boolean watch, Children2Callback callback, Object context) {
        Reply reply = sendGetChildren(path, watch);
        if (reply.isOk()) {
            Stat stat = ((GetChildren2Response) reply.body()).getStat();
            answer(() -> callback.processResult(reply.error(), path, context, children(reply), stat));
        } else {
            answer(() -> callback.processResult(reply.error(), path, context, null, null));
        }
    }

    public void create(
            String path, byte[] data, List<ACL> acl, CreateMode mode, StringCallback callback, Object context) {
        Reply reply = sendCreate(path, data, acl, mode);
        String created = reply.isOk() ? ((CreateResponse) reply.body()).getPath() : null;
        answer(() -> callback.processResult(reply.error(), path, context, created));
    }

    public void setData(String path, byte[] data, int version, StatCallback callback, Object context) {
        Reply reply = sendSetData(path, data, version);
        Stat stat = reply.isOk() ? ((SetDataResponse) reply.body()).getStat() : null;
        answer(() -> callback.processResult(reply.error(), path, context, stat));
    }

    public void delete(String path, int version, VoidCallback callback, Object context) {
        Reply reply = sendDelete(path, version);
        answer(() -> callback.processResult(reply.error(), path, context));
    }

    public void multi(Iterable<Op> operations, MultiCallback callback, Object context) {
        Reply reply = sendMulti(operations);
        List<OpResult> results = results(reply);
        answer(() -> callback.processResult(firstError(reply, results), null, context, results));
    }

    // Synchronous requests; until 1.0 ZkClient's are.

    public Stat exists(String path, boolean watch) throws KeeperException {
        Reply reply = sendExists(path, watch);
        return reply.error() == Code.NONODE.intValue() ? null : ((ExistsResponse) answered(reply, path)).getStat();
    }

    public byte[] getData(String path, boolean watch, Stat stat) throws KeeperException {
        GetDataResponse found = (GetDataResponse) answered(sendGetData(path, watch), path);
        if (stat != null) {
            DataTree.copyStat(found.getStat(), stat);
        }
        return found.getData();
    }

    public List<String> getChildren(String path, boolean watch) throws KeeperException {
        Reply reply = sendGetChildren(path, watch);
        answered(reply, path);
        return children(reply);
    }

    public String create(String path, byte[] data, List<ACL> acl, CreateMode mode) throws KeeperException {
        return ((CreateResponse) answered(sendCreate(path, data, acl, mode), path)).getPath();
    }

    public Stat setData(String path, byte[] data, int version) throws KeeperException {
        return ((SetDataResponse) answered(sendSetData(path, data, version), path)).getStat();
    }

    public void delete(String path, int version) throws KeeperException {
        answered(sendDelete(path, version), path);
    }

    private static Record answered(Reply reply, String path) throws KeeperException {
        if (!reply.isOk()) {
            throw KeeperException.create(Code.get(reply.error()), path);
        }
        return reply.body();
    }

    /** The multi of a Transaction, by which Kafka 2.1 elects a controller. */
    public List<OpResult> multi(Iterable<Op> operations) throws KeeperException {
        Reply reply = sendMulti(operations);
        List<OpResult> results = results(reply);
        Code error = Code.get(firstError(reply, results));
        if (error != Code.OK) {
            throw KeeperException.create(error);
        }
        return results;
    }

    public Transaction transaction() {
        return new Transaction(this);
    }

    private Reply sendMulti(Iterable<Op> operations) {
        List<Op> writes = new ArrayList<>();
        operations.forEach(writes::add);
        String path = writes.get(writes.size() - 1).getPath();
        Record body = new MultiOperationRecord(writes);
        return send(new Request("multi", path, false, OpCode.multi, body, List.copyOf(writes)));
    }

    private static List<OpResult> results(Reply reply) {
        return reply.body() == null ? null : ((MultiResponse) reply.body()).getResultList();
    }

    /** ZooKeeper's own client reports a multi by its first failed operation. [ClientCnxn, 3.8.4, 707] */
    private static int firstError(Reply reply, List<OpResult> results) {
        if (results == null) {
            return reply.error();
        }
        return results.stream()
            .filter(OpResult.ErrorResult.class::isInstance)
            .mapToInt(result -> ((OpResult.ErrorResult) result).getErr())
            .filter(error -> error != Code.OK.intValue())
            .findFirst()
            .orElse(Code.OK.intValue());
    }

    public void getACL(String path, Stat stat, ACLCallback callback, Object context) {
        throw new UnsupportedOperationException("getACL");
    }

    public void setACL(String path, List<ACL> acl, int version, StatCallback callback, Object context) {
        throw new UnsupportedOperationException("setACL");
    }
}
