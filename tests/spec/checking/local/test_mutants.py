"""Engines with one fault each, and the comparison that detects it.

The comparisons pass on the unmodified engine. Each mutant has one fault, and its comparison must fail: a fault that
no comparison detects would go unnoticed. Faults are patched in where Python calls. If only compiled code does the
work, they are patched into its text; compiling that takes seconds, so most of those run in `make long`.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

from spec.checking.auto import AutoEngine
from spec.checking.local import LocalEngine, begun, expanding, jit, seeking, storing, tables, visited, worker_pool
from spec.checking.local import engine as local
from spec.checking.local.arrays import MET, Cursor, Outbox, Scratch, StateRanges, WorkerOutput
from spec.checking.local.begun import Begun
from spec.checking.local.expanding import FULL
from spec.checking.local.lazy import Copy
from spec.checking.local.masks import Masks
from spec.checking.local.plain_comparison import PlainComparison
from spec.checking.local.plain_expander import PlainExpander
from spec.checking.local.recording import Recorded, Recorder
from spec.checking.local.rows import KeptStates
from spec.checking.local.seeking import Seeker
from spec.checking.local.tables import DecisionTables
from spec.checking.local.visited import Visited
from spec.checking.local.worker_pool import WorkerPool
from spec.checking.reference import ReferenceEngine
from spec.checking.runs.discoveries import PackedDiscovery
from spec.checking.states.packed import Words
from spec.checking.states.packed_state import PackedState
from spec.language import (
    Domain,
    Specification,
    State,
    Total,
    action,
    constant,
    initial,
    integers,
    interchangeable,
    invariant,
    mapping,
    one_of,
    record,
    require,
    tuple_of,
    variable,
)
from tests.spec.checking.everywhere import agreed as everybody_agrees
from tests.spec.checking.everywhere import learning
from tests.spec.checking.local.comparing import (
    agreed,
    agreed_if_resumed,
    explored,
    in_small_pieces,
    new_states,
    reached_first,
)
from tests.spec.checking.local.test_engine import CHANCE, KNOWN, MetAndRaised, Whim
from tests.spec.checking.random_systems import Writer, loaded
from tests.spec.toys import Walkers

Fault = Callable[[pytest.MonkeyPatch], None]


# The comparisons.


class CrowdState(State):
    """The state of `Crowd`."""

    wall: Total[int, int] = variable("In the way.", of=lambda self: mapping(range(8), integers(0, 255)))
    row: int = variable("The row.", of=lambda self: integers(0, self.side - 1))
    seat: int = variable("The seat.", of=lambda self: integers(0, self.side - 1))
    up: bool = variable("The up.", of=lambda self: one_of(False, True))


class Crowd(Specification[CrowdState]):
    """All seats are taken at the beginning, and some people get up. The first word of a state is constant."""

    side: int = constant(20, "seats in a row, and rows", at_least=1)
    restless: int = constant(20, "seats in a row whose people may get up", at_least=0)
    ways: tuple[bool, ...] = constant((True,), "how they get up; False only moves to the next seat")

    @initial(row=lambda self: range(self.side), seat=lambda self: range(self.side))
    def begin(self, s: CrowdState, row: int, seat: int) -> None:
        s.row, s.seat = row, seat

    @action(really=lambda self: self.ways)
    def get_up(self, s: CrowdState, really: bool) -> None:
        require(not s.up and s.seat < self.restless)
        s.up = really
        if not really:
            s.seat = (s.seat + 1) % self.restless


class DialsState(State):
    """The state of `Dials`."""

    at: Total[int, int] = variable("Where each dial points.", of=lambda self: mapping(range(5), integers(0, 7)))


class Dials(Specification[DialsState]):
    """Each combination of dials has its own result of masks; there are as many as places to remember them in."""

    @action(dial=lambda self: range(5))
    def turn_up(self, s: DialsState, dial: int) -> None:
        require(s.at[dial] < 7)
        s.at[dial] += 1

    @action(dial=lambda self: range(5))
    def turn_down(self, s: DialsState, dial: int) -> None:
        require(s.at[dial] > 0)
        s.at[dial] -= 1


class Rider(NamedTuple):
    """The occupant of a seat."""

    size: int
    hats: int


class CarouselState(State):
    """The state of `Carousel`."""

    seat: Total[int, Rider] = variable(
        "The seat.", of=lambda self: mapping(range(3), record(Rider, size=range(4), hats=range(2)))
    )


class Carousel(Specification[CarouselState]):
    """Seats go round with their riders, and a rider at the front grows."""

    @initial
    def begin(self, s: CarouselState) -> None:
        s.seat[0], s.seat[1] = Rider(1, 0), Rider(2, 1)

    @action
    def turn(self, s: CarouselState) -> None:
        """The rider does not matter."""
        s.seat[0], s.seat[1], s.seat[2] = s.seat[1], s.seat[2], s.seat[0]

    @action
    def grow(self, s: CarouselState) -> None:
        require(s.seat[0].size in (1, 2))
        s.seat[0] = s.seat[0]._replace(size=s.seat[0].size + 1)

    @invariant
    def not_both_tall(self, s: CarouselState) -> bool:
        return bool(s.seat[0].size + s.seat[1].size < 6)


class InsideState(State):
    """The state of `Inside`."""

    one: tuple[int] = variable("A tuple.", of=lambda self: tuple_of(range(8)))


class Inside(Specification[InsideState]):
    """A rule that looks for an attribute that only a lazy tuple has, and that inspection does not know."""

    @action
    def up(self, s: InsideState) -> None:
        require(s.one[0] < 7)
        s.one = (s.one[0] + 1,)

    @invariant
    def not_5(self, s: InsideState) -> bool:
        return hasattr(s.one, "_lenses") or s.one != (5,)


class HouseState(State):
    """The state of `House`."""

    room: int = variable("The room.", of=lambda self: integers(0, 4))
    side: int = variable("The side.", of=lambda self: integers(0, 1))


class House(Specification[HouseState]):
    """Two doors and two windows lead from each room to both sides of the next."""

    @action(side=(0, 1))
    def walk(self, s: HouseState, side: int) -> None:
        require(s.room < 4)
        s.room, s.side = s.room + 1, side

    @action(side=(0, 1))
    def climb(self, s: HouseState, side: int) -> None:
        require(s.room < 4)
        s.room, s.side = s.room + 1, side

    @invariant
    def not_the_last(self, s: HouseState) -> bool:
        return bool(s.room < 4)


class CouriersState(State):
    """The state of `Couriers`."""

    parcels: Total[Any, int] = variable("The parcels.", of=lambda self: mapping(self.each(), integers(0, 2)))


class Couriers(Specification[CouriersState]):
    """They take parcels, and are interchangeable."""

    def each(self) -> Domain[int]:
        """The couriers."""
        return interchangeable("courier", range(3))

    @action(courier=each)
    def take(self, s: CouriersState, courier: int) -> None:
        require(s.parcels[courier] < 2)
        s.parcels[courier] += 1

    @invariant(courier=each)
    def idle(self, s: CouriersState, courier: int) -> bool:
        return not s.parcels[courier]


def credited(specification: Specification) -> None:
    """Each new state is credited to the lowest action that leads to it."""
    expected = reached_first(specification)
    for workers in (1, 2):
        assert new_states(specification, workers) == expected


def caught() -> None:
    """Nondeterminism is reported."""
    random.seed(7)
    assert CHANCE in explored(LocalEngine(), Whim()).get("failed", "")


def half_learned(specification: Specification) -> None:
    """With half of the missing paths learned, and the others expanded in plain Python."""
    with learning(0.5):
        agreed(specification, keep_going=True)


def plainly(specification: Specification) -> None:
    """In plain Python, many states at once."""
    with learning(0.0), pytest.MonkeyPatch.context() as changed:
        changed.setattr(worker_pool, "ENDURANCE", 500)
        agreed(specification, keep_going=True)


def handed_over(specification: Specification) -> None:
    """Another engine continues after some levels."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr("spec.checking.first_tier.KEPT", 50)
        expected = explored(ReferenceEngine(), specification, keep_going=True)
        found = explored(AutoEngine(), specification, keep_going=True)
        assert found == expected


