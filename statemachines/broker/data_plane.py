"""DataPlane: the logs of one broker, what it leads and follows there, its fetches, and the producers that wait.

`ReplicaManager` says when the broker begins to lead or to follow, and `Broker` changes ISRs. The rules are functions
of values: `partition` for leaders, `replica_fetcher_thread` for followers, `log` for logs. This class keeps the
values, and says what happened:

    Appended   a leader or a follower has appended records
    Truncated  a follower has cut its log
    Halted     the broker must halt: its log ends after its leader's [until 2.0.0]

One exchange of a fetcher thread has three steps, between which anything may happen: `send` a request to a leader,
`answer` it there, `receive` the response. In 2.8.0 `receive` comes twice, if the response says where logs diverge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from election.ids import BrokerId
from statemachines.broker.hosted_partition import ChangedKeys, Changes, HostedPartition, ReplicaManagerState
from statemachines.broker.log.truncation import kip_279
from statemachines.broker.log.unified_log import Disk, UnifiedLog
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.partition import DelayedProduce, DelayedProduces, Environment, Milliseconds, Partition
from statemachines.broker.replica_fetcher_thread import FetchState, Followed, Halts, OutOfRange
from statemachines.changes.replicating import ReplicationDesign
from statemachines.messages.errors import Errors
from statemachines.messages.records import (
    UNDEFINED_EPOCH,
    UNDEFINED_EPOCH_OFFSET,
    EpochAnswer,
    EpochEndOffset,
    EpochQuestion,
    FetchedPartition,
    FetchPartition,
    FollowerRequest,
    FollowerResponse,
    Offset,
    OffsetAnswer,
    OffsetQuestion,
    PartitionAnswer,
    PartitionQuestion,
    Produced,
    Record,
)
from statemachines.messages.topic_partition import TopicName, TopicPartition

EMPTY: Final = Partition()
EMPTY_DISK: Final = Disk()


class Appended(NamedTuple):
    """A broker has appended records to its log."""

    broker: BrokerId
    partition: TopicPartition
    offset: Offset
    records: tuple[Record, ...]

    def __str__(self) -> str:
        return (
            f"broker {self.broker} appends to {self.partition} at {self.offset}: {' '.join(map(str, self.records))}"
        )


class Truncated(NamedTuple):
    """A broker has cut its log."""

    broker: BrokerId
    partition: TopicPartition
    records: tuple[Record, ...]
    """What it had after its new end."""
    offset: Offset
    """The new end."""
    reason: str

    def __str__(self) -> str:
        lost = " ".join(map(str, self.records))
        return f"broker {self.broker} truncates {self.partition} to {self.offset}, {self.reason}: {lost} is gone"


class Halted(NamedTuple):
    """A broker halts: its log ends after its leader's, and unclean elections are not permitted."""

    broker: BrokerId
    partition: TopicPartition

    def __str__(self) -> str:
        return f"! broker {self.broker} halts: {self.partition} ends after its leader's log"


@dataclass(frozen=True)
class Settings:
    """What a broker's data plane takes from outside."""

    design: ReplicationDesign
    now: Callable[[], Milliseconds]
    min_insync_replicas: Callable[[TopicName | None], int]
    """That of a topic; of None, the default."""
    permits_unclean: Callable[[TopicName], bool]
    note: Callable[[Appended | Truncated | Halted], object]


Diverging: TypeAlias = tuple[tuple[TopicPartition, EpochEndOffset], ...]
"""Where logs diverge, by their leader."""


class Exchange(NamedTuple):
    """A request of a fetcher thread to its leader, and the response, if the leader has answered."""

    request: FollowerRequest
    response: FollowerResponse | None = None
    diverging: Diverging = ()
    """Where the thread will truncate, after it has processed the rest of the response [2.8.0]."""

    @property
    def holds_partitions(self) -> bool:
        """Whether the broker cannot lead or follow others meanwhile: the thread asks where the leader's log ends."""
        return any(isinstance(asked, OffsetQuestion) for _, asked in self.request.questions)


