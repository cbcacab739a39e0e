"""A controller's work reduced to one partition, for the systems that explore elections.

`ElectingController` is the same in every controller. Of an elected controller's work this keeps what shows whether it
may act as controller: it reads the live brokers, and the state of one partition; it elects a leader for that
partition, and writes it, fenced as Kafka's writes are; its failover ends with a fenced deletion. All other reads and
writes of a failover are fused with these requests (`failover.fused`).

[onControllerFailover, processBrokerChange in KafkaController.scala; electLeaderForPartitions in
PartitionStateMachine.scala]
"""

from typing import Any

from statemachines.controller.controller_process import Answer, ControllerProcess, LiveBroker
from statemachines.controller.design import BROKER_IDS, MAYBE_RESIGN, PartitionStateEpoch, Threads
from statemachines.controller.election import EPOCH_IS_GONE, ElectingController
from statemachines.controller.registration import request
from statemachines.controller.threads import LEADER_AND_ISR, ControllerEvent, ControllerStep, Queued
from statemachines.zookeeper.server import Operation, SetData


class OnePartitionController(ElectingController):
    """A broker's controller that elects the leaders of one partition; `ElectingController` explains its arguments."""

    # Events and writes.

    def isr_changes(self, me: ControllerProcess) -> ControllerProcess:
        """It is notified that a partition's leader has changed its ISR. Its reads of the ISR are left out."""
        return me._replace(queue=(*me.queue, Queued(ControllerEvent.IsrChangeNotification)))

    def operations(self, me: ControllerProcess) -> tuple[Operation, ...]:
        """The operations of its next request, which must be a write."""
        match me.agenda[0]:
            case ControllerStep.UpdateLeaderAndIsr:
                return (
                    *self._fence(me),
                    SetData(self.design.state, PartitionStateEpoch(me.epoch), me.state_version),
                )
            case ControllerStep.DeletePreferredElection:  # its node is not modelled, and never exists
                return tuple(self._fence(me))
        return super().operations(me)

    # Work as controller.

    @request(ControllerStep.WatchBrokers)
    def watch_brokers(self, me: ControllerProcess) -> Answer:
        """Subscribe to broker changes; the listener is registered before. [subscribeChildChanges, until 1.0]"""
        self.zookeeper.children(me.session, BROKER_IDS, watch=True)
        return Answer(me.next_step(), "it listens")

    @request(ControllerStep.ReadBrokers)
    def read_brokers(self, me: ControllerProcess) -> Answer:
        """Read the live brokers, and watch them. If they are those that it knew, there is nothing to do.

        A controller of 1.0 that became one only by an old ControllerChange has no channels, and fails at a change.
        Since 2.2 it reads their epochs, one by one, so that a restarted broker differs. Outside a failover the
        context then takes them in turns. Until 2.1 it takes all at once. Left out there: new and dead brokers each
        cause an election; the second one finds nothing to do, or, like the first, a state that a newer controller
        wrote. In a failover the remains of an earlier term are cleared then, except for the channels of 0.10, which
        `partition_state_version` represents. [clearPartitionLeadershipInfo in initializeControllerContext]
        """
        live: frozenset[Any]
        live, _ = self.zookeeper.children(me.session, BROKER_IDS, watch=me.handlers_registered)
        if self.design.broker_epoch:
            stats = {name: self.zookeeper.exists(me.session, f"{BROKER_IDS}/{name}") for name in live}
            live = frozenset(LiveBroker(name, stat.czxid) for name, stat in stats.items() if stat is not None)
        if live == me.context.live_brokers and not me.in_elect:
            return Answer(me.with_steps(), "the same ones")
        after = me.next_step().with_context(live_brokers=live)
        if me.in_elect:
            cached = me.context.partition_state_version if self.design.threads is Threads.lock else None
            return Answer(after.with_context(partition_state_version=cached), "these are alive")
        if self.design.threads is Threads.queue and not me.failover_done:
            return Answer(after.with_steps(), "there are no channels: a NullPointerException")
        if self.design.broker_epoch:
            return self._turn(me._replace(brokers_read=live))
        if live <= me.context.live_brokers:
            return Answer(after, "these are alive")
        return Answer(after, "these are alive, and one of them is new; UpdateMetadata is sent", sends_requests=True)

    def _turn(self, me: ControllerProcess) -> Answer:
        """The context takes the next turn of the brokers that were read, and an election follows.

        New brokers come first; then bounced ones, which are removed before they are added again; dead ones come last.
        [processBrokerChange, 2.2; until 2.1 its context takes them all at once]
        """
        alive = me.context.live_brokers
        known = {each.name: each for each in alive}
        new = {each for each in me.brokers_read if each.name not in known}
        bounced = {known[each.name] for each in me.brokers_read if known.get(each.name, each) != each}
        live = alive | new if new else alive - bounced if bounced else me.brokers_read
        after = (
            me.with_steps(*LEADER_AND_ISR)
            ._replace(brokers_read=me.brokers_read if live != me.brokers_read else frozenset())
            .with_context(live_brokers=live)
        )
        if new:
            return Answer(
                after, "these are alive, and one of them is new; UpdateMetadata is sent", sends_requests=True
            )
        return Answer(after, "one is another one by now, and goes first" if bounced else "these are alive")

    @request(ControllerStep.ReadStates)
    def read_states(self, me: ControllerProcess) -> Answer:
        """Read every partition's state into the cache, and inform the brokers.

        A listener of 0.10.1 does so even after a resignation, has no channels, and moves the controller. [KAFKA-4447]
        """
        if not me.in_elect and not self.is_active(me):
            return Answer(self._to_move(me), "there are no channels: it moves the controller")
        _, stat = self.zookeeper.get(me.session, self.design.state)
        return Answer(
            me.next_step().with_context(partition_state_version=stat.version),
            "cached; UpdateMetadata is sent",
            sends_requests=True,
        )

    def skip_election(self, me: ControllerProcess) -> ControllerProcess:
        """The partition's leader is alive: no election, and no write."""
        return self._done(me.next_step())

    @request(ControllerStep.ReadPartitionState)
    def read_partition_state(self, me: ControllerProcess) -> Answer:
        """Read a partition's state, and skip it if a newer controller wrote it. [0.10 to 3.9]

        Also skip it if the controller knows no live broker to lead it: until 1.0 it may have read the brokers before
        its own had registered. Then it still has no leader, and is read again in another turn of brokers.
        """
        state, stat = self.zookeeper.get(me.session, self.design.state)
        if state.controller_epoch > me.epoch:
            return self._without_leader(me, "a newer controller wrote it: StateChangeFailed")
        if self.follows_failover and not me.context.live_brokers:
            return self._without_leader(me, "no broker is alive: NoReplicaOnline")
        return Answer(me.next_step()._replace(state_version=stat.version), "no newer controller wrote it")

    def _without_leader(self, me: ControllerProcess, said: str) -> Answer:
        """No leader was elected: take the next turn of brokers, or continue after the partition."""
        if not me.brokers_read:
            after = me.next_step() if me.about_to(ControllerStep.ReadPartitionState) else me
            return Answer(self._done(after), said)
        turn = self._turn(me._replace(state_version=0))
        return turn._replace(description=f"{said}; then {turn.description}")

    @request(ControllerStep.UpdateLeaderAndIsr)
    def update_leader_and_isr(self, me: ControllerProcess) -> Answer:
        """Write a partition's state, at the version read, and since 2.1 fenced by the epoch's version.

        If another write came in between, it is read again. If the fence fails, the controller has moved. But if
        /controller_epoch does not exist, no leader is elected, which Kafka logs. In further turns of brokers nothing
        is left to elect.
        [electLeaderForPartitions, 1.1; KAFKA-6082, 2.1]
        """
        refused = self._refused(me)
        if refused is None:
            cached = None if me.context.partition_state_version is None else me.state_version + 1
            elected = me._replace(brokers_read=frozenset()).with_context(
                partition_state_version=cached, live_brokers=me.brokers_read or me.context.live_brokers
            )
            return Answer(self._done(elected), "written; LeaderAndIsr is sent", sends_requests=True)
        if refused.epoch_is_gone:
            return self._without_leader(me, f"{EPOCH_IS_GONE}, no leader is elected")
        me = me._replace(state_version=0)
        if isinstance(refused.operation, SetData):
            return Answer(
                me.with_steps(ControllerStep.ReadPartitionState, *me.agenda), "BADVERSION: another write came first"
            )
        return Answer(
            me.with_steps(*MAYBE_RESIGN)._replace(brokers_read=frozenset()),
            "BADVERSION of the epoch: ControllerMoved",
        )

    @request(ControllerStep.DeletePreferredElection)
    def delete_preferred_election(self, me: ControllerProcess) -> Answer:
        """Delete the requests for preferred elections, existing or not, fenced by the epoch's version.

        [removePartitionsFromPreferredReplicaElection, 2.1; until 2.0 it is not fenced, and not a step]
        """
        refused = self._refused(me)
        if refused is None:
            return Answer(self._done(me), "the failover is done")
        if refused.epoch_is_gone:
            return self._fails_by(me, EPOCH_IS_GONE)
        return Answer(me.with_steps(*MAYBE_RESIGN), "BADVERSION of the epoch: ControllerMoved")

    def _done(self, me: ControllerProcess) -> ControllerProcess:
        """It continues after a partition; after the last one of a failover nothing is left."""
        after = me.next_step()._replace(state_version=0)
        return after.next_step()._replace(failover_done=True) if after.about_to(ControllerStep.Started) else after

    def fail_to_elect(self, me: ControllerProcess) -> Answer:
        """An election's request fails for a reason of its own: it is logged, and the failover continues.

        Until 1.0 a failed write counts as a conflict [ZkUtils.conditionalUpdatePersistentPath].
        The read that follows, fused with this, delivers the pending watch events.
        [PartitionStateMachine: triggerOnlinePartitionStateChange, 0.10; handleStateChanges, 1.1]
        """
        if me.about_to(ControllerStep.UpdateLeaderAndIsr) and self.design.threads is not Threads.barrier:
            again = me.with_steps(ControllerStep.ReadPartitionState, *me.agenda)._replace(state_version=0)
            return Answer(again, "it counts as a conflict: once more")
        after = me.next_step() if me.about_to(ControllerStep.ReadPartitionState) else me
        return Answer(self.deliver(self._done(after)), "no leader is elected, and its failover goes on")
