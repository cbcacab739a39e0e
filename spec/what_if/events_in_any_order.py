"""Brokers die, return and shut down, and leaders are elected: the system `partitions` with a plan for its bounds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from election.ids import BrokerId
from spec.language import action, require
from spec.systems.partitions import Partitions
from spec.what_if.plan import EventPlan, ExploredCluster, P
from statemachines.messages.topic_partition import TopicPartition

RULES: Final = (
    *("leader_in_isr", "isr_within_assigned", "leader_epoch_monotone", "one_leader_per_epoch"),
    *("presumed_leader_legit", "clean_election", "legal_psm", "legal_rsm", "new_has_no_state"),
    *(
        "cache_not_ahead",
        "cache_fresh",
        "online_has_live_leader",
        "offline_only_if_stuck",
        "psm_domain",
        "rsm_domain",
    ),
    *("role_as_in_zookeeper", "election_from_current_state", "isr_survives_election"),
    *("zk.version_step", "zk.one_shot", "zk.ephemeral_owned"),
)
"""The invariants of `partitions` that hold in every release if no answer is lost. Invariants that a release's bug
breaks, like `fenced_writes` before 2.2 and `dead_not_in_isr`, are excluded: the effects of such bugs are outcomes,
and are reported as outcomes."""


class ExploredPartitions(ExploredCluster):
    """The target of events that include controlled shutdown and requested elections."""

    def shut_down(self, broker: BrokerId, attempts: int) -> None:
        """Let a broker ask once; it stops some time later."""
        self.s.exiting |= {broker}
        Partitions.shut_down(self.system, self.s, broker)

    def elect(self, partitions: Iterable[TopicPartition]) -> None:
        """Request the election; it has no effect if the preferred replica leads, or there is no leader yet."""
        require(self.s.active and self.s.idle)
        for partition in partitions:
            known = self.system.context.of(self.s.context).leadership_of(partition)
            if known is not None and known.leader_and_isr.leader != self.system.assignments[partition].replicas[0]:
                Partitions.elect_preferred(self.system, self.s, partition)


class EventsInAnyOrder(EventPlan[P], Partitions[P]):
    """`partitions` with planned events of brokers, in any order."""

    name = "events-in-any-order"
    leaves_out = "bounced brokers, reassignment, deletion, log directories"
    explored = ExploredPartitions
    rules = RULES
    shut_down: Any = None
    elect_preferred: Any = None
    """Planned events replace these actions."""

    @action(when=lambda self: self.shutdowns, actor="broker")
    def exit(self, s: P, broker: BrokerId) -> None:
        """A broker that asked for its shutdown stops, with or without an answer."""
        require(s.idle and broker in s.exiting)
        s.exiting -= {broker}
        self.explored(self, s).crash(broker)
