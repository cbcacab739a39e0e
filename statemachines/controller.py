"""The controller's life on one broker, as step functions: each makes one ZooKeeper request and acts on the answer.

A broker's KafkaController is a value, `Controller`, whose `doing` names the request that comes next. A step
takes the ZooKeeper, the broker's id and that value, and gives the value that follows, with a word on what
ZooKeeper answered. Between two steps anything may happen elsewhere: that is where the bugs live.

What elects a controller is an ephemeral node, /controller, and what fences an old one is a counter beside it,
/controller_epoch. Kafka has joined the two in three ways, and each is a set of steps here:

    multi         2.1 and later   one transaction creates the node and increments the epoch  [KAFKA-6082]
    cas_checked   1.1 to 2.0      first the node, then a compare-and-set of the epoch; if that fails, the failover
                                  fails, and /controller is deleted, whoever owns it by now  [KAFKA-5642]
    cas_swallowed 0.10 to 1.0     the same, but the failure is caught and logged, and the failover goes on
                                  with the epoch that was read, the previous controller's

    Connect ──> RegisterBroker ──> Startup, or RearmToElect if it had a session before

    Startup ──────────────────────────> Elect ─┬─ somebody is ──────────────────────────────────> Idle
    RearmToElect ──> RereadToElect ───────^    └─ nobody: multi      ReadEpoch ──> RegisterController
                                                          otherwise  CreateController ──> ReadEpoch ──> IncrementEpoch
    Rearm ──> Reread ──> Idle                     won: ReadPartitionState <──> UpdateLeaderAndIsr ──> Idle
                                                  lost: Rearm, or DeleteController

What a failover does between its epoch and its first write is fused with the step before. One write to the state
of a partition, guarded as an election's write is, stands for all of the controller's work. [elect, maybeResign,
onControllerFailover, triggerControllerMove in KafkaController.scala, 0.10.2 to 3.9; KafkaZkClient.scala, 3.9]

Left out so far: lost replies, the listeners of 0.10, which act on data that came with the event instead of reading
again, that 0.11 and 1.0 handle what is queued before they hear of an expiry, and that 0.10 to 1.0 registered the
broker only after its controller was started.
"""

from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from statemachines.zookeeper import (
    BadVersion,
    Check,
    Code,
    Create,
    Delete,
    EventType,
    NodeExists,
    NoNode,
    Operation,
    Session,
    SessionExpired,
    SetData,
    ZooKeeper,
)

__all__ = [
    "BROKER_IDS",
    "CONTROLLER",
    "CONTROLLER_EPOCH",
    "Answer",
    "Controller",
    "Doing",
    "Election",
    "PartitionState",
    "connect",
    "create_controller",
    "delete_controller",
    "deliver",
    "expire",
    "get_controller_id",
    "handle",
    "increment_epoch",
    "maybe_resign",
    "read_epoch",
    "read_partition_state",
    "register_broker",
    "register_controller",
    "register_handler",
    "start",
    "stop",
    "update_leader_and_isr",
]

