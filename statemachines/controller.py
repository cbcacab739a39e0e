"""The controller's life on one broker: each step makes one ZooKeeper request and acts on the answer.

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
    RegisterController  NODEEXISTS, BADVERSION   ControllerMoved: maybeResign; where replies are lost, not before it has
                                                 looked whether it was its own request that did it
    IncrementEpoch      BADVERSION               triggerControllerMove; or it goes on, see above
    UpdateLeaderAndIsr  somebody else wrote      once more from ReadPartitionState
                        the fence fails          ControllerMoved: maybeResign
    any                 SESSIONEXPIRED           it resigns, and begins anew with another session

[elect, maybeResign, onControllerFailover, triggerControllerMove in KafkaController.scala, 0.10.2 to 3.9;
KafkaZkClient.scala, 3.9]

Known to be otherwise in Kafka: since 1.1 a get of /controller arms the watch as well, if its handler is registered
[ZooKeeperClient.shouldWatch]; here only `watch_controller` does.

Left out so far: the listeners of 0.10, which act on data that came with the event instead of reading
again, that 0.11 and 1.0 handle what is queued before they hear of an expiry, and that 0.10 to 1.0 registered the
broker only after its controller was started.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from functools import wraps
from typing import Any, Final, NamedTuple, TypeAlias

from statemachines.agenda import IDLE, STOPPED, Agenda, Do
from statemachines.zookeeper import (
    Check,
    Code,
    Create,
    Delete,
    EventType,
    NoNode,
    Operation,
    Session,
    SessionExpired,
    SetData,
    ZooKeeper,
)

__all__ = [
    "BROKER_CHANGE",
    "BROKER_IDS",
    "CONTROLLER",
    "CONTROLLER_EPOCH",
    "ELECTION",
    "EXPIRED",
    "HANDLING",
    "IDLE",
    "INCREMENT",
    "LEADER_AND_ISR",
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
    "accepts",
    "agendas",
]

CONTROLLER: Final = "/controller"
"""Ephemeral; its data is the id of the broker that is controller. [ZkData.scala]"""
CONTROLLER_EPOCH: Final = "/controller_epoch"
"""Persistent; its data is the controller epoch, its version the token that fences. [ZkData.scala]"""
BROKER_IDS: Final = "/brokers/ids"
"""Each running broker has an ephemeral child here, named by its id. [ZkData.scala]"""


NOBODY: Final = -1
"""The id of no broker."""


# What there is to do.

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
LEADER_AND_ISR: Final = Agenda((Do.ReadPartitionState, Do.UpdateLeaderAndIsr))
"""A write to the state of a partition, which stands for all that a controller does."""
BROKER_CHANGE: Final = Agenda((Do.ReadBrokers, *LEADER_AND_ISR))
"""A broker came or went. [BrokerChange, 1.1]"""


class Election(Enum):
    """How the node and the epoch are joined, oldest last."""

    multi = "2.1 and later"
    cas_checked = "1.1 to 2.0"
    cas_swallowed = "0.10 to 1.0"


ELECTION: Final = {
    Election.multi: Agenda((Do.ReadEpoch, Do.RegisterController)),
    Election.cas_checked: Agenda((Do.CreateController,)),
    Election.cas_swallowed: Agenda((Do.CreateController,)),
}
"""What a broker does that finds no controller; its failover follows. [elect]"""
INCREMENT: Final = Agenda((Do.ReadEpoch, Do.IncrementEpoch))
"""How a failover begins where the multi does not do it. [readControllerEpochFromZooKeeper, until 2.0]"""


class Design(NamedTuple):
    """How a release does it, as far as releases differ."""

    election: Election = Election.multi
    fenced: bool = True
    """Writes, the deletion of /controller among them, check the version of /controller_epoch. [2.1, KAFKA-6082]"""
    failover: Agenda = LEADER_AND_ISR
    """What a controller does with its office. If that ends with `Do.Started`, so does what `elect` catches."""
    state: str = "/brokers/topics/t/partitions/0/state"
    """The path of the partition's state that a controller writes."""
    looks_again: bool = False
    """Whoever is refused looks whether it was by what he himself did: his reply may have been lost."""
    owner_check: bool = False
    """A broker deletes the registration that an older session of its own left. [2.2, KAFKA-7165]"""
    ghost_check: bool = False
    """A /controller that an older session of the broker left does not make it controller. [proposed, KAFKA-13407]"""
    resign_on_move: bool = False
    """Also elect and triggerControllerMove resign if they read that another broker is controller. [proposed]"""


