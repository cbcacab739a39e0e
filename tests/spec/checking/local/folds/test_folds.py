"""Folds over a state's set read the memberships that matter, and decide in every state what plain Python decides."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from spec.checking.local import LocalEngine, recording
from spec.checking.local.folds import purity
from spec.checking.local.folds.aggregates import Aggregates
from spec.checking.local.folds.twins import Twins
from spec.checking.local.lazy import ReadSlots
from spec.checking.local.recording import Recorder
from spec.checking.model import Model
from spec.checking.reference import ReferenceEngine
from tests.rows import rows
from tests.spec.checking.local.folds.crowds import (
    Crowd,
    Judged,
    crowd,
    found,
    paths,
    require_agreement,
    tables,
    words_of,
)

# Folds, with the memberships that they read in the state {0, 1, 2}, 2.


def any_of_them(s: Any) -> bool:
    return any(m > 2 for m in s.there)


def all_of_them(s: Any) -> bool:
    return all(m != 1 for m in s.there)


def with_conditions(s: Any) -> bool:
    return bool(sum(m * m for m in s.there if m % 2 if m != 1) > 1)


def in_a_list(s: Any) -> bool:
    return [m for m in s.there if m > 1] == [2]


def in_a_set(s: Any) -> bool:
    return {m // 2 for m in s.there if m < 1} == {0}


def in_a_dict(s: Any) -> bool:
    return {m: str(m) for m in s.there if m == 2} == {2: "2"}


def nested(s: Any) -> bool:
    return any(m == 3 and all(n != 3 for n in s.there if n != 1) for m in s.there)


def of_two(s: Any) -> bool:
    return any(m + n == 6 for m in s.there for n in s.there)


def unpacked(s: Any) -> bool:
    return any(m == 3 and n for m, n in [(m, m > 1) for m in s.there if m == 3])


def what_is_known(s: Any) -> bool:
    return bool(s.limit) and any(m < 2 - s.limit for m in s.there)


def what_is_not_known(s: Any) -> bool:
    return any(m < 1 and m < s.limit for m in s.there)


def in_a_loop(s: Any) -> bool:
    for m in s.there:  # noqa: SIM110
        if m > 2:
            return True
    return False


def in_a_loop_that_goes_on(s: Any) -> bool:
    total = 0
    for m in s.there:
        if m < 2:
            continue
        half = m // 2
        if half > 1:
            total += half
        elif m == 3:
            total += 1
    return total > 0


def in_two_loops(s: Any) -> bool:
    found = []
    for m in s.there:
        for n in s.there:
            if m < n < 2:
                found.append((m, n))  # noqa: PERF401
    for m in s.there:
        if m == 3:
            found.append((m, m))  # noqa: PERF401
    return len(found) > 1


def at_the_end_of_a_loop(s: Any) -> bool:
    for m in s.there:
        if m == 3:
            break
    else:
        return True
    return False


def by_a_helper(s: Any) -> bool:
    return greatest(s, 2) > 2


def greatest(s: Any, least: int) -> int:
    so_far = 0
    for m in s.there:
        if m > least:
            so_far = max(so_far, m)
    return so_far


def with_a_pure_helper(s: Any) -> bool:
    return any(half(m) == 1 and half(m, of=m + 1) == 1 for m in s.there)


def half(n: int, *, of: int = 0) -> int:
    parts = 0
    for _ in range(2, of or n + 1, 2):
        parts += 1
    return parts


def by_a_closure(s: Any) -> bool:
    wanted = 3

    def fits(n: int) -> bool:
        return any(n == m == wanted for m in s.there)

    return fits(3)


@rows(
    "judged, reads",
    [
        (any_of_them, [3]),
        (all_of_them, [1]),
        (with_conditions, [3]),
        (in_a_list, [2, 3]),
        (in_a_set, [0]),
        (in_a_dict, [2]),
        (nested, [3]),
        (of_two, [3]),
        (unpacked, [3]),
        (what_is_known, []),
        (what_is_not_known, [0]),
        (in_a_loop, [3]),
        (in_a_loop_that_goes_on, [3]),
        (in_two_loops, [0, 1, 3]),
        (at_the_end_of_a_loop, [3]),
        (by_a_helper, [3]),
        (with_a_pure_helper, [2]),
        (by_a_closure, [3]),
    ],
)
def test_only_what_matters_is_read(judged: Judged, reads: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """And in every state the answer is that of plain Python."""
    assert memberships_read(judged, folds=True) == reads
    assert {*memberships_read(judged, folds=False)} >= {*reads}
    require_agreement(judged, monkeypatch)


def memberships_read(judged: Judged, folds: bool) -> list[int]:
    """The elements whose membership is read in the state {0, 1, 2}, 2."""
    model = Model(crowd(judged), folds=folds)
    recorder = Recorder(model)
    recorder.tried = int(folds)
    state = model.layout.pack((frozenset({0, 1, 2}), 2))
    recorded = recorder.action(0, 0, [*words_of(model, state), *words_of(model, state), recorder.no_step])
    names = [model.layout.slots[slot].name for slot, _ in recorded.reads]
    return [int(name[-2]) for name in names if name.startswith("there")]


# Folds that are no better than before, because a body could be noticed; each with what would go wrong.


def appending(s: Any) -> bool:
    """A list is appended to for an element that is not there."""
    found: list[int] = []
    return any(found.append(m) or m > 2 for m in s.there) or len(found) > 1  # type: ignore[func-returns-value]


def appending_elsewhere(s: Any) -> bool:
    """The same in a helper."""
    found: list[int] = []
    return any(noted(found, m) > 9 for m in s.there) or len(found) > 1


def noted(found: list[int], m: int) -> int:
    found += [m]
    return m


def consuming(s: Any) -> bool:
    """An iterator is consumed."""
    numbers = iter(range(4))
    return any(m in numbers and m > 2 for m in s.there) or sum(numbers) < 5


def of_a_generator(s: Any) -> bool:
    """The same, held in a tuple."""
    numbers = (iter(range(4)),)
    return any(m in numbers[0] and m > 2 for m in s.there) or sum(numbers[0]) < 5


def counting(s: Any) -> bool:
    """A mapping inserts what it is asked for."""
    count = Counter[int]()
    missing = Missing()
    return any(missing[m] > 2 or count[m] for m in s.there) or len(missing) > 1


class Missing(dict[int, int]):
    """Inserts what it is asked for."""

    def __missing__(self, key: int) -> int:
        self[key] = key
        return key


def shadowed(s: Any) -> bool:
    """`any` is another function."""
    any = all  # noqa: A001
    return any(m > 1 for m in s.there)


def called_later(s: Any) -> bool:
    """A variable is a function."""
    noted: list[int] = []
    note = noted.append
    return any(note(m) or m > 2 for m in s.there) or len(noted) > 1


def leaking(s: Any) -> bool:
    """The last element is looked at after the loop."""
    m = 0
    for m in s.there:
        if m > 8:
            return True
    return m > 1


def leaking_to_the_next(s: Any) -> bool:
    """A variable of one turn is looked at in the next."""
    last = 0
    for m in s.there:
        if last == 1:
            return True
        last = m
    return False


def leaking_to_a_function(s: Any) -> bool:
    """A function made in the loop looks at its variable later."""
    last: list[Callable[[], int]] = [lambda: 0]
    for m in s.there:
        if m < 1:
            last = [lambda: m]  # noqa: B023
    return last[0]() > 1


def leaking_in_some_turns(s: Any) -> bool:
    """A variable that only some turns assign is looked at in others."""
    last, found = 2, 0
    for m in s.there:
        if m == 1:
            last = 0
            if last > 1:
                continue
        if last > 1 and m == 2:
            found += 1
    return found > 0


def leaking_from_an_inner_loop(s: Any) -> bool:
    """Two loops have one variable."""
    for m in range(4):
        for m in s.there:
            if m > 8:
                return True
        if m == 2:
            return True
    return False


def leaking_by_another_name(s: Any) -> bool:
    """`any` keeps the generator."""
    kept = [iter([0])]

    def any(generator: Any) -> bool:  # noqa: A001
        kept.append(generator)
        return False

    for m in s.there:
        if m < 1:
            any(m for _ in range(1))
    return sum(kept[-1]) > 1


def ended(s: Any) -> bool:
    """A loop ends early."""
    for m in s.there:
        for n in (m,):
            if n == 2:
                break
        else:
            return True
    return False


def raising(s: Any) -> bool:
    """A body raises, but only for an element that is there."""
    return s.limit > 0 or all(6 // (m - 2) for m in s.there if m > 1)


def raising_in_a_loop(s: Any) -> bool:
    """Statements that do nothing else raise."""
    try:
        for m in s.there:
            for n in (m,):
                rest = 6 // (n - 2)  # noqa: F841
            if 6 // (m - 1) > 8:
                pass
            if m > 2:
                return True
    except ZeroDivisionError:
        return True
    return False


def raising_or_not(s: Any) -> bool:
    """A body raises where the fold has ended already."""
    return any(m == 1 or 6 // (m - 2) > 9 for m in s.there - {0}) if 1 in s.there or s.limit else 2 not in s.there


def late(s: Any) -> bool:
    """A generator is asked after its variables have changed."""
    least = 3
    there = (m for m in s.there if m > least)
    least = 1
    return bool(sum(there) > 2)


def assigning(s: Any) -> bool:
    """A name is assigned in a condition."""
    last = 0
    return any((last := m) > 2 for m in s.there) or last > 1


def with_defaults(s: Any, least: int = 2) -> bool:
    """Defaults and keywords stay."""
    return any(m > least for m in s.there) and (lambda m, *, n=least: m > n)(s.limit)


def by_its_own_frame(s: Any) -> bool:
    """A function that looks at its variables has no others."""
    found = [m for m in s.there if m > 2]
    return len(locals()) == 2 and bool(found)


@cache
def cached(n: int) -> bool:
    return n > 2


def by_a_cached_helper(s: Any) -> bool:
    """A decorated function stays as it is."""
    return any(cached(m) for m in s.there)


def appending_by_name(s: Any) -> bool:
    """A method is passed on, and called elsewhere."""
    found: list[int] = []
    return any(sorted([m], key=found.append) == [9] for m in s.there) or len(found) > 1  # type: ignore[arg-type]


def pushing(s: Any) -> bool:
    """A function of a library changes its argument."""
    found: list[int] = []
    return any(heapq.heappush(found, m) or m > 8 for m in s.there) or len(found) > 1  # type: ignore[func-returns-value]


def setting(s: Any) -> bool:
    """A helper sets an item."""
    found: dict[int, int] = {}
    return any(put(found, m) > 8 for m in s.there) or len(found) > 1


def put(found: dict[int, int], m: int) -> int:
    found[m] = m
    return m


class Inheriting(Crowd):
    """Private names, and methods of the class above."""

    __wanted = 3

    def judged(self, s: Any) -> bool:
        return any(m == self.__wanted and super(Inheriting, self).helped(s, m) for m in s.there)


class InheritingTwice(Inheriting):
    """The same, with `super` as it is mostly written."""

    def judged(self, s: Any) -> bool:
        return self.helped(s, 2) and super().judged(s)


CAREFUL = [
    *(appending, appending_elsewhere, consuming, of_a_generator, counting, shadowed, called_later, leaking),
    *(raising_in_a_loop, leaking_in_some_turns, leaking_from_an_inner_loop, leaking_by_another_name),
    *(leaking_to_the_next, leaking_to_a_function, ended, raising_or_not, late, assigning, with_defaults),
    *(by_its_own_frame, by_a_cached_helper, appending_by_name, pushing, setting, Inheriting, InheritingTwice),
]


@rows("judged", [*CAREFUL])
def test_what_could_be_noticed_stays(judged: Judged, monkeypatch: pytest.MonkeyPatch) -> None:
    require_agreement(judged, monkeypatch)


def test_a_body_that_raises_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    require_agreement(raising, monkeypatch)


def test_bodies_within_bodies_are_tried_for_few_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two loops over a large set would otherwise be tried for the square of its elements."""
    monkeypatch.setattr(purity, "BREADTH", 16)
    assert memberships_read(of_two, folds=True) == [3]
    monkeypatch.setattr(purity, "BREADTH", 15)
    assert memberships_read(of_two, folds=True) == [0, 1, 2, 3]


