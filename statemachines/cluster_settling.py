"""SettlingCluster: the steps of a cluster in memory, and time. `cluster.Cluster` lists the steps."""

from __future__ import annotations

import random
import reprlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, Self

from election.ids import BrokerId
from statemachines.broker.broker import Broker
from statemachines.broker.kafka_server import AskController, Backoff, FindController, Stopped
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_history import Failed
from statemachines.cluster_state import ClusterState
from statemachines.cluster_steps import (
    AdvanceController,
    AdvanceShutdown,
    ChangeIsr,
    RunTask,
    SendFetch,
    Step,
    TakeFetch,
    TakeFetchResponse,
    TakeRequest,
)
from statemachines.controller.alter_partition import AlterPartitionResponse
from statemachines.controller.calls import Call
from statemachines.controller.event_processor import ControllerEventProcessor, event_of
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest

MAX_ELECTIONS: Final = 100
"""After so many controller elections `settle` gives up."""
WRITE_TO_ZOOKEEPER: Final = ("isr-expiration", "isr-change-propagation")
"""The tasks that do so until 2.6, and wait for the broker's session."""
DAY: Final = 86_400
"""How far `advance` goes at once, in seconds."""


class NotSettled(RuntimeError):
    """A cluster never comes to rest, as in Kafka: no controller can take over, and another one tries."""


class NotReached(RuntimeError):
    """A cluster comes to rest without having been in a situation that was waited for."""


