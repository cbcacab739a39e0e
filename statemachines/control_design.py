"""How the controllers of different releases change the states of partitions and replicas.

What older ones did otherwise, and this does not follow: until 1.0 partitions were handled one by one, with a request
for each read and each write, and a conflict was repeated for that one [KAFKA-5642]; until 1.1 a replica whose
partition never had a leader did not become OfflineReplica [KAFKA-6650, 2.0]; until 2.1 UpdateMetadata that was added
without partitions was of all of them [KAFKA-7537, 2.2].
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, NamedTuple

from statemachines.releases import Release
from statemachines.replica import REPLICA, ReplicaState
from statemachines.table import Table

__all__ = ["CONTROL_DESIGNS", "ControlDesign", "control_design_of"]


class ControlDesign(NamedTuple):
    """How a release does it. A field with a sentence can be a switch of specifications."""

    fence_zk: Annotated[bool, "A controller's writes check the version of its epoch (2.1, KAFKA-6082)."] = True
    keep_last_isr: Annotated[
        bool,
        "The last member of an ISR stays in it, also where an unclean election is permitted (1.1, KAFKA-5642).",
    ] = True
    offline_on_failover: Annotated[
        bool, "A controller that takes over takes dead replicas out of the ISR (2.3, KAFKA-3143)."
    ] = True
    fence_stop: Annotated[
        bool, "StopReplica has a leader epoch and a delete flag for each partition (2.6, KAFKA-9539)."
    ] = True
    leader_recovery: Annotated[
        bool, "Who is elected uncleanly is told that it has to recover (3.2, KAFKA-13587)."
    ] = True
    broker_epoch: Annotated[
        bool,
        "Requests say which registration of a broker is meant, and a broker refuses those for an earlier one "
        "(2.2, KAFKA-7235).",
    ] = True
    log_dir_failure: Annotated[
        bool,
        "A broker goes on without a log directory that has failed, and its controller hears so (1.0, KAFKA-4763).",
    ] = True
    hear_metadata_errors: Annotated[bool, "Answers to UpdateMetadata are events of the controller (2.5)."] = True
    replica_table: Table[ReplicaState] = REPLICA
    """Which states of replicas may follow which; it changed in 2.3."""


CONTROL_DESIGNS: Final[Mapping[str, Mapping[str, Any]]] = {
    "0.10.1": {
        "fence_zk": False,
        "keep_last_isr": False,
        "offline_on_failover": False,
        "fence_stop": False,
        "leader_recovery": False,
        "broker_epoch": False,
        "log_dir_failure": False,
        "hear_metadata_errors": False,
    },
    "1.0": {"log_dir_failure": True},
    "1.1": {"keep_last_isr": True},
    "2.1": {"fence_zk": True},
    "2.2": {"broker_epoch": True},
    "2.3": {"offline_on_failover": True},
    "2.5": {"hear_metadata_errors": True},
    "2.6": {"fence_stop": True},
    "3.2": {"leader_recovery": True},
}
"""What a release changed of the design of the one before."""


def control_design_of(release: str) -> ControlDesign:
    """The design of a release.

    >>> control_design_of("2.2").keep_last_isr, control_design_of("2.2").offline_on_failover
    (True, False)

    Raises:
        ValueError: it is no release.
    """
    fields: dict[str, Any] = {"replica_table": REPLICA.at(release)}
    for since, changed in CONTROL_DESIGNS.items():
        if Release(since) <= Release(release):
            fields |= changed
    return ControlDesign(**fields)
