"""Following a path of the system `controller` on real KafkaControllers, and where they first leave it."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from spec.checking.model import Model
from spec.checking.paths import Path, do
from spec.kafka.harness import Harness, Observation, Response, Task
from spec.kafka.mapping import ControllerMapping, Difference, differences
from spec.language.state import Values
from spec.systems.controller import ControllerLife

__all__ = ["Deviation", "Following", "PathTask", "deviation_in"]


@dataclass(frozen=True, kw_only=True)
class PathTask(Task):
    """A path of the specification, and what is to be seen after each of its steps."""

    path: Path
    specified: Sequence[Observation]
    of: Hashable = None
    """What it is told for."""


class Deviation(NamedTuple):
    """A step after which Kafka is not as the specification says."""

    path: Path
    """It ends with that step."""
    differences: tuple[Difference, ...]
    error: str
    """Why the step could not be done; empty if it could."""
    seen: Observation

    @property
    def length(self) -> int:
        """Steps that lead there, this one included."""
        return len(self.path[1])

    @property
    def kind(self) -> Hashable:
        """What is alike in deviations that have one cause."""
        return self.error, tuple(re.sub("[0-9]+", "", each.where) for each in self.differences)

    def __str__(self) -> str:
        return self.error or "; ".join(map(str, self.differences))


def deviation_in(task: PathTask, answer: Response) -> Deviation | None:
    """Where Kafka first is not as it should be; None if it is so to the end."""
    initial, choices = task.path
    for length, (specified, seen) in enumerate(zip(task.specified, answer.seen, strict=False), 1):
        error = answer.error if length == len(answer.seen) else ""
        found = () if error else tuple(differences(specified, seen))
        if error or found:
            return Deviation((initial, choices[:length]), found, error, seen)
    return None


class Following:
    """What is told of the paths of a model, which is one of the system `controller`."""

    def __init__(self, model: Model, mapping: type[ControllerMapping] = ControllerMapping) -> None:
        assert isinstance(model.specification, ControllerLife)
        self.model, self.mapping = model, mapping(model.specification)
        self._here, self._there = model.window(), model.window()

    def follow(self, harness: Harness, path: Path) -> Deviation | None:
        """Take a path on real KafkaControllers.

        Raises:
            EnvironmentFailed: Java died.
        """
        task = self.task_along(path)
        return deviation_in(task, harness.run(task))

    def task_along(self, path: Path) -> PathTask:
        """What is told of a path."""
        state, choices = path
        states = [state]
        for choice in choices:
            after = do(self.model, states[-1], choice).after
            assert after is not None
            states.append(after)
        return self.task(states, choices)

    def task(self, states: Sequence[Values], choices: Sequence[tuple[int, int]], of: Hashable = None) -> PathTask:
        """What is told of a path, given with all of its states."""
        here, there = self._here, self._there
        before: Any = here.s
        after: Any = there.s
        steps, specified = [], []
        for (action, instance), state, target in zip(choices, states, states[1:], strict=False):
            here.load(state)
            there.load(target)
            steps.append(self.mapping.command(before, self.model.actions[action].step(instance), after))
            specified.append(self.mapping.observation(after))
        system = self.mapping.system
        return PathTask(
            brokers=system.brokers,
            steps=steps,
            outliving=system.ephemeral_outlives_session,
            path=(states[0], choices),
            specified=specified,
            of=of,
        )
