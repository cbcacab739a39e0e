"""Brokers compete for /controller: which one is controller, in which epoch, and what can an old one still write?"""

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
from spec.parts.controller_views import THE_CONTROLLER, belief, draw_controllers, each_request, intent
from spec.parts.zookeeper import Ensemble, Session, Znodes, ZooKeeperPart
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
    least_failover,
    registration,
    requests_of,
)
from statemachines.controller.one_partition import OnePartitionController
from statemachines.controller.threads import IDLE, ControllerEvent, ControllerStep
from statemachines.zookeeper.tree import Node, SessionId, ZkVersion


class Cluster(State):
    """Competing brokers, their ZooKeeper, and a history of failovers."""

    zk: Ensemble
    controllers: Total[BrokerId, ControllerProcess] = variable(
        "The knowledge of each broker's KafkaController, and its next request.",
        of=lambda self, broker: self.domain_of(ControllerProcess, session=optional(self.zk.sessions_of(broker))),
    )
    failovers: tuple[Failover, ...] = variable("History, which no broker keeps: the failovers, oldest first.")

    @property
    def epoch(self) -> ControllerEpoch:
        """The controller epoch in ZooKeeper."""
        epoch: ControllerEpoch = self.zk.nodes[CONTROLLER_EPOCH].data
        return epoch

    @property
    def named_controller(self) -> BrokerId | None:
        """The broker that /controller names; None if the node does not exist."""
        return self.zk.nodes[CONTROLLER].data if CONTROLLER in self.zk.nodes else None

    @property
    def partition_state(self) -> PartitionStateEpoch:
        """The partition's state in ZooKeeper."""
        state: PartitionStateEpoch = self.zk.nodes[PARTITION_STATE].data
        return state

    @property
    def times_state_written(self) -> ZkVersion:
        """How often the partition's state was written."""
        return self.zk.nodes[PARTITION_STATE].version


C = TypeVar("C", bound=Cluster, default=Cluster)


def is_contested(self: ControllerElection[Any]) -> bool:
    """Whether an old controller and a new one can exist at once."""
    return self.elections > 1 and self.brokers > 1