def agendas(design: Design) -> tuple[Agenda, ...]:
    """Every agenda that a broker can have: each row, and what is left of it after each of its requests."""
    reelect = HANDLING[EventType.NodeDeleted]
    rows = [STOPPED, STARTUP, EXPIRED, reelect, (*ELECTION[design.election], *design.failover), MAYBE_RESIGN]
    if design.election is Election.cas_checked or Do.Started in design.failover:
        rows += [(Do.MoveController,), (Do.DeleteController,)]
    if Do.ReadBrokers in design.failover:
        rows.append(BROKER_CHANGE)
    if design.looks_again:
        checks = (Do.CheckController, Do.CheckEpoch) if design.election is Election.multi else (Do.CheckController,)
        rows.append((*checks, *design.failover))
        rows += [(Do.CheckRegistration, *row[2:]) for row in (STARTUP, EXPIRED)]
    if design.owner_check:
        rows += [(Do.DeleteRegistration, *row[1:]) for row in (STARTUP, EXPIRED)]
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
    """Events of its watches that have arrived, oldest first; it handles them when it is idle."""
    registration: Session | None = None
    """The session in which it last registered. [currentZooKeeperSessionId, 2.2]"""
    listens: bool = False
    """Its handlers of a controller are registered; what others hear of is dropped."""
    started: bool = False
    """The failover of its term is done."""
    live: frozenset[Any] = frozenset()
    """Its context: the brokers that it takes for alive, by the names of their nodes."""
    cached: int | None = None
    """Its context: the version at which it knows the partition's state."""

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
        return Controller(self.doing, self.session, queue=self.queue, registration=self.registration)

    def not_controller(self) -> "Controller":
        """It takes itself for controller no longer, and that is all: its context stays."""
        return self._replace(active=False, epoch=0, epoch_zk_version=0, state_version=0)

    @property
    def in_elect(self) -> bool:
        """It is in its election or its failover, and an error there moves the controller."""
        return len(self.doing) > 0 and self.doing[-1] is Do.Started

    @property
    def has_context(self) -> bool:
        """Whether anything is left of a term as controller."""
        return self.listens or self.started or bool(self.live) or self.cached is not None


