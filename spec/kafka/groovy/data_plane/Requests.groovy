package data_plane

import java.nio.ByteBuffer
import kafka.log.*
import kafka.server.*
import org.apache.kafka.clients.ClientResponse
import org.apache.kafka.common.*
import org.apache.kafka.common.compress.*
import org.apache.kafka.common.errors.*
import org.apache.kafka.common.message.*
import org.apache.kafka.common.network.ListenerName
import org.apache.kafka.common.protocol.*
import org.apache.kafka.common.record.*
import org.apache.kafka.common.requests.*
import org.apache.kafka.common.security.auth.*
import org.apache.kafka.storage.internals.log.*
import scala.Function1
import scala.Tuple2

/** What a broker receives and responds, in the form of its release. */
class Requests extends Kafka {
    private static final int ANY_BYTES = 1 << 20
    private static final int CONTROLLER = 0
    private static final int CONSUMER = -1

    private final topicId = since(2, 8) ? make(Uuid, 1L, 1L) : null
    private final topicIds = since(2, 8) ? [t: topicId] : null
    private final topicNames = since(2, 8) ? [(topicId): 't'] : null

    // From the controller.

    /** Tells a broker which brokers live. */
    void updateMetadata(Broker broker, List<Integer> live, int controllerEpoch) {
        def brokers = live.collect {
            since(2, 4)
                ? filled(nested(UpdateMetadataRequestData, 'UpdateMetadataBroker'), [
                    id: it, endpoints: [filled(nested(UpdateMetadataRequestData, 'UpdateMetadataEndpoint'), [
                        host: 'broker', port: 1, listener: 'PLAINTEXT', securityProtocol: (short) 0])]])
                : make(nested(UpdateMetadataRequest, 'Broker'), it, [
                    make(nested(UpdateMetadataRequest, 'EndPoint'), 'broker', 1, SecurityProtocol.PLAINTEXT,
                         new ListenerName('PLAINTEXT'))])
        }
        def request = make(
            nested(UpdateMetadataRequest, 'Builder'), latest('UPDATE_METADATA'), CONTROLLER, controllerEpoch, -1L,
            *(since(2, 4) ? [[], brokers] : [[:], brokers as Set]), topicIds, controllerType()).build()
        since(2, 1) ? broker.cache.updateMetadata(0, request) : broker.cache.updateCache(0, request)
    }

    /** Tells a broker who leads; the error. */
    String leaderAndIsr(Broker broker, Map given) {
        def fields = [
            topicName: 't', partitionIndex: 0, controllerEpoch: given.controller_epoch, leader: given.leader,
            leaderEpoch: given.leader_epoch, isr: given.isr, replicas: given.replicas,
            addingReplicas: given.adding ?: [], removingReplicas: given.removing ?: [], isNew: given.is_new ?: false,
            (since(3) ? 'partitionEpoch' : 'zkVersion'): given.partition_epoch]
        def state = since(2, 4) ? filled(nested(LeaderAndIsrRequestData, 'LeaderAndIsrPartitionState'), fields)
            : make(
                since(1) ? nested(LeaderAndIsrRequest, 'PartitionState') : PartitionState, given.controller_epoch,
                given.leader, given.leader_epoch, given.isr, given.partition_epoch, given.replicas,
                given.replicas as Set, fields.isNew)
        def nodes = given.replicas.collect { new Node(it, 'broker', 1) } as Set
        def request = make(
            nested(LeaderAndIsrRequest, 'Builder'), latest('LEADER_AND_ISR'), CONTROLLER, given.controller_epoch, -1L,
            *(since(2, 4) ? [[state], topicIds] : [new HashMap([(Broker.PARTITION): state])]), nodes,
            controllerType()).build()
        def response = invoke(broker.replicas, 'becomeLeaderOrFollower', 1, request, broker.cache)
        def errors = outcomes(response).collect { it instanceof Errors ? it : Errors.forCode(it) }
        (errors - Errors.NONE).find()?.name() ?: 'NONE'
    }

