"""A cluster as an operator sees it: the replicas, leader and ISR of each partition, and the live brokers.

A source gives a `Description`, which may leave things open: a tool's output does not say which brokers are alive.
`complete` makes a `KnownCluster` of it, and lists what was assumed. Only one thing may stay open, because Kafka's
default depends on the release: whether brokers permit unclean elections.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from election.ids import BrokerId, ControllerEpoch, LeaderEpoch
from spec.language.errors import UsageError
from statemachines.changes.administration import AdminDesign
from statemachines.cluster_history import PartitionStatus
from statemachines.messages.leader_and_isr import NO_EPOCH
from statemachines.messages.replica_assignment import ReplicaAssignment
from statemachines.messages.topic_partition import TopicName, TopicPartition, checked_topic, named

__all__ = ["KnownCluster", "DescribedPartition", "Description", "PartitionStatus", "complete", "listed", "named"]

MIN_ISR: Final = 1
"""The default of min.insync.replicas."""
FIRST_EPOCH: Final = 1
"""The controller epoch of a cluster's first controller."""


class DescribedPartition(NamedTuple):
    """A partition as a source describes it."""

    assignment: ReplicaAssignment
    leader: BrokerId | None = None
    """None: no broker leads it; or neither leader nor ISR is given."""
    isr: tuple[BrokerId, ...] | None = None
    """None: neither ISR nor leader is given."""
    leader_epoch: LeaderEpoch | None = None
    """None: not given. `NO_EPOCH`: the partition has no state yet, because it never had a leader."""
    at: str = ""
    """The place in the source, for messages."""

    def contradiction(self) -> str:
        """A contradiction within the description; empty if there is none.

        >>> DescribedPartition(ReplicaAssignment((1, 2)), 1, (1, 3)).contradiction()
        'broker 3 is in its ISR, but its replicas are 1, 2'
        """
        replicas, isr = self.assignment.replicas, self.isr or ()
        places = (
            ("in its ISR", isr),
            ("being added", self.assignment.adding_replicas),
            ("being removed", self.assignment.removing_replicas),
        )
        for place, brokers in places:
            if strangers := set(brokers) - set(replicas):
                them = f"broker {listed(strangers)} is" if len(strangers) == 1 else f"brokers {listed(strangers)} are"
                return f"{them} {place}, but its replicas are {listed(replicas)}"
        if self.leader is not None and self.leader not in isr:
            return f"broker {self.leader} leads it, but is not in its ISR: {listed(isr)}"
        return ""


@dataclass(frozen=True)
class Description:
    """A cluster as a source describes it."""

    partitions: Mapping[TopicPartition, DescribedPartition]
    live: frozenset[BrokerId] | None = None
    """The live brokers; None: not given."""
    controller: BrokerId | None = None
    controller_epoch: ControllerEpoch | None = None
    """The epoch of the last elected controller; None: not given."""
    min_isr: Mapping[TopicName, int] = field(default_factory=dict)
    unclean: Mapping[TopicName, bool] = field(default_factory=dict)
    """The topics' own settings on unclean elections."""
    default_min_isr: int | None = None
    """The cluster's default of min.insync.replicas; None: not given."""
    default_unclean: bool | None = None
    """Whether brokers permit unclean elections by default; None: not given."""
    deletion_queued: frozenset[TopicName] = frozenset()
    """The topics marked for deletion [/admin/delete_topics]."""
    reassigning: Mapping[TopicPartition, tuple[BrokerId, ...]] = field(default_factory=dict)
    """The requested moves, each with the target brokers [/admin/reassign_partitions]."""
    notes: tuple[str, ...] = ()
    """Sentences on what the source leaves open, or what was not read from it."""


