"""How a broker becomes controller and ceases to be it: steps of one ZooKeeper request each.

The steps belong to `ElectingController`; `registration` has the registration of its process and the delivery of
events. The work of an elected controller is in subclasses: all of it in `kafka_controller`; in `one_partition` as
little as the systems `controller` and `controller-election` need to find out which broker may act as controller.

When a reply does not let the row continue:

    Elect               a broker is controller   nothing is left to do
    ReadEpoch           NONODE                   it creates /controller_epoch, and continues
    RegisterController  NODEEXISTS, BADVERSION   ControllerMoved: maybeResign; if replies can be lost, only after it
                                                 has checked whether its own request did it
    IncrementEpoch      BADVERSION               triggerControllerMove; until 1.0 it continues
    UpdateLeaderAndIsr  another write came first once more from ReadPartitionState
                        the fence fails          ControllerMoved: maybeResign
    DeletePreferredElection  the fence fails     ControllerMoved: maybeResign
    any of an election  /controller_epoch gone   its failover fails; UpdateLeaderAndIsr elects no leader, and
                                                 continues

Each read of /controller also sets the watch: until 1.0 because there is a listener, since then because there is a
handler. [ZkClient.readData; ZooKeeperClient.shouldWatch, 1.1] Only ZKCheckedEphemeral, until 1.0, reads without.

[elect, maybeResign, onControllerFailover, triggerControllerMove in KafkaController.scala; ZookeeperLeaderElector in
0.10; KafkaZkClient.scala]

Only a client that is no broker deletes /controller_epoch, or writes invalid bytes, which are None here.

Left out: the controllerLock, that is, the actions of threads other than ZkEventThread under it; until 1.0, that a
state found as it should be written counts as written (here it is written again); JSON in /controller that names no
broker, which ends the event that reads it.
"""

from collections.abc import Iterator
from typing import Final

from election.ids import BrokerId, ControllerEpoch
from statemachines.controller.controller_process import Answer, ControllerProcess, Failover
from statemachines.controller.design import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    ELECTION,
    MAYBE_RESIGN,
    NO_BROKER,
    Election,
    Threads,
)
from statemachines.controller.registration import EventEnds, RegisteringBroker, request
from statemachines.controller.threads import CREATES, HANDLING, ControllerEvent, ControllerStep, Queued
from statemachines.zookeeper.server import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    NodeExists,
    NoNode,
    Operation,
    SessionExpired,
    SetData,
    Stat,
)
from statemachines.zookeeper.tree import ZkVersion


def named(owner: BrokerId | None) -> str:
    """The controller, in words."""
    if owner == NO_BROKER:
        return "an older session of this broker left it"
    return "there is none" if owner is None else f"it is broker {owner}"


INITIAL_EPOCH: Final = 0
"""The initial value of /controller_epoch, since 2.1. [InitialControllerEpoch]"""
FIRST_EPOCH: Final = 1
"""Its initial value until 2.0, set by the first controller for itself. [InitialControllerEpoch]"""
FIRST_EPOCH_ZK_VERSION: Final = 1
"""The version that this controller assumes; the real one is 0. [InitialControllerEpochZkVersion]"""
EPOCH_IS_GONE: Final = "NONODE of the epoch"

OF_A_CONTROLLER = {
    ControllerEvent.BrokerChange,
    ControllerEvent.BrokerChangeListener,
    ControllerEvent.IsrChangeNotification,
}
"""The events that only a controller handles."""


