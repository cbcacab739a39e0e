"""Stand-ins for a state: in them a set, tuple or mapping knows only the domain of its members.

A parameter may range over part of a state. The function that names that part is run on a stand-in, and the result
gives the parameter's domain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spec.language.domains import Domain, MappingDomain, PossiblyDomain, SequenceDomain, SubsetDomain
from spec.language.errors import SpecificationError
from spec.language.state import State, no_variable


class Members:
    """A state in which each set, tuple or mapping is represented by the domain of its members."""

    def __init__(
        self,
        states: type[State],
        variables: Mapping[str, tuple[str, Domain[Any] | MappingDomain]],
        part: str = "",
    ):
        self._states, self._variables, self._part = states, variables, part

    def __getattr__(self, name: str) -> Any:
        if f"{self._part}{name}" in self._variables:
            return _members_of(self._variables[f"{self._part}{name}"][1])
        member = self._states.members().get(name)
        if isinstance(member, type):
            return Members(member, self._variables, f"{self._part}{name}.")
        if member is None and hasattr(self._states, name):
            raise AttributeError(name)
        own = [it.removeprefix(self._part) for it in self._variables if it.startswith(self._part)]
        raise SpecificationError(no_variable(name, own))


class _Unavailable:
    """A value that code may pass on but not inspect: code that inspects it computes its range from the state."""

    def _refuse(self, *_: object) -> bool:
        raise TypeError

    __bool__ = __contains__ = __iter__ = __len__ = _refuse


class MembersOfDomain(_Unavailable):
    """A set or tuple of a state, known only by the domain of its members."""

    def __init__(self, domain: Domain[Any]):
        self.domain = domain


class MembersOfMapping(_Unavailable):
    """A mapping of a state, known only by the domains of its keys and values."""

    def __init__(self, mapping: MappingDomain):
        self._mapping = mapping

    def keys(self) -> MembersOfDomain:
        """Its keys."""
        return MembersOfDomain(self._mapping.keys)

    def values(self) -> MembersOfDomain:
        """Its values, if all keys have the same domain."""
        first, *others = map(existing, self._mapping.cells.values())
        if any(other is not first for other in others):
            raise AttributeError("values")
        return MembersOfDomain(first)

    def __getitem__(self, key: Any) -> Any:
        return _members_of(existing(self._mapping.cells[key]))


def _members_of(domain: Domain[Any] | MappingDomain) -> Any:
    match domain:
        case MappingDomain():
            return MembersOfMapping(domain)
        case SubsetDomain(elements=elements) | SequenceDomain(elements=elements):
            return MembersOfDomain(elements)
    raise AttributeError(str(domain))


def existing(cell: Domain[Any]) -> Domain[Any]:
    """The domain of a mapping's cell when its key is present."""
    return cell.domain if isinstance(cell, PossiblyDomain) else cell
