"""The variables of `Fetching`, their sizes, and its constants."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from itertools import chain
from typing import Annotated, Any, Final, NamedTuple

from election.ids import BrokerId, LeaderEpoch
from spec.by_release import ByRelease
from spec.language import (
    Partial,
    Size,
    Specification,
    State,
    Total,
    assumption,
    at_most,
    constant,
    every_combination,
    initial,
    integers,
    interchangeable,
    one_of,
    part_of,
    subset_of,
    switches,
    variable,
)
from spec.systems.replication.replicas import Leadership
from statemachines.broker.log.leader_epochs import EpochEntry, LeaderEpochs
from statemachines.broker.log.unified_log import UnifiedLog
from statemachines.broker.replica_fetcher_thread import ON_FETCH, TO_HIGH_WATERMARK, FetchState
from statemachines.changes.administration import AdminDesign
from statemachines.changes.replicating import ReplicationDesign
from statemachines.controller.control_design import ControlDesign
from statemachines.messages.errors import Errors
from statemachines.messages.records import (
    UNDEFINED_EPOCH,
    EpochAnswer,
    EpochEndOffset,
    EpochQuestion,
    FetchedPartition,
    FetchPartition,
    Offset,
    OffsetAnswer,
    OffsetQuestion,
    PartitionAnswer,
    PartitionQuestion,
    Record,
)

Deaths = Annotated[int, "a number of deaths"]
Elected = Annotated[int, "the leader epoch of an election"]
"""A leader epoch from 0 on."""


class Pair(NamedTuple):
    """A follower and a leader: the fetcher thread of one that asks the other."""

    follower: BrokerId
    leader: BrokerId


class Life(Enum):
    """Whether a broker runs, and what the controller knows of it."""

    Runs = "it runs, and receives requests of every leader epoch"
    Started = "it has started, and receives the present state first"
    Bounced = "it has started, and the controller has not noticed its death"
    Died = "it has died, and the controller has not noticed"
    Down = "it is down"
    Returned = "it has started after the controller noticed its death, and the controller has not noticed its return"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name


HISTORIES: Final = "mno"
"""A letter for each history."""
RUNNING: Final = frozenset({Life.Runs, Life.Started, Life.Bounced, Life.Returned})


class Written(Enum):
    """How far a leader's request for an ISR has got."""

    Sent = "sent"
    Written = "written"
    Refused = "refused"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name


class Proposal(NamedTuple):
    """The ISR that a leader has asked the controller for [AlterPartition]."""

    isr: frozenset[BrokerId]
    is_outdated: bool = False
    """A broker in it has restarted since."""
    written: Written = Written.Sent


class Asks(Enum):
    """What a fetcher thread asks for."""

    Records = "records"
    EndOfEpoch = "the end of an epoch"
    EndOfLog = "the end of the log"
    StartOfLog = "the start of the log"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.name


class Request(NamedTuple):
    """A request of a fetcher thread: the library's questions as one record, of which rules read what they need."""

    asks: Asks
    current_leader_epoch: LeaderEpoch | None
    """The follower's; None until 2.0."""
    fetch_offset: Offset = 0
    epoch: LeaderEpoch | None = None
    """That of the follower's last record; or the one whose end it asks for."""

    @classmethod
    def of(cls, question: PartitionQuestion) -> Request:
        """The request with this question."""
        match question:
            case FetchPartition(offset, current, last):
                return cls(Asks.Records, current, offset, last)
            case EpochQuestion(epoch, current):
                return cls(Asks.EndOfEpoch, current, epoch=epoch)
            case OffsetQuestion(earliest, current):
                return cls(Asks.StartOfLog if earliest else Asks.EndOfLog, current)

    @property
    def fetch(self) -> FetchPartition:
        """The question, if it is for records."""
        return FetchPartition(self.fetch_offset, self.current_leader_epoch, self.epoch)

    @property
    def epoch_question(self) -> EpochQuestion:
        """The question, if it is for the end of an epoch."""
        assert self.epoch is not None
        return EpochQuestion(self.epoch, self.current_leader_epoch)

    @property
    def offset_question(self) -> OffsetQuestion:
        """The question, if it is for the end of the log, or its start."""
        return OffsetQuestion(self.asks is Asks.StartOfLog, self.current_leader_epoch)


