package data_plane

import java.util.concurrent.ScheduledFuture
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicBoolean
import kafka.cluster.*
import kafka.log.*
import kafka.metrics.*
import kafka.server.*
import kafka.server.metadata.*
import kafka.utils.*
import kafka.utils.timer.*
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.metrics.Metrics
import org.apache.kafka.server.*
import org.apache.kafka.server.common.*
import org.apache.kafka.server.config.*
import org.apache.kafka.server.metrics.*
import org.apache.kafka.server.util.*
import org.apache.kafka.server.util.timer.*
import org.apache.kafka.storage.internals.log.*
import scala.Function0

/** A broker's replica manager with its logs, as long as its process lives. */
class Broker extends Kafka {
    static final PARTITION = new TopicPartition('t', 0)
    private static final NO_TOPICS = scala.collection.immutable.Set$.MODULE$.empty()
    private static final int NEVER = Integer.MAX_VALUE
    private static final CONFIGS = [:]

    final int id
    final time
    final boolean unclean
    final config
    /** The version of the brokers' protocol, since 3.3. */
    final version
    final metrics = new Metrics()
    final quota
    final logs
    final cache
    final replicas
    /** Its fetchers by the leaders that they ask. */
    final Map<Integer, Fetcher> fetchers = [:]
    /** Since 2.7, requests to the controller that wait for their responses, each with what handles the response. */
    final List isrRequests = []
    /** Tasks that wait for a thread of the scheduler. */
    final Map<String, Closure> scheduled = new LinkedHashMap()
    /** What producers with acks=all have sent: value, error and offset, which are null while they wait. */
    final List<Map> producers = []

    Broker(int id, File directory, Cluster cluster) {
        this.id = id
        time = cluster.clock
        unclean = cluster.unclean
        config = configOf(directory, cluster)
        version = since(3, 3) ? { -> config.interBrokerProtocolVersion() } as Function0 : null
        quota = make(
            ReplicationQuotaManager, make(ReplicationQuotaManagerConfig, Long.MAX_VALUE, 11, 1), metrics,
            QuotaType$FollowerReplication$.MODULE$, time)
        def statistics = since(0, 11) ? make(BrokerTopicStats) : null
        def failures = make(LogDirFailureChannel, 1)
        def topicConfigs = [config: { Object... any -> new Properties() }].asType(ConfigRepository ?: Map)
        logs = make(
            LogManager, [directory] as File[], seq([directory]), seq([]), map([:]), topicConfigs, logConfig(),
            make(CleanerConfig, false), 1, NEVER, NEVER, *([NEVER as long] * 5), scheduler(),
            since(2, 8) ? true : make(BrokerState), statistics, failures, time,
            make(ProducerStateManagerConfig, 1, false), version?.apply())
        invoke(logs, 'startup', NO_TOPICS)
        cache = make(ZkMetadataCache ?: MetadataCache, id, version?.apply())
        replicas = make(
            ReplicaManager, config, metrics, time, scheduler(), logs, new AtomicBoolean(), quota,
            since(1) ? make(nested(QuotaFactory, 'QuotaManagers'), quota) : null, statistics, cache, failures,
            *(0..4).collect { purgatory() }, topicConfigs, isrManager(), cluster.zookeeper.client,
            { -> -1L } as Function0, DirectoryEventHandler?.NOOP)
        replace(replicas, 'replicaFetcherManager', fetcherManager())
        if (!since(0, 11)) {  // it has made its own
            for (name in ['delayedProducePurgatory', 'delayedFetchPurgatory']) {
                field(field(replicas, name), 'expirationReaper').initiateShutdown()
                replace(replicas, name, purgatory())
            }
        }
    }

    private configOf(File directory, Cluster cluster) {
        def properties = [
            'broker.id': id, 'log.dirs': directory, 'zookeeper.connect': 'none:1', 'log.cleaner.enable': false,
            'log.index.size.max.bytes': 64, 'replica.fetch.wait.max.ms': 0, 'replica.fetch.backoff.ms': 0,
            'min.insync.replicas': cluster.minInsyncReplicas, 'unclean.leader.election.enable': unclean,
            'replica.lag.time.max.ms': cluster.lagTimeMax,
        ].collectEntries { name, value -> [name, value.toString()] }
        CONFIGS.computeIfAbsent(properties) { KafkaConfig.fromProps(it as Properties) }
    }

