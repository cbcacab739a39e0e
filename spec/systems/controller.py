"""The controller's life, release by release: failover step by step, lost replies, failing requests, zombies."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal

from election.ids import BrokerEpoch, BrokerId, ControllerEpoch
from spec.by_release import ByRelease
from spec.language import (
    Size,
    Step,
    action,
    bound,
    constant,
    every_combination,
    integers,
    invariant,
    part,
    record,
    require,
    say,
    sequence_of,
    sometimes,
    subset_of,
    switches,
    transition_invariant,
    variable,
    view,
    where,
)
from spec.parts.controller_views import THE_CONTROLLER, ZK_EVENT_THREAD, each_request
from spec.parts.receiver import Receiver, ReceiverPart
from spec.parts.zookeeper import ZooKeeperPart
from spec.systems.controller_election import Cluster, ControllerElection, is_contested
from statemachines.controller.controller_process import (
    Answer,
    ControllerProcess,
    LiveBroker,
    OnePartitionContext,
    of_thread,
)
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    LEADER_AND_ISR,
    Design,
    Election,
    Threads,
    failover_of,
    is_repeated,
    registration,
)
from statemachines.controller.threads import (
    CHECKS,
    EVENTS,
    HANDLING,
    IDLE,
    LISTENERS,
    NEW_SESSION,
    WRITES,
    ControllerEvent,
    ControllerStep,
    Queued,
)
from statemachines.zookeeper.tree import name_of

LOSABLE = WRITES - {ControllerStep.DeleteRegistration}
"""The requests whose answer may be lost. The next request sees the effect of a deleted registration anyway."""


class ClusterAtWork(Cluster):
    """Brokers that do a controller's work, and one broker that receives the controllers' requests."""

    acting_in_new_session: frozenset[BrokerId] = variable(
        "History: the controllers whose session is not the one in which they were elected.",
        of=lambda self: subset_of(self.domain_of(BrokerId) if self.design.threads is not Threads.barrier else ()),
    )
    receiver: Receiver


class ControllerLife(ControllerElection[ClusterAtWork]):
    """Brokers become controller, do its work, and lose the office, request by request.

    This adds to `controller-election` every step of a failover that reads or writes a variable. It also adds brokers
    that start and stop under a controller, lost connections and replies, failing requests, and a broker that receives
    the controllers' requests. A session may end, or a process crash, between any two steps. `threads` says which
    thread handles an event, see `statemachines.controller.threads`.

    Left out: the steps of a failover that touch no variable (`fused` in `statemachines.controller.failover_stages`),
    topics and replicas, and the interleavings that the controllerLock of 0.10 excludes. One partition's state stands
    for all partitions. One receiving broker stands for all of them, since they know nothing of each other. A leader's
    notification of an ISR change (`isr_changes`) says only that something has changed.
    """

    name = "controller"
    leaves_out = "topics, replicas, the steps of a failover that touch no variable, threads beside ZkEventThread"

    brokers: int = constant(2, "Brokers that compete.", at_least=1, at_most=3)
    max_queued_events: int = constant(8, "Bound: how many events may wait at a broker.", at_least=5, at_most=12)
    registrations: int = constant(
        0,
        "Bound: how often a broker registers, which gives its epoch; 0: broker epochs are left out.",
        at_least=0,
        at_most=5,
    )
    state_writes: int = constant(2, "Bound: how often the partition's state is written.", at_least=1, at_most=9)
    expiries: bool = constant(True, "The servers end sessions.")
    lost_replies: bool = constant(True, "Writes take effect, and their answers are lost.")
    disconnections: bool = constant(True, "Clients lose their connection for a while.")
    request_failures: bool = constant(True, "A request of a failover fails by itself.")
    failed_elections: bool = constant(False, "A request of a leader election fails by itself.")
    receiving_broker: bool = constant(
        True, "A broker receives the controllers' requests, and remembers their highest epoch."
    )
    isr_changes: bool = constant(False, "The leader of a partition changes its ISR, and notifies the controller.")
    ephemeral_outlives_session: bool = constant(
        False, "A fault of the servers: they delete an ended session's nodes later (ZOOKEEPER-2985)."
    )

    release_design: Design = switches(Design, ByRelease(Design))

    @cached_property
    def design(self) -> Design:
        """The design of this release's controller, without the switches that have no effect here."""
        its = self.release_design
        return its.but(
            failover=failover_of(its),
            looks_again=True,
            ephemeral_owner_check=its.ephemeral_owner_check and self.ephemeral_outlives_session,
            broker_epoch=its.broker_epoch and self.registrations > 0,
        )

    # Sizes.

    @property
    def events(self) -> Collection[ControllerEvent]:
        """The events that a broker may have to handle."""
        heard = EVENTS[self.design.threads]
        return [each for each in heard if self.isr_changes or each is not ControllerEvent.IsrChangeNotification]

    def sizes(self) -> Mapping[Any, Size]:
        """The controller's full knowledge in this release."""
        given, posted = super().sizes(), record(Queued, event=LISTENERS, controller=(None,))
        names = every_combination(name_of, path=every_combination(registration, broker=given[BrokerId]))
        epochs = every_combination(LiveBroker, name=names, epoch=range(1, self.registrations + 1))
        return {
            BrokerEpoch: integers(0, self.registrations),
            ControllerProcess.posted: sequence_of(posted, longest=self.max_queued_events),
            OnePartitionContext.live_brokers: subset_of(epochs if self.design.broker_epoch else names),
            ControllerProcess.brokers_read: subset_of(epochs),
            **given,
        }

    @part
    def zk(self) -> ZooKeeperPart:
        """ZooKeeper. Its clients are the brokers, which may lose their connections."""
        return replace(
            super().zk,
            max_events=4,
            reconnects=True,
            expiries=self.expiries,
            disconnections=self.disconnections,
            ephemerals_outlive_sessions=self.ephemeral_outlives_session,
            set_with={CONTROLLER: CONTROLLER_EPOCH} if self.design.epoch_update is Election.multi else {},
        )

    @part
    def receiver(self) -> ReceiverPart:
        """The broker that receives the requests of all controllers."""
        return ReceiverPart(epochs=self.domain_of(ControllerEpoch), exists=self.receiving_broker)

    # A broker's process and its session.

    def connected(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """Whether its client has a connection to the servers, or is about to hear that its session has ended."""
        return s.controllers[broker].session not in s.zk.disconnected

    @action(when=lambda self: self.expiries)
    def learn_of_expiry(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """A client reconnects and learns that its session has ended. Since 1.1 its broker is idle then."""
        if self.design.threads is Threads.barrier:
            super().learn_of_expiry(s, broker)
            return
        me = s.controllers[broker]
        require(me.session is not None and me.session not in s.zk.sessions)
        require(not any(of_thread(self.design, check, me).about_to(check) for check in CHECKS))  # they fail first
        bound(len(me.queue) + len(me.posted) + len(NEW_SESSION) <= self.max_queued_events)
        session = self.zk.free_session(s.zk, broker, left=me.registration)
        s.controllers[broker] = self.controller(s, broker).renew(me, session)
        if me.active or me.handlers_registered:
            s.acting_in_new_session |= {broker}

    @action(when=lambda self: self.design.threads is Threads.barrier and not self.design.reinit_only_if_expired)
    def fail_authentication(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """An idle broker's client fails to authenticate and starts over, while its session lives on."""
        me = s.controllers[broker]
        require(me.agenda == IDLE and s.zk.serves(me.session))
        s.controllers[broker] = self.controller(s, broker).begin_anew(me)

    @action(when=lambda self: self.design.threads is not Threads.barrier, actor="ZooKeeper", receiver="broker")
    def deliver_event(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """A broker's watch events reach it, and stay even if its session ends."""
        me = s.controllers[broker]
        require(me.session is not None and s.zk.events[me.session] and self.connected(s, broker))
        self.set_controller(s, broker, self.controller(s, broker).deliver(me))

    def hears(self, s: ClusterAtWork, broker: BrokerId) -> ControllerProcess:
        """The broker's knowledge when it turns to an event. Until 1.0, or without a connection, none arrives then."""
        if self.connected(s, broker) and self.design.threads is Threads.barrier:
            return super().hears(s, broker)
        return s.controllers[broker]

    @action(when=lambda self: self.design.threads is Threads.queue, actor=ZK_EVENT_THREAD)
    def listen(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """ZkEventThread reads for a listener and puts an event into the controller's queue."""
        me = s.controllers[broker]
        require(me.listener_agenda == IDLE and me.posted and s.zk.serves(me.session))
        self.apply_answer(s, broker, self.controller(s, broker).listen(me))

    @action(when=lambda self: self.isr_changes, actor="ZooKeeper", receiver="broker")
    def notify_isr_change(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """The leader of a partition has changed its ISR, and a listening broker is notified."""
        me = s.controllers[broker]
        require(me.takes_isr_notification and s.zk.serves(me.session))
        self.set_controller(s, broker, self.controller(s, broker).isr_changes(me))

    @action(when=lambda self: self.disconnections)
    def lose_connection(self, s: ClusterAtWork, broker: BrokerId, heard: bool) -> None:
        """A client loses its connection to the servers, before or after (`heard`) its waiting events arrive."""
        me = s.controllers[broker]
        require(s.zk.serves(me.session))
        if heard:
            require(s.zk.events[me.session])
            self.set_controller(s, broker, self.controller(s, broker).deliver(me))
        self.zk.lose_connection(s.zk, me.session)

    @action(when=lambda self: self.disconnections, receiver="ZooKeeper")
    def reconnect(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """A disconnected client is back, and receives the events that it missed."""
        self.zk.reconnect(s.zk, s.controllers[broker].session)

    # A broker's requests.

    @property
    def steps(self) -> list[ControllerStep]:
        """The requests that brokers make: the steps on their agendas that can occur under these constants."""
        again = self.crashes and self.sessions_per_broker > 1
        renewed = self.design.threads is not Threads.barrier or not self.design.reinit_only_if_expired
        needed = {
            ControllerStep.CheckRegistration: self.lost_replies
            or again
            or renewed
            or self.ephemeral_outlives_session,
            ControllerStep.CheckController: self.lost_replies or self.brokers > 1,
            ControllerStep.CheckEpoch: self.lost_replies,
            ControllerStep.MoveController: self.request_failures,
            ControllerStep.DeleteController: self.request_failures
            or self.design.epoch_update is Election.cas_checked,
        }
        return [do for do in super().steps if needed.get(do, True)]

    def within_bounds(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether a request stays within the bounds of this model."""
        if do is ControllerStep.UpdateLeaderAndIsr:
            return s.times_state_written < self.state_writes
        if do is ControllerStep.RegisterBroker and self.registrations:
            return s.zk.creations[registration(broker)] < self.registrations
        return super().within_bounds(s, broker, do)

    def can_ask(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> bool:
        """Whether this request is the broker's next one, and its client can send it now."""
        may = super().can_ask(s, broker, do) and self.connected(s, broker)
        return may and (not is_repeated(self.design, do) or s.controllers[broker].session in s.zk.sessions)

    def ask(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> Answer:
        """The broker makes this request, if it is the next one, and acts on the answer; its requests go out."""
        answer = super().ask(s, broker, do)
        after = answer.controller
        if answer.sends_requests:
            self.receiver.send(s.receiver, after.epoch)
        if do is ControllerStep.CreateController or not (after.active or after.handlers_registered):
            s.acting_in_new_session -= {broker}
        return answer

    def lose_reply_to(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> None:
        """The broker makes this request, if it is the next one, and the answer is lost with the connection."""
        require(self.can_ask(s, broker, do))
        bound(self.within_bounds(s, broker, do))
        me = of_thread(self.design, do, s.controllers[broker])
        require(me.session in s.zk.sessions and self.controller(s, broker).lose_reply(me))
        say("it takes effect, and the broker does not hear of it")
        self.zk.lose_connection(s.zk, me.session)

    @action(do=each_request(lambda do: do not in {*LOSABLE, ControllerStep.ReadStates}), receiver="ZooKeeper")
    def request(self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep) -> None:
        """The broker makes a request that only reads, or one whose answer is never lost."""
        self.ask(s, broker, do)

    @action(
        do=each_request(lambda do: do in LOSABLE),
        reply=lambda self: ("answered", "lost") if self.lost_replies else ("answered",),
        receiver="ZooKeeper",
    )
    def write(
        self, s: ClusterAtWork, broker: BrokerId, do: ControllerStep, reply: Literal["answered", "lost"]
    ) -> None:
        """The broker makes a request, whose answer may be lost after it takes effect."""
        (self.ask if reply == "answered" else self.lose_reply_to)(s, broker, do)

    @action(actor=THE_CONTROLLER, receiver="ZooKeeper")
    def read_states(self, s: ClusterAtWork, broker: BrokerId, leader: Literal["alive", "dead"]) -> None:
        """The controller reads every state into its cache, and checks whether it must elect a leader."""
        self.ask(s, broker, ControllerStep.ReadStates)
        if leader == "alive":  # in a failover; else there is nothing to elect
            me = s.controllers[broker]
            require(me.about_to(ControllerStep.ReadPartitionState) and me.context.live_brokers)
            s.controllers[broker] = self.controller(s, broker).skip_election(me)

    @action(when=lambda self: self.request_failures, actor=THE_CONTROLLER, receiver="ZooKeeper")
    def fail(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """A request of a failover fails by itself: this one, or one that is fused with it."""
        require(self.can_fail(s, broker) and not s.controllers[broker].about_to(ControllerStep.UpdateLeaderAndIsr))
        self.apply_answer(s, broker, self.controller(s, broker).fail(s.controllers[broker]))

    @action(when=lambda self: self.failed_elections, actor=THE_CONTROLLER, receiver="ZooKeeper")
    def fail_to_elect(self, s: ClusterAtWork, broker: BrokerId) -> None:
        """A request of a failover's leader election fails by itself."""
        require(self.can_fail(s, broker) and s.controllers[broker].agenda[0] in LEADER_AND_ISR)
        self.apply_answer(s, broker, self.controller(s, broker).fail_to_elect(s.controllers[broker]))

    def can_fail(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """Whether it is in its failover, with a session and a connection, so that these are not the cause."""
        me = s.controllers[broker]
        return me.in_failover and s.zk.serves(me.session)

    # Properties of ZooKeeper that are about its clients.

    @transition_invariant(of=("listen", "request", "write", "read_states"))
    def watch_before_data(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """Z4: no answer overtakes an event: a broker that acts on an answer has heard of every earlier change."""
        me = after.controllers[broker]
        return me == before.controllers[broker] or me.session is None or not after.zk.events[me.session]

    @transition_invariant(when=lambda self: self.registrations > 1)
    def czxid_monotone(self, before: ClusterAtWork, step: Step, after: ClusterAtWork, broker: BrokerId) -> bool:
        """Z6: a broker's later registration has a greater czxid, and its epoch never decreases."""
        me, path = after.controllers[broker], registration(broker)
        if me.is_running and me.broker_epoch < before.controllers[broker].broker_epoch:
            return False
        node = after.zk.nodes.get(path)
        return node is None or path in before.zk.nodes or node.czxid > before.zk.creations[path]

    # Properties of the controller.

    def quiet(self, s: ClusterAtWork) -> bool:
        """Nothing is under way: no step, event or request, no session's unheard end, no session of a dead broker."""
        at_rest = (
            not me.is_running or (me.is_idle and me.session in s.zk.sessions and not s.zk.events[me.session])
            for me in s.controllers.values()
        )
        if s.receiver.requests or s.zk.disconnected or not all(at_rest):
            return False
        running = [me.session for me in s.controllers.values()]
        return all(session in running for session in s.zk.sessions) and self.zk.ephemeral_owned(s.zk)

    @invariant(where=quiet)
    def active_has_node(self, s: ClusterAtWork) -> bool:
        """C5: when all is quiet, a broker believes it is controller if, and only if, /controller names it."""
        return all(me.active == (broker == s.named_controller) for broker, me in s.controllers.items())

    @transition_invariant
    def state_writer_monotone(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> bool:
        """C7: a partition's state is never written under an older controller epoch than before."""
        return before.partition_state.controller_epoch <= after.partition_state.controller_epoch

    @invariant(where=quiet)
    def cache_fresh(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """C8: when all is quiet, the effective controller knows the partition's state in ZooKeeper."""
        me = s.controllers[broker]
        where(me.active and me.failover_done and me.epoch == s.epoch)
        return me.context.partition_state_version == s.times_state_written

    @invariant
    def cache_not_ahead(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """C9: the effective controller knows no partition state that is not yet in ZooKeeper."""
        me = s.controllers[broker]
        where(me.active and me.epoch == s.epoch)
        return (
            me.context.partition_state_version is None or me.context.partition_state_version <= s.times_state_written
        )

    @invariant(where=quiet)
    def live_brokers_known(self, s: ClusterAtWork) -> bool:
        """C10: when all is quiet, a controller that has failed over believes exactly the registered brokers alive."""
        registered: frozenset[Any] = s.zk.nodes[BROKER_IDS].children
        if self.design.broker_epoch:
            paths = [path for path in map(registration, s.controllers) if path in s.zk.nodes]
            registered = frozenset(LiveBroker(name_of(path), s.zk.nodes[path].czxid) for path in paths)
        return all(
            me.context.live_brokers == registered for me in s.controllers.values() if me.active and me.failover_done
        )

    @invariant
    def no_lost_wakeup(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """C11: an idle controller hears of every change: its watches are armed, or an event is on its way."""
        me = s.controllers[broker]
        where(me.agenda == IDLE and me.active and me.failover_done and me.session in s.zk.sessions)
        coming = me.paths_to_read | {event.path for event in s.zk.events[me.session]}
        watched = me.session in s.zk.data_watches[CONTROLLER] or CONTROLLER in coming
        return watched and (me.session in s.zk.child_watches[BROKER_IDS] or BROKER_IDS in coming)

    @invariant
    def resigned_context_empty(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """C12: a broker that does not believe it is controller keeps nothing of a controller's context."""
        me = s.controllers[broker]
        return me.active or not me.has_context

    @invariant
    def controller_started(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """A broker that believes it is controller has completed a failover, or still has steps to make (B22)."""
        me = s.controllers[broker]
        return not me.active or me.failover_done or me.agenda != IDLE

    @invariant(where=quiet)
    def registered_when_quiet(self, s: ClusterAtWork, broker: BrokerId) -> bool:
        """When all is quiet, a running broker's current session owns its node (B23)."""
        me, path = s.controllers[broker], registration(broker)
        return not me.is_running or (path in s.zk.nodes and s.zk.nodes[path].owner == me.session)

    @invariant(where=quiet)
    def controller_exists(self, s: ClusterAtWork) -> bool:
        """C13: when all is quiet and a broker runs, some broker is controller."""
        return CONTROLLER in s.zk.nodes or all(not me.is_running for me in s.controllers.values())

    @transition_invariant
    def writes_in_its_session(self, before: ClusterAtWork, step: Step, after: ClusterAtWork) -> bool:
        """A broker writes as controller only in the session in which it was elected (B3)."""
        where(after.times_state_written != before.times_state_written)
        return step.parameters["broker"] not in before.acting_in_new_session

    @transition_invariant(of="handle_event")
    def handles_in_its_session(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """No controller handles a waiting event in a later session than the one in which it was elected (B3)."""
        return broker not in before.acting_in_new_session or not after.controllers[broker].about_to(
            ControllerStep.ReadBrokers
        )

    @transition_invariant(of="handle_event")
    def resigned_does_nothing(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """No event makes a resigned broker do a controller's work (B27)."""
        me = after.controllers[broker]
        works = me.about_to(ControllerStep.ReadBrokers) or me.about_to(ControllerStep.ReadStates)
        return not works or self.controller(after, broker).is_active(me)

    # Witnesses: what must be possible.

    @sometimes(where=quiet)
    def all_is_quiet(self, s: ClusterAtWork) -> bool:
        """Nothing is under way, and a broker is controller."""
        return CONTROLLER in s.zk.nodes

    @sometimes(when=is_contested, of="update_leader_and_isr")
    def a_zombie_tries_to_write(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A broker that is no longer controller sends a write."""
        return before.controllers[broker].epoch < before.epoch

    @sometimes(when=is_contested, of="receiver.deliver_request")
    def a_stale_request_is_refused(self, before: ClusterAtWork, after: ClusterAtWork, epoch: ControllerEpoch) -> bool:
        """A broker receives a request of an old controller after one of a newer controller."""
        return epoch < before.receiver.known_epoch

    def turns_to(self, s: ClusterAtWork, broker: BrokerId, event: ControllerEvent) -> bool:
        """Whether a broker has turned to the steps of this event."""
        return s.controllers[broker].agenda == HANDLING[self.design.threads].get(event)

    @sometimes(when=lambda self: self.design.threads is Threads.barrier, of="handle_event")
    def a_controller_change(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A broker handles a ControllerChange."""
        return self.turns_to(after, broker, ControllerEvent.ControllerChange)

    @sometimes(
        when=lambda self: self.design.threads is not Threads.lock and (self.expiries or self.operator_deletes),
        of="handle_event",
    )
    def a_reelect(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A broker handles a Reelect."""
        return self.turns_to(after, broker, ControllerEvent.Reelect)

    @sometimes(of="learn_of_expiry")
    def an_expiry_is_heard_of(self, before: ClusterAtWork, after: ClusterAtWork) -> bool:
        """A broker with no request under way hears that its session has ended."""
        return True

    def fails_over(self, s: ClusterAtWork, broker: BrokerId, before: ControllerStep) -> bool:
        """Whether a controller is in its failover, and this is its next step."""
        me = s.controllers[broker]
        return me.in_failover and me.about_to(before)

    @sometimes(of="crash")
    def dies_before_it_knows_the_brokers(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A controller dies in its failover before it reads which brokers are alive."""
        return self.fails_over(before, broker, ControllerStep.ReadBrokers)

    @sometimes(of="crash")
    def dies_before_it_knows_the_states(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A controller dies in its failover before it reads the partitions' states."""
        return self.fails_over(before, broker, ControllerStep.ReadStates)

    @sometimes(of="crash")
    def dies_before_it_elects(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A controller dies in its failover after it informs the brokers of each other, before it elects a leader."""
        return self.fails_over(before, broker, ControllerStep.ReadPartitionState)

    @sometimes(of="crash")
    def dies_before_it_writes(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """A controller dies in its failover between the read and the write of a partition's state."""
        return self.fails_over(before, broker, ControllerStep.UpdateLeaderAndIsr)

    @sometimes(
        when=lambda self: self.design.broker_epoch and self.registrations > 1 and self.crashes, of="read_brokers"
    )
    def a_bounced_broker(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """The controller finds that a broker has restarted since its last read."""
        knew, now = before.controllers[broker].context.live_brokers, after.controllers[broker]
        known, found, left = (
            {each.name for each in live} for live in (knew, now.brokers_read, now.context.live_brokers)
        )
        return bool(known & found - left)

    @sometimes(when=lambda self: self.brokers > 1, of="read_brokers")
    def a_broker_change(self, before: ClusterAtWork, after: ClusterAtWork, broker: BrokerId) -> bool:
        """The controller hears that a broker started or stopped."""
        return not before.controllers[broker].in_elect

    # Views: a state in sentences, for the reader of a trace.

    @view
    def registered_by(self, s: ClusterAtWork, broker: BrokerId) -> str:
        """A registration that is missing, or that another session than the broker's current one owns."""
        me, path = s.controllers[broker], registration(broker)
        where(me.session is not None and not me.about_to(ControllerStep.RegisterBroker))
        if path not in s.zk.nodes:
            return f"{path} does not exist, and broker {broker} is running"
        owner = s.zk.nodes[path].owner
        return "" if owner == me.session else f"{path} was left by {owner}; broker {broker} is in {me.session}"

    @view
    def stale_cache(self, s: ClusterAtWork, broker: BrokerId) -> str:
        """A controller whose cached partition state has another version than ZooKeeper's."""
        me = s.controllers[broker]
        cached, written = me.context.partition_state_version, s.times_state_written
        where(me.active and cached not in (None, written))
        return f"broker {broker} knows the partition's state at version {cached}; in ZooKeeper it is at {written}"