class Response(NamedTuple):
    """The response to it, likewise."""

    error: Errors = Errors.NONE
    records: tuple[Record, ...] = ()
    high_watermark: Offset = 0
    end: EpochEndOffset | None = None
    """Where an epoch ends, where the logs diverge, or where the log ends or starts."""

    @classmethod
    def of(cls, answer: PartitionAnswer) -> Response:
        """The response with this answer."""
        match answer:
            case FetchedPartition(error, records, high_watermark, end):
                return cls(error, records, high_watermark, end)
            case EpochAnswer(error, end):
                return cls(error, end=end)
            case OffsetAnswer(error, offset):
                return cls(error, end=EpochEndOffset(UNDEFINED_EPOCH, offset))

    @property
    def fetched(self) -> FetchedPartition:
        """The answer to a fetch."""
        return FetchedPartition(self.error, self.records, self.high_watermark, self.end)

    @property
    def end_of_epoch(self) -> EpochAnswer:
        """The answer where an epoch ends."""
        assert self.end is not None
        return EpochAnswer(self.error, self.end)

    @property
    def offset(self) -> OffsetAnswer:
        """The answer where the log ends, or starts."""
        assert self.end is not None
        return OffsetAnswer(self.error, self.end.end_offset)


class Replicas(State):
    """One partition: its replicas, their fetches, its state in ZooKeeper, and the requests of the controller."""

    log: Total[BrokerId, UnifiedLog] = variable("The log of each replica: records, high watermark, leader epochs.")
    replica: Total[BrokerId, Leadership] = variable(
        "The last LeaderAndIsr that each broker has accepted since its start; a leader also keeps its later ISR here."
    )
    epoch_start: Total[BrokerId, Offset | None] = variable("The end of a leader's log when its epoch began.")
    end_offsets: Total[Pair, Offset] = variable(
        "What a leader knows of a follower's log end, by its last fetch; -1 if it does not know.",
        of=lambda self, pair: integers(-1, self.log_size),
    )
    proposals: Partial[BrokerId, Proposal] = variable(
        "The ISR that a leader has asked for, until it has the answer.", when=lambda self: self.isr_in_two_steps
    )
    fetching: Partial[BrokerId, FetchState] = variable(
        "The state of the partition in a follower's fetcher thread. [PartitionFetchState]"
    )
    requests: Partial[Pair, Request] = variable("The request of a fetcher thread, until it has the response.")
    responses: Partial[Pair, Response] = variable(
        "The response on its way back. Left out: refusals after which the thread asks again."
    )
    checkpoint: Total[BrokerId, Offset] = variable(
        "The high watermark on a broker's disk. [replication-offset-checkpoint]",
        of=lambda self, broker: self.offsets,
        when=lambda self: self.checkpoints,
    )
    life: Total[BrokerId, Life] = variable("Whether a broker runs, and what the controller knows of that.")
    deaths: Deaths = variable("How often a broker has died.")
    partition_state: Leadership = variable(
        "The partition's state node in ZooKeeper. Left out: its version, since every write of the controller begins "
        "a leader epoch, and a leader has one write under way."
    )
    eligible: frozenset[BrokerId] = variable(
        "The eligible leader replicas that are not in the ISR. [KIP-966]",
        when=lambda self: self.design.eligible_leader_replicas,
    )
    leader_and_isr: Partial[Elected, Leadership] = variable(
        "The LeaderAndIsr request of each epoch, once it is sent. It may be delivered late, twice or never.",
        of=lambda self, epoch: self.domain_of(Leadership, leader_epoch=[epoch]),
    )
    committed: tuple[Record, ...] = variable(
        "History, which no broker keeps: the record that was first below a leader's high watermark, by offset.",
        when=lambda self: self.history,
    )
    acknowledged: frozenset[Offset] = variable(
        "History: the offsets whose record was committed by an ISR as large as min.insync.replicas. A producer with "
        "acks=all may know of it.",
        of=lambda self: subset_of(range(self.log_size)),
        when=lambda self: self.acknowledges(),
    )


