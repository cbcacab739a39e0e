package data_plane

import java.nio.file.Files

/** What can be seen of the brokers, in memory and on disk; what a release does not have is left out. */
class Observation extends Kafka {
    private static final CHECKPOINTS = ['replication-offset-checkpoint', 'recovery-point-offset-checkpoint']
    private static final EPOCHS = 'leader-epoch-checkpoint'

    /** A running broker. */
    static Map of(Broker broker, Requests requests) {
        def log = broker.log(), partition = broker.partition()
        def fetcher = broker.fetchers.values().find { it.fetchState() != null }
        [
            role: 'none',
            *: partition == null ? [:] : ofHosted(broker.id, partition),
            *: log == null ? [:] : ofLog(log),
            high_watermark: partition == null || log == null ? null : highWatermark(broker.id, partition, log),
            fetch: fetcher == null ? null : ofFetcher(fetcher),
            *: since(2, 3) ? [failed: broker.replicas.replicaFetcherManager().failedPartitions().contains(Broker.PARTITION)] : [:],
            *: since(2, 7) ? [isr_requests: broker.isrRequests.collect { requests.isrAsked(it.request) }] : [:],
            scheduled: broker.scheduled.keySet().toList(),
            waiting: broker.producers.findAll { it.error == null }*.value,
            completed: broker.producers.findAll { it.error != null }.collect { [it.value, it.offset, it.error] },
        ]
    }

    private static Map ofHosted(int id, partition) {
        def leader = held(partition.leaderReplicaIdOpt())
        def isr = since(2, 8) ? (since(3) ? partition.partitionState() : partition.isrState()) : null
        def replicas = list(field(
            partition, since(2, 3) ? 'remoteReplicasMap' : since(1, 1) ? 'allReplicasMap' : 'assignedReplicaMap').values())
        [
            role: leader == id ? 'leader' : leader == null ? 'none' : 'follower',
            leader: leader,
            leader_epoch: field(partition, 'leaderEpoch'),
            partition_epoch: field(partition, since(3) ? 'partitionEpoch' : 'zkVersion'),
            isr: (isr != null ? list(isr.isr()) : since(2, 3) ? list(partition.inSyncReplicaIds())
                : list(partition.inSyncReplicas())*.brokerId()).sort(),
            *: isr != null ? [maximal_isr: list(isr.maximalIsr()).sort()] : [:],
            *: since(2) ? [leader_epoch_start_offset: held(field(partition, 'leaderEpochStartOffsetOpt'))] : [:],
            remote_replicas: replicas.findAll { it.brokerId() != id }.sort { it.brokerId() }
                .collectEntries { ["${it.brokerId()}".toString(), ofReplica(it)] },
        ]
    }

    /** What is known of another replica. */
    private static Map ofReplica(replica) {
        def state = since(3) ? replica.stateSnapshot() : replica
        [
            end_offset: field(state, since(2, 3) && !since(3) ? '_logEndOffsetMetadata' : 'logEndOffsetMetadata')
                .with { since(3) ? it.messageOffset : it.messageOffset() },
            last_fetch_leader_end_offset: field(state, 'lastFetchLeaderLogEndOffset'),
            last_fetch_time: field(state, 'lastFetchTimeMs'),
            last_caught_up_time: field(state, since(3) ? 'lastCaughtUpTimeMs' : '_lastCaughtUpTimeMs'),
        ]
    }

    private static Map ofLog(log) {
        def cache = since(0, 11) ? held(log.leaderEpochCache()) : null
        [
            log: list(log.logSegments()).collectMany { Requests.values(it.log()) },
            end_offset: log.logEndOffset(),
            recovery_point: log.recoveryPoint(),
            *: cache == null ? [:] : [epochs: list(cache.epochEntries()).collect { [field(it, 'epoch'), field(it, 'startOffset')] }],
        ]
    }

    private static highWatermark(int id, partition, log) {
        since(2, 3) ? log.highWatermark() : held(partition.getReplica(id))?.highWatermark()?.messageOffset()
    }

    private static Map ofFetcher(Fetcher fetcher) {
        def state = fetcher.fetchState()
        [
            leader: fetcher.leader,
            offset: since(0, 11) ? state.fetchOffset() : state.offset(),
            *: since(2, 1) ? [leader_epoch: state.currentLeaderEpoch()] : [:],
            *: since(2, 7) ? [last_fetched_epoch: held(state.lastFetchedEpoch())] : [:],
            *: since(0, 11) ? [truncating: since(2, 1) ? state.truncating : state.truncatingLog()] : [:],
        ]
    }

    /** A broker's files: for each file the numbers in it, null if the file is missing. */
    static Map files(File directory) {
        CHECKPOINTS.collectEntries { [it, offset(new File(directory, it))] } + (
            since(0, 11) ? [(EPOCHS): entries(new File(directory, "$Broker.PARTITION/$EPOCHS"))] : [:])
    }

    /** The offset of the partition in a checkpoint: the line after the version and the number of partitions. */
    private static offset(File file) {
        entries(file)?.find()?.last()
    }

    private static List<List> entries(File file) {
        file.exists() ? Files.readAllLines(file.toPath()).drop(2).collect { line ->
            line.split(' ').findAll { it.number }*.toLong()
        } : null
    }
}