def randomly() -> None:
    """Some random systems, the same in every run."""
    with TemporaryDirectory() as directory:
        for number in range(20):
            text = Writer(f"mutants, {number}").module()
            with loaded(text, Path(directory)) as system:
                everybody_agrees(system, Path(directory), number, keep_going=True, max_states=300)


COMPARISONS: dict[str, Callable[[], Any]] = {
    **{toy: partial(agreed, specification, keep_going=True) for toy, specification in KNOWN.items()},
    "a carousel": partial(agreed, Carousel(), keep_going=True),
    "a crowd": partial(agreed, Crowd(), keep_going=True),
    "a large crowd": partial(agreed, Crowd(side=128, restless=8, ways=(False, True)), keep_going=True),
    "a house": partial(agreed, House(), keep_going=True),
    "dials": partial(agreed, Dials(), keep_going=True),
    "credit": partial(credited, House()),
    "couriers": partial(agreed, Couriers(), keep_going=True, symmetry=True),
    "a whim": caught,
    "a look inside": partial(agreed, Inside(), keep_going=True),
    "random systems": randomly,
    "what raises": partial(agreed, MetAndRaised(), keep_going=True),
    "a crowd, plainly": partial(plainly, Crowd(side=40)),
    "walkers, plainly": partial(plainly, Walkers(starts=2, far=3)),
    "half learned": partial(half_learned, Walkers(starts=2, far=7)),
    "handed over": partial(handed_over, Walkers(starts=2, far=3)),
    "a run resumed": partial(agreed_if_resumed, Walkers(starts=2, far=7), 3, keep_going=True),
}
"""By event. In a large crowd, states collide in an index with equal tags."""


