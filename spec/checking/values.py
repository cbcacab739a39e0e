"""Values of a state as they are printed: as text for a person, as JSON for a program."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from spec.language.domains import ABSENT, LEFT_OUT, Subset
from spec.language.errors import LONGEST_INTEGER, printed, shown


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
    if _is_record(value):
        return _record(value)
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(show, value)) + "}"
    if isinstance(value, tuple) and value.__class__.__str__ is tuple.__str__:
        return "(" + ", ".join(map(show, value)) + ("," if len(value) == 1 else "") + ")"
    return printed(value)


def _is_record(value: object) -> bool:
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _record(value: Any) -> str:
    fields = fields_of(value)
    if fields is None:
        return str(value)
    return f"{value.__class__.__name__}({', '.join(f'{name}={show(part)}' for name, part in fields)})"


def fields_of(value: Any) -> list[tuple[str, Any]] | None:
    """The fields of a record without what is left out or as it always begins; None if it says itself how it prints.

    Of anything but a record there are none, either.
    """
    cls: Any = value.__class__  # not type(value), of which a lazy value would be none
    if not _is_record(value) or cls.__str__ not in (tuple.__str__, object.__str__):
        return None
    usual = getattr(cls, "_field_defaults", {})
    return [
        (name, part)
        for name, part in zip(cls._fields, value, strict=True)
        if part is not LEFT_OUT and not (name in usual and usual[name] == part)
    ]


def jsonable(value: Any) -> Any:
    """A value of a state as JSON: records as objects, sets and tuples as lists, absent things as null."""
    if isinstance(value, Enum):
        return value.name
    if value is ABSENT or value is None:
        return None
    if isinstance(value, bool | str) or (isinstance(value, int) and value.bit_length() <= LONGEST_INTEGER):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if _is_record(value):
        return {name: jsonable(part) for name, part in zip(value._fields, value, strict=True) if part is not LEFT_OUT}
    if isinstance(value, Mapping):
        return {name_of_key(key): jsonable(part) for key, part in value.items() if part is not LEFT_OUT}
    if isinstance(value, frozenset) and not isinstance(value, Subset):
        return [jsonable(part) for part in sorted(value, key=shown)]
    if isinstance(value, tuple | frozenset):
        return [jsonable(part) for part in value]
    return None if value is LEFT_OUT else printed(value)


def name_of_key(key: Any) -> str:
    """A key of a mapping as the name of a JSON member."""
    return key.name if isinstance(key, Enum) else str(key)
