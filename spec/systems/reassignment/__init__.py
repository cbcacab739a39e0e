"""A partition moves from some brokers to others: what does the controller tell whom to delete, and what is left?

`state` has the variables, their sizes and the client of the controller, `actions` what happens, and `reassignment`
the theory, what has to hold, and how it is seen. Each is a class over the one before, the first over
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
