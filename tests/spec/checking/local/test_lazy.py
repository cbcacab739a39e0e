"""Lazy values behave like plain ones, and read every slot on which the outcome depends."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from spec.checking.local.lazy import Copy, ReadSlots, Writes, plain
from spec.checking.local.lenses import Lens, Lenses, NotRepresentable
from spec.language import Domain, OutOfDomain, booleans, integers, possibly_empty, tuple_of
from tests.rows import rows
from tests.spec.checking.local.programs import QUESTIONS, Program, around, changes, materials_of, programs
from tests.spec.checking.local.structures import FEW_OF, SMALL, STRUCTURES
from tests.spec.language.trees import Tree, exact, trees

MOST = 100
"""The most values in a domain."""


class Memory:
    """Registers for some values, with one code in each."""

    def __init__(self, *domains: Domain[Any]):
        self.domains, self.lenses, made, at = domains, list[Lens](), Lenses(), 0
        for domain in domains:
            self.lenses.append(made.at(domain, at))
            assert self.lenses[-1].slots == len(domain.slots)
            at += len(domain.slots)
        self.places = [(slot, 0, -1) for slot in range(at)]

    def codes(self, values: tuple[Any, ...]) -> list[int]:
        """The registers that hold these values."""
        return [code for domain, value in zip(self.domains, values, strict=True) for code in domain.codes(value)]

    def seen(self, values: tuple[Any, ...]) -> ReadSlots:
        """These values, with nothing read yet."""
        return ReadSlots(self.places, self.codes(values))

    def canonical(self, values: tuple[Any, ...]) -> list[Any]:
        """The same values, with sets in the order of their domains."""
        return [domain.value(domain.codes(value)) for domain, value in zip(self.domains, values, strict=True)]

    def written(self, writes: Writes, values: tuple[Any, ...], at: int) -> tuple[int, ...]:
        """The codes of one domain after these writes."""
        codes = self.codes(values)
        done = [codes[it.slot] if isinstance(it := writes.get(n, code), Copy) else it for n, code in enumerate(codes)]
        first = self.lenses[at].at
        return tuple(done[first : first + self.lenses[at].slots])

    def look(self, seen: ReadSlots) -> list[Any]:
        """The lazy values."""
        return [lens.look(seen) for lens in self.lenses]


def outcome(do: Callable[..., Any], *values: Any) -> Any:
    """The fully read result, or the type of the exception."""
    try:
        return ordered(plain(do(*values)))
    except Exception as failure:
        return type(failure)


def ordered(value: Any) -> Any:
    """A comparable form: with types, and with frozensets in a fixed order."""
    if type(value) in (frozenset, set):
        return type(value).__name__, sorted(map(repr, map(exact, map(plain, value))))
    if isinstance(value, list | dict):
        return type(value).__name__, [ordered(plain(each)) for each in value]
    return exact(value)


def agreeing(memory: Memory, seen: ReadSlots, members: list[list[Any]]) -> st.SearchStrategy[list[tuple[Any, ...]]]:
    """Some values that agree with those read so far."""
    agree = []
    for domain, lens, values in zip(memory.domains, memory.lenses, members, strict=True):
        read = [(slot - lens.at, seen[slot]) for slot in range(lens.at, lens.at + lens.slots) if slot in seen]
        agree.append([value for value in values if all(domain.codes(value)[at] == code for at, code in read)])
    return st.lists(st.tuples(*map(st.sampled_from, agree)), min_size=1, max_size=8)


@st.composite
def domains(draw: st.DrawFn) -> list[Tree]:
    """Three domains: any, or one structure with different contents, or equal domains, or the same one."""
    if draw(st.integers(0, 4)) == 0:
        return [draw(trees(most=MOST)) for _ in range(3)]
    structure = STRUCTURES[draw(st.sampled_from(sorted(STRUCTURES)))]
    leaf = st.sampled_from(SMALL)
    found = [structure(draw(leaf), draw(leaf)) for _ in range(draw(st.integers(1, 2)))]
    found += [Tree(copy.deepcopy(found[0].domain), found[0].members), found[0]]
    assume(all(len(tree.members) <= MOST for tree in found))
    return draw(st.permutations(found * 2))[:3]


@given(st.data(), domains())
def test_operations_equal_those_on_plain_values(data: st.DataObject, found: list[Tree]) -> None:
    """For these values, and for all others that agree in the slots read."""
    two = found[:2]
    memory, members = Memory(*(tree.domain for tree in two)), [tree.members for tree in two]
    x, y = (data.draw(st.sampled_from(each)) for each in members)
    left, right = data.draw(programs(x, y)), data.draw(programs(x, y))
    answered = [
        name
        for name, question in QUESTIONS.items()
        if not isinstance(outcome(question, left.value, right.value), type)
    ]
    name = data.draw(st.sampled_from(answered) | st.sampled_from(sorted(QUESTIONS)))
    note(f"{name} of v = {left.text}, w = {right.text}")

    def ask(x: Any, y: Any) -> Any:
        return QUESTIONS[name](left.run(x, y), right.run(x, y))

    seen = memory.seen((x, y))
    answer = outcome(ask, *memory.look(seen))
    assert answer == outcome(ask, *memory.canonical((x, y)))
    for others in data.draw(agreeing(memory, seen, members)):
        assert outcome(ask, *memory.canonical(others)) == answer, (others, dict(seen))


def codes_of(domain: Domain[Any], do: Callable[..., Any], *values: Any) -> Any:
    """The codes of the result, None if it is outside the domain, or the type of the exception."""
    try:
        return domain.codes(plain(do(*values)))
    except OutOfDomain:
        return None
    except Exception as failure:
        return type(failure)


@given(st.data(), domains())
def test_writes_equal_those_of_plain_values(data: st.DataObject, found: list[Tree]) -> None:
    """Codes and copies give the value in every state that agrees in the slots read."""
    memory, members = Memory(*(tree.domain for tree in found)), [tree.members for tree in found]
    values = tuple(data.draw(st.sampled_from(each)) for each in members)
    program = data.draw(programs(values[0], values[1]))
    holding = [at for at, domain in enumerate(memory.domains) if program.value in domain]
    at = data.draw(st.sampled_from(holding) | st.integers(0, 2) if holding else st.integers(0, 2))
    note(f"{program.text} over {values[at]!r}")

    def do(x: Any, y: Any, z: Any) -> Any:
        return program.run(x, y)

    def expected(values: tuple[Any, ...]) -> Any:
        return codes_of(memory.domains[at], do, *memory.canonical(values))

    seen, writes = memory.seen(values), Writes()
    try:
        memory.lenses[at].put(seen, do(*memory.look(seen)), writes)
    except (OutOfDomain, NotRepresentable):
        for others in data.draw(agreeing(memory, seen, members)):
            assert expected(others) is None
    except Exception as failure:
        raised = type(failure)
        assert {expected(others) for others in data.draw(agreeing(memory, seen, members))} == {raised}
    else:
        for others in data.draw(agreeing(memory, seen, members)):
            assert memory.written(writes, others, at) == expected(others), (others, dict(seen), writes)


def test_an_empty_slice_of_a_tuple_is_the_empty_tuple() -> None:
    """Where a tuple may be empty, nothing is written but that."""
    pair = tuple_of(booleans(), booleans())
    memory = Memory(pair, possibly_empty(pair))
    seen, writes = memory.seen(((True, False), (True, True))), Writes()
    x, _ = memory.look(seen)
    memory.lenses[1].put(seen, x[5:9], writes)
    assert writes == {2: 0, 3: 0, 4: 0}


# The same for all small values.


class Pairs:
    """All pairs of values of a domain."""

    def __init__(self, tree: Tree):
        self.memory = Memory(tree.domain, tree.domain)
        self.values = list(product(tree.members, repeat=2))
        self.codes = list(map(self.memory.codes, self.values))
        self.canonical = list(map(self.memory.canonical, self.values))
        x, y = self.canonical[-2]
        self.materials = [each for each in materials_of(x, y) if not each.text.startswith("y") or each.text == "y"]

    def paths(self, do: Callable[[ReadSlots, list[Any]], Any]) -> Iterator[tuple[Any, list[int]]]:
        """The result of each path, with the pairs that take it: those that agree in the slots it reads."""
        found: dict[tuple[tuple[int, int], ...], tuple[Any, list[int]]] = {}
        for number, codes in enumerate(self.codes):
            seen = ReadSlots(self.memory.places, codes)
            answer = do(seen, self.memory.look(seen))
            found.setdefault(tuple(seen.items()), (answer, []))[1].append(number)
        for path, (answer, takers) in found.items():
            agree = (codes for codes in self.codes if all(codes[slot] == code for slot, code in path))
            assert sum(1 for _ in agree) == len(takers), path
            yield answer, takers


def test_constant_answers_read_nothing() -> None:
    """For nonempty tuples, or an order that the greatest integer of a domain decides."""
    memory = Memory(possibly_empty([(0,), (1, 0)]), integers(0, 3), integers(0, 3))
    seen = memory.seen(((1, 0), 2, 3))
    calls, epoch, latest = memory.look(seen)
    assert calls
    assert not epoch > latest
    assert list(seen) == [memory.lenses[0].at, memory.lenses[2].at]
    assert len(calls) == 2
    assert epoch < latest
    assert len(seen) == 4


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=[pytest.mark.long] * each.startswith("records ")) for each in FEW_OF]
)
def test_every_operation_on_small_values(kind: str) -> None:
    """On all pairs of values, each path has one answer, which is that of plain values."""
    pairs = Pairs(FEW_OF[kind])
    for name, question in QUESTIONS.items():
        for left, right in product(pairs.materials, repeat=2):

            def ask(x: Any, y: Any) -> Any:
                return question(left.run(x, y), right.run(x, y))  # noqa: B023 - called before the next ones come

            answers = {number: outcome(ask, *values) for number, values in enumerate(pairs.canonical)}
            for answer, takers in pairs.paths(lambda _, values: outcome(ask, *values)):
                for number in takers:
                    assert answers[number] == answer, (name, left.text, right.text, pairs.values[number])


@rows("kind", [*FEW_OF])
def test_every_write_of_small_values(kind: str) -> None:
    """Assigned to the first value, each path writes what plain values would."""
    pairs = Pairs(FEW_OF[kind])
    memory, made = pairs.memory, dict[str, Program]()
    for of, by in product(pairs.materials, repeat=2):
        made |= {program.text: program for program in (of, *around(of, by), *changes(of, by))}
    for program in made.values():

        def put(seen: ReadSlots, values: list[Any]) -> Writes | None:
            writes = Writes()
            try:
                memory.lenses[0].put(seen, program.run(*values), writes)  # noqa: B023
            except Exception:
                return None
            return writes

        for writes, takers in pairs.paths(put):
            for number in takers:
                expected = codes_of(memory.domains[0], program.run, *pairs.canonical[number])
                if writes is None:
                    assert expected is None or isinstance(expected, type), (program.text, pairs.values[number])
                else:
                    assert memory.written(writes, pairs.values[number], 0) == expected, (
                        program.text,
                        pairs.values[number],
                    )
