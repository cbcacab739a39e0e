"""The actions of `Fetching`: the controller elects, brokers lead, follow, fetch and die."""

from __future__ import annotations

from collections.abc import Collection

from election import leader_for_offline, leader_for_preferred_replica
from election.ids import BrokerId, LeaderEpoch
from spec.language import action, bound, require, say
from spec.systems.fetching.state import (
    RUNNING,
    Asks,
    Elected,
    FetchingVariables,
    Life,
    Pair,
    Proposal,
    Request,
    Response,
    S,
    Written,
    brokers_die,
    several_brokers,
)
from spec.systems.replication.replicas import Leadership
from statemachines.broker.hosted_partition import (
    CommittedPartitionState,
    HostedPartition,
    IsrState,
    PendingExpandIsr,
    PendingShrinkIsr,
    is_newer_leader_epoch,
)
from statemachines.broker.log.unified_log import Disk
from statemachines.broker.partition import Environment, Partition, RemoteReplica
from statemachines.broker.replica_fetcher_thread import Followed, Halts, OutOfRange
from statemachines.broker.replica_manager import begins_anew
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.records import (
    FetchedPartition,
    FetchPartition,
    Offset,
    PartitionAnswer,
)
from statemachines.messages.replica_assignment import ReplicaAssignment

ASKS_AGAIN = frozenset({Errors.NOT_LEADER_OR_FOLLOWER, Errors.UNKNOWN_LEADER_EPOCH})
"""Refusals after which a fetcher thread changes nothing, and asks again."""
NOTHING_SENT = LeaderAndIsr(0, 0, ())
"""Stands for the state that a leader has asked for: the rules of its partition do not read it."""


