"""Brokers compete for /controller: which is controller, under which epoch, and what can an old one still write?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, ClassVar

from typing_extensions import TypeVar

from election.ids import BrokerId, ControllerEpoch
from spec.by_release import ByRelease
from spec.language import (
    Grid,
    Size,
    Specification,
    State,
    Step,
    Total,
    action,
    at_most,
    bound,
    constant,
    every_combination,
    initial,
    integers,
    interchangeable,
    invariant,
    optional,
    part,
    picture,
    require,
    say,
    sometimes,
    switches,
    transition_invariant,
    variable,
    view,
    where,
)
from spec.parts.broker_requests import THE_CONTROLLER, each_request
from spec.parts.controller_views import belief, draw_controllers, intent
from spec.parts.zookeeper import Ensemble, Session, Znodes, ZooKeeperPart
from statemachines.controller.agenda import IDLE, ControllerStep
from statemachines.controller.controller_process import (
    Answer,
    ControllerProcess,
    Failover,
    OnePartitionContext,
    of_thread,
    process_values,
)
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    PARTITION_STATE,
    Design,
    PartitionStateEpoch,
    design_of,
    least_failover,
    registration,
    requests_of,
)
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import ControllerEvent
from statemachines.zookeeper.tree import Node, SessionId, ZkVersion


class Cluster(State):
    """Brokers that compete, the ZooKeeper that they ask, and what has been."""

    zk: Ensemble
    controllers: Total[BrokerId, ControllerProcess] = variable(
        "What the KafkaController of each broker knows, and the request that it makes next.",
        of=lambda self, broker: self.domain_of(ControllerProcess, session=optional(self.zk.sessions_of(broker))),
    )
    failovers: tuple[Failover, ...] = variable("A history, which no broker has: the failovers, oldest first.")

    @property
    def epoch(self) -> ControllerEpoch:
        """The controller epoch that is in ZooKeeper."""
        epoch: ControllerEpoch = self.zk.nodes[CONTROLLER_EPOCH].data
        return epoch

    @property
    def named_controller(self) -> BrokerId | None:
        """Which broker /controller names, if it is there."""
        return self.zk.nodes[CONTROLLER].data if CONTROLLER in self.zk.nodes else None

    @property
    def partition_state(self) -> PartitionStateEpoch:
        """The partition's state that is in ZooKeeper."""
        state: PartitionStateEpoch = self.zk.nodes[PARTITION_STATE].data
        return state

    @property
    def times_state_written(self) -> ZkVersion:
        """How often the partition's state was written."""
        return self.zk.nodes[PARTITION_STATE].version


C = TypeVar("C", bound=Cluster, default=Cluster)


def is_contested(self: ControllerElection[Any]) -> bool:
    """There can be an old controller beside a new one."""
    return self.elections > 1 and self.brokers > 1