@pytest.fixture(autouse=True)
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small pieces, so that there are several of everything."""
    in_small_pieces(monkeypatch)


# Faults where Python calls.

FAULTS: dict[str, tuple[str, Fault]] = {}
"""By name: the comparison that detects a fault, and the function that patches it in."""


def instead(of: Any, name: str, shown_by: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A fault that replaces a function, which it receives before the arguments."""

    def register(wrong: Callable[..., Any]) -> Callable[..., Any]:
        right = getattr(of, name)

        def called(*args: Any, **named: Any) -> Any:
            return wrong(right, *args, **named)

        FAULTS[wrong.__name__.replace("_", " ")] = shown_by, lambda changed: changed.setattr(of, name, called)
        return wrong

    return register


def given(kind: type, args: Iterable[Any]) -> Any:
    """The argument of this type."""
    return next(each for each in args if isinstance(each, kind))


@instead(expanding, "expand", shown_by="walkers")
def a_successor_is_lost(expand: Any, *args: Any) -> int:
    status: int = expand(*args)
    count = given(Outbox, args).count
    count[np.flatnonzero(count)[-1:]] -= 1
    return status


@instead(expanding, "expand", shown_by="a crowd")
def the_state_that_fills_an_outbox_is_lost(expand: Any, *args: Any) -> int:
    status: int = expand(*args)
    if status == FULL:
        count = given(Outbox, args).count
        count[count.argmax()] -= 1
    return status


@instead(storing, "post", shown_by="a crowd")
def the_first_state_that_does_not_fit_is_lost(post: Any, *args: Any) -> int:
    done: int = post(*args)
    _, _, marks, _, _ = args
    return done + (done < len(marks))


@instead(expanding, "expand", shown_by="walkers")
def an_action_is_enabled_once_for_each_instance(expand: Any, *args: Any) -> int:
    status: int = expand(*args)
    output = given(WorkerOutput, args)
    output.enabled[:] = output.taken
    return status


@instead(Visited, "complete", shown_by="walkers")
def a_level_is_dropped(complete: Any, self: Visited, *args: Any) -> int:
    states: int = complete(self, *args)
    if len(self.levels) == 3:
        self.levels[-1] = self.levels[-1][:0]
    return states


