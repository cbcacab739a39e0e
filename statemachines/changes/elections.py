"""How a controller is elected, notified and fenced."""

from enum import Enum

from statemachines.changes.change import BOTH, SETTLED, KafkaChange, Line, Releases, always, proposed, since, until


class Election(Enum):
    """How the election is tied to the epoch, oldest last."""

    multi = "2.1 and later"
    cas_checked = "1.1 to 2.0"
    cas_swallowed = "0.10 to 1.0"


class Threads(Enum):
    """Which thread handles watch events, oldest first."""

    lock = "0.10"
    queue = "0.11 and 1.0"
    barrier = "1.1 and later"


class ElectionChanges(Releases):
    """The rules of a release, of elections and sessions; `statemachines.controller.design.Design` has them."""

    epoch_update = KafkaChange(
        sentence="How the election is tied to the epoch: in one multi (2.1, KAFKA-6082), or by a later "
        "compare-and-set whose failure is checked (1.1, KAFKA-5642) or swallowed",
        before=Election.cas_swallowed,
        since={"1.1.0": Election.cas_checked, "2.1.0": Election.multi},
        tickets=("KAFKA-5642", "KAFKA-6082"),
    )
    threads = KafkaChange(
        sentence="How a broker handles watch events: listeners under one lock (0.10), a queue of what ZkEventThread "
        "read (0.11), or a queue that a new session waits for, with all reads at handling time (1.1, KAFKA-5642)",
        before=Threads.lock,
        since={"0.11.0.0": Threads.queue, "1.1.0": Threads.barrier},
        tickets=("KAFKA-5028", "KAFKA-5642"),
        compared=SETTLED,
        by_source=(
            Line("0.10.2.2", "PartitionStateMachine.scala", "doHandleChildChange", 411),
            Line("0.11.0.0", "KafkaController.scala", "handleChildChange", 1606),
            Line("1.1.0", "KafkaController.scala", "handleChildChange", 1529),
        ),
    )
    fence_zk = since(
        "2.1.0",
        "A controller's writes, including the deletion of /controller, check the version of its epoch",
        "KAFKA-6082",
        compared=BOTH,
    )
    conditional_increment = always(
        "The increment of /controller_epoch is refused if its version differs from the one read"
    )
    skip_if_self = since(
        "0.10.2.0", "In 0.10, a new session changes nothing for the broker named in /controller", "KAFKA-4229"
    )
    listener_guard = since("0.10.2.0", "A listener checks that the broker is still controller", "KAFKA-4447")
    reinit_only_if_expired = KafkaChange(
        sentence="A client whose authentication fails starts a new session only if the old one has ended",
        before=True,
        since={"2.8.0": False, "3.0.1": True},
        tickets=("KAFKA-13461",),
        by_source=(
            Line("2.7.2", "ZooKeeperClient.scala", "process", 440),
            Line("2.8.0", "ZooKeeperClient.scala", "process", 461),
            Line("3.0.0", "ZooKeeperClient.scala", "process", 444),
            Line("3.0.1", "ZooKeeperClient.scala", "process", 443),
        ),
    )
    ephemeral_owner_check = since(
        "2.2.0", "A broker deletes a registration left by its own older session", "KAFKA-7165"
    )
    registers_again = until(
        "2.2.0",
        "A registration that disappears while a broker checks its owner is created again; later that is an error",
    )
    replace_registration = proposed(
        "A broker replaces a registration under its id whichever session left it: it may have created it in a "
        "session that ended before the reply",
        note="so it cannot refuse to start beside a running broker of the same id",
    )
    broker_epoch = since(
        "2.2.0",
        "The zxid of its registration tells a broker from its predecessor: requests name it, and a broker "
        "refuses those for an earlier one",
        "KAFKA-7235",
        compared=BOTH,
    )
    ghost_check = proposed(
        "A /controller left by an older session of the broker does not make it controller", by="KAFKA-13407"
    )
    resign_on_move = proposed(
        "A broker that learns in elect or triggerControllerMove that it is no longer controller resigns"
    )
    elect_if_none = proposed(
        "A broker that checks whether it is still controller, and finds none, stands for election"
    )
