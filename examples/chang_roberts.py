"""Chang and Roberts elect a leader on a ring: the node with the lowest identity among those that begin.

A node that begins is a candidate, and sends its identity to the next node. A candidate that receives a lower identity
has lost, and forwards it; a higher one it discards. A node that is no candidate forwards whatever it receives. So an
identity that comes back to its own node is the lowest, and this node has won. If candidates forwarded higher
identities too, all of them would win (`--without discard_higher`).

A node's identity is its number. Messages to a node form a set, and arrive in any order. Left out: crashes, lost
messages, and how the other nodes learn who has won.

Ernest Chang and Rosemary Roberts, An Improved Algorithm for Decentralized Extrema-Finding in Circular Configurations
of Processes (1979), as TLC counts it: 137 distinct states with three nodes, 227 generated, depth 10
[tlaplus/Examples, specifications/chang_roberts/ChangRoberts.tla, model MCChangRoberts.cfg].
"""

from typing import Annotated, Any, Literal

from spec.language import (
    Size,
    Specification,
    State,
    Total,
    action,
    constant,
    initial,
    invariant,
    require,
    sometimes,
    switch,
    variable,
)

Node = Annotated[int, "a node"]


class Ring(State):
    """Nodes on a ring, and the identities on their way."""

    begins: Total[Node, bool] = variable("Whether each node is one of those that begin.")
    started: Total[Node, bool] = variable("Whether each node has started.")
    role: Total[Node, Literal["candidate", "lost", "won"]] = variable("The role of each node.")
    messages: Total[Node, frozenset[Node]] = variable("The identities on their way to each node.")


class ChangRoberts(Specification[Ring]):
    """Nodes on a ring elect a leader."""

    leaves_out = "crashes, lost messages, the announcement of the leader"

    nodes: int = constant(3, "Nodes.", at_least=2)
    discard_higher: bool = switch(True, "A candidate discards a higher identity.")

    def sizes(self) -> dict[Any, Size]:
        """Nodes are 1, 2, 3."""
        return {Node: range(1, self.nodes + 1)}

    def send(self, s: Ring, node: Node, identity: Node) -> None:
        """A node sends an identity to the next node of the ring."""
        s.messages[node % self.nodes + 1] |= {identity}

    @initial
    def begin(self, s: Ring, beginners: frozenset[Node]) -> None:
        """Any nodes may begin; the others have lost."""
        for node in s.begins:
            s.begins[node] = node in beginners
            s.role[node] = "candidate" if node in beginners else "lost"

    @action
    def start(self, s: Ring, node: Node) -> None:
        """A node starts; if it begins, it sends its identity."""
        require(not s.started[node])
        s.started[node] = True
        if s.begins[node]:
            self.send(s, node, node)

    @action
    def receive(self, s: Ring, node: Node, identity: Node) -> None:
        """A node that has started receives an identity."""
        require(s.started[node] and identity in s.messages[node])
        s.messages[node] -= {identity}
        if s.role[node] == "lost":
            self.send(s, node, identity)
        elif identity == node:
            s.role[node] = "won"
        elif identity < node:
            s.role[node] = "lost"
            self.send(s, node, identity)
        elif not self.discard_higher:
            self.send(s, node, identity)

    @invariant
    def the_lowest_wins(self, s: Ring, node: Node) -> bool:
        """A node that has won is the lowest of those that begin, and all others have lost."""
        others = s.role.keys() - {node}
        return s.role[node] != "won" or (
            node == min(each for each, begins in s.begins.items() if begins)
            and all(s.role[other] == "lost" for other in others)
        )

    @sometimes
    def won_against_all(self, s: Ring) -> bool:
        """All begin, and one has won."""
        return all(s.begins.values()) and "won" in s.role.values()
