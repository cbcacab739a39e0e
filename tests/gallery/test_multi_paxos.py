"""`examples/multi_paxos.py` is MultiPaxos with messages in a set."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import Any, NamedTuple

import pytest

from tests.gallery.exploring import ENGINES, Explored, checked, explored, figures


class Node(NamedTuple):
    """A replica; 0 and None stand for no ballot and for nothing."""

    leader: int | None = None
    value: str | None = None
    committed: int = 0
    prepared: int = 0
    ballot: int = 0
    log: tuple[tuple[Any, ...], ...] = ()
    """By slot: the status, the command, and the ballot and command of the vote."""


class State(NamedTuple):
    """A state of all replicas."""

    nodes: tuple[Node, ...]
    messages: frozenset[tuple[Any, ...]]
    pending: tuple[str, ...]
    observed: tuple[tuple[Any, ...], ...] = ()
    stopped: frozenset[int] = frozenset()


def plain(replicas: int, commands: tuple[str, ...], ballots: int, *, wait_for_majority: bool = True) -> Explored:
    """Explore all states, without the language."""
    slots = range(len(commands))

    def put(state: State, number: int, node: Node, *messages: tuple[Any, ...]) -> State:
        nodes = (*state.nodes[:number], node, *state.nodes[number + 1 :])
        return state._replace(nodes=nodes, messages=state.messages | {*messages})

    def followed(node: Node, number: int, leader: int, ballot: int) -> tuple[Node, tuple[Any, ...]]:
        log = tuple(("preparing" if status == "accepting" else status, *rest) for status, *rest in node.log)
        votes = tuple((ballot, command) for _, _, ballot, command in log)
        return node._replace(leader=leader, ballot=ballot, log=log), ("promise", number, ballot, votes)

    def voted(node: Node, slot: int, ballot: int, command: str) -> Node:
        entry = ("accepting", command, ballot, command)
        return node._replace(log=(*node.log[:slot], entry, *node.log[slot + 1 :]))

    def applied(node: Node) -> Node:
        slot = node.committed
        _, command, *vote = node.log[slot]
        log = (*node.log[:slot], ("committed", command, *vote), *node.log[slot + 1 :])
        value = command if command.startswith("w") else node.value
        return node._replace(log=log, committed=slot + 1, value=value)

    def seen(state: State, event: tuple[Any, ...]) -> State:
        return state if event in state.observed else state._replace(observed=(*state.observed, event))

    def is_over(state: State) -> bool:
        return not state.pending and len({(kind, command) for kind, command, *_ in state.observed}) == 2 * len(slots)

    def following(state: State) -> Iterator[State]:
        for number, node in enumerate(state.nodes):
            if is_over(state):
                yield state._replace(stopped=state.stopped | {number})
                continue
            begun = {message[2] for message in state.messages if message[0] == "prepare"}
            for ballot in range(node.ballot + 1, ballots + 1):
                if node.leader != number and ballot not in begun:
                    after, promise = followed(node._replace(prepared=0), number, number, ballot)
                    yield put(state, number, after, ("prepare", number, ballot), promise)
            for message in state.messages:
                if message[0] == "prepare" and message[2] > node.ballot:
                    yield put(state, number, *followed(node, number, *message[1:]))
                if message[0] == "accept":
                    _, leader, ballot, slot, command = message
                    if ballot >= node.ballot and ballot > node.log[slot][2]:
                        after = voted(node._replace(leader=leader, ballot=ballot), slot, ballot, command)
                        yield put(state, number, after, ("accepted", number, ballot, slot))
            yield from leading(state, number, node)
            slot = node.committed
            ready = slot in slots and node.log[slot][0] == "accepting"
            if node.leader != number and ready and ("commit", slot) in state.messages:
                yield put(state, number, applied(node))

    def leading(state: State, number: int, node: Node) -> Iterator[State]:
        if node.leader != number:
            return
        ballot = node.ballot
        promises = [message for message in state.messages if message[0] == "promise" and message[2] == ballot]
        if not node.prepared and 2 * len(promises) > replicas:
            log, asked = list(node.log), []
            for slot in slots:
                latest, command = max((each[3][slot] for each in promises), key=lambda vote: vote[0])
                if log[slot][0] != "committed":
                    log[slot] = ("accepting" if latest else "empty", command, *log[slot][2:])
                    asked += [("accept", number, ballot, slot, command)] if latest else []
            yield put(state, number, node._replace(prepared=ballot, log=tuple(log)), *asked)
        if node.prepared != ballot:
            return
        empty = [slot for slot in slots if node.log[slot][0] == "empty"]
        new = [command for command in state.pending if command not in {entry[1] for entry in node.log}]
        if empty and new:
            slot, command = empty[0], new[0]
            sent = ("accept", number, ballot, slot, command), ("accepted", number, ballot, slot)
            yield seen(put(state, number, voted(node, slot, ballot, command), *sent), ("request", command))
        slot = node.committed
        votes = [message for message in state.messages if message[0] == "accepted" and message[2:] == (ballot, slot)]
        enough = 2 * len(votes) > replicas or not wait_for_majority
        if slot in slots and node.log[slot][0] == "accepting" and enough:
            command = node.log[slot][1]
            after = seen(put(state, number, applied(node), ("commit", slot)), ("answer", command, node.value))
            yield after._replace(pending=tuple(each for each in state.pending if each != command))

    def is_wrong(state: State) -> bool:
        return is_over(state) and not any(explains(order, state.observed) for order in permutations(commands))

    def explains(order: tuple[str, ...], observed: tuple[tuple[Any, ...], ...]) -> bool:
        at = {event[:2]: number for number, event in reversed(list(enumerate(observed)))}
        value = None
        for command in order:
            if ("answer", command, value) not in observed:
                return False
            value = command if command.startswith("w") else value
        pairs = combinations(order, 2)
        return all(at["answer", second] > at["request", first] for first, second in pairs)

    empty_log = (("empty", None, 0, None),) * len(slots)
    return explored([State((Node(log=empty_log),) * replicas, frozenset(), commands)], following, is_wrong)


@pytest.mark.long
def test_it_has_the_published_states() -> None:
    """TLC's figures for MultiPaxos_MC_small.cfg, as recorded in its manifest, with its symmetry of replicas."""
    result = checked("multi_paxos", "local", symmetry=True)
    assert (result.verdict, result.distinct_states, result.depth) == ("holds", 343_796, 28)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("replicas", "writes", "reads", "ballots"), [(1, 1, 1, 2), (2, 1, 0, 2), (3, 1, 0, 1)])
def test_states_equal_a_search_in_plain_python(
    engine: str, replicas: int, writes: int, reads: int, ballots: int
) -> None:
    """Also where one replica is a majority, or two of two are needed."""
    commands = (*(f"w{n + 1}" for n in range(writes)), *(f"r{n + 1}" for n in range(reads)))
    result = checked("multi_paxos", engine, replicas=replicas, writes=writes, reads=reads, ballots=ballots)
    assert result.counterexample is None
    assert figures(result) == plain(replicas, commands, ballots).figures


@pytest.mark.long
def test_a_leader_that_does_not_wait_answers_wrongly() -> None:
    """The shortest path is as long as in plain Python; two replicas would have to agree in any case."""
    expected = plain(3, ("w1", "r1"), 2, wait_for_majority=False)
    assert expected.broken
    result = checked("multi_paxos", "local", symmetry=True, wait_for_majority=False)
    assert (result.verdict, result.depth) == ("violated", expected.figures.depth)
    assert result.counterexample is not None
    assert result.counterexample.broken == "linearizable"
