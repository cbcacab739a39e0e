"""The brokers of a partition, also while it moves between brokers.

During a reassignment `replicas` has both the target brokers and the original ones [ControllerContext.scala, 3.9;
KIP-455].
"""

from collections.abc import Sequence
from typing import NamedTuple

from election.brokers import in_order
from election.ids import BrokerId


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition, the preferred leader first.

    >>> moving = ReplicaAssignment((1, 2, 3)).reassign_to((3, 4))
    >>> moving
    ReplicaAssignment(replicas=(3, 4, 1, 2), adding_replicas=(4,), removing_replicas=(1, 2))
    >>> moving.origin_replicas, moving.target_replicas
    ((3, 1, 2), (3, 4))
    """

    replicas: tuple[BrokerId, ...] = ()
    """All replicas, including those that are added and those that are removed."""
    adding_replicas: tuple[BrokerId, ...] = ()
    removing_replicas: tuple[BrokerId, ...] = ()

    @property
    def origin_replicas(self) -> tuple[BrokerId, ...]:
        """The replicas before the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.adding_replicas)

    @property
    def target_replicas(self) -> tuple[BrokerId, ...]:
        """The replicas after the reassignment."""
        return tuple(broker for broker in self.replicas if broker not in self.removing_replicas)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding_replicas or self.removing_replicas)

    def reassign_to(self, target: Sequence[BrokerId]) -> "ReplicaAssignment":
        """The assignment while it moves from its original replicas to these."""
        origin, target = self.origin_replicas, in_order("target", target)
        both = tuple(dict.fromkeys((*target, *origin)))
        return ReplicaAssignment(
            both,
            tuple(broker for broker in both if broker not in origin),
            tuple(broker for broker in both if broker not in target),
        )

    def remove_replica(self, replica: BrokerId) -> "ReplicaAssignment":
        """The assignment without this replica."""
        return ReplicaAssignment(*(tuple(broker for broker in part if broker != replica) for part in self))

    def checked(self, partition: object) -> "ReplicaAssignment":
        """Return the assignment of a partition unchanged, if it is valid.

        Raises:
            InvalidBrokers: a replica occurs twice, or is no broker id.
        """
        for name, part in zip(self._fields, self, strict=True):
            in_order(f"{name} of {partition}", part)
        return self


UNASSIGNED = ReplicaAssignment()
"""The assignment without brokers [ReplicaAssignment.empty]."""
