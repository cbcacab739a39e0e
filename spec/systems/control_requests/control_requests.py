"""Control requests wait, are sent twice, come late, and come from two controllers: what do brokers make of them?"""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import Grid, Look, Queue, Tag, picture, view
from spec.systems.control_requests.properties import ControlRequestsProperties
from spec.systems.control_requests.state import C, Connection
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import NO_LEADER
from statemachines.messages.topic_partition import TopicPartition


class ControlRequests(ControlRequestsProperties):
    """A controller, event by event; the channels to its brokers; what the brokers obey.

    An event of the controller is one step: it reads, writes to ZooKeeper, and puts requests into queues. From there
    each broker gets them at its own pace: a step is one request that a broker handles, whose reply arrives, or is
    lost, and then it is sent again. Any number of events may happen while a broker has handled nothing, as far as
    queues hold them. Brokers die and return at any time, and another controller is elected: from then on two send,
    until the former one resigns. What each party does is what `statemachines` has for it: `ControllerEventProcessor`,
    `ControllerChannelManager`, `KafkaApis`, `ReplicaManager`, `MetadataCache`, over the variables here.

    Fused: an event with all that ZooKeeper answers. Nothing that it reads is changed by a broker that handles a
    request, so a request that is handled in the midst of an event might as well be handled behind it. What else may
    happen in its midst, a leader that changes its ISR or another controller that is elected, is explored by
    `partitions`, where requests do not wait. A broker's death with the end of its session: until that end it is like
    a slow one. A reply with what the controller makes of it, which is nothing: it matters where disks fail and where
    topics are deleted. The broker's thread that takes a request from its queue and the sending of it.

    Of two controllers only the later one has events. What the former one does with events before it resigns is left
    out: since 2.1 ZooKeeper refuses its writes, and what it would send without a write is not modelled. Where there
    is a third, the first has resigned. What waits is `reduced`: a request without what no broker looks at here.

    A follower that has caught up joins the ISR: its leader asks the controller by AlterPartition, which is answered
    in the step in which the controller has it; until then anything may happen. Before 2.7 the leader writes it to
    ZooKeeper in a step, with the reading back, if its answer was lost or another has written, and tells the
    controller; the event waits as long as one likes, so when the notification is created makes no difference.

    A reassignment takes the last broker of a partition away, or gives it back, by AlterPartitionReassignments; a
    replica that is taken away is deleted. So brokers are told to stop, with deletion and, in a controlled shutdown,
    without.

    A broker that shuts down obeys as any other: it is not told so (`ReplicaManager.is_shutting_down`). In Kafka it
    does not begin to fetch any more, and so cannot catch up with a new leader. That it may here adds steps and takes
    none away: what holds here holds there, but for P6, which asks that it fetches.

    A broker whose session ends runs on, and registers anew (`expiries`). Until it has ZooKeeper's answer it goes by
    its former broker epoch. One that is started knows its registration before it takes requests.

    Left out: disks that fail, leaders that shrink ISRs, reassignments of other kinds, deletion of topics, other
    topics; a broker that dies between two registrations; a batch that a change has left half full (H3), for no change
    is cut short here; of a resignation all but that the channels close.
    """

    name = "control-requests"
    leaves_out = "batches of requests to ZooKeeper, ISRs that leaders shrink, deletion of topics, log directories"

    # What a state means, to the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """Who is controller."""
        if not s.epoch:
            return "there is no controller"
        former = "" if self.former_channels.are_closed(s.former_channels) else "; the one before has not resigned"
        return f"the controller acts under epoch {s.epoch}{former}"

    @view
    def leadership(self, s: C, partition: TopicPartition) -> str:
        """Who leads a partition by ZooKeeper."""
        state, known = s.state(partition), s.context.partition_states.get(partition)
        if state is None:
            return ""
        leads = "no broker leads" if state.leader == NO_LEADER else f"broker {state.leader} leads"
        isr = ", ".join(map(str, state.isr))
        taken = "" if known is None else f"; the controller has it as {known.name}"
        return f"by ZooKeeper {leads} {partition} in leader epoch {state.leader_epoch}; in sync: {isr}{taken}"

    @view
    def queue(self, s: C, connection: Connection, broker: BrokerId) -> str:
        """What a controller has yet to send to a broker."""
        line = self.line(s, connection, broker)
        waits = ", then ".join(map(brief_request, line))
        return f"for broker {broker}, over the connection {connection}: {waits}" if line else ""

    @view
    def life(self, s: C, broker: BrokerId) -> str:
        """A broker that is dead, or has come back."""
        lives = s.receivers.broker_epochs[broker]
        if broker not in s.running:
            return f"broker {broker} is dead"
        if broker in s.receivers.unaware_of_registration:
            registered = "knows nothing of its new registration" if broker in s.registered else "is not registered"
            return f"broker {broker} runs, and {registered}"
        known = s.context.live_broker_epochs.get(broker)
        unknown = s.epoch and known != lives
        return f"broker {broker} is in life {lives + 1}, of which the controller does not know" if unknown else ""

    # How a state is drawn.

    @picture
    def requests_in_flight(self, s: C) -> Grid:
        """The requests on their way; struck out: brokers that are dead, requests that would be refused as a whole."""
        return Grid(
            ("broker", *(f"over the connection {connection}" for connection in self.connections)),
            [
                (
                    Tag(f"broker {broker}", Look.plain if broker in s.running else Look.gone),
                    *(self._queue(s, connection, broker) for connection in self.connections),
                )
                for broker in self.broker_ids
            ],
        )

    def _queue(self, s: C, connection: Connection, broker: BrokerId) -> Queue:
        life, epoch = self.receivers.own_epoch(s.receivers, broker), s.receivers.controller_epochs[broker]
        line = self.line(s, connection, broker)
        refused = (each.brokerEpoch < life or each.controllerEpoch < epoch for each in line)
        return Queue(
            [
                Tag(brief_request(each), Look.gone if no else Look.plain)
                for each, no in zip(line, refused, strict=True)
            ]
        )


def brief_request(request: ControlRequest) -> str:
    """A request in a few words, as it waits.

    >>> brief_request(UpdateMetadataRequest(9, 1, 0, (), (0, 1)))
    'UpdateMetadata (alive: 0, 1)'
    """
    match request:
        case LeaderAndIsrRequest(partitionStates=states):
            return f"LeaderAndIsr ({'; '.join(map(leader_in_request, states))})"
        case StopReplicaRequest(partitionStates=stopped):
            return f"StopReplica ({', '.join(f'{each.topicName}-{each.partitionIndex}' for each in stopped)})"
        case UpdateMetadataRequest(partitionStates=known, liveBrokers=live):
            led = "".join(f"; {leader_in_request(each)}" for each in known)
            return f"UpdateMetadata (alive: {', '.join(map(str, live))}{led})"


def leader_in_request(state: LeaderAndIsrPartitionState | UpdateMetadataPartitionState) -> str:
    """Who leads a partition, as a request says."""
    leads = "no broker leads" if state.leader == NO_LEADER else f"{state.leader} leads"
    return f"{leads} {state.topicName}-{state.partitionIndex} in {state.leaderEpoch}"
