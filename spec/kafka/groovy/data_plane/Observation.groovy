package data_plane

import groovy.transform.CompileStatic
import java.nio.file.Files

/** What can be seen of the brokers, in memory and on disk; what a release does not have is left out. */
class Observation extends Kafka {
    private static final List<String> OFFSETS = ['replication-offset-checkpoint', 'recovery-point-offset-checkpoint']
    private static final String EPOCHS = 'leader-epoch-checkpoint'

    /** A running broker. */
    static Map of(Broker broker) {
        def log = broker.log(), partition = broker.partition()
        def fetcher = broker.fetchers.values().find { it.fetchState() != null }
        [
            role: 'none',
            *: partition == null ? [:] : ofHosted(broker.id, partition),
            *: log == null ? [:] : ofLog(log),
            high_watermark: partition == null || log == null ? null : highWatermark(broker.id, partition, log),
            fetch: fetcher == null ? null : ofFetcher(fetcher),
            *: since(2, 3) ? [failed: hasFailed(broker)] : [:],
            *: since(2, 7) ? [isr_requests: broker.isrRequests.collect { Requests.isrAsked(it.request) }] : [:],
            scheduled: broker.scheduled.keySet().findAll { it =~ /^(leader-epoch|send-alter)/ }.toList(),
            waiting: broker.producers.findAll { it.error == null }*.value,
            completed: broker.producers.findAll { it.error != null }.collect { [it.value, it.offset, it.error] },
        ]
    }

    private static Map ofHosted(int id, partition) {
        def leader = held(partition.leaderReplicaIdOpt())
        def isr = since(3) ? partition.partitionState() : since(2, 7) ? partition.isrState() : null
        def replicas = since(2, 3) ? 'remoteReplicasMap' : since(1, 1) ? 'allReplicasMap' : 'assignedReplicaMap'
        [
            role: leader == id ? 'leader' : leader == null ? 'none' : 'follower',
            leader: leader,
            leader_epoch: field(partition, 'leaderEpoch'),
            partition_epoch: field(partition, since(3) ? 'partitionEpoch' : 'zkVersion'),
            isr: (isr != null ? list(isr.isr()) : since(2, 3) ? list(partition.inSyncReplicaIds())
                : list(partition.inSyncReplicas())*.brokerId()).sort(),
            *: isr != null ? [maximal_isr: list(isr.maximalIsr()).sort()] : [:],
            *: since(2) ? [leader_epoch_start_offset: held(field(partition, 'leaderEpochStartOffsetOpt'))] : [:],
            remote_replicas: list(field(partition, replicas).values()).findAll { it.brokerId() != id }
                .collectEntries { [it.brokerId(), ofReplica(it)] }.sort(),
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

    private static boolean hasFailed(Broker broker) {
        broker.replicas.replicaFetcherManager().failedPartitions().contains(Broker.PARTITION)
    }

    private static Map ofLog(log) {
        def epochs = since(0, 11) ? list(held(log.leaderEpochCache()).epochEntries()) : null
        [
            log: list(log.logSegments()).collectMany { Requests.values(it.log()) },
            end_offset: log.logEndOffset(),
            recovery_point: log.recoveryPoint(),
            *: epochs == null ? [:] : [epochs: epochs.collect { [field(it, 'epoch'), field(it, 'startOffset')] }],
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

    /** The numbers in a broker's files; null for a file that is missing. */
    @CompileStatic
    static Map files(File directory) {
        def seen = [:]
        for (name in OFFSETS) {
            seen[name] = lines(new File(directory, name))?.find()?.last()
        }
        if (since(0, 11)) {
            seen[EPOCHS] = lines(new File(new File(directory, Broker.PARTITION.toString()), EPOCHS))
        }
        seen
    }

    /** The numbers in a checkpoint's lines, after its version and the number of lines. */
    @CompileStatic
    private static List<List<Long>> lines(File file) {
        file.exists() ? Files.readAllLines(file.toPath()).drop(2).collect { numbers(it) } : null
    }

    @CompileStatic
    private static List<Long> numbers(String line) {
        line.split(' ').findAll { it.number }*.toLong()
    }
}