    /** The errors in a response to LeaderAndIsr. */
    private outcomes(response) {
        if (since(2, 4)) {
            return [response.error()] + (
                since(2, 8) ? response.partitionErrors(topicNames).values() : response.partitions()*.errorCode())
        }
        since(1) ? [response.error()] + response.responses().values()
            : [since(0, 11) ? response.error() : response.errorCode()] + ofPartition(response.responseMap())
    }

    /** The ISR that a broker requests from the controller. */
    static Map isrAsked(request) {
        def asked = request.data().topics().first().partitions().first()
        [
            isr: (since(3) ? asked.newIsrWithEpochs()*.brokerId() : asked.newIsr()).sort(false),
            leader_epoch: asked.leaderEpoch(),
            partition_epoch: since(3) ? asked.partitionEpoch() : asked.currentIsrVersion(),
        ]
    }

    /** The controller's response to a request for another ISR. */
    ClientResponse isrResponse(asked, Map given) {
        def type = AlterPartitionResponseData ?: AlterIsrResponseData
        def partition = filled(nested(type, 'PartitionData'), [
            partitionIndex: 0, errorCode: code(given.error), leaderId: given.leader ?: 0,
            leaderEpoch: given.leader_epoch ?: 0, isr: given.isr ?: [],
            (since(3) ? 'partitionEpoch' : 'currentIsrVersion'): given.partition_epoch ?: 0])
        def topic = filled(nested(type, 'TopicData'), [partitions: [partition], *: (
            since(3) ? [topicName: 't', topicId: topicId] : [name: 't'])])
        def data = filled(type, [topics: [topic], errorCode: code(given.request_error)])
        response(asked, (AlterPartitionResponse ?: AlterIsrResponse).newInstance(data))
    }

    private static short code(String error) {
        Errors.valueOf(error ?: 'NONE').code()
    }

    // From clients.

    /** Appends a record; what the producer knows then. */
    Map append(Broker broker, String value, int acks) {
        def producer = [value: value, error: null, offset: null]
        def respond = { responses ->
            def response = ofPartition(responses)
            producer.error = response.error.name()
            producer.offset = response.error == Errors.NONE ? response.baseOffset : null
        }
        invoke(
            broker.replicas, 'appendRecords', 1000L, (short) acks, false, true,
            since(3) ? AppendOrigin.CLIENT : since(2, 4) ? nested(AppendOrigin, 'Client$').MODULE$ : null,
            map([(Broker.PARTITION): records(value, broker.time.milliseconds())]), respond as Function1,
            { } as Function1, RequestLocal?.NoCaching(),
            since(3) ? field(broker.replicas, 'defaultActionQueue') : null, map([:]))
        if (acks == -1) {
            broker.producers << producer
        }
        producer
    }

    private records(String value, long time) {
        if (!since(0, 11)) {
            return MemoryRecords.withRecords(Record.create(time, null, value.bytes))
        }
        def uncompressed = since(3) ? Compression.NONE : CompressionType.NONE
        MemoryRecords.withRecords(uncompressed, SimpleRecord.newInstance(time, value.bytes))
    }

    /** What a consumer reads from an offset on. */
    Map consume(Broker broker, long offset) {
        def read = fetched(broker, CONSUMER, make(
            nested(FetchRequest, 'PartitionData'), topicId, offset, 0L, ANY_BYTES))
        [error: read.error.name(), values: values(read.records)*.first()]
    }

    // From followers.

    /** What a request of a fetcher asks for. */
    Map described(request) {
        def asked = question(request)
        def kind = kindOf(request)
        def fields = kind == 'fetch' ? [offset: since(0, 11) ? asked.fetchOffset : asked.offset]
            : kind == 'list_offsets' ? [timestamp: timestamp(asked)]
            : [epoch: since(2, 1) ? field(asked, 'leaderEpoch') : asked]
        if (since(2, 1)) {
            fields.leader_epoch = held(field(asked, 'currentLeaderEpoch'))
        }
        if (since(2, 7) && kind == 'fetch') {
            fields.last_fetched_epoch = held(asked.lastFetchedEpoch)
        }
        [kind: kind, *: fields]
    }