CONTROLLER: Final = "/controller"
"""Ephemeral; its data is the id of the broker that is controller. [ZkData.scala]"""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""Persistent; its data is the controller epoch, its version the token that fences. [ZkData.scala]"""
BROKER_IDS: Final = "/brokers/ids"
"""Each running broker has an ephemeral child here, named by its id. [ZkData.scala]"""


class Election(Enum):
    """How the node and the epoch are joined, oldest last."""

    multi = "2.1 and later"
    cas_checked = "1.1 to 2.0"
    cas_swallowed = "0.10 to 1.0"


class Doing(Enum):
    """What a broker does next. Where it is a ZooKeeper request, that is said beside it."""

    Stopped = "the process is not running"
    Connect = "open a session"
    RegisterBroker = "create /brokers/ids/<id>"
    Startup = "exists /controller, with a watch; then elect"
    Rearm = "exists /controller, with a watch: maybeResign begins"
    Reread = "get /controller: maybeResign ends"
    RearmToElect = "exists /controller, with a watch: maybeResign begins, and elect is to follow"
    RereadToElect = "get /controller: maybeResign ends, and elect follows"
    Elect = "get /controller: is there a controller already?"
    CreateController = "create /controller"
    ReadEpoch = "get /controller_epoch"
    IncrementEpoch = "set /controller_epoch, if it is still at the version that was read"
    RegisterController = "create /controller and increment /controller_epoch, in one multi"
    ReadPartitionState = "get the state of a partition: the controller's work begins"
    UpdateLeaderAndIsr = "set the state of a partition, if it is still at the version that was read"
    DeleteController = "delete /controller: triggerControllerMove"
    Idle = "wait for an event"

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Controller(NamedTuple):
    """What the KafkaController of one broker knows. Of a broker that is not active, the rest is put back to 0."""

    doing: Doing = Doing.Stopped
    session: Session | None = None
    """The ZooKeeper session that it believes it has; the servers may have ended it."""
    fresh: bool = True
    """The process has not begun its first election yet."""
    active: bool = False
    """isActive: the last it knew, /controller named this broker."""
    epoch: int = 0
    """The controller epoch: as read, until its increment is answered, see `acts`."""
    epoch_zk_version: int = 0
    """The version of /controller_epoch that goes with it."""
    state_version: int = 0
    """The version at which it read the partition's state, until its write is answered."""
    queue: tuple[EventType, ...] = ()
    """Events of its watch on /controller that have arrived, oldest first; it handles them when it is idle."""

    @property
    def acts(self) -> bool:
        """Whether it acts as controller under its epoch: its increment has been answered."""
        return self.active and self.epoch > 0 and self.doing not in (Doing.ReadEpoch, Doing.IncrementEpoch)


class PartitionState(NamedTuple):
    """The data of .../partitions/<p>/state, as far as the controller's fencing goes."""

    controller_epoch: int = 0
    """The epoch of the controller that wrote last."""


class Answer(NamedTuple):
    """What a step came to."""

    controller: Controller
    said: str
    """What ZooKeeper answered, and what Kafka makes of it."""
    failover: bool = False
    """A failover has its epoch and goes on."""


Step: TypeAlias = Callable[[ZooKeeper, int, Controller], Answer]


# The process and its session.


def start() -> Controller:
    """A process is started."""
    return Controller(Doing.Connect)


def connect(zookeeper: ZooKeeper, controller: Controller, session: Session) -> Controller:
    """A new session, for a fresh process or one that lost its session."""
    zookeeper.connect(session)
    return controller._replace(doing=Doing.RegisterBroker, session=session)


def stop(zookeeper: ZooKeeper, controller: Controller) -> Controller:
    """The process dies. Its connection goes with it; its session lives until the servers end it."""
    if controller.session is not None:
        zookeeper.disconnect(controller.session)
    return Controller()


def expire(zookeeper: ZooKeeper, controller: Controller) -> Controller:
    """The client is told that its session has ended: resign, then open another. [Expire, 1.1]"""
    zookeeper.disconnect(controller.session)
    return Controller(Doing.Connect, fresh=False)


def deliver(zookeeper: ZooKeeper, controller: Controller) -> Controller:
    """The events in the session's inbox reach the client, which queues them."""
    if controller.session is None:
        return controller
    while (event := zookeeper.take(controller.session)) is not None:
        controller = controller._replace(queue=controller.queue + (event.type,))
    return controller