def test_folds_begin_when_paths_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the paths of the rule are recorded anew."""
    monkeypatch.setattr(recording, "TRIED", 5)
    assert found(any_of_them, LocalEngine(1)) == found(any_of_them, ReferenceEngine())
    assert paths(any_of_them, folds=True) == 5 + 1
    assert paths(any_of_them, folds=False) == 16


def in_order(s: Any) -> bool:
    return [*s.there] > [2]


def test_a_rule_whose_twin_reads_as_much_does_not_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its paths would be recorded anew for nothing."""
    monkeypatch.setattr(recording, "TRIED", 5)
    assert not tables(in_order, folds=True).recorder.folding
    assert tables(any_of_them, folds=True).recorder.folding == {"act"}


def twins() -> Twins:
    """Those of a system, before any function is rewritten."""
    return Twins(Model(crowd(any_of_them)).hidden_state.reachable, Aggregates(0), lambda: ReadSlots([], []))


def test_a_function_that_is_nested_too_deeply_stays(tmp_path: Path) -> None:
    """Copying its syntax tree would exceed the recursion limit."""
    file, names = tmp_path / "deep.py", dict[str, Any](__name__=__name__)
    file.write_text(f"def judged(s):\n    return any(m {'+ 0' * 900} > 2 for m in s.there)\n", encoding="utf-8")
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    assert twins().of(names["judged"]) is names["judged"]


def test_a_function_whose_source_has_changed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so does one without a source."""
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    its = twins()
    for number, (old, new) in enumerate([("", ""), ("> 2", "> 1"), ("(s)", "(s"), ("any", "all")]):
        text = f"def judged{number}(s):\n    return any(m > 2 for m in s.there)\n"
        file, names = tmp_path / f"{number}.py", dict[str, Any](__name__=__name__)
        file.write_text(text.replace(old, new), encoding="utf-8")
        exec(compile(text, str(file), "exec"), names)
        if new == "all":
            file.unlink()
        judged = names[f"judged{number}"]
        assert (its.of(judged) is judged) is bool(new)
