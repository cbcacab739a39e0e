"""KafkaServer: how a broker stops. It asks the controller to be let go, a few times, and then stops in any case.

An attempt finds the controller, asks it (`controlled_shutdown` is its side) and looks at the answer:

    nothing remains       the broker stops cleanly: others lead whatever they can
    partitions remain     no other replica of them was in sync: another attempt; by then one may be, until 3.2 (since
                          3.3 a leader that shuts down has no follower join, see `alter_partition`)
    an error              another attempt, whichever it is. STALE_CONTROLLER_EPOCH: it is not controller, or not any
                          more; STALE_BROKER_EPOCH: it knows a newer registration; UNKNOWN_SERVER_ERROR, until 2.1
                          BROKER_NOT_AVAILABLE: it knows none
    no answer             another attempt; the request may have been handled all the same
    what is not expected  the broker stops uncleanly, at once

Between two attempts it waits. There are as many as `controlled.shutdown.max.retries` says, which counts the first,
too. If they have all failed the broker stops *uncleanly*: it leads to the last, and the controller hears of its end
when its registration goes. It never says what remains: the controller looks for that anew each time.

The controller is the one that the metadata cache has, if it is alive there. Else the broker that was asked before is
asked once more; if none was, the attempt has failed.

While it stops the broker obeys its controller: it ceases to lead, and follows. But it starts no fetchers
(`ReplicaManager.is_shutting_down`), so it does not catch up with what it has given up.

A step is a value that says what is due, and what came of that leads to the next one. Nothing here waits, or sends:

    FindController  ask ZooKeeper, until 2.8    `requests`, then `controller_found`
    AskController   send a request              `answered`
    Backoff         let time pass               `backed_off`
    Stopped         nothing, it is over

What older releases did otherwise:

    until 3.0  the broker waits after the last attempt, too, though there is no other
    until 2.8  who is controller, and whether it is registered, is read from ZooKeeper. What is asked there is asked
               until it is answered: where there is no ZooKeeper any more, the broker never stops [KAFKA-9189]
    until 2.1  the request does not say which registration it is for
    until 1.0  where ZooKeeper has no controller the broker stops uncleanly, at once

Left out: connections, which are made anew where one failed or another controller is asked; controllers of KRaft,
which brokers ask otherwise on their way there [3.4]; requests in the form of before 0.9. A broker that has not
started, or is configured to stop without all this, does so.

By source: in Kafka all of it is one method, which blocks, and it does not run beside ours. [KafkaServer.scala,
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
from statemachines.controller.kafka_zk_client import GetData, ZkResponse
from statemachines.messages.control_requests import UNKNOWN_BROKER_EPOCH
from statemachines.messages.errors import Errors
from statemachines.zookeeper.tree import Code

__all__ = [
    "CONTROLLED_SHUTDOWN_MAX_RETRIES",
    "CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS",
    "AskController",
    "Backoff",
    "FindController",
    "KafkaServer",
    "NotAnswered",
    "ShutdownStep",
    "Stopped",
]

CONTROLLED_SHUTDOWN_MAX_RETRIES: Final = 3
"""How often a broker asks, unless it is configured otherwise."""
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS: Final = 5_000
"""How long it waits after an attempt that failed, in milliseconds."""


class NotAnswered(Enum):
    """What an attempt comes to that brings no answer."""

    Lost = "the connection fails, or no answer comes in time: it may have been handled [IOException]"
    Unexpected = "something that is not caught: the broker is not let in, or the request is not known there"

    def __str__(self) -> str:
        return self.name


class FindController(NamedTuple):
    """ZooKeeper is to be asked who is controller, and then whether it is registered. Until 2.8."""

    remaining_retries: int
    """The attempts that are left, without this one."""
    prev_controller: BrokerId | None
    """Who was asked before."""
    controller: BrokerId | None = None
    """Who it is. None: that is still to be read."""


class AskController(NamedTuple):
    """A request goes to a broker."""

    remaining_retries: int
    controller: BrokerId
    request: ControlledShutdownRequest


class Backoff(NamedTuple):
    """The broker waits."""

    remaining_retries: int
    prev_controller: BrokerId | None
    milliseconds: int


class Stopped(NamedTuple):
    """It is over; the broker stops whatever came of it."""

    cleanly: bool
    """The controller has let it go."""


ShutdownStep: TypeAlias = FindController | AskController | Backoff | Stopped
"""What is due."""


class KafkaServer:
    """A broker that is told to stop.

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
        metadata_cache: what it knows of the cluster.
        broker_epoch: asked for the epoch of its registration, at each attempt.
        design: that of its release.
        max_retries: how many attempts it has [controlled.shutdown.max.retries].
        retry_backoff_ms: how long it waits between them, in milliseconds [controlled.shutdown.retry.backoff.ms].
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
        """The broker is told to stop: its first step."""
        return self._attempt(self.max_retries, None)

    # What comes of a step.

    def requests(self, step: FindController) -> tuple[GetData, ...]:
        """What ZooKeeper is asked."""
        return (GetData(CONTROLLER if step.controller is None else registration(step.controller)),)

    def controller_found(self, step: FindController, responses: Sequence[ZkResponse]) -> ShutdownStep:
        """ZooKeeper has answered.

        Raises:
            ValueError: it is not one answer.
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
        """The controller has answered, or will not."""
        if answer is NotAnswered.Unexpected:
            return Stopped(cleanly=False)
        if isinstance(answer, ControlledShutdownResponse) and self._lets_go(answer):
            return Stopped(cleanly=True)
        return self._failed(step.controller, step.remaining_retries)

    def backed_off(self, step: Backoff) -> ShutdownStep:
        """The time has passed."""
        return self._attempt(step.remaining_retries, step.prev_controller)

    # How it goes on.

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
