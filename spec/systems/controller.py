"""The controller's life, release by release: failover step by step, lost replies, failing requests, zombies."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cached_property
from typing import Any

from spec.language import (
    Domain,
    MappingDomain,
    State,
    Step,
    action,
    booleans,
    bound,
    constant,
    either,
    every,
    integers,
    invariant,
    left_out,
    mapping,
    one_of,
    optional,
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
from spec.releases import RELEASES, since
from spec.systems.controller_election import (
    PARTITION_STATE,
    ControllerElection,
    Failover,
    Servers,
    Session,
    each_broker,
    each_registration,
    each_session,
    registration,
)
from statemachines.agenda import IDLE, STOPPED, Do
from statemachines.controller import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    Controller,
    Design,
    Election,
    LiveBroker,
    Threads,
    accepts,
    design_of,
    listening,
)
from statemachines.controller_event import HANDLING, ControllerEvent, Queued
from statemachines.failover import failover, requests
from statemachines.kafka_controller import (
    CHECKS,
    CREATES,
    HEALTHCHECK,
    NEW_SESSION,
    REGISTERS,
    KafkaController,
    Request,
)
from statemachines.znode import Created, Transaction, stat_of
from statemachines.zookeeper import Event, EventType

ANSWERED, LOST = "answered", "lost"
LOCAL = {
    "fail_authentication",
    "deliver_event",
    "handle_event",
    "fail",
    "announce_isr",
    "lose_connection",
    "reconnect",
}
"""What happens to a broker without a request."""
READS = {
    ControllerEvent.ControllerChange: (CONTROLLER,),
    ControllerEvent.Reelect: (CONTROLLER,),
    ControllerEvent.LeaderChangeListener: (CONTROLLER,),
    ControllerEvent.SessionExpirationListener: (CONTROLLER,),
    ControllerEvent.BrokerChange: (BROKER_IDS,),
    ControllerEvent.BrokerChangeListener: (BROKER_IDS,),
}
"""What is read, and watched again, when an event is handled."""
EVER = -1
"""A zxid before all others."""


class Returning(Servers):
    """Servers to whose clients it happens that they lose their connection, and come back.

    Whoever is away is told of nothing; what its watches would have told waits here instead, and is what has changed
    when it comes back: the zxids, by which real servers know, are left out.
    """

    def come_back(self, session: Any) -> None:
        """A client is back, and has its watches armed again, or is told what it has missed."""
        missed, self.state.events[session] = self.state.events[session], ()
        data = [event.path for event in missed if event.type in (EventType.NodeDeleted, EventType.NodeDataChanged)]
        exist = [event.path for event in missed if event.type is EventType.NodeCreated]
        child = [event.path for event in missed if event.type is EventType.NodeChildrenChanged]
        self.set_watches(session, EVER, data, exist, child)

    def _changed(self, path: str, since: str, seen_zxid: int) -> bool:
        return True


class Registering(Transaction):
    """A transaction that numbers the registrations of each broker; their zxids grow in the same order."""

    registered: MutableMapping[int, int]

    def create(self, session: Any, path: str, data: Any, ephemeral: bool, sequential: bool) -> Created:
        """As ever, but for the number."""
        created = super().create(session, path, data, ephemeral, sequential)
        if not path.startswith(BROKER_IDS):
            return created
        self.nodes[path] = self.nodes[path]._replace(czxid=self.registered[session.broker] + 1)
        return Created(path, stat_of(self.nodes[path]))


class Numbering(Returning):
    """Servers whose registrations have the number that they are of their broker's, in place of a zxid."""

    transaction = Registering

    def _begin(self, request: str, session: Any, ephemeral: bool = False) -> Transaction:
        transaction = super()._begin(request, session, ephemeral)
        assert isinstance(transaction, Registering)
        transaction.registered = self.state.registered  # type: ignore[attr-defined]
        return transaction


class Outliving(Returning):
    """ZOOKEEPER-2985: what an ended session owned is there for a while yet."""

    def _end(self, request: str, session: Any, order: Any, seen: Any) -> None:
        self._forget_watches(session)
        del self.state.sessions[session]


class OutlivingNumbering(Outliving, Numbering):
    """Both."""


def name_of(broker: int) -> str:
    """The name of a broker's own node."""
    return f"{broker}"


def each_ephemeral(self: ControllerLife) -> Domain[str]:
    """The paths of the nodes that belong to sessions."""
    return either([CONTROLLER], each_registration(self))


def may_find_a_node(self: ControllerLife) -> bool:
    """A broker may find its own node there when it registers."""
    restarts = self.crashes and self.sessions_per_broker > 1
    renewed = self.threads != "barrier" or not self.reinit_only_if_dead
    return self.lost_replies or restarts or renewed or self.ephemeral_outlives_session


def is_contested(self: ControllerLife) -> bool:
    """There can be an old controller beside a new one."""
    return self.elections > 1 and self.brokers > 1


def replies(self: ControllerLife) -> tuple[str, ...]:
    """What becomes of the answer to a write."""
    return (ANSWERED, LOST) if self.lost_replies else (ANSWERED,)


CLIENTS = since(
    {
        "0.10.1": {"reinit_only_if_dead": True},
        "2.8": {"reinit_only_if_dead": False},
        "3.1": {"reinit_only_if_dead": True},
    }
)
"""What differs in a release besides the design of its controller. [KAFKA-13461]"""


