"""Follow a path of a system on Kafka's own classes, and find where they first deviate."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, NamedTuple

from spec.checking.model import Model, Path
from spec.checking.traces.paths import take_step
from spec.kafka.mapping import Difference, KafkaRun, Observation, PathTask, Response, SystemMapping
from spec.kafka.mappings import mapping_of


class Deviation(NamedTuple):
    """A step after which Kafka's state is not the specified one."""

    path: Path
    """The path that ends with that step."""
    differences: tuple[Difference, ...]
    error: str
    """Why the step failed; empty if it did not."""
    seen: Observation

    @property
    def length(self) -> int:
        """The number of steps of the path."""
        return len(self.path[1])

    @property
    def kind(self) -> Hashable:
        """What deviations of the same cause have in common."""
        return self.error, tuple(re.sub("[0-9]+", "", each.where) for each in self.differences)

    def __str__(self) -> str:
        return self.error or "; ".join(map(str, self.differences))


def deviation_in(mapping: SystemMapping, task: PathTask, answer: Response) -> Deviation | None:
    """The first deviation of Kafka; None if there is none."""
    initial, choices = task.path
    for length, (specified, seen) in enumerate(zip(task.specified, answer.seen, strict=False), 1):
        error = answer.error if length == len(answer.seen) else ""
        found = () if error else tuple(mapping.differences(specified, seen))
        if error or found:
            return Deviation((initial, choices[:length]), found, error, seen)
    return None


class PathFollower:
    """Runs paths of a model on Kafka's classes.

    Args:
        model: of a system that has a mapping.
        mapping: its mapping; a test can substitute another.

    Raises:
        UsageError: the system has no mapping.
    """

    def __init__(self, model: Model, mapping: type[SystemMapping] | None = None) -> None:
        self.model = model
        self.mapping = (mapping_of(type(model.specification)) if mapping is None else mapping)(model)

    def follow(self, kafka: KafkaRun, path: Path) -> Deviation | None:
        """Run a path on Kafka's classes.

        Raises:
            EnvironmentFailed: Java died.
        """
        [(task, answer)] = kafka.runs([self.task_along(path)])
        return deviation_in(self.mapping, task, answer)

    def task_along(self, path: Path) -> Any:
        """The task that runs a path."""
        state, choices = path
        states = [state]
        for choice in choices:
            after = take_step(self.model, states[-1], choice).after
            assert after is not None
            states.append(after)
        return self.mapping.task(states, choices)