def accepts(known: int, epoch: int) -> bool:
    """Whether a broker that has seen this controller epoch takes a request of that one. The same one it takes.

    [ReplicaManager.becomeLeaderOrFollower, stopReplicas, maybeUpdateMetadataCache, 0.10 to 3.9]
    """
    return epoch >= known


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
    sends: bool = False
    """Requests with its epoch go out to the brokers: UpdateMetadata, LeaderAndIsr."""


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
        """The client is told that its session has ended: resign, then open another. [Expire, 1.1]

        Expire waits for the event that is being handled, whose next request fails, and the new session waits for
        Expire; what is queued goes. So nothing can come between, and it is one step.
        """
        self.zookeeper.disconnect(me.session)
        return Controller(EXPIRED, registration=me.registration)

    def deliver(self, me: Controller) -> Controller:
        """The events in the session's inbox reach the client, which queues those that it has a handler for."""
        if me.session is None:
            return me
        while (event := self.zookeeper.take(me.session)) is not None:
            if event.path == CONTROLLER or me.listens:
                me = me._replace(queue=me.queue + (event.type,))
        return me

    def handle(self, me: Controller) -> Answer:
        """It turns to the oldest event in its queue."""
        event, me = me.queue[0], me._replace(queue=me.queue[1:])
        if event is not EventType.NodeChildrenChanged:
            name = "Reelect" if event is EventType.NodeDeleted else "ControllerChange"
            return Answer(me.to(*HANDLING[event]), name)
        if not me.active:
            return Answer(me, "BrokerChange: it is not controller")
        return Answer(me.to(*BROKER_CHANGE), "BrokerChange")

    def asks(self, me: Controller) -> tuple[Operation, ...]:
        """The operations of its next request, which is one that writes."""
        match me.doing[0]:
            case Do.RegisterBroker:
                return (Create(self.registration, ephemeral=True),)
            case Do.DeleteRegistration:
                return (Delete(self.registration),)
            case Do.CreateController:
                return (Create(CONTROLLER, self.broker, ephemeral=True),)
            case Do.IncrementEpoch:
                return (SetData(CONTROLLER_EPOCH, me.epoch + 1, me.epoch_zk_version),)
            case Do.RegisterController:
                increment = SetData(CONTROLLER_EPOCH, me.epoch + 1, me.epoch_zk_version)
                return (Create(CONTROLLER, self.broker, ephemeral=True), increment)
            case Do.UpdateLeaderAndIsr:
                return (*self._fence(me), SetData(self.design.state, PartitionState(me.epoch), me.state_version))
            case Do.DeleteController:
                return (*self._fence(me), Delete(CONTROLLER))
        raise ValueError(f"{me.doing[0]} writes nothing")

    def lose_reply(self, me: Controller) -> bool:
        """Its next request is served, and the answer lost with the connection: it will ask again.

        Whether the request had an effect. One that had none is as if it had never been sent.
        """
        return self._refused(me) is None

    def _fence(self, me: Controller) -> Iterator[Operation]:
        if self.design.fenced:
            yield Check(CONTROLLER_EPOCH, me.epoch_zk_version)

    def _refused(self, me: Controller) -> Operation | None:
        """Of what it asks for, the operation that failed, and so undid the others; None if none did."""
        operations = self.asks(me)
        for operation, result in zip(operations, self.zookeeper.multi(me.session, operations), strict=True):
            if isinstance(result, Code) and result is not Code.OK:
                return operation
        return None

    # The broker's own node.

    @property
    def registration(self) -> str:
        """The path of the broker's own node."""
        return f"{BROKER_IDS}/{self.broker}"

    @request
    def register_broker(self, me: Controller) -> Answer:
        """Create the broker's own node. [checkedEphemeralCreate, 1.1]"""
        if self._refused(me) is None:
            return Answer(self._registered(me), "registered")
        if self.design.looks_again:
            return Answer(me.to(Do.CheckRegistration, *me.doing[1:]), "NODEEXISTS: whose is it?")
        return self._not_registered(me, "NODEEXISTS: its predecessor's session lives")

    @request
    def check_registration(self, me: Controller) -> Answer:
        """Read whose registration it is that is there. [getAfterNodeExists, 1.1]

        If it is gone by now, 2.2 to 3.9 fail with a NullPointerException; here they try again, as they mean to.
        """
        again = Agenda((Do.RegisterBroker, *me.doing[1:]))
        try:
            _, stat = self.zookeeper.get(me.session, self.registration)
        except NoNode:
            return Answer(me.to(*again), "NONODE: once more")
        if stat.ephemeralOwner == me.session:
            return Answer(self._registered(me), "its own: registered")
        if self.design.owner_check and stat.ephemeralOwner == me.registration:
            return Answer(me.to(Do.DeleteRegistration, *again), "an older session of its own left it")
        return self._not_registered(me, "another session's")

    @request
    def delete_registration(self, me: Controller) -> Answer:
        """Delete what an older session of its own left, and register again. [ZOOKEEPER-2985, KAFKA-7165, 2.2]"""
        gone = self._refused(me) is not None
        return Answer(me.on(), "NONODE: it is gone already" if gone else "deleted")

    def _registered(self, me: Controller) -> Controller:
        return me.on()._replace(registration=me.session if self.design.owner_check else None)

    def _not_registered(self, me: Controller, why: str) -> Answer:
        """A start fails; who has had a session before lives on, unregistered, and does not elect."""
        if self.design.looks_again and Do.MaybeResign in me.doing:
            return Answer(me.to(), f"{why}: the event is dropped")
        self.zookeeper.close(me.session)
        return Answer(Controller(), f"{why}, the start fails")

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
            return Answer(me.on()._replace(active=True), "it is this broker")
        said = "there is none" if owner is None else f"it is broker {owner}"
        if not me.active:
            return Answer(me.on(), said)
        return Answer(me.on().resigned(), f"{said}: it resigns")

    @request
    def elect(self, me: Controller) -> Answer:
        """Stand for election, unless there is a controller already. [elect]"""
        owner = self._controller_id(me)
        if owner is None:
            standing = me.to(*ELECTION[self.design.election], *self.design.failover)
            return Answer(self._deposed(standing), "there is none: it stands for election")
        if owner == self.broker:  # and that is all, even if no failover of this session ever ran
            return Answer(me.to()._replace(active=True), "it is this broker")
        return Answer(self._deposed(me.to()), f"it is broker {owner}")

    def _deposed(self, me: Controller) -> Controller:
        """It reads that it is not controller, where Kafka only remembers who is: its context stays."""
        return me.resigned() if me.active and self.design.resign_on_move else me.not_controller()

    def _controller_id(self, me: Controller) -> int | None:
        try:
            owner, stat = self.zookeeper.get(me.session, CONTROLLER)
        except NoNode:
            return None
        if self.design.ghost_check and owner == self.broker and stat.ephemeralOwner != me.session:
            return NOBODY
        return int(owner)

    # Becoming controller.

    @request
    def create_controller(self, me: Controller) -> Answer:
        """Until 2.0 the node alone decides who is controller. [ZookeeperLeaderElector.elect, 0.10.2]"""
        if self._refused(me) is None:
            return Answer(self._in_office(me), "created: the broker is controller, and its failover begins")
        if self.design.looks_again:
            return Answer(me.to(Do.CheckController, *me.doing[1:]), "NODEEXISTS: whose is it?")
        return Answer(me.to(Do.MaybeResign), "NODEEXISTS: somebody was faster")

    @request
    def read_epoch(self, me: Controller) -> Answer:
        """Read /controller_epoch, with the version that the increment will expect."""
        epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
        known = me.on()._replace(epoch=epoch, epoch_zk_version=stat.version)
        return Answer(known, f"it is {epoch}, at version {stat.version}")

    @request
    def register_controller(self, me: Controller) -> Answer:
        """Node and epoch in one transaction. [registerControllerAndIncrementControllerEpoch, 2.1, KAFKA-6082]"""
        failed = self._refused(me)
        if failed is None:
            return Answer(self._elected(me), "created and incremented: its failover runs", failover=True)
        code = "NODEEXISTS" if isinstance(failed, Create) else "BADVERSION"
        if self.design.looks_again:
            return Answer(me.to(Do.CheckController, Do.CheckEpoch, *me.doing[1:]), f"{code}: was it its own?")
        return self._moved(me, code)

    @request
    def check_controller(self, me: Controller) -> Answer:
        """Read whether it was its own request that created /controller. [checkControllerAndEpoch, 2.1]

        Until 2.0 the owner's session was compared, and since then the id. [checkedEphemeralCreate, 1.1]
        """
        try:
            owner, stat = self.zookeeper.get(me.session, CONTROLLER)
        except NoNode:
            if self.design.election is Election.multi:
                return self._moved(me, "NONODE")
            return Answer(me.to(Do.CreateController, *me.doing[1:]), "NONODE: once more")
        if self.design.election is Election.multi:
            if owner == self.broker:
                return Answer(me.on(), "it is this broker")
            return self._moved(me, f"it is broker {owner}")
        if stat.ephemeralOwner == me.session:
            return Answer(self._in_office(me), "its own: the broker is controller, and its failover begins")
        return Answer(me.to(Do.MaybeResign), f"it is broker {owner}: somebody was faster")

    @request
    def check_epoch(self, me: Controller) -> Answer:
        """Read whether it was its own request that incremented the epoch. [checkControllerAndEpoch, 2.1]"""
        epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
        if epoch != me.epoch + 1:
            return self._moved(me, f"it is {epoch}, at version {stat.version}")
        return Answer(self._elected(me), "its own: its failover runs", failover=True)

    @request
    def increment_epoch(self, me: Controller) -> Answer:
        """Increment the epoch by compare-and-set, in the failover. [incrementControllerEpoch, until 2.0]"""
        if self._refused(me) is None:
            return Answer(self._elected(me), "incremented: its failover runs", failover=True)
        if self.design.election is Election.cas_swallowed:
            said = "BADVERSION: logged and swallowed, its failover runs with the epoch it read"
            return Answer(me.on(), said, failover=True)
        return Answer(self._to_move(me), "BADVERSION: its failover fails, it resigns and moves the controller")

    def _in_office(self, me: Controller) -> Controller:
        """The broker is controller; a failover that the model follows registers its handlers first."""
        return me.on()._replace(active=True, listens=Do.ReadBrokers in self.design.failover)

    def _elected(self, me: Controller) -> Controller:
        return self._in_office(me)._replace(epoch=me.epoch + 1, epoch_zk_version=me.epoch_zk_version + 1)

    def _moved(self, me: Controller, code: str) -> Answer:
        """ControllerMovedException, from whoever is not controller yet."""
        return Answer(me.to(*MAYBE_RESIGN).not_controller(), f"{code}: ControllerMoved")

    # Being controller.

    @request
    def read_brokers(self, me: Controller) -> Answer:
        """Read which brokers are alive, and watch. If they are those that it knew, there is nothing to do."""
        live, _ = self.zookeeper.children(me.session, BROKER_IDS, watch=True)
        if live == me.live and not me.in_elect:
            return Answer(me.to(), "the same ones")
        return Answer(me.on()._replace(live=live), "these are alive")

    @request
    def read_states(self, me: Controller) -> Answer:
        """Read every partition's state into the cache, and tell the brokers."""
        _, stat = self.zookeeper.get(me.session, self.design.state)
        return Answer(me.on()._replace(cached=stat.version), "cached; UpdateMetadata is sent", sends=True)

    def let_be(self, me: Controller) -> Controller:
        """The partition's leader is alive: there is nothing to elect, and nothing is written."""
        return self._done(me.on())

    @request
    def read_partition_state(self, me: Controller) -> Answer:
        """Read a partition's state, and let it be if a newer controller wrote it. [0.10 to 3.9]"""
        state, stat = self.zookeeper.get(me.session, self.design.state)
        if state.controller_epoch > me.epoch:
            return Answer(self._done(me.on()), "a newer controller wrote it: StateChangeFailed")
        return Answer(me.on()._replace(state_version=stat.version), "no newer controller wrote it")

    @request
    def update_leader_and_isr(self, me: Controller) -> Answer:
        """Write a partition's state, at the version read, and since 2.1 fenced by the epoch's version.

        If somebody else wrote in between, it is read again; if the fence fails, the controller has moved.
        [electLeaderForPartitions, 1.1; KAFKA-6082, 2.1]
        """
        failed = self._refused(me)
        if failed is None:
            cached = None if me.cached is None else me.state_version + 1
            return Answer(self._done(me._replace(cached=cached)), "written; LeaderAndIsr is sent", sends=True)
        me = me._replace(state_version=0)
        if isinstance(failed, SetData):
            return Answer(me.to(Do.ReadPartitionState, *me.doing), "BADVERSION: somebody else wrote it")
        return Answer(me.to(*MAYBE_RESIGN), "BADVERSION of the epoch: ControllerMoved")

    def _done(self, me: Controller) -> Controller:
        """It goes on after a partition; behind the last one of a failover there is nothing more."""
        after = me.on()._replace(state_version=0)
        return after.on()._replace(started=True) if after.about_to(Do.Started) else after

    # triggerControllerMove.

    def fail(self, me: Controller) -> Answer:
        """Its next request, in its failover, fails for a reason of its own. [elect catches Throwable]"""
        if self.design.election is Election.multi:
            return Answer(me.to(Do.MoveController)._replace(state_version=0), "it moves the controller")
        return Answer(self._to_move(me), "it resigns and moves the controller")

    @request
    def move_controller(self, me: Controller) -> Answer:
        """Read whether there is a controller to be moved: it resigns if it is this broker. [2.1]"""
        owner = self._controller_id(me)
        if owner == self.broker:
            return Answer(self._to_move(me), "it is this broker: it resigns")
        said = "there is none" if owner is None else f"it is broker {owner}"
        return Answer(self._deposed(me.to()), f"{said}: it leaves it at that")

    def _to_move(self, me: Controller) -> Controller:
        """It has resigned, and knows the version that a fenced deletion of /controller checks."""
        return me.to(Do.DeleteController).resigned()._replace(epoch_zk_version=me.epoch_zk_version)

    @request
    def delete_controller(self, me: Controller) -> Answer:
        """Delete /controller, fenced by the epoch's version or not. [triggerControllerMove]"""
        failed = self._refused(me)
        if failed is None:
            said = "deleted"
        elif isinstance(failed, Delete):
            said = "NONODE: it is gone already"
        else:
            said = "BADVERSION of the epoch: ControllerMoved, it stays"
        return Answer(me.on().resigned(), said)
