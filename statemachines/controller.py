"""The controller's life on one broker, as step functions: each makes one ZooKeeper request and acts on the answer.

A broker's KafkaController is a value, `Controller`, whose `doing` is its agenda: the requests that it will make, in
order, if nothing comes between. What it is told to do is a row of such requests (`STARTUP`, `EXPIRED`, `HANDLING`,
`ELECTION`, and a failover, see `statemachines.failover`), and every answer either goes on with what is left of it, or
puts another row in its place. Between two requests anything may happen elsewhere: that is where the bugs live.

What elects a controller is an ephemeral node, /controller, and what fences an old one is a counter beside it,
/controller_epoch. Kafka has joined the two in three ways (`Election`):

    multi         2.1 and later   one transaction creates the node and increments the epoch  [KAFKA-6082]
    cas_checked   1.1 to 2.0      first the node, then a compare-and-set of the epoch; if that fails, the failover
                                  fails, and /controller is deleted, whoever owns it by now  [KAFKA-5642]
    cas_swallowed 0.10 to 1.0     the same, but the failure is caught and logged, and the failover goes on
                                  with the epoch that was read, the previous controller's

What happens where an answer does not let the row go on:

    Elect               somebody is controller   nothing is left to do
    RegisterController  NODEEXISTS, BADVERSION   ControllerMoved: maybeResign
    IncrementEpoch      BADVERSION               triggerControllerMove; or it goes on, see above
    UpdateLeaderAndIsr  somebody else wrote      once more from ReadPartitionState
                        the fence fails          ControllerMoved: maybeResign
    any                 SESSIONEXPIRED           it resigns, and begins anew with another session

[elect, maybeResign, onControllerFailover, triggerControllerMove in KafkaController.scala, 0.10.2 to 3.9;
KafkaZkClient.scala, 3.9]

Left out so far: lost replies, the listeners of 0.10, which act on data that came with the event instead of reading
again, that 0.11 and 1.0 handle what is queued before they hear of an expiry, and that 0.10 to 1.0 registered the
broker only after its controller was started.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
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
    "ELECTION",
    "EXPIRED",
    "FAILOVER",
    "HANDLING",
    "IDLE",
    "MAYBE_RESIGN",
    "STARTUP",
    "STOPPED",
    "Agenda",
    "Answer",
    "Controller",
    "Design",
    "Do",
    "Election",
    "KafkaController",
    "PartitionState",
    "Request",
    "agendas",
]

CONTROLLER: Final = "/controller"
"""Ephemeral; its data is the id of the broker that is controller. [ZkData.scala]"""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""Persistent; its data is the controller epoch, its version the token that fences. [ZkData.scala]"""
BROKER_IDS: Final = "/brokers/ids"
"""Each running broker has an ephemeral child here, named by its id. [ZkData.scala]"""


# What there is to do.


class Do(Enum):
    """A request to ZooKeeper, or what a process does in place of one."""

    Start = "be started"
    Connect = "open a session"
    RegisterBroker = "create /brokers/ids/<id>"
    WatchController = "exists /controller, with a watch"
    MaybeResign = "get /controller: is this broker still the controller?"
    Elect = "get /controller: is there a controller already?"
    CreateController = "create /controller"
    ReadEpoch = "get /controller_epoch"
    IncrementEpoch = "set /controller_epoch, if it is still at the version that was read"
    RegisterController = "create /controller and increment /controller_epoch, in one multi"
    ReadPartitionState = "get the state of a partition: the controller's work begins"
    UpdateLeaderAndIsr = "set the state of a partition, if it is still at the version that was read"
    DeleteController = "delete /controller: triggerControllerMove"

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class Agenda(tuple[Do, ...]):
    """What a broker is about to do, in this order, unless an answer changes it."""

    __slots__ = ()

    def __str__(self) -> str:
        if not self:
            return "Idle"
        return self[0].name + (", ..." if len(self) > 1 else "")

    __repr__ = __str__


