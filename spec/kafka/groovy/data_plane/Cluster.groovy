package data_plane

import java.nio.channels.FileChannel
import java.nio.file.StandardOpenOption
import org.apache.kafka.common.errors.ApiException
import org.apache.kafka.common.protocol.Errors
import org.apache.kafka.common.record.*
import org.apache.kafka.common.utils.Time

/** A case: brokers with their directories, a clock, and ZooKeeper's node. Nothing runs but what a command runs. */
class Cluster extends Kafka {
    private static final File HOME = new File(System.getProperty('java.io.tmpdir'), 'brokers')

    final int minInsyncReplicas
    final boolean unclean
    final long lagTimeMax
    final clock = new Clock()
    final zookeeper = new ZooKeeper()
    private final requests = new Requests()
    private final int size
    private final Map<Integer, Broker> brokers = [:]

    Cluster(Map given) {
        size = given.brokers
        minInsyncReplicas = given.min_insync_replicas ?: 1
        unclean = given.unclean ?: false
        lagTimeMax = given.lag_time_max ?: 10
        HOME.deleteDir()
        (1..size).each { directory(it).mkdirs() }
    }

    /** Performs a command; its answer. */
    Map perform(Map command) {
        def broker = brokers[command.broker], fetcher = brokers[command.follower]?.fetchers?.get(command.leader)
        if (command.broker != null && (broker != null) == (command.do == 'start')) {
            return [impossible: broker == null ? 'the broker is down' : 'the broker is up']
        }
        def answer = switch (command.do) {
            case 'start' -> start(command.broker)
            case 'stop' -> leave(broker) { broker.stop() }
            case 'crash' -> crash(broker, command.keep)
            case 'leader_and_isr' -> leaderAndIsr(broker, command)
            case 'zk' -> zookeeper.put(command, command.version)
            case 'append' -> requests.append(broker, command.value, command.acks).subMap('offset', 'error')
            case 'consume' -> requests.consume(broker, command.offset)
            case 'send' -> send(fetcher)
            case 'handle' -> handle(fetcher)
            case 'deliver' -> deliver(fetcher)
            case 'drop' -> drop(fetcher)
            case 'checkpoint' -> broker.checkpoint()
            case 'flush' -> broker.flush()
            case 'run_scheduled' -> broker.runScheduled()
            case 'advance' -> clock.now += command.milliseconds
            case 'shrink' -> shrink(broker)
            case 'answer_isr' -> answerIsr(broker, command)
            default -> throw new IllegalArgumentException("no command $command.do")
        }
        if (since(2, 7)) {
            brokers.values()*.replicas*.tryCompleteActions()
        }
        answer instanceof Map ? answer : [:]
    }

    /** The scheduler logs what a task throws [KafkaScheduler.schedule]. */
    private static void shrink(Broker broker) {
        try {
            invoke(broker.replicas, 'maybeShrinkIsr')
        } catch (ApiException ignored) {
        }
    }

    Map state() {
        [
            brokers: brokers.collectEntries { id, broker -> [id, Observation.of(broker)] }.sort(),
            files: (1..size).collectEntries { [it, Observation.files(directory(it))] },
            *: since(2, 7) ? [:] : [zookeeper: [*: zookeeper.state ?: [:], partition_epoch: zookeeper.version]],
        ]
    }

    void close() {
        brokers.values()*.crash()
        zookeeper.close()
    }

    private static File directory(int broker) {
        new File(HOME, "$broker")
    }

    private void start(int id) {
        brokers[id] = new Broker(id, directory(id), this)
    }

    /** A process ends. Responses that it has sent may still arrive. */
    private void leave(Broker broker, Closure ending) {
        brokers.values()*.fetchers*.get(broker.id).each { it?.send() }
        ending()
        brokers.remove(broker.id)
    }

    private void crash(Broker broker, Integer keep) {
        leave(broker) { broker.crash() }
        def files = new File(directory(broker.id), "$Broker.PARTITION").listFiles()?.toList()
        if (keep != null && files) {
            cut(files.find { it.name.endsWith('.log') }, keep)
            files.findAll { it.name ==~ /.*(index|snapshot)/ }*.delete()
        }
    }

    /** Cuts a log after so many records. */
    private static void cut(File log, int keep) {
        def records = FileRecords.open(log)
        def kept = (since(0, 11) ? records.batches() : records.shallowEntries()).take(keep)*.sizeInBytes().sum(0)
        records.channel().close()
        FileChannel.open(log.toPath(), StandardOpenOption.WRITE).withCloseable { it.truncate(kept) }
    }

    private Map leaderAndIsr(Broker broker, Map command) {
        if (broker.fetchers.values().any { it.blocks() }) {
            return [impossible: 'a fetcher holds the lock of its partitions while it waits for offsets']
        }
        if (command.partition_epoch > zookeeper.version) {
            zookeeper.put(command, command.partition_epoch)
        }
        requests.updateMetadata(broker, command.live, command.controller_epoch)
        try {
            [error: requests.leaderAndIsr(broker, command)]
        } catch (RuntimeException failed) {  // KafkaApis responds with its error
            [error: Errors.forException(failed).name(), failure: failed.toString()]
        }
    }

    private Map send(Fetcher fetcher) {
        if (fetcher?.request != null) {
            return [impossible: 'a request is under way']
        }
        fetcher?.run()
        sent(fetcher)
    }

    /** What a fetcher has sent, or why it has not. */
    private Map sent(Fetcher fetcher) {
        def answer = [request: fetcher?.request == null ? null : requests.described(fetcher.request)]
        fetcher?.failure == null ? answer
            : answer + (fetcher.halted ? [halted: true] : [died: fetcher.failure.toString()])
    }

    private Map handle(Fetcher fetcher) {
        if (fetcher?.request == null || fetcher.response != null) {
            return [impossible: 'no request is under way']
        }
        def leader = brokers[fetcher.leader]
        if (leader == null) {
            return [impossible: 'the leader is down']
        }
        fetcher.response = requests.handle(leader, fetcher.broker.id, fetcher.request)
        fetcher.response.first()
    }

    private Map deliver(Fetcher fetcher) {
        if (fetcher?.response == null) {
            return [impossible: 'no response is under way']
        }
        fetcher.deliver(fetcher.response.last().call())
        sent(fetcher)
    }

    private Map drop(Fetcher fetcher) {
        if (fetcher?.request == null) {
            return [impossible: 'no request is under way']
        }
        fetcher.lose()
        sent(fetcher)
    }

    private Map answerIsr(Broker broker, Map command) {
        if (broker.isrRequests.empty) {
            return [impossible: 'no request is under way']
        }
        def asked = broker.isrRequests.remove(0)
        asked.handler.onComplete(requests.isrResponse(asked.request, [leader: broker.id, *: command]))
        [:]
    }

    /** The time of all brokers. */
    static class Clock implements Time {
        long now = 1000

        long milliseconds() { now }

        long hiResClockMs() { now }

        long nanoseconds() { now * 1_000_000 }

        void sleep(long milliseconds) { now += milliseconds }

        void waitObject(Object object, java.util.function.Supplier condition, long deadline) {
            throw new UnsupportedOperationException()
        }
    }
}
