"""Paxos: acceptors choose one value, although messages are late or lost and several ballots run at once.

The leader of a ballot asks acceptors for promises. An acceptor promises to ignore lower ballots, and reports its last
vote. Once a majority has promised, the leader proposes a value: that of the latest vote among those reported, or any
value if none is reported. Acceptors then vote. A value is chosen once a majority has voted for it in one ballot. A
leader that ignored the reports could have a second value chosen (`--without adopt_votes`).

Sent messages are never removed, so a message may arrive late, twice or never. A leader has no state of its own: what
it knows, it has read in messages. Left out: learners, and how leaders pick ballots.

Paxos of Leslie Lamport, How to Win a Turing Award (2019), as TLC counts it: 3,921 distinct states with three
acceptors, two values and the ballots 0 and 1, depth 17 [tlaplus/Examples,
specifications/PaxosHowToWinATuringAward/Paxos.tla, model MCPaxosTiny.cfg].
"""

from itertools import combinations
from typing import Annotated, Any, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    constant,
    interchangeable,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Acceptor = Annotated[str, "an acceptor"]
Value = Annotated[str, "a value"]
Ballot = Annotated[int, "a ballot"]


class Vote(NamedTuple):
    """An acceptor's vote."""

    ballot: Ballot
    value: Value


class Prepare(NamedTuple):
    """The leader of a ballot asks for promises [1a]."""

    ballot: Ballot


class Promise(NamedTuple):
    """An acceptor promises to ignore lower ballots, and reports its last vote [1b]."""

    acceptor: Acceptor
    ballot: Ballot
    last_vote: Vote | None


class Propose(NamedTuple):
    """The leader of a ballot proposes a value [2a]."""

    ballot: Ballot
    value: Value


class Accept(NamedTuple):
    """An acceptor announces its vote [2b]."""

    acceptor: Acceptor
    vote: Vote


class Acceptors(State):
    """What acceptors remember, and what was sent."""

    ballot: Total[Acceptor, Ballot | None] = variable("The highest ballot that each acceptor has taken part in.")
    last_vote: Total[Acceptor, Vote | None] = variable("The last vote of each acceptor.")
    messages: frozenset[Prepare | Promise | Propose | Accept] = variable("All messages ever sent.")


class Paxos(Specification[Acceptors]):
    """Acceptors choose one value."""

    leaves_out = "learners, how leaders pick ballots"

    acceptors: int = constant(3, "Acceptors.", at_least=1)
    values: int = constant(2, "Values that can be proposed.", at_least=1)
    ballots: int = constant(2, "Bound: ballots.", at_least=1)
    adopt_votes: bool = switch(True, "A leader proposes the value of the latest vote that is reported to it.")

    def sizes(self) -> dict[Any, Size]:
        """Acceptors are interchangeable, and so are values."""
        return {
            Acceptor: interchangeable("acceptor", [f"a{number + 1}" for number in range(self.acceptors)]),
            Value: interchangeable("value", [f"v{number + 1}" for number in range(self.values)]),
            Ballot: range(self.ballots),
        }

    def quorums(self) -> list[frozenset[str]]:
        """The smallest majorities: any two have an acceptor in common."""
        return [*map(frozenset, combinations(self.domain_of(Acceptor), self.acceptors // 2 + 1))]

    @action
    def prepare(self, s: Acceptors, ballot: Ballot) -> None:
        """The leader of a ballot asks for promises."""
        s.messages |= {Prepare(ballot)}

    @action
    def promise(self, s: Acceptors, acceptor: Acceptor, ballot: Ballot) -> None:
        """An acceptor hears of a higher ballot, and makes its promise."""
        require(Prepare(ballot) in s.messages)
        highest = s.ballot[acceptor]
        require(highest is None or ballot > highest)
        s.ballot[acceptor] = ballot
        s.messages |= {Promise(acceptor, ballot, s.last_vote[acceptor])}

    @action
    def propose(self, s: Acceptors, ballot: Ballot, value: Value) -> None:
        """The leader of a ballot has the promises of a quorum, and proposes a value; it does so once."""
        require(not any(isinstance(message, Propose) and message.ballot == ballot for message in s.messages))
        promises = [each for each in s.messages if isinstance(each, Promise) and each.ballot == ballot]
        require(any(self.allows(promises, quorum, value) for quorum in self.quorums()))
        s.messages |= {Propose(ballot, value)}

    def allows(self, promises: list[Promise], quorum: frozenset[str], value: str) -> bool:
        """Whether all of a quorum have promised, and the latest of their votes, if any, is for the value."""
        heard = [promise for promise in promises if promise.acceptor in quorum]
        votes = [promise.last_vote for promise in heard if promise.last_vote is not None]
        return len(heard) == len(quorum) and (not votes or not self.adopt_votes or max(votes).value == value)

    @action
    def accept(self, s: Acceptors, acceptor: Acceptor, ballot: Ballot, value: Value) -> None:
        """An acceptor that has not promised a higher ballot votes for what is proposed."""
        require(Propose(ballot, value) in s.messages)
        highest = s.ballot[acceptor]
        require(highest is None or ballot >= highest)
        s.ballot[acceptor], s.last_vote[acceptor] = ballot, Vote(ballot, value)
        s.messages |= {Accept(acceptor, Vote(ballot, value))}

    def chosen(self, s: Acceptors) -> set[str]:
        """The values for which a majority has voted in one ballot."""
        votes = [message.vote for message in s.messages if isinstance(message, Accept)]
        return {vote.value for vote in votes if 2 * votes.count(vote) > self.acceptors}

    @invariant
    def agreement(self, s: Acceptors) -> bool:
        """At most one value is ever chosen."""
        return len(self.chosen(s)) <= 1

    @invariant
    def promises_are_honest(self, s: Acceptors) -> bool:
        """An acceptor has cast the vote that it reports."""
        return all(
            Accept(message.acceptor, message.last_vote) in s.messages
            for message in s.messages
            if isinstance(message, Promise) and message.last_vote is not None
        )

    @sometimes
    def a_value_is_chosen(self, s: Acceptors) -> bool:
        """A value is chosen."""
        return bool(self.chosen(s))

    @sometimes
    def two_are_voted_for(self, s: Acceptors) -> bool:
        """Acceptors have voted for different values, in different ballots."""
        return len({message.vote.value for message in s.messages if isinstance(message, Accept)}) > 1
