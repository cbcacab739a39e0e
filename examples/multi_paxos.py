"""MultiPaxos: replicas agree on a log of commands, and so act for their clients like one register.

A leader prepares its ballot once, for all slots of the log: a majority promises to ignore lower ballots, and reports
its votes. In each slot the leader adopts the latest of these votes. From then on, it puts each request of a client
into its next empty slot, and asks the others to accept it. Once a majority has voted for a command, the leader
commits the slot, applies the command and answers the client. A leader that did not wait for the majority could answer
with a value that the next leader does not know (`--without wait_for_majority`).

Sent messages are never removed, so a message may arrive late, twice or never. A command reads the register, or writes
a value of its own. Left out: crashes, and clients that ask again.

The specification MultiPaxos of Guanzhou Hu (2024), as TLC counts it: with three interchangeable replicas, one write,
one read and two ballots, 343,796 distinct states, depth 28 [tlaplus/Examples,
specifications/MultiPaxos-SMR/MultiPaxos.tla, model MultiPaxos_MC_small.cfg].
"""

from itertools import combinations, permutations
from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    at_most,
    constant,
    initial,
    interchangeable,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Replica = Annotated[str, "a replica"]
Command = Annotated[str, "a command"]
Write = Annotated[str, "a command that writes, and the value that it writes"]
Ballot = Annotated[int, "a ballot"]
Known = Annotated[int, "a ballot, or 0 for none"]
Slot = Annotated[int, "a slot of the log"]
Committed = Annotated[int, "a number of slots"]


class Vote(NamedTuple):
    """A replica's vote in a slot."""

    ballot: Ballot
    command: Command


class Entry(NamedTuple):
    """What a replica has in a slot of its log."""

    status: Literal["empty", "preparing", "accepting", "committed"]
    command: Command | None
    vote: Vote | None


class Prepare(NamedTuple):
    """A leader asks for promises."""

    leader: Replica
    ballot: Ballot


class Promise(NamedTuple):
    """A replica promises to ignore lower ballots, and reports its vote in each slot."""

    replica: Replica
    ballot: Ballot
    votes: tuple[Vote | None, ...]


class Accept(NamedTuple):
    """A leader asks for votes for a command."""

    leader: Replica
    ballot: Ballot
    slot: Slot
    command: Command


class Accepted(NamedTuple):
    """A replica announces its vote."""

    replica: Replica
    ballot: Ballot
    slot: Slot


class Commit(NamedTuple):
    """A leader announces that a slot is committed."""

    slot: Slot


class Request(NamedTuple):
    """A client has asked."""

    command: Command


class Answer(NamedTuple):
    """A client has been answered, with the value before its command."""

    command: Command
    value: Write | None


class Replicas(State):
    """Replicas, all messages that were sent, and what clients see."""

    leader: Total[Replica, Replica | None] = variable("The leader that each replica follows.")
    ballot: Total[Replica, Known] = variable("The highest ballot that each replica has heard of.")
    prepared: Total[Replica, Known] = variable("The last ballot that each replica has prepared as a leader.")
    log: Total[tuple[Replica, Slot], Entry] = variable("The log of each replica.")
    committed: Total[Replica, Committed] = variable("How many slots each replica has committed.")
    value: Total[Replica, Write | None] = variable("The register at each replica.")
    messages: frozenset[Prepare | Promise | Accept | Accepted | Commit] = variable("All messages ever sent.")
    pending: tuple[Command, ...] = variable("Commands that no leader has committed.")
    observed: tuple[Request | Answer, ...] = variable("What clients have seen, in order.")
    stopped: frozenset[Replica] = variable("Replicas that have stopped, since all is answered.")