    private static String kindOf(request) {
        request instanceof FetchRequest ? 'fetch'
            : request.class.simpleName.startsWith('ListOffset') ? 'list_offsets' : 'offsets_for_leader_epoch'
    }

    /** What a request asks about the partition. */
    private question(request) {
        if (request instanceof FetchRequest) {
            return (since(3) ? request.fetchData(topicNames) : request.fetchData()).values().first()
        }
        if (since(2, 8)) {
            return (request.data().topics() as List).first().partitions().first()
        }
        def all = kindOf(request) == 'list_offsets' ? request.partitionTimestamps() : request.epochsByTopicPartition()
        all.values().first()
    }

    private static long timestamp(asked) {
        since(2, 1) ? field(asked, 'timestamp') : asked
    }

    /**
     * A leader handles a request: what it responds, and what makes this a response.
     *
     * The latter reads the records, as Kafka's network thread does when it sends the response (KAFKA-18723).
     */
    List handle(Broker broker, int follower, request) {
        switch (kindOf(request)) {
            case 'fetch' -> fetch(broker, follower, question(request))
            case 'list_offsets' -> listOffsets(broker, question(request))
            default -> offsetsForLeaderEpoch(broker, request)
        }
    }

    private List fetch(Broker broker, int follower, asked) {
        def read
        try {
            read = fetched(broker, follower, asked)
        } catch (RuntimeException failed) {
            if (failed.class.simpleName != 'NotAssignedReplicaException') {  // until 0.11
                throw failed
            }
            read = [error: Errors.forCode((short) -1), records: MemoryRecords.EMPTY, hw: -1L, highWatermark: -1L,
                    logStartOffset: -1L]
        }
        def diverging = since(2, 7) ? held(read.divergingEpoch) : null
        def answer = [
            kind: 'fetch', error: read.error.name(), high_watermark: since(0, 11) ? read.highWatermark : read.hw,
            records: values(read.records)]
        if (since(2, 7)) {
            answer.diverging_epoch = diverging == null ? null : [diverging.epoch(), diverging.endOffset()]
        }
        [answer, { fetchResponse(read, answer.high_watermark, diverging) }]
    }

    private fetched(Broker broker, int replica, asked) {
        def read = null
        def respond = { responses -> read = list(responses).first()._2() } as Function1
        def partition = since(3) ? TopicIdPartition.newInstance(topicId, Broker.PARTITION) : Broker.PARTITION
        def isolation = since(3) ? FetchIsolation.of(replica, IsolationLevel.READ_UNCOMMITTED)
            : since(0, 11) ? IsolationLevel.READ_UNCOMMITTED : null
        def asking = since(3) ? [make(FetchParams, latest('FETCH'), replica, -1L, 0L, 1, ANY_BYTES, isolation)]
            : [0L, replica, 1, ANY_BYTES, false, isolation]
        invoke(
            broker.replicas, 'fetchMessages', *asking, seq([new Tuple2(partition, asked)]),
            QuotaFactory.UnboundedQuota$.MODULE$, respond)
        read
    }

    private fetchResponse(read, long highWatermark, diverging) {
        def records = read.records
        if (records instanceof FileRecords) {
            def bytes = ByteBuffer.allocate(records.sizeInBytes())
            records.readInto(bytes, 0)
            records = MemoryRecords.readableRecords(bytes)
        }
        if (since(3)) {
            def data = filled(nested(FetchResponseData, 'PartitionData'), [
                partitionIndex: 0, errorCode: read.error.code(), highWatermark: highWatermark,
                logStartOffset: read.logStartOffset, records: records])
            if (diverging != null) {
                data.divergingEpoch = diverging
            }
            def partition = TopicIdPartition.newInstance(topicId, Broker.PARTITION)
            return FetchResponse.of(Errors.NONE, 0, 0, new LinkedHashMap([(partition): data]))
        }
        def data = make(
            nested(FetchResponse, 'PartitionData'), read.error, read.error.code(), highWatermark, -1L,
            since(0, 11) ? read.logStartOffset : null, Optional.empty(), Optional.ofNullable(diverging), records)
        make(FetchResponse, Errors.NONE, new LinkedHashMap([(Broker.PARTITION): data]))
    }

