package data_plane

import java.util.concurrent.SynchronousQueue
import java.util.concurrent.TimeUnit
import kafka.common.*
import kafka.server.*
import org.apache.kafka.clients.*
import org.apache.kafka.common.errors.*
import org.apache.kafka.common.internals.*
import org.apache.kafka.common.requests.*
import org.apache.kafka.common.utils.*
import scala.Function0

/**
 * A replica fetcher thread of Kafka's.
 *
 * Its `doWork` runs in a thread of ours, and only while a command waits for it. Where it would wait for the response
 * to a request, it stops, and the command ends.
 */
class Fetcher extends Kafka {
    private static final ENDED = new Object()
    private static final LOST = new Object()
    private static final CURRENT = new ThreadLocal<Fetcher>()

    final Broker broker
    final int leader
    final thread
    /** The request whose response it waits for, or null. */
    def request
    /** What the leader responds, and how this becomes a response; null until it has handled the request. */
    List response
    /** Why it runs no more, or null. */
    Throwable failure

    private final SynchronousQueue orders = new SynchronousQueue()
    private final SynchronousQueue events = new SynchronousQueue()
    private Thread worker
    private boolean closed
    private Halted exit

    Fetcher(Broker broker, int number, source, manager) {
        this.broker = broker
        leader = source.id()
        def wire = [
            sendRequest: { builder -> delivered(builder.build()) }, brokerEndPoint: { -> source },
            initiateClose: { -> }, close: { -> }].asType(BlockingSend ?: Map)
        thread = subclass(
            ReplicaFetcherThread, [start: { -> }, awaitShutdown: { -> close() }],
            "follower-${broker.id}".toString(), number, source, broker.config, broker.replicas, broker.metrics,
            broker.time, QuotaFactory.UnboundedQuota$.MODULE$, broker.quota, wire, '',
            since(2, 3) ? manager.failedPartitions() : null, since(3, 3) ? endPoint(wire) : null, broker.version)
        if (!since(0, 11)) {
            field(thread, 'networkClient').close()
            replace(thread, 'networkClient', networkClient())
        }
    }

    /** What asks the leader since 3.3. */
    private endPoint(wire) {
        make(
            RemoteLeaderEndPoint, '', wire, make(FetchSessionHandler, make(LogContext, ''), leader), broker.config,
            broker.replicas, QuotaFactory.UnboundedQuota$.MODULE$, broker.version, { -> -1L } as Function0)
    }

    /** What asks the leader in 0.10: it keeps the request until it is polled. */
    private networkClient() {
        def sent = null
        subclass(NetworkClient, [
            isReady: { node, now -> true },
            ready: { node, now -> true },
            close: { Object... any -> },
            send: { request, now -> sent = request },
            poll: { timeout, now ->
                def asked = sent
                sent = null
                asked == null ? [] : [delivered(asked.requestBuilder().build(), asked)]
            }], new ManualMetadataUpdater(), 'follower', broker.time)
    }

    /** Its state of the partition, or null. */
    def fetchState() {
        field(thread, 'partitionStates').stateValue(Broker.PARTITION)
    }

    /** Whether it holds the lock of its partitions while it waits. */
    boolean blocks() {
        field(thread, 'partitionMapLock').locked
    }

    /** Whether it has ended its broker's process. */
    boolean isHalted() {
        failure?.class?.simpleName in ['FatalExitError', 'Halted']
    }

    /** In 0.10 it reads the topic's configuration before it truncates, and exits if unclean elections are off. */
    static void readsConfig() {
        def fetcher = CURRENT.get()
        if (fetcher != null && !fetcher.broker.unclean && !since(0, 11)) {
            throw fetcher.exit = new Halted()
        }
    }

    static class Halted extends RuntimeException { }

    /** The leader's response leaves it: what the leader reads is read now. */
    void send() {
        if (response != null) {
            def body = response.last().call()
            response = [response.first(), { body }]
        }
    }

    /** Runs until it waits for a response or has nothing more to do. */
    void run() {
        if (failure != null) {
            return
        }
        if (worker == null) {
            worker = Thread.startDaemon("fetcher of $broker.id from $leader") { work() }
        }
        resume('run')
    }

    /** Lets it go on with a response of the leader. */
    void deliver(body) {
        resume(body)
    }

    /** Lets it go on with a connection that is lost. */
    void lose() {
        resume(LOST)
    }

    /** Ends it. */
    void close() {
        broker.fetchers.remove(leader, this)
        if (!closed) {
            closed = true
            if (request != null) {
                resume(LOST)
            }
            if (worker != null && failure == null) {
                orders.put(ENDED)
                worker.join()
            }
        }
    }

    private void resume(order) {
        request = response = null
        orders.put(order)
        def event = events.poll(20, TimeUnit.SECONDS)
        if (event == null) {
            throw new IllegalStateException("a fetcher is stuck at ${worker.stackTrace.join(' ')}")
        }
        if (event instanceof Throwable) {
            failure = event
        } else if (event != ENDED) {
            request = event
        }
    }

    private void work() {
        CURRENT.set(this)
        while (orders.take() != ENDED) {
            try {
                invoke(thread, 'doWork')
                if (exit != null) {
                    throw exit
                }
                events.put(ENDED)
            } catch (Throwable ends) {
                events.put(ends)
                return
            }
        }
    }

    /** In its thread: the response to a request; in 0.10 with the client's own form of the request. */
    private delivered(asked, ClientRequest inOld = null) {
        def body = LOST
        if (!closed) {
            events.put(asked)
            body = orders.take()
        }
        if (inOld != null) {
            def received = body == LOST ? null : body
            return make(ClientResponse, inOld.makeHeader(), inOld.destination(), received == null, received)
        }
        if (body == LOST) {
            throw new DisconnectException()
        }
        make(ClientResponse, since(3) ? new RequestHeader(asked.apiKey(), asked.version(), '', 0) : null, '', body)
    }
}
