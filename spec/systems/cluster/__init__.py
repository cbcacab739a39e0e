"""A cluster under a controller: the common base of `partitions`, `reassignment` and `topic-deletion`.

`state` has the variables and their sizes, `actions` the actions, `properties` the properties, and `views` the views
and pictures. Each has a class that extends the one before. The last is `ClusterSpec`: a specification without events
of its own.
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
