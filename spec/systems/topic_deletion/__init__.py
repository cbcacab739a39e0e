"""A topic is deleted while brokers die and controllers follow each other: does all of it disappear?

`state` has the variables, their sizes and the controller's client, `actions` the actions, and `topic_deletion` the
theory, the properties, the views and the pictures. Each has a class that extends the one before, the first
`spec.systems.cluster`.
"""

from spec.systems.topic_deletion.state import ClusterWithDeletions, DeletingZkClient, Deletion
from spec.systems.topic_deletion.topic_deletion import TopicDeletion

__all__ = ["ClusterWithDeletions", "DeletingZkClient", "Deletion", "TopicDeletion"]