@instead(KeptStates, "__getitem__", shown_by="a run resumed")
def the_last_word_of_a_state_is_not_unpacked(states_in: Any, self: KeptStates, which: Any) -> Words:
    states: Words = states_in(self, which)
    states[:, -1] <<= np.uint64(8)
    return states


@instead(Scratch, "forget", shown_by="jugs")
def workers_remember_what_other_masks_left(forget: Any, scratch: Scratch) -> None:
    pass


@instead(worker_pool, "_work_items", shown_by="walkers")
def the_last_block_is_dropped(blocks: Any, ranges: Any) -> Any:
    found = blocks(ranges)
    return found[:-1] if len(found) > 1 else found


@instead(WorkerPool, "_learn", shown_by="walkers")
def deferred_work_is_not_handed_back(learn: Any, self: WorkerPool, *args: Any) -> None:
    learn(self, *args)
    self.work_items.pop()


@instead(WorkerPool, "_learn", shown_by="walkers")
def only_the_first_deferred_work_is_handed_back(learn: Any, self: WorkerPool, *args: Any) -> None:
    learn(self, *args)
    self.work_items.append(self.work_items.pop()[:1])


@instead(WorkerPool, "_has_room", shown_by="a crowd, plainly")
def successors_beyond_the_room_are_lost(has_room: Any, self: WorkerPool, worker: Any) -> bool:
    room: bool = has_room(self, worker)
    worker.unsent = None
    return room


@instead(WorkerPool, "_expand_plainly", shown_by="half learned")
def plain_expansion_forgets_the_last_state(expand: Any, self: WorkerPool, worker: Any) -> None:
    worker.output.cursor[Cursor.PUT_OFF] -= 1
    expand(self, worker)
    worker.output.cursor[Cursor.PUT_OFF] += 1


@instead(PlainExpander, "judge", shown_by="walkers, plainly")
def states_expanded_plainly_are_not_judged(judge: Any, self: PlainExpander, *args: Any) -> tuple[int, ...]:
    return ()


@instead(PlainExpander, "predecessors", shown_by="walkers, plainly")
def a_search_skips_the_states_expanded_plainly(predecessors: Any, self: PlainExpander, *args: Any) -> Any:
    return {}


@instead(Masks, "learn", shown_by="walkers")
def a_mask_is_too_wide(learn: Any, self: Masks, table: int, reads: Any) -> None:
    learn(self, table, reads and dict(list(reads.items())[:-1]))


@instead(Masks, "_clear", shown_by="several starts")
def masks_take_one_group_for_another(clear: Any, self: Masks, lookup: Any, table: int, cube: Any) -> None:
    clear(self, lookup._replace(groups=lookup.groups[::-1]), table, cube)


@instead(Recorder, "_recorded", shown_by="walkers")
def a_path_is_too_wide(recorded: Any, self: Recorder, *args: Any) -> Recorded:
    found: Recorded = recorded(self, *args)
    return found._replace(reads=found.reads[:-1])


@instead(Recorder, "action", shown_by="jugs")
def a_blind_write_is_lost(of_action: Any, self: Recorder, *args: Any) -> Recorded:
    found: Recorded = of_action(self, *args)
    seen = dict(found.reads)
    return found._replace(writes={slot: code for slot, code in found.writes.items() if slot in seen})


@instead(Recorder, "action", shown_by="a carousel")
def a_copy_is_of_its_neighbour(of_action: Any, self: Recorder, *args: Any) -> Recorded:
    found: Recorded = of_action(self, *args)
    moved = {
        slot: Copy((code.slot + 1) % self.n_slots) if isinstance(code, Copy) else code
        for slot, code in found.writes.items()
    }
    return found._replace(writes=moved)


def without(tables: DecisionTables, kind: str) -> int:
    """All tables but those of a kind, one bit for each."""
    return sum(1 << number for number, table in enumerate(tables.all) if table.kind != kind)


