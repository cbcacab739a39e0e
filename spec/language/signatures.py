"""Signatures of marked methods: the arguments that their decorator passes, and the parameters after these."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from spec.language.errors import SpecificationError
from spec.language.sizes import types_in
from spec.language.words import Mark, OfState

_GIVEN = {
    "assumption": (("self",),),
    "initial": (("self", "s"),),
    "action": (("self", "s"),),
    "invariant": (("self", "s"),),
    "transition_invariant": (("self", "before", "step", "after"),),
    "sometimes": (("self", "s"), ("self", "before", "step", "after")),
    "view": (("self", "s"),),
    "picture": (("self", "s"),),
}
_PROPERTIES = ("invariant", "transition_invariant", "sometimes")


def check_parameters(cls: str, name: str, function: Callable[..., Any], mark: Mark, types: Mapping[str, Any]) -> None:
    """Check that a method takes the arguments its word passes, then parameters that have a range or a type."""
    asked = tuple(inspect.signature(function).parameters)
    for given in _given(mark):
        if asked[: len(given)] == given:
            rest = asked[len(given) :]
            break
    else:
        forms = " or ".join(f"({', '.join(given)}, ...)" for given in _given(mark))
        raise SpecificationError(f"{mark.kind} {cls}.{name}: its parameters must begin {forms}")
    own = {"when", "where", "of"} if mark.kind in _PROPERTIES and not mark.of else {"when"}
    for parameter in rest:
        if parameter in own:
            raise SpecificationError(
                f"{mark.kind} {cls}.{name}: the language uses the name {parameter}= itself; rename the parameter"
            )
    for parameter in mark.parameters if mark.of else ():
        raise SpecificationError(
            f"{mark.kind} {cls}.{name}: with of= its parameters are the step's, so {parameter}= cannot have a range"
        )
    for parameter in () if mark.of else rest:
        if parameter not in mark.parameters and parameter not in types:
            raise SpecificationError(
                f"{mark.kind} {cls}.{name}: parameter {parameter} has neither a range nor a type"
            )
    for parameter, ranged in mark.parameters.items():
        if parameter not in rest:
            raise SpecificationError(
                f"{mark.kind} {cls}.{name}: {parameter}= is given a range, but the method has no such parameter"
            )
        if not isinstance(ranged, OfState):
            continue
        if mark.kind == "initial" or "before" in asked:
            raise SpecificationError(
                f"{mark.kind} {cls}.{name}: {parameter} cannot range over a state, because it is not about one state"
            )
        order = in_order(rest, mark)
        earlier = [each for each in order[: order.index(parameter)] if each != mark.family]
        for needed in ranged.needs:
            if needed not in {*earlier, mark.family}:
                raise SpecificationError(
                    f"{mark.kind} {cls}.{name}: the range of {parameter} takes {needed}, which is no earlier "
                    f"parameter; earlier ones: {', '.join(earlier) or 'none'}"
                )


def in_order(parameters: Sequence[str], mark: Mark) -> list[str]:
    """The parameters of a method in the order of its instances: that of their ranges, if all have one; or its own."""
    return list(mark.parameters if {*parameters} <= {*mark.parameters} else parameters)


def _given(mark: Mark) -> tuple[tuple[str, ...], ...]:
    """The arguments that a method with this mark receives, in each permitted form."""
    if mark.of:
        return (("self", "before", "after"),)
    return (("self", "s"),) if mark.where is not None else _GIVEN[mark.kind]


def parameters_of(function: Callable[..., Any], mark: Mark) -> tuple[str, ...]:
    """The parameters after those that the word passes."""
    asked = tuple(inspect.signature(function).parameters)
    return next(asked[len(given) :] for given in _given(mark) if asked[: len(given)] == given)


def type_of(function: Callable[..., Any], parameter: str) -> Any:
    """The type in a parameter's annotation."""
    names = getattr(inspect.unwrap(function), "__globals__", {})
    if parameter not in function.__annotations__:
        raise SpecificationError("it ranges over part of the state: annotate it with its type, which has a size")
    alone = SimpleNamespace(
        __annotations__={parameter: function.__annotations__[parameter]}, __qualname__=function.__qualname__
    )
    found = function.__annotations__[parameter] = types_in(alone, names)[parameter]
    return found
