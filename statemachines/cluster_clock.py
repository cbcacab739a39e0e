"""ClusterClock: the time in a cluster, and what its brokers do by the clock.

    task                         when
    isr-expiration               twice in replica.lag.time.max.ms; in 0.10.1 once
    highwatermark-checkpoint     every 5 seconds
    isr-change-propagation       every 2.5 seconds; it notifies the controller of ISRs if none has changed for 5
                                 seconds, or if it has not done so for a minute [until 2.6]
    auto-leader-rebalance-task   5 seconds after a failover, then every 300; in 0.10 partition-rebalance-thread
    ExpirationReaper-ID-Produce  30 seconds after a record with acks=all was appended; in 0.10 ExpirationReaper-ID

A task that is due is a step (`RunTask`). A broker that shuts down waits 5 seconds after a failed attempt. All
settings have their defaults. A broker's first three tasks begin when it starts; Kafka's checkpoints begin with its
first LeaderAndIsr.

Left out: flushes of logs, which move recovery points; retries within less than a second; timeouts of sessions.
[startup and becomeLeaderOrFollower in ReplicaManager.scala, onControllerFailover in KafkaController.scala,
DelayedOperation.scala, 0.10.1 to 3.9]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from election.ids import BrokerId
from statemachines.broker.broker import Broker
from statemachines.broker.partition import Milliseconds
from statemachines.cluster_controller import ClusterController
from statemachines.cluster_steps import RunTask
from statemachines.controller.design import Threads

HOUR: Final[Milliseconds] = 3_600_000
"""When a cluster begins; 0 is no time in Kafka."""


class ClusterClock:
    """The time at all brokers of a cluster, and at the controller on each."""

    def __init__(self, brokers: Mapping[BrokerId, Broker], controllers: Mapping[BrokerId, ClusterController]) -> None:
        self.now: Milliseconds = HOUR
        self._brokers, self._controllers = brokers, controllers
        self._next_runs: dict[RunTask, Milliseconds] = {}
        """When each task of a running broker's scheduler runs next."""

    # Events.

    def start(self, broker: BrokerId) -> None:
        """A broker starts."""
        for name, task in self._brokers[broker].tasks.items():
            self._next_runs[RunTask(broker, name)] = self.now + task.period

    def stop(self, broker: BrokerId) -> None:
        """A broker has stopped."""
        for name in self._brokers[broker].tasks:
            self._next_runs.pop(RunTask(broker, name), None)

    def advance(self, end: Milliseconds) -> None:
        """Time passes, until something else is due or the end is reached."""
        backoffs = (each.backoff_ends for each in self._brokers.values())
        moments = (*filter(None, backoffs), *(moment for moment, _ in self._scheduled()))
        passed = min((end, *(each for each in moments if each > self.now))) - self.now
        self.now += passed
        for controller in self._controllers.values():
            controller.rebalance_timer.advance(passed / 1000)

    def put_off(self, time: Milliseconds) -> None:
        """Time passes, and all that is scheduled is put off by it."""
        self.now += time
        for its in self._brokers.values():
            its.data_plane.delayed_produces.put_off(time)
            if its.backoff_ends is not None:
                its.backoff_ends += time
        self._next_runs = {task: moment + time for task, moment in self._next_runs.items()}

    def is_backing_off(self, broker: BrokerId) -> bool:
        """Whether a broker that shuts down must still wait."""
        ends = self._brokers[broker].backoff_ends
        return ends is not None and ends > self.now

    # Steps.

    def due(self) -> list[RunTask]:
        """The tasks that are due, in order."""
        return [task for moment, task in sorted(self._scheduled()) if moment <= self.now]

    def run(self, task: RunTask) -> None:
        """Run a task."""
        broker = self._brokers[task.broker]
        if task in self._next_runs:
            its = broker.tasks[task.name]
            missed = (self.now - self._next_runs[task]) // its.period
            self._next_runs[task] += (1 + missed) * its.period
            its.run()
        elif task == self._expiration(task.broker):
            broker.data_plane.delayed_produces.expire(self.now)
        else:
            self._controllers[task.broker].rebalance()

    def _scheduled(self) -> Iterator[tuple[Milliseconds, RunTask]]:
        """All tasks, with their time."""
        yield from ((moment, task) for task, moment in self._next_runs.items())
        for broker, controller in self._controllers.items():
            name = (
                "partition-rebalance-thread"
                if controller.design.threads is Threads.lock
                else "auto-leader-rebalance-task"
            )
            for seconds in controller.rebalance_timer.due_in:
                yield self.now + round(seconds * 1000), RunTask(broker, name)
        for broker, its in self._brokers.items():
            if (expires := its.data_plane.delayed_produces.next_expiration) is not None:
                yield expires, self._expiration(broker)

    def _expiration(self, broker: BrokerId) -> RunTask:
        of = "" if self._controllers[broker].design.threads is Threads.lock else "-Produce"
        return RunTask(broker, f"ExpirationReaper-{broker}{of}")
