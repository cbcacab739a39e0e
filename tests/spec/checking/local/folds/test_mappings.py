"""Folds over mappings: one path for each result, and in every state what plain Python decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import pytest

from spec.checking import check
from spec.checking.local import LocalEngine, recording
from spec.checking.local.plain_comparison import Claim, PlainComparison
from spec.checking.local.recording import Recorder
from spec.checking.local.tables import DecisionTables
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from spec.language import (
    Partial,
    Specification,
    State,
    Step,
    Total,
    action,
    initial,
    integers,
    mapping,
    optional,
    partial_mapping,
    record,
    require,
    transition_invariant,
    tuple_of,
    variable,
)
from tests.rows import rows
from tests.spec.checking.everywhere import whole
from tests.spec.checking.local.folds.crowds import (
    Judged,
    crowd,
    fold_from,
    paths,
    require_agreement,
    tables,
    words_of,
)


class Tag(NamedTuple):
    """A number, and its kind."""

    kind: str
    n: int


TAG = record(Tag, kind=["a", "b"], n=integers(0, 2))
TAGS = [Tag(*each) for each in product("ab", range(3))]
LINES = [(), (1,), (1, 2)]
Pair = tuple[str, int]
PAIR = tuple_of(["a", "b"], integers(0, 2))


class RowState(State):
    """Numbers in places."""

    row: Total[int, int] = variable("In each.", of=lambda self: mapping(range(4), integers(0, 2)))
    some: Partial[int, int] = variable("In some.", of=lambda self: partial_mapping(range(3), integers(0, 1)))


class TagState(State):
    """Tags in places, and a tuple of several lengths, which takes one slot."""

    tags: Total[int, Tag] = variable("In each.", of=lambda self: mapping(range(3), TAG))
    lines: Total[int, tuple[int, ...]] = variable("In each.", of=lambda self: mapping(range(3), LINES))


class MoreState(State):
    """Tuples, and tags in some places."""

    pairs: Total[int, Pair] = variable("In each.", of=lambda self: mapping(range(3), PAIR))
    more: Total[int, Tag | None] = variable("In some.", of=lambda self: mapping(range(2), optional(TAG)))


class Judging(Specification[Any]):
    """An action is enabled where a function of the state is true."""

    @action
    def act(self, s: Any) -> None:
        require(self.judged(s))

    def judged(self, s: Any) -> bool:
        """The function of a test."""
        raise NotImplementedError


class Rows(Judging, Specification[RowState]):
    """All states are initial."""

    @initial(row=[*product(range(3), repeat=4)], some=[*product((None, 0, 1), repeat=3)])
    def begin(self, s: RowState, row: Any, some: Any) -> None:
        for place, n in enumerate(row):
            s.row[place] = n
        for place, n in enumerate(some):
            if n is not None:
                s.some[place] = n


class Tags(Judging, Specification[TagState]):
    """All states are initial."""

    @initial(tags=[*product(TAGS, repeat=3)], lines=[*product(LINES, repeat=3)])
    def begin(self, s: TagState, tags: Any, lines: Any) -> None:
        for place, (tag, line) in enumerate(zip(tags, lines, strict=True)):
            s.tags[place], s.lines[place] = tag, line


class More(Judging, Specification[MoreState]):
    """All states are initial."""

    @initial(pairs=[*product(PAIR, repeat=3)], more=[*product((None, *TAGS), repeat=2)])
    def begin(self, s: MoreState, pairs: Any, more: Any) -> None:
        for place, pair in enumerate(pairs):
            s.pairs[place] = pair
        for place, tag in enumerate(more):
            s.more[place] = tag


def over(cls: type, judged: Callable[[Any], Any]) -> Judged:
    """The specification with this function."""
    return type(judged.__name__, (cls,), {"judged": lambda self, s: judged(s)})


# Functions of rows.


def heavy(s: Any) -> Any:
    return sum(s.row.values()) > 5


def mostly_ones(s: Any) -> Any:
    return sum(s.row[place] == 1 for place in range(4)) > 2


def of_two_kinds(s: Any) -> Any:
    return len({s.row[place] for place in s.row}) == 2


def without_ones(s: Any) -> Any:
    return set(s.row.values()) <= {0, 2}


def high(s: Any) -> Any:
    return max(s.row.values()) == 1


def low_elsewhere(s: Any) -> Any:
    return min((n for place, n in s.row.items() if place != 2), default=0) > 0


def full(s: Any) -> Any:
    return len(s.some) > 1


def heavy_somewhere(s: Any) -> Any:
    return sum(s.some.values()) > 1


def of_keys(s: Any) -> Any:
    return sum(place + 1 for place in s.some) == 3


def of_keys_asked_for(s: Any) -> Any:
    return sum(place + 1 for place in s.some.keys()) == 3  # noqa: SIM118


def where_both_agree(s: Any) -> Any:
    return len([place for place in range(3) if s.some.get(place) == s.row[place]]) > 1


def in_a_loop(s: Any) -> Any:
    ones, last = 0, None
    for place in range(4):
        if s.row[place] == 1:
            ones += 1
            last = None
        if s.row[place] == 2:
            last = place % 2
    return ones > 1 and last == 1


def in_a_loop_that_returns(s: Any) -> Any:
    twos = 0
    for n in s.row.values():
        if twos == 2:
            return n > 0
        if n == 2:
            twos += 1
    return False


def after_an_assignment(s: Any) -> Any:
    s.row[0] = 2
    return sum(s.row.values()) % 4 == 3


def after_a_read(s: Any) -> Any:
    return s.row[1] == 1 and sum(s.row.values()) > 4


def of_what_was_read(s: Any) -> Any:
    """Elements that ask for one slot; it is read first."""
    return sum(s.row[place] > s.row[3] for place in range(3)) > 1


# Functions of tags.


def counted(s: Any) -> Any:
    return sum(tag.n for tag in s.tags.values() if tag.kind == "b") > 3


def looked_at_again(s: Any) -> Any:
    """A record is held before, and another one looked up after."""
    tag = s.tags[0]
    return sum(each.kind == "a" for each in s.tags.values()) == 2 and tag.kind == "b" and s.tags[1].kind == "a"


def lines_looked_at_again(s: Any) -> Any:
    line = s.lines[0]
    return sum(len(each) for each in s.lines.values()) == 3 and len(line) == 2


# Functions of tuples.


def paired(s: Any) -> Any:
    return sum(n for _, n in s.pairs.values()) > 3


def tuples_looked_at_again(s: Any) -> Any:
    pair = s.pairs[0]
    return pair[1] > 0 and sum(each[0] == "a" for each in s.pairs.values()) == 2 and pair[0] == "b"


@pytest.mark.long
@rows(
    "cls, judged, expected",
    [
        (Rows, heavy, 9),
        (Rows, mostly_ones, 5),
        (Rows, of_two_kinds, 3),
        (Rows, without_ones, 15),
        (Rows, high, 3),
        (Rows, low_elsewhere, 3),
        (Rows, full, 4),
        (Rows, heavy_somewhere, 4),
        (Rows, of_keys, 7),
        (Rows, of_keys_asked_for, 7),
        (Rows, where_both_agree, 4),
        (Rows, in_a_loop, 12),
        (Rows, in_a_loop_that_returns, 5),
        (Rows, after_an_assignment, 7),
        (Rows, after_a_read, 2 + 7),
        (Rows, of_what_was_read, 1 + 4 + 4),
        (Tags, counted, 7),
        (Tags, looked_at_again, 3 + 2),
        (Tags, lines_looked_at_again, 6 + 3),
        (More, paired, 7),
        (More, tuples_looked_at_again, 1 + 2 * (3 + 2)),
    ],
)
def test_a_path_reads_only_the_result(
    cls: type, judged: Callable[[Any], Any], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fold_from(1, monkeypatch)
    assert (judged.__name__, paths(over(cls, judged), folds=True)) == (judged.__name__, expected)
    assert paths(over(cls, judged), folds=False) > expected
    require_agreement(over(cls, judged), monkeypatch)


def test_each_path_is_compared_in_other_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those over values that are read at once: optional ones, strings and the like."""
    fold_from(1, monkeypatch)
    results, other_states = list[int](), PlainComparison._with_same_aggregates

    def noting(self: PlainComparison, at: Any, claim: Claim) -> Any:
        results.extend(result for _, result in claim.aggregates)
        return other_states(self, at, claim)

    monkeypatch.setattr(PlainComparison, "_with_same_aggregates", noting)
    tables(over(Rows, full), folds=True)
    assert {*results} == {0, 1, 2, 3}


