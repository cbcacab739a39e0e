"""What no transcript shows of a controller's events: refused arguments, a configuration, and requests left over."""

from __future__ import annotations

import re

import pytest

from election.brokers import InvalidBrokers
from spec.kafka.controller_beside import ControllerBeside
from statemachines.controller.alter_partition import AlterPartitionData, AlterPartitionRequest
from statemachines.controller.calls import call
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.topic_partition import TopicPartition
from tests.transcripts.commands import command_of

T0 = TopicPartition("t", 0)


def after(*commands: str, release: str = "3.9") -> ControllerBeside:
    """A controller, brokers 1 and 2, and then these commands."""
    controller = ControllerBeside(release)
    for command in ("register 1 2", *commands):
        controller.carry_out(command_of([command]))
    return controller


@pytest.mark.parametrize(
    ("commands", "error", "said"),
    [
        (("create t 1,2 2,2",), ValueError, "replicas of t-1: .*2"),
        (("create t 1,2 1,-2",), ValueError, "replicas of t-1: .*-2"),
        (("create t 1,2", "alter-partition 1 t-0:1,1"), InvalidBrokers, "ISR of t-0: broker 1 occurs twice"),
        (("create t 1,2", "alter-partition 1 t-0:-1"), InvalidBrokers, "-1 is no broker id"),
    ],
)
def test_impossible_brokers_are_refused(commands: tuple[str, ...], error: type[Exception], said: str) -> None:
    """By name; nothing is sent and nothing is remembered."""
    *before, last = commands
    controller = after(*before)
    known = controller.seen()
    with pytest.raises(error, match=said):
        controller.carry_out(command_of([last]))
    assert controller.sent == {}
    assert controller.seen()["partition_assignments"] == known["partition_assignments"]


def test_a_partition_occurs_once_in_a_request() -> None:
    """Kafka's requests cannot be otherwise."""
    data = AlterPartitionData(T0, 0, (1,), LeaderRecoveryState.RECOVERED, 0)
    controller = after("create t 1,2")
    with pytest.raises(ValueError, match="t-0 occurs twice in a request"):
        controller.processor.process(
            call(controller.processor.process_alter_partition, AlterPartitionRequest(1, 0, (data, data)))
        )


def test_until_2_3_reassignments_are_not_requested() -> None:
    """The request does not exist yet; nothing changes."""
    said = "until 2.3 partitions are reassigned by /admin/reassign_partitions alone"
    with pytest.raises(ValueError, match=re.escape(said)):
        after("create t 1", "reassign t-0:2", release="2.3")


def test_topics_that_may_not_be_deleted_stay() -> None:
    """Their requests are deleted. [delete.topic.enable]"""
    controller = after("create t 1,2")
    controller.processor.delete_topic_enable = False
    controller.carry_out(command_of(["delete t"]))
    assert "/admin/delete_topics/t" not in controller.zookeeper.state.nodes
    assert controller.context.state.topics_to_be_deleted == frozenset()
    assert controller.sent == {}


@pytest.mark.parametrize(
    ("command", "batch", "answer", "epoch"),
    [
        ("shut-down 1", -1, {"failed": "IllegalStateException"}, 2),
        ("alter-partition 1 t-0:1", -1, {"error": "UNKNOWN_SERVER_ERROR", "partitions": {}}, 2),
        ("elect preferred t-0", 0, {"t-0": "UNKNOWN_SERVER_ERROR"}, 1),
    ],
)
def test_with_requests_left_over_nothing_can_be_sent(command: str, batch: int, answer: object, epoch: int) -> None:
    """Who asked hears of an error. If they were left in the batch of the controller itself, it resigns."""
    controller = after("create t 1,2 1,2", "bounce 1", "isr t-0 2,1", "notify-isr t-0")
    controller.batches[batch].add_stop_replica_request_for_brokers([2], T0, delete_partition=False)
    controller.carry_out(command_of([command]))
    assert controller.answers_given == [answer]
    assert controller.context.state.epoch == epoch
