"""A trace as a program that takes its steps on the specification, and asserts the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from spec.checking.arguments import SpecificationOrClass
from spec.checking.model import DEADLOCK
from spec.checking.traces.replay import Replay
from spec.checking.traces.trace import Trace
from spec.checking.values.literals import Imports, class_name, constructor, literal
from spec.language.domains import ABSENT, LEFT_OUT
from spec.language.errors import UsageError, escaped
from spec.language.words import Step


def program(specification: SpecificationOrClass, trace: Trace) -> str:
    """The program of a trace of a specification. UsageError if it is no such trace, or a program cannot import or
    write what it would need; EvaluationFailed if an action or a property raised.
    """
    replay = Replay(specification, trace.initial, judging=[trace.broken])
    for each in trace.steps:
        replay.do(each.step)
    given, imports = replay.model.specification, Imports("replay")

    def name(cls: type) -> str:
        return imports.name(_importable(cls))

    begins = constructor(given, name)
    if len(list(replay.model.initial_states())) > 1:
        if not _can_be_written(trace.initial):
            raise UsageError(f"{given.name} begins in several states, with values that a program cannot write")
        begins += f", initial={literal(trace.initial, name)}"
    called = imports.name(Replay, "spec.checking")
    lines = [f"replay = {called}({begins})"]
    for each in trace.steps:
        step = imports.name(Step, "spec.language")
        parameters = literal(dict(each.step.parameters), name)
        lines.append(f"replay.do({step}({literal(each.step.action)}, {parameters}))")
    lines += [f"assert {what} == {literal(value, name)}" for what, value in _end(replay, trace).items()]
    about = escaped(f"{given.name}: {_step_lines(trace)}.")
    return "\n".join([f'"""{about}"""', "", *sorted(imports.lines()), "", *lines, ""])


def _step_lines(trace: Trace) -> str:
    """A description of the program, in a line."""
    states = f"{trace.length} state{'' if trace.length == 1 else 's'}"
    if not trace.broken:
        return f"a run of {states}"
    ends = "nothing is enabled" if trace.broken == DEADLOCK else trace.ending.removesuffix(" here")
    return f"{ends} in the last of {states}"


def _end(replay: Replay, trace: Trace) -> dict[str, Any]:
    """The assertions at the end, with their values: the decided property, or else the changes of the last step."""
    for decided, name in ((replay.broken, "broken"), (replay.witnessed, "witnessed")):
        if trace.broken in decided:
            return {f"replay.{name}[{literal(trace.broken)}]": trace.length}
    if trace.broken == DEADLOCK:
        return {"replay.enabled": ()}
    changes = trace.steps[-1].changes if trace.steps else {}
    ends = {f"replay.value({literal(place)})": now for place, (_, now) in changes.items() if _can_be_written(now)}
    return {"replay.number": trace.length, **ends}


def _can_be_written(value: Any) -> bool:
    """Whether a literal makes this value: no part of it is absent or left out."""
    if isinstance(value, Mapping):
        return all(map(_can_be_written, chain(value, value.values())))
    if isinstance(value, tuple | frozenset):
        return all(map(_can_be_written, value))
    return value is not ABSENT and value is not LEFT_OUT


def _importable(cls: type) -> type:
    """A class that a program can import; UsageError if it cannot."""
    if "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
        where = "in the program that runs" if cls.__module__ == "__main__" else "within a function"
        raise UsageError(f"{class_name(cls)} is defined {where}, so no other program can import it")
    return cls