@dataclass(frozen=True)
class KnownCluster:
    """A cluster with everything known that a controller's decisions depend on."""

    partitions: Mapping[TopicPartition, PartitionStatus]
    live: frozenset[BrokerId]
    controller: BrokerId | None
    """None: no broker is alive."""
    min_isr: Mapping[TopicName, int]
    """The min.insync.replicas of every topic."""
    unclean: Mapping[TopicName, bool]
    """The topics' own settings on unclean elections."""
    assumed: tuple[str, ...] = ()
    """Sentences on assumptions, except those that depend on the release; see `assumed_of`."""
    others: frozenset[BrokerId] = frozenset()
    """Dead brokers without a replica of these partitions."""
    controller_epoch: ControllerEpoch = FIRST_EPOCH
    """The epoch of its controller, or of the last one if no broker is alive."""
    default_unclean: bool | None = None
    """Whether brokers permit unclean elections by default; None: Kafka's own default applies."""
    deletion_queued: frozenset[TopicName] = frozenset()
    """The topics marked for deletion."""
    reassigning: Mapping[TopicPartition, tuple[BrokerId, ...]] = field(default_factory=dict)
    """The moves requested in /admin/reassign_partitions."""

    @property
    def topics(self) -> tuple[TopicName, ...]:
        """The names of its topics."""
        return tuple(sorted({partition.topic for partition in self.partitions}))

    @property
    def brokers(self) -> frozenset[BrokerId]:
        """All known brokers."""
        return self.live.union(self.others, *(each.assignment.replicas for each in self.partitions.values()))

    def permits_unclean(self, line: str) -> bool:
        """Whether brokers of a release permit unclean elections by default.

        >>> cluster = KnownCluster({}, frozenset(), None, {}, {})
        >>> cluster.permits_unclean("0.10.2"), cluster.permits_unclean("0.11")
        (True, False)
        """
        return AdminDesign.unclean_by_default.at(line) if self.default_unclean is None else self.default_unclean

    def assumed_of(self, line: str) -> tuple[str, ...]:
        """Sentences on everything assumed if the controller has this release."""
        if self.default_unclean is not None or self.unclean.keys() >= {*self.topics}:
            return self.assumed
        are, instead = ("are", "--no-unclean") if self.permits_unclean(line) else ("are not", "--unclean-default")
        assumption = f"unclean elections {are} permitted by default in {line} ({instead})"
        return (*self.assumed, assumption)

    @property
    def deletion_notes(self) -> tuple[str, ...]:
        """Sentences on the fate of its topics marked for deletion."""
        return tuple(
            f"{topic} is marked for deletion: no leader is elected for it, and it goes once all its replicas run"
            for topic in sorted(self.deletion_queued)
        )

    def of_topics(self, topics: Collection[TopicName]) -> KnownCluster:
        """The same cluster with only these topics; with all of them if none is named.

        Raises:
            UsageError: a topic does not exist.
        """
        if strangers := set(topics) - set(self.topics):
            there = ", ".join(self.topics)
            raise UsageError(f"there is no topic {', '.join(sorted(strangers))}; there are {there}")
        kept = {
            partition: status
            for partition, status in self.partitions.items()
            if not topics or partition.topic in topics
        }
        return replace(
            self,
            partitions=kept,
            others=self.brokers - self.live,
            deletion_queued=frozenset(topic for topic in self.deletion_queued if not topics or topic in topics),
            reassigning={partition: target for partition, target in self.reassigning.items() if partition in kept},
        )


def listed(brokers: Iterable[BrokerId]) -> str:
    """Brokers as text.

    >>> listed({3, 1}), listed(())
    ('1, 3', 'none')
    """
    return ", ".join(map(str, sorted(brokers))) or "none"


