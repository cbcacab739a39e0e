"""`check`: give a specification to an engine, and turn its findings into a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, SupportsIndex

from spec.checking import arguments
from spec.checking.arguments import SpecificationOrClass
from spec.checking.engines import ENGINES, engine_named
from spec.checking.exploration import Engine, Exploration, OnProgress, Options, Statistics, is_violation
from spec.checking.goal import Goal
from spec.checking.model import DEADLOCK, TYPE_OK, EvaluationFailed, Model
from spec.checking.result import ActionResult, LevelResult, PropertyResult, Result, profile_of
from spec.checking.traces.paths import trace, traced_failures
from spec.checking.watchdog import Watchdog
from spec.language.errors import UsageError, one_meant
from spec.language.specification import without_word

CONTINUE_HINTS: Final[Mapping[str, str]] = {
    "memory": "; --engine spark goes further, with its states on disk, and so does a larger --memory"
}
"""By bound: another engine or option that goes further."""


def silent(statistics: Statistics) -> None:
    """An `OnProgress` that shows nothing."""


def check(
    specification: SpecificationOrClass,
    *,
    engine: Engine | type[Engine] | str = "auto",
    properties: Iterable[str] | str = (),
    keep_going: bool = False,
    deadlock: bool = False,
    max_states: SupportsIndex | None = None,
    max_depth: SupportsIndex | None = None,
    symmetry: bool = False,
    show: str | None = None,
    accept_vacuous: Iterable[str] | str = (),
    profile: bool = False,
    on_progress: OnProgress = silent,
    release: str | None = None,
    folds: bool = True,
) -> Result:
    """Explore a specification, exhaustively unless a bound is given, and report whether its properties hold.

    Args:
        specification: the system, under its constants; its class stands for the system under its defaults, or under
            those of the release.
        engine: an engine, or its name: `local`, `spark`, `reference`, or `auto` to have one selected.
        properties: a name, or names, of the only properties to check; witnesses and vacuity are then left out.
        keep_going: explore everything, and report a counterexample for each violated property.
        deadlock: look for states without an enabled action; a state closed by a bound does not count.
        max_states: stop after the level that reaches this many states.
        max_depth: do not go beyond this depth.
        symmetry: explore one state of each orbit of the interchangeable values.
        show: look only for the shortest path to this goal: the name of a witness or an action, or a predicate in
            Python on the state `s`, as `s.count > 2`.
        accept_vacuous: a name, or names, of actions and witnesses that need not happen under these constants.
        profile: measure what each action and property takes; not with the Spark engine.
        on_progress: called with statistics now and then, and at the end unless the engine was interrupted.
        release: one of the system's `releases`, from which its constants were taken; the result records it.
        folds: when a rule loops over a set or mapping, read only what matters; the result is the same, sooner.

    Raises:
        UsageError: an unknown property, action or witness; an unavailable engine; an action or property without the
            symmetry; an argument that is out of range or meaningless; a goal that cannot be shown.
        EvaluationFailed: an action or property raised, or broke the rules for such functions; with the shortest
            trace to the state.
        SpecificationError: an action or property depends on more than the state, or the specification is malformed.
        EnvironmentFailed: a full disk, a dead JVM, or the like.
    """
    subject = arguments.as_specification(specification, release)
    named = arguments.as_names("properties", properties)
    accepted = arguments.as_names("accept_vacuous", accept_vacuous)
    if show is not None and (named or keep_going or deadlock):
        raise UsageError("show: it cannot be combined with properties, keep_going or deadlock")
    if accepted and (named or show is not None):
        raise UsageError("accept_vacuous: it has no effect with properties or show, under which nothing is vacuous")
    model = Model(subject, None if show is None else Goal.of(subject, show), folds)
    witnesses = [each.name for each in model.properties if each.kind == "sometimes"]
    known = [*(each.name for each in model.actions), *witnesses]
    accepted = tuple(_named(name, known, model, "action or witness") for name in accepted)
    _judge_the_first_state(model)
    bounds = arguments.as_bound("max_states", max_states), arguments.as_bound("max_depth", max_depth)
    options = Options(selected_numbers(model, named, deadlock), keep_going, *bounds, symmetry)
    chosen = _engine(engine)
    if profile and chosen.name == "spark":
        raise UsageError("profile: Spark's workers are not measured; use another engine")
    evaluating = model.timed() if profile else {}
    nothing_yet = Statistics(0, 0, 0, 0, 0.0)
    with model.hidden_state.unchanged(), traced_failures(model), Watchdog(model, on_progress, nothing_yet) as watched:

        def advanced(statistics: Statistics) -> None:
            model.hidden_state.look_early(statistics.depth, statistics.seconds)
            watched(statistics)

        found = chosen.explore(model, options, advanced)
    if found.ended != "interrupted":
        on_progress(found.statistics)
    result = _result(model, options, found, chosen.name, bool(named), release, accepted)
    return replace(result, profile=profile_of(model, evaluating, found.learned)) if profile else result


def _named(
    written: str, known: Sequence[str], model: Model, what: str, labels: Sequence[tuple[str, str]] = ()
) -> str:
    """The name that a person means, among these of a specification; labels are what documentation begins with.
    UsageError if there is none, or there are several.
    """
    name = one_meant(written, known, labels)
    if name is None:
        raise UsageError(f"{model.specification.name} has no {what} {written}; it has {', '.join(known)}")
    return name


def _judge_the_first_state(model: Model) -> None:
    """Evaluate the goal's predicate in the first state: a failure there is its author's mistake; UsageError if it
    raises there, or returns neither True nor False.
    """
    if model.goal is None or model.goal.predicate is None or model.sought is None:
        return
    first = next((state for state, _ in model.initial_states() if state is not None), None)
    if first is None:
        return
    try:
        model.found_in(first, [model.sought])
    except EvaluationFailed as failure:
        raise UsageError(f"{model.goal.written} cannot be shown: {failure.cause}") from None


def _engine(given: Engine | type[Engine] | str) -> Engine:
    """The engine given, or one with its defaults made from a class or a name."""
    if isinstance(given, str):
        return engine_named(given)
    if not callable(getattr(given, "explore", None)):
        raise UsageError(f"engine = {given!r}: it must be an engine, or the name of one: {', '.join(ENGINES)}")
    return given() if isinstance(given, type) else given


def selected_numbers(model: Model, named: tuple[str, ...], deadlock: bool) -> tuple[int, ...]:
    """The numbers of the properties to check: those named, or all of them; or the goal's. UsageError if no property
    has one of the names.
    """
    if model.goal is not None:
        return model.numbers([TYPE_OK, model.goal.written])
    known = [each.name for each in model.properties]
    labels = [(each.doc.partition(":")[0], each.name) for each in model.properties]
    asked = [_named(name, known, model, "property", labels) for name in named]
    wanted = {TYPE_OK, *(asked or [name for name in known if name != DEADLOCK])}
    if deadlock or (model.specification.deadlock and not named):
        wanted.add(DEADLOCK)
    return model.numbers(wanted)


def _result(
    model: Model,
    options: Options,
    found: Exploration,
    engine: str,
    named: bool,
    release: str | None,
    accepted: tuple[str, ...],
) -> Result:
    properties = tuple(_property(model, number, found) for number in options.properties)
    actions = tuple(
        ActionResult(action.name, each.enabled, each.taken, each.new_states, each.bounded)
        for action, each in zip(model.actions, found.coverage, strict=True)
    )
    broken = sorted(
        (number for number in found.discoveries if is_violation(model, number)),
        key=lambda number: (found.discoveries[number].length, number),
    )
    reported = broken if options.keep_going else broken[:1]
    never = _unreached(model, properties, actions, named)
    verdict, why = _verdict(model, found, broken, [text for name, text in never if name not in accepted])
    specification, goal = model.specification, model.sought if model.sought in found.discoveries else None
    return Result(
        system=specification.name,
        constants=specification.values_of(switches=False),
        switches=specification.values_of(switches=True),
        release=release,
        engine=engine,
        verdict=verdict,
        distinct_states=found.statistics.distinct,
        generated_states=found.statistics.generated,
        depth=found.statistics.depth,
        seconds=found.statistics.seconds,
        compile_seconds=found.compile_seconds,
        bytes_per_state=found.bytes_per_state,
        properties=properties,
        actions=actions,
        counterexamples=tuple(trace(model, number, found.discoveries[number].path) for number in reported),
        shown=None if goal is None else trace(model, goal, found.discoveries[goal].path),
        leaves_out=specification.leaves_out,
        why=why,
        documentation=documentation(model),
        bounds={"max_states": options.max_states, "max_depth": options.max_depth},
        symmetry=options.symmetry,
        compared=found.compared,
        folds=found.folds,
        wants_every_action=_wants_every_action(model, named),
        accept_vacuous=accepted,
        accepted=tuple(text for name, text in never if name in accepted) if found.ended == "complete" else (),
        without_effect=tuple(
            action.name
            for action, each in zip(model.actions, found.coverage, strict=True)
            if each.taken and not each.changing and found.ended == "complete"
        ),
        levels=tuple(
            LevelResult(each.depth, each.queue, each.distinct, each.generated, each.seconds) for each in found.levels
        ),
        interned=found.interned,
        jobs=found.jobs,
        advice=found.advice,
        opaque_rules=tuple(sorted(model.opaque_rules)),
    )


def documentation(model: Model) -> dict[str, str]:
    """The sentence of each constant, switch, action and property, by name."""
    constants = type(model.specification).constants()
    return {
        **{name: each.doc for name, each in constants.items()},
        **{each.name: each.doc for each in model.actions},
        **{each.name: each.doc for each in model.properties},
    }


def _wants_every_action(model: Model, named: bool) -> bool:
    return not named and model.goal is None


def _property(model: Model, number: int, found: Exploration) -> PropertyResult:
    judged, discovery = model.properties[number], found.discoveries.get(number)
    witness = judged.kind == "sometimes"
    if discovery is not None:
        verdict = "witnessed" if witness else "violated"
    elif found.ended != "complete":
        verdict = "undecided"
    else:
        verdict = "unwitnessed" if witness else "holds"
    return PropertyResult(judged.name, judged.kind, verdict, discovery.length if discovery else None)


def _verdict(model: Model, found: Exploration, broken: Sequence[int], never: Sequence[str]) -> tuple[str, str]:
    if found.ended == "interrupted":
        return "interrupted", found.kept or "nothing was kept: there is no run directory"
    if broken:
        return ("deadlock" if model.properties[broken[0]].name == DEADLOCK else "violated"), ""
    if model.sought in found.discoveries:
        return "witnessed", ""
    if found.ended != "complete":
        elsewhere = CONTINUE_HINTS.get(found.ended, "")
        going_on = f"; {found.kept}" if found.kept else elsewhere
        return "bounded", f"the bound on {found.ended} was reached{going_on}"
    if not never:
        return "holds", ""
    return "vacuous", "; ".join(filter(None, (*never, without_word(type(model.specification)))))


def _unreached(
    model: Model, properties: tuple[PropertyResult, ...], actions: tuple[ActionResult, ...], named: bool
) -> list[tuple[str, str]]:
    """The actions and witnesses that should happen but never did: each name, with its sentence for the report."""
    wanted = actions if _wants_every_action(model, named) else ()
    never = [(each.name, f"action {each.name} is never taken") for each in wanted if not each.taken]
    unseen = [each.name for each in properties if each.verdict == "unwitnessed"]
    return never + [(name, f"{name} is never witnessed") for name in unseen]
