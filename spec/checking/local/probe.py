"""Whether learning would pay: some states are learned, and the price of the last ones compared with plain Python.

Where compiled code is worth it, states share paths, so each state learned makes the next one cheaper. Where it is
not, the last state costs as much as the first. Only `recording` is needed for that: numba is not loaded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from statistics import fmean
from typing import Final, NamedTuple

from spec.checking.exploration import split_properties
from spec.checking.local.learning_budget import advice
from spec.checking.local.recording import Recorded, Recorder
from spec.checking.model import EvaluationFailed, Model, OpaqueRuleFound
from spec.checking.states.packed_state import PackedState
from spec.language.errors import Disabled
from spec.language.ranges import Present
from spec.language.rules import Action, Property
from spec.language.state import Values

SOME: Final = 256
"""The most states that are learned."""
TOGETHER: Final = 32
"""States whose mean price is judged."""
CHEAP: Final = 0.5
"""A state that is learned in this share of the time that plain Python takes for it: learning pays at once."""
FALLING: Final = 0.4
"""The share of the first states' new paths that later ones may have if learning is expected to pay in the end."""
DEAR: Final = 10.0
"""A state that still takes so many times as long to learn: falling numbers of paths promise nothing yet, since few
states were learned in the time that there was."""
TRIED: Final = 10
"""In place of `recording.TRIED`, since few states are learned."""
ABSENT: Final = 20
"""The instances chosen at random to measure what absent ones cost."""
SHARE: Final = 0.5
"""The share of the search so far that paths of absent instances may take. Few are measured, and some will have more
than one path."""
UNKNOWN, END = -1, -2
"""In place of a slot: nothing is known from here on; a path ends here."""


@dataclass
class _Node:
    """A point on the paths of an instance: the slot that is read next, and where each of its codes leads."""

    slot: int = UNKNOWN
    following: dict[int, _Node] = field(default_factory=dict)


@dataclass
class _Instance:
    """An instance of an action or property, with the paths that were recorded."""

    rule: str
    record: Callable[[Sequence[int]], Recorded]
    root: _Node = field(default_factory=_Node)
    paths: int = 0


class Learned(NamedTuple):
    """What it took to learn a state."""

    paths: int
    """The paths that no state before had taken."""
    seconds: float


