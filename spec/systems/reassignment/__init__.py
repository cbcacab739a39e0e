"""A partition moves between brokers: which replicas does the controller delete, and which logs remain?

`state` has the variables, their sizes and the controller's client, `actions` the actions, and `reassignment` the
theory, the properties, the views and the pictures. Each has a class that extends the one before, the first
`spec.systems.cluster`.
"""

from spec.systems.reassignment.actions import log_deleted
from spec.systems.reassignment.reassignment import Reassignment
from spec.systems.reassignment.state import (
    PARTITION,
    Brokers,
    ReassignedCluster,
    ReassigningZkClient,
    by_api,
    by_node,
)

__all__ = [
    "PARTITION",
    "Brokers",
    "ReassignedCluster",
    "ReassigningZkClient",
    "Reassignment",
    "by_api",
    "by_node",
    "log_deleted",
]
