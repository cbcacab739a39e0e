"""A begun exploration: what the reference engine has found, packed, for an engine that continues it in memory."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from spec.checking.exploration import Coverage
from spec.checking.model import Model
from spec.checking.reference import SoFar
from spec.checking.runs.checkpoint import Checkpoint
from spec.checking.runs.discoveries import packed_discovery
from spec.checking.states.packed import Words, words_of
from spec.checking.states.packed_state import BYTES, PackedState
from spec.checking.symmetry.renamings import ComparisonCounts


class Begun(NamedTuple):
    """The complete levels of an exploration."""

    levels: tuple[Words, ...]
    checkpoints: tuple[Checkpoint, ...]
    """One after each level. All but the last have only statistics."""

    @classmethod
    def of(cls, model: Model, so_far: SoFar) -> Begun:
        """The levels that the reference engine has completed; at least one."""
        found, symmetry = so_far.found, so_far.symmetry
        states = (PackedState.of_values(model.layout, state).bytes for state in so_far.reached)
        width = BYTES * model.layout.words
        levels = tuple(words_of(islice(states, level.queue), width) for level in found.levels)
        discoveries = {
            number: packed_discovery(model, number, each, symmetry) for number, each in found.discoveries.items()
        }
        compared = symmetry.renamings.compared if symmetry else ComparisonCounts()
        unknown = tuple(Coverage() for _ in model.actions)
        earlier = [Checkpoint(each, unknown, {}) for each in found.levels[:-1]]
        last = Checkpoint(found.statistics, found.coverage, discoveries, compared=compared)
        return cls(levels, (*earlier, last))
