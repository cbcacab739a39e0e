"""Brokers compete for /controller: who is controller, under which epoch, and what can an old one still write?"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from spec.language import (
    Domain,
    MappingDomain,
    Specification,
    State,
    Step,
    action,
    booleans,
    bound,
    constant,
    either,
    every,
    initial,
    integers,
    interchangeable,
    invariant,
    left_out,
    mapping,
    one_of,
    optional,
    part_of,
    partial_mapping,
    record,
    require,
    say,
    sequence_of,
    sometimes,
    subset_of,
    switch,
    transition_invariant,
    variable,
    view,
)
from spec.releases import RELEASES
from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    IDLE,
    INCREMENT,
    LEADER_AND_ISR,
    Agenda,
    Controller,
    Design,
    Do,
    Election,
    PartitionState,
    agendas,
    design_of,
)
from statemachines.controller_event import ControllerEvent, Queued
from statemachines.kafka_controller import KafkaController, Request
from statemachines.zookeeper import Event, EventType, Node, WatchTable, ZooKeeper

PARTITION_STATE = "/brokers/topics/t/partitions/0/state"


def registration(broker: int) -> str:
    """The path of a broker's own node."""
    return f"{BROKER_IDS}/{broker}"


class Session(NamedTuple):
    """A ZooKeeper session: whose it is, and a number, which is used again when nothing refers to it any more."""

    broker: int
    number: int

    def __str__(self) -> str:
        return f"session-{self.broker}.{self.number}"


class Servers(ZooKeeper):
    """ZooKeeper, but that watchers are not put in order before they are told: to put in order is to tell apart.

    They are told in one step, each in its own queue, and a set of the state is walked in one order anyway.
    """

    def _disarm(self, table: WatchTable, path: str) -> list[Any]:
        watches = self._watches(table)
        watchers = list(watches[path])
        watches[path] = frozenset()
        return watchers


class Failover(NamedTuple):
    """A failover that went through: who became controller, and the epoch it ran under."""

    broker: int
    epoch: int


def each_broker(self: ControllerElection) -> Domain[int]:
    """The brokers' ids. None is special."""
    return interchangeable("broker", range(self.brokers))


def each_session(self: ControllerElection) -> Domain[Session]:
    """Every session that may be, broker by broker."""
    return every(Session, broker=each_broker(self), number=range(self.sessions_per_broker))


def each_registration(self: ControllerElection) -> Domain[str]:
    """The path of each broker's own node."""
    return every(registration, broker=each_broker(self))