@instead(DecisionTables, "_affect", shown_by="an invariant broken")
def properties_of_states_are_not_invalidated(affect: Any, self: DecisionTables, effects: Any, tables: int) -> None:
    affect(self, effects, tables & without(self, "state"))


@instead(DecisionTables, "_affect", shown_by="a transition invariant broken")
def properties_of_steps_are_not_invalidated(affect: Any, self: DecisionTables, effects: Any, tables: int) -> None:
    affect(self, effects, tables & without(self, "step"))


@instead(tables, "orbits", shown_by="couriers")
def orbits_have_no_representatives(orbits: Any, symmetry: Any) -> Any:
    return None


@instead(Recorder, "_compare", shown_by="a whim")
def nothing_is_compared(compare: Any, self: Recorder, *args: Any) -> None:
    """Accept nondeterminism."""


@instead(PlainComparison, "_require", shown_by="a look inside")
def a_path_is_not_compared(require: Any, self: PlainComparison, *args: Any) -> None:
    """Accept whatever lazy values do."""


@instead(local._Search, "continue_after", shown_by="a run resumed")
def a_resumed_level_is_not_judged(continue_after: Any, self: Any, levels: Any) -> None:
    self.sweep = lambda **_: np.zeros(len(self.tables.all) + 1, np.uint8)
    continue_after(self, levels)
    del self.sweep


@instead(begun, "packed_discovery", shown_by="handed over")
def a_discovery_is_handed_over_as_another_state(packed: Any, model: Any, *args: Any) -> PackedDiscovery:
    found: PackedDiscovery = packed(model, *args)
    first = PackedState.of_values(model.layout, model.layout.first()).bytes
    return found._replace(end=found.end._replace(state=first))


@instead(Begun, "of", shown_by="handed over")
def a_level_is_not_handed_over(of: Any, *args: Any) -> Begun:
    found: Begun = of(*args)
    return found._replace(levels=(*found.levels[:-1], found.levels[-1][:0]))


@instead(Seeker, "in_states", shown_by="what raises")
def a_decided_property_hides_an_exception(in_states: Any, self: Seeker, where: Any, flags: Any, *args: Any) -> None:
    in_states(self, where, np.minimum(flags, MET), *args)


@instead(StateRanges, "split", shown_by="walkers")
def the_last_part_of_the_states_is_not_searched(split: Any, self: StateRanges, parts: int) -> Any:
    return split(self, parts)[: max(1, parts - 1)]


@instead(Recorder, "of_state", shown_by="random systems")
def a_property_is_read_without_the_last_slot(of_state: Any, self: Recorder, *args: Any) -> Recorded:
    found: Recorded = of_state(self, *args)
    return found._replace(reads=found.reads[:-1])


@instead(seeking, "seek", shown_by="a run resumed")
def a_search_skips_unlearned_paths(seek: Any, words: int, states: Any, ranges: Any, *rest: Any) -> int:
    """So no path leads through levels expanded by another engine."""
    cursor = rest[0]
    seek(words, states, ranges, *rest)
    cursor[0] = len(ranges)
    return 0


# Faults where compiled code does the work.


def in_kernel(of: ModuleType, name: str, right: str, wrong: str, within: str = "") -> Fault:
    """Replace some words in a compiled function of a module, or in one that it uses."""

    def put(changed: pytest.MonkeyPatch) -> None:
        original, text = getattr(of, name), inspect.getsource(of)
        function = inspect.getsource(getattr(of, within or name).py_func)
        assert function.count(right) == 1, f"{within or name} no longer has {right!r} exactly once"
        module = ModuleType(of.__name__)
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(jit, "_kept", lambda made: made)  # without a cache on disk
            exec(text.replace(function, function.replace(right, wrong)), vars(module))
        for caller in (of, visited):
            if vars(caller).get(name) is original:
                changed.setattr(caller, name, getattr(module, name))

    return put


