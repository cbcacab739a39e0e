"""A whole controller of 0.10, 0.11 or 1.0 beside Kafka's own: the same happens to both, and what comes of it.

    with RealController("1.0.2") as kafka:
        for sequence, told in kafka.of("Events", [commands]):
            ours = IdleControllerBeside("1.0.2")
            for command, seen in zip(sequence, told, strict=True):
                assert ours.disagreements(command, seen) == []

Commands are those of `spec.kafka.controller_beside`, but `handle`, `meanwhile` and `lost` have no meaning: what a
command leads to is done until nothing is left, on both sides. Until 1.0 Kafka's listeners read what their events
carry, one request after another (`java/control/from-0.11/.../ControllerRunner.java`). Ours do so of /controller and
/brokers/ids; what else an event needs is read when it is handled. So the events, and the requests to ZooKeeper, are
not compared. The requests to a broker are compared without their order: Kafka goes through hash maps, one partition
after the other.

In 0.10 there is no queue: ZkEventThread's listeners do all, and a thread of its own deletes topics; both are done by
hand, the deletions after each listener (`java/control/from-0.10.2/.../ControllerRunner.java`). Two things of 0.10 are
not followed, since a controller would have to remember them for this release alone. What comes after one is not
compared:

    an election by node fails, as one of its partitions    all of them count as under way until the next failover:
    has never led                                          another is not begun, and leaders are not rebalanced
    a deletion fails, as a replica has no state, or of     the thread has ended: no topic is deleted before the next
    the topic only the request is left                     failover, at the earliest

What a controller of 0.10 still knows when it has resigned (`KEPT`) ours has forgotten. Neither looks at it again.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final

from election.ids import BrokerId
from spec.kafka.control_values import WHOLE, decoded_requests
from spec.kafka.controller_beside import ControllerBeside, unordered
from spec.kafka.scripted_cluster import ControlCommand, Disagreement, different
from statemachines.controller.kafka_zk_client import ZkRequest, ZkResponse
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.leader_and_isr import LEADER_DURING_DELETE
from statemachines.messages.topic_partition import TopicPartition
from statemachines.zookeeper.server import ZooKeeper

__all__ = ["RELEASES", "IdleControllerBeside"]

RELEASES: Final = ("0.10.2.2", "0.11.0.3", "1.0.2")
"""The releases whose whole controllers are run so."""
ENDLESS: Final = 200
"""More events than any command leads to; `ControllerRunner.java` has the same."""

KEPT: Final = frozenset(
    {
        "partition_assignments",
        "partition_leadership_info",
        "live_broker_epochs",
        "shutting_down_broker_ids",
        "all_topics",
    }
)
"""What a controller of 0.10 knows still when it has resigned: its next failover reads it anew."""


class HashOrderedDict(UserDict[TopicPartition, Any]):
    """A map that is gone through as Kafka's is, where partitions that move fail one after the other.

    So are Scala's, if partitions have the names that `tests.kafka.event_sequences` gives them.
    """

    ORDER = ("d-21", "c-15", "h-21", "d-15", "h-15", "c-21")

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(sorted(self.data, key=lambda partition: self.ORDER.index(str(partition))))


class IdleControllerBeside(ControllerBeside):
    """Our side; see `ControllerBeside` for its arguments."""

    is_endless = False
    """Whether one failover follows another for ever, each of which fails. What comes then is not compared."""
    is_stuck = False
    """Whether a controller of 0.10 does from now on what ours does not follow, see the header. It is not compared."""

    def disagreements(self, command: ControlCommand, seen: Mapping[str, Any]) -> list[Disagreement]:
        """Carry out a command, and all that follows, as Kafka has done: what is not the same then."""
        if self.is_endless or self.is_stuck:  # how often both have done the same in vain is not the same
            return []
        for of_this_command in (self.sent, self.answers_given, self.handled):
            of_this_command.clear()
        self.perform(command)
        self.hear()
        while self.controller.has_work and len(self.handled) < ENDLESS:
            if self.queue and not self.controller.is_busy and not self.controller.posted:
                self.handled.append(self.queue[0])
            self.controller.advance()
            if not self.controller.is_busy:
                self.update_metrics()
        self.is_endless, kafkas = self.controller.has_work, seen.get("endless", False)
        if self.is_endless or kafkas:
            return different("no end", self.is_endless, kafkas)
        self.is_stuck = seen.get("stuck", False)
        self.kafkas |= {name: WHOLE[name](value) for name, value in seen.items() if name in WHOLE}
        sent = decoded_requests(seen["sent"])
        self._order_unanswered(sent)
        kept = frozenset() if self.design.reset_context or self.is_active else KEPT
        compared = {name: value for name, value in self._seen().items() if name in self.kafkas.keys() - kept}
        return [
            *(each for name, value in compared.items() for each in different(name, value, self.kafkas[name])),
            *different("requests to brokers", in_no_order(self.sent), in_no_order(sent)),
            *different("answers", self.answers_given, list(map(unordered, seen["answers"]))),
        ]

    def _servers(self) -> ZooKeeper:
        return self.zookeeper

    def _of_partitions(self) -> MutableMapping[TopicPartition, Any]:
        return HashOrderedDict()

    def _ask(self, *requests: ZkRequest) -> tuple[ZkResponse, ...]:
        return self.answers(requests, {}, 0)


def in_no_order(sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> dict[BrokerId, list[ControlRequest]]:
    """The requests to each broker, the same however they were ordered.

    Every UpdateMetadata has what is to be deleted, too, as it is known by then: that is left out.
    """
    return {broker: sorted(map(_without_deleted, requests), key=repr) for broker, requests in sent.items()}


def _without_deleted(request: ControlRequest) -> ControlRequest:
    if not isinstance(request, UpdateMetadataRequest):
        return request
    return request._replace(
        partitionStates=tuple(each for each in request.partitionStates if each.leader != LEADER_DURING_DELETE)
    )