    private List offsetsForLeaderEpoch(Broker broker, request) {
        if (since(2, 8)) {
            def topics = list(broker.replicas.lastOffsetForLeaderEpoch(seq(request.data().topics())))
            def found = topics.first().partitions().first()
            def all = nested(OffsetForLeaderEpochResponseData, 'OffsetForLeaderTopicResultCollection').newInstance()
            all.addAll(topics*.duplicate())
            def data = filled(OffsetForLeaderEpochResponseData, [topics: all])
            return [epochEnd(Errors.forCode(found.errorCode()), found), { make(OffsetsForLeaderEpochResponse, data) }]
        }
        def found = ofPartition(broker.replicas.lastOffsetForLeaderEpoch(map(request.epochsByTopicPartition())))
        [epochEnd(found.error(), found), { OffsetsForLeaderEpochResponse.newInstance([(Broker.PARTITION): found]) }]
    }

    private static Map epochEnd(error, found) {
        def answer = [kind: 'offsets_for_leader_epoch', error: error.name(), end_offset: found.endOffset()]
        since(2) ? answer + [epoch: found.leaderEpoch()] : answer
    }

    private List listOffsets(Broker broker, asked) {
        def error = Errors.NONE, offset = -1L, epoch = -1
        try {
            if (since(2, 3)) {
                def found = held(broker.replicas.fetchOffsetForTimestamp(
                    Broker.PARTITION, timestamp(asked), scala.Option.apply(null), currentLeaderEpoch(asked), true))
                if (found != null) {
                    offset = found.offset
                    epoch = found.leaderEpoch.orElse(-1)
                }
            } else {  // as KafkaApis
                broker.replicas.getLeaderReplicaIfLocal(Broker.PARTITION)
                def log = broker.log()
                offset = timestamp(asked) == -1 ? log.logEndOffset() : since(0, 11) ? log.logStartOffset() : 0L
            }
        } catch (ApiException refused) {
            error = Errors.forException(refused)
        }
        def answer = [kind: 'list_offsets', error: error.name(), offset: offset]
        [answer, { listOffsetsResponse(error, offset, epoch) }]
    }

    private static Optional currentLeaderEpoch(asked) {
        def epoch = field(asked, 'currentLeaderEpoch')
        epoch instanceof Optional ? epoch : Optional.of(epoch)
    }

    private listOffsetsResponse(Errors error, long offset, int epoch) {
        if (since(2, 8)) {
            def partition = filled(nested(ListOffsetsResponseData, 'ListOffsetsPartitionResponse'), [
                partitionIndex: 0, errorCode: error.code(), offset: offset, leaderEpoch: epoch])
            def topic = filled(nested(ListOffsetsResponseData, 'ListOffsetsTopicResponse'), [
                name: 't', partitions: [partition]])
            return make(ListOffsetsResponse, filled(ListOffsetsResponseData, [topics: [topic]]))
        }
        def data = make(
            nested(ListOffsetResponse, 'PartitionData'), error, error.code(), -1L, offset, Optional.of(epoch))
        make(ListOffsetResponse, 1, [(Broker.PARTITION): data])
    }

    /** The response that a client has of a request. */
    private ClientResponse response(request, body) {
        make(ClientResponse, new RequestHeader(request.apiKey(), request.version(), '', 0), '', body)
    }

    /** The records with their leader epochs. */
    static List<List> values(records) {
        if (!since(0, 11)) {
            return records.shallowEntries().collect { [text(it.record().value()), -1] }
        }
        records.batches().collectMany { batch -> batch.collect { [text(it.value()), batch.partitionLeaderEpoch()] } }
    }

    private static String text(ByteBuffer value) {
        def bytes = new byte[value.remaining()]
        value.duplicate().get(bytes)
        new String(bytes)
    }

    private static latest(String api) {
        since(0, 11) ? ApiKeys.values().find { it.name().startsWith(api) }.latestVersion() : null
    }

    private controllerType() {
        since(3) ? nested(AbstractControlRequest, 'Type').UNKNOWN : null
    }
}
