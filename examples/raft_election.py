"""Raft's election of leaders: a server votes once in a term, and the votes of a majority make a leader.

A server that hears of no leader begins a term, votes for itself and asks for votes. The others vote for the first
that asks, and remember it on disk: after a crash they would vote again, for another (`--without vote_on_disk`).

Sent messages are never removed, so a message may arrive late, twice or never. A candidate wins when a majority has
sent its votes; their arrival is not a separate step. Left out: logs, and so the refusal of a candidate whose log is
behind; refusals themselves; all heartbeats of a leader but the first.

Diego Ongaro and John Ousterhout, In Search of an Understandable Consensus Algorithm (2014), section 5.2. No figures
are published; the tests count the same states in plain Python.
"""

from typing import Annotated, Any, Literal

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    bound,
    constant,
    interchangeable,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Server = Annotated[int, "a server"]
Term = Annotated[int, "a term"]


class Servers(State):
    """What servers know, and what they have sent."""

    term: Total[Server, Term] = variable("The latest term that each server has heard of; on disk.")
    voted_for: Total[Server, Server | None] = variable("The vote of each server in its term; on disk.")
    role: Total[Server, Literal["follower", "candidate", "leader"]] = variable("The role of each server in its term.")
    requests: Total[Term, frozenset[Server]] = variable("The servers that have asked for votes in each term.")
    votes: Total[tuple[Term, Server], frozenset[Server]] = variable("The voters for a candidate in a term.")
    heartbeats: Total[Term, frozenset[Server]] = variable("The servers that have sent heartbeats in each term.")


class RaftElection(Specification[Servers]):
    """Servers elect leaders, and crash."""

    leaves_out = "logs, refusals, heartbeats but the first"

    servers: int = constant(3, "Servers.", at_least=2)
    terms: int = constant(2, "Bound: terms after term 0, the initial one.", at_least=1)
    vote_on_disk: bool = switch(True, "A server that restarts remembers its vote.")

    def sizes(self) -> dict[Any, Size]:
        """Servers are interchangeable, and terms are bounded."""
        return {Server: interchangeable("server", range(self.servers)), Term: range(self.terms + 1)}

    def enter(self, s: Servers, server: Server, term: Term) -> None:
        """A server becomes a follower in a term; in a later term it has not voted yet."""
        require(term >= s.term[server])
        if term > s.term[server]:
            s.term[server], s.voted_for[server] = term, None
        s.role[server] = "follower"

    def vote(self, s: Servers, server: Server, candidate: Server) -> None:
        """A server votes in its term."""
        require(s.voted_for[server] is None)
        s.voted_for[server] = candidate
        s.votes[s.term[server], candidate] |= {server}

    @action
    def time_out(self, s: Servers, server: Server) -> None:
        """A server that does not lead begins a term, votes for itself, and asks the others."""
        require(s.role[server] != "leader")
        bound(s.term[server] < self.terms)
        self.enter(s, server, s.term[server] + 1)
        self.vote(s, server, server)
        s.role[server] = "candidate"
        s.requests[s.term[server]] |= {server}

    @action(actor="server", receiver="candidate")
    def grant(self, s: Servers, server: Server, term: Term, candidate: Server) -> None:
        """A server is asked for its vote in its own term or a later one, and gives it if it has not voted."""
        require(candidate in s.requests[term])
        self.enter(s, server, term)
        self.vote(s, server, candidate)

    @action
    def win(self, s: Servers, server: Server) -> None:
        """A candidate has the votes of a majority: it leads, and announces it."""
        require(s.role[server] == "candidate")
        require(2 * len(s.votes[s.term[server], server]) > self.servers)
        s.role[server] = "leader"
        s.heartbeats[s.term[server]] |= {server}

    @action
    def follow(self, s: Servers, server: Server, term: Term) -> None:
        """A server hears of a leader of a later term, or, as a candidate, of one in its own term."""
        require(s.heartbeats[term])
        require(term > s.term[server] or s.role[server] == "candidate")
        self.enter(s, server, term)

    @action
    def restart(self, s: Servers, server: Server) -> None:
        """A server crashes, and restarts with its state on disk."""
        s.role[server] = "follower"
        if not self.vote_on_disk:
            s.voted_for[server] = None

    @invariant
    def election_safety(self, s: Servers, term: Term) -> bool:
        """At most one server ever leads in a term."""
        return len(s.heartbeats[term]) <= 1

    @sometimes
    def two_leaders(self, s: Servers) -> bool:
        """A leader does not know yet that another server leads in a later term."""
        return list(s.role.values()).count("leader") > 1

    @sometimes
    def split_vote(self, s: Servers, term: Term) -> bool:
        """Every server is a candidate in a term, has voted for itself, and cannot win."""
        return len(s.requests[term]) == self.servers
