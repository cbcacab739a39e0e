"""Following a path of a system on Kafka's own classes, and where they first leave it."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, NamedTuple

from spec.checking.model import Model, Path
from spec.checking.traces.paths import take_step
from spec.kafka.mapping import Difference, KafkaRun, Observation, PathTask, Response, SystemMapping
from spec.kafka.mappings import mapping_of

__all__ = ["Deviation", "PathFollower", "deviation_in"]


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


def deviation_in(mapping: SystemMapping, task: PathTask, answer: Response) -> Deviation | None:
    """Where Kafka first is not as it should be; None if it is so to the end."""
    initial, choices = task.path
    for length, (specified, seen) in enumerate(zip(task.specified, answer.seen, strict=False), 1):
        error = answer.error if length == len(answer.seen) else ""
        found = () if error else tuple(mapping.differences(specified, seen))
        if error or found:
            return Deviation((initial, choices[:length]), found, error, seen)
    return None


class PathFollower:
    """What is told of the paths of a model, and what comes of it.

    Args:
        model: of a system that has a mapping.
        mapping: its mapping; a test puts another one there.

    Raises:
        UsageError: the system has no mapping.
    """

    def __init__(self, model: Model, mapping: type[SystemMapping] | None = None) -> None:
        self.model = model
        self.mapping = (mapping_of(type(model.specification)) if mapping is None else mapping)(model)

    def follow(self, kafka: KafkaRun, path: Path) -> Deviation | None:
        """Take a path on Kafka's classes.

        Raises:
            EnvironmentFailed: Java died.
        """
        [(task, answer)] = kafka.runs([self.task_along(path)])
        return deviation_in(self.mapping, task, answer)

    def task_along(self, path: Path) -> Any:
        """What is told of a path."""
        state, choices = path
        states = [state]
        for choice in choices:
            after = take_step(self.model, states[-1], choice).after
            assert after is not None
            states.append(after)
        return self.mapping.task(states, choices)
