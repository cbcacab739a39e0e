"""The specifications, a file or a room each: they know the machines they are made of, not how they are explored."""

from collections.abc import Mapping
from typing import Final

SYSTEMS: Final[Mapping[str, str]] = {
    "control-requests": "spec.systems.control_requests:ControlRequests",
    "controller": "spec.systems.controller:ControllerLife",
    "controller-election": "spec.systems.controller_election:ControllerElection",
    "partitions": "spec.systems.partitions:Partitions",
    "reassignment": "spec.systems.reassignment:Reassignment",
    "replication": "spec.systems.replication:Replication",
    "topic-deletion": "spec.systems.topic_deletion:TopicDeletion",
}
"""Where each system is defined, by the name that the command line knows; none is imported before it is asked for."""