class FetchingActions(FetchingVariables):
    """The actions of the controller and of brokers."""

    # The controller, if it may elect any member.

    def send(self, s: S, leader: BrokerId | None, isr: frozenset[BrokerId]) -> None:
        """The controller writes a leadership under the next epoch to ZooKeeper, and sends it to every replica."""
        epoch = s.partition_state.leader_epoch + 1
        bound(epoch <= self.max_leader_epoch)
        if self.design.eligible_leader_replicas:
            self.keep_eligible(s, isr)
        s.partition_state = s.leader_and_isr[epoch] = Leadership(epoch, leader, isr)

    def keep_eligible(self, s: S, isr: frozenset[BrokerId]) -> None:
        """Members that leave a small ISR stay eligible."""
        s.eligible = (
            (s.eligible | s.partition_state.isr) - isr if len(isr) < self.min_insync_replicas else frozenset()
        )

    def is_known(self, s: S, broker: BrokerId) -> bool:
        """Whether a broker runs, and its death, if it has died, was noticed or need not be (`hidden_bounces`)."""
        if s.life[broker] is Life.Bounced:
            stays_hidden = not (self.design.new_epoch_after_bounce and s.partition_state.leader == broker)
            return self.hidden_bounces and stays_hidden
        return s.life[broker] in (Life.Runs, Life.Started)

    @action(when=lambda self: self.elects_any_member, actor="controller", receiver="ZooKeeper")
    def elect(self, s: S, broker: BrokerId) -> None:
        """The controller elects a member of the ISR: any, at any time, which covers every clean strategy."""
        state = s.partition_state
        require(broker in state.isr and broker != state.leader and self.is_known(s, broker))
        self.send(s, broker, state.isr)

    @action(when=lambda self: self.elects_any_member and self.brokers > 1, actor="controller", receiver="ZooKeeper")
    def remove_from_isr(self, s: S, broker: BrokerId, leader: BrokerId | None) -> None:
        """The controller removes a broker from the ISR, unless it is the last member, and elects if that one led.

        It has died, or shuts down. [removeReplicasFromIsr, doControlledShutdown]
        """
        state = s.partition_state
        require(broker in state.isr and len(state.isr) > 1)
        rest = state.isr - {broker}
        if broker == state.leader:
            require(leader in rest)
            assert leader is not None
            require(self.is_known(s, leader))
        else:
            require(leader == state.leader)
        self.send(s, leader, rest)
        self.notices(s, broker)

    def notices(self, s: S, broker: BrokerId) -> None:
        """The controller notices the death of a broker that has started again."""
        if s.life[broker] is Life.Bounced:
            s.life[broker] = Life.Started
            if self.design.eligible_leader_replicas:
                s.eligible -= {broker}

    @action(when=lambda self: self.elects_any_member and brokers_die(self), actor="controller")
    def notice(self, s: S, broker: BrokerId, leader: BrokerId) -> None:
        """The controller notices the death of a broker that is the last member of the ISR, or none.

        The last member is elected again. With KIP-966 another is, if one is eligible.
        """
        state = s.partition_state
        require(s.life[broker] is Life.Bounced and (broker not in state.isr or state.isr == {broker}))
        if broker not in state.isr:
            require(leader == broker)
        elif self.design.eligible_leader_replicas and s.eligible:
            require(leader in s.eligible and self.is_known(s, leader))
            self.send(s, leader, frozenset({leader}))
        else:
            require(leader == broker)
            self.send(s, broker, state.isr)
        self.notices(s, broker)

    # The controller, if it elects among the living.

    def replicas(self) -> tuple[BrokerId, ...]:
        """The brokers of the partition, the preferred one first."""
        return tuple(self.domain_of(BrokerId))

    def live(self, s: S) -> frozenset[BrokerId]:
        """The brokers that the controller believes alive."""
        return frozenset(each for each in self.replicas() if s.life[each] not in (Life.Down, Life.Returned))

    @action(when=lambda self: not self.elects_any_member, actor="controller", receiver="ZooKeeper")
    def elect_preferred(self, s: S) -> None:
        """The controller elects the first replica. [onReplicaElection]"""
        state, replicas = s.partition_state, self.replicas()
        found = leader_for_preferred_replica(replicas=replicas, isr=tuple(state.isr), live=self.live(s))
        require(found.leader is not None and found.leader != state.leader)
        self.send(s, found.leader, state.isr)

    def elect_for_offline(self, s: S, live: Collection[BrokerId]) -> None:
        """The controller elects, if the leader is dead and a replica may lead. [OfflinePartitionLeaderElection]"""
        state = s.partition_state
        if state.leader is not None and state.leader in live:
            return
        isr = tuple(each for each in self.replicas() if each in state.isr)
        found = leader_for_offline(self.replicas(), isr, live, unclean=self.admin_design.unclean_by_default)
        if found.leader is not None:
            assert found.isr is not None
            if found.unclean:
                say("an unclean election")
            self.send(s, found.leader, frozenset(found.isr))

    @action(when=lambda self: not self.elects_any_member and brokers_die(self), actor="controller")
    def broker_failure(self, s: S, broker: BrokerId) -> None:
        """The controller notices that a broker has died. [onBrokerFailure]"""
        require(s.life[broker] in (Life.Died, Life.Bounced))
        live = self.live(s) - {broker}
        self.elect_for_offline(s, live)
        state = s.partition_state
        if broker in state.isr and len(state.isr) > 1:
            self.send(s, None if state.leader == broker else state.leader, state.isr - {broker})
        elif state.leader == broker:
            self.send(s, None, state.isr)
        s.life[broker] = Life.Down if s.life[broker] is Life.Died else Life.Returned

    @action(when=lambda self: not self.elects_any_member and brokers_die(self), actor="controller")
    def broker_startup(self, s: S, broker: BrokerId) -> None:
        """The controller notices that a broker has started. [onBrokerStartup]"""
        require(s.life[broker] is Life.Returned)
        s.life[broker] = Life.Started
        self.elect_for_offline(s, self.live(s))

    # A replica, as the library has it.

    def hosted(self, s: S, broker: BrokerId) -> HostedPartition:
        """The role of a replica, and its ISR."""
        mine = s.replica[broker]
        committed = CommittedPartitionState(tuple(mine.isr))
        state: IsrState = committed
        proposal = s.proposals.get(broker) if self.isr_in_two_steps else None
        if proposal is not None:
            joining, leaving = proposal.isr - mine.isr, mine.isr - proposal.isr
            for each in joining:
                state = PendingExpandIsr(each, NOTHING_SENT, committed)
            if leaving:
                state = PendingShrinkIsr(leaving, NOTHING_SENT, committed)
        assignment = ReplicaAssignment(self.replicas())
        return HostedPartition(True, mine.leader, mine.leader_epoch, 0, 0, assignment, state, True)

    def partition(self, s: S, broker: BrokerId) -> Partition:
        """A replica's log and, if it leads, what it knows of its followers."""
        if s.replica[broker].leader != broker:
            return Partition(s.log[broker])
        others = (each for each in self.replicas() if each != broker)
        known = tuple(RemoteReplica(each, s.end_offsets[Pair(each, broker)]) for each in others)
        return Partition(s.log[broker], s.epoch_start[broker], known)

    def environment(self, broker: BrokerId) -> Environment:
        """What a partition takes from its broker; time stands still, see `rules`."""
        return Environment(broker, self.rules, 0, self.min_insync_replicas)

    def keep(self, s: S, broker: BrokerId, after: Partition) -> None:
        """A replica has changed. What a leader commits is remembered."""
        s.log[broker] = after.log
        s.epoch_start[broker] = after.epoch_start
        known = {each.broker: each.end_offset for each in after.followers}
        for each in self.replicas():
            if each != broker:
                s.end_offsets[Pair(each, broker)] = known.get(each, -1)
        if self.history and s.replica[broker].leader == broker:
            below = after.log.records[: after.log.high_watermark]
            new = range(len(s.committed), len(below))
            if new:
                s.committed = s.committed + below[len(s.committed) :]
                if self.acknowledges():
                    hosted, its = self.hosted(s, broker), self.environment(broker)
                    if after.outcome(hosted, its, len(below)) is Errors.NONE:
                        s.acknowledged |= frozenset(new)

    def advance(self, s: S, leader: BrokerId) -> None:
        """A leader raises its high watermark, if it can."""
        hosted, its = self.hosted(s, leader), self.environment(leader)
        self.keep(s, leader, self.partition(s, leader).advance_high_watermark(hosted, its))

    # A broker hears of its role.

    def later_request(self, s: S, broker: BrokerId, epoch: LeaderEpoch) -> Leadership:
        """The request of an epoch, which must be later than the broker's own.

        A broker that has started hears of the present state first: requests to its former process are gone.
        """
        require(self.is_known(s, broker))
        if s.life[broker] is not Life.Runs:
            require(epoch == s.partition_state.leader_epoch)
            s.life[broker] = Life.Runs
            return s.partition_state
        request = s.leader_and_isr.get(epoch)
        require(request is not None and is_newer_leader_epoch(s.replica[broker].leader_epoch, epoch))
        assert request is not None
        return request

    @action
    def become_leader(self, s: S, broker: BrokerId, epoch: Elected) -> None:
        """A broker accepts a request that makes it leader. It keeps its log. [Partition.makeLeader]"""
        before, mine = self.hosted(s, broker), self.partition(s, broker)
        request = self.later_request(s, broker, epoch)
        require(request.leader == broker)
        self.hears(s, broker, request)
        s.fetching.pop(broker, None)
        self.keep(s, broker, mine.make_leader(self.hosted(s, broker), self.environment(broker), before))

    @action(when=several_brokers)
    def become_follower(self, s: S, broker: BrokerId, epoch: Elected) -> None:
        """A broker accepts a request that names another leader, and begins to fetch. [makeFollowers]"""
        before = s.replica[broker]
        request = self.later_request(s, broker, epoch)
        leader = request.leader
        require(leader is not None and leader != broker)
        assert leader is not None
        self.hears(s, broker, request._replace(isr=frozenset()))
        self.refuse_followers(s, broker)
        self.keep(s, broker, self.partition(s, broker))
        if begins_anew((before.leader, before.leader_epoch), (leader, epoch), self.control_design):
            self.follow(s, broker, Followed.begin(s.log[broker], epoch, self.rules))

    def hears(self, s: S, broker: BrokerId, request: Leadership) -> None:
        """A broker has a new role, and what it has asked of the controller is void.

        It does not hear of a role while its fetcher thread asks where a leader's log ends, which holds a lock. Since
        3.9.1 its thread will ignore the responses to earlier requests, so they are dropped (see `Fetching`).
        """
        for leader in self.replicas():
            require(leader == broker or not self.holds_partitions(s, Pair(broker, leader)))
        s.replica[broker] = request
        if self.isr_in_two_steps:
            s.proposals.pop(broker, None)
        for leader in self.replicas() if self.design.match_fetch_epoch else ():
            if leader == broker:
                continue
            pair = Pair(broker, leader)
            if pair in s.responses:
                del s.requests[pair], s.responses[pair]
            elif self.is_late(s, pair):
                del s.requests[pair]

    def refuse_followers(self, s: S, broker: BrokerId) -> None:
        """A broker that follows will refuse what others have asked; who is in that request's epoch then fails."""
        for follower in self.replicas() if self.design.match_fetch_epoch else ():
            if follower == broker:
                continue
            pair = Pair(follower, broker)
            if pair not in s.responses and self.is_late(s, pair):
                if s.requests[pair].current_leader_epoch == s.replica[follower].leader_epoch:
                    s.fetching.pop(follower, None)
                del s.requests[pair]

    def holds_partitions(self, s: S, pair: Pair) -> bool:
        """Whether a fetcher thread asks where its leader's log ends, or starts."""
        return pair in s.requests and s.requests[pair].asks in (Asks.EndOfLog, Asks.StartOfLog)

    def is_late(self, s: S, pair: Pair) -> bool:
        """Whether a leader will refuse a request, because its epoch is later than the request's."""
        if pair not in s.requests:
            return False
        epoch = s.requests[pair].current_leader_epoch
        return epoch is not None and epoch < s.replica[pair.leader].leader_epoch

    # A leader.

    @action
    def append(self, s: S, leader: BrokerId) -> None:
        """A leader appends a record that a producer sends with acks=all. [appendRecordsToLeader]"""
        self.produce(s, leader, all_in_sync=True)

    @action(when=lambda self: self.min_insync_replicas > 1)
    def append_for_leader(self, s: S, leader: BrokerId) -> None:
        """A leader appends a record that a producer sends with acks=1."""
        self.produce(s, leader, all_in_sync=False)

    def produce(self, s: S, leader: BrokerId, all_in_sync: bool) -> None:
        """A leader appends a record, if the ISR is large enough for its producer."""
        hosted, its = self.hosted(s, leader), self.environment(leader)
        value = self.values[min(s.deaths, self.histories - 1)][s.replica[leader].leader_epoch]
        after = self.partition(s, leader).append(hosted, its, (value,), all_in_sync)
        require(isinstance(after, Partition))
        assert isinstance(after, Partition)
        bound(after.log.end_offset <= self.log_size)
        self.keep(s, leader, after)

    @action(when=several_brokers)
    def drop(self, s: S, leader: BrokerId, replica: BrokerId) -> None:
        """A leader takes a member that has lagged for too long out of the ISR. [maybeShrinkIsr]"""
        hosted = self.hosted(s, leader)
        require(hosted.is_led_by(leader) and leader != replica)
        require(replica in self.partition(s, leader).out_of_sync(hosted, self.environment(leader)))
        require(self.change_isr(s, leader, s.replica[leader].isr - {replica}))
        if not self.isr_in_two_steps:
            self.advance(s, leader)

    def change_isr(self, s: S, leader: BrokerId, isr: frozenset[BrokerId]) -> bool:
        """A leader asks for an ISR, or writes it. Returns whether it could: not in an epoch that is over."""
        if self.isr_in_two_steps:
            if leader in s.proposals:
                return False
            s.proposals[leader] = Proposal(isr)
            return True
        if s.partition_state.leader_epoch != s.replica[leader].leader_epoch:
            return False
        self.write_isr(s, isr)
        s.replica[leader] = s.replica[leader]._replace(isr=isr)
        return True

    def write_isr(self, s: S, isr: frozenset[BrokerId]) -> None:
        """An ISR is written to ZooKeeper, under the same epoch; no request is sent."""
        if self.design.eligible_leader_replicas:
            self.keep_eligible(s, isr)
        s.partition_state = s.partition_state._replace(isr=isr)

    @action(when=lambda self: self.isr_in_two_steps and self.brokers > 1, actor="controller", receiver="ZooKeeper")
    def alter_partition(self, s: S, broker: BrokerId) -> None:
        """The controller writes the ISR that a leader has asked for, in the present epoch. [AlterPartition]"""
        proposal = s.proposals.get(broker)
        require(proposal is not None and proposal.written is Written.Sent)
        assert proposal is not None
        require(s.replica[broker].leader_epoch == s.partition_state.leader_epoch)
        if self.design.name_broker_epochs and proposal.is_outdated:
            say("refused: a member has restarted")
            s.proposals[broker] = proposal._replace(written=Written.Refused)
            return
        self.write_isr(s, proposal.isr)
        s.proposals[broker] = proposal._replace(written=Written.Written)

    @action(when=lambda self: self.isr_in_two_steps and self.brokers > 1)
    def hear_of_isr(self, s: S, leader: BrokerId) -> None:
        """A leader has the answer to its request for an ISR. [handleAlterPartitionUpdate]"""
        proposal = s.proposals.get(leader)
        require(proposal is not None and proposal.written is not Written.Sent)
        assert proposal is not None
        del s.proposals[leader]
        if proposal.written is Written.Written:
            s.replica[leader] = s.replica[leader]._replace(isr=proposal.isr)
            if self.design.advance_on_commit:
                self.advance(s, leader)

    # Fetcher threads.

    def follow(self, s: S, follower: BrokerId, followed: Followed) -> None:
        """Keep a follower's log, and the state of its thread."""
        s.log[follower] = followed.log
        if followed.state is None:
            s.fetching.pop(follower, None)
        else:
            s.fetching[follower] = followed.state

    @action(when=several_brokers, receiver="leader")
    def ask(self, s: S, follower: BrokerId, leader: BrokerId) -> None:
        """A follower's thread asks: where an epoch ends, if it has to truncate first, or for records. [doWork]"""
        pair = Pair(follower, leader)
        require(follower != leader and follower in s.fetching and s.replica[follower].leader == leader)
        require(pair not in s.requests)
        followed = Followed(s.log[follower], s.fetching[follower])
        question = followed.truncation_question(self.rules)
        if question is not None:
            s.requests[pair] = Request.of(question)
            return
        followed = followed.truncated_without_epoch(self.rules)
        fetch = followed.fetch_question(self.rules)
        assert fetch is not None
        self.follow(s, follower, followed)
        s.requests[pair] = Request.of(fetch)

    @action(when=several_brokers, receiver="follower")
    def answer(self, s: S, leader: BrokerId, follower: BrokerId) -> None:
        """A leader answers a follower's request. By a fetch it learns of the follower's log end."""
        pair = Pair(follower, leader)
        require(follower != leader and pair in s.requests and pair not in s.responses)
        require(s.life[leader] in RUNNING)
        request, mine, hosted = s.requests[pair], self.partition(s, leader), self.hosted(s, leader)
        its = self.environment(leader)
        response: PartitionAnswer
        if request.asks is Asks.Records:
            response = self.answer_fetch(s, pair, request.fetch)
        elif request.asks is Asks.EndOfEpoch:
            response = mine.end_of_epoch(hosted, its, request.epoch_question)
        else:
            response = mine.end_of_log(hosted, its, request.offset_question)
        if response.error in ASKS_AGAIN or self.is_ignored(s, pair):
            say(f"refused: {response.error}")
            del s.requests[pair]
        else:
            s.responses[pair] = Response.of(response)

    def answer_fetch(self, s: S, pair: Pair, asked: FetchPartition) -> FetchedPartition:
        """The answer to a fetch; the follower may join the ISR, and the high watermark may advance."""
        (follower, leader), its = pair, self.environment(pair.leader)
        mine, hosted = self.partition(s, leader), self.hosted(s, leader)
        answer = mine.read(hosted, its, follower, asked)
        noted = mine.note_fetch(follower, asked, answer, its)
        self.keep(s, leader, noted.partition)
        if noted.may_join and follower not in hosted.state.isr:
            self.change_isr(s, leader, s.replica[leader].isr | {follower})
        if noted.may_advance:
            self.advance(s, leader)
        if self.design.answer_after_advance and answer.error is Errors.NONE:
            return answer._replace(high_watermark=s.log[leader].high_watermark)
        return answer

    def is_ignored(self, s: S, pair: Pair) -> bool:
        """Whether a follower will ignore a response to its request: it is in a later epoch (see `Fetching`)."""
        epoch = s.requests[pair].current_leader_epoch
        return self.design.match_fetch_epoch and epoch != s.replica[pair.follower].leader_epoch

    @action(when=lambda self: self.late_reads and self.brokers > 1, receiver="follower")
    def read_late(self, s: S, leader: BrokerId, follower: BrokerId) -> None:
        """A response is sent only now, and the leader's file has changed since the fetch. [FileRecords.writeTo]"""
        pair = Pair(follower, leader)
        require(follower != leader)
        require(pair in s.responses)
        response = s.responses[pair]
        records = s.log[leader].records[s.requests[pair].fetch_offset :][: len(response.records)]
        require(records != response.records and len(records) == len(response.records))
        s.responses[pair] = response._replace(records=records)

    @action(when=several_brokers)
    def take_response(self, s: S, follower: BrokerId, leader: BrokerId) -> None:
        """A follower's thread processes a response, if it still fetches the partition there."""
        pair = Pair(follower, leader)
        require(follower != leader and pair in s.responses)
        request, response = s.requests.pop(pair), s.responses.pop(pair)
        if follower not in s.fetching or s.replica[follower].leader != leader:
            say("it is no longer about a partition of this thread")
            return
        followed = Followed(s.log[follower], s.fetching[follower])
        taken: Followed | OutOfRange | Halts
        if request.asks is Asks.Records:
            taken = followed.take_fetched(request.fetch, response.fetched, self.rules)
        elif request.asks is Asks.EndOfEpoch:
            taken = followed.take_end_of_epoch(request.epoch_question, response.end_of_epoch, self.rules)
        else:
            taken = followed.take_end_offset(
                request.offset_question, response.offset, self.admin_design.unclean_by_default, self.rules
            )
        match taken:
            case OutOfRange(question):
                s.requests[pair] = Request.of(question)
            case Halts():
                say("the broker halts, and is started again")
                self.ends(s, follower, None, None)
            case Followed():
                self.follow(s, follower, taken)

    # Deaths.

    @action(when=lambda self: self.checkpoints and self.max_deaths > 0)
    def write_checkpoint(self, s: S, broker: BrokerId) -> None:
        """A broker writes its high watermark to its disk. [checkpointHighWatermarks]"""
        require(s.replica[broker].leader_epoch >= 0)
        offset = max(0, s.log[broker].high_watermark)
        require(s.checkpoint[broker] != offset)
        s.checkpoint[broker] = offset

    @action(when=brokers_die)
    def die(self, s: S, broker: BrokerId, kept: Offset, high_watermark: Offset) -> None:
        """A broker dies. Some records are left, and a high watermark on its disk.

        Where the controller elects any member, the broker starts again at once. It waits for the controller.
        """
        log = s.log[broker]
        require(s.life[broker] is Life.Runs)
        bound(s.deaths < self.max_deaths)
        require(0 <= kept <= log.end_offset and (self.lossy or kept == log.end_offset))
        if self.checkpoints:
            require(high_watermark == s.checkpoint[broker])
        else:
            require(0 <= high_watermark <= min(log.high_watermark, kept))
        s.deaths += 1
        self.ends(s, broker, kept, high_watermark)

    def ends(self, s: S, broker: BrokerId, kept: Offset | None, high_watermark: Offset | None) -> None:
        """A broker's process ends, and what it has sent and received is gone. It starts with what is on its disk."""
        log = s.log[broker]
        if high_watermark is None:
            high_watermark = s.checkpoint[broker] if self.checkpoints else log.high_watermark
        s.log[broker] = Disk().left_by(log, kept).loaded().with_high_watermark(high_watermark)
        s.replica[broker] = Leadership()
        s.epoch_start[broker] = None
        s.fetching.pop(broker, None)
        if self.isr_in_two_steps:
            s.proposals.pop(broker, None)
        for other in self.replicas():
            if other == broker:
                continue
            s.end_offsets[Pair(other, broker)] = -1
            for pair in (Pair(broker, other), Pair(other, broker)):
                s.requests.pop(pair, None)
                s.responses.pop(pair, None)
            if self.isr_in_two_steps and other in s.proposals and broker in s.proposals[other].isr:
                s.proposals[other] = s.proposals[other]._replace(is_outdated=True)
        s.life[broker] = Life.Bounced if self.elects_any_member else Life.Died

    @action(when=lambda self: not self.elects_any_member and brokers_die(self))
    def start_again(self, s: S, broker: BrokerId) -> None:
        """A dead broker starts."""
        require(s.life[broker] in (Life.Died, Life.Down))
        s.life[broker] = Life.Returned if s.life[broker] is Life.Down else Life.Bounced
