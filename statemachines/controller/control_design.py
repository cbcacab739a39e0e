"""How the controllers of different releases change the states of partitions and replicas.

Not modelled, in older releases: until 1.0 the parent nodes of a partition's state were created only after the
creation of the state had found them missing. Until 2.1 a batch also made requests for brokers that are not
registered, and the channel manager dropped them [ControllerChannelManager.scala 401, 454, 86, 1.1.1]. Until 2.5 a
replica that was added both with and without deletion was in two StopReplica requests [the same, 403, 554, 2.4.1].
Until 0.10.2 the replicas in LeaderAndIsr and UpdateMetadata were a set, so five or more of them came in no order
[KAFKA-5329; the same, 290, 319, 0.10.2.2].
"""

from statemachines.changes.control import ControlChanges
from statemachines.changes.receiving import ReceivingChanges
from statemachines.controller import failover_stages as stages
from statemachines.controller.failover_stages import Stage
from statemachines.releases import RELEASES, line_of
from statemachines.tables.replica import REPLICA, ReplicaState
from statemachines.tables.table import Table


class ControlDesign(ControlChanges, ReceivingChanges):
    """The behaviour of a release. A field that is a change can be a switch.

    >>> ControlDesign("2.2").keep_last_isr, ControlDesign("2.2").offline_on_failover
    (True, False)

    Args:
        release: by default the newest, with the failover that fits the changes, also those of `but`.

    Raises:
        UnknownRelease: there is no such release.
    """

    changes = {**ControlChanges.changes, **ReceivingChanges.changes}
    replica_table: Table[ReplicaState]
    """The permitted transitions of replicas; they changed in 2.3."""
    failover: tuple[Stage, ...]
    """The steps of a controller that takes over; if empty, `failover_steps` chooses them."""
    resignation: tuple[Stage, ...]
    """The steps of a controller that resigns."""

    def __init__(self, release: str | None = None) -> None:
        # The table changes only between lines: designs of one line are equal unless something changed within it.
        super().__init__(
            release,
            replica_table=REPLICA if release is None else REPLICA.at(line_of(release)),
            failover=() if release is None else stages.failover(release),
            resignation=stages.resignation(RELEASES[-1] if release is None else release),
        )

    @property
    def failover_steps(self) -> tuple[Stage, ...]:
        """The steps of its release; without one, those of the newest with equal metadata and reassignments."""
        if self.failover:
            return self.failover
        if not self.metadata_first:
            return stages.failover("0.10.1")
        return stages.failover(RELEASES[-1] if self.kip_455 else "2.3")