DEAR: dict[str, tuple[str, Fault]] = {
    "only tags are compared": (
        "a large crowd",
        in_kernel(storing, "insert", "equals_row(rows, base + number, records, at, words)", "True"),
    ),
    "a state is credited to the highest action": (
        "credit",
        in_kernel(storing, "insert", "min(one & actions, other & actions)", "max(one & actions, other & actions)"),
    ),
    "the last of two ways to a state is taken": (
        "a house",
        in_kernel(seeking, "seek", "table < found[number]", "table > found[number]", within="_lowest"),
    ),
    "one state is forgotten when an index grows": (
        "a large crowd",
        in_kernel(
            storing,
            "insert",
            "range(storage.size[partition])",
            "range(storage.size[partition] - 1)",
            within="_index_anew",
        ),
    ),
    "the last of two predecessors is taken": (
        "a house",
        in_kernel(
            seeking,
            "seek",
            "_before(before, at, best, row + words, words)",
            "_before(best, row + words, before, at, words)",
            within="_lowest",
        ),
    ),
    "the last successor of each state is lost": (
        "walkers",
        in_kernel(
            expanding,
            "expand",
            "outbox.count[uint64(partition)] += 1",
            "outbox.count[uint64(partition)] += successor + 1 < last",
            within="_send_off",
        ),
    ),
    "a successor is taken for its state where they have the same first word": (
        "a large crowd",
        in_kernel(
            expanding,
            "expand",
            "_are_same(words, after, base, registers, i * reach)",
            "_are_same(1, after, base, registers, i * reach)",
            within="_send_off",
        ),
    ),
    "a step is judged as if it were another": (
        "a transition invariant broken",
        in_kernel(
            expanding,
            "expand",
            "after[uint64(base + 2 * words)] = step_of[uint64(scratch.by[uint64(successor)])]",
            "after[uint64(base + 2 * words)] = step_of[0]",
            within="_judge_steps",
        ),
    ),
    "an unknown step is not judged": (
        "a transition invariant broken",
        in_kernel(
            expanding,
            "expand",
            "scratch.lacking[owner] = True",
            "scratch.lacking[owner] = False",
            within="_judge_steps",
        ),
    ),
    "a bound is taken for a deadlock": (
        "a bound that is no deadlock",
        in_kernel(
            expanding, "expand", "outcome == USUAL:", "outcome == USUAL or outcome == CLOSED:", within="_take_steps"
        ),
    ),
    "a bound is counted for each step that it forbids": (
        "a bound that is no deadlock",
        in_kernel(expanding, "expand", "its != forbidden", "its >= 0", within="_send_off"),
    ),
    "inherited bits move by one": (
        "several broken",
        in_kernel(expanding, "expand", "(clean << low_bit)", "(clean << low_bit << uint64(1))", within="_list_walks"),
    ),
    "bits beyond a word are inherited from another": (
        "a chain of three words",
        in_kernel(expanding, "expand", "(clean >> (uint64(64) - low_bit))", "clean", within="_list_walks"),
    ),
    "what masks leave is remembered for another state": (
        "dials",
        in_kernel(
            expanding,
            "expand",
            "memo[place + uint64(k)] == registers[uint64(base + k)] & relevant[k]",
            "memo[place + uint64(k)] != uint64(0xFFFFFFFFFFFFFFFF)",
            within="_recall",
        ),
    ),
    "a representative inherits the properties of another state": (
        "couriers",
        in_kernel(expanding, "expand", "shaken = handed_on", "shaken &= handed_on", within="_send_off"),
    ),
}
"""The faults that take longest to compile."""


@pytest.mark.long
@pytest.mark.parametrize("comparison", sorted({shown_by for shown_by, _ in (FAULTS | DEAR).values()} - {*KNOWN}))
def test_unmutated_engines_agree(comparison: str) -> None:
    """So a failure below is caused by its fault."""
    COMPARISONS[comparison]()


@pytest.mark.long
@pytest.mark.parametrize("fault", [*FAULTS, *DEAR])
def test_a_mutant_is_detected(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its comparison fails."""
    shown_by, put = (FAULTS | DEAR)[fault]
    put(monkeypatch)
    with pytest.raises(AssertionError):
        COMPARISONS[shown_by]()