class ControllerElection(Specification[C]):
    """Brokers compete for /controller, one ZooKeeper request at a time.

    The ZooKeeper is `spec.parts.zookeeper`, and a broker's steps are `statemachines.controller.one_partition`'s.
    Between two requests of one broker anything may happen: requests of another, the end of a session (the servers
    decide, the client hears of it later), a crash, a restart, an operator who deletes /controller, an event that
    arrives late.

    Left out, and why that is safe for what is asked here: lost replies and disconnections without expiry (they add
    retries of requests whose effect ZooKeeper knows), and of a failover all but the write of a state: what only
    reads is fused with the step before, and its last deletion is fenced as that write is.

    Two statements are called "a single controller". `single_controller` is the one that Kafka keeps: at most one
    broker acts as controller under the epoch that is in ZooKeeper. The stronger one, that no two brokers take
    themselves for controller at once, Kafka never promised. In every release a zombie breaks it, until it hears of
    its successor. So the stronger one is a witness, `a_zombie`: it takes 18 states until 2.0, and 16 since 2.1 (two
    brokers, no crashes).
    """

    name = "controller-election"
    leaves_out = "lost replies, disconnections without expiry, all of a failover but the write of a state"

    brokers: int = constant(3, "Brokers that compete.", at_least=1, at_most=5)
    sessions_per_broker: int = constant(
        1, "Sessions of one broker, alive or still referred to, at a time.", at_least=1, at_most=3
    )
    elections: int = constant(2, "Bound: how often /controller_epoch is incremented.", at_least=1, at_most=9)
    max_queued_events: int = constant(4, "Bound: how many events may wait at a broker.", at_least=2, at_most=12)
    crashes: bool = constant(True, "Brokers crash, and may be started again.")
    operator_deletes: bool = constant(True, "An operator deletes /controller.")

    release_design: Design = switches(
        Design,
        ByRelease(design_of),
        only=["epoch_update", "fence_zk", "conditional_increment"],
    )

    registrations: int = 0
    """How often brokers' own nodes are created, as far as one is told from the next."""
    one_partition_controller: ClassVar[type[OnePartitionController]] = OnePartitionController

    @cached_property
    def design(self) -> Design:
        """How the controller of this release does it, as far as an election goes: none registers."""
        return self.release_design._replace(
            failover=least_failover(self.release_design), ephemeral_owner_check=False, broker_epoch=False
        )

    # How large it is.

    @property
    def events(self) -> Collection[ControllerEvent]:
        """What a broker may have to handle."""
        return ControllerEvent.ControllerChange, ControllerEvent.Reelect

    @property
    def state_writes(self) -> int:
        """How often the partition's state can have been written: once in each failover."""
        return self.elections * self.brokers

    def sizes(self) -> Mapping[Any, Size]:
        """Epochs as far as there are elections; of what a controller knows, the election's part."""
        brokers = interchangeable("broker", range(self.brokers))
        return {
            BrokerId: brokers,
            SessionId: every_combination(Session, client=brokers, number=range(self.sessions_per_broker)),
            ControllerEpoch: integers(0, self.elections),
            ZkVersion: integers(0, max(self.elections, self.state_writes)),
            OnePartitionContext.epoch_zk_version: integers(0, self.elections),
            ControllerProcess.queue: at_most(self.max_queued_events),
            tuple[Failover, ...]: at_most(self.elections * self.brokers),
            **process_values(self.design, self.events),
        }

    @part
    def zk(self) -> ZooKeeperPart:
        """Its clients are the brokers, whose connections are never lost. /controller is never set."""
        own, epochs = (
            every_combination(registration, broker=self.domain_of(BrokerId)),
            self.domain_of(ControllerEpoch),
        )
        znodes = (
            Znodes(BROKER_IDS, child_watched=ControllerStep.ReadBrokers in self.design.failover),
            Znodes(CONTROLLER, data=self.domain_of(BrokerId), owned=lambda session, path: True, data_watched=True),
            Znodes(CONTROLLER_EPOCH, data=epochs, version=epochs),
            Znodes(PARTITION_STATE, data=self.domain_of(PartitionStateEpoch), version=integers(0, self.state_writes)),
            Znodes(
                own, owned=lambda session, path: path == registration(session.client), creations=self.registrations
            ),
        )
        return ZooKeeperPart(self.domain_of(SessionId), znodes, max_events=3, reconnects=False)

    @initial
    def a_cluster_set_up(self, s: C) -> None:
        """/controller_epoch and the partition's state exist, no broker runs."""
        s.zk.nodes[BROKER_IDS] = Node()
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.zk.nodes[PARTITION_STATE] = Node(data=PartitionStateEpoch())

    # A broker's process and its session.

    def controller(self, s: C, broker: BrokerId) -> OnePartitionController:
        """A broker's controller, over this state."""
        return self.one_partition_controller(self.design, self.zk.servers(s.zk), broker)

    def set_controller(self, s: C, broker: BrokerId, me: ControllerProcess) -> None:
        """What a broker knows from now on, as long as there is room for what waits."""
        bound(len(me.queue) <= self.max_queued_events and len(me.posted) <= self.max_queued_events)
        s.controllers[broker] = me

    @action
    def start(self, s: C, broker: BrokerId) -> None:
        """A broker's process is started."""
        require(not s.controllers[broker].is_running)
        s.controllers[broker] = self.controller(s, broker).start()

    @action(receiver="ZooKeeper")
    def connect(self, s: C, broker: BrokerId) -> None:
        """A broker opens a ZooKeeper session."""
        me = s.controllers[broker]
        require(me.about_to(ControllerStep.Connect))
        session = self.zk.free_session(s.zk, broker, left=me.registration)
        s.controllers[broker] = self.controller(s, broker).connect(me, session)

    @action
    def learn_of_expiry(self, s: C, broker: BrokerId) -> None:
        """An idle broker's client reconnects, and is told that its session has ended."""
        me = s.controllers[broker]
        require(me.agenda == IDLE and me.session not in s.zk.sessions)
        s.controllers[broker] = self.controller(s, broker).expire(me)

    def hears(self, s: C, broker: BrokerId) -> ControllerProcess:
        """What it knows when it turns to an event: all that its watches have told by then."""
        return self.controller(s, broker).deliver(s.controllers[broker])

    @action(actor=THE_CONTROLLER)
    def handle_event(self, s: C, broker: BrokerId) -> None:
        """An idle broker handles the oldest event that its watches have told, or are about to tell.

        That something has arrived and not been handled yet is no state of its own: it arrives when it is handled, or
        before the next answer.
        """
        me = self.hears(s, broker)
        require(me.agenda == IDLE and me.queue)
        self.apply_answer(s, broker, self.controller(s, broker).handle(me))

    @action(when=lambda self: self.crashes)
    def crash(self, s: C, broker: BrokerId) -> None:
        """A broker's process dies. Its session lives on until the servers end it."""
        me = s.controllers[broker]
        require(me.is_running)
        s.controllers[broker] = self.controller(s, broker).stop(me)

    # A broker's requests.

    @property
    def steps(self) -> list[ControllerStep]:
        """The requests that brokers make: those on their agendas."""
        return requests_of(self.design, self.events)

    def within_bounds(self, s: C, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether a request is not one too many for the bounds of this model."""
        increments = do in (ControllerStep.RegisterController, ControllerStep.IncrementEpoch)
        return not increments or s.controllers[broker].epoch < self.elections

    def can_ask(self, s: C, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether this request is the broker's next one."""
        return of_thread(self.design, do, s.controllers[broker]).about_to(do)

    def ask(self, s: C, broker: BrokerId, do: ControllerStep) -> Answer:
        """The broker makes its next request, which is this one, and acts on the answer."""
        require(self.can_ask(s, broker, do))
        bound(self.within_bounds(s, broker, do))
        return self.apply_answer(s, broker, self.controller(s, broker).step(do)(s.controllers[broker]))

    def apply_answer(self, s: C, broker: BrokerId, answer: Answer) -> Answer:
        """The broker acts on an answer, which may be that its failover goes through."""
        say(answer.description)
        self.set_controller(s, broker, answer.controller)
        if answer.failover:
            s.failovers += (answer.failover,)
        return answer

    @action(do=each_request(), receiver="ZooKeeper")
    def request(self, s: C, broker: BrokerId, do: ControllerStep) -> None:
        """The broker makes a request, which is answered."""
        self.ask(s, broker, do)

    # An operator.

    @action(when=lambda self: self.operator_deletes, actor="operator", receiver="ZooKeeper")
    def operator_deletes_controller(self, s: C) -> None:
        """An operator deletes /controller."""
        require(CONTROLLER in s.zk.nodes)
        self.zk.servers(s.zk).delete(None, CONTROLLER)

    # Properties.

    @transition_invariant
    def only_owner_session_end_or_operator_deletes_controller(self, before: C, step: Step, after: C) -> bool:
        """Only its owner, the end of its session or an operator deletes /controller."""
        where(CONTROLLER in before.zk.nodes and CONTROLLER not in after.zk.nodes)
        session: Session | None = step.parameters.get("session")  # which ends
        if "broker" in step.parameters:
            session = before.controllers[step.parameters["broker"]].session
        return session is None or session == before.zk.nodes[CONTROLLER].owner

    @transition_invariant
    def epoch_monotone(self, before: C, step: Step, after: C) -> bool:
        """C1: /controller_epoch never decreases."""
        return before.epoch <= after.epoch

    @invariant
    def epoch_unique(self, s: C) -> bool:
        """C2: no two failovers went through with the same epoch."""
        epochs = [failover.epoch for failover in s.failovers]
        return len(epochs) == len(set(epochs))

    @invariant
    def single_controller(self, s: C) -> bool:
        """C3: at most one broker acts as controller under the epoch that is in ZooKeeper."""
        epoch = s.epoch
        return sum(each.acts_as_controller and each.epoch == epoch for each in s.controllers.values()) <= 1

    @transition_invariant
    def fenced_writes(self, before: C, step: Step, after: C) -> bool:
        """C4: a broker that writes as controller has the epoch that is in ZooKeeper at that moment."""
        where(after.times_state_written != before.times_state_written)
        return before.controllers[step.parameters["broker"]].epoch == before.epoch

    # What must be able to happen.

    @sometimes
    def elected(self, s: C) -> bool:
        """A controller has written under its epoch."""
        return s.partition_state.controller_epoch > 0

    @sometimes(when=lambda self: self.elections > 1 and self.state_writes > 1)
    def elected_twice(self, s: C) -> bool:
        """Two elections in one run, both of which led to a write."""
        return s.times_state_written > 1 and s.partition_state.controller_epoch > 1

    @sometimes(when=lambda self: self.crashes and self.zk.expiries and is_contested(self))
    def reelected_after_a_crash(self, before: C, step: Step, after: C) -> bool:
        """A failover goes through while the broker that was controller before lies crashed."""
        where(before.failovers and len(after.failovers) > len(before.failovers))
        return not before.controllers[before.failovers[-1].broker].is_running

    @sometimes(when=is_contested)
    def a_zombie(self, s: C) -> bool:
        """A broker acts as controller under an epoch that is no longer the one in ZooKeeper."""
        return any(each.acts_as_controller and each.epoch < s.epoch for each in s.controllers.values())

    @sometimes(when=lambda self: self.operator_deletes and is_contested(self))
    def a_zombie_with_a_session(self, s: C) -> bool:
        """A zombie whose session is alive, so that ZooKeeper does what it asks for: no expiry made it one."""
        zombies = [each for each in s.controllers.values() if each.acts_as_controller and each.epoch < s.epoch]
        return any(each.session in s.zk.sessions for each in zombies)

    # What a state means, to the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """Which broker is controller, as ZooKeeper has it."""
        if s.named_controller is None:
            return f"there is no /controller; the epoch is {s.epoch}"
        owner = s.zk.nodes[CONTROLLER].owner
        left = "" if owner == s.controllers[s.named_controller].session else f", left by {owner}"
        return f"/controller names broker {s.named_controller}{left}; the epoch is {s.epoch}"

    @view
    def belief(self, s: C, broker: BrokerId) -> str:
        """What a broker takes itself for, and whether that is so."""
        return belief(broker, s.controllers[broker], s.named_controller, s.epoch)

    @view
    def intent(self, s: C, broker: BrokerId) -> str:
        """What a broker writes next, and what it does not know."""
        return intent(broker, s.controllers[broker], s.named_controller, s.epoch, s.times_state_written)

    @view
    def unheard_expiry(self, s: C, broker: BrokerId) -> str:
        """A session that has ended, and whose broker does not know."""
        session = s.controllers[broker].session
        where(session is not None and session not in s.zk.sessions)
        return f"{session} of broker {broker} has ended, and the broker has not heard of it"

    @view
    def unhandled(self, s: C, broker: BrokerId) -> str:
        """What a broker's watches told, as long as it has not handled it, and what they cannot tell meanwhile."""
        me = s.controllers[broker]
        coming = [] if me.session is None else [event.type.name for event in s.zk.events[me.session]]
        waiting = [str(each) for each in (*me.queue, *me.posted)]
        todo = [f"{does} {', then '.join(what)}" for does, what in (("hear", coming), ("handle", waiting)) if what]
        where(todo)
        deaf = "" if me.session in s.zk.data_watches[CONTROLLER] else ", and does not watch /controller meanwhile"
        return f"broker {broker} has yet to {' and to '.join(todo)}{deaf}"

    @view
    def last_write(self, s: C) -> str:
        """Under which epoch the partition's state was written."""
        where(s.times_state_written)
        epoch = s.partition_state.controller_epoch
        return f"the partition's state was written under epoch {epoch}; its version is {s.times_state_written}"

    @view
    def one_epoch_twice(self, s: C, epoch: ControllerEpoch) -> str:
        """Two failovers under one epoch, which must not be."""
        brokers = [each.broker for each in s.failovers if each.epoch == epoch]
        where(len(brokers) > 1)
        return f"broker {brokers[-1]}'s failover runs under epoch {epoch}, as one of broker {brokers[0]} did"

    # As it is drawn.

    @picture
    def brokers_at_work(self, s: C) -> Grid:
        """What each broker takes itself for, what it is about to ask ZooKeeper, and the events that wait for it."""
        return draw_controllers(s.controllers, s.epoch)
