"""Results as text for a person: the verdict and what it holds for, or the way to the violation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from spec.checking.model import DEADLOCK
from spec.checking.result import PropertyResult, Result
from spec.checking.simulation import Simulation
from spec.checking.sketch import ERROR
from spec.checking.trace import Trace, TraceStep
from spec.language.domains import ABSENT, LEFT_OUT


def report(result: Result) -> str:
    """A result on a few lines; a counterexample below it."""
    lines = [f"{result.system}: {headline(result)}", *_figures(result), *_what_for(result), *_properties(result)]
    if result.counterexample is not None:
        lines += ["", *tell(result.counterexample)]
    return "\n".join(lines)


def report_of_walks(found: Simulation) -> str:
    """What a simulation came to, on a few lines; below it a counterexample, or what happened in the one run."""
    lines = [f"{found.system}: {headline(found)}", *_walked(found), *_what_for(found), *_properties(found)]
    never = [each.name for each in found.actions if not each.taken]
    if never and found.counterexample is None and found.example is None:
        lines.append(f"  never taken {', '.join(never)}")
    if found.counterexample is not None:
        lines += ["", *tell(found.counterexample)]
    if found.example is not None:
        lines += ["", *_steps(found.example)]
    return "\n".join(lines)


def _walked(found: Simulation) -> Iterator[str]:
    tally = found.tally
    yield (
        f"  {tally.steps:,} steps in {_runs(tally.runs)}, about {tally.sketch.estimate:,} distinct states "
        f"(±{ERROR:.1%}), in {found.seconds:.1f} s ({found.steps_per_second:,} steps/s)"
    )
    yield f"  longest run {tally.longest:,} states; {tally.early:,} ended early, where nothing more could be done"
    yield f"  seed {found.seed}"
    if tally.end is not None:
        yield f"  run {tally.end.run:,} failed, in {tally.end.steps + 1:,} states, shrunk to what stands below"
    if found.repeat:
        yield f"  again       {found.repeat}"


def _runs(number: int) -> str:
    return f"{number:,} run{'' if number == 1 else 's'}"


def headline(result: Result | Simulation) -> str:
    """The verdict in a few words."""
    trace = result.counterexample
    if trace is not None and result.verdict == "deadlock":
        return f"deadlock, in {trace.length} states"
    if trace is not None:
        return violated(trace.broken, trace.length)
    return f"{result.verdict}: {result.why}" if result.why else result.verdict


def violated(name: str, length: int) -> str:
    """That a property breaks, and in how many states."""
    return f"{name} is violated, in {length} states"


def _figures(result: Result) -> Iterator[str]:
    yield (
        f"  {result.distinct_states:,} distinct states, {result.generated_states:,} generated, depth {result.depth}, "
        f"in {result.seconds:.1f} s ({result.states_per_second:,} states/s), engine {result.engine}"
    )


def _what_for(result: Result | Simulation) -> Iterator[str]:
    if result.release is not None:
        yield f"  release {result.release}"
    if result.constants:
        yield f"  constants   {_valuation(result.constants)}"
    if result.switches:
        yield f"  switches    {_valuation(result.switches)}"
    if result.leaves_out:
        yield f"  left out    {result.leaves_out}"


def _valuation(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {show(value)}" for name, value in values.items())


def _properties(result: Result | Simulation) -> Iterator[str]:
    for verdict in ("violated", "holds", "witnessed", "unwitnessed", "undecided"):
        found = [each for each in result.properties if each.verdict == verdict]
        if found:
            yield f"  {verdict:11} {', '.join(_decided(result, each) for each in found)}"


def _decided(result: Result | Simulation, judged: PropertyResult) -> str:
    if judged.length is None:
        return judged.name
    if isinstance(result, Simulation) and judged.name in result.witnessed:
        return f"{judged.name} ({judged.length}; {_runs(result.witnessed[judged.name])})"
    return f"{judged.name} ({judged.length})"


def tell(trace: Trace) -> Iterator[str]:
    """A trace, step by step, each with what was said, what the views say now, and only what changed."""
    yield f"{trace.broken}: {trace.sentence}"
    yield ""
    yield from _steps(trace, hurts="" if trace.broken == DEADLOCK else f"{trace.broken} breaks here")
    yield ""
    yield from _why(trace)


def _steps(trace: Trace, hurts: str = "") -> Iterator[str]:
    """The initial state and the steps; what hurts, if anything does, stands at the last of them."""
    width = len(str(trace.length))
    yield f"  {1:{width}}  initially"
    yield from _remarks(width, trace.initial_views, "" if trace.steps else hurts)
    for line in _variables(trace.initial):
        yield f"  {'':{width}}    {line}"
    for number, step in enumerate(trace.steps, start=2):
        yield from _step(number, width, step, hurts if number == trace.length else "")


def _remarks(width: int, views: Iterable[str], hurts: str) -> Iterator[str]:
    """What a reader may hold on to: what is so from now on, and that this is where it hurts."""
    for sentence in views:
        yield f"  {'':{width}}  * {sentence}"
    if hurts:
        yield f"  {'':{width}}  ! {hurts}"


def _variables(variables: Mapping[str, Any]) -> Iterator[str]:
    for name, value in variables.items():
        if isinstance(value, Mapping):
            plain = {key: each for key, each in value.items() if each not in ((), frozenset())}
            for key, each in plain.items():
                yield f"{name}[{key}]: {show(each)}"
        elif value is not LEFT_OUT and value not in ((), frozenset()):
            yield f"{name}: {show(value)}"


def _step(number: int, width: int, step: TraceStep, hurts: str) -> Iterator[str]:
    parameters = ", ".join(f"{name}={show(value)}" for name, value in step.step.parameters.items())
    said = f"   {'; '.join(step.said)}" if step.said else ""
    yield f"  {number:{width}}  {step.step.action}({parameters}){said}"
    yield from _remarks(width, step.views, hurts)
    for place, (old, new) in step.changes.items():
        yield f"  {'':{width}}    {place}: {show(old)} -> {show(new)}"
    if not step.changes:
        yield f"  {'':{width}}    nothing changes"


def _why(trace: Trace) -> Iterator[str]:
    where = f" for {trace.failing}" if trace.failing else ""
    if trace.broken == DEADLOCK:
        yield "  here no action is enabled"
    elif trace.looked_at:
        yield f"  {trace.broken} does not hold{where}, which looked at"
        for place, value in trace.looked_at.items():
            yield f"    {place}: {show(value)}"
    else:
        yield f"  {trace.broken} does not hold{where}"


def show(value: Any) -> str:
    """A value of a state, shortly: records without what is left out or as it always begins.

    >>> show((None, True, frozenset({2}))), show(())
    ('(none, true, {2})', '()')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return value.name
    if value is ABSENT or value is LEFT_OUT:
        return "absent" if value is ABSENT else "?"
    if hasattr(value, "_fields"):
        return _record(value)
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(show, value)) + "}"
    if isinstance(value, tuple) and type(value).__str__ is tuple.__str__:
        return "(" + ", ".join(map(show, value)) + ("," if len(value) == 1 else "") + ")"
    return str(value)


def _record(value: Any) -> str:
    cls: Any = type(value)
    if cls.__str__ is not tuple.__str__ and cls.__str__ is not object.__str__:
        return str(value)
    usual = getattr(cls, "_field_defaults", {})
    told = [
        f"{name}={show(part)}"
        for name, part in zip(cls._fields, value, strict=True)
        if part is not LEFT_OUT and not (name in usual and usual[name] == part)
    ]
    return f"{cls.__name__}({', '.join(told)})"
