"""A trace as a program that takes its steps on the specification, and asserts what they end in."""

from __future__ import annotations

from typing import Any

from spec.checking.arguments import Given
from spec.checking.literals import classes_in, constants_given, constructor, literal
from spec.checking.model import DEADLOCK
from spec.checking.replay import Replay
from spec.checking.trace import Trace
from spec.language.domains import ABSENT, LEFT_OUT
from spec.language.errors import UsageError
from spec.language.words import Step

__all__ = ["program"]


def program(specification: Given, trace: Trace) -> str:
    """The program of a trace of a specification.

    Raises:
        UsageError: it is no trace of it, or a program cannot import or write what it would need.
        EvaluationFailed: an action or a property raised.
    """
    replay = Replay(specification, trace.initial)
    for each in trace.steps:
        replay.do(each.step)
    given = replay.model.specification
    begins, needed = constructor(given), [*constants_given(given).values()]
    if len(list(replay.model.initial_states())) > 1:
        if not _can_be_written(trace.initial):
            raise UsageError(f"{given.name} begins in several states, with values that a program cannot write")
        begins += f", initial={literal(trace.initial)}"
        needed.append(trace.initial)
    ends = _end(replay, trace)
    needed += [*(each.step.parameters for each in trace.steps), *ends.values()]
    imports = {"spec.checking": {"Replay"}, **({"spec.language": {"Step"}} if trace.steps else {})}
    for cls in (type(given), *(cls for each in needed for cls in classes_in(each))):
        imports.setdefault(cls.__module__, set()).add(_importable(cls))
    return "\n".join(
        [
            f'"""{given.name}: {_told(trace)}."""',
            "",
            *(f"from {module} import {', '.join(sorted(imports[module]))}" for module in sorted(imports)),
            "",
            f"replay = Replay({begins})",
            *(f"replay.do({_step(each.step)})" for each in trace.steps),
            *(f"assert {what} == {literal(value)}" for what, value in ends.items()),
            "",
        ]
    )


def _told(trace: Trace) -> str:
    """What the program is, in a line."""
    states = f"{trace.length} state{'' if trace.length == 1 else 's'}"
    if not trace.broken:
        return f"a run of {states}"
    ends = "nothing is enabled" if trace.broken == DEADLOCK else trace.ending.removesuffix(" here")
    return f"{ends} in the last of {states}"


def _end(replay: Replay, trace: Trace) -> dict[str, Any]:
    """What is asserted at the end: what is decided there, or else what the last step has changed; with its value."""
    for decided, name in ((replay.broken, "broken"), (replay.witnessed, "witnessed")):
        if trace.broken in decided:
            return {f"replay.{name}[{literal(trace.broken)}]": trace.length}
    if trace.broken == DEADLOCK:
        return {"replay.enabled": ()}
    changes = trace.steps[-1].changes if trace.steps else {}
    ends = {f"replay.value({literal(place)})": now for place, (_, now) in changes.items() if _can_be_written(now)}
    return {"replay.number": trace.length, **ends}


def _can_be_written(value: Any) -> bool:
    """Whether a literal makes this value: nothing in it is absent or left out."""
    return {type(ABSENT), type(LEFT_OUT)}.isdisjoint(classes_in(value))


def _step(step: Step) -> str:
    return f"Step({literal(step.action)}, {literal(dict(step.parameters))})"


def _importable(cls: type) -> str:
    """The name by which a program imports a class.

    Raises:
        UsageError: it cannot.
    """
    if "." in cls.__qualname__ or cls.__module__ == "__main__":
        where = "in the program that runs" if cls.__module__ == "__main__" else "within something else"
        raise UsageError(f"{cls.__qualname__} stands {where}, so no other program can import it")
    return cls.__name__
