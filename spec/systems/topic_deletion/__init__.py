"""A topic is deleted while brokers die and controllers follow each other: is it ever gone, and is all of it gone?

`state` has the variables, their sizes and the client of the controller, `actions` what happens, and `topic_deletion`
the theory, what has to hold, and how it is seen. Each is a class over the one before, the first over
`spec.systems.cluster`.
"""

from spec.systems.topic_deletion.state import ClusterWithDeletions, DeletingZkClient, Deletion
from spec.systems.topic_deletion.topic_deletion import TopicDeletion

__all__ = ["ClusterWithDeletions", "DeletingZkClient", "Deletion", "TopicDeletion"]
