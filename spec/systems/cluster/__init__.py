"""A cluster under a controller: what `partitions`, `reassignment` and `topic-deletion` have in common.

`state` has the variables and how large they are, `actions` what happens, `properties` what has to hold, and `views`
how it is seen. Each is a class over the one before. The last is `ClusterSpec`: a specification without events of its
own.
"""

from spec.systems.cluster.properties import ANSWERS, LEADERS
from spec.systems.cluster.state import (
    CONTROLLER,
    TOPIC,
    TOPIC_PATH,
    C,
    ClusterState,
    Crashes,
    Role,
    isr_may_change,
    leaders_await_controller,
    leaders_write,
)
from spec.systems.cluster.views import ClusterSpec

__all__ = [
    "ANSWERS",
    "CONTROLLER",
    "LEADERS",
    "TOPIC",
    "TOPIC_PATH",
    "C",
    "ClusterSpec",
    "ClusterState",
    "Crashes",
    "Role",
    "isr_may_change",
    "leaders_await_controller",
    "leaders_write",
]
