"""Switches from the fields of a record: a specification varies the design that the checked code reads.

    class Design(NamedTuple):
        fence: Annotated[bool, "A write is refused under an old epoch (2.1)."] = True
        threads: Annotated[Threads, "The thread that handles notifications."] = Threads.one

    class Controllers(Specification[Cluster]):
        design: Design = switches(Design, {"2.0": Design(fence=False), "2.1": Design()})

Then `--without fence` turns one off, `--release 2.0` picks a row, and `self.design` is the record under these
constants. So a fix of a release is written once, under one name: a field with its description, and the first row that
has it. The description may be any object whose text is that sentence, such as a record of a fix.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
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
        described = {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Annotated}
        described = {
            name: (type_, *said) for name, (type_, *said) in described.items() if type_ is bool or _enumeration(type_)
        }
        for name in only or ():
            if name not in described:
                raise SpecificationError(
                    f"switches({record.__name__}): its field {name} is not Annotated[bool, 'what it switches']"
                )
        names = [name for name in described if only is None or name in only]
        newest = releases[list(releases)[-1]] if releases else record()
        self.record = record
        self.forms = {name: _enumeration(described[name][0]) for name in names}
        self.releases = _Constants(releases, names)
        self.constants: dict[str, Constant] = {}
        """The switches by name."""
        for name, form in self.forms.items():
            among = None if form is None else [each.name for each in form]
            self.constants[name] = switch(_plain(getattr(newest, name)), str(described[name][-1]), among=among)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, specification: Any, owner: type) -> Any:
        if specification is None:
            return self
        values = {}
        for name, form in self.forms.items():
            value = vars(specification)[name]
            values[name] = value if form is None else form[value]
        made = vars(specification)[self.name] = self.record(**values)  # made once
        return made


class _Constants(Mapping[str, Mapping[str, Any]]):
    """The switches of each release, looked up one by one: the records may know releases that they do not list."""

    def __init__(self, records: Mapping[str, Any], names: Collection[str]):
        self.records, self.names = records, names

    def __getitem__(self, release: str) -> Mapping[str, Any]:
        row = self.records[release]
        return {name: _plain(getattr(row, name)) for name in self.names}

    def __iter__(self) -> Iterator[str]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


class OfAllRecords(Mapping[str, Mapping[str, Any]]):
    """The constants of each release, of several records with the same releases."""

    def __init__(self, each: Sequence[Mapping[str, Mapping[str, Any]]]):
        self.each = each

    def __getitem__(self, release: str) -> Mapping[str, Any]:
        return {name: value for its in self.each for name, value in its[release].items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self.each[0])

    def __len__(self) -> int:
        return len(self.each[0])


def switches(record: type[R], releases: Mapping[str, R], only: Collection[str] | None = None) -> R:
    """A switch for each field of a record that has a description: `Annotated[bool, "What it is about."]`.

    Args:
        record: a NamedTuple. A field is a switch if it has a description and is a bool or an enumeration; the value
            of an enumeration's switch is the name of a member. Other fields keep their defaults.
        releases: each release, oldest first, with its record; the default of a switch is its value in the newest.
        only: the fields that are switches here, if not all of them.

    Raises:
        SpecificationError: one of `only` is no such field.
    """
    return cast("R", Switches(record, releases, only))


def _enumeration(type_: Any) -> type[Enum] | None:
    return type_ if isinstance(type_, type) and issubclass(type_, Enum) else None


def _plain(value: Any) -> Any:
    """A field's value, as written on a command line and in JSON."""
    return value.name if isinstance(value, Enum) else value
