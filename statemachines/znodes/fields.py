"""JSON as Kafka's decoders read it: by field name, with the type that Kafka expects.

Fields that they do not read are ignored. [kafka.utils.json: JsonValue, JsonObject, DecodeJson]
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeVar

from statemachines.zookeeper.tree import ZkPath

T = TypeVar("T")

INT: Final = range(-(2**31), 2**31)
LONG: Final = range(-(2**63), 2**63)


class InvalidZnode(ValueError):
    """A path or its data is not as in Kafka; the message names the path, the error, and the allowed form."""

    def __init__(self, path: ZkPath, wrong: str, allowed: str) -> None:
        super().__init__(f"{path if path.isprintable() else ascii(path)}: {wrong}; {allowed}")


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value in the JSON of a node.

    Raises (in every method):
        InvalidZnode: it has another type than requested.
    """

    path: ZkPath
    value: Any
    where: str = ""
    """Its place in the JSON, such as `partitions.0[2]`; empty for the whole."""

    @classmethod
    def parse(cls, path: ZkPath, data: bytes) -> JsonValue:
        """The JSON of a node. Stricter than Kafka's parser, which stops reading after the first value."""
        try:
            value = json.loads(data, parse_constant=_refuse)
        except (ValueError, RecursionError):
            raise InvalidZnode(path, "it is no JSON", "Kafka writes JSON here") from None
        return cls(path, value)

    def __getitem__(self, name: str) -> JsonValue:
        """A required field."""
        if name not in self._object():
            raise InvalidZnode(self.path, f"{self._called} has no {name}", f"Kafka does not read it without {name}")
        return self._in(name, self._object()[name])

    def get(self, name: str, read: Callable[[JsonValue], T]) -> T | None:
        """The value of a field; None if it is missing."""
        return read(self[name]) if name in self._object() else None

    def fields(self) -> dict[str, JsonValue]:
        """All fields."""
        for name in self._object():
            self._refuse_surrogates(name)
        return {name: self._in(name, value) for name, value in self._object().items()}

    def elements(self) -> Iterator[JsonValue]:
        """The elements of a list, in order."""
        if not isinstance(self.value, list):
            self.refuse("a list")
        return (JsonValue(self.path, each, f"{self.where}[{at}]") for at, each in enumerate(self.value))

    def get_option(self, name: str, read: Callable[[JsonValue], T]) -> T | None:
        """The value of a field; None if it is missing or null."""
        return None if self._object().get(name) is None else read(self[name])

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.refuse("a string")
        self._refuse_surrogates(self.value)
        return self.value

    def integer(self) -> int:
        """An integer of 32 bits."""
        return self._number(self.value, INT, "an integer of 32 bits")

    def long(self) -> int:
        """An integer of 64 bits."""
        return self._number(self.value, LONG, "an integer of 64 bits")

    def written_long(self) -> int:
        """An integer of 64 bits, written as a string."""
        text = self.text()
        digits = text.removeprefix("-")
        is_integer = digits.isascii() and digits.isdecimal() and len(digits) <= len(str(LONG.stop))
        return self._number(int(text) if is_integer else None, LONG, "an integer of 64 bits in a string")

    def brokers(self) -> tuple[int, ...]:
        """A list of brokers."""
        return tuple(each.integer() for each in self.elements())

    def refuse(self, takes: str) -> NoReturn:
        """Raise the error that the value has another type."""
        raise InvalidZnode(self.path, f"{self._called} is {_brief(self.value)}", f"it takes {takes}")

    @property
    def _called(self) -> str:
        return self.where or "it"

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return self.value

    def _in(self, name: str, value: Any) -> JsonValue:
        shown = name if name.isprintable() else ascii(name)
        return JsonValue(self.path, value, f"{self.where}.{shown}" if self.where else shown)

    def _number(self, number: Any, allowed: range, takes: str) -> int:
        if type(number) is not int or number not in allowed:
            self.refuse(takes)
        return number

    def _refuse_surrogates(self, text: str) -> None:
        """Refuse half a character, which JSON can escape, but UTF-8 cannot encode."""
        if any("\ud800" <= each <= "\udfff" for each in text):
            raise InvalidZnode(self.path, f"{self._called} has half of a surrogate pair", "it takes Unicode")


def written(value: Any) -> bytes:
    """A value as Kafka's JSON: without white space, in UTF-8. [Json.encodeAsBytes]"""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _brief(value: Any) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case bool() | None:
            return json.dumps(value)
    return reprlib.repr(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)  # NaN and infinities, which JSON does not have