def complete(
    description: Description,
    live: Iterable[BrokerId] | None = None,
    isr: Mapping[TopicPartition, tuple[BrokerId, ...]] | None = None,
    min_isr: int | None = None,
    min_isr_of: Mapping[TopicName, int] | None = None,
    unclean: bool | None = None,
) -> KnownCluster:
    r"""The cluster of a description; open points are filled as given here, or by assumption.

    >>> t0 = TopicPartition("t", 0)
    >>> cluster = complete(Description({t0: DescribedPartition(ReplicaAssignment((2, 1, 3)), 1, (1, 3))}))
    >>> cluster.partitions[t0].leader, sorted(cluster.live), cluster.controller
    (1, [1, 3], 1)
    >>> print(*cluster.assumed, sep="\n")
    alive: 1, 3, in sync with a leader (--live)
    dead: 2, in no ISR (--live)
    the controller is broker 1, the first that is alive
    the controller's epoch is 1, leader epochs are 0: steps and JSON count from there
    min.insync.replicas is 1 by default (--min-isr)

    Args:
        description: what a source says.
        live: the live brokers.
        isr: ISRs that override the source.
        min_isr: the default of min.insync.replicas.
        min_isr_of: the same for single topics, overriding the source.
        unclean: whether brokers permit unclean elections by default, overriding the source.

    Raises:
            UsageError: a partition cannot have the given ISR; a partition or topic does not exist; or Kafka permits
                no topic of that name.
    """
    for partition, each in description.partitions.items():
        try:
            checked_topic(partition.topic)
        except ValueError as error:
            raise UsageError(f"{each.at}: {error}" if each.at else str(error)) from None
    assumed = list(description.notes)
    given = dict(isr or {})
    partitions = {
        partition: _with_isr(partition, each, given.pop(partition, None))
        for partition, each in description.partitions.items()
    }
    for partition in given:
        raise UsageError(f"--isr {partition}: there is no such partition")
    topics = {partition.topic for partition in partitions}
    for topic in min_isr_of or {}:
        if topic not in topics:
            raise UsageError(f"--min-isr {topic}: there is no such topic")
    alive = _alive(description, partitions.values(), live, assumed)
    if any(each.isr is None for each in partitions.values()):
        assumed.append("in sync: every replica whose broker is alive; the first of them leads (--isr)")
    controller = description.controller if description.controller in alive else min(alive, default=None)
    if controller is not None and controller != description.controller:
        assumed.append(f"the controller is broker {controller}, the first that is alive")
    epoch = description.controller_epoch
    if epoch is not None and controller not in (None, description.controller):
        epoch += 1  # the controller is not elected yet
    if unknown := _unknown_epochs(epoch, description.partitions.values()):
        assumed.append(f"{unknown}: steps and JSON count from there")
    stated = {**description.min_isr, **(min_isr_of or {})}
    needed = description.default_min_isr if min_isr is None else min_isr
    if needed is None and topics - stated.keys():
        assumed.append(f"min.insync.replicas is {MIN_ISR} by default (--min-isr)")
    return KnownCluster(
        {partition: _status(each, alive) for partition, each in partitions.items()},
        alive,
        controller,
        {topic: stated.get(topic, MIN_ISR if needed is None else needed) for topic in topics},
        description.unclean,
        tuple(assumed),
        controller_epoch=FIRST_EPOCH if epoch is None else epoch,
        default_unclean=description.default_unclean if unclean is None else unclean,
        deletion_queued=description.deletion_queued,
        reassigning=description.reassigning,
    )


def _unknown_epochs(controller_epoch: ControllerEpoch | None, partitions: Iterable[DescribedPartition]) -> str:
    """The assumption on epochs; empty if all are known."""
    of_controller = f"the controller's epoch is {FIRST_EPOCH}" if controller_epoch is None else ""
    of_leaders = "leader epochs are 0" if any(each.leader_epoch is None for each in partitions) else ""
    return ", ".join(filter(None, (of_controller, of_leaders)))


def _with_isr(
    partition: TopicPartition, described: DescribedPartition, isr: tuple[BrokerId, ...] | None
) -> DescribedPartition:
    """A partition with this ISR; its leader stays if it is in the ISR, and a missing leader stays missing."""
    if isr is None:
        return described
    if strangers := set(isr) - set(described.assignment.replicas):
        replicas = listed(described.assignment.replicas)
        raise UsageError(f"--isr {partition}: {listed(strangers)} has no replica of it; {replicas} have")
    leader = described.leader if described.leader in isr else next(iter(isr), None)
    if described.isr is not None and described.leader is None:
        leader = None
    epoch = None if described.leader_epoch == NO_EPOCH else described.leader_epoch
    return described._replace(isr=isr, leader=leader, leader_epoch=epoch)


def _alive(
    description: Description,
    partitions: Collection[DescribedPartition],
    given: Iterable[BrokerId] | None,
    assumed: list[str],
) -> frozenset[BrokerId]:
    if given is not None:
        return frozenset(given)
    if description.live is not None:
        return description.live
    every: set[BrokerId] = set()
    alive: set[BrokerId] = set()
    last: set[BrokerId] = set()
    for each in partitions:
        every.update(each.assignment.replicas)
        if each.isr is None:
            alive.update(each.assignment.replicas)
        else:
            (last if each.leader is None else alive).update(each.isr)
    reasons = (
        ("alive", alive, "in sync with a leader" if any(each.isr is not None for each in partitions) else "all"),
        ("dead", last - alive, "in sync only where no broker leads: the last to die stays in the ISR"),
        ("dead", every - alive - last, "in no ISR"),
    )
    assumed += [f"{what}: {listed(brokers)}, {reason} (--live)" for what, brokers, reason in reasons if brokers]
    return frozenset(alive)


def _status(described: DescribedPartition, live: frozenset[BrokerId]) -> PartitionStatus:
    isr, leader, epoch = described.isr, described.leader, described.leader_epoch or 0
    if isr is None:
        isr = tuple(broker for broker in described.assignment.replicas if broker in live)
        leader, epoch = next(iter(isr), None), epoch if isr else NO_EPOCH
    return PartitionStatus(described.assignment, leader, isr, epoch)