class ControllerElection(Specification):
    """Brokers with ZooKeeper sessions compete for /controller, one ZooKeeper request at a time.

    The ZooKeeper is `statemachines.zookeeper.ZooKeeper` and a broker's steps are those of
    `statemachines.kafka_controller`, both over the variables below. Between two requests of one broker anything may
    happen: requests of another, the end of a session (the servers decide, the client hears of it later), a crash,
    a restart, an operator who deletes /controller, an event that arrives late.

    Left out, and why that is safe for what is asked here: lost replies and disconnections without expiry (they add
    retries of requests whose effect ZooKeeper knows), and of a failover all that only reads, which is fused with
    the step before.

    This class is the design of 2.1 and later; the variants below are the older ones.
    """

    name = "controller-election"
    leaves_out = "lost replies, disconnections without expiry, the reads of a failover"
    releases = {
        release: {"epoch_update": its.election.name, "fence_zk": its.fenced}
        for release, its in ((release, design_of(release)) for release in RELEASES)
    }

    brokers: int = constant(3, "Brokers that compete.", at_least=1, at_most=5)
    sessions_per_broker: int = constant(
        1, "Sessions of one broker, alive or still referred to, at a time.", at_least=1, at_most=3
    )
    elections: int = constant(2, "Bound: how often /controller_epoch is incremented.", at_least=1, at_most=9)
    waiting: int = constant(4, "Bound: how many events may wait at a broker.", at_least=2, at_most=12)
    crashes: bool = constant(True, "Brokers crash, and may be started again.")
    operator: bool = constant(True, "An operator deletes /controller.")

    epoch_update: str = switch(
        "multi",
        "How the election is joined to the epoch: in one multi (2.1, KAFKA-6082), or by a compare-and-set after it "
        "whose failure is checked (1.1, KAFKA-5642) or swallowed.",
        among=[election.name for election in Election],
    )
    fence_zk: bool = switch(
        True,
        "Controller writes, the deletion of /controller among them, check the epoch's version (2.1, KAFKA-6082).",
    )

    zookeeper: ClassVar[type[ZooKeeper]] = Servers

    @cached_property
    def design(self) -> Design:
        """How the controller of this release does it."""
        election = Election[self.epoch_update]
        increment = () if election is Election.multi else INCREMENT
        failover = Agenda((*increment, *LEADER_AND_ISR))
        return Design(election, fenced=self.fence_zk, failover=failover, state=PARTITION_STATE)

    def sessions_of(self, broker: int) -> list[Session]:
        """The sessions that a broker may have."""
        return [Session(broker, number) for number in range(self.sessions_per_broker)]

    @property
    def paths(self) -> Domain[str]:
        """The nodes that there may be."""
        return either(["/", BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH, PARTITION_STATE], each_registration(self))

    @property
    def kinds_of_event(self) -> Domain[EventType]:
        """What a watch on /controller can tell; its data never change."""
        return one_of(EventType.NodeCreated, EventType.NodeDeleted)

    @property
    def queued(self) -> Domain[Queued]:
        """What a broker may have to handle."""
        return record(
            Queued, event=one_of(ControllerEvent.ControllerChange, ControllerEvent.Reelect), controller=one_of(None)
        )

    @property
    def writes(self) -> Domain[int]:
        """How often the partition's state can have been written: once in each failover."""
        return integers(0, self.elections * self.brokers)

    @property
    def czxids(self) -> Domain[Any]:
        """Which zxid created a registration: nobody asks for it."""
        return left_out()

    @property
    def names(self) -> Domain[Any]:
        """The names of the nodes under /brokers/ids: nobody asks for them."""
        return left_out()

    @property
    def context(self) -> dict[str, Any]:
        """What a controller knows besides: nothing, here."""
        names = ("listening", "posted", "registration", "broker_epoch", "listens", "started", "live", "cached")
        return {name: one_of(getattr(Controller(), name)) for name in names}

    # Variables: a ZooKeeper, the brokers, a history.

    @variable
    def nodes(self) -> MappingDomain:
        """The znodes by path. Left out: zxids, counters of children, and whose children they are."""
        epochs, nothing, childless = integers(0, self.elections), one_of(None), one_of(frozenset())
        counters = {name: left_out() for name in ("created", "czxid", "mzxid", "pzxid")}
        unversioned = one_of(0)
        parent = {"data": nothing, "version": unversioned, "owner": nothing, "children": left_out()}
        fields: dict[str, dict[str, Any]] = {
            "/": parent,
            BROKER_IDS: {**parent, "children": self.names},
            CONTROLLER: {
                "data": each_broker(self),
                "version": unversioned,
                "owner": each_session(self),
                "children": childless,
            },
            CONTROLLER_EPOCH: {"data": epochs, "version": epochs, "owner": nothing, "children": childless},
            PARTITION_STATE: {
                "data": record(PartitionState, controller_epoch=epochs),
                "version": self.writes,
                "owner": nothing,
                "children": childless,
            },
        }
        for broker in each_broker(self):
            fields[registration(broker)] = {
                "data": nothing,
                "version": unversioned,
                "owner": part_of(each_session(self), *self.sessions_of(broker)),
                "children": childless,
            }

        def czxid(path: str) -> dict[str, Any]:
            return {"czxid": self.czxids if path.startswith(f"{BROKER_IDS}/") else left_out()}

        return partial_mapping(self.paths, lambda path: record(Node, **{**fields[path], **counters, **czxid(path)}))

    @variable
    def sessions(self) -> MappingDomain:
        """The sessions that the servers keep alive, with their ephemerals."""
        registrations = each_registration(self)
        return partial_mapping(
            each_session(self),
            lambda session: subset_of(either([CONTROLLER], part_of(registrations, registration(session.broker)))),
        )

    @variable
    def data_watches(self) -> MappingDomain:
        """Who watches which of the nodes that come, go or change. Only /controller is watched."""
        nobody: Domain[Any] = subset_of(())
        paths = either([CONTROLLER, CONTROLLER_EPOCH, PARTITION_STATE], each_registration(self))
        return mapping(paths, lambda path: subset_of(each_session(self)) if path == CONTROLLER else nobody)

    @variable
    def child_watches(self) -> MappingDomain:
        """Nobody watches children here."""
        paths = either(["/", BROKER_IDS, CONTROLLER], each_registration(self))
        return mapping(paths, subset_of(()))

    @variable
    def events(self) -> MappingDomain:
        """Per session, the watch events that are on their way to its broker."""
        event = record(Event, type=self.kinds_of_event, path=one_of(CONTROLLER), zxid=left_out())
        return mapping(each_session(self), sequence_of(event, longest=3))

    @variable
    def zxid(self) -> Any:
        """The last transaction; nobody asks for it."""
        return left_out()

    @variable
    def controllers(self) -> MappingDomain:
        """What the KafkaController of each broker knows, and the request that it makes next."""
        epochs = integers(0, self.elections)
        return mapping(
            each_broker(self),
            lambda broker: record(
                Controller,
                doing=one_of(*agendas(self.design)),
                session=optional(part_of(each_session(self), *self.sessions_of(broker))),
                active=booleans(),
                epoch=epochs,
                epoch_zk_version=epochs,
                state_version=self.writes,
                queue=sequence_of(self.queued, longest=self.waiting),
                **self.context,
            ),
        )

    @variable
    def failovers(self) -> Any:
        """The failovers that went through, oldest first: a history, which no broker has."""
        failover = record(Failover, broker=each_broker(self), epoch=integers(0, self.elections))
        return sequence_of(failover, longest=self.elections * self.brokers)

    @initial
    def a_cluster_set_up(self, s: State) -> None:
        """/controller_epoch and the partition's state exist, no broker runs."""
        s.nodes["/"] = s.nodes[BROKER_IDS] = Node()
        s.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.nodes[PARTITION_STATE] = Node(data=PartitionState())

    # A broker's process and its session.

    def controller(self, s: State, broker: int) -> KafkaController:
        """A broker's controller, over this state."""
        return KafkaController(self.design, self.zookeeper(s), broker)

    def becomes(self, s: State, broker: int, me: Controller) -> None:
        """What a broker knows from now on, as long as there is room for what waits."""
        bound(len(me.queue) <= self.waiting)
        s.controllers[broker] = me

    @action(broker=each_broker)
    def start(self, s: State, broker: int) -> None:
        """A broker's process is started."""
        require(s.controllers[broker].about_to(Do.Start))
        s.controllers[broker] = self.controller(s, broker).start()

    def is_free(self, s: State, session: Session) -> bool:
        """Nothing refers to it, so that its number may be used for a new one."""
        return session not in s.sessions

    def free_session(self, s: State, broker: int) -> Session:
        """The session that a broker opens next."""
        free = [session for session in self.sessions_of(broker) if self.is_free(s, session)]
        require(free)
        return free[0]

    @action(broker=each_broker)
    def connect(self, s: State, broker: int) -> None:
        """A broker opens a ZooKeeper session."""
        me = s.controllers[broker]
        require(me.about_to(Do.Connect))
        s.controllers[broker] = self.controller(s, broker).connect(me, self.free_session(s, broker))

    @action(broker=each_broker)
    def learn_of_expiry(self, s: State, broker: int) -> None:
        """An idle broker's client reconnects, and is told that its session has ended."""
        me = s.controllers[broker]
        require(me.doing == IDLE and me.session not in s.sessions)
        s.controllers[broker] = self.controller(s, broker).expire(me)

    def hears(self, s: State, broker: int) -> Controller:
        """What it knows when it turns to an event: all that its watches have told by then."""
        return self.controller(s, broker).deliver(s.controllers[broker])

    @action(broker=each_broker)
    def handle_event(self, s: State, broker: int) -> None:
        """An idle broker handles the oldest event that its watches have told, or are about to tell.

        That something has arrived and not been handled yet is no state of its own: it arrives when it is handled, or
        before the next answer.
        """
        me = self.hears(s, broker)
        require(me.doing == IDLE and me.queue)
        answer = self.controller(s, broker).handle(me)
        say(answer.said)
        self.becomes(s, broker, answer.controller)

    @action(broker=each_broker, when=lambda self: self.crashes)
    def crash(self, s: State, broker: int) -> None:
        """A broker's process dies. Its session lives on until the servers end it."""
        me = s.controllers[broker]
        require(not me.about_to(Do.Start))
        s.controllers[broker] = self.controller(s, broker).stop(me)

    # A broker's requests.

    def request(self, s: State, broker: int, do: Do, step: Request) -> None:
        """The broker makes its next request, which is this one, and acts on the answer."""
        me = s.controllers[broker]
        require(me.about_to(do))
        answer = step(self.controller(s, broker), me)
        say(answer.said)
        self.becomes(s, broker, answer.controller)
        if answer.failover:
            s.failovers += (Failover(broker, answer.controller.epoch),)

    @action(broker=each_broker)
    def register_broker(self, s: State, broker: int) -> None:
        """A broker creates its own node under /brokers/ids."""
        self.request(s, broker, Do.RegisterBroker, KafkaController.register_broker)

    @action(broker=each_broker)
    def watch_controller(self, s: State, broker: int) -> None:
        """A broker asks whether /controller exists, and watches it."""
        self.request(s, broker, Do.WatchController, KafkaController.watch_controller)

    @action(broker=each_broker)
    def maybe_resign(self, s: State, broker: int) -> None:
        """A broker reads /controller, and resigns if it was controller and is not named there."""
        self.request(s, broker, Do.MaybeResign, KafkaController.maybe_resign)

    @action(broker=each_broker)
    def elect(self, s: State, broker: int) -> None:
        """A broker reads /controller, and stands for election if there is none."""
        self.request(s, broker, Do.Elect, KafkaController.elect)

    @action(broker=each_broker)
    def read_epoch(self, s: State, broker: int) -> None:
        """A broker reads /controller_epoch."""
        self.request(s, broker, Do.ReadEpoch, KafkaController.read_epoch)

    @action(broker=each_broker)
    def register_controller(self, s: State, broker: int) -> None:
        """A broker creates /controller and increments the epoch, in one transaction."""
        bound(s.controllers[broker].epoch < self.elections)
        self.request(s, broker, Do.RegisterController, KafkaController.register_controller)

    @action(broker=each_broker)
    def read_partition_state(self, s: State, broker: int) -> None:
        """The controller reads the partition's state."""
        self.request(s, broker, Do.ReadPartitionState, KafkaController.read_partition_state)

    @action(broker=each_broker)
    def update_leader_and_isr(self, s: State, broker: int) -> None:
        """The controller writes the partition's state."""
        self.request(s, broker, Do.UpdateLeaderAndIsr, KafkaController.update_leader_and_isr)

    # The servers and the operator.

    @action(session=each_session, seen=(0, 1))
    def expire(self, s: State, session: Session, seen: int) -> None:
        """The servers end a session; its /controller goes with it, and whoever watches is told.

        The owner itself may still hear of it, if it watches and its connection is open: `seen` events.
        """
        require(session in s.sessions)
        require(seen == 0 or (CONTROLLER in s.sessions[session] and session in s.data_watches[CONTROLLER]))
        self.zookeeper(s).expire(session, seen=seen)

    @action(when=lambda self: self.operator)
    def operator_deletes_controller(self, s: State) -> None:
        """An operator deletes /controller."""
        require(CONTROLLER in s.nodes)
        self.zookeeper(s).delete(None, CONTROLLER)

    # Properties of ZooKeeper.

    @invariant
    def ephemeral_owned(self, s: State) -> bool:
        """Z1: the owner of an ephemeral node is a live session."""
        return all(node.owner is None or node.owner in s.sessions for node in s.nodes.values())

    @transition_invariant(path=lambda self: self.paths)
    def version_step(self, before: State, step: Step, after: State, path: str) -> bool:
        """Z2: data change only with the version, and the version by one; a new node starts at 0."""
        old, new = before.nodes.get(path), after.nodes.get(path)
        if new is None or new == old:
            return True
        if old is None:
            return bool(new.version == 0)
        if new.version == old.version:
            return bool(new.data == old.data or new.owner != old.owner)
        return bool(new.version == old.version + 1)

    @transition_invariant(session=each_session)
    def one_shot(self, before: State, step: Step, after: State, session: Session) -> bool:
        """Z5: a watch that was armed fires once, and is gone; one that was not armed does not fire."""
        told = len(after.events[session]) - len(before.events[session])
        if told <= 0:
            return True
        armed = session in before.data_watches[CONTROLLER]
        return bool(told == 1 and armed and session not in after.data_watches[CONTROLLER])

    @transition_invariant
    def only_owner_session_end_or_operator_deletes_controller(self, before: State, step: Step, after: State) -> bool:
        """Only its owner, the end of its session or an operator deletes /controller."""
        if CONTROLLER not in before.nodes or CONTROLLER in after.nodes:
            return True
        owner = before.nodes[CONTROLLER].owner
        if step.action == "expire":
            return bool(step.parameters["session"] == owner)
        if "broker" not in step.parameters:  # an operator, or the servers
            return True
        return bool(before.controllers[step.parameters["broker"]].session == owner)

    # Properties of the controller.

    @transition_invariant
    def epoch_monotone(self, before: State, step: Step, after: State) -> bool:
        """C1: /controller_epoch never decreases."""
        return bool(before.nodes[CONTROLLER_EPOCH].data <= after.nodes[CONTROLLER_EPOCH].data)

    @invariant
    def epoch_unique(self, s: State) -> bool:
        """C2: no two failovers went through with the same epoch."""
        epochs = [failover.epoch for failover in s.failovers]
        return len(epochs) == len(set(epochs))

    @invariant
    def one_effective(self, s: State) -> bool:
        """C3: at most one broker acts as controller under the epoch that is in ZooKeeper."""
        epoch = s.nodes[CONTROLLER_EPOCH].data
        effective = [each for each in s.controllers.values() if each.acts and each.epoch == epoch]
        return len(effective) <= 1

    @transition_invariant
    def fenced_writes(self, before: State, step: Step, after: State) -> bool:
        """C4: whoever writes as controller has the epoch that is in ZooKeeper at that moment."""
        if after.nodes[PARTITION_STATE].version == before.nodes[PARTITION_STATE].version:
            return True
        writer = before.controllers[step.parameters["broker"]]
        return bool(writer.epoch == before.nodes[CONTROLLER_EPOCH].data)

    # What must be able to happen.

    @sometimes
    def elected(self, s: State) -> bool:
        """A controller has written under its epoch."""
        return bool(s.nodes[PARTITION_STATE].data.controller_epoch > 0)

    @sometimes(when=lambda self: self.elections > 1)
    def elected_twice(self, s: State) -> bool:
        """Two elections in one run, both of which led to a write."""
        return bool(s.nodes[PARTITION_STATE].version > 1)

    @sometimes(when=lambda self: self.crashes and self.elections > 1 and self.brokers > 1)
    def reelected_after_a_crash(self, before: State, step: Step, after: State) -> bool:
        """A failover goes through while the broker that was controller before lies crashed."""
        if len(after.failovers) == len(before.failovers) or not before.failovers:
            return False
        return bool(before.controllers[before.failovers[-1].broker].about_to(Do.Start))

    @sometimes(when=lambda self: self.elections > 1 and self.brokers > 1)
    def a_zombie(self, s: State) -> bool:
        """A broker acts as controller under an epoch that is no longer the one in ZooKeeper."""
        return any(each.acts and each.epoch < s.nodes[CONTROLLER_EPOCH].data for each in s.controllers.values())

    @sometimes(when=lambda self: self.operator and self.elections > 1 and self.brokers > 1)
    def a_zombie_with_a_session(self, s: State) -> bool:
        """A zombie whose session is alive, so that ZooKeeper does what it asks for: no expiry made it one."""
        epoch = s.nodes[CONTROLLER_EPOCH].data
        return any(each.acts and each.epoch < epoch and each.session in s.sessions for each in s.controllers.values())

    # What a state means, for whoever reads a trace.

    @view
    def office(self, s: State) -> str:
        """Who is controller, as ZooKeeper has it."""
        epoch = s.nodes[CONTROLLER_EPOCH].data
        if CONTROLLER not in s.nodes:
            return f"there is no /controller; the epoch is {epoch}"
        node = s.nodes[CONTROLLER]
        left = ""
        if node.owner not in s.sessions:
            left = f", left by {node.owner}, which has ended"
        elif node.owner != s.controllers[node.data].session:
            left = f", left by {node.owner}, which has not ended yet"
        return f"/controller names broker {node.data}{left}; the epoch is {epoch}"

    @view(broker=each_broker)
    def belief(self, s: State, broker: int) -> str:
        """What a broker takes itself for, and whether that is so."""
        me, epoch = s.controllers[broker], s.nodes[CONTROLLER_EPOCH].data
        if me.about_to(Do.Start):
            return f"broker {broker} is not running"
        if not me.active:
            but = f", but acts as one under epoch {me.epoch}" if me.acts else ""
            return f"broker {broker} does not take itself for controller{but}"
        named = s.nodes[CONTROLLER].data if CONTROLLER in s.nodes else None
        over = me.acts and me.epoch < epoch
        under = f"under epoch {me.epoch}{', which is over' if over else ''}" if me.acts else "without an epoch yet"
        if named == broker:
            return f"broker {broker} {'is' if me.acts and not over else 'takes itself for'} controller, {under}"
        beside = "" if named is None or over else f" beside broker {named}"
        return f"broker {broker} still takes itself for controller{beside}, {under}"

    @view(broker=each_broker)
    def intent(self, s: State, broker: int) -> str:
        """What a broker writes next, and what it does not know."""
        me, epoch, state = s.controllers[broker], s.nodes[CONTROLLER_EPOCH], s.nodes[PARTITION_STATE]
        but = f", not knowing that the epoch is {epoch.data} by now" if me.epoch != epoch.data else ""
        if me.about_to(Do.CreateController):
            does = "create /controller"
        elif me.about_to(Do.RegisterController):
            does = f"create /controller and increment the epoch from {me.epoch}{but}"
        elif me.about_to(Do.IncrementEpoch):
            does = f"increment the epoch from {me.epoch}{but}"
        elif me.about_to(Do.UpdateLeaderAndIsr):
            later = "" if me.state_version == state.version else ", not knowing that it has been written since"
            does = f"write the partition's state under epoch {me.epoch}{but or later}"
        elif me.about_to(Do.DeleteController):
            named = s.nodes[CONTROLLER].data if CONTROLLER in s.nodes else broker
            does = f"delete /controller{'' if named == broker else f', which names broker {named}'}"
        else:
            return ""
        return f"broker {broker} is about to {does}"

    @view(broker=each_broker)
    def unheard_expiry(self, s: State, broker: int) -> str:
        """A session that has ended, and whose broker does not know."""
        session = s.controllers[broker].session
        if session is None or session in s.sessions:
            return ""
        return f"{session} of broker {broker} has ended, and the broker has not heard of it"

    @view(broker=each_broker)
    def unhandled(self, s: State, broker: int) -> str:
        """What a broker's watches told, as long as it has not handled it, and what they cannot tell meanwhile."""
        me = s.controllers[broker]
        coming = [] if me.session is None else [event.type.name for event in s.events[me.session]]
        waiting = [str(each) for each in (*me.queue, *me.posted)]
        todo = [f"{does} {', then '.join(what)}" for does, what in (("hear", coming), ("handle", waiting)) if what]
        if not todo:
            return ""
        deaf = "" if me.session in s.data_watches[CONTROLLER] else ", and does not watch /controller meanwhile"
        return f"broker {broker} has yet to {' and to '.join(todo)}{deaf}"

    @view
    def last_write(self, s: State) -> str:
        """Under which epoch the partition's state was written."""
        state = s.nodes[PARTITION_STATE]
        if not state.version:
            return ""
        epoch = state.data.controller_epoch
        return f"the partition's state was written under epoch {epoch}; its version is {state.version}"

    @view
    def one_epoch_twice(self, s: State) -> str:
        """Two failovers under one epoch, which must not be."""
        if not s.failovers:
            return ""
        *earlier, last = s.failovers
        before = [each.broker for each in earlier if each.epoch == last.epoch]
        if not before:
            return ""
        return f"broker {last.broker}'s failover runs under epoch {last.epoch}, as one of broker {before[0]} did"


