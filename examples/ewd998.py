"""Termination detection on a ring: a token finds out whether all nodes are passive and no message is on its way.

Active nodes send messages, and a message makes its receiver active again. Each node counts the messages that it has
sent, less those that it has received. A token goes round, and adds up these counters. But a message may wake a node
that the token has already passed, so a sum of zero is no proof. Therefore a node that receives a message turns black,
a black node makes the token black, and after a round with a black token node 0 begins another. If nodes did not turn
black, node 0 would announce the end too early (`--without turn_black`).

The network is unordered, and messages are alike, so a number of them is enough. Left out: what nodes compute.

Shmuel Safra's algorithm, in Edsger Dijkstra's note EWD 998 (1987), as TLC counts it: 321,370 distinct states with
three nodes and counters of at most 2, depth 47 [tlaplus/Examples, specifications/ewd998/EWD998PCal.tla, model
EWD998PCal.cfg]. The invariant `safra` is that of the note.
"""

from typing import Annotated, Any, Literal, NamedTuple

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    bound,
    constant,
    initial,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Node = Annotated[int, "a node"]
Counter = Annotated[int, "messages sent, less messages received, by one node or several"]
Pending = Annotated[int, "a number of messages"]
Colour = Literal["black", "white"]


class Token(NamedTuple):
    """What goes round the ring, from a node to the one with the next lower number."""

    node: Node
    sum: Counter
    colour: Colour


class Ring(State):
    """Nodes, the messages between them, and the token."""

    active: Total[Node, bool] = variable("Whether each node is active.")
    colour: Total[Node, Colour] = variable("Black, if a node may have received since the token passed.")
    counter: Total[Node, Counter] = variable("The messages that each node has sent, less those it has received.")
    pending: Total[Node, Pending] = variable("The number of messages on their way to each node.")
    token: Token = variable("The token.")


class EWD998(Specification[Ring]):
    """A token detects that nodes have terminated."""

    leaves_out = "what nodes compute"

    nodes: int = constant(2, "Nodes.", at_least=2)
    most: int = constant(2, "Bound: the counter of a node.", at_least=1)
    turn_black: bool = switch(True, "A node that receives a message turns black.")

    def sizes(self) -> dict[Any, Size]:
        """If each counter is at most `most`, no more than `most` times `nodes` messages are on their way."""
        messages = self.most * self.nodes
        lowest = -messages * self.nodes  # of a sum of counters
        return {Node: range(self.nodes), Counter: range(lowest, messages + 1), Pending: range(messages + 1)}

    @initial
    def begin(self, s: Ring, active: frozenset[Node]) -> None:
        """Any nodes are active. Nothing was sent, and the token at node 0 is black: no round has begun."""
        for node in s.active:
            s.active[node] = node in active
            s.counter[node] = s.pending[node] = 0
        s.token = Token(0, 0, "black")

    @action
    def send(self, s: Ring, node: Node, to: Node) -> None:
        """An active node sends a message to another."""
        require(s.active[node] and node != to)
        bound(s.counter[node] < self.most)
        s.counter[node] += 1
        s.pending[to] += 1

    @action
    def receive(self, s: Ring, node: Node) -> None:
        """A node receives a message, and becomes active."""
        require(s.pending[node] > 0)
        s.pending[node] -= 1
        s.counter[node] -= 1
        s.active[node] = True
        if self.turn_black:
            s.colour[node] = "black"

    @action
    def terminate(self, s: Ring, node: Node) -> None:
        """A node becomes passive."""
        s.active[node] = False

    @action
    def pass_token(self, s: Ring, node: Node) -> None:
        """A passive node other than 0 adds its counter and its colour to the token, passes it on, and turns white."""
        require(s.token.node == node != 0 and not s.active[node])
        colour = "black" if s.colour[node] == "black" else s.token.colour
        s.token = Token(node - 1, s.token.sum + s.counter[node], colour)
        s.colour[node] = "white"

    @action
    def initiate(self, s: Ring) -> None:
        """Node 0 learns nothing from a round, and begins another."""
        require(s.token.node == 0)
        require("black" in (s.colour[0], s.token.colour) or s.token.sum + s.counter[0] != 0)
        s.token = Token(self.nodes - 1, 0, "white")
        s.colour[0] = "white"

    def is_detected(self, s: Ring) -> bool:
        """Whether node 0 can announce the end."""
        quiet = not s.active[0] and s.pending[0] == 0 and s.token.sum + s.counter[0] == 0
        return quiet and s.token.node == 0 and s.token.colour == s.colour[0] == "white"

    @invariant
    def detection_is_right(self, s: Ring) -> bool:
        """When node 0 announces the end, no node is active, and no message is on its way."""
        return not self.is_detected(s) or not (any(s.active.values()) or any(s.pending.values()))

    @invariant
    def safra(self, s: Ring) -> bool:
        """The token is right about the nodes that it has passed, or node 0 will not trust it."""
        ahead, passed = range(s.token.node + 1), range(s.token.node + 1, self.nodes)
        return sum(s.counter.values()) == sum(s.pending.values()) and (
            (not any(s.active[node] for node in passed) and s.token.sum == sum(s.counter[node] for node in passed))
            or sum(s.counter[node] for node in ahead) + s.token.sum > 0
            or any(s.colour[node] == "black" for node in ahead)
            or s.token.colour == "black"
        )

    @sometimes
    def detected(self, s: Ring) -> bool:
        """Node 0 can announce the end."""
        return self.is_detected(s)

    @sometimes
    def only_colours_tell(self, s: Ring) -> bool:
        """The sum at the end of a round is zero and node 0 is passive, but another node is active."""
        zero = s.token.node == 0 and s.token.sum + s.counter[0] == 0
        return zero and s.token.colour != s.colour[0] and not s.active[0] and any(s.active.values())