    private logConfig() {
        def ofTopics = since(3) ? config.extractLogConfigMap() : since(2, 8) ? LogConfig.extractLogConfigMap(config)
            : KafkaServer$.MODULE$.copyKafkaConfigToLog(config)
        make(LogConfig, ofTopics, NO_TOPICS, Collections.emptySet())
    }

    /** Keeps tasks that run once; those that run periodically are commands here. */
    private scheduler() {
        def schedule = { String name, task, long delay, long period, Object... unit ->
            if (period <= 0) {
                scheduled[name] = task instanceof Runnable ? { task.run() } : { task.apply() }
            }
            [cancel: { true }] as ScheduledFuture
        }
        [schedule: schedule, isStarted: { true }, startup: { }, shutdown: { }, 'schedule$default$3': { 0L },
         'schedule$default$4': { -1L }, 'schedule$default$5': { TimeUnit.MILLISECONDS }].asType(Scheduler)
    }

    /** A purgatory whose operations never expire. */
    private purgatory() {
        def timer = [add: { }, advanceClock: { false }, size: { 0 }, shutdown: { }, close: { }].asType(Timer)
        make(DelayedOperationPurgatory, 'purgatory', timer, id, 1000)
    }

    /** Since 2.7, what asks the controller for another ISR. */
    private isrManager() {
        if (!since(2, 7)) {
            return null
        }
        def channel = [
            sendRequest: { builder, handler -> isrRequests << [request: builder.build(), handler: handler] }
        ].asType(NodeToControllerChannelManager ?: BrokerToControllerChannelManager)
        make(
            DefaultAlterPartitionManager ?: DefaultAlterIsrManager, channel, scheduler(), time, id,
            { -> -1L } as Function0, version)
    }

    private fetcherManager() {
        def manager
        def create = { int number, source ->
            fetchers[source.id()]?.close()
            fetchers[source.id()] = new Fetcher(this, number, source, manager)
            fetchers[source.id()].thread
        }
        manager = subclass(
            ReplicaFetcherManager, [createFetcherThread: create], config, replicas, metrics, time, quota, version,
            { -> -1L } as Function0)
    }

    /** Its partition, or null. */
    def partition() {
        held(since(2, 8) ? replicas.onlinePartition(PARTITION)
            : since(1) ? replicas.nonOfflinePartition(PARTITION) : replicas.getPartition(PARTITION))
    }

    /** Its log, or null. */
    def log() {
        held(since(1) ? logs.getLog(PARTITION, false) : logs.getLog(PARTITION))
    }

    /** Writes both checkpoints. */
    void checkpoint() {
        replicas.checkpointHighWatermarks()
        since(1) ? logs.checkpointLogRecoveryOffsets() : logs.checkpointRecoveryPointOffsets()
    }

    void flush() {
        log()?.with { since(3) ? it.flush(false) : it.flush() }
    }

    /** Runs the tasks that wait for a thread of the scheduler. */
    void runScheduled() {
        def tasks = scheduled.values().toList()
        scheduled.clear()
        tasks*.call()
    }

    /** A clean shutdown. */
    void stop() {
        fetchers.values().toList()*.close()
        invoke(replicas, 'shutdown', true)
        invoke(logs, 'shutdown', -1L)
        end()
    }

    /** The process is gone. */
    void crash() {
        fetchers.values().toList()*.close()
        if (since(1)) {
            list(logs.allLogs())*.closeHandlers()
        }
        list(field(logs, 'dirLocks'))*.destroy()
        end()
    }

    private void end() {
        metrics.close()
        def registry = (KafkaYammerMetrics ?: com.yammer.metrics.Metrics).defaultRegistry()
        registry.allMetrics().keySet().toList().each { registry.removeMetric(it) }
    }
}