# Functions that no graph fits: slots are read one by one.


def of_neighbours(s: Any) -> Any:
    """Elements ask for slots of each other."""
    return sum(s.row[place] != s.row[(place + 1) % 4] for place in range(4)) > 2


def raising(s: Any) -> Any:
    """An element raises for a value that it does not have in this state."""
    return 0 in s.row.values() or sum(2 // s.row[place] for place in range(4)) > 5


def of_all_numbers(s: Any) -> Any:
    """Nearly each row has a result of its own."""
    return sum(s.row[place] * 3**place for place in range(4)) > 40


def of_optional_ones(s: Any) -> Any:
    """Whether a slot is in use depends on another one."""
    return sum(tag.n for tag in s.more.values() if tag is not None) > 1


@cache
def square(n: int) -> int:
    """A cache would keep results for assumed values, and -1 and -2 have the same hash."""
    return n * n


def of_squares(s: Any) -> Any:
    return sum(square(s.row[place] - 2) for place in range(4)) > 9


def in_place(s: Any) -> Any:
    """A turn would change a list that lasts."""
    kept, twos, ones = [0], 0, None
    for place in range(4):
        ones = kept
        ones += [1]
        ones = None
        twos += s.row[place] == 2
    return twos != 3 or len(kept) != 5


@pytest.mark.long
@rows(
    "cls, judged",
    [
        *[(Rows, of_neighbours), (Rows, raising), (Rows, of_all_numbers), (More, of_optional_ones)],
        *[(Rows, of_squares), (Rows, in_place)],
    ],
)
def test_other_folds_stay(cls: type, judged: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fold_from(1, monkeypatch)
    assert paths(over(cls, judged), folds=True) == paths(over(cls, judged), folds=False)
    require_agreement(over(cls, judged), monkeypatch)


def nothing_to_fold(s: Any) -> Any:
    return any(s.row[place] == 1 for place in range(4)) and sum(place for place in range(4)) > 3


def test_twins_of_rules_over_no_set_are_tried_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule whose twin reads as much is not folded: its paths would be recorded again for nothing."""
    monkeypatch.setattr(recording, "TRIED", 1)
    monkeypatch.setattr(recording, "OTHERS", 5)
    tried, is_longer = list[int](), Recorder._is_longer

    def noting(self: Recorder, *given: Any) -> bool:
        tried.append(self._paths.total())
        return is_longer(self, *given)

    monkeypatch.setattr(Recorder, "_is_longer", noting)
    assert not tables(over(Rows, nothing_to_fold), folds=True).recorder.folding
    assert tried == [5, 10, 15, 20, 25, 30]
    its = tables(over(Rows, heavy), folds=True)
    assert (its.recorder.folding, its.learned) == ({"act"}, 4 + 8)  # no other state has the sum of the first one


def test_advice_may_begin_to_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """It records a path, too. Earlier paths of the rule are then forgotten, and learned again."""
    fold_from(5, monkeypatch)
    model = Model(crowd(over(Rows, heavy)))
    its = DecisionTables(model, model.numbers(["type_ok"]))
    words = [words_of(model, model.layout.pack(state)) for state in model.first_states()]
    registers = [[*each, *each, its.recorder.no_step] for each in words]
    for number in range(4):
        its.learn(0, registers[number * 27])
    assert "4 places of row" in its.advice(4, words[4 * 27])
    assert its.recorder.folding == {"act"}
    for each in registers:
        its.learn(0, each)
    assert its.paths[0] == 4 + 9


# Both states of a step.


class Growing(Specification[RowState]):
    """Numbers grow, and are exchanged."""

    @action(place=range(4))
    def grow(self, s: RowState, place: int) -> None:
        require(s.row[place] < 2 and sum(s.row.values()) < 7)
        s.row[place] += 1

    @action(place=range(3))
    def exchange(self, s: RowState, place: int) -> None:
        s.row[place], s.row[3] = s.row[3], s.row[place]

    @transition_invariant
    def nothing_is_lost(self, before: RowState, step: Step, after: RowState) -> bool:
        return sum(before.row.values()) <= sum(after.row.values())

    @transition_invariant
    def one_at_a_time(self, before: RowState, step: Step, after: RowState) -> bool:
        return sum(before.row[place] != after.row[place] for place in range(4)) < 2


def test_properties_of_steps_are_judged_as_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they hold or not, and however early they begin to fold."""
    expected = whole(lambda: check(Growing(), engine=ReferenceEngine(), keep_going=True))
    for first in (1, 7):
        fold_from(first, monkeypatch, recording.SHORTER)
        result = check(Growing(), engine=LocalEngine(1), keep_going=True)
        assert whole(lambda found=result: found) == expected  # type: ignore[misc]
        assert "nothing_is_lost" in result.folds
        assert not result.opaque_rules
