"""What partitions and their replicas are called: keys of all that a controller knows.

They sort by topic, then by number, so that whatever Kafka keeps in sets without an order has one here.
"""

from typing import Annotated, NamedTuple

from election.ids import BrokerId

__all__ = ["PartitionAndReplica", "PartitionId", "TopicName", "TopicPartition"]

TopicName = Annotated[str, "a topic's name"]
"""Which topic."""

PartitionId = Annotated[int, "a partition's number"]
"""Which partition of its topic; an integer from 0 on."""


class TopicPartition(NamedTuple):
    """A partition of a topic [TopicPartition.java]."""

    topic: TopicName
    partition: PartitionId

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class PartitionAndReplica(NamedTuple):
    """The replica of a partition on one broker [KafkaController.scala, 3.9]."""

    topic_partition: TopicPartition
    replica: BrokerId

    def __str__(self) -> str:
        return f"{self.topic_partition} on {self.replica}"
