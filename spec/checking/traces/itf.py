"""A trace as ITF, the JSON that other tools open (Informal Trace Format, Apalache's ADR-015), and back.

Each state has every variable and, as in Quint, `mbt::actionTaken` and `mbt::nondetPicks`: the action that led to it,
with its parameters. `#meta` names the trace's system and constants, so a file can be replayed.

Integers are `{"#bigint": "3"}`, sets `{"#set": [...]}`, mappings `{"#map": [[key, value], ...]}` of the existing
keys, sequences lists. A record of class `Leader` is the variant `{"tag": "Leader", "value": {...}}`. A member of an
enumeration is its name, or `{"tag": "Valve", "value": "OPEN"}` where the type has another value of that name. None is
the unit, `{"#tup": []}`. Fields that a specification leaves out are missing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from sys import get_int_max_str_digits
from typing import Any, Final, NamedTuple, NoReturn

from spec.checking.arguments import SpecificationOrClass
from spec.checking.traces.replay import Replay
from spec.checking.traces.trace import Trace
from spec.checking.values.settings import settings_of
from spec.checking.values.text import encoded, in_order
from spec.language.errors import UsageError, safe_repr, shortened
from spec.language.words import Step

__all__ = ["RecordedState", "RecordedTrace", "encoded"]

ACTION: Final = "mbt::actionTaken"
PICKS: Final = "mbt::nondetPicks"
OURS: Final = "kafkaspec"
"""Our member of `#meta`."""
DIGITS: Final = re.compile("0|-?[1-9][0-9]*")
"""The only form of an integer."""
EXCERPT: Final = 60
"""Characters of a file that a message quotes."""
DESCRIPTION: Final = "https://apalache-mc.org/docs/adr/015adr-trace.html"


class RecordedState(NamedTuple):
    """A state, and the action that led to it."""

    variables: Mapping[str, Any]
    """By name, as expressions of ITF."""
    action: str
    """`init` for the first state."""
    picks: Mapping[str, Any]
    """The parameters of the action, as expressions of ITF."""


@dataclass(frozen=True)
class RecordedTrace:
    """A trace in the form of a file: without values of Python, and without objects of a specification."""

    system: str
    """Its name on the command line."""
    settings: Mapping[str, str]
    """Every constant and switch by name, as `--set` takes it (`spec.checking.values.settings`)."""
    property: str
    """The property that is broken or witnessed at the end; empty for a run."""
    states: tuple[RecordedState, ...]

    @classmethod
    def of(cls, specification: SpecificationOrClass, trace: Trace, system: str = "") -> RecordedTrace:
        """The trace of a specification: a counterexample, a witness or a run. `system` is its name on the command
        line, by default that of the specification. UsageError if it has a constant that cannot be written.
        """
        replay = Replay(specification, trace.initial, judging=[trace.broken])
        for each in trace.steps:
            replay.do(each.step)
        return cls.along(replay, trace.broken, system)

    @classmethod
    def along(cls, replay: Replay, decided: str = "", system: str = "") -> RecordedTrace:
        """The run of a replay so far, whose last state or step decides this property, if it ends with that. `system`
        is its name on the command line, by default that of the specification. UsageError if it has a constant that
        cannot be written.
        """
        given, spelling = replay.model.specification, replay.model.spelling
        steps = [Step("init", {}), *replay.steps]
        states = tuple(
            RecordedState(
                {name: encoded(value, spelling) for name, value in variables.items()},
                step.action,
                {name: encoded(value, spelling) for name, value in step.parameters.items()},
            )
            for variables, step in zip(replay.states, steps, strict=True)
        )
        if decided not in {each.name for each in replay.model.properties}:
            decided = ""  # actions and predicates as goals are not recorded
        return cls(system or given.name, settings_of(given), decided, states)

    @classmethod
    def read(cls, path: Path) -> RecordedTrace:
        """The trace in a file; UsageError, with the place in it, if it cannot be read or is not ITF of ours."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as failure:
            raise UsageError(f"{path} cannot be read: {failure.strerror}") from None
        except UnicodeDecodeError as failure:
            raise UsageError(f"{path} is not UTF-8, at byte {failure.start}") from None
        try:
            return cls.from_json(json.loads(text))
        except json.JSONDecodeError as failure:
            raise UsageError(
                f"{path} is not JSON: line {failure.lineno}, column {failure.colno}: {failure.msg}"
            ) from None
        except RecursionError:
            raise UsageError(f"{path} is nested too deeply") from None
        except ValueError:
            raise UsageError(f"{path} has a number of more than {get_int_max_str_digits():,} digits") from None
        except _Malformed as wrong:
            raise UsageError(f"{path}: {wrong}") from None

    @classmethod
    def from_json(cls, document: Any) -> RecordedTrace:
        """The inverse of `to_json`; sets and mappings may come in another order."""
        meta = _member(document, "#meta", dict, "the document")
        ours = _member(meta, OURS, dict, "#meta")
        settings = _member(ours, "settings", dict, f"#meta.{OURS}")
        for name, value in settings.items():
            if not isinstance(value, str):
                _refuse(f"#meta.{OURS}.settings.{name}", "a text", value)
        names = _member(document, "vars", list, "the document")
        for index, name in enumerate(names):
            if not isinstance(name, str):
                _refuse(f"vars[{index}]", "a text", name)
        if "loop" in document:
            raise _Malformed("the document has a loop; only a finite trace can be followed")
        rows = _member(document, "states", list, "the document")
        if not rows:
            _refuse("states", "a list with a first state", rows)
        variables = [name for name in names if name not in (ACTION, PICKS)]
        states = [_state(each, variables, index) for index, each in enumerate(rows)]
        system = _member(ours, "system", str, f"#meta.{OURS}")
        decides = _member(ours, "property", str, f"#meta.{OURS}")
        return cls(system, settings, decides, tuple(states))

    def to_json(self) -> dict[str, Any]:
        """The document."""
        ours = {"system": self.system, "settings": dict(self.settings), "property": self.property}
        names = [*self.states[0].variables, ACTION, PICKS]
        return {
            "#meta": {"format": "ITF", "format-description": DESCRIPTION, OURS: ours},
            "vars": names,
            "states": [
                {"#meta": {"index": index}, **each.variables, ACTION: each.action, PICKS: dict(each.picks)}
                for index, each in enumerate(self.states)
            ],
        }

    def write(self, path: Path) -> None:
        """Write it to a file, one line per state; OSError if it cannot be written."""
        document = self.to_json()
        states = ",\n".join(json.dumps(each) for each in document.pop("states"))
        head = json.dumps(document)[:-1]
        path.write_text(f'{head}, "states": [\n{states}\n]}}\n', encoding="utf-8")