def _needs_session(step: Step) -> Step:
    """What holds for each request: no answer overtakes an event, and a session that has ended is heard of."""

    def with_session(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        try:
            answer = step(zookeeper, broker, controller)
            return answer._replace(controller=deliver(zookeeper, answer.controller))
        except SessionExpired:
            return Answer(expire(zookeeper, controller), "SESSIONEXPIRED: it resigns")

    with_session.__name__, with_session.__doc__ = step.__name__, step.__doc__
    return with_session


@_needs_session
def register_broker(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
    """The broker's own node. Until its predecessor's is gone, a start fails. [checkedEphemeralCreate, 1.1]"""
    try:
        zookeeper.create(controller.session, f"{BROKER_IDS}/{broker}", ephemeral=True)
    except NodeExists:
        zookeeper.close(controller.session)
        return Answer(Controller(), "NODEEXISTS: its predecessor's session lives, the start fails")
    then = Doing.Startup if controller.fresh else Doing.RearmToElect
    return Answer(controller._replace(doing=then, fresh=False), "registered")


def handle(controller: Controller) -> Controller:
    """The oldest event in the queue. A deletion is a Reelect, all else a ControllerChange. [KafkaController, 3.9]"""
    reelect = controller.queue[0] is EventType.NodeDeleted
    return controller._replace(doing=Doing.RearmToElect if reelect else Doing.Rearm, queue=controller.queue[1:])


def _resigned(controller: Controller, then: Doing) -> Controller:
    """onControllerResignation: all that it knew as controller is gone."""
    return Controller(then, controller.session, fresh=False, queue=controller.queue)


# Who is controller?


@_needs_session
def register_handler(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
    """Watch /controller, before it is read. [registerZNodeChangeHandlerAndCheckExistence]"""
    there = zookeeper.exists(controller.session, CONTROLLER, watch=True) is not None
    then = {
        Doing.Startup: Doing.Elect,
        Doing.Rearm: Doing.Reread,
        Doing.RearmToElect: Doing.RereadToElect,
    }[controller.doing]
    return Answer(controller._replace(doing=then), f"/controller is {'there' if there else 'not there'}")


@_needs_session
def maybe_resign(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
    """Read who is controller, and resign if it was this broker and is no longer. [maybeResign]"""
    then = Doing.Elect if controller.doing is Doing.RereadToElect else Doing.Idle
    owner = _controller_id(zookeeper, controller)
    if owner == broker:
        return Answer(controller._replace(doing=then), "it is this broker")
    said = "there is none" if owner is None else f"it is broker {owner}"
    return Answer(_resigned(controller, then), f"{said}: it resigns if it was active")


def get_controller_id(election: Election) -> Step:
    """The step that begins an election, unless there is a controller already. [elect]"""

    @_needs_session
    def get_controller_id(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        owner = _controller_id(zookeeper, controller)
        # Kafka sets activeControllerId to what it reads, -1 for none, and returns even if that is its own id. What it
        # knew as controller it keeps, but nobody looks at that before it is elected again.
        if owner is None:
            then = Doing.ReadEpoch if election is Election.multi else Doing.CreateController
            return Answer(_resigned(controller, then), "there is none: it stands for election")
        return Answer(controller._replace(doing=Doing.Idle, active=owner == broker), f"it is broker {owner}")

    return get_controller_id


def _controller_id(zookeeper: ZooKeeper, controller: Controller) -> int | None:
    try:
        owner, _ = zookeeper.get(controller.session, CONTROLLER)
    except NoNode:
        return None
    return int(owner)


# Becoming controller.


@_needs_session
def create_controller(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
    """Until 2.0 the node alone decides who is controller. [ZookeeperLeaderElector.elect, 0.10.2]"""
    try:
        zookeeper.create(controller.session, CONTROLLER, broker, ephemeral=True)
    except NodeExists:
        return Answer(controller._replace(doing=Doing.Reread), "NODEEXISTS: somebody was faster")
    won = controller._replace(doing=Doing.ReadEpoch, active=True)
    return Answer(won, "created: the broker is controller, and its failover begins")


def read_epoch(election: Election) -> Step:
    """The step that reads /controller_epoch, with the version that the increment will expect."""
    then = Doing.RegisterController if election is Election.multi else Doing.IncrementEpoch

    @_needs_session
    def read_epoch(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        epoch, stat = zookeeper.get(controller.session, CONTROLLER_EPOCH)
        known = controller._replace(doing=then, epoch=epoch, epoch_zk_version=stat.version)
        return Answer(known, f"it is {epoch}, at version {stat.version}")

    return read_epoch


@_needs_session
def register_controller(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
    """Node and epoch in one transaction. [registerControllerAndIncrementControllerEpoch, 2.1, KAFKA-6082]"""
    incremented = controller.epoch + 1
    create = Create(CONTROLLER, broker, ephemeral=True)
    increment = SetData(CONTROLLER_EPOCH, incremented, controller.epoch_zk_version)
    failed = _refused(zookeeper, controller.session, create, increment)
    if failed is not None:
        code = "NODEEXISTS" if failed is create else "BADVERSION"
        return Answer(_resigned(controller, Doing.Rearm), f"{code}: ControllerMoved")
    return Answer(_elected(controller, incremented), "created and incremented: its failover runs", failover=True)


def increment_epoch(election: Election) -> Step:
    """The step of a failover that increments the epoch by compare-and-set. [incrementControllerEpoch, until 2.0]"""

    @_needs_session
    def increment_epoch(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        incremented = controller.epoch + 1
        try:
            zookeeper.set(controller.session, CONTROLLER_EPOCH, incremented, controller.epoch_zk_version)
        except BadVersion:
            if election is Election.cas_swallowed:
                goes_on = controller._replace(doing=Doing.ReadPartitionState)
                return Answer(
                    goes_on,
                    "BADVERSION: logged and swallowed, its failover runs with the epoch it read",
                    failover=True,
                )
            moved = _resigned(controller, Doing.DeleteController)
            moved = moved._replace(epoch_zk_version=controller.epoch_zk_version)  # what a fenced delete will check
            return Answer(moved, "BADVERSION: its failover fails, it resigns and moves the controller")
        return Answer(_elected(controller, incremented), "incremented: its failover runs", failover=True)

    return increment_epoch


def _elected(controller: Controller, epoch: int) -> Controller:
    return controller._replace(
        doing=Doing.ReadPartitionState, active=True, epoch=epoch, epoch_zk_version=controller.epoch_zk_version + 1
    )


# Being controller.


def read_partition_state(path: str) -> Step:
    """The step that reads a partition's state, and lets it be if a newer controller wrote it. [0.10 to 3.9]"""

    @_needs_session
    def read_partition_state(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        state, stat = zookeeper.get(controller.session, path)
        if state.controller_epoch > controller.epoch:
            return Answer(controller._replace(doing=Doing.Idle), "a newer controller wrote it: StateChangeFailed")
        known = controller._replace(doing=Doing.UpdateLeaderAndIsr, state_version=stat.version)
        return Answer(known, "no newer controller wrote it")

    return read_partition_state


def update_leader_and_isr(path: str, fenced: bool) -> Step:
    """The step that writes a partition's state, at the version read, and since 2.1 fenced by the epoch's version.

    If somebody else wrote in between, it is read again; if the fence fails, the controller has moved.
    [electLeaderForPartitions, 1.1; KAFKA-6082, 2.1]
    """

    @_needs_session
    def update_leader_and_isr(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        write = SetData(path, PartitionState(controller.epoch), controller.state_version)
        failed = _refused(zookeeper, controller.session, *_fence(fenced, controller), write)
        done = controller._replace(doing=Doing.Idle, state_version=0)
        if failed is None:
            return Answer(done, "written")
        if failed is write:
            return Answer(done._replace(doing=Doing.ReadPartitionState), "BADVERSION: somebody else wrote it")
        return Answer(done._replace(doing=Doing.Rearm), "BADVERSION of the epoch: ControllerMoved")

    return update_leader_and_isr


def delete_controller(fenced: bool) -> Step:
    """The step that deletes /controller, fenced by the epoch's version or not. [triggerControllerMove]"""

    @_needs_session
    def delete_controller(zookeeper: ZooKeeper, broker: int, controller: Controller) -> Answer:
        delete = Delete(CONTROLLER)
        failed = _refused(zookeeper, controller.session, *_fence(fenced, controller), delete)
        answers: dict[Operation | None, str] = {None: "deleted", delete: "NONODE: it is gone already"}
        done = _resigned(controller, Doing.Idle)
        return Answer(done, answers.get(failed, "BADVERSION of the epoch: ControllerMoved, it stays"))

    return delete_controller


def _fence(fenced: bool, controller: Controller) -> tuple[Operation, ...]:
    return (Check(CONTROLLER_EPOCH, controller.epoch_zk_version),) if fenced else ()


def _refused(zookeeper: ZooKeeper, session: Session, *operations: Operation) -> Operation | None:
    """Which operation of a multi failed, and so undid the others; None if none did."""
    for operation, result in zip(operations, zookeeper.multi(session, operations), strict=True):
        if isinstance(result, Code) and result is not Code.OK:
            return operation
    return None