def switches_of(release: str) -> dict[str, Any]:
    """The valuation of a release."""
    its = design_of(release)
    return {
        "threads": its.threads.name,
        "listener_guard": its.listener_guard,
        "skip_if_self": its.skip_if_self,
        "epoch_update": its.election.name,
        "fence_zk": its.fenced,
        "ephemeral_owner_check": its.owner_check,
        "broker_epoch": its.broker_epochs,
        "ghost_check": its.ghost_check,
        "resign_on_move": its.resign_on_move,
        "elect_if_none": its.elect_if_none,
        **CLIENTS[release],
    }


class ControllerLife(ControllerElection):
    """Brokers become controller, do a controller's work, and lose the office, one ZooKeeper request at a time.

    The election of `controller-election`, and besides: a failover with all its steps that read or write what is
    modelled, brokers that come and go under the eyes of the controller, connections and replies that are lost,
    requests that fail, and a broker that gets the controllers' requests. Between any two steps a session may end or a
    process crash. `threads` says how a broker comes to handle what it is told, see `statemachines.controller_event`.

    Left out: all of a failover that touches nothing modelled (`statemachines.failover.fused`), topics and replicas,
    what the controllerLock of 0.10 keeps apart. One partition's state stands for all of them, and one broker that
    gets requests for all that do, because they know nothing of each other. Of what the leader of a partition tells
    of its ISR (`isr_changes`) only that there is something to be told.
    """

    name = "controller"
    leaves_out = "topics, replicas, what of a failover touches none of the variables, threads beside ZkEventThread"
    releases = {release: switches_of(release) for release in RELEASES}
    """What is proposed is off in all of them."""

    brokers: int = constant(2, "Brokers that compete.", at_least=1, at_most=3)
    waiting: int = constant(8, "Bound: how many events may wait at a broker.", at_least=5, at_most=12)
    registrations: int = constant(
        0,
        "Bound: how often a broker registers, by which its epoch is told; 0: epochs of brokers are left out.",
        at_least=0,
        at_most=5,
    )
    updates: int = constant(2, "Bound: how often the partition's state is written.", at_least=1, at_most=9)
    expiries: bool = constant(True, "The servers end sessions.")
    lost_replies: bool = constant(True, "Writes take effect whose answer is lost.")
    disconnections: bool = constant(True, "Clients lose their connection for a while.")
    failures: bool = constant(True, "A request of a failover fails for a reason of its own.")
    receives: bool = constant(True, "A broker gets the controllers' requests, and knows the highest epoch of them.")
    isr_changes: bool = constant(False, "The leader of a partition changes its ISR, and who is controller is told.")
    ephemeral_outlives_session: bool = constant(
        False, "A fault of the servers: what an ended session owned goes later (ZOOKEEPER-2985)."
    )

    threads: str = switch(
        "barrier",
        "Who handles what a broker is told: listeners under one lock (0.10), a queue of what ZkEventThread read "
        "(0.11), or a queue that a new session waits for, and all is read when it is handled (1.1, KAFKA-5642).",
        among=[threads.name for threads in Threads],
    )
    listener_guard: bool = switch(
        True, "A listener asks whether the broker is controller still (0.10.2, KAFKA-4447; 0.10.1 did not)."
    )
    skip_if_self: bool = switch(
        True, "In 0.10, a new session changes nothing for whom /controller names (0.10.2, KAFKA-4229)."
    )
    reinit_only_if_dead: bool = switch(
        True, "A client that fails to authenticate begins anew only if its session has ended (3.0.1, KAFKA-13461)."
    )
    ephemeral_owner_check: bool = switch(
        True, "A broker deletes the registration that an older session of its own left (2.2, KAFKA-7165)."
    )
    broker_epoch: bool = switch(
        True, "A broker is told from its predecessor by the zxid of its registration (2.2, KAFKA-7235)."
    )
    ghost_check: bool = switch(
        False,
        "A /controller that an older session of the broker left does not make it controller (KAFKA-13407, open).",
    )
    resign_on_move: bool = switch(
        False,
        "Whoever reads, in elect or triggerControllerMove, that it is controller no longer resigns (proposed here).",
    )

    elect_if_none: bool = switch(
        False,
        "Who asks whether it is controller still, and reads that nobody is, stands for election (proposed here).",
    )

    @property
    def zookeeper(self) -> type[Returning]:  # type: ignore[override]
        """The servers, with their fault or without."""
        if self.registrations:
            return OutlivingNumbering if self.ephemeral_outlives_session else Numbering
        return Outliving if self.ephemeral_outlives_session else Returning

    @cached_property
    def design(self) -> Design:
        """How the controller of this release does it."""
        election, threads = Election[self.epoch_update], Threads[self.threads]
        like = "2.1" if election is Election.multi else "1.1" if threads is Threads.barrier else "1.0"
        return Design(
            election,
            threads,
            fenced=self.fence_zk,
            failover=requests(failover(like)),
            state=PARTITION_STATE,
            looks_again=True,
            skip_if_self=self.skip_if_self,
            listener_guard=self.listener_guard,
            owner_check=self.ephemeral_owner_check and self.ephemeral_outlives_session,
            broker_epochs=self.broker_epoch and self.registrations > 0,
            ghost_check=self.ghost_check,
            resign_on_move=self.resign_on_move,
            elect_if_none=self.elect_if_none,
        )

    @property
    def kinds_of_event(self) -> Domain[EventType]:
        """What the watches on /controller and /brokers/ids can tell; that one was replaced, only on coming back."""
        return one_of(*EventType)

    @property
    def listeners(self) -> Domain[Queued]:
        """What ZkEventThread may have to handle."""
        kinds = [each.event for each in (HEALTHCHECK, *NEW_SESSION)]
        kinds += [ControllerEvent.IsrChangeNotification] if self.isr_changes and self.threads == "lock" else []
        return record(Queued, event=one_of(*kinds), controller=one_of(None))

    @property
    def queued(self) -> Domain[Queued]:
        """What a broker may have to handle."""
        if self.threads == "lock":
            return self.listeners
        kinds = [ControllerEvent.ControllerChange, ControllerEvent.Reelect, ControllerEvent.BrokerChange]
        kinds += [ControllerEvent.IsrChangeNotification] if self.isr_changes else []
        named: Any = optional(each_broker(self)) if self.threads == "queue" else one_of(None)
        return record(Queued, event=one_of(*kinds), controller=named)

    @property
    def writes(self) -> Domain[int]:
        """How often the partition's state can have been written."""
        return integers(0, self.updates)

    @property
    def names(self) -> Domain[frozenset[str]]:
        """The names of the nodes under /brokers/ids."""
        return subset_of(every(name_of, broker=each_broker(self)))

    @property
    def czxids(self) -> Domain[Any]:
        """Which of its broker's registrations it is, in place of the zxid that created it."""
        return integers(0, self.registrations) if self.registrations else left_out()

    @property
    def live(self) -> Domain[frozenset[Any]]:
        """Which brokers a controller may take for alive."""
        if not self.design.broker_epochs:
            return self.names
        named = every(name_of, broker=each_broker(self))
        return subset_of(every(LiveBroker, name=named, epoch=range(1, self.registrations + 1)))

    @property
    def context(self) -> dict[str, Any]:
        """What a controller knows besides."""
        posted: Any = sequence_of(self.listeners, longest=self.waiting) if self.threads == "queue" else one_of(())
        return {
            "listening": one_of(*listening(self.design)),
            "posted": posted,
            "registration": optional(each_session(self)) if self.design.owner_check else one_of(None),
            "broker_epoch": integers(0, self.registrations if self.design.broker_epochs else 0),
            "listens": booleans(),
            "started": booleans(),
            "live": self.live,
            "cached": optional(self.writes),
        }

    # Variables.

    @variable
    def child_watches(self) -> MappingDomain:
        """Who watches which brokers come and go."""
        paths = either(["/", BROKER_IDS, CONTROLLER], each_registration(self))
        nobody: Domain[Any] = subset_of(())
        return mapping(paths, lambda path: subset_of(each_session(self)) if path == BROKER_IDS else nobody)

    @variable
    def events(self) -> MappingDomain:
        """Per session, the watch events that are on their way to its broker."""
        event = record(Event, type=self.kinds_of_event, path=one_of(CONTROLLER, BROKER_IDS), zxid=left_out())
        return mapping(each_session(self), sequence_of(event, longest=4))

    @variable
    def away(self) -> Any:
        """The sessions whose clients have lost their connection. What would be sent to them is noted, not sent."""
        return subset_of(each_session(self) if self.disconnections else ())

    @variable
    def held_over(self) -> Any:
        """Who is controller in another session than that in which it was elected: a history."""
        return subset_of(each_broker(self) if self.threads != "barrier" else ())

    @variable
    def registered(self) -> MappingDomain:
        """How often a broker has registered: a history, by which registrations are told apart."""
        return mapping(each_broker(self), integers(0, self.registrations))

    @variable
    def requests(self) -> Any:
        """The controller epochs of the requests that are on their way to a broker, in no order."""
        return subset_of(range(self.elections + 1) if self.receives else ())

    @variable
    def known_epoch(self) -> Any:
        """The highest controller epoch that this broker has seen. [ReplicaManager.controllerEpoch]"""
        return integers(0, self.elections if self.receives else 0)

    # A broker's requests.

    def is_free(self, s: State, session: Session) -> bool:
        """Nothing refers to it, not even a node that it left or the broker that once registered in it."""
        if not super().is_free(s, session):
            return False
        if not self.ephemeral_outlives_session:
            return True
        left = (CONTROLLER, registration(session.broker))
        return s.controllers[session.broker].registration != session and not any(
            path in s.nodes and s.nodes[path].owner == session for path in left
        )

    def becomes(self, s: State, broker: int, me: Controller) -> None:
        """What a broker knows from now on, as long as there is room for what waits."""
        bound(len(me.posted) <= self.waiting)
        super().becomes(s, broker, me)

    def connected(self, s: State, broker: int) -> bool:
        """Its client has a connection to the servers, or is about to be told that its session has ended."""
        return s.controllers[broker].session not in s.away

    @action(broker=each_broker, when=lambda self: self.expiries)
    def learn_of_expiry(self, s: State, broker: int) -> None:
        """A client reconnects, and is told that its session has ended. Since 1.1 an idle broker; until 1.0 any."""
        if self.threads == "barrier":
            super().learn_of_expiry(s, broker)
            return
        me = s.controllers[broker]
        require(me.session is not None and me.session not in s.sessions)
        require(not any(each.about_to(check) for each in (me, me.beside()) for check in CHECKS))  # fails, and then
        bound(len(me.queue) + len(me.posted) + len(NEW_SESSION) <= self.waiting)
        s.controllers[broker] = self.controller(s, broker).renew(me, self.free_session(s, broker))
        if me.active or me.listens:
            s.held_over |= {broker}

    @action(broker=each_broker, when=lambda self: self.threads == "barrier" and not self.reinit_only_if_dead)
    def fail_authentication(self, s: State, broker: int) -> None:
        """An idle broker's client fails to authenticate, and begins anew, while its session lives on."""
        me = s.controllers[broker]
        require(me.doing == IDLE and me.session in s.sessions and self.connected(s, broker))
        s.controllers[broker] = self.controller(s, broker).begin_anew(me)

    @action(broker=each_broker, when=lambda self: self.threads != "barrier")
    def deliver_event(self, s: State, broker: int) -> None:
        """What its watches have to tell reaches a broker; it then stays, even if its session ends."""
        me = s.controllers[broker]
        require(me.session is not None and s.events[me.session] and self.connected(s, broker))
        self.becomes(s, broker, self.controller(s, broker).deliver(me))

    def hears(self, s: State, broker: int) -> Controller:
        """What it knows when it turns to an event: until 1.0, and without a connection, nothing arrives with that."""
        if self.connected(s, broker) and self.threads == "barrier":
            return super().hears(s, broker)
        me: Controller = s.controllers[broker]
        return me

    @action(broker=each_broker, when=lambda self: self.threads == "queue")
    def listen(self, s: State, broker: int) -> None:
        """ZkEventThread reads for a listener, and puts an event into the controller's queue."""
        me = s.controllers[broker]
        require(me.listening == IDLE and me.posted)
        require(me.session in s.sessions and self.connected(s, broker))
        answer = self.controller(s, broker).listen(me)
        say(answer.said)
        self.becomes(s, broker, answer.controller)

    @action(broker=each_broker, when=lambda self: self.isr_changes)
    def announce_isr(self, s: State, broker: int) -> None:
        """The leader of a partition has changed its ISR, and a broker that listens is told."""
        me = s.controllers[broker]
        require(me.listens and me.session in s.sessions and self.connected(s, broker))
        require(all(each.event is not ControllerEvent.IsrChangeNotification for each in me.queue))
        self.becomes(s, broker, self.controller(s, broker).isr_changes(me))

    @action(broker=each_broker, heard=(True, False), when=lambda self: self.disconnections)
    def lose_connection(self, s: State, broker: int, heard: bool) -> None:
        """A client loses its connection to the servers, with what they were about to tell, or after that."""
        me = s.controllers[broker]
        require(me.session in s.sessions and self.connected(s, broker))
        if heard:
            require(s.events[me.session])
            self.becomes(s, broker, self.controller(s, broker).deliver(me))
        s.away |= {me.session}

    @action(broker=each_broker, when=lambda self: self.disconnections)
    def reconnect(self, s: State, broker: int) -> None:
        """A client that was away is back, and is told what it has missed."""
        me = s.controllers[broker]
        require(me.session in s.away)
        s.away -= {me.session}
        self.zookeeper(s).come_back(me.session)

    def request(self, s: State, broker: int, do: Do, step: Request, reply: str = ANSWERED) -> None:
        """The broker makes its next request, which is this one, and acts on the answer, unless that is lost."""
        me = s.controllers[broker]
        beside = self.threads == "queue" and do in REGISTERS
        me = me.beside() if beside else me
        require(me.about_to(do) and self.connected(s, broker))
        its = self.controller(s, broker)
        if reply == LOST:
            require(me.session in s.sessions and its.lose_reply(me))
            say("it is done, and the broker does not hear of it")
            if self.disconnections:
                s.away |= {me.session}
            else:
                self.zookeeper(s).come_back(me.session)
            return
        if self.threads != "barrier" and do not in CREATES | REGISTERS:
            require(me.session in s.sessions)  # it is repeated in the next one
        answer = step(its, me)
        say(answer.said)
        after = answer.controller
        self.becomes(s, broker, after.beside() if beside and after.session is not None else after)
        if answer.failover:
            s.failovers += (Failover(broker, after.epoch),)
        if answer.sends and self.receives:
            s.requests |= {after.epoch}
        if do is Do.CreateController or not (after.active or after.listens):
            s.held_over -= {broker}

    @action(broker=each_broker, reply=replies)
    def register_broker(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker creates its own node under /brokers/ids."""
        bound(not self.registrations or s.registered[broker] < self.registrations)
        absent = registration(broker) not in s.nodes
        self.request(s, broker, Do.RegisterBroker, KafkaController.register_broker, reply)
        if self.registrations and absent and registration(broker) in s.nodes:
            s.registered[broker] += 1

    @action(broker=each_broker, when=may_find_a_node)
    def check_registration(self, s: State, broker: int) -> None:
        """A broker reads whose its node is."""
        self.request(s, broker, Do.CheckRegistration, KafkaController.check_registration)

    @action(broker=each_broker, when=lambda self: self.ephemeral_owner_check and self.ephemeral_outlives_session)
    def delete_registration(self, s: State, broker: int) -> None:
        """A broker deletes what an older session of its own left."""
        self.request(s, broker, Do.DeleteRegistration, KafkaController.delete_registration)

    @action(broker=each_broker, reply=replies, when=lambda self: self.epoch_update == "multi")
    def register_controller(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker creates /controller and increments the epoch, in one transaction."""
        bound(s.controllers[broker].epoch < self.elections)
        self.request(s, broker, Do.RegisterController, KafkaController.register_controller, reply)

    @action(broker=each_broker, reply=replies, when=lambda self: self.epoch_update != "multi")
    def create_controller(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker creates /controller."""
        self.request(s, broker, Do.CreateController, KafkaController.create_controller, reply)

    @action(broker=each_broker, when=lambda self: self.lost_replies or self.brokers > 1)
    def check_controller(self, s: State, broker: int) -> None:
        """A broker reads whether it was its own request that created /controller."""
        self.request(s, broker, Do.CheckController, KafkaController.check_controller)

    @action(broker=each_broker, when=lambda self: self.epoch_update == "multi" and self.lost_replies)
    def check_epoch(self, s: State, broker: int) -> None:
        """A broker reads whether it was its own request that incremented the epoch."""
        self.request(s, broker, Do.CheckEpoch, KafkaController.check_epoch)

    @action(broker=each_broker, reply=replies, when=lambda self: self.epoch_update != "multi")
    def increment_epoch(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker in its failover increments the epoch, if it is still as it was read."""
        bound(s.controllers[broker].epoch < self.elections)
        self.request(s, broker, Do.IncrementEpoch, KafkaController.increment_epoch, reply)

    @action(broker=each_broker)
    def read_brokers(self, s: State, broker: int) -> None:
        """The controller reads which brokers are alive."""
        self.request(s, broker, Do.ReadBrokers, KafkaController.read_brokers)

    @action(broker=each_broker, when=lambda self: self.threads != "barrier")
    def watch_brokers(self, s: State, broker: int) -> None:
        """The controller listens to brokers that come and go."""
        self.request(s, broker, Do.WatchBrokers, KafkaController.watch_brokers)

    @action(broker=each_broker, when=lambda self: self.threads == "lock" and self.skip_if_self)
    def get_controller_id(self, s: State, broker: int) -> None:
        """A broker with a new session reads whether /controller names it."""
        self.request(s, broker, Do.GetControllerId, KafkaController.get_controller_id)

    @action(broker=each_broker, leader=("alive", "dead"))
    def read_states(self, s: State, broker: int, leader: str) -> None:
        """The controller reads every state into its cache, and sees whether a leader has to be elected."""
        self.request(s, broker, Do.ReadStates, KafkaController.read_states)
        if leader == "alive":  # in a failover; else there is nothing to elect
            me = s.controllers[broker]
            require(me.about_to(Do.ReadPartitionState))
            s.controllers[broker] = self.controller(s, broker).let_be(me)

    @action(broker=each_broker, reply=replies)
    def update_leader_and_isr(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """The controller writes the partition's state."""
        bound(s.nodes[PARTITION_STATE].version < self.updates)
        self.request(s, broker, Do.UpdateLeaderAndIsr, KafkaController.update_leader_and_isr, reply)

    @action(broker=each_broker, when=lambda self: self.failures)
    def fail(self, s: State, broker: int) -> None:
        """A request of a failover fails, for a reason of its own."""
        me = s.controllers[broker]
        require(me.active and me.in_elect)
        answer = self.controller(s, broker).fail(me)
        say(answer.said)
        s.controllers[broker] = answer.controller

    @action(broker=each_broker, when=lambda self: self.failures and self.epoch_update == "multi")
    def move_controller(self, s: State, broker: int) -> None:
        """A broker whose failover failed reads whether it is controller."""
        self.request(s, broker, Do.MoveController, KafkaController.move_controller)

    @action(broker=each_broker, reply=replies, when=lambda self: self.failures or self.epoch_update == "cas_checked")
    def delete_controller(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker whose failover failed deletes /controller."""
        self.request(s, broker, Do.DeleteController, KafkaController.delete_controller, reply)

    # The servers, and a broker that gets requests.

    @action(session=each_session, seen=(0, 1, 2), controller_first=(True, False), when=lambda self: self.expiries)
    def expire(self, s: State, session: Session, seen: int, controller_first: bool = True) -> None:
        """The servers end a session; what it owns goes with it, in any order, and whoever watches is told.

        The owner itself may still hear of it, if it watches and its connection is open: `seen` events.
        """
        require(session in s.sessions)
        away = session in s.away
        require(seen == 0 or not away)
        owned = s.sessions[session]
        both = len(owned) == 2
        require(controller_first or both)
        hears = (CONTROLLER in owned and session in s.data_watches[CONTROLLER]) + (
            registration(session.broker) in owned and session in s.child_watches[BROKER_IDS]
        )
        require(seen <= hears and (seen == 0 or not self.ephemeral_outlives_session))
        order = [CONTROLLER, registration(session.broker)] if both else list(owned)
        self.zookeeper(s).expire(session, order if controller_first else order[::-1], seen=seen)
        if away:
            self.zookeeper(s).disconnect(session)
            s.away -= {session}

    @action(path=each_ephemeral, when=lambda self: self.ephemeral_outlives_session)
    def delete_at_last(self, s: State, path: str) -> None:
        """The servers delete what a session that has ended owned."""
        require(path in s.nodes and s.nodes[path].owner not in s.sessions)
        self.zookeeper(s).delete(None, path)

    @action(epoch=lambda self: range(self.elections + 1), when=lambda self: self.receives)
    def deliver_request(self, s: State, epoch: int) -> None:
        """A broker gets a controller's request, and refuses it if it knows of a newer controller."""
        require(epoch in s.requests)
        s.requests -= {epoch}
        if accepts(s.known_epoch, epoch):
            say("accepted")
            s.known_epoch = epoch
        else:
            say("STALE_CONTROLLER_EPOCH")

    # Properties of ZooKeeper.

    @invariant(when=lambda self: not self.ephemeral_outlives_session)
    def ephemeral_owned(self, s: State) -> bool:
        """Z1: the owner of an ephemeral node is a live session."""
        return super().ephemeral_owned(s)

    @transition_invariant(when=lambda self: self.epoch_update == "multi")
    def multi_atomic(self, before: State, step: Step, after: State) -> bool:
        """Z3: of a multi all operations are to be seen, or none: /controller comes with a new epoch."""
        comes = CONTROLLER in after.nodes and after.nodes[CONTROLLER] != before.nodes.get(CONTROLLER)
        return bool(comes == (after.nodes[CONTROLLER_EPOCH] != before.nodes[CONTROLLER_EPOCH]))

    @transition_invariant(broker=each_broker, when=lambda self: self.registrations > 1)
    def czxid_monotone(self, before: State, step: Step, after: State, broker: int) -> bool:
        """Z6: a broker's later registration has a greater czxid, and its epoch never decreases."""
        old, new = before.controllers[broker].broker_epoch, after.controllers[broker].broker_epoch
        if after.controllers[broker].doing != STOPPED and new < old:
            return False
        node, path = after.nodes.get(registration(broker)), registration(broker)
        return bool(node is None or path in before.nodes or node.czxid > before.registered[broker])

    @transition_invariant(broker=each_broker)
    def watch_before_data(self, before: State, step: Step, after: State, broker: int) -> bool:
        """Z4: no answer overtakes an event: who goes on after a request has heard of all that happened before."""
        if step.parameters.get("broker") != broker or step.action in LOCAL:
            return True
        me = after.controllers[broker]
        return bool(me == before.controllers[broker] or me.session is None or not after.events[me.session])

    @transition_invariant(session=each_session, path=(CONTROLLER, BROKER_IDS))
    def one_shot(self, before: State, step: Step, after: State, session: Session, path: str = CONTROLLER) -> bool:
        """Z5: a watch that was armed fires once, and is gone; one that was not armed does not fire."""
        told = len([each for each in after.events[session] if each.path == path])
        told -= len([each for each in before.events[session] if each.path == path])
        if told <= 0:
            return True
        table = "data_watches" if path == CONTROLLER else "child_watches"
        armed, still = session in getattr(before, table)[path], session in getattr(after, table)[path]
        return bool(told == 1 and armed and not still)

    # Properties of the controller.

    def quiet(self, s: State) -> bool:
        """Nothing is under way: no step, no event, no request, no session whose broker is not there or not told."""
        if s.requests or s.away:
            return False
        for me in s.controllers.values():
            if me.doing == STOPPED:
                continue
            if me.doing != IDLE or me.listening != IDLE or me.queue or me.posted:
                return False
            if me.session not in s.sessions or s.events[me.session]:
                return False
        running = [me.session for me in s.controllers.values()]
        if any(session not in running for session in s.sessions):
            return False
        return all(node.owner is None or node.owner in s.sessions for node in s.nodes.values())

    @invariant
    def active_has_node(self, s: State) -> bool:
        """C5: when all is quiet, a broker takes itself for controller if, and only if, /controller names it."""
        if not self.quiet(s):
            return True
        named = s.nodes[CONTROLLER].data if CONTROLLER in s.nodes else None
        return all(me.active == (broker == named) for broker, me in s.controllers.items())

    @transition_invariant(when=lambda self: self.receives)
    def broker_sees_monotone(self, before: State, step: Step, after: State) -> bool:
        """C6: the controller epoch that a broker knows never decreases."""
        return bool(before.known_epoch <= after.known_epoch)

    @transition_invariant
    def state_writer_monotone(self, before: State, step: Step, after: State) -> bool:
        """C7: a partition's state is never written under an older epoch than before."""
        old, new = before.nodes[PARTITION_STATE].data, after.nodes[PARTITION_STATE].data
        return bool(old.controller_epoch <= new.controller_epoch)

    @invariant
    def cache_fresh(self, s: State) -> bool:
        """C8: when all is quiet, the effective controller knows the partition's state as it is in ZooKeeper."""
        if not self.quiet(s):
            return True
        version, epoch = s.nodes[PARTITION_STATE].version, s.nodes[CONTROLLER_EPOCH].data
        return all(
            me.cached == version for me in s.controllers.values() if me.active and me.started and me.epoch == epoch
        )

    @invariant
    def cache_not_ahead(self, s: State) -> bool:
        """C9: the effective controller knows no state of the partition that is not in ZooKeeper yet."""
        version, epoch = s.nodes[PARTITION_STATE].version, s.nodes[CONTROLLER_EPOCH].data
        return all(
            me.cached is None or me.cached <= version
            for me in s.controllers.values()
            if me.active and me.epoch == epoch
        )

    @invariant
    def live_set(self, s: State) -> bool:
        """C10: when all is quiet, a controller that is done takes those brokers for alive that are registered."""
        if not self.quiet(s):
            return True
        registered = s.nodes[BROKER_IDS].children
        if self.design.broker_epochs:
            epochs = [(name_of(broker), s.nodes.get(registration(broker))) for broker in s.controllers]
            registered = frozenset(LiveBroker(name, node.czxid) for name, node in epochs if node is not None)
        return all(me.live == registered for me in s.controllers.values() if me.active and me.started)

    @invariant(broker=each_broker)
    def no_lost_wakeup(self, s: State, broker: int) -> bool:
        """C11: an idle controller hears of every change: what it watches is armed, or an event is on its way."""
        me = s.controllers[broker]
        if not (me.doing == IDLE and me.active and me.started and me.session in s.sessions):
            return True
        queued = {path for each in (*me.queue, *me.posted) for path in READS.get(each.event, ())}
        coming = queued | {event.path for event in s.events[me.session]}
        return bool(
            (me.session in s.data_watches[CONTROLLER] or CONTROLLER in coming)
            and (me.session in s.child_watches[BROKER_IDS] or BROKER_IDS in coming)
        )

    @invariant(broker=each_broker)
    def resigned_clean(self, s: State, broker: int) -> bool:
        """C12: who does not take itself for controller keeps nothing of a controller's context."""
        me = s.controllers[broker]
        return bool(me.active or not me.has_context)

    @invariant(broker=each_broker)
    def controller_started(self, s: State, broker: int) -> bool:
        """B22: whoever takes itself for controller has gone through a failover, or is in it, or moves on."""
        me = s.controllers[broker]
        return bool(not me.active or me.started or me.doing != IDLE)

    @invariant(broker=each_broker)
    def registered_when_quiet(self, s: State, broker: int) -> bool:
        """B23: when all is quiet, a running broker's node is owned by its present session."""
        me = s.controllers[broker]
        if me.doing == STOPPED or not self.quiet(s):
            return True
        path = registration(broker)
        return bool(path in s.nodes and s.nodes[path].owner == me.session)

    @invariant
    def somebody_is_controller(self, s: State) -> bool:
        """C13: when all is quiet and a broker runs, somebody is controller."""
        return not self.quiet(s) or CONTROLLER in s.nodes or all(me.doing == STOPPED for me in s.controllers.values())

    @transition_invariant
    def writes_in_its_session(self, before: State, step: Step, after: State) -> bool:
        """B3: whoever writes as controller does so in the session in which it was elected."""
        if after.nodes[PARTITION_STATE].version == before.nodes[PARTITION_STATE].version:
            return True
        return step.parameters["broker"] not in before.held_over

    @transition_invariant(broker=each_broker)
    def handles_in_its_session(self, before: State, step: Step, after: State, broker: int) -> bool:
        """B3: no event that waits is handled by a controller in a later session than it was elected in."""
        if step.action != "handle_event" or step.parameters["broker"] != broker:
            return True
        return bool(broker not in before.held_over or not after.controllers[broker].about_to(Do.ReadBrokers))

    @transition_invariant(broker=each_broker)
    def resigned_is_deaf(self, before: State, step: Step, after: State, broker: int) -> bool:
        """B27: no event makes a broker do a controller's work that has resigned."""
        if step.action != "handle_event" or step.parameters["broker"] != broker:
            return True
        me = after.controllers[broker]
        works = me.about_to(Do.ReadBrokers) or me.about_to(Do.ReadStates)
        return bool(not works or self.controller(after, broker).is_active(me))

    # What must be able to happen.

    @sometimes(when=lambda self: self.elections > 1 and self.updates > 1)
    def elected_twice(self, s: State) -> bool:
        """Two elections in one run, both of which led to a write."""
        return bool(s.nodes[PARTITION_STATE].version > 1 and s.nodes[PARTITION_STATE].data.controller_epoch > 1)

    @sometimes(when=lambda self: self.crashes and self.expiries and is_contested(self))
    def reelected_after_a_crash(self, before: State, step: Step, after: State) -> bool:
        """A failover goes through while the broker that was controller before lies crashed."""
        return super().reelected_after_a_crash(before, step, after)

    @sometimes
    def all_is_quiet(self, s: State) -> bool:
        """Nothing is under way, and somebody is controller."""
        return bool(self.quiet(s) and CONTROLLER in s.nodes)

    @sometimes(when=is_contested)
    def a_zombie_tries_to_write(self, before: State, step: Step, after: State) -> bool:
        """A broker that is controller no longer sends a write."""
        if step.action != "update_leader_and_isr":
            return False
        return bool(before.controllers[step.parameters["broker"]].epoch < before.nodes[CONTROLLER_EPOCH].data)

    @sometimes(when=lambda self: is_contested(self) and self.receives)
    def a_stale_request_is_refused(self, before: State, step: Step, after: State) -> bool:
        """A broker gets a request of an old controller after one of a newer one."""
        return bool(step.action == "deliver_request" and step.parameters["epoch"] < before.known_epoch)

    def handles(self, step: Step, after: State, event: ControllerEvent) -> bool:
        """Whether a broker turns to what this event leads to."""
        row = HANDLING[self.design.threads].get(event)
        return step.action == "handle_event" and bool(after.controllers[step.parameters["broker"]].doing == row)

    @sometimes(when=lambda self: self.threads == "barrier")
    def a_controller_change(self, before: State, step: Step, after: State) -> bool:
        """A broker handles a ControllerChange."""
        return self.handles(step, after, ControllerEvent.ControllerChange)

    @sometimes(when=lambda self: self.threads != "lock" and (self.expiries or self.operator))
    def a_reelect(self, before: State, step: Step, after: State) -> bool:
        """A broker handles a Reelect."""
        return self.handles(step, after, ControllerEvent.Reelect)

    @sometimes(when=lambda self: self.expiries)
    def an_expiry_is_heard_of(self, before: State, step: Step, after: State) -> bool:
        """A broker that has no request under way hears that its session has ended."""
        return step.action == "learn_of_expiry"

    def dies_before(self, before: State, step: Step, do: Do) -> bool:
        """Whether a controller dies in its failover, when this would have been next."""
        if step.action != "crash":
            return False
        me = before.controllers[step.parameters["broker"]]
        return bool(me.active and me.in_elect and me.about_to(do))

    @sometimes(when=lambda self: self.crashes)
    def dies_before_it_knows_the_brokers(self, before: State, step: Step, after: State) -> bool:
        """A controller dies in its failover, before it has read which brokers are alive."""
        return self.dies_before(before, step, Do.ReadBrokers)

    @sometimes(when=lambda self: self.crashes)
    def dies_before_it_knows_the_states(self, before: State, step: Step, after: State) -> bool:
        """A controller dies in its failover, before it has read the partitions' states."""
        return self.dies_before(before, step, Do.ReadStates)

    @sometimes(when=lambda self: self.crashes)
    def dies_before_it_elects(self, before: State, step: Step, after: State) -> bool:
        """A controller dies in its failover, when it has told the brokers of each other, and elected nobody."""
        return self.dies_before(before, step, Do.ReadPartitionState)

    @sometimes(when=lambda self: self.crashes)
    def dies_before_it_writes(self, before: State, step: Step, after: State) -> bool:
        """A controller dies in its failover, between the read of a partition's state and its write."""
        return self.dies_before(before, step, Do.UpdateLeaderAndIsr)

    @sometimes(when=lambda self: self.design.broker_epochs and self.registrations > 1 and self.crashes)
    def a_bounced_broker(self, before: State, step: Step, after: State) -> bool:
        """The controller finds a broker that was alive when it last read, and is another one by now."""
        if step.action != "read_brokers" or before.controllers[step.parameters["broker"]].in_elect:
            return False
        old, new = (state.controllers[step.parameters["broker"]].live for state in (before, after))
        return bool(old != new and {each.name for each in old} == {each.name for each in new})

    @sometimes(when=lambda self: self.brokers > 1)
    def a_broker_change(self, before: State, step: Step, after: State) -> bool:
        """The controller hears that a broker came or went."""
        return bool(step.action == "read_brokers" and not before.controllers[step.parameters["broker"]].in_elect)

    # What a state means, for whoever reads a trace.

    @view(broker=each_broker)
    def cut_off(self, s: State, broker: int) -> str:
        """A client that has lost its connection."""
        return f"broker {broker} has no connection to ZooKeeper" if s.controllers[broker].session in s.away else ""

    @view(broker=each_broker)
    def registered_by(self, s: State, broker: int) -> str:
        """A registration that is not by the broker's present session, or is not there."""
        me, path = s.controllers[broker], registration(broker)
        if me.session is None or me.about_to(Do.RegisterBroker):
            return ""
        if path not in s.nodes:
            return f"{path} is not there, and broker {broker} is running"
        owner = s.nodes[path].owner
        return "" if owner == me.session else f"{path} was left by {owner}; broker {broker} is in {me.session}"

    @view(broker=each_broker)
    def stale_cache(self, s: State, broker: int) -> str:
        """A controller that knows the partition's state at another version than ZooKeeper's."""
        me, version = s.controllers[broker], s.nodes[PARTITION_STATE].version
        if not me.active or me.cached is None or me.cached == version:
            return ""
        return f"broker {broker} knows the partition's state at version {me.cached}; in ZooKeeper it is at {version}"

    @view
    def under_way(self, s: State) -> str:
        """The controllers' requests that have not reached the broker that gets them."""
        epochs = " and ".join(map(str, s.requests))
        return f"requests under epoch {epochs} are on their way to a broker" if epochs else ""

    @view
    def fence(self, s: State) -> str:
        """Which requests that broker refuses."""
        return f"the broker that gets requests refuses those below epoch {s.known_epoch}" if s.known_epoch else ""