class ElectingController(RegisteringBroker):
    """The controller of one broker; `RegisteringBroker` explains its arguments."""

    # Events.

    def session_expired(self, me: ControllerProcess) -> Answer:
        """As in the base class; also, until 1.0, an election fails if it creates /controller, or reads its owner."""
        if self.design.threads is Threads.barrier or me.agenda[0] not in CREATES:
            return super().session_expired(me)
        return self.fail(self.deliver(me))._replace(description="SESSIONEXPIRED: its election fails")

    def listen(self, me: ControllerProcess) -> Answer:
        """ZkEventThread reads for its oldest listener event, and queues an event for the controller. [0.11, 1.0]"""
        try:
            answer = self._listen(me)
            return answer._replace(controller=self.deliver(answer.controller))
        except SessionExpired:
            return Answer(me, "SESSIONEXPIRED: once more, in another session")

    def _listen(self, me: ControllerProcess) -> Answer:
        event, me = me.posted[0].event, me._replace(posted=me.posted[1:])
        match event:
            case ControllerEvent.LeaderChangeListener:
                self.zookeeper.exists(me.session, CONTROLLER, watch=True)
                try:
                    owner = self._read_controller_id(me)
                except EventEnds:
                    return Answer(me, f"{event}: it names no broker, and puts nothing")
                put = Queued(ControllerEvent.ControllerChange, owner)
                if owner is None:
                    put = Queued(ControllerEvent.Reelect)
            case ControllerEvent.BrokerChangeListener:
                self.zookeeper.children(me.session, BROKER_IDS, watch=me.handlers_registered)
                put = Queued(ControllerEvent.BrokerChange)
            case ControllerEvent.SessionExpirationListener:
                put = Queued(ControllerEvent.Reelect)
            case _:
                return Answer(me._replace(listener_agenda=HANDLING[self.design.threads][event]), f"{event}")
        return Answer(me._replace(queue=(*me.queue, put)), f"{event} puts {put}")

    def handle(self, me: ControllerProcess) -> Answer:
        """It takes the oldest event of its queue."""
        queued, me = me.queue[0], me._replace(queue=me.queue[1:])
        event = queued.event
        if event in OF_A_CONTROLLER and not self._still(event, me):
            return Answer(me, f"{event}: it is not controller")
        if event is ControllerEvent.ControllerChange and self.design.threads is Threads.queue:
            return Answer(self._controller_named(me, queued.controller), f"{queued}")
        row = HANDLING[self.design.threads][event]
        if event is ControllerEvent.SessionExpirationListener and not self.design.skip_if_self:
            return Answer(self.resign(me).with_steps(*row[1:]), f"{event}: it resigns")
        return Answer(me.with_steps(*row), f"{event}")

    def is_active(self, me: ControllerProcess) -> bool:
        """isActive; in 0.10, whether it has channels to the brokers, which it gets after reading the states."""
        return self.has_channels(me) if self.design.threads is Threads.lock else me.active

    def has_channels(self, me: ControllerProcess) -> bool:
        """Whether its failover has already opened channels to the brokers."""
        return me.context.partition_state_version is not None

    def _still(self, event: ControllerEvent, me: ControllerProcess) -> bool:
        """Whether an event still applies. Until 0.10.1 only some listeners checked. [KAFKA-4447]"""
        unasked = event is ControllerEvent.IsrChangeNotification and not self.design.listener_guard
        return unasked or self.is_active(me)

    def _controller_named(self, me: ControllerProcess, controller: BrokerId | None) -> ControllerProcess:
        """Apply the value of /controller at the time when the event was queued. [ControllerChange, 0.11, 1.0]"""
        if controller == self.broker:
            return me._replace(active=True)
        return self.resign(me) if me.active else me

    # Writes.

    def operations(self, me: ControllerProcess) -> tuple[Operation, ...]:
        """The operations of its next request, which must be a write."""
        match me.agenda[0]:
            case ControllerStep.CreateController:
                return (Create(CONTROLLER, self.broker, ephemeral=True),)
            case ControllerStep.IncrementEpoch:
                return (self._increment(me),)
            case ControllerStep.RegisterController:
                return (Create(CONTROLLER, self.broker, ephemeral=True), self._increment(me))
            case ControllerStep.DeleteController:
                return (*self._fence(me), Delete(CONTROLLER))
        return super().operations(me)

    def _increment(self, me: ControllerProcess) -> Operation:
        """Write the next epoch, on condition of the version read with the previous one.

        [incrementControllerEpoch: ZkUtils.conditionalUpdatePersistentPathIfExists, until 1.0; KafkaZkClient, 1.1 and
        2.0. registerControllerAndIncrementControllerEpoch, 2.1 to 3.9]
        """
        version = me.context.epoch_zk_version if self.design.conditional_increment else ANY_VERSION
        return SetData(CONTROLLER_EPOCH, me.epoch + 1, version)

    def _fencing_version(self, me: ControllerProcess) -> ZkVersion:
        """The version of /controller_epoch that fences its writes, as it knows it."""
        return me.context.epoch_zk_version

    def _fence(self, me: ControllerProcess) -> Iterator[Operation]:
        if self.design.fence_zk:
            yield Check(CONTROLLER_EPOCH, me.context.epoch_zk_version)

    # Reads of /controller.

    @request(ControllerStep.WatchController)
    def watch_controller(self, me: ControllerProcess) -> Answer:
        """Watch /controller before reading it. [registerZNodeChangeHandlerAndCheckExistence]"""
        there = self.zookeeper.exists(me.session, CONTROLLER, watch=True) is not None
        return Answer(me.next_step(), f"/controller is {'there' if there else 'not there'}")

    @request(ControllerStep.MaybeResign)
    def maybe_resign(self, me: ControllerProcess) -> Answer:
        """Read the controller's id, and resign if it was this broker and is no longer. [maybeResign]

        In 0.10 the value read decides: if there is a controller, the node was not deleted, and nothing is left to do.
        """
        owner = self._controller_id(me)
        after = me.next_step()
        if owner is None and self.design.elect_if_none:
            after = me.with_steps(ControllerStep.Elect)
        elif owner is not None and self.design.threads is Threads.lock:
            after = me.with_steps()
        if owner == self.broker:
            return Answer(after._replace(active=True), "it is this broker")
        said = named(owner)
        if not me.active:
            return Answer(after, said)
        return Answer(self.resign(after), f"{said}: it resigns")

    @request(ControllerStep.GetControllerId)
    def get_controller_id(self, me: ControllerProcess) -> Answer:
        """In a new session, read the controller's id; unless it is this broker, resign and elect. [0.10.2]"""
        owner = self._controller_id(me)
        if owner == self.broker:
            return Answer(me.with_steps(), "it is this broker: the new session changes nothing")
        said = named(owner)
        return Answer(self.resign(me.next_step()), f"{said}: it resigns")

    @request(ControllerStep.Elect)
    def elect(self, me: ControllerProcess) -> Answer:
        """Stand for election, unless there is a controller already. [elect]"""
        owner = self._controller_id(me)
        if owner is None:
            standing = me.with_steps(*ELECTION[self.design.epoch_update], *self.design.failover)
            return Answer(self._deposed(standing), "there is none: it stands for election")
        if owner == self.broker:  # without checking whether a failover of this session ever ran
            return Answer(me.with_steps()._replace(active=True), "it is this broker")
        return Answer(self._deposed(me.with_steps()), named(owner))

    def resign(self, me: ControllerProcess) -> ControllerProcess:
        """It forgets all its knowledge as controller. [onControllerResignation]"""
        return me.resigned()

    def lose_office(self, me: ControllerProcess) -> ControllerProcess:
        """It no longer considers itself controller, and forgets nothing else. [activeControllerId]"""
        return me.not_controller()

    def _deposed(self, me: ControllerProcess) -> ControllerProcess:
        """It reads that it is not controller. Kafka only updates the id: its context stays."""
        if self.design.threads is Threads.lock:  # acting as controller is a separate predicate there
            return me._replace(active=False)
        return self.resign(me) if me.active and self.design.resign_on_move else self.lose_office(me)

    def _controller_id(self, me: ControllerProcess) -> BrokerId | None:
        """The broker in /controller, which the controller's thread adopts as its knowledge. [activeControllerId]"""
        return self._read_controller_id(me)

    def _read_controller_id(self, me: ControllerProcess) -> BrokerId | None:
        """The broker in /controller; None if the node does not exist or, since 1.1, has no JSON.

        Raises:
            EventEnds: until 1.0, its data is something else. [parseControllerId]
        """
        owner: BrokerId | None
        try:
            owner, stat = self.zookeeper.get(me.session, CONTROLLER, watch=True)
        except NoNode:
            return None
        if owner is None and self.design.threads is not Threads.barrier:
            raise EventEnds("it names no broker")
        if self.design.ghost_check and owner == self.broker and stat.ephemeralOwner != me.session:
            return NO_BROKER
        return owner

    # Becoming controller.

    @request(ControllerStep.CreateController)
    def create_controller(self, me: ControllerProcess) -> Answer:
        """Until 2.0 the node alone decides who is controller. [ZookeeperLeaderElector.elect, 0.10.2]"""
        if self._refused(me) is None:
            return Answer(self._in_office(me), "created: the broker is controller, and its failover begins")
        if self.design.looks_again:
            return Answer(me.with_steps(ControllerStep.CheckController, *me.agenda[1:]), "NODEEXISTS: whose is it?")
        return Answer(me.with_steps(ControllerStep.MaybeResign), "NODEEXISTS: another session was faster")

    @request(ControllerStep.ReadEpoch)
    def read_epoch(self, me: ControllerProcess) -> Answer:
        """Read /controller_epoch, with the version that the increment will expect.

        If it does not exist, it is created since 2.1; until 2.0 the increment does that. A value that is no number is
        an error. [maybeCreateControllerEpochZNode, 2.1; readControllerEpochFromZooKeeper, until 2.0]
        """
        try:
            epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
        except NoNode:
            if self.design.epoch_update is not Election.multi:
                return Answer(me.next_step(), "NONODE: it knows no epoch")
            return self._create_epoch(me)
        return self._read_epoch(me, epoch, stat)

    def _create_epoch(self, me: ControllerProcess) -> Answer:
        """Create /controller_epoch; read it if another broker was faster. [maybeCreateControllerEpochZNode, 2.1]"""
        try:
            self.zookeeper.create(me.session, CONTROLLER_EPOCH, INITIAL_EPOCH)
        except NodeExists:
            try:
                epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
            except NoNode:
                return self._fails_by(me, EPOCH_IS_GONE)
            return self._read_epoch(me, epoch, stat)
        created = me.next_step().with_context(epoch=INITIAL_EPOCH, epoch_zk_version=0)
        return Answer(created, f"NONODE: created, as {INITIAL_EPOCH}")

    def _read_epoch(self, me: ControllerProcess, epoch: ControllerEpoch | None, stat: Stat) -> Answer:
        if epoch is None:
            return self._fails_by(me, "it is no number")
        known = me.next_step().with_context(epoch=epoch, epoch_zk_version=stat.version)
        return Answer(known, f"it is {epoch}, at version {stat.version}")

    @request(ControllerStep.RegisterController)
    def register_controller(self, me: ControllerProcess) -> Answer:
        """Create the node and increment the epoch in a multi. [registerControllerAndIncrementControllerEpoch, 2.1]"""
        refused = self._refused(me)
        if refused is None:
            return self._failover_goes_through(self._elected(me), "created and incremented: its failover runs")
        if refused.epoch_is_gone:
            return self._fails_by(me, EPOCH_IS_GONE)
        code = refused.code.name
        if self.design.looks_again:
            return Answer(
                me.with_steps(ControllerStep.CheckController, ControllerStep.CheckEpoch, *me.agenda[1:]),
                f"{code}: was it its own?",
            )
        return self._moved(me, code)

    @request(ControllerStep.CheckController)
    def check_controller(self, me: ControllerProcess) -> Answer:
        """Check whether its own request created /controller. [checkControllerAndEpoch, 2.1]

        Until 2.0 it compares the owner's session, and since then the id. [checkedEphemeralCreate, 1.1]
        """
        try:
            owner, stat = self.zookeeper.get(me.session, CONTROLLER, watch=self.design.threads is Threads.barrier)
        except NoNode:
            if self.design.epoch_update is Election.multi:
                return self._moved(me, "NONODE")
            return Answer(me.with_steps(ControllerStep.CreateController, *me.agenda[1:]), "NONODE: once more")
        if self.design.epoch_update is Election.multi:
            if owner == self.broker:
                return Answer(me.next_step(), "it is this broker")
            return self._moved(me, named(owner))
        if stat.ephemeralOwner == me.session:
            return Answer(self._in_office(me), "its own: the broker is controller, and its failover begins")
        return Answer(me.with_steps(ControllerStep.MaybeResign), f"it is broker {owner}: another session was faster")

    @request(ControllerStep.CheckEpoch)
    def check_epoch(self, me: ControllerProcess) -> Answer:
        """Check whether its own request incremented the epoch. [checkControllerAndEpoch, 2.1]

        It did if the value is the one it requested. Then the version just read belongs to its epoch.
        """
        try:
            epoch, stat = self.zookeeper.get(me.session, CONTROLLER_EPOCH)
        except NoNode:
            return self._fails_by(me, EPOCH_IS_GONE)
        if epoch is None:
            return self._fails_by(me, "it is no number")
        if epoch != me.epoch + 1:
            return self._moved(me, f"it is {epoch}, at version {stat.version}")
        elected = self._elected(me).with_context(epoch_zk_version=stat.version)
        return self._failover_goes_through(elected, "its own: its failover runs")

    @request(ControllerStep.IncrementEpoch)
    def increment_epoch(self, me: ControllerProcess) -> Answer:
        """Increment the epoch by compare-and-set, in the failover. [incrementControllerEpoch, until 2.0]

        If it does not exist, it is created as that of a first controller, with a version that it does not have.
        [InitialControllerEpochZkVersion, which is 1; until 2.0 it fences no write]
        """
        refused = self._refused(me)
        if refused is None:
            return self._failover_goes_through(self._elected(me), "incremented: its failover runs")
        if refused.epoch_is_gone:
            try:
                self.zookeeper.create(me.session, CONTROLLER_EPOCH, FIRST_EPOCH)
            except NodeExists:
                return Answer(self._to_move(me), "NONODE, then NODEEXISTS: its failover fails")
            first = self._elected(me).with_context(epoch=FIRST_EPOCH, epoch_zk_version=FIRST_EPOCH_ZK_VERSION)
            return self._failover_goes_through(first, f"NONODE: created, as {FIRST_EPOCH}: its failover runs")
        if self.design.epoch_update is Election.cas_swallowed:
            return self._not_incremented(me, "BADVERSION")
        return Answer(self._to_move(me), "BADVERSION: its failover fails, it resigns and moves the controller")

    def _not_incremented(self, me: ControllerProcess, code: str) -> Answer:
        """The increment failed, for any reason. [ZkUtils.conditionalUpdatePersistentPathIfExists, until 1.0]"""
        said = f"{code}: logged and swallowed, its failover runs with the epoch it read"
        return self._failover_goes_through(self._listening(me).next_step(), said)

    def _failover_goes_through(self, me: ControllerProcess, said: str) -> Answer:
        return Answer(me, said, Failover(self.broker, me.epoch))

    def _in_office(self, me: ControllerProcess) -> ControllerProcess:
        return me.next_step()._replace(active=True)

    def _elected(self, me: ControllerProcess) -> ControllerProcess:
        elected = self._listening(self._in_office(me))
        return elected.with_context(epoch=me.epoch + 1, epoch_zk_version=me.context.epoch_zk_version + 1)

    def _listening(self, me: ControllerProcess) -> ControllerProcess:
        """It has its epoch. If the model follows its failover, the next step registers its handlers or listeners."""
        return me._replace(handlers_registered=self.follows_failover or me.handlers_registered)

    @property
    def follows_failover(self) -> bool:
        """Whether the model follows its failover step by step, including the registration of handlers."""
        return ControllerStep.ReadBrokers in self.design.failover

    def _moved(self, me: ControllerProcess, code: str) -> Answer:
        """ControllerMovedException, in a broker that is not controller yet."""
        return Answer(self.lose_office(me.with_steps(*MAYBE_RESIGN)), f"{code}: ControllerMoved")

    # triggerControllerMove.

    def fail(self, me: ControllerProcess) -> Answer:
        """A failover's next request, or one fused with it, fails for a reason of its own: elect catches it.

        Not the requests of an election of leaders (see `fail_to_elect`). [elect catches Throwable]
        """
        if me.about_to(ControllerStep.IncrementEpoch) and self.design.epoch_update is Election.cas_swallowed:
            answer = self._not_incremented(me, "it fails")  # possibly many times: the history omits them
            return answer._replace(
                controller=self.hear(answer.controller, listens=me.handlers_registered), failover=None
            )
        if self.design.epoch_update is Election.multi:
            return Answer(
                me.with_steps(ControllerStep.MoveController)._replace(state_version=0), "it moves the controller"
            )
        resigns = "" if self.design.threads is Threads.lock else "resigns and "
        return Answer(self._to_move(me), f"it {resigns}moves the controller")

    def _fails_by(self, me: ControllerProcess, why: str) -> Answer:
        """What it reads is an error, which elect catches."""
        failed = self.fail(me)
        return failed._replace(description=f"{why}: {failed.description}")

    @request(ControllerStep.MoveController)
    def move_controller(self, me: ControllerProcess) -> Answer:
        """Read whether there is a controller to move; resign if it is this broker. [2.1]"""
        owner = self._controller_id(me)
        if owner == self.broker:
            return Answer(self._to_move(me, *me.agenda[1:]), "it is this broker: it resigns")
        said = named(owner)
        return Answer(self._deposed(me.next_step()), f"{said}: it leaves it at that")

    def _to_move(self, me: ControllerProcess, *then: ControllerStep) -> ControllerProcess:
        """It has resigned, except in 0.10, and keeps the version that a fenced deletion of /controller checks."""
        me, version = me.with_steps(ControllerStep.DeleteController, *then), self._fencing_version(me)
        if self.design.threads is Threads.lock:
            return me._replace(active=False, state_version=0)
        return self.resign(me).with_context(epoch_zk_version=version)

    @request(ControllerStep.DeleteController)
    def delete_controller(self, me: ControllerProcess) -> Answer:
        """Delete /controller, fenced by the epoch's version or not. [triggerControllerMove; resign, 0.10]"""
        refused = self._refused(me)
        if refused is None:
            said = "deleted"
        elif isinstance(refused.operation, Delete):
            said = "NONODE: it is gone already"
        elif refused.epoch_is_gone:
            said = f"{EPOCH_IS_GONE}, it stays"
        else:
            said = "BADVERSION of the epoch: ControllerMoved, it stays"
        after = me.next_step()
        return Answer(after if self.design.threads is Threads.lock else after.resigned(), said)
