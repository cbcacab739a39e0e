"""The controller's life, release by release: failover step by step, lost replies, failing requests, zombies."""

from __future__ import annotations

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
)
from spec.releases import since
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
    Design,
    Election,
    KafkaController,
    Request,
    accepts,
)
from statemachines.failover import failover, requests
from statemachines.zookeeper import Event, EventType, ZooKeeper

ANSWERED, LOST = "answered", "lost"
LOCAL = {"deliver_event", "handle_event", "fail"}
"""What a broker does without a request."""


class Outliving(Servers):
    """ZOOKEEPER-2985: what an ended session owned is there for a while yet."""

    def _end(self, request: str, session: Any, order: Any, seen: Any) -> None:
        self._forget_watches(session)
        del self.state.sessions[session]


def name_of(broker: int) -> str:
    """The name of a broker's own node."""
    return f"{broker}"


def each_ephemeral(self: ControllerLife) -> Domain[str]:
    """The paths of the nodes that belong to sessions."""
    return either([CONTROLLER], each_registration(self))


def may_find_a_node(self: ControllerLife) -> bool:
    """A broker may find its own node there when it registers."""
    restarts = self.crashes and self.sessions_per_broker > 1
    return self.lost_replies or restarts or self.ephemeral_outlives_session


def is_contested(self: ControllerLife) -> bool:
    """There can be an old controller beside a new one."""
    return self.elections > 1 and self.brokers > 1


def replies(self: ControllerLife) -> tuple[str, ...]:
    """What becomes of the answer to a write."""
    return (ANSWERED, LOST) if self.lost_replies else (ANSWERED,)


