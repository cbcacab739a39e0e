"""Watch the partitions of a topic while a broker fails, with a machine of your own.

The controller moves partitions with a private machine of the library `transitions`. The rows of `PARTITION` are that
library's declaration, so a machine of your own takes them as they are, with callbacks, conditions and queued events.
Here a mapping holds the controller's states and hands each change on to a model.

The topic is a model of the same machine: offline as soon as one of its partitions is, online when all of them are. A
partition triggers its topic from a callback, and the machine queues that event until the callback is over.

    broker 1 fails
      t-0: OnlinePartition to OfflinePartition
      topic t: OnlinePartition to OfflinePartition
      t-1: OnlinePartition to OfflinePartition
      t-0: OfflinePartition to OnlinePartition
    broker 1 is back
      t-1: OfflinePartition to OnlinePartition
      topic t: OfflinePartition to OnlinePartition
"""

from __future__ import annotations

from transitions import EventData, Machine

from statemachines import Cluster
from statemachines.controller.context import InMemoryContext
from statemachines.messages.topic_partition import TopicPartition
from statemachines.tables.partition import PARTITION, OfflinePartition, OnlinePartition, PartitionState
from statemachines.tables.table import trigger


class Watched:
    """A model of the library: a state, the condition `is_due` and the callback `changed`."""

    state: PartitionState
    name: str

    def is_due(self, event: EventData) -> bool:
        """The condition on every transition."""
        return True

    def changed(self, event: EventData) -> None:
        """The callback after every transition."""
        assert event.transition is not None
        print(f"  {self.name}: {event.transition.source} to {event.transition.dest}")


class WatchedTopic(Watched):
    """A topic, in the state of its worst partition."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.partitions: list[WatchedPartition] = []

    def is_due(self, event: EventData) -> bool:
        """The topic changes once, and is online when all its partitions are."""
        states = {partition.state for partition in self.partitions}
        worst = OfflinePartition if OfflinePartition in states else OnlinePartition
        return self.state is not worst and event.event.name == trigger(worst)


class WatchedPartition(Watched):
    """One partition of the topic."""

    def __init__(self, partition: TopicPartition, topic: WatchedTopic) -> None:
        self.name, self.topic = str(partition), topic
        topic.partitions.append(self)

    def changed(self, event: EventData) -> None:
        """The topic may change with its partition."""
        event.event.trigger(self.topic)
        super().changed(event)


class WatchedStates(dict[TopicPartition, PartitionState]):
    """The controller's states of partitions. Each change triggers an event of the watching machine."""

    def __init__(self) -> None:
        super().__init__()
        self.topic = WatchedTopic("topic t")
        self.models: dict[TopicPartition, WatchedPartition] = {}
        self.machine = Machine(
            None,
            states=list(PARTITION.states),
            transitions=[[*declared, "is_due"] for declared in PARTITION.transitions],
            initial=OnlinePartition,
            auto_transitions=False,
            after_state_change="changed",
            send_event=True,
            queued=True,
        )
        self.machine.add_model(self.topic)

    def __setitem__(self, partition: TopicPartition, state: PartitionState) -> None:
        if partition in self.models:
            self.machine.events[trigger(state)].trigger(self.models[partition])
        elif state is OnlinePartition:  # from here on it is watched
            self.models[partition] = WatchedPartition(partition, self.topic)
            self.machine.add_model(self.models[partition])
        super().__setitem__(partition, state)


def main() -> None:
    """Fail a broker, and let it return."""
    cluster = Cluster((1, 2), controller=2)
    cluster.create_topic("t", {0: (1, 2), 1: (1, 2)})
    cluster.settle()
    cluster.reassign({("t", 1): (1,)})
    cluster.settle()
    known, watched = cluster.controllers[2].context.state, WatchedStates()
    for partition, state in known.partition_states.items():
        watched[partition] = state
    assert isinstance(known, InMemoryContext)
    known.partition_states = watched

    print("broker 1 fails")
    cluster.crash(1)
    cluster.settle()

    print("broker 1 is back")
    cluster.restart(1)
    cluster.settle()


if __name__ == "__main__":
    main()
