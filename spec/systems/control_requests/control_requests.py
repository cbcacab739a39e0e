"""Control requests wait, repeat, arrive late, and come from two controllers: how do brokers respond?"""

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
    """A controller, event by event; the channels to its brokers; how brokers apply requests.

    An event of the controller is one step: it reads, writes to ZooKeeper, and puts requests into queues. From there
    each broker receives them at its own pace. A step is one request that a broker handles. Its reply arrives, or is
    lost and the request is sent again. Any number of events may happen before a broker handles a request, up to the
    bound of the queues. Brokers die and return at any time. Another controller may be elected; then both send until
    the former one resigns. The parties are those of `statemachines`: `ControllerEventProcessor`,
    `ControllerChannelManager`, `KafkaApis`, `ReplicaManager`, `MetadataCache`, over the variables here.

    Fused steps. First, an event with all of ZooKeeper's answers. A broker that handles a request changes nothing that
    the event reads, so a request handled during an event may as well be handled after it. `partitions`, where
    requests do not wait, explores the other interruptions of an event: a leader's ISR change, the election of another
    controller. Second, a broker's death with the end of its session, since until that end a dead broker resembles a
    slow one. Third, a reply with the controller's reaction to it. There is none here: replies matter only when disks
    fail and topics are deleted. Fourth, taking a request from its queue with sending it.

    Of two controllers only the later one has events. The former one's events before it resigns are left out: since
    2.1 ZooKeeper refuses its writes, and requests that it would send without a write are not modelled. When there is
    a third controller, the first has resigned. Waiting requests are `reduced` to the fields that brokers read here.

    A follower that has caught up joins the ISR. Its leader asks the controller by AlterPartition. The controller
    handles and answers the request in one step; anything may happen before. Until 2.6 the leader writes the ISR to
    ZooKeeper and notifies the controller. If the answer is lost or another has written, it reads the node back in the
    same step. The event may wait for any time, so the time of the notification makes no difference.

    A reassignment (AlterPartitionReassignments) removes a partition's last broker, or adds it again; a removed
    replica is deleted. So brokers receive StopReplica with deletion and, in a controlled shutdown, without.

    A broker that shuts down obeys like any other, since its `ReplicaManager.is_shutting_down` is not set. In Kafka it
    no longer starts to fetch, so it cannot catch up with a new leader. The fetch here adds steps and removes none: a
    property that holds here holds in Kafka, except P6, which requires the fetch.

    A broker whose session ends runs on, and registers again (`expiries`). Until ZooKeeper's answer arrives, it uses
    its former broker epoch. A started broker knows its registration before it accepts requests.

    Left out: failing disks, leaders that shrink ISRs, reassignments of other kinds, deletion of topics, other topics;
    a broker that dies between two registrations; a half-full batch (H3), since no change is interrupted here; of a
    resignation, all but the closing of the channels.
    """

    name = "control-requests"
    leaves_out = "batches of requests to ZooKeeper, ISRs that leaders shrink, deletion of topics, log directories"

    # Views: a state in sentences, for the reader of a trace.

    @view
    def office(self, s: C) -> str:
        """The controller, and whether the former one has resigned."""
        if not s.epoch:
            return "there is no controller"
        former = "" if self.former_channels.are_closed(s.former_channels) else "; the one before has not resigned"
        return f"the controller acts under epoch {s.epoch}{former}"

    @view
    def leadership(self, s: C, partition: TopicPartition) -> str:
        """A partition's leader in ZooKeeper."""
        state, known = s.state(partition), s.context.partition_states.get(partition)
        if state is None:
            return ""
        leads = "no broker leads" if state.leader == NO_LEADER else f"broker {state.leader} leads"
        isr = ", ".join(map(str, state.isr))
        taken = "" if known is None else f"; the controller has it as {known.name}"
        return f"in ZooKeeper {leads} {partition} in leader epoch {state.leader_epoch}; in sync: {isr}{taken}"

    @view
    def queue(self, s: C, connection: Connection, broker: BrokerId) -> str:
        """A controller's unsent requests to a broker."""
        line = self.line(s, connection, broker)
        waits = ", then ".join(map(brief_request, line))
        return f"for broker {broker}, over the connection {connection}: {waits}" if line else ""

    @view
    def life(self, s: C, broker: BrokerId) -> str:
        """A broker that is dead, or that has restarted without the controller's knowledge."""
        lives = s.receivers.broker_epochs[broker]
        if broker not in s.running:
            return f"broker {broker} is dead"
        if broker in s.receivers.unaware_of_registration:
            registered = "does not know of its new registration" if broker in s.registered else "is not registered"
            return f"broker {broker} runs, and {registered}"
        known = s.context.live_broker_epochs.get(broker)
        unknown = s.epoch and known != lives
        return f"broker {broker} is in life {lives + 1}, and the controller does not know of it" if unknown else ""

    # Pictures.

    @picture
    def requests_in_flight(self, s: C) -> Grid:
        """The requests on their way. Dead brokers, and requests that would be refused as a whole, are struck out."""
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
    """A waiting request in a few words.

    >>> brief_request(UpdateMetadataRequest(9, 1, 0, (), (0, 1)))
    'UpdateMetadata (alive: 0, 1)'
    """
    match request:
        case LeaderAndIsrRequest(partitionStates=states):
            return f"LeaderAndIsr ({'; '.join(map(leader_in_request, states))})"
        case StopReplicaRequest(partitionStates=stopped):
            return f"StopReplica ({', '.join(str(each.partition) for each in stopped)})"
        case UpdateMetadataRequest(partitionStates=known, liveBrokers=live):
            led = "".join(f"; {leader_in_request(each)}" for each in known)
            return f"UpdateMetadata (alive: {', '.join(map(str, live))}{led})"


def leader_in_request(state: LeaderAndIsrPartitionState | UpdateMetadataPartitionState) -> str:
    """A partition's leader, according to a request."""
    leads = "no broker leads" if state.leader == NO_LEADER else f"{state.leader} leads"
    return f"{leads} {state.partition} in {state.leaderEpoch}"
