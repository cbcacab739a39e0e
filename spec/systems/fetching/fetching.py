"""Fetch by fetch: theory, views, pictures."""

from __future__ import annotations

from election.ids import BrokerId
from spec.language import Cells, Grid, Look, Tag, picture, view, where
from spec.systems.fetching.properties import FetchingProperties
from spec.systems.fetching.state import Asks, Life, Pair, Request, Response, S
from spec.systems.replication.replication import listed
from statemachines.messages.errors import Errors


class Fetching(FetchingProperties):
    """The replicas of one partition, fetch by fetch, with elections, ISR changes and deaths.

    The rules are the library's, which are compared with Kafka's classes: `Partition` for leaders, `Followed` for
    fetcher threads, `UnifiedLog` and `LeaderEpochs` for logs, in the design of a release. `Replication` answers the
    same questions for the published models, in which nothing dies and a fetch reads the leader's log at once.

    A leader learns of a follower's log end by a fetch, and of nothing else. A follower truncates as its release does:
    to its high watermark, by the leader's answer where an epoch ends, or where a fetch finds that the logs part. One
    request of a pair of brokers is under way at a time. A broker keeps a thread for each leader, since it follows
    other partitions there; so a request outlives the epoch in which it was sent.

    The controller is one of two. It elects any member of the ISR at any time, and removes any: then a property that
    holds depends on no schedule, and a broker that dies starts again at once. Or it elects by the rules of `election`
    among the brokers that it believes alive (`elects_any_member` off): then an anomaly comes from deaths and from
    preferred elections alone. It notices deaths late and, with `hidden_bounces`, sometimes never: until 2.1, or since
    if another controller takes over meanwhile. A broker that has started hears the present state first.

    Off by default: what lasts on the disk (`lossy`, `checkpoints`), the way of an ISR to the controller and back
    (`isr_in_two_steps`), `hidden_bounces`, `late_reads`. Unclean elections need a controller that knows who lives.

    A record is its leader epoch (m@2): a leader appends one history in an epoch, so two records of an epoch at one
    offset are the same. Until 0.10 its value stands for that epoch (m2), which no broker reads. A death that loses
    records may begin another history, and `histories` tells them apart.

    Steps that are taken early. Since 3.9.1 a follower ignores responses to requests of earlier epochs. They are
    dropped when it hears of its next epoch, and so is an earlier request to a leader that will refuse it, whose epoch
    is later. A broker that becomes a follower drops what others have asked it in earlier epochs, and fails those that
    are still there. Each of these steps is due anyway, no other step prevents it, and what it makes impossible is
    only to wait for it; so logs, roles and ISRs reach the same values. A test compares them.

    Left out: time, so a follower that is behind may have been for long. The high watermark waits for no replica
    outside the ISR (KAFKA-4485), as if all had lagged for too long. Retention: logs begin at 0 (so B32 is not here).
    The request of a broker that dies is gone, even if its leader has received it. Also left out: AlterPartition that
    is lost or refused by version, and that LeaderAndIsr overtakes (B35); producers' retries; reassignment.
    """

    name = "fetching"
    leaves_out = "time, retention, lost AlterPartition requests, reassignment; see the docstring of Fetching"

    # Views: a state in sentences, for the reader of a trace.

    @view
    def leadership(self, s: S) -> str:
        """The leader and the ISR in ZooKeeper."""
        state = s.partition_state
        leads = "no broker leads" if state.leader is None else f"broker {state.leader} leads"
        under = f" under epoch {state.leader_epoch}" if state.leader_epoch >= 0 else ""
        return f"in ZooKeeper {leads}{under}, and the ISR is {listed(state.isr)}"

    @view
    def role(self, s: S, broker: BrokerId) -> str:
        """A broker's belief about its role, and whether it is true."""
        mine, life = s.replica[broker], s.life[broker]
        if life is not Life.Runs:
            return f"broker {broker}: {life}"
        where(mine.leader_epoch >= 0)
        now = mine.leader_epoch == s.partition_state.leader_epoch
        under = f"under epoch {mine.leader_epoch}{'' if now else ', which is over'}"
        if mine.leader == broker:
            return f"broker {broker} {'leads' if now else 'still believes that it leads'} {under}"
        does = "follows" if broker in s.fetching else "has failed to follow"
        return f"broker {broker} {does} broker {mine.leader} {under}"

    @view
    def known(self, s: S, leader: BrokerId, follower: BrokerId) -> str:
        """A leader's wrong belief about a follower: it counts records that the follower does not have."""
        where(leader != follower and s.replica[leader].leader == leader)
        end, log = s.end_offsets[Pair(follower, leader)], s.log[follower]
        if end <= log.end_offset and s.log[leader].records[: max(end, 0)] == log.records[: max(end, 0)]:
            return ""
        return f"broker {leader} believes that broker {follower} has its records below {end}; it has not"

    @view
    def contents(self, s: S, broker: BrokerId) -> str:
        """A log's records, each with its leader epoch, and its high watermark."""
        where(any(log.records for log in s.log.values()))
        log = s.log[broker]
        holds = " ".join(map(str, log.records)) or "empty"
        disk = f", {s.checkpoint[broker]} on its disk" if self.checkpoints else ""
        return f"the log of broker {broker}: {holds}; high watermark {log.high_watermark}{disk}"

    @view
    def exchange(self, s: S, follower: BrokerId, leader: BrokerId) -> str:
        """A request of a fetcher thread, and the response."""
        pair = Pair(follower, leader)
        where(follower != leader and pair in s.requests)
        asked = f"broker {follower} has asked broker {leader} for {brief_request(s.requests[pair])}"
        return f"{asked}; on its way back: {brief_response(s.responses[pair])}" if pair in s.responses else asked

    @view(when=lambda self: self.history)
    def lost(self, s: S) -> str:
        """The committed records that the leader does not have."""
        leader = s.partition_state.leader
        where(leader is not None)
        assert leader is not None
        has = s.log[leader].records
        gone = [str(at) for at, each in enumerate(s.committed) if has[at : at + 1] != (each,)]
        return f"broker {leader} lacks what was committed at offset {', '.join(gone)}" if gone else ""

    # Pictures.

    @picture
    def logs(self, s: S) -> Grid:
        """Each log: its records (m@2 is of epoch 2), its high watermark (HW), its end (LEO), and its broker."""
        return Grid(
            ("broker", "log", "believes it is", "process"),
            [
                (f"broker {each}", self._log(s, each), self._role(s, each), "" if life is Life.Runs else str(life))
                for each, life in sorted(s.life.items())
            ],
        )

    def _log(self, s: S, broker: BrokerId) -> Cells:
        log = s.log[broker]
        records = [Tag(each, self._standing(s, broker, offset)) for offset, each in enumerate(log.records)]
        marks = {"HW": min(log.high_watermark, log.end_offset), "LEO": log.end_offset}
        return Cells(records, marks, room=self.log_size)

    def _standing(self, s: S, broker: BrokerId, offset: int) -> Look:
        """A record below the high watermark is committed; a record that differs from the committed one is wrong."""
        log = s.log[broker]
        if self.history and s.committed[offset : offset + 1] not in ((), log.records[offset : offset + 1]):
            return Look.wrong
        return Look.strong if offset < log.high_watermark else Look.plain

    def _role(self, s: S, broker: BrokerId) -> Tag | str:
        mine = s.replica[broker]
        if mine.leader != broker:
            return "nothing yet" if mine.leader_epoch < 0 else f"follower of {mine.leader}, epoch {mine.leader_epoch}"
        if mine.leader_epoch == s.partition_state.leader_epoch:
            return Tag(f"leader, epoch {mine.leader_epoch}", Look.strong)
        return Tag(f"leader, epoch {mine.leader_epoch}", Look.wrong, "its epoch is over")

    @picture
    def exchanges(self, s: S) -> Grid:
        """The requests of fetcher threads, and the responses."""
        return Grid(
            ("follower", "leader", "asks for", "response"),
            [
                (each.follower, each.leader, brief_request(asked), brief_response(s.responses.get(each)))
                for each, asked in sorted(s.requests.items())
            ],
        )


def brief_request(request: Request) -> str:
    """A request in a few words.

    >>> brief_request(Request(Asks.Records, 2, 1, 0)), brief_request(Request(Asks.EndOfLog, None))
    ('records from 1 on, in epoch 2, after one of epoch 0', 'the end of the log')
    """
    under = "" if request.current_leader_epoch is None else f", in epoch {request.current_leader_epoch}"
    match request.asks:
        case Asks.Records:
            after = "" if request.epoch is None else f", after one of epoch {request.epoch}"
            return f"records from {request.fetch_offset} on{under}{after}"
        case Asks.EndOfEpoch:
            return f"the end of epoch {request.epoch}{under}"
    return f"{request.asks}{under}"


def brief_response(response: Response | None) -> str:
    """A response in a few words.

    >>> brief_response(Response(high_watermark=1)), brief_response(None)
    ('no records, HW 1', '')
    """
    if response is None:
        return ""
    if response.error is not Errors.NONE:
        return str(response.error)
    if response.end is not None:
        return f"it ends at {response.end.end_offset}" + (
            f", epoch {response.end.epoch}" if response.end.epoch >= 0 else ""
        )
    return f"{' '.join(map(str, response.records)) or 'no records'}, HW {response.high_watermark}"