STOPPED: Final = Agenda((Do.Start,))
"""The process is not running."""
IDLE: Final = Agenda()
"""It waits for an event."""
STARTUP: Final = Agenda((Do.Connect, Do.RegisterBroker, Do.WatchController, Do.Elect))
"""A process begins. [KafkaServer.startup, Startup, 1.1]"""
MAYBE_RESIGN: Final = Agenda((Do.WatchController, Do.MaybeResign))
"""[maybeResign, 1.1]"""
EXPIRED: Final = Agenda((Do.Connect, Do.RegisterBroker, *MAYBE_RESIGN, Do.Elect))
"""Its session has ended, and it has resigned. [RegisterBrokerAndReelect, 1.1]"""
HANDLING: Final = {
    EventType.NodeCreated: MAYBE_RESIGN,
    EventType.NodeDataChanged: MAYBE_RESIGN,
    EventType.NodeDeleted: Agenda((*MAYBE_RESIGN, Do.Elect)),
}
"""What its watch on /controller tells -> what it does: ControllerChange, and Reelect for a deletion. [1.1]"""
FAILOVER: Final = Agenda((Do.ReadPartitionState, Do.UpdateLeaderAndIsr))
"""What a controller does with its epoch: one write to the state of a partition stands for all of its work."""


class Election(Enum):
    """How the node and the epoch are joined, oldest last."""

    multi = "2.1 and later"
    cas_checked = "1.1 to 2.0"
    cas_swallowed = "0.10 to 1.0"


ELECTION: Final = {
    Election.multi: Agenda((Do.ReadEpoch, Do.RegisterController)),
    Election.cas_checked: Agenda((Do.CreateController, Do.ReadEpoch, Do.IncrementEpoch)),
    Election.cas_swallowed: Agenda((Do.CreateController, Do.ReadEpoch, Do.IncrementEpoch)),
}
"""What a broker does that finds no controller; its failover follows. [elect]"""


class Design(NamedTuple):
    """How a release does it, as far as releases differ."""

    election: Election = Election.multi
    fenced: bool = True
    """Writes, the deletion of /controller among them, check the version of /controller_epoch. [2.1, KAFKA-6082]"""
    state: str = "/brokers/topics/t/partitions/0/state"
    """The path of the partition's state that a controller writes."""


def agendas(design: Design) -> tuple[Agenda, ...]:
    """Every agenda that a broker can have: each row, and what is left of it after each of its requests."""
    rows = [STOPPED, STARTUP, EXPIRED, *HANDLING.values(), (*ELECTION[design.election], *FAILOVER)]
    if design.election is Election.cas_checked:
        rows.append((Do.DeleteController,))
    return tuple(dict.fromkeys(Agenda(row[at:]) for row in rows for at in range(len(row) + 1)))


# What a broker knows.


class Controller(NamedTuple):
    """What the KafkaController of one broker knows. Of a broker that is not active, the rest is put back to 0."""

    doing: Agenda = STOPPED
    session: Session | None = None
    """The ZooKeeper session that it believes it has; the servers may have ended it."""
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
        return self.active and self.epoch > 0 and Do.IncrementEpoch not in self.doing

    def about_to(self, do: Do) -> bool:
        """Whether this is what it does next."""
        return len(self.doing) > 0 and self.doing[0] is do

    def on(self) -> "Controller":
        """It goes on with what is left to do."""
        return self._replace(doing=Agenda(self.doing[1:]))

    def to(self, *doing: Do) -> "Controller":
        """It turns to this instead of what was left to do."""
        return self._replace(doing=Agenda(doing))

    def resigned(self) -> "Controller":
        """onControllerResignation: all that it knew as controller is gone."""
        return Controller(self.doing, self.session, queue=self.queue)


class PartitionState(NamedTuple):
    """The data of .../partitions/<p>/state, as far as the controller's fencing goes."""

    controller_epoch: int = 0
    """The epoch of the controller that wrote last."""


class Answer(NamedTuple):
    """What a request came to."""

    controller: Controller
    said: str
    """What ZooKeeper answered, and what Kafka makes of it."""
    failover: bool = False
    """A failover has its epoch and goes on."""


Request: TypeAlias = Callable[["KafkaController", Controller], Answer]


def request(step: Request) -> Request:
    """What holds for each request: no answer overtakes an event, and a session that has ended is heard of."""

    @wraps(step)
    def with_session(self: "KafkaController", me: Controller) -> Answer:
        try:
            answer = step(self, me)
            return answer._replace(controller=self.deliver(answer.controller))
        except SessionExpired:
            return Answer(self.expire(me), "SESSIONEXPIRED: it resigns")

    return with_session


