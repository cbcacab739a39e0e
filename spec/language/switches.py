"""Switches that are the fields of a record: what the code that is checked calls its design, a specification turns.

    class Design(NamedTuple):
        fence: Annotated[bool, "A write is refused under an old epoch (2.1)."] = True
        threads: Annotated[Threads, "Who handles what is told."] = Threads.one

    class Controllers(Specification[Cluster]):
        design: Design = switches(Design, {"2.0": Design(fence=False), "2.1": Design()})

Then `--without fence` turns one, `--release 2.0` picks a row, and `self.design` is the record under these constants.
So a fix of a release stands in one place, with one name: a field, with its sentence, and the row that first had it.
What stands behind the type may be anything that says itself as that sentence, as a record of what was fixed does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

from spec.language.errors import SpecificationError
from spec.language.words import Constant, Declaration, switch

R = TypeVar("R", bound=tuple[Any, ...])


class Switches(Declaration, Generic[R]):
    """See `switches`."""

    kind = "switches"

    def __init__(self, record: type[R], releases: Mapping[str, R], only: Collection[str] | None):
        hints = get_type_hints(record, include_extras=True)
        told = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
        told = {name: (type_, *said) for name, (type_, *said) in told.items() if type_ is bool or _enumeration(type_)}
        for name in only or ():
            if name not in told:
                raise SpecificationError(
                    f"switches({record.__name__}): its field {name} is no Annotated[bool, 'what it turns']"
                )
        names = [name for name in told if only is None or name in only]
        newest = releases[list(releases)[-1]] if releases else record()
        self.record = record
        self.forms = {name: _enumeration(told[name][0]) for name in names}
        self.releases = _Constants(releases, names)
        self.constants: dict[str, Constant] = {}
        """The switches by name."""
        for name, form in self.forms.items():
            among = None if form is None else [each.name for each in form]
            self.constants[name] = switch(_plain(getattr(newest, name)), str(told[name][-1]), among=among)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, specification: Any, owner: type) -> Any:
        if specification is None:
            return self
        values = {}
        for name, form in self.forms.items():
            value = vars(specification)[name]
            values[name] = value if form is None else form[value]
        made = vars(specification)[self.name] = self.record(**values)  # it is made once
        return made


class _Constants(Mapping[str, Mapping[str, Any]]):
    """The switches of each release: asked of the records one by one, for they may know more than they go over."""

    def __init__(self, records: Mapping[str, Any], names: Collection[str]):
        self.records, self.names = records, names

    def __getitem__(self, release: str) -> Mapping[str, Any]:
        row = self.records[release]
        return {name: _plain(getattr(row, name)) for name in self.names}

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


def switches(record: type[R], releases: Mapping[str, R], only: Collection[str] | None = None) -> R:
    """A switch for each field of a record that says what it turns: `Annotated[bool, "What it is about."]`.

    Args:
        record: a NamedTuple. A field is a switch if it says what it turns, and is true or false or a member of an
            enumeration, whose name is then the value of the switch; others have their defaults.
        releases: each release in order, oldest first, with the record that it had; a switch stands as in the newest.
        only: the fields that are switches here, if not all of them.

    Raises:
        SpecificationError: one of `only` is no such field.
    """
    return cast("R", Switches(record, releases, only))


def _enumeration(type_: Any) -> type[Enum] | None:
    return type_ if isinstance(type_, type) and issubclass(type_, Enum) else None


def _plain(value: Any) -> Any:
    """A field's value as it stands on a command line and in JSON."""
    return value.name if isinstance(value, Enum) else value