class _Malformed(Exception):
    """A document is malformed; with the place."""


def _refuse(where: str, wanted: str, found: Any) -> NoReturn:
    raise _Malformed(f"{where} is not {wanted}, but {shortened(json.dumps(found), EXCERPT)}")


KINDS: Final[Mapping[type, str]] = {dict: "an object", list: "a list", str: "a text"}


def _member(of: Any, name: str, kind: type, where: str) -> Any:
    """A required member of an object."""
    if not isinstance(of, dict):
        _refuse(where, "an object", of)
    place = name if where == "the document" else f"{where}.{name}"
    if name not in of:
        raise _Malformed(f"{place} is missing")
    if not isinstance(of[name], kind):
        _refuse(place, KINDS[kind], of[name])
    return of[name]


def _state(row: Any, names: Sequence[str], index: int) -> RecordedState:
    where = f"states[{index}]"
    action = _member(row, ACTION, str, where)
    picks = _member(row, PICKS, dict, where)
    for name in names:
        if name not in row:
            raise _Malformed(f"{where} has no {name}, which is in vars")
    for name in row:
        if name not in (*names, ACTION, PICKS) and not name.startswith("#"):
            raise _Malformed(f"{where} has {safe_repr(name)}, which is not in vars")
    variables = {name: _normal(row[name], f"{where}.{name}") for name in names}
    return RecordedState(
        variables, action, {name: _normal(each, f"{where}.{PICKS}.{name}") for name, each in picks.items()}
    )


def _normal(expression: Any, where: str) -> Any:
    """An expression with its sets and mappings in canonical order."""
    if isinstance(expression, list):
        return [_normal(each, f"{where}[{index}]") for index, each in enumerate(expression)]
    if not isinstance(expression, dict):
        if isinstance(expression, bool | str):
            return expression
        _refuse(where, 'an expression of ITF, such as {"#bigint": "3"}', expression)
    if "#set" in expression:
        return {"#set": _distinct(_normal(_member(expression, "#set", list, where), where), where)}
    if "#map" in expression:
        pairs = _normal(_member(expression, "#map", list, where), where)
        for index, pair in enumerate(pairs):
            if not (isinstance(pair, list) and len(pair) == 2):
                _refuse(f"{where}.#map[{index}]", "a list of a key and its value", pair)
        _distinct([key for key, _ in pairs], where)
        return {"#map": in_order(pairs)}
    if "#bigint" in expression:
        digits = expression["#bigint"]
        if not (isinstance(digits, str) and DIGITS.fullmatch(digits)):
            _refuse(f"{where}.#bigint", "a text of digits", digits)
        return {"#bigint": digits}
    if "tag" in expression and not (
        expression.keys() == {"tag", "value"}
        and isinstance(expression["tag"], str)
        and isinstance(expression["value"], dict | str)
    ):
        _refuse(where, 'a variant, {"tag": "Leader", "value": {...}}', expression)
    return {name: _normal(each, f"{where}.{name}") for name, each in expression.items()}


def _distinct(expressions: list[Any], where: str) -> list[Any]:
    """The expressions in canonical order, without duplicates."""
    ordered = in_order(expressions)
    for one, other in pairwise(ordered):
        if one == other:
            raise _Malformed(f"{where} has {shortened(json.dumps(one), EXCERPT)} twice")
    return ordered
