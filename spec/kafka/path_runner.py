"""A whole KafkaController whose events are processed one by one, each batch of its state machines by batch.

    commands = [{"do": "register", "brokers": [0, 1]}, {"process": ["Startup"]}, {"do": "look", "step": 0}]
    with PathRunner("3.9.1") as kafka:
        [(task, answer)] = kafka.runs([ScriptTask(commands=commands, path=..., specified=[...])])
        answer.seen[0]["live_brokers"]      # frozenset({0, 1})

What others do are the commands of `ScriptedCluster`, what they ask those of `ControllerBeside`. Events come by
watches and requests, as in Kafka, and wait in its queue; `process` names which one is next. While one is processed
the controller stands before each batch of requests by which its state machines change states, and `meanwhile` says
what happens then: rows of the batch's number, 0, and a command. Its other requests are served within that. `look` is
when all that is to be seen is told, under the number of a step; with `only_zookeeper` only what is there.
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

__all__ = ["SEEN_OF_CONTEXT", "PathRunner", "ScriptTask", "comparable_requests", "is_compared"]

SEEN_OF_CONTEXT: Final = (
    *("epoch", "all_topics", "partition_assignments", "partition_states", "replica_states"),
    *("partition_leadership_info", "shutting_down_broker_ids"),
)
"""What is to be seen of what a controller knows, beside the brokers that it takes for live."""
OF_PARTITIONS, OF_REPLICAS = 0, 1
"""The batches of the state machines, among the three."""


@dataclass(frozen=True, kw_only=True)
class ScriptTask(PathTask):
    """What happens from an empty cluster, so that there is a look for each step of a path."""

    commands: Sequence[ControlCommand]


class PathRunner(RealController):
    """A whole controller, of one of `spec.kafka.controller_beside.RELEASES`, as `RealController` has its machines."""

    def runs(self, tasks: Iterable[ScriptTask]) -> Iterator[tuple[ScriptTask, Response]]:
        """What comes of each task, in their order.

        Raises:
            EnvironmentFailed: Java died, or does not answer.
        """
        for task, looks in self.of("Steps", tasks, lambda task: task.commands):
            yield task, _response(looks, len(task.specified))


def _response(looks: Sequence[Mapping[str, Any]], steps: int) -> Response:
    """What was seen at each step; where a look is missing, Kafka was not there."""
    known: dict[str, Any] = {}
    seen: list[Observation] = []
    for step in range(steps):
        if step == len(looks) or looks[step]["step"] != step:
            last = seen[-1] if seen else {}
            return Response([*seen, last], "Kafka does not come to where this step can be seen")
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
    """Whether a node is one that a controller writes when it changes states."""
    return path == CONTROLLER_EPOCH or re.match(f"{TOPICS}/[^/]+/", path) is not None


def comparable_requests(sent: Mapping[BrokerId, Sequence[ControlRequest]]) -> Mapping[BrokerId, list[ControlRequest]]:
    """The requests to each broker in their order, but for metadata, and without the epochs of the brokers."""
    told = {
        broker: [each._replace(brokerEpoch=0) for each in requests if not isinstance(each, UpdateMetadataRequest)]
        for broker, requests in sent.items()
    }
    return stops_by_partition({broker: requests for broker, requests in told.items() if requests})