class KafkaController:
    """The controller of one broker: what it knows comes in, and what it knows after a step goes out.

    Args:
        design: that of its release.
        zookeeper: the servers, over whatever holds their state.
        broker: its id.
    """

    def __init__(self, design: Design, zookeeper: ZooKeeper, broker: int) -> None:
        self.design, self.zookeeper, self.broker = design, zookeeper, broker

    # The process and its session.

    def start(self) -> Controller:
        """A process is started."""
        return Controller(STARTUP)

    def connect(self, me: Controller, session: Session) -> Controller:
        """A new session, for a fresh process or one that lost its session."""
        self.zookeeper.connect(session)
        return me.on()._replace(session=session)

    def stop(self, me: Controller) -> Controller:
        """The process dies. Its connection goes with it; its session lives until the servers end it."""
        if me.session is not None:
            self.zookeeper.disconnect(me.session)
        return Controller()

    def expire(self, me: Controller) -> Controller:
        """The client is told that its session has ended: resign, then open another. [Expire, 1.1]"""
        self.zookeeper.disconnect(me.session)
        return Controller(EXPIRED)

    def deliver(self, me: Controller) -> Controller:
        """The events in the session's inbox reach the client, which queues them."""
        if me.session is None:
            return me
        while (event := self.zookeeper.take(me.session)) is not None:
            me = me._replace(queue=me.queue + (event.type,))
        return me

    def handle(self, me: Controller) -> Controller:
        """It turns to the oldest event in its queue."""
        return me.to(*HANDLING[me.queue[0]])._replace(queue=me.queue[1:])

    @request
    def register_broker(self, me: Controller) -> Answer:
        """The broker's own node. Until its predecessor's is gone, a start fails. [checkedEphemeralCreate, 1.1]"""
        try:
            self.zookeeper.create(me.session, f"{BROKER_IDS}/{self.broker}", ephemeral=True)
        except NodeExists:
            self.zookeeper.close(me.session)
            return Answer(Controller(), "NODEEXISTS: its predecessor's session lives, the start fails")
        return Answer(me.on(), "registered")

    # Who is controller?

    @request
    def watch_controller(self, me: Controller) -> Answer:
        """Watch /controller, before it is read. [registerZNodeChangeHandlerAndCheckExistence]"""
        there = self.zookeeper.exists(me.session, CONTROLLER, watch=True) is not None
        return Answer(me.on(), f"/controller is {'there' if there else 'not there'}")

    @request
    def maybe_resign(self, me: Controller) -> Answer:
        """Read who is controller, and resign if it was this broker and is no longer. [maybeResign]"""
        owner = self._controller_id(me)
        if owner == self.broker:
            return Answer(me.on(), "it is this broker")
        said = "there is none" if owner is None else f"it is broker {owner}"
        return Answer(me.on().resigned(), f"{said}: it resigns if it was active")

    @request
    def elect(self, me: Controller) -> Answer:
        """Stand for election, unless there is a controller already. [elect]"""
        owner = self._controller_id(me)
        # Kafka sets activeControllerId to what it reads, -1 for none, and returns even if that is its own id. What it
        # knew as controller it keeps, but nobody looks at that before it is elected again.
        if owner is None:
            standing = me.to(*ELECTION[self.design.election], *FAILOVER)
            return Answer(standing.resigned(), "there is none: it stands for election")
        return Answer(me.to()._replace(active=owner == self.broker), f"it is broker {owner}")

    def _controller_id(self, me: Controller) -> int | None:
        try:
            owner, _ = self.zookeeper.get(me.session, CONTROLLER)
        except NoNode:
            return None
        return int(owner)

    # Becoming controller.

    @request
    def create_controller(self, me: Controller) -> Answer:
        """Until 2.0 the node alone decides who is controller. [ZookeeperLeaderElector.elect, 0.10.2]"""
        try:
            self.zookeeper.create(me.session, CONTROLLER, self.broker, ephemeral=True)
        except NodeExists:
            return Answer(me.to(Do.MaybeResign), "NODEEXISTS: somebody was faster")
        return Answer(me.on()._replace(active=True), "created: the broker is controller, and its failover begins")

    @request
    def read_epoch(self, me: Controller) -> Answer:
        """Read /controller_epoch, with the version that the increment will expect."""
        epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
        known = me.on()._replace(epoch=epoch, epoch_zk_version=stat.version)
        return Answer(known, f"it is {epoch}, at version {stat.version}")

    @request
    def register_controller(self, me: Controller) -> Answer:
        """Node and epoch in one transaction. [registerControllerAndIncrementControllerEpoch, 2.1, KAFKA-6082]"""
        create = Create(CONTROLLER, self.broker, ephemeral=True)
        increment = SetData(CONTROLLER_EPOCH, me.epoch + 1, me.epoch_zk_version)
        failed = self._refused(me, create, increment)
        if failed is not None:
            code = "NODEEXISTS" if failed is create else "BADVERSION"
            return Answer(me.to(*MAYBE_RESIGN).resigned(), f"{code}: ControllerMoved")
        return Answer(self._elected(me), "created and incremented: its failover runs", failover=True)

    @request
    def increment_epoch(self, me: Controller) -> Answer:
        """Increment the epoch by compare-and-set, in the failover. [incrementControllerEpoch, until 2.0]"""
        try:
            self.zookeeper.set(me.session, CONTROLLER_EPOCH, me.epoch + 1, me.epoch_zk_version)
        except BadVersion:
            if self.design.election is Election.cas_swallowed:
                said = "BADVERSION: logged and swallowed, its failover runs with the epoch it read"
                return Answer(me.on(), said, failover=True)
            moved = me.to(Do.DeleteController).resigned()
            moved = moved._replace(epoch_zk_version=me.epoch_zk_version)  # what a fenced delete will check
            return Answer(moved, "BADVERSION: its failover fails, it resigns and moves the controller")
        return Answer(self._elected(me), "incremented: its failover runs", failover=True)

    def _elected(self, me: Controller) -> Controller:
        return me.on()._replace(active=True, epoch=me.epoch + 1, epoch_zk_version=me.epoch_zk_version + 1)

    # Being controller.

    @request
    def read_partition_state(self, me: Controller) -> Answer:
        """Read a partition's state, and let it be if a newer controller wrote it. [0.10 to 3.9]"""
        state, stat = self.zookeeper.get(me.session, self.design.state)
        if state.controller_epoch > me.epoch:
            return Answer(me.to(), "a newer controller wrote it: StateChangeFailed")
        return Answer(me.on()._replace(state_version=stat.version), "no newer controller wrote it")

    @request
    def update_leader_and_isr(self, me: Controller) -> Answer:
        """Write a partition's state, at the version read, and since 2.1 fenced by the epoch's version.

        If somebody else wrote in between, it is read again; if the fence fails, the controller has moved.
        [electLeaderForPartitions, 1.1; KAFKA-6082, 2.1]
        """
        write = SetData(self.design.state, PartitionState(me.epoch), me.state_version)
        failed = self._refused(me, *self._fence(me), write)
        done = me.on()._replace(state_version=0)
        if failed is None:
            return Answer(done, "written")
        if failed is write:
            again = done.to(Do.ReadPartitionState, *me.doing)
            return Answer(again, "BADVERSION: somebody else wrote it")
        return Answer(done.to(*MAYBE_RESIGN), "BADVERSION of the epoch: ControllerMoved")

    @request
    def delete_controller(self, me: Controller) -> Answer:
        """Delete /controller, fenced by the epoch's version or not. [triggerControllerMove]"""
        delete = Delete(CONTROLLER)
        failed = self._refused(me, *self._fence(me), delete)
        answers: dict[Operation | None, str] = {None: "deleted", delete: "NONODE: it is gone already"}
        said = answers.get(failed, "BADVERSION of the epoch: ControllerMoved, it stays")
        return Answer(me.on().resigned(), said)

    def _fence(self, me: Controller) -> Iterator[Operation]:
        if self.design.fenced:
            yield Check(CONTROLLER_EPOCH, me.epoch_zk_version)

    def _refused(self, me: Controller, *operations: Operation) -> Operation | None:
        """Which operation of a multi failed, and so undid the others; None if none did."""
        for operation, result in zip(operations, self.zookeeper.multi(me.session, operations), strict=True):
            if isinstance(result, Code) and result is not Code.OK:
                return operation
        return None
