"""How a controller is elected, told and fenced: changes that `statemachines.controller.design.Design` has."""

from enum import Enum
from typing import Final

from statemachines.changes.change import (
    BOTH,
    KafkaChange,
    Line,
    Provenance,
    always,
    proposed,
    since,
    until,
)

__all__ = [
    "BROKER_EPOCH",
    "CONDITIONAL_INCREMENT",
    "ELECT_IF_NONE",
    "EPHEMERAL_OWNER_CHECK",
    "EPOCH_UPDATE",
    "Election",
    "FENCE_ZK",
    "GHOST_CHECK",
    "LISTENER_GUARD",
    "REGISTERS_AGAIN",
    "REINIT_ONLY_IF_EXPIRED",
    "RESIGN_ON_MOVE",
    "SKIP_IF_SELF",
    "THREADS",
    "Threads",
]


class Election(Enum):
    """How the node and the epoch are joined, oldest last."""

    multi = "2.1 and later"
    cas_checked = "1.1 to 2.0"
    cas_swallowed = "0.10 to 1.0"


class Threads(Enum):
    """Who handles what a watch tells, oldest first."""

    lock = "0.10"
    queue = "0.11 and 1.0"
    barrier = "1.1 and later"


EPOCH_UPDATE: Final = KafkaChange(
    sentence="How the election is joined to the epoch: in one multi (2.1, KAFKA-6082), or by a compare-and-set after "
    "it whose failure is checked (1.1, KAFKA-5642) or swallowed",
    before=Election.cas_swallowed,
    since={"1.1.0": Election.cas_checked, "2.1.0": Election.multi},
    tickets=("KAFKA-5642", "KAFKA-6082"),
)
THREADS: Final = KafkaChange(
    sentence="Who handles what a broker is told: listeners under one lock (0.10), a queue of what ZkEventThread read "
    "(0.11), or a queue that a new session waits for, and all is read when it is handled (1.1, KAFKA-5642)",
    before=Threads.lock,
    since={"0.11.0.0": Threads.queue, "1.1.0": Threads.barrier},
    tickets=("KAFKA-5028", "KAFKA-5642"),
)
FENCE_ZK: Final = since(
    "2.1.0",
    "A controller's writes, the deletion of /controller among them, check the version of its epoch",
    "KAFKA-6082",
    provenance=Provenance(BOTH),
)
BROKER_EPOCH: Final = since(
    "2.2.0",
    "A broker is told from its predecessor by the zxid of its registration: requests name it, and a broker "
    "refuses those for an earlier one",
    "KAFKA-7235",
    provenance=Provenance(BOTH),
)
CONDITIONAL_INCREMENT: Final = always(
    "The increment of /controller_epoch is refused if its version is not the one that was read"
)
SKIP_IF_SELF: Final = since(
    "0.10.2.0", "In 0.10, a new session changes nothing for whom /controller names", "KAFKA-4229"
)
LISTENER_GUARD: Final = since("0.10.2.0", "A listener asks whether the broker is controller still", "KAFKA-4447")
REINIT_ONLY_IF_EXPIRED: Final = KafkaChange(
    sentence="A client that fails to authenticate begins anew only if its session has ended",
    before=True,
    since={"2.8.0": False, "3.0.1": True},
    tickets=("KAFKA-13461",),
    provenance=Provenance(
        by_source=(
            Line("2.7.2", "ZooKeeperClient.scala", "process", 440),
            Line("2.8.0", "ZooKeeperClient.scala", "process", 461),
            Line("3.0.0", "ZooKeeperClient.scala", "process", 444),
            Line("3.0.1", "ZooKeeperClient.scala", "process", 443),
        )
    ),
)
EPHEMERAL_OWNER_CHECK: Final = since(
    "2.2.0", "A broker deletes the registration that an older session of its own left", "KAFKA-7165"
)
REGISTERS_AGAIN: Final = until(
    "2.2.0", "A registration that is gone when a broker looks whose it is, is created; later that is an error"
)
GHOST_CHECK: Final = proposed(
    "A /controller that an older session of the broker left does not make it controller", by="KAFKA-13407"
)
RESIGN_ON_MOVE: Final = proposed(
    "A broker that reads, in elect or triggerControllerMove, that it is no longer controller resigns"
)
ELECT_IF_NONE: Final = proposed(
    "A broker that asks whether it is still controller, and reads that none is, stands for election"
)