class MultiPaxos(Specification[Replicas]):
    """Replicas act like one register."""

    leaves_out = "crashes, clients that ask again"

    replicas: int = constant(3, "Replicas.", at_least=1)
    writes: int = constant(1, "Commands that write.", at_least=1)
    reads: int = constant(1, "Commands that read.", at_least=0)
    ballots: int = constant(2, "Bound: ballots.", at_least=1)
    wait_for_majority: bool = switch(True, "A leader commits a slot only after a majority has voted.")

    def sizes(self) -> dict[Any, Size]:
        """Replicas are interchangeable; commands are not, since they are requested in order."""
        writes, reads = [f"w{n + 1}" for n in range(self.writes)], [f"r{n + 1}" for n in range(self.reads)]
        slots = len(writes + reads)
        return {
            Replica: interchangeable("replica", [f"s{number + 1}" for number in range(self.replicas)]),
            Command: writes + reads,
            Write: writes,
            Ballot: range(1, self.ballots + 1),
            Known: range(self.ballots + 1),
            Slot: range(slots),
            Committed: range(slots + 1),
            tuple[Vote | None, ...]: at_most(slots),
            tuple[Command, ...]: at_most(slots),
            tuple[Request | Answer, ...]: at_most(2 * slots),
        }

    @property
    def slots(self) -> range:
        """As many slots as commands."""
        return range(self.writes + self.reads)

    @initial
    def begin(self, s: Replicas) -> None:
        """Clients will ask in this order."""
        s.pending = tuple(self.domain_of(Command))

    @action
    def become_leader(self, s: Replicas, replica: Replica, ballot: Ballot) -> None:
        """A replica begins a ballot that is higher than those it knows."""
        require(not self.is_over(s) and s.leader[replica] != replica and ballot > s.ballot[replica])
        require(not any(isinstance(message, Prepare) and message.ballot == ballot for message in s.messages))
        s.prepared[replica] = 0
        s.messages |= {Prepare(replica, ballot)}
        self.follow(s, replica, replica, ballot)

    @action
    def promise(self, s: Replicas, replica: Replica, leader: Replica, ballot: Ballot) -> None:
        """A replica hears of a higher ballot."""
        require(not self.is_over(s) and Prepare(leader, ballot) in s.messages and ballot > s.ballot[replica])
        self.follow(s, replica, leader, ballot)

    def follow(self, s: Replicas, replica: str, leader: str, ballot: int) -> None:
        """A replica makes its promise; what it was accepting has to be prepared."""
        s.leader[replica], s.ballot[replica] = leader, ballot
        for slot in self.slots:
            entry = s.log[replica, slot]
            if entry.status == "accepting":
                s.log[replica, slot] = entry._replace(status="preparing")
        s.messages |= {Promise(replica, ballot, tuple(s.log[replica, slot].vote for slot in self.slots))}

    @action
    def finish_preparing(self, s: Replicas, replica: Replica) -> None:
        """A leader has the promises of a majority: in each slot it asks for the latest vote that they report."""
        require(not self.is_over(s) and s.leader[replica] == replica and s.prepared[replica] == 0)
        promises = [each for each in s.messages if isinstance(each, Promise) and each.ballot == s.ballot[replica]]
        require(2 * len(promises) > self.replicas)
        s.prepared[replica] = s.ballot[replica]
        for slot in self.slots:
            entry = s.log[replica, slot]
            votes = [vote for promise in promises if (vote := promise.votes[slot]) is not None]
            if entry.status != "committed" and votes:
                latest = max(votes)
                s.log[replica, slot] = entry._replace(status="accepting", command=latest.command)
                s.messages |= {Accept(replica, s.ballot[replica], slot, latest.command)}
            elif entry.status != "committed":
                s.log[replica, slot] = entry._replace(status="empty", command=None)

    @action
    def take_request(self, s: Replicas, replica: Replica) -> None:
        """A prepared leader puts the next request into its first empty slot, and votes for it."""
        require(not self.is_over(s) and self.leads(s, replica))
        empty = [slot for slot in self.slots if s.log[replica, slot].status == "empty"]
        known = {s.log[replica, slot].command for slot in self.slots}
        asked = [command for command in s.pending if command not in known]
        require(empty and asked)
        self.vote(s, replica, empty[0], Vote(s.ballot[replica], asked[0]))
        s.messages |= {Accept(replica, s.ballot[replica], empty[0], asked[0])}
        self.observe(s, Request(asked[0]))

    @action
    def accept(
        self, s: Replicas, replica: Replica, leader: Replica, ballot: Ballot, slot: Slot, command: Command
    ) -> None:
        """A replica votes as a leader asks, unless it knows of a higher ballot or has voted in this one."""
        require(not self.is_over(s) and Accept(leader, ballot, slot, command) in s.messages)
        vote = s.log[replica, slot].vote
        require(ballot >= s.ballot[replica] and (vote is None or ballot > vote.ballot))
        s.leader[replica], s.ballot[replica] = leader, ballot
        self.vote(s, replica, slot, Vote(ballot, command))

    def vote(self, s: Replicas, replica: str, slot: int, vote: Vote) -> None:
        """A replica votes, and announces it."""
        s.log[replica, slot] = Entry("accepting", vote.command, vote)
        s.messages |= {Accepted(replica, vote.ballot, slot)}

    @action
    def commit(self, s: Replicas, replica: Replica) -> None:
        """A leader commits its next slot, which a majority has voted for, and answers the client."""
        require(not self.is_over(s) and self.leads(s, replica))
        ballot, slot, before = s.ballot[replica], s.committed[replica], s.value[replica]
        votes = [each for each in s.messages if isinstance(each, Accepted) and each[1:] == (ballot, slot)]
        require(2 * len(votes) > self.replicas or not self.wait_for_majority)
        command = self.apply(s, replica)
        s.pending = tuple(each for each in s.pending if each != command)
        s.messages |= {Commit(slot)}
        self.observe(s, Answer(command, before))

    @action
    def follow_commit(self, s: Replicas, replica: Replica) -> None:
        """A follower hears that its next slot is committed."""
        require(not self.is_over(s) and s.leader[replica] != replica)
        require(any(isinstance(each, Commit) and each.slot == s.committed[replica] for each in s.messages))
        self.apply(s, replica)

    def apply(self, s: Replicas, replica: str) -> str:
        """A replica commits its next slot, and applies the command there."""
        slot = s.committed[replica]
        require(slot in self.slots and s.log[replica, slot].status == "accepting")
        command = s.log[replica, slot].command
        assert command is not None
        s.log[replica, slot] = s.log[replica, slot]._replace(status="committed")
        s.committed[replica] = slot + 1
        if command in self.domain_of(Write):
            s.value[replica] = command
        return command

    @action
    def stop(self, s: Replicas, replica: Replica) -> None:
        """All commands are answered."""
        require(self.is_over(s))
        s.stopped |= {replica}

    def leads(self, s: Replicas, replica: str) -> bool:
        """Whether a replica believes that it leads, and has prepared its ballot."""
        return s.leader[replica] == replica and s.prepared[replica] == s.ballot[replica]

    def observe(self, s: Replicas, event: Request | Answer) -> None:
        """A client sees something, unless it has seen it before."""
        if event not in s.observed:
            s.observed += (event,)

    def is_over(self, s: Replicas) -> bool:
        """Whether all clients have asked and are answered."""
        asked = {each.command for each in s.observed if isinstance(each, Request)}
        answered = {each.command for each in s.observed if isinstance(each, Answer)}
        return not s.pending and asked == answered == set(self.domain_of(Command))

    @invariant
    def linearizable(self, s: Replicas) -> bool:
        """Once all are answered, some order of the commands explains the answers."""
        return not self.is_over(s) or any(self.explains(s, order) for order in permutations(self.domain_of(Command)))

    def explains(self, s: Replicas, order: tuple[str, ...]) -> bool:
        """Whether commands were answered as in this order, and those answered before others asked are before them."""
        value = None
        for command in order:
            if Answer(command, value) not in s.observed:
                return False
            value = command if command in self.domain_of(Write) else value
        seen = [(type(each), each.command) for each in s.observed]
        return all(
            seen.index((Answer, second)) > seen.index((Request, first)) for first, second in combinations(order, 2)
        )

    @sometimes
    def all_are_answered(self, s: Replicas) -> bool:
        """All clients are answered."""
        return self.is_over(s)

    @sometimes
    def another_leader_adopts_a_vote(self, s: Replicas) -> bool:
        """A command is proposed in two ballots."""
        ballots = {(each.slot, each.ballot) for each in s.messages if isinstance(each, Accept)}
        return len({slot for slot, _ in ballots}) < len(ballots)