S = Replicas


def several_brokers(self: FetchingVariables) -> bool:
    """Whether there are several brokers."""
    return self.brokers > 1


def brokers_die(self: FetchingVariables) -> bool:
    """Whether brokers die."""
    return self.max_deaths > 0


class FetchingVariables(Specification[S]):
    """The variables and their sizes."""

    brokers: int = constant(2, "Brokers, each with a replica of the partition.", at_least=1, at_most=5)
    log_size: int = constant(2, "Bound: records in a log.", at_least=1, at_most=6)
    max_leader_epoch: int = constant(1, "Bound: the highest leader epoch; the first is 0.", at_least=0, at_most=6)
    max_deaths: int = constant(0, "Bound: how often brokers die.", at_least=0, at_most=5)
    min_insync_replicas: int = constant(1, "The topic's min.insync.replicas.", at_least=1, at_most=5)
    elects_any_member: bool = constant(
        True,
        "The controller may elect any member of the ISR at any time, and remove any; else it elects among the living "
        "when a broker dies or returns, and the first replica when it likes.",
    )
    lossy: bool = constant(False, "A broker that dies may lose the end of its log.")
    checkpoints: bool = constant(
        False,
        "A broker starts with the high watermark that it wrote to its disk; else with any up to the last one.",
    )
    isr_in_two_steps: bool = constant(
        False, "A leader asks for an ISR, and hears later whether it is written [since 2.7]; else it writes at once."
    )
    hidden_bounces: bool = constant(
        False, "A broker may die and start again before the controller looks, which then notices nothing."
    )
    late_reads: bool = constant(
        False, "A response is a part of the leader's file, and has what is there when it is sent."
    )
    histories: int = constant(
        1, "After a death, records get another value; as many values are distinguished.", at_least=1, at_most=3
    )
    history: bool = constant(True, "The model remembers every record that was ever committed. No broker does.")

    design: ReplicationDesign = switches(
        ReplicationDesign,
        ByRelease(ReplicationDesign),
        only=[
            ReplicationDesign.truncation,
            ReplicationDesign.fence_fetch,
            ReplicationDesign.match_fetch_epoch,
            ReplicationDesign.match_question_epoch,
            ReplicationDesign.match_fenced_epoch,
            ReplicationDesign.skip_diverging_fetch,
            ReplicationDesign.skip_later_epochs,
            ReplicationDesign.truncate_before_high_watermark,
            ReplicationDesign.truncate_high_watermark,
            ReplicationDesign.truncate_epochs_always,
            ReplicationDesign.join_at_epoch_start,
            ReplicationDesign.note_epoch_on_lead,
            ReplicationDesign.newest_epoch_wins,
            ReplicationDesign.epochs_in_records,
            ReplicationDesign.end_of_no_epoch,
            ReplicationDesign.ask_without_epoch,
            ReplicationDesign.fetch_from_high_watermark,
            ReplicationDesign.drop_fetch_while_truncating,
            ReplicationDesign.forget_last_fetched_epoch,
            ReplicationDesign.halt_out_of_range,
            ReplicationDesign.forget_on_error,
            ReplicationDesign.advance_at_each_fetch,
            ReplicationDesign.answer_after_advance,
            ReplicationDesign.advance_on_commit,
            ReplicationDesign.members_may_idle,
            ReplicationDesign.wait_for_min_isr,
            ReplicationDesign.cap_min_isr,
            ReplicationDesign.forget_after_missed_epoch,
            ReplicationDesign.eligible_leader_replicas,
            ReplicationDesign.name_broker_epochs,
            ReplicationDesign.new_epoch_after_bounce,
        ],
    )
    control_design: ControlDesign = switches(
        ControlDesign,
        ByRelease(ControlDesign),
        only=[ControlDesign.truncate_every_epoch, ControlDesign.truncate_missed_epoch],
    )
    admin_design: AdminDesign = switches(AdminDesign, ByRelease(AdminDesign), only=[AdminDesign.unclean_by_default])

    @assumption
    def isrs_are_asked_for(self) -> bool:
        """Only a leader that asks for an ISR can name the lives of its members."""
        return self.isr_in_two_steps or not self.design.name_broker_epochs

    @cached_property
    def rules(self) -> ReplicationDesign:
        """The design of a cluster in which every follower that is behind may have been for long.

        So the high watermark waits for no replica outside the ISR, and a leader may drop any member that is behind.
        """
        return self.design.but(replica_lag_time_max_ms=-1)

    @cached_property
    def values(self) -> tuple[tuple[str, ...], ...]:
        """The values of records, by history and leader epoch; until 0.10 they tell the epoch, which records lack."""
        tells = not self.design.epochs_in_records
        return tuple(
            tuple(f"{each}{epoch if tells else ''}" for epoch in self.epochs) for each in HISTORIES[: self.histories]
        )

    # Sizes.

    def acknowledges(self) -> bool:
        """Whether not every committed record is acknowledged."""
        return self.history and self.min_insync_replicas > 1

    @property
    def offsets(self) -> Size:
        """The offsets of a log."""
        return integers(0, self.log_size)

    @property
    def epochs(self) -> range:
        """The leader epochs."""
        return range(self.max_leader_epoch + 1)

    def sizes(self) -> Mapping[Any, Size]:
        """The sizes of types, and of places that are narrower than their types."""
        brokers = range(self.brokers)
        some = interchangeable("broker", brokers) if self.elects_any_member else one_of(*brokers)
        pairs = every_combination(Pair, follower=some, leader=some)
        lives = tuple(Life) if not self.elects_any_member else (Life.Runs, Life.Started, Life.Bounced)
        in_records = self.epochs if self.design.epochs_in_records else (-1,)
        return {
            BrokerId: some,
            Pair: part_of(pairs, *(each for each in pairs if each.follower != each.leader)),
            LeaderEpoch: integers(-1, self.max_leader_epoch),
            Offset: integers(-1, self.log_size),
            Leadership.leader_epoch: integers(-1, self.max_leader_epoch),
            Deaths: integers(0, self.max_deaths),
            Life: lives if self.max_deaths or self.design.halt_out_of_range else (Life.Runs,),
            Elected: self.epochs,
            Record.value: tuple(dict.fromkeys(chain.from_iterable(self.values))),
            Record.leader_epoch: in_records,
            UnifiedLog.records: at_most(self.log_size),
            UnifiedLog.high_watermark: self.offsets,
            LeaderEpochs.entries: at_most(self.max_leader_epoch + 1 if self.design.epochs_in_records else 0),
            EpochEntry.epoch: self.epochs,
            EpochEntry.start_offset: self.offsets,
            FetchState.fetch_offset: self.offsets,
            FetchState.leader_epoch: self.epochs,
            FetchState.is_truncating: (False,) if self.design.truncation == TO_HIGH_WATERMARK else (False, True),
            FetchState.last_fetched_epoch: self.last_fetched,
            FetchState.is_first: (False, True) if self.design.forget_last_fetched_epoch else (False,),
            tuple[Record, ...]: at_most(self.log_size),
            Request.asks: self.asks,
            Request.current_leader_epoch: self.epochs if self.design.fence_fetch else (None,),
            Request.fetch_offset: self.offsets,
            Request.epoch: (None, *range(-1, self.max_leader_epoch + 1)),
            Response.error: (Errors.NONE, Errors.OFFSET_OUT_OF_RANGE, Errors.FENCED_LEADER_EPOCH),
            Response.high_watermark: self.offsets,
        }

    @property
    def asks(self) -> tuple[Asks, ...]:
        """What the fetcher threads of a release ask for."""
        asks_before = self.design.truncation not in (TO_HIGH_WATERMARK, ON_FETCH)
        return tuple(each for each in Asks if each is not Asks.EndOfEpoch or asks_before)

    @property
    def last_fetched(self) -> tuple[LeaderEpoch | None, ...]:
        """The epoch of a follower's last record, where it says so."""
        return (None, *self.epochs) if self.design.truncation == ON_FETCH else (None,)

    @initial
    def a_partition_without_leader(self, s: S) -> None:
        """Nothing is written, no broker leads, and all brokers are in sync."""
        s.partition_state = Leadership(isr=frozenset(self.domain_of(BrokerId)))