class ControllerLife(ControllerElection):
    """Brokers become controller, do a controller's work, and lose the office, one ZooKeeper request at a time.

    The election of `controller-election`, and besides: a failover with all its steps that read or write what is
    modelled, brokers that come and go under the eyes of the controller, replies that are lost, requests that fail,
    and a broker that gets the controllers' requests. Between any two steps a session may end or a process crash.

    Left out: all of a failover that touches nothing modelled (`statemachines.failover.fused`), disconnections that
    last, topics and replicas. One partition's state stands for all of them, and one broker that gets requests for all
    that do, because they know nothing of each other.
    """

    name = "controller"
    leaves_out = "disconnections that last, topics, replicas, what of a failover touches none of the variables"
    releases = {
        release: valuation
        for release, valuation in since(
            {
                "1.1": {
                    "epoch_update": "cas_checked",
                    "fence_zk": False,
                    "ephemeral_owner_check": False,
                    "ghost_check": False,
                    "resign_on_move": False,
                },
                "2.1": {"epoch_update": "multi", "fence_zk": True},
                "2.2": {"ephemeral_owner_check": True},
            }
        ).items()
        if valuation
    }
    """Those before 1.1 handle events otherwise, and are not modelled yet."""

    brokers: int = constant(2, "Brokers that compete.", at_least=1, at_most=3)
    updates: int = constant(2, "Bound: how often the partition's state is written.", at_least=1, at_most=9)
    lost_replies: bool = constant(True, "Writes take effect whose answer is lost.")
    failures: bool = constant(True, "A request of a failover fails for a reason of its own.")
    ephemeral_outlives_session: bool = constant(
        False, "A fault of the servers: what an ended session owned goes later (ZOOKEEPER-2985)."
    )

    ephemeral_owner_check: bool = switch(
        True, "A broker deletes the registration that an older session of its own left (2.2, KAFKA-7165)."
    )
    ghost_check: bool = switch(
        False,
        "A /controller that an older session of the broker left does not make it controller (KAFKA-13407, open).",
    )
    resign_on_move: bool = switch(
        False,
        "Whoever reads, in elect or triggerControllerMove, that it is controller no longer resigns (proposed here).",
    )

    @property
    def zookeeper(self) -> type[ZooKeeper]:  # type: ignore[override]
        """The servers, with their fault or without."""
        return Outliving if self.ephemeral_outlives_session else Servers

    @cached_property
    def design(self) -> Design:
        """How the controller of this release does it."""
        election = Election[self.epoch_update]
        return Design(
            election,
            self.fence_zk,
            failover=requests(failover("2.1" if election is Election.multi else "1.1")),
            state=PARTITION_STATE,
            looks_again=True,
            owner_check=self.ephemeral_owner_check and self.ephemeral_outlives_session,
            ghost_check=self.ghost_check,
            resign_on_move=self.resign_on_move,
        )

    @property
    def kinds_of_event(self) -> Domain[EventType]:
        """What the watches on /controller and /brokers/ids can tell."""
        return one_of(EventType.NodeCreated, EventType.NodeDeleted, EventType.NodeChildrenChanged)

    @property
    def writes(self) -> Domain[int]:
        """How often the partition's state can have been written."""
        return integers(0, self.updates)

    @property
    def names(self) -> Domain[frozenset[str]]:
        """The names of the nodes under /brokers/ids."""
        return subset_of(every(name_of, broker=each_broker(self)))

    @property
    def context(self) -> dict[str, Any]:
        """What a controller knows besides."""
        return {
            "registration": optional(each_session(self)) if self.design.owner_check else one_of(None),
            "listens": booleans(),
            "started": booleans(),
            "live": self.names,
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
    def requests(self) -> Any:
        """The controller epochs of the requests that are on their way to a broker, in no order."""
        return subset_of(range(self.elections + 1))

    @variable
    def known_epoch(self) -> Any:
        """The highest controller epoch that this broker has seen. [ReplicaManager.controllerEpoch]"""
        return integers(0, self.elections)

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

    def request(self, s: State, broker: int, do: Do, step: Request, reply: str = ANSWERED) -> None:
        """The broker makes its next request, which is this one, and acts on the answer, unless that is lost."""
        me = s.controllers[broker]
        require(me.about_to(do))
        its = self.controller(s, broker)
        if reply == LOST:
            require(me.session in s.sessions and its.lose_reply(me))
            say("it is done, and the broker does not hear of it")
            return
        answer = step(its, me)
        say(answer.said)
        s.controllers[broker] = answer.controller
        if answer.failover:
            s.failovers += (Failover(broker, answer.controller.epoch),)
        if answer.sends:
            s.requests |= {answer.controller.epoch}

    @action(broker=each_broker, reply=replies)
    def register_broker(self, s: State, broker: int, reply: str = ANSWERED) -> None:
        """A broker creates its own node under /brokers/ids."""
        self.request(s, broker, Do.RegisterBroker, KafkaController.register_broker, reply)

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

    @action(broker=each_broker, leader=("alive", "dead"))
    def read_states(self, s: State, broker: int, leader: str) -> None:
        """The controller reads every state into its cache, and sees whether a leader has to be elected."""
        self.request(s, broker, Do.ReadStates, KafkaController.read_states)
        if leader == "alive":
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

    @action(session=each_session, seen=(0, 1, 2), controller_first=(True, False))
    def expire(self, s: State, session: Session, seen: int, controller_first: bool = True) -> None:
        """The servers end a session; what it owns goes with it, in any order, and whoever watches is told.

        The owner itself may still hear of it, if it watches and its connection is open: `seen` events.
        """
        require(session in s.sessions)
        owned = s.sessions[session]
        both = len(owned) == 2
        require(controller_first or both)
        hears = (CONTROLLER in owned and session in s.data_watches[CONTROLLER]) + (
            registration(session.broker) in owned and session in s.child_watches[BROKER_IDS]
        )
        require(seen <= hears and (seen == 0 or not self.ephemeral_outlives_session))
        order = [CONTROLLER, registration(session.broker)] if both else list(owned)
        self.zookeeper(s).expire(session, order if controller_first else order[::-1], seen=seen)

    @action(path=each_ephemeral, when=lambda self: self.ephemeral_outlives_session)
    def delete_at_last(self, s: State, path: str) -> None:
        """The servers delete what a session that has ended owned."""
        require(path in s.nodes and s.nodes[path].owner not in s.sessions)
        self.zookeeper(s).delete(None, path)

    @action(epoch=lambda self: range(self.elections + 1))
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
        if s.requests:
            return False
        for me in s.controllers.values():
            if me.doing == STOPPED:
                continue
            if me.doing != IDLE or me.queue or me.session not in s.sessions or s.events[me.session]:
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

    @transition_invariant
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

    @invariant(broker=each_broker)
    def no_lost_wakeup(self, s: State, broker: int) -> bool:
        """C11: an idle controller hears of every change: what it watches is armed, or an event is on its way."""
        me = s.controllers[broker]
        if not (me.doing == IDLE and me.active and me.started and me.session in s.sessions):
            return True
        queued = {BROKER_IDS if event is EventType.NodeChildrenChanged else CONTROLLER for event in me.queue}
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

    # What must be able to happen.

    @sometimes(when=lambda self: self.elections > 1 and self.updates > 1)
    def elected_twice(self, s: State) -> bool:
        """Two elections in one run, both of which led to a write."""
        return bool(s.nodes[PARTITION_STATE].version > 1 and s.nodes[PARTITION_STATE].data.controller_epoch > 1)

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

    @sometimes(when=is_contested)
    def a_stale_request_is_refused(self, before: State, step: Step, after: State) -> bool:
        """A broker gets a request of an old controller after one of a newer one."""
        return bool(step.action == "deliver_request" and step.parameters["epoch"] < before.known_epoch)

    @sometimes(when=lambda self: self.brokers > 1)
    def a_broker_change(self, before: State, step: Step, after: State) -> bool:
        """The controller hears that a broker came or went."""
        return bool(step.action == "read_brokers" and not before.controllers[step.parameters["broker"]].in_elect)
