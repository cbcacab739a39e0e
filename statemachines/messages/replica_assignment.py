"""Which brokers keep a partition, also while it moves from some of them to others.

During a reassignment `replicas` has both the brokers that the partition moves to and those that it moves from
[ControllerContext.scala, 3.9; KIP-455].
"""

from collections.abc import Sequence
from typing import NamedTuple

from election.brokers import in_order
from election.ids import BrokerId

__all__ = ["UNASSIGNED", "ReplicaAssignment"]


class ReplicaAssignment(NamedTuple):
    """The replicas of a partition, the preferred leader first.

    >>> moving = ReplicaAssignment((1, 2, 3)).reassign_to((3, 4))
    >>> moving
    ReplicaAssignment(replicas=(3, 4, 1, 2), adding_replicas=(4,), removing_replicas=(1, 2))
    >>> moving.origin_replicas, moving.target_replicas
    ((3, 1, 2), (3, 4))
    """

    replicas: tuple[BrokerId, ...] = ()
    """All of them, those that are added and those that are removed among them."""
    adding_replicas: tuple[BrokerId, ...] = ()
    removing_replicas: tuple[BrokerId, ...] = ()

    @property
    def origin_replicas(self) -> tuple[BrokerId, ...]:
        """Those that a reassignment began with."""
        return tuple(broker for broker in self.replicas if broker not in self.adding_replicas)

    @property
    def target_replicas(self) -> tuple[BrokerId, ...]:
        """Those that it ends with."""
        return tuple(broker for broker in self.replicas if broker not in self.removing_replicas)

    @property
    def is_being_reassigned(self) -> bool:
        """Whether a reassignment is under way."""
        return bool(self.adding_replicas or self.removing_replicas)

    def reassign_to(self, target: Sequence[BrokerId]) -> "ReplicaAssignment":
        """The assignment while it moves to these, from those that it began with."""
        origin, target = self.origin_replicas, in_order("target", target)
        both = tuple(dict.fromkeys((*target, *origin)))
        return ReplicaAssignment(
            both,
            tuple(broker for broker in both if broker not in origin),
            tuple(broker for broker in both if broker not in target),
        )

    def remove_replica(self, replica: BrokerId) -> "ReplicaAssignment":
        """The assignment without this one."""
        return ReplicaAssignment(*(tuple(broker for broker in part if broker != replica) for part in self))

    def checked(self, partition: object) -> "ReplicaAssignment":
        """The assignment of a partition, as it is.

        Raises:
            InvalidBrokers: a replica stands in it twice, or is no broker's id.
        """
        for name, part in zip(self._fields, self, strict=True):
            in_order(f"{name} of {partition}", part)
        return self


UNASSIGNED = ReplicaAssignment()
"""No broker keeps it [ReplicaAssignment.empty]."""
