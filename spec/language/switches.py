"""Switches from the fields of a record: a specification varies the design that the checked code reads.

    class Controllers(Specification[Cluster]):
        design: Design = switches(Design, {"2.0": Design("2.0"), "2.1": Design("2.1")}, only=[Design.fence])

Then `--without fence` turns one off, `--release 2.0` picks a row, and `self.design` is the record under these
constants. So a fix of a release is written once, under one name, as a field of the record: `Design("2.0").fence` is
its value, and `Design.fence` prints as its description, "A write is refused under an old epoch (2.1)."
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from spec.language.errors import SpecificationError
from spec.language.words import Constant, Declaration, switch


class Record(Protocol):
    """An immutable record whose class has a description for each field that can be a switch."""

    def but(self, **values: Any) -> Self:
        """The same with other values of these fields."""


R = TypeVar("R", bound=Record)


class Switches(Declaration, Generic[R]):
    """See `switches`."""

    kind = "switches"

    def __init__(self, record: type[R], releases: Mapping[str, R], only: Collection[object] | None):
        newest = releases[list(releases)[-1]] if releases else record()
        described = {name: getattr(record, name) for name in vars(newest) if hasattr(record, name)}
        among = {name: getattr(description, "among", None) for name, description in described.items()}
        values = {
            name: value
            for name, value in vars(newest).items()
            if name in described and (among[name] or isinstance(value, bool | Enum))
        }
        names = {described[name]: name for name in values}
        self.record = record
        self.forms: dict[str, type[Enum] | None] = {}
        self.constants: dict[str, Constant] = {}
        """The switches by name."""
        for description in names if only is None else only:
            if description not in names:
                raise SpecificationError(
                    f"switches({record.__name__}): {description} describes no field that is a bool or an "
                    "enumeration, or whose values are listed"
                )
            name = names[description]
            value = values[name]
            form = self.forms[name] = type(value) if isinstance(value, Enum) else None
            allowed = among[name] if form is None else [each.name for each in form]
            self.constants[name] = switch(_plain(value), str(description), among=allowed)
        self.releases = _Constants(releases, self.forms)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, specification: Any, owner: type) -> Any:
        if specification is None:
            return self
        own = vars(specification)
        values = {name: own[name] if form is None else form[own[name]] for name, form in self.forms.items()}
        made = own[self.name] = self.record().but(**values)  # made once
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


def switches(record: type[R], releases: Mapping[str, R], only: Collection[object] | None = None) -> R:
    """A switch for each field of a record that its class describes.

    Args:
        record: the class. A field is a switch if its value is a bool or a member of an enumeration, and the class has
            an attribute of its name, whose text describes it; the value of an enumeration's switch is the name of a
            member. So is a field of another type, if that attribute lists its values, as `among`. Other fields are
            those of `record()`.
        releases: each release, oldest first, with its record; the default of a switch is its value in the newest.
        only: the descriptions of the fields that are switches here, in order, if not all of them.

    Raises:
        SpecificationError: one of `only` describes no such field.
    """
    return cast("R", Switches(record, releases, only))


def _plain(value: Any) -> Any:
    """A field's value, as written on a command line and in JSON."""
    return value.name if isinstance(value, Enum) else value