class Probe:
    """Learns states of a model."""

    def __init__(self, model: Model, properties: Sequence[int]):
        self._model, self._recorder = model, Recorder(model)
        self._recorder.tried = min(TRIED, self._recorder.tried)
        self._in_states, self._in_steps = split_properties(model, properties)
        self._window = model.window()
        self._rules: list[Action | Property] = [
            *model.actions,
            *(model.properties[number] for number in self._in_states),
        ]
        self._instances: dict[tuple[int, int], _Instance] = {}
        """The instances that some state had, by the numbers of the rule and of the instance."""
        self._states = 0
        """The states that were learned."""
        self._at_first = 0.0
        """The mean number of new paths of the first states."""

    def pays(self, states: Sequence[Values], seconds: float, worked: float) -> bool:
        """Whether learning is expected to pay. It learns some of these states, which were found lately, for about so
        many seconds; a second call keeps what the first has learned.

        Tables need a path also for each instance whose parameters are in no state. It does not count as a path of the
        first states, because it is needed only once; but all of them must be affordable.
        """
        until = time.thread_time() + seconds
        chosen = Random(self._states).sample(states, min(SOME, len(states)))  # not the same ones when asked again
        learned: list[Learned] = []
        try:
            cheap = CHEAP * self.price(chosen[:TOGETHER], until - seconds / 2)
            for number, state in enumerate(chosen, 1):
                its = self.learn(state, until)
                if its is None:
                    break
                learned.append(its)
                if number % TOGETHER == 0 and fmean(each.seconds for each in learned[-TOGETHER:]) < cheap:
                    return self._can_afford(worked, state)
        except (EvaluationFailed, OpaqueRuleFound):  # the engine that explores the state reports it
            return True
        if not learned:
            return False
        self._at_first = self._at_first or fmean(each.paths for each in learned[: len(learned) // 4 + 1])
        later = learned[len(learned) // 2 :]
        seconds_each = fmean(each.seconds for each in later)
        falling = fmean(each.paths for each in later) < FALLING * self._at_first
        pays = seconds_each < cheap or (falling and seconds_each < DEAR / CHEAP * cheap)
        return pays and self._can_afford(worked, chosen[0])

    def _can_afford(self, worked: float, state: Values) -> bool:
        """Whether paths for all absent instances take clearly less time than the search has lasted."""
        return self._absent_ones(state) < SHARE * worked

    def _absent_ones(self, state: Values) -> float:
        """The seconds that it would take to learn a path for each instance that was in no state.

        A path of an absent instance is mostly short, so some are recorded in this state, and measured.
        """
        sizes = [min(rule.instances.size, 1 << 62) for rule in self._rules]  # larger ones have no tables
        tried, self._recorder.tried = self._recorder.tried, 0  # twins take long to make, and are made once
        number, random, seconds = sum(sizes) - len(self._instances), Random(self._states), list[float]()
        words = PackedState.of_values(self._model.layout, state).words
        registers = [*words, *words, self._recorder.no_step]
        for rule in random.choices(range(len(sizes)), sizes, k=ABSENT if number else 0):
            index = random.randrange(sizes[rule])
            if (rule, index) not in self._instances:
                began = time.thread_time()
                self._recording(rule, index)(registers)
                seconds.append(time.thread_time() - began)
        self._recorder.tried = tried
        return number * fmean(seconds) if seconds else 0.0

    def advice(self, state: Values) -> str:
        """The action or property that took the most paths, and what it reads, for example in this state."""
        words = PackedState.of_values(self._model.layout, state).words
        instances = self._instances.values()
        worst = max(instances, key=lambda each: each.paths)
        paths = sum(each.paths for each in instances if each.rule == worst.rule)
        reads = worst.record([*words, *words, self._recorder.no_step]).reads
        return advice(
            self._model,
            worst.rule,
            paths,
            self._states,
            self._recorder.aggregates.slots_of(slot for slot, _ in reads),
            self._recorder.opaque.get(worst.rule, ""),
        )

    def price(self, states: Sequence[Values], until: float) -> float:
        """Seconds of expanding and judging one of these states in plain Python, measured until this time;
        EvaluationFailed if an evaluation failed.
        """
        seconds: list[float] = []
        while len(seconds) < len(states) and (began := time.thread_time()) < until:
            state = states[len(seconds)]
            self._model.found_in(state, self._in_states)
            self._model.expand(state, self._in_steps)
            seconds.append(time.thread_time() - began)
        return fmean(seconds)

    def learn(self, state: Values, until: float) -> Learned | None:
        """Learn the paths of a state that are not known yet; None if this time has come first. EvaluationFailed if an
        evaluation gave two results, OpaqueRuleFound if lazy values gave another result than plain ones.
        """
        words = PackedState.of_values(self._model.layout, state).words
        registers = [*words, *words, self._recorder.no_step]
        paths, seconds = 0, 0.0
        for each in self._present(state):
            if time.thread_time() > until:
                return None
            if not self._is_known(each.root, registers):
                began, node = time.thread_time(), each.root
                recorded = each.record(registers)
                seconds += time.thread_time() - began
                paths += 1
                each.paths += 1
                if recorded.anew:
                    self._forget(each.rule)
                    node = each.root
                for slot, code in recorded.reads:
                    node.slot = slot
                    node = node.following.setdefault(code, _Node())
                node.slot = END
        self._states += 1
        return Learned(paths, seconds)

    def _present(self, state: Values) -> Iterator[_Instance]:
        """The instances whose parameters are there in a state."""
        s = self._window.load(state)
        for number, rule in enumerate(self._rules):
            try:
                found = rule.present(s)
                for index in found.numbers if isinstance(found, Present) else found:
                    if (number, index) not in self._instances:
                        self._instances[number, index] = _Instance(rule.name, self._recording(number, index))
                    yield self._instances[number, index]
            except (Exception, Disabled):  # a range failed; the engine that explores the state reports it
                continue

    def _recording(self, number: int, index: int) -> Callable[[Sequence[int]], Recorded]:
        """A function that records an instance of a rule."""
        rule = self._rules[number]
        if isinstance(rule, Action):
            return partial(self._recorder.action, number, index)
        return partial(self._recorder.of_state, rule.instances[index], rule.kind == "sometimes")

    def _forget(self, rule: str) -> None:
        """Forget the paths of a rule that is recorded otherwise from now on."""
        for each in self._instances.values():
            if each.rule == rule:
                each.root = _Node()

    def _is_known(self, node: _Node | None, registers: Sequence[int]) -> bool:
        while node is not None and node.slot >= 0:
            node = node.following.get(self._recorder.code(node.slot, registers))
        return node is not None and node.slot == END
