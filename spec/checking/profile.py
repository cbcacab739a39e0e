"""A profile: what each action and property took of a check's time, and how well its paths were learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from spec.checking.exploration import LearnedRule
from spec.checking.model import Model


class RuleProfile(NamedTuple):
    """One action or property."""

    kind: str
    """'action', or the kind of the property."""
    name: str
    instances: int
    """How many there are, with different parameters."""
    paths: int
    """The paths that an engine learned."""
    misses: int
    """How often a state needed a path that was not learned yet."""
    seconds: float
    """The time in Python: evaluating it, and learning from it."""


def profile_of(
    model: Model, evaluating: Mapping[str, float], learned: Mapping[str, LearnedRule]
) -> tuple[RuleProfile, ...]:
    """The profile of each action and property that was evaluated, in order of declaration.

    Args:
        model: the model.
        evaluating: the seconds spent in plain Python, by name.
        learned: the learning, by name.
    """
    found = []
    actions = [("action", each.name, each.instances.size) for each in model.actions]
    properties = [(each.kind, each.name, each.instances.size) for each in model.properties if each.instances]
    for kind, name, instances in (*actions, *properties):
        learning = learned.get(name, LearnedRule())
        seconds = evaluating.get(name, 0.0) + learning.seconds
        if seconds:
            found.append(RuleProfile(kind, name, instances, learning.paths, learning.misses, seconds))
    return tuple(found)


def table(profile: Sequence[RuleProfile], seconds: float) -> list[str]:
    """The lines of a table: the costliest first, with their share of the seconds of the whole check."""
    rows = [("share", "seconds", "instances", "paths", "misses", "")]
    rows += [
        (
            f"{each.seconds / seconds if seconds else 0:.0%}",
            f"{each.seconds:.2f}",
            f"{each.instances:,}",
            f"{each.paths:,}",
            f"{each.misses:,}",
            f"{each.kind} {each.name}",
        )
        for each in sorted(profile, key=lambda each: -each.seconds)
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.rjust(width) for text, width in zip(row[:-1], widths, strict=False)) + f"  {row[-1]}".rstrip()
        for row in rows
    ]


def to_json(profile: Sequence[RuleProfile]) -> list[dict[str, Any]]:
    """The profile in `check --json`."""
    return [{**each._asdict(), "seconds": round(each.seconds, 3)} for each in profile]