class ControllerElection(Specification[C]):
    """Brokers compete for /controller, one ZooKeeper request at a time.

    The ZooKeeper is `spec.parts.zookeeper`, and a broker's steps are `statemachines.controller.one_partition`'s.
    Anything may happen between two requests of one broker: requests of another broker, the end of a session (the
    servers decide, the client hears of it later), a crash, a restart, a late event. An operator may delete
    /controller.

    Left out: lost replies and disconnections without expiry. They only add retries of requests, and ZooKeeper knows
    the effect of each. Also left out are all steps of a failover but the write of a state. Its reads are fused with
    the step before. Its last deletion is fenced as the write is.

    Two statements are called "a single controller". Kafka keeps `single_controller`: at most one broker acts as
    controller under the epoch in ZooKeeper. Kafka never promised the stronger one, that no two brokers believe they
    are controller at once. In every release a zombie breaks it until the zombie hears of its successor. So the
    stronger one is a witness, `a_zombie`. The shortest run to it has 18 states until 2.0, and 16 since 2.1 (two
    brokers, no crashes).
    """

    name = "controller-election"
    leaves_out = "lost replies, disconnections without expiry, all of a failover but the write of a state"

    brokers: int = constant(3, "Brokers that compete.", at_least=1, at_most=5)
    sessions_per_broker: int = constant(
        1, "Sessions of one broker at a time, alive or still referred to.", at_least=1, at_most=3
    )
    elections: int = constant(2, "Bound: how often /controller_epoch is incremented.", at_least=1, at_most=9)
    max_queued_events: int = constant(4, "Bound: how many events may wait at a broker.", at_least=2, at_most=12)
    crashes: bool = constant(True, "Brokers crash, and may be started again.")
    operator_deletes: bool = constant(True, "An operator deletes /controller.")

    release_design: Design = switches(
        Design,
        ByRelease(Design),
        only=[Design.epoch_update, Design.fence_zk, Design.conditional_increment],
    )

    registrations: int = 0
    """How often a broker's own node is created, where one is distinguished from the next."""
    one_partition_controller: ClassVar[type[OnePartitionController]] = OnePartitionController

    @cached_property
    def design(self) -> Design:
        """The design of this release's controller, reduced to elections. Brokers do not register."""
        return self.release_design.but(
            failover=least_failover(self.release_design), ephemeral_owner_check=False, broker_epoch=False
        )

    # Sizes.

    @property
    def events(self) -> Collection[ControllerEvent]:
        """The events that a broker may have to handle."""
        return ControllerEvent.ControllerChange, ControllerEvent.Reelect

    @property
    def state_writes(self) -> int:
        """How often the partition's state can be written: once in each failover."""
        return self.elections * self.brokers

    def sizes(self) -> Mapping[Any, Size]:
        """As many epochs as elections. Of a controller's knowledge, only the election's part."""
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
        """ZooKeeper. Its clients are the brokers, which never lose their connections. /controller is never set."""
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
        """/controller_epoch and the partition's state exist; no broker runs."""
        s.zk.nodes[BROKER_IDS] = Node()
        s.zk.nodes[CONTROLLER_EPOCH] = Node(data=0)
        s.zk.nodes[PARTITION_STATE] = Node(data=PartitionStateEpoch())

    # A broker's process and its session.

    def controller(self, s: C, broker: BrokerId) -> OnePartitionController:
        """A broker's controller, over this state."""
        return self.one_partition_controller(self.design, self.zk.servers(s.zk), broker)

    def set_controller(self, s: C, broker: BrokerId, me: ControllerProcess) -> None:
        """Set a broker's knowledge, if its waiting events are within the bound."""
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
        """An idle broker's client reconnects and learns that its session has ended."""
        me = s.controllers[broker]
        require(me.agenda == IDLE and me.session not in s.zk.sessions)
        s.controllers[broker] = self.controller(s, broker).expire(me)

    def hears(self, s: C, broker: BrokerId) -> ControllerProcess:
        """The broker's knowledge when it turns to an event: its watches have delivered everything by then."""
        return self.controller(s, broker).deliver(s.controllers[broker])

    @action(actor=THE_CONTROLLER)
    def handle_event(self, s: C, broker: BrokerId) -> None:
        """An idle broker handles the oldest event that its watches have delivered or are about to deliver.

        An event that has arrived and is not yet handled is no state of its own. It arrives when the broker handles
        it, or before the next answer.
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
        """The requests that brokers make: the steps on their agendas."""
        return requests_of(self.design, self.events)

    def within_bounds(self, s: C, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether a request stays within the bounds of this model."""
        increments = do in (ControllerStep.RegisterController, ControllerStep.IncrementEpoch)
        return not increments or s.controllers[broker].epoch < self.elections

    def can_ask(self, s: C, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether this request is the broker's next one."""
        return of_thread(self.design, do, s.controllers[broker]).about_to(do)

    def ask(self, s: C, broker: BrokerId, do: ControllerStep) -> Answer:
        """The broker makes this request, if it is the next one, and acts on the answer."""
        require(self.can_ask(s, broker, do))
        bound(self.within_bounds(s, broker, do))
        return self.apply_answer(s, broker, self.controller(s, broker).step(do)(s.controllers[broker]))

    def apply_answer(self, s: C, broker: BrokerId, answer: Answer) -> Answer:
        """The broker acts on an answer, which may complete its failover."""
        say(answer.description)
        self.set_controller(s, broker, answer.controller)
        if answer.failover:
            s.failovers += (answer.failover,)
        return answer

    @action(do=each_request(), receiver="ZooKeeper")
    def request(self, s: C, broker: BrokerId, do: ControllerStep) -> None:
        """The broker makes a request and receives the answer."""
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
        """/controller is deleted only by its owner, by the end of the owner's session, or by an operator."""
        where(CONTROLLER in before.zk.nodes and CONTROLLER not in after.zk.nodes)
        session: Session | None = step.parameters.get("session")  # the one that ends
        if "broker" in step.parameters:
            session = before.controllers[step.parameters["broker"]].session
        return session is None or session == before.zk.nodes[CONTROLLER].owner

    @transition_invariant
    def epoch_monotone(self, before: C, step: Step, after: C) -> bool:
        """C1: /controller_epoch never decreases."""
        return before.epoch <= after.epoch

    @invariant
    def epoch_unique(self, s: C) -> bool:
        """C2: no two failovers complete under the same epoch."""
        epochs = [failover.epoch for failover in s.failovers]
        return len(epochs) == len(set(epochs))

    @invariant
    def single_controller(self, s: C) -> bool:
        """C3: at most one broker acts as controller under the epoch in ZooKeeper."""
        epoch = s.epoch
        return sum(each.acts_as_controller and each.epoch == epoch for each in s.controllers.values()) <= 1

    @transition_invariant
    def fenced_writes(self, before: C, step: Step, after: C) -> bool:
        """C4: a broker that writes as controller has the epoch in ZooKeeper at that moment."""
        where(after.times_state_written != before.times_state_written)
        return before.controllers[step.parameters["broker"]].epoch == before.epoch

    # Witnesses: what must be possible.

    @sometimes
    def elected(self, s: C) -> bool:
        """A controller has written under its epoch."""
        return s.partition_state.controller_epoch > 0

    @sometimes(when=lambda self: self.elections > 1 and self.state_writes > 1)
    def elected_twice(self, s: C) -> bool:
        """Two elections in one run, each followed by a write."""
        return s.times_state_written > 1 and s.partition_state.controller_epoch > 1

    @sometimes(when=lambda self: self.crashes and self.zk.expiries and is_contested(self))
    def reelected_after_a_crash(self, before: C, step: Step, after: C) -> bool:
        """A failover completes while the previous controller is down after a crash."""
        where(before.failovers and len(after.failovers) > len(before.failovers))
        return not before.controllers[before.failovers[-1].broker].is_running

    @sometimes(when=is_contested)
    def a_zombie(self, s: C) -> bool:
        """A broker acts as controller under an epoch older than the one in ZooKeeper."""
        return any(each.acts_as_controller and each.epoch < s.epoch for each in s.controllers.values())

    @sometimes(when=lambda self: self.operator_deletes and is_contested(self))
    def a_zombie_with_a_session(self, s: C) -> bool:
        """A zombie with a live session, so that ZooKeeper carries out its requests. No expiry made it a zombie."""
        zombies = [each for each in s.controllers.values() if each.acts_as_controller and each.epoch < s.epoch]
        return any(each.session in s.zk.sessions for each in zombies)

    # Views: a state in sentences, for the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """The controller, according to ZooKeeper."""
        if s.named_controller is None:
            return f"there is no /controller; the epoch is {s.epoch}"
        owner = s.zk.nodes[CONTROLLER].owner
        left = "" if owner == s.controllers[s.named_controller].session else f", left by {owner}"
        return f"/controller names broker {s.named_controller}{left}; the epoch is {s.epoch}"

    @view
    def belief(self, s: C, broker: BrokerId) -> str:
        """Whether a broker believes it is controller, and whether it is."""
        return belief(broker, s.controllers[broker], s.named_controller, s.epoch)

    @view
    def intent(self, s: C, broker: BrokerId) -> str:
        """The broker's next write, and the changes that it does not know of."""
        return intent(broker, s.controllers[broker], s.named_controller, s.epoch, s.times_state_written)

    @view
    def unheard_expiry(self, s: C, broker: BrokerId) -> str:
        """A session that has ended without its broker's knowledge."""
        session = s.controllers[broker].session
        where(session is not None and session not in s.zk.sessions)
        return f"{session} of broker {broker} has ended, and the broker has not heard of it"

    @view
    def unhandled(self, s: C, broker: BrokerId) -> str:
        """The events that a broker has not handled yet, and whether it misses changes of /controller meanwhile."""
        me = s.controllers[broker]
        coming = [] if me.session is None else [event.type.name for event in s.zk.events[me.session]]
        waiting = [str(each) for each in (*me.queue, *me.posted)]
        todo = [f"{does} {', then '.join(what)}" for does, what in (("hear", coming), ("handle", waiting)) if what]
        where(todo)
        deaf = "" if me.session in s.zk.data_watches[CONTROLLER] else ", and does not watch /controller meanwhile"
        return f"broker {broker} has yet to {' and to '.join(todo)}{deaf}"

    @view
    def last_write(self, s: C) -> str:
        """The epoch under which the partition's state was written."""
        where(s.times_state_written)
        epoch = s.partition_state.controller_epoch
        return f"the partition's state was written under epoch {epoch}; its version is {s.times_state_written}"

    @view
    def one_epoch_twice(self, s: C, epoch: ControllerEpoch) -> str:
        """Two failovers under one epoch, which must not happen."""
        brokers = [each.broker for each in s.failovers if each.epoch == epoch]
        where(len(brokers) > 1)
        return f"broker {brokers[-1]}'s failover runs under epoch {epoch}, as one of broker {brokers[0]} did"

    # Pictures.

    @picture
    def brokers_at_work(self, s: C) -> Grid:
        """Each broker's belief about itself, its next requests to ZooKeeper, and its waiting events."""
        return draw_controllers(s.controllers, s.epoch)
