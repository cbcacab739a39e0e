"""A whole KafkaController that processes events one by one, and the batches of its state machines one by one.

    commands = [{"do": "register", "brokers": [0, 1]}, {"process": ["Startup"]}, {"do": "look", "step": 0}]
    with PathRunner("3.9.1") as kafka:
        [(task, answer)] = kafka.runs([ScriptTask(commands=commands, path=..., specified=[...])])
        answer.seen[0]["live_brokers"]      # frozenset({0, 1})

Other processes act by the commands of `ScriptedCluster`, and send requests by those of `ControllerBeside`. Events
come from watches and requests, as in Kafka, and wait in its queue; `process` names the next one. While it is
processed, the controller stops before each batch of requests by which its state machines change states. `meanwhile`
says what happens then: rows of the batch's number, 0, and a command. The controller's other requests are served
without a stop. `look` reports all observable state, under the number of a step; with `only_zookeeper`, only
ZooKeeper's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from election.ids import BrokerId
from spec.kafka.control_values import WHOLE, decoded_requests, stops_by_partition
from spec.kafka.mapping import Observation, PathTask, Response
from spec.kafka.scripted_cluster import ControlCommand
from spec.kafka.state_machines_beside import CONTROLLER, RealController
from statemachines.controller.design import CONTROLLER_EPOCH
from statemachines.messages.control_requests import ControlRequest, UpdateMetadataRequest
from statemachines.messages.zk_data import TOPICS
from statemachines.zookeeper.tree import ZkPath

SEEN_OF_CONTEXT: Final = (
    *("epoch", "all_topics", "partition_assignments", "partition_states", "replica_states"),
    *("partition_leadership_info", "shutting_down_broker_ids"),
)
"""The observed parts of a controller's knowledge, besides its live brokers."""
OF_PARTITIONS, OF_REPLICAS = 0, 1
"""The index of the state machines' batches among the three."""


@dataclass(frozen=True, kw_only=True)
class ScriptTask(PathTask):
    """The commands for a path, from an empty cluster, with a look for each step."""

    commands: Sequence[ControlCommand]


class PathRunner(RealController):
    """A whole controller of one of `spec.kafka.controller_beside.RELEASES`, run as in `RealController`."""

    def runs(self, tasks: Iterable[ScriptTask]) -> Iterator[tuple[ScriptTask, Response]]:
        """The response to each task, in order.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        for task, looks in self.of("Steps", tasks, lambda task: task.commands):
            yield task, _response(looks, len(task.specified))


def _response(looks: Sequence[Mapping[str, Any]], steps: int) -> Response:
    """The observation at each step; a missing look means that Kafka did not reach it."""
    known: dict[str, Any] = {}
    seen: list[Observation] = []
    for step in range(steps):
        if step == len(looks) or looks[step]["step"] != step:
            last = seen[-1] if seen else {}
            return Response([*seen, last], "Kafka does not reach the point where this step can be seen")
        look = looks[step]
        known |= {name: WHOLE[name](value) for name, value in look.items() if name in WHOLE}
        seen.append(_observation(known, look))
    return Response(seen, "")


def _observation(known: Mapping[str, Any], look: Mapping[str, Any]) -> Observation:
    of_zookeeper = {"znodes": {path: node for path, node in known["znodes"].items() if is_compared(path)}}
    if "sent" not in look:
        return of_zookeeper
    return of_zookeeper | {
        "active": known["active"][0],
        "live_brokers": frozenset(known["live_broker_epochs"]) - {CONTROLLER},
        **{name: known[name] for name in SEEN_OF_CONTEXT},
        "left": tuple(known["left_in_batches"][which][:2] for which in (OF_PARTITIONS, OF_REPLICAS)),
        "asked": [sorted(batch) for batch in look["asked"] if batch],
        "sent": comparable_requests(decoded_requests(look["sent"])),
    }


def is_compared(path: ZkPath) -> bool:
    """Whether a controller writes a node when it changes states."""
    return path == CONTROLLER_EPOCH or re.match(f"{TOPICS}/[^/]+/", path) is not None


def comparable_requests(sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> Mapping[BrokerId, list[ControlRequest]]:
    """The requests to each broker in order, without metadata and without brokers' epochs."""
    compared = {
        broker: [each._replace(brokerEpoch=0) for each in requests if not isinstance(each, UpdateMetadataRequest)]
        for broker, requests in sent.items()
    }
    return stops_by_partition({broker: requests for broker, requests in compared.items() if requests})
