"""The specifications, one file or folder each. They use the state machines and know nothing of the engines."""

from collections.abc import Mapping
from typing import Final

SYSTEMS: Final[Mapping[str, str]] = {
    "control-requests": "spec.systems.control_requests:ControlRequests",
    "controller": "spec.systems.controller:ControllerLife",
    "controller-election": "spec.systems.controller_election:ControllerElection",
    "fetching": "spec.systems.fetching:Fetching",
    "partitions": "spec.systems.partitions:Partitions",
    "reassignment": "spec.systems.reassignment:Reassignment",
    "replication": "spec.systems.replication:Replication",
    "topic-deletion": "spec.systems.topic_deletion:TopicDeletion",
}
"""The class of each system, by its name on the command line. A system is imported only when it is used."""
