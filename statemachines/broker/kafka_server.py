"""KafkaServer: how a broker stops. It asks the controller for permission, a few times, and then stops in any case.

An attempt finds the controller, sends the request (`controlled_shutdown` handles it) and checks the reply:

    nothing remains       the broker stops cleanly: others lead all partitions that they can
    partitions remain     no other replica of them was in sync: another attempt. Until 3.2 one may be in sync by then;
                          since 3.3 a leader that shuts down adds no follower to the ISR (see `alter_partition`)
    an error              another attempt, whatever the error. STALE_CONTROLLER_EPOCH: the receiver is no controller,
                          or no longer; STALE_BROKER_EPOCH: it knows a newer registration; UNKNOWN_SERVER_ERROR, until
                          2.1 BROKER_NOT_AVAILABLE: it knows none
    no reply              another attempt; the controller may still have handled the request
    an unexpected error   the broker stops uncleanly, at once

It waits between attempts. `controlled.shutdown.max.retries` is their total number, including the first. If all have
failed the broker stops *uncleanly*: it leads until the end, and the controller learns of its death when its
registration disappears. The broker never reports the remaining partitions: the controller computes them each time.

The controller is the one in the metadata cache, if it is alive there. Otherwise the broker asks the previously asked
broker again; if there was none, the attempt fails.

While it stops, the broker obeys its controller: it ceases to lead, and follows. But it starts no fetchers
(`ReplicaManager.is_shutting_down`), so it does not catch up in partitions that it has handed over.

A step is a value that names the next action, whose outcome leads to the next step. Nothing here waits or sends:

    FindController  ask ZooKeeper, until 2.8    `requests`, then `controller_found`
    AskController   send a request              `answered`
    Backoff         let time pass               `backed_off`
    Stopped         nothing, it is over

Older releases differ:

    until 3.0  the broker also waits after the last attempt
    until 2.8  it reads from ZooKeeper which broker is controller, and whether that is registered. It repeats the read
               until ZooKeeper replies: without ZooKeeper, the broker never stops [KAFKA-9189]
    until 2.1  the request does not name a registration
    until 1.0  if ZooKeeper has no controller the broker stops uncleanly, at once

Left out: connections, which Kafka opens anew after a failure or for another controller; KRaft controllers, which
brokers ask in another way during migration [3.4]; requests in the form before 0.9. A broker that has not started, or
whose configuration disables controlled shutdowns, simply stops.

Known from the source only: in Kafka this is one blocking method, which was not run beside ours. [KafkaServer.scala,
controlledShutdown 783 to 959, 3.8.0; in it doControlledShutdown, until 0.11 networkClientControlledShutdown]
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from election.ids import BrokerEpoch, BrokerId
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from statemachines.controller.design import CONTROLLER, registration
from statemachines.controller.zk_requests import GetData, ZkResponse
from statemachines.messages.control_requests import UNKNOWN_BROKER_EPOCH
from statemachines.messages.errors import Errors
from statemachines.zookeeper.tree import Code

CONTROLLED_SHUTDOWN_MAX_RETRIES: Final = 3
"""How often a broker asks, by default."""
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS: Final = 5_000
"""How long it waits after a failed attempt, in milliseconds, by default."""


class NotAnswered(Enum):
    """Why an attempt has no reply."""

    Lost = "the connection fails, or no reply arrives in time: the request may have been handled [IOException]"
    Unexpected = "an error that Kafka does not catch: the broker is refused, or the request is unknown there"

    def __str__(self) -> str:
        return self.name


class FindController(NamedTuple):
    """Ask ZooKeeper which broker is controller, then whether it is registered. Until 2.8."""

    remaining_retries: int
    """The attempts that are left after this one."""
    prev_controller: BrokerId | None
    """The broker asked in the previous attempt."""
    controller: BrokerId | None = None
    """The controller; None if it has not been read yet."""


class AskController(NamedTuple):
    """Send a request to a broker."""

    remaining_retries: int
    controller: BrokerId
    request: ControlledShutdownRequest


class Backoff(NamedTuple):
    """Wait."""

    remaining_retries: int
    prev_controller: BrokerId | None
    milliseconds: int


class Stopped(NamedTuple):
    """The end; the broker stops, whatever the outcome."""

    cleanly: bool
    """The controller has permitted it."""


ShutdownStep: TypeAlias = FindController | AskController | Backoff | Stopped
"""The next thing to do."""


class KafkaServer:
    """A broker that has been asked to stop.

    >>> from statemachines.messages.topic_partition import TopicPartition
    >>> cache = MetadataCache()
    >>> cache.state.controller_id, cache.state.alive_brokers = 2, frozenset({1, 2})
    >>> server = KafkaServer(1, cache, lambda: 101)
    >>> asking = server.controlled_shutdown()
    >>> asking.controller, asking.request
    (2, ControlledShutdownRequest(brokerId=1, brokerEpoch=101))
    >>> waiting = server.answered(asking, ControlledShutdownResponse(Errors.NONE, (TopicPartition("t", 0),)))
    >>> waiting
    Backoff(remaining_retries=2, prev_controller=2, milliseconds=5000)
    >>> server.answered(server.backed_off(waiting), ControlledShutdownResponse(Errors.NONE))
    Stopped(cleanly=True)

    Args:
        broker: its id.
        metadata_cache: its view of the cluster.
        broker_epoch: returns the epoch of its registration, at each attempt.
        design: the design of its release.
        max_retries: the number of attempts [controlled.shutdown.max.retries].
        retry_backoff_ms: the wait between them, in milliseconds [controlled.shutdown.retry.backoff.ms].
    """

    def __init__(
        self,
        broker: BrokerId,
        metadata_cache: MetadataCache,
        broker_epoch: Callable[[], BrokerEpoch],
        design: ControlDesign | None = None,
        max_retries: int = CONTROLLED_SHUTDOWN_MAX_RETRIES,
        retry_backoff_ms: int = CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS,
    ) -> None:
        self.broker, self.metadata_cache, self.broker_epoch = broker, metadata_cache, broker_epoch
        self.design = ControlDesign() if design is None else design
        self.max_retries, self.retry_backoff_ms = max_retries, retry_backoff_ms

    def controlled_shutdown(self) -> ShutdownStep:
        """The first step of a controlled shutdown."""
        return self._attempt(self.max_retries, None)

    # Outcomes of steps.

    def requests(self, step: FindController) -> tuple[GetData, ...]:
        """The requests to ZooKeeper."""
        return (GetData(CONTROLLER if step.controller is None else registration(step.controller)),)

    def controller_found(self, step: FindController, responses: Sequence[ZkResponse]) -> ShutdownStep:
        """Process ZooKeeper's reply.

        Raises:
            ValueError: there is not exactly one response.
        """
        if len(responses) != 1:
            raise ValueError(f"one request has {len(responses)} answers")
        response = responses[0]
        if response.code not in (Code.OK, Code.NONODE):
            return Stopped(cleanly=False)
        there = response.code is Code.OK
        if step.controller is not None:
            return self._ask(step.controller if there else step.prev_controller, step.remaining_retries)
        if there:
            return step._replace(controller=response.data)
        if not self.design.retry_without_controller:
            return Stopped(cleanly=False)
        return self._ask(step.prev_controller, step.remaining_retries)

    def answered(self, step: AskController, answer: ControlledShutdownResponse | NotAnswered) -> ShutdownStep:
        """Process the controller's reply, or its absence."""
        if answer is NotAnswered.Unexpected:
            return Stopped(cleanly=False)
        if isinstance(answer, ControlledShutdownResponse) and self._lets_go(answer):
            return Stopped(cleanly=True)
        return self._failed(step.controller, step.remaining_retries)

    def backed_off(self, step: Backoff) -> ShutdownStep:
        """The time has passed."""
        return self._attempt(step.remaining_retries, step.prev_controller)

    # Next steps.

    def _attempt(self, retries: int, previous: BrokerId | None) -> ShutdownStep:
        if retries <= 0:
            return Stopped(cleanly=False)
        if not self.design.controller_from_cache:
            return FindController(retries - 1, previous)
        controller = self.metadata_cache.state.controller_id
        alive = controller is not None and self.metadata_cache.has_alive_broker(controller)
        return self._ask(controller if alive else previous, retries - 1)

    def _ask(self, controller: BrokerId | None, remaining: int) -> ShutdownStep:
        if controller is None:
            return self._failed(None, remaining)
        epoch = self.broker_epoch() if self.design.broker_epoch else UNKNOWN_BROKER_EPOCH
        return AskController(remaining, controller, ControlledShutdownRequest(self.broker, epoch))

    def _failed(self, asked: BrokerId | None, remaining: int) -> ShutdownStep:
        """An attempt has failed."""
        if remaining == 0 and self.design.stop_after_last_retry:
            return Stopped(cleanly=False)
        return Backoff(remaining, asked, self.retry_backoff_ms)

    def _lets_go(self, answer: ControlledShutdownResponse) -> bool:
        return answer.errorCode is Errors.NONE and not answer.remainingPartitions