class SettlingCluster(ClusterState):
    """A cluster that takes steps."""

    def steps(self) -> tuple[Step, ...]:
        """All possible next steps, the most urgent first; none if the cluster is at rest."""
        return tuple(chain.from_iterable(self._by_urgency()))

    def step(self, which: Step) -> None:
        """Take one step.

        Raises:
            ValueError: the step is not possible now; nothing has happened.
        """
        steps = self.steps()
        for each in steps:
            if type(each) is type(which) and each == which:  # tuples of other types compare equal to it, too
                self._do(each)
                return
        can = "; ".join(map(str, steps)) or "nothing"
        raise ValueError(f"{which!r} is not possible now; possible: {can}")

    def settle(
        self,
        seed: int | None = None,
        *,
        until: Callable[[Self], bool] | None = None,
        without: Callable[[Step], bool] | type[Step] | None = None,
    ) -> None:
        """Take steps until none is left.

        A broker dies after it has caught up, and before its leader reports it to the controller:

        >>> from statemachines import Cluster
        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.create_topic("t", {0: (1, 2)})
        >>> cluster.crash(2); cluster.settle()
        >>> cluster.restart(2); cluster.settle(without=ChangeIsr)
        >>> cluster.steps()
        (ChangeIsr(leader=1),)
        >>> cluster.crash(2)

        Args:
            seed: draws each step from all possible ones. None takes the most urgent step first, and changes ISRs
                last.
            until: it is called before each step, and once this is true, no other step is taken.
            without: the steps that are not taken, as a type or a function.

        Raises:
            ValueError: the seed is no integer, or another argument is no function; nothing has happened.
            NotReached: no step is left, and `until` was never true.
            NotSettled: controllers are elected without end.
        """
        _check_settling(seed, until, without)
        if not self._settles(_chance(seed), until, without) and until is not None:
            raise NotReached("the cluster is at rest, and `until` was never true")

    def advance(
        self,
        seconds: float,
        seed: int | None = None,
        *,
        until: Callable[[Self], bool] | None = None,
        without: Callable[[Step], bool] | type[Step] | None = None,
    ) -> None:
        """Time passes. What Kafka does by the clock is done when it is due, and the cluster settles each time.

        Steps take no time. Followers fetch again and again, unless their fetches are held. A broker that shuts down
        waits between its attempts, and until 2.6 a leader waits before it notifies the controller of ISRs; `settle`
        takes these steps at once.

        >>> from statemachines import Cluster
        >>> cluster = Cluster(brokers=(1, 2))
        >>> cluster.create_topic("t", {0: (1, 2)}); cluster.settle()
        >>> cluster.hold_fetches(2)
        >>> cluster.advance(15); print(cluster.partition("t", 0))
        leader 1, epoch 0, ISR 1,2, on 1,2
        >>> _ = cluster.produce("t", 0, "m")
        >>> cluster.advance(45); print(cluster.partition("t", 0))
        leader 1, epoch 0, ISR 1, on 1,2

        Args:
            seconds: how long, to the millisecond.
            seed: as in `settle`.
            until: as in `settle`; time then stops.
            without: as in `settle`; a task that is not run stays due.

        Raises:
            ValueError: the time is no number from 0 to a day, or another argument is invalid; nothing has happened.
            NotReached: the time has passed, and `until` was never true.
            NotSettled: controllers are elected without end.
        """
        if type(seconds) not in (int, float) or not 0 <= seconds <= DAY:
            raise ValueError(f"seconds: {reprlib.repr(seconds)}, allowed are numbers from 0 to {DAY}, a day")
        _check_settling(seed, until, without)

        def waits(step: Step) -> bool:
            if isinstance(step, ChangeIsr):
                return not self.design.alter_partition
            return isinstance(step, AdvanceShutdown) and self._clock.is_backing_off(step.broker)

        end, chance = self._clock.now + round(seconds * 1000), _chance(seed)
        while not self._settles(chance, until, lambda step: waits(step) or _is_among(step, without)):
            if self._clock.now == end:
                if until is not None:
                    raise NotReached(f"{seconds} seconds have passed, and `until` was never true")
                return
            self._clock.advance(end)
            self._something_happens()
            self._fetches.look_at_all()

    # Parts.

    def _settles(
        self,
        chance: random.Random | None,
        until: Callable[[Self], bool] | None,
        without: Callable[[Step], bool] | type[Step] | None,
    ) -> bool:
        """Take steps until none is left. Returns whether `until` became true before."""
        last = self._elections + MAX_ELECTIONS
        for each in self._chosen(chance, without):
            if until is not None and until(self):
                return True
            self._do(each)
            if self._elections > last:
                raise NotSettled(f"the cluster does not settle: {MAX_ELECTIONS} controllers were elected in a row")
        return until is not None and until(self)

    def _chosen(
        self, chance: random.Random | None, without: Callable[[Step], bool] | type[Step] | None
    ) -> Iterator[Step]:
        """The steps to take, each when the one before has been taken, until none is left."""

        def are_left() -> Iterator[list[Step]]:
            for group in self._by_urgency():
                yield [each for each in group if not _is_among(each, without)]

        if chance is not None:
            while steps := [*chain.from_iterable(are_left())]:
                yield chance.choice(steps)
        while most_urgent := next(filter(None, are_left()), ()):
            yield from most_urgent

    def _by_urgency(self) -> Iterator[Sequence[Step]]:
        """The possible next steps, by kind; a step that another of its kind has made unnecessary does nothing."""
        yield [
            TakeRequest(controller, broker, type(queue[0]).__name__.removesuffix("Request"))
            for controller, each in self.controllers.items()
            for broker, queue in each.channels.state.message_queues.items()
            if queue and self.brokers[broker].is_running and self._may_take(broker, queue[0])
        ]
        working = [
            self.controllers[broker] for broker in self.live if self._is_still_controller(self.controllers[broker])
        ]
        working.sort(key=lambda each: (not each.has_session, each.broker))  # a broker without session registers last
        yield [AdvanceController(each.broker, each.next_step) for each in working]
        yield from self._stopping_steps(waiting=False)
        yield self._fetches.responses()
        yield self._fetches.requests()
        yield self._fetches.sends()
        yield [
            task
            for task in self._clock.due()
            if task.name not in WRITE_TO_ZOOKEEPER or self._may_write_isr(task.broker)
        ]
        leaders = {
            broker: each.isr_changes_to_send
            for broker, each in self.brokers.items()
            if self._reaches_controller(broker)
        }
        yield [ChangeIsr(each) for each in sorted(filter(leaders.get, leaders), key=lambda each: leaders[each][0])]
        yield from self._stopping_steps(waiting=True)

    def _may_take(self, broker: BrokerId, request: ControlRequest) -> bool:
        """Whether a broker can take a request: LeaderAndIsr waits while a thread asks where its leader's log ends."""
        exchanges = self.brokers[broker].data_plane.exchanges
        return isinstance(request, UpdateMetadataRequest) or not any(
            each.holds_partitions for each in exchanges.values()
        )

    def _is_still_controller(self, controller: ClusterController) -> bool:
        """Whether a controller has a step. One that learns late has none until another is elected, if others run."""
        late = controller.broker in self._late and not (controller.is_busy and controller.active)
        waits = late and self.controller is None and bool(self.live - self._late)
        return controller.has_work and not waits

    def _stopping_steps(self, waiting: bool) -> Iterator[Sequence[AdvanceShutdown]]:
        """Steps of brokers that shut down, one by one: of those that wait for another attempt, or of the others."""
        for broker in tuple(self._stopping):
            due, awaits = self.brokers[broker].shutdown, self.brokers[broker].awaits_controller
            waits = isinstance(due, Backoff) and due.remaining_retries > 0
            ends = isinstance(due, Stopped) and not self.controllers[broker].is_running
            awaits = awaits or (ends and self.controllers[broker].is_busy)
            if waits is waiting and not awaits:
                yield [AdvanceShutdown(broker, "Begin" if due is None else type(due).__name__)]

    def _reaches_controller(self, broker: BrokerId) -> bool:
        """Whether a broker can report ISRs: since 2.7 to an active controller, until 2.6 in its session."""
        if not self.brokers[broker].is_running:
            return False
        if not self.design.alter_partition:
            return self.controllers[broker].has_session
        return self.controller is not None and self.controllers[self.controller].active

    def _do(self, which: Step) -> None:
        match which:
            case TakeRequest(controller, broker):
                its = self.controllers[controller]
                received = its.channels.exchange(broker, self.brokers[broker].handle)
                event = None if received is None else event_of(received)
                if event is not None:
                    its.put(event)
            case AdvanceController(broker):
                self.controllers[broker].advance()
                self._end_if_refused(broker)
            case AdvanceShutdown(broker):
                self._go_on_stopping(broker)
            case SendFetch():
                self._fetches.send(which)
            case TakeFetch():
                self._fetches.take(which)
            case TakeFetchResponse():
                if self._fetches.receive(which):
                    self._stop(which.follower)
            case RunTask():
                self._clock.run(which)
            case ChangeIsr(leader):
                self._change_isrs(self.brokers[leader])

    def _change_isrs(self, leader: Broker) -> None:
        if not self.design.alter_partition:
            leader.notify_isr_changes()
            return
        request, process = leader.alter_partition_request(), leader.isr_changes

        def answered(response: AlterPartitionResponse | None) -> None:
            if leader.isr_changes is process:  # unless it has stopped meanwhile
                leader.alter_partition_answered(response)

        self._ask(Call(ControllerEventProcessor.process_alter_partition.__name__, (request,)), answered)

    def _go_on_stopping(self, broker: BrokerId) -> None:
        stopping = self.brokers[broker]
        server = stopping.server
        match stopping.shutdown:
            case None:
                stopping.shut_down(self._stopping[broker])
            case FindController() as step:
                responses = stopping.ask_zookeeper(server.requests(step))
                stopping.shutdown = server.controller_found(step, responses)
            case AskController(_, controller, request):
                if not self.brokers[controller].is_running:
                    stopping.shutdown_answered(None)
                    return
                stopping.awaits_controller = True

                def answered(answer: Any) -> None:
                    if stopping.server is server:  # unless it has crashed meanwhile
                        stopping.shutdown_answered(answer)

                event = Call(ControllerEventProcessor.process_controlled_shutdown.__name__, tuple(request))
                self.controllers[controller].ask(event, answered)
            case Backoff() as step:
                stopping.shutdown = server.backed_off(step)
            case Stopped():
                its = self.controllers[broker]
                if its.is_running:
                    its.shutdown()
                if its.is_busy:  # the event under way must end first
                    return
                if stopping.remaining:
                    led = ", ".join(map(str, stopping.remaining))
                    self._note(Failed(f"broker {broker} stops, though it still leads {led}"))
                self._stop(broker, cleanly=True)


def _check_settling(
    seed: int | None,
    until: Callable[[Any], bool] | None,
    without: Callable[[Step], bool] | type[Step] | None,
) -> None:
    """Refuse arguments of `settle` that have the wrong type."""
    if not (seed is None or isinstance(seed, int)):
        raise ValueError(f"seed: {reprlib.repr(seed)}, allowed are integers, or None")
    for name, given in {"until": until, "without": without}.items():
        if not (given is None or callable(given)):
            raise ValueError(f"{name}: {reprlib.repr(given)}, allowed are functions, or None")


def _chance(seed: int | None) -> random.Random | None:
    return None if seed is None else random.Random(seed)


def _is_among(step: Step, some: Callable[[Step], bool] | type[Step] | None) -> bool:
    if isinstance(some, type):
        return isinstance(step, some)
    return some is not None and some(step)