class DataPlane:
    """The logs of one broker.

    Args:
        broker: its id.
        hosted: its view of the partitions that it hosts.
        metadata_cache: its view of the cluster.
        settings: the design, the clock, and the configuration.
        disks: what it finds when it starts, by partition.
        changes: where it is noted which fetches may have something to do now.
    """

    def __init__(
        self,
        broker: BrokerId,
        hosted: ReplicaManagerState,
        metadata_cache: MetadataCache,
        settings: Settings,
        disks: dict[TopicPartition, Disk],
        changes: Changes,
    ) -> None:
        self.broker, self.hosted, self.metadata_cache, self.settings = broker, hosted, metadata_cache, settings
        self.design, self.disks, self.changes = settings.design, disks, changes
        self.partitions: dict[TopicPartition, Partition] = ChangedKeys(changes)
        """Each replica with a log."""
        self.fetching: dict[TopicPartition, FetchState] = ChangedKeys(changes)
        """The partitions that fetcher threads ask for."""
        self.exchanges: dict[BrokerId, Exchange] = {}
        """By leader, the request under way."""
        self.clear_pending: Callable[[TopicPartition], object] = lambda _: None
        """LeaderAndIsr has overtaken a change of the ISR."""
        self.delayed_produces = DelayedProduces()
        """The producers that wait."""
        self._last_environment = Environment(broker, self.design, settings.now())
        for partition, disk in disks.items():
            self.partitions[partition] = Partition(disk.loaded())
        self._opened: set[TopicPartition] = set()

    # Logs.

    def open_log(self, partition: TopicPartition) -> None:
        """The broker opens the log of a partition, or creates it; its high watermark is the one on the disk."""
        if partition in self._opened:
            return
        self._opened.add(partition)
        disk = self.disks.setdefault(partition, EMPTY_DISK)
        mine = self.partitions.get(partition, EMPTY)
        if disk.high_watermark:
            mine = mine._replace(log=mine.log.with_high_watermark(disk.high_watermark))
        self.partitions[partition] = mine

    def delete_log(self, partition: TopicPartition) -> None:
        """The broker deletes the log, or its directory has failed."""
        self._opened.discard(partition)
        self.disks.pop(partition, None)
        self.partitions.pop(partition, None)

    def stop_replica(self, partition: TopicPartition) -> None:
        """The broker has deleted a replica [stopReplica]."""
        if self.design.answer_on_stop:
            self._complete(partition)

    def checkpoint(self) -> None:
        """Write the high watermarks. The file has the partitions that the broker hosts, and no others. A broker that
        hosts none yet leaves the file as it is.

        [ReplicaManager.checkpointHighWatermarks]
        """
        for partition, disk in self.disks.items() if self._opened else ():
            offset = self.partitions[partition].log.high_watermark if partition in self._opened else 0
            self.disks[partition] = disk._replace(high_watermark=offset)

    def left(self, keep: Callable[[TopicPartition], int | None]) -> None:
        """The process has died: note what it leaves on the disk.

        Args:
            keep: how many records of a log are left; None for all of them.
        """
        for partition, disk in self.disks.items():
            self.disks[partition] = disk.left_by(self.partitions[partition].log, keep(partition))
        self.delayed_produces.forget()

    def stopped(self) -> None:
        """The broker stops cleanly: all is written."""
        self.checkpoint()
        self.left(lambda _: None)

    def reconfigure(self, topic: TopicName | None) -> None:
        """The configuration of a topic changes, or a default of all topics.

        [TopicConfigHandler.processConfigChanges, DynamicLogConfig.reconfigure]
        """
        for partition, mine in self.partitions.items():
            if topic in (None, partition.topic):
                changes = mine.default_changes + 1 if topic is None else 0
                self.partitions[partition] = mine._replace(default_changes=changes)

    # Roles.

    def make_leader(self, partition: TopicPartition, before: HostedPartition) -> None:
        """The broker leads in a newer epoch; `before` is its role until now."""
        hosted, its = self.hosted.all_partitions[partition], self._environment(partition)
        self.clear_pending(partition)
        self._put(partition, self.partitions[partition].make_leader(hosted, its, before))

    def make_follower(self, partition: TopicPartition) -> None:
        """The broker no longer leads."""
        self.clear_pending(partition)
        self.partitions[partition] = self.partitions[partition].make_follower()
        self._complete(partition)

    def begin_to_fetch(self, partition: TopicPartition) -> None:
        """A fetcher thread takes the partition over, in its leader epoch."""
        epoch = self.hosted.all_partitions[partition].leader_epoch
        begun = Followed.begin(self.partitions[partition].log, epoch, self.design)
        self._follow(partition, begun, "its high watermark")

    def stop_fetching(self, partition: TopicPartition) -> None:
        """No fetcher thread asks for the partition."""
        if partition in self.fetching:
            self.fetching.pop(partition)

    def end_idle_threads(self) -> None:
        """Threads without partitions end, and what they have asked is forgotten [shutdownIdleFetcherThreads]."""
        if self.exchanges:
            leaders = {self._leader(partition) for partition in self.fetching}
            for leader in sorted(self.exchanges.keys() - leaders):
                self._truncate_late(leader, self.exchanges[leader].diverging)  # the thread ends its round first
            self.exchanges = {leader: each for leader, each in self.exchanges.items() if leader in leaders}

    # A leader's clients.

    def append(self, partition: TopicPartition, produced: Produced) -> None:
        """A producer sends a record."""
        refused = self._append(partition, produced)
        if produced.acks != 0:
            produced.error = refused

    def _append(self, partition: TopicPartition, produced: Produced) -> Errors | None:
        """Append a record; the reason if that is refused."""
        if (error := self._unserved(partition)) is not None:
            return error
        mine, waits = self.partitions[partition], produced.acks in (-1, "all")
        hosted = self.hosted.all_partitions[partition]
        after = mine.append(hosted, self._environment(partition), (produced.value,), waits)
        if isinstance(after, Errors):
            return after
        if waits:
            self.delayed_produces.watch(partition, after.log.end_offset, produced, self.settings.now())
        elif produced.acks == 1:
            produced.offset = mine.log.end_offset
        self._put(partition, after)
        return None

    def consume(self, partition: TopicPartition, offset: Offset) -> tuple[Any, ...] | Errors:
        """What a consumer reads from an offset on: up to the high watermark."""
        if (error := self._unserved(partition)) is not None:
            return error
        if not self.hosted.all_partitions[partition].is_led_by(self.broker):
            return Errors.NOT_LEADER_OR_FOLLOWER
        log = self.partitions[partition].log
        if not 0 <= offset <= log.end_offset:
            return Errors.OFFSET_OUT_OF_RANGE
        return tuple(each.value for each in log.records[offset : log.high_watermark])

    # A leader's followers.

    def answer(
        self, request: FollowerRequest, expand_isr: Callable[[TopicPartition, BrokerId], object]
    ) -> FollowerResponse:
        """Answer a follower's fetcher thread; `expand_isr` adds the follower to an ISR, if that is possible now."""
        answers = tuple(
            (partition, self._answer(partition, request.replica_id, asked, expand_isr))
            for partition, asked in request.questions
        )
        return FollowerResponse(answers)

    def _answer(
        self,
        partition: TopicPartition,
        replica: BrokerId,
        asked: PartitionQuestion,
        expand_isr: Callable[[TopicPartition, BrokerId], object],
    ) -> PartitionAnswer:
        answer = self.answer_to(partition, replica, asked)
        if not isinstance(asked, FetchPartition) or partition not in self.partitions:
            return answer
        assert isinstance(answer, FetchedPartition)
        before = self.partitions[partition]
        noted = before.note_fetch(replica, asked, answer, self._environment_of_fetches())
        if noted.partition is not before:
            dict.__setitem__(self.partitions, partition, noted.partition)  # nothing new for the other followers
            self.changes.followers.add((replica, partition))
        if noted.may_join:
            expand_isr(partition, replica)
        if noted.may_advance:
            self.advance(partition)
        if self.design.answer_after_advance and answer.error is Errors.NONE:
            return answer._replace(high_watermark=self.partitions[partition].log.high_watermark)
        return answer

    def answer_to(self, partition: TopicPartition, replica: BrokerId, asked: PartitionQuestion) -> PartitionAnswer:
        """The answer to a question of a follower, which changes nothing yet."""
        error = self._unserved(partition)
        if error is not None:
            match asked:
                case FetchPartition():
                    return FetchedPartition(error)
                case EpochQuestion():
                    return EpochAnswer(error, EpochEndOffset(UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET))
                case OffsetQuestion():
                    return OffsetAnswer(error, UNDEFINED_EPOCH_OFFSET)
        mine, hosted = self.partitions[partition], self.hosted.all_partitions[partition]
        its = self._environment_of_fetches()
        match asked:
            case FetchPartition():
                return mine.read(hosted, its, replica, asked)
            case EpochQuestion():
                return mine.end_of_epoch(hosted, its, asked)
            case OffsetQuestion():
                return mine.end_of_log(hosted, its, asked)

    def advance(self, partition: TopicPartition) -> None:
        """Raise the high watermark, if that is possible now."""
        hosted = self.hosted.all_partitions.get(partition)
        if hosted is not None and hosted.is_led_by(self.broker):
            self._put(
                partition, self.partitions[partition].advance_high_watermark(hosted, self._environment(partition))
            )

    def out_of_sync(self) -> Iterator[tuple[TopicPartition, tuple[BrokerId, ...]]]:
        """The partitions that the broker leads with members of the ISR that have lagged behind for too long."""
        for partition, hosted in tuple(self.hosted.all_partitions.items()):
            if hosted.is_led_by(self.broker):
                lagging = self.partitions[partition].out_of_sync(hosted, self._environment(partition))
                if lagging:
                    yield partition, lagging

    # Fetcher threads.

    def send(self, leader: BrokerId, partitions: Iterable[TopicPartition]) -> None:
        """The thread for a leader asks: first where epochs end, then for records.

        Args:
            leader: the broker that the thread fetches from.
            partitions: those of the thread that it asks about.
        """
        due = [each for each in partitions if each in self.fetching and self._leader(each) == leader]
        questions: list[tuple[TopicPartition, PartitionQuestion]] = [
            (each, asked) for each in due if (asked := self._followed(each).truncation_question(self.design))
        ]
        for each in () if questions else due:
            followed = self._followed(each).truncated_without_epoch(self.design)
            self._follow(each, followed, "its high watermark")
            if fetch := followed.fetch_question(self.design):
                questions.append((each, fetch))
        if questions:
            self.exchanges[leader] = Exchange(FollowerRequest(self.broker, tuple(questions)))

    def receive(self, leader: BrokerId) -> bool:
        """The thread for a leader processes the response. Returns whether the broker halts."""
        exchange = self.exchanges.pop(leader)
        request, response, diverging = exchange
        assert response is not None
        if diverging:
            self._truncate_late(leader, diverging)
            return False
        ranges: list[tuple[TopicPartition, PartitionQuestion]] = []
        late: list[tuple[TopicPartition, EpochEndOffset]] = []
        for (partition, asked), (_, answer) in zip(request.questions, response.answers, strict=True):
            if partition not in self.fetching or self._leader(partition) != leader:
                continue
            match self.taken(partition, asked, answer):
                case OutOfRange(question):
                    ranges.append((partition, question))
                case Halts():
                    self.settings.note(Halted(self.broker, partition))
                    return True
                case Followed(log) if (
                    self.design.truncate_removed
                    and isinstance(answer, FetchedPartition)
                    and answer.diverging_epoch is not None
                    and log is not self.partitions[partition].log
                ):
                    late.append((partition, answer.diverging_epoch))
                    raised = self._followed(partition).at_high_watermark(answer.high_watermark)
                    self._follow(partition, raised, _reason(asked, answer))
                case Followed() as followed:
                    self._follow(partition, followed, _reason(asked, answer))
        if late:
            self.exchanges[leader] = exchange._replace(diverging=tuple(late))
        self.changes.partitions.update(partition for partition, _ in request.questions)
        if ranges:
            self.exchanges[leader] = Exchange(FollowerRequest(self.broker, tuple(ranges)))
        return False

    def _truncate_late(self, leader: BrokerId, diverging: Diverging) -> None:
        """The thread for a leader truncates where logs diverge, even those that it no longer fetches [2.8.0].

        One that another thread fetches fails there, since its log does not end where that thread is.
        """
        for partition, end in diverging:
            if partition not in self.partitions:
                continue
            is_fetched = partition in self.fetching
            followed = self._followed(partition)
            if is_fetched and self._leader(partition) == leader:
                after = followed.cut(end, self.design)
            else:
                after = Followed(followed.log.truncate_to(kip_279(followed.log, end).offset, self.design), None)
            self._follow(partition, after, f"its earlier leader's end of epoch {end.epoch}")

    def taken(
        self, partition: TopicPartition, asked: PartitionQuestion, answer: PartitionAnswer
    ) -> Followed | OutOfRange | Halts:
        """What a follower makes of an answer; nothing has changed yet."""
        followed = self._followed(partition)
        match asked, answer:
            case FetchPartition(), FetchedPartition():
                return followed.take_fetched(asked, answer, self.design)
            case EpochQuestion(), EpochAnswer():
                return followed.take_end_of_epoch(asked, answer, self.design)
            case OffsetQuestion(), OffsetAnswer():
                permitted = self.settings.permits_unclean(partition.topic)
                return followed.take_end_offset(asked, answer, permitted, self.design)
        raise AssertionError(f"{answer} is no answer to {asked}")

    def changes_something(self, partition: TopicPartition, leader: DataPlane, may_expand: bool) -> bool:
        """Whether an exchange about a partition that this broker follows would change either side now.

        Args:
            partition: the partition.
            leader: the leader's data plane.
            may_expand: the leader would add this broker to the ISR, once it has caught up.
        """
        followed = self._followed(partition)
        asked: PartitionQuestion | None = followed.truncation_question(self.design)
        if asked is None:
            asked = followed.fetch_question(self.design)
        if asked is None:
            return followed.state is not None
        answer = leader.answer_to(partition, self.broker, asked)
        if isinstance(asked, FetchPartition) and leader.learns_something(
            partition, self.broker, asked, answer, may_expand
        ):
            return True
        after = self.taken(partition, asked, answer)
        while isinstance(after, OutOfRange):
            answer = leader.answer_to(partition, self.broker, after.question)
            after = self.taken(partition, after.question, answer)
        return after != followed

    def learns_something(
        self,
        partition: TopicPartition,
        replica: BrokerId,
        asked: FetchPartition,
        answer: PartitionAnswer,
        may_expand: bool,
    ) -> bool:
        """Whether a follower's fetch would change anything here."""
        if partition not in self.partitions:
            return False
        assert isinstance(answer, FetchedPartition)
        before = self.partitions[partition]
        noted = before.note_fetch(replica, asked, answer, self._environment_of_fetches())
        if noted.partition is not before or (may_expand and noted.may_join):
            return True
        if not noted.may_advance:
            return False
        hosted = self.hosted.all_partitions[partition]
        return before.advance_high_watermark(hosted, self._environment(partition)) is not before

    # Parts.

    def _unserved(self, partition: TopicPartition) -> Errors | None:
        """Why a client that asks for a partition gets no answer: the broker does not host it, or it is offline."""
        hosted = self.hosted.all_partitions.get(partition)
        if hosted is not None and not hosted.online:
            return Errors.KAFKA_STORAGE_ERROR
        if hosted is not None and partition in self.partitions:
            return None
        known = self.design.look_up_partition and self.metadata_cache.partition_info(partition) is not None
        return Errors.NOT_LEADER_OR_FOLLOWER if known or hosted is not None else Errors.UNKNOWN_TOPIC_OR_PARTITION

    def _environment(self, partition: TopicPartition) -> Environment:
        keeps = self.design.keep_overrides or self.partitions[partition].default_changes < 2
        last = self._environment_of_fetches()
        least = self.settings.min_insync_replicas(partition.topic if keeps else None)
        if last.min_insync_replicas != least:
            self._last_environment = last = last._replace(min_insync_replicas=least)
        return last

    def _environment_of_fetches(self) -> Environment:
        """For what does not depend on min.insync.replicas."""
        last, now, alive = self._last_environment, self.settings.now(), self.metadata_cache.state.alive_brokers
        if last.now != now or last.alive is not alive:
            self._last_environment = last = last._replace(now=now, alive=alive)
        return last

    def _leader(self, partition: TopicPartition) -> BrokerId:
        return self.hosted.fetchers[partition].leader

    def _followed(self, partition: TopicPartition) -> Followed:
        return Followed(self.partitions[partition].log, self.fetching.get(partition))

    def _follow(self, partition: TopicPartition, followed: Followed, reason: str) -> None:
        """Keep a follower's new log and state."""
        before = self.partitions[partition].log
        if followed.log is not before:
            self._note(partition, before, followed.log, reason)
            self.partitions[partition] = self.partitions[partition]._replace(log=followed.log)
        if followed.state is None:
            self.stop_fetching(partition)
        elif followed.state != self.fetching.get(partition):
            self.fetching[partition] = followed.state

    def _put(self, partition: TopicPartition, after: Partition) -> None:
        """Keep a leader's new state, and answer the producers whose records are committed now."""
        before = self.partitions[partition]
        if after is before:
            return
        self._note(partition, before.log, after.log, "")
        self.partitions[partition] = after
        self._complete(partition)

    def _note(self, partition: TopicPartition, before: UnifiedLog, after: UnifiedLog, reason: str) -> None:
        if after.end_offset > before.end_offset:
            new = after.records[before.end_offset :]
            self.settings.note(Appended(self.broker, partition, before.end_offset, new))
        elif after.end_offset < before.end_offset:
            gone = before.records[after.end_offset :]
            self.settings.note(Truncated(self.broker, partition, gone, after.end_offset, reason))

    def _complete(self, partition: TopicPartition) -> None:
        """Answer the producers that wait no longer [tryCompleteDelayedProduce]."""
        self.delayed_produces.complete(partition, self._outcome)

    def _outcome(self, partition: TopicPartition, waiting: DelayedProduce) -> Errors | None:
        hosted, mine = self.hosted.all_partitions.get(partition), self.partitions.get(partition)
        if hosted is None or mine is None:
            return self._unserved(partition)
        return mine.outcome(hosted, self._environment(partition), waiting.required)


def _reason(asked: PartitionQuestion, answer: PartitionAnswer) -> str:
    """Why a follower cuts its log."""
    match asked, answer:
        case OffsetQuestion(), _:
            return "the end of its leader's log"
        case EpochQuestion(epoch), EpochAnswer(_, end) if end.end_offset != UNDEFINED_EPOCH_OFFSET:
            return f"its leader's end of epoch {epoch if end.epoch == UNDEFINED_EPOCH else end.epoch}"
        case _, FetchedPartition(diverging_epoch=EpochEndOffset(epoch, _)):
            return f"its leader's end of epoch {epoch}"
    return "its high watermark"