class IncrementedByCompareAndSet(ControllerElection, epoch_update="cas_checked"):
    """1.1 to 2.0: /controller is created first, then the epoch is read and incremented by compare-and-set.

    If that fails the failover fails, and deletes /controller, whoever owns it by then. [KafkaController, 1.1.0]
    """

    register_controller = None  # type: ignore[assignment]

    @action(broker=each_broker)
    def create_controller(self, s: State, broker: int) -> None:
        """A broker creates /controller."""
        self.request(s, broker, Do.CreateController, KafkaController.create_controller)

    @action(broker=each_broker)
    def increment_epoch(self, s: State, broker: int) -> None:
        """A broker in its failover increments the epoch, if it is still as it was read."""
        bound(s.controllers[broker].epoch < self.elections)
        self.request(s, broker, Do.IncrementEpoch, KafkaController.increment_epoch)

    @action(broker=each_broker)
    def delete_controller(self, s: State, broker: int) -> None:
        """A broker whose failover failed deletes /controller."""
        self.request(s, broker, Do.DeleteController, KafkaController.delete_controller)


class FailureSwallowed(IncrementedByCompareAndSet, epoch_update="cas_swallowed"):
    """0.10 to 1.0: a failed compare-and-set is logged, and the failover goes on. [KafkaController, 0.10.2, 1.0.0]."""

    delete_controller = None  # type: ignore[assignment]
