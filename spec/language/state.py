"""The state as actions and properties see it: variables as attributes, mappings by key, over one row of cells.

Internally a state is a tuple of immutable values, one for each *cell*: a plain variable has one cell, a mapping one
for each key. `State` is a window on such a tuple. Assigning through it changes a working copy, cell by cell, and
`changed` returns the successor; `load` moves the window to another state. One window serves millions of states.

A state is also a row of 64-bit words, and so one integer: the slots of its cells, in order, from the most significant
bit of the first word downwards. No slot crosses the border of two words; bits left free are 0. Integers are ordered
as the tuples of codes are, and compiled code can read words slot by slot.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, get_origin

from spec.language.allowed_values import counted, within
from spec.language.cells import WORD, Cell, CellRow, MappingVariable, SlotPlace, Variable, key_in_brackets
from spec.language.domains import Domain, MappingDomain
from spec.language.domains.interned import has_interned_part
from spec.language.errors import SpecificationError, safe_repr
from spec.language.sizes import name_of, types_in
from spec.language.words import Body, Declared

Values = tuple[Any, ...]
"""A state: the value of every cell, in the order of the layout."""


class Layout:
    """The cells of a specification's state, in the order of its variables' declaration, and their slots. `states` is
    the class of the `s` that actions and properties receive.
    """

    def __init__(
        self, domains: Mapping[str, tuple[str, Domain[Any] | MappingDomain]], states: type[State] | None = None
    ):
        self.states = State if states is None else states
        self.states_made: dict[tuple[type[State], str], tuple[type[State], Mapping[str, Variable]]] = {}
        """The classes made for states of this layout, by class and prefix of variables; filled on first use."""
        self.variables: dict[str, Variable] = {}
        cells: list[tuple[str, Domain[Any]]] = []
        for name, (doc, domain) in domains.items():
            at: int | dict[Any, int]
            if isinstance(domain, MappingDomain):
                at = {key: number for number, key in enumerate(domain.cells, len(cells))}
                names = dict(zip(at, distinct_names([*at], key_in_brackets, repr), strict=True))
                cells += [(f"{name}[{names[key]}]", cell) for key, cell in domain.cells.items()]
                self.variables[name] = Variable(name, doc, at, domain.partial, {key: key for key in at}, names)
            else:
                at = len(cells)
                cells.append((name, domain))
                self.variables[name] = Variable(name, doc, at, partial=False)
        self.slots = tuple(_placed(cells))
        """The slots of all cells, in order."""
        self.words = self.slots[-1].word + 1 if self.slots else 1
        """The number of words of a packed state; at least one."""
        self.first_slot: list[int] = []
        """The index of each cell's first slot; for a cell without slots, the index of the next slot."""
        self.cells: list[Cell] = []
        first = 0
        for name, domain in cells:
            if has_interned_part(domain):
                raise SpecificationError(
                    f"variable {name}: interned(...) is the domain of a whole variable, or of all values of a Total"
                )
            following = first + len(domain.slots)
            self.first_slot.append(first)
            self.cells.append(Cell(name, domain, self.slots[first:following], self.words))
            first = following
        self.width = sum(cell.width for cell in self.cells)
        """The number of bits of a packed state, without those left free."""

    def first(self) -> Values:
        """The state in which every cell holds the first value of its domain."""
        return self.unpack(0)

    def pack(self, values: Values) -> int:
        """The state as one integer; packed states are ordered as the tuples of their codes."""
        packed = 0
        for cell, value in zip(self.cells, values, strict=True):
            packed |= cell.pack(value)
        return packed

    def unpack(self, packed: int) -> Values:
        """The state with this packed form."""
        return tuple([cell.unpack(packed) for cell in self.cells])


def _placed(cells: Collection[tuple[str, Domain[Any]]]) -> Iterator[SlotPlace]:
    """Place the slots one after the other; a slot that does not fit into a word starts the next."""
    word, free = 0, WORD
    within(sum(len(domain.slots) for _, domain in cells), "a state", "parts")
    for at, (cell, domain) in enumerate(cells):
        for slot in domain.slots:
            name, width = cell + slot.name, slot.width
            if width > WORD:
                raise SpecificationError(
                    f"variable {name}: it has {counted(slot.size)} values, more than {WORD} bits can hold"
                )
            if width > free:
                word, free = word + 1, WORD
            free -= width
            yield SlotPlace(at, slot, word, free, name)


def distinct_names(values: Sequence[Any], plainly: Callable[[Any], str], in_full: Callable[[Any], str]) -> list[str]:
    """These values as texts: plainly, or in full where two plain texts would be equal.

    >>> distinct_names([1, "1", "a"], str, repr)
    ['1', "'1'", 'a']
    """
    texts, full = [plainly(value) for value in values], set[int]()
    while True:
        often = Counter(texts)
        alike = {at for at, text in enumerate(texts) if often[text] > 1} - full
        if not alike:
            return texts
        full |= alike
        for at in alike:
            texts[at] = in_full(values[at])


class State(metaclass=Body):
    """The variables of a specification, as attributes of the `s` of actions and properties.

    To be subclassed, with one line for each variable: `holder: ClientId | None = variable("Who has it.")`. A value
    that depends on several variables is a method.
    """

    _layout: Layout
    _row: CellRow
    _own: Mapping[str, Variable]
    """Its own variables, without those of its parts."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name, value in vars(cls).items():
            if isinstance(value, Declared) and name not in inspect.get_annotations(cls):
                raise SpecificationError(
                    f"variable {cls.__name__}.{name}: it has no type: write {name}: Type = variable(...)"
                )
            if isinstance(value, Declared) and (hasattr(State, name) or name in inspect.get_annotations(State)):
                raise SpecificationError(f"variable {cls.__name__}.{name}: the language uses that name itself")
            if isinstance(value, Domain | MappingDomain):
                raise SpecificationError(f"variable {cls.__name__}.{name}: {_declared(name)}")
        for name, type_ in inspect.get_annotations(cls).items():
            if not isinstance(vars(cls).get(name, Declared), Declared | type) and "ClassVar" not in str(type_):
                raise SpecificationError(f"variable {cls.__name__}.{name}: {_declared(name)}")

    @classmethod
    def members(cls) -> dict[str, Declared | type[State]]:
        """The variables, and the parts with the classes of their states, in order of declaration."""
        return _members_of(cls)

    def __new__(cls, layout: Layout, row: CellRow | None = None, prefix: str = "") -> State:  # noqa: D102
        laid_out = layout.states_made.get((cls, prefix))
        if laid_out is None:
            laid_out = layout.states_made[cls, prefix] = cls._laid_out(layout, prefix)
        made, own = laid_out
        self: State = object.__new__(made)
        row = CellRow() if row is None else row
        self.__dict__.update(_layout=layout, _row=row, _own=own)
        for name, states in cls.members().items():
            if not isinstance(states, Declared):
                self.__dict__[name] = states(layout, row, f"{prefix}{name}.")
        return self

    @classmethod
    def _laid_out(cls, layout: Layout, prefix: str) -> tuple[type[State], Mapping[str, Variable]]:
        """A class with a property for each variable, because reads are the most frequent; and the variables."""
        own = {name.removeprefix(prefix): of for name, of in layout.variables.items() if name.startswith(prefix)}
        own = {name: of for name, of in own.items() if "." not in name}
        made = {
            name: _plain(of.name, of.at) if isinstance(of.at, int) else MappingVariable(of)
            for name, of in own.items()
        }
        made |= {
            name: _missing(name)
            for name, each in cls.members().items()
            if isinstance(each, Declared) and name not in own
        }
        return type("State", (cls,), made), own

    if not TYPE_CHECKING:  # a type checker knows the names

        def __getattr__(self, name: str) -> Any:
            raise SpecificationError(self._unknown(name))

    def __setattr__(self, name: str, value: Any) -> None:
        variable = self._own.get(name)
        if variable is None:
            raise SpecificationError(self._unknown(name))
        if isinstance(variable.at, int):
            self._row.write(variable.at, value, variable.name)
        elif not isinstance(value, Mapping):
            raise SpecificationError(
                f"{name} = {safe_repr(value)}: the variable is a mapping, so the value must be one"
            )
        else:
            getattr(self, name).assign_all(dict(value))

    def _only_read(self) -> None:
        """From now on nothing assigns to it, so each access to a mapping may give the same one, which is faster."""
        for name, variable in self._own.items():
            if isinstance(variable.at, dict):
                self.__dict__[name] = getattr(self, name)
        for each in [*vars(self).values()]:
            if isinstance(each, State):
                each._only_read()

    def __eq__(self, other: object) -> bool:
        """Whether all variables are equal (`UNCHANGED vars`), read one by one until two differ."""
        if not isinstance(other, State) or type(self).__mro__[1] is not type(other).__mro__[1]:
            return NotImplemented
        names = self._names()
        return names == other._names() and all(getattr(self, name) == getattr(other, name) for name in names)

    def __hash__(self) -> int:
        raise SpecificationError(
            "a state has no hash: as an element, a key or an argument of a cached function, pass the variables that "
            "matter, such as (s.a, s.b)"
        )

    def __repr__(self) -> str:
        of = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._names())
        return f"{type(self).__mro__[1].__name__}({of})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise SpecificationError(
            "a state cannot be copied or pickled: keep the variables that matter, such as (s.a, s.b); what was read "
            "of them stays as it was"
        )

    __deepcopy__ = __reduce_ex__

    def _names(self) -> list[str]:
        """Its own variables and its parts."""
        return [*self._own, *(name for name, each in vars(self).items() if isinstance(each, State))]

    def _unknown(self, name: str) -> str:
        if name in self.__dict__:
            return f"{name} is a part: assign to its variables"
        return no_variable(name, self._own)


@cache
def _members_of(cls: type[State]) -> dict[str, Declared | type[State]]:
    """See `State.members`; cached, because each window reads the same classes."""
    found: dict[str, Declared | type[State]] = {}
    for base in reversed(cls.__mro__):
        of_parts = [name for name in inspect.get_annotations(base) if name not in vars(base)]
        types = types_in(cls) if of_parts and base is not State else {}
        for name in inspect.get_annotations(base):
            declared = vars(base).get(name)
            if isinstance(declared, Declared):
                found[name] = declared
            elif isinstance(types.get(name), type) and issubclass(types[name], State):
                found[name] = types[name]
            elif name in types and get_origin(types[name]) is not ClassVar:
                raise SpecificationError(
                    f"variable {base.__name__}.{name}: {_declared(name)}; or {name_of(types[name])} must be the "
                    "class of states of a part"
                )
    return found


def no_variable(name: str, known: Collection[str]) -> str:
    """The message for a variable that does not exist."""
    if known:
        return f"there is no variable {name}; there are {', '.join(known)}"
    return f"there is no variable {name}, nor any: a specification names its class of states, Specification[States]"


def _declared(name: str) -> str:
    return f"declare it as {name}: Type = variable('What it means.')"


class Window:
    """An engine's handle of a State: it loads states into it and collects assignments."""

    __slots__ = ("_base", "_row", "layout", "s")

    def __init__(self, layout: Layout, only_read: bool = False):
        self.layout = layout
        self.s = layout.states(layout)
        if only_read:
            self.s._only_read()
        self._row = self.s._row
        self._base: Values = ()

    def load(self, values: Values) -> State:
        """Move the window to this state, dropping earlier assignments."""
        self._base = values
        self._row.values[:] = values
        self._row.dirty.clear()
        return self.s

    @property
    def dirty(self) -> Collection[int]:
        """The cells assigned since the state was loaded; always the same object, updated in place."""
        return self._row.dirty

    def reset(self) -> None:
        """Undo the assignments since the state was loaded."""
        row, base = self._row, self._base
        for at in row.dirty:
            row.values[at] = base[at]
        row.dirty.clear()

    def writable(self, writer: str | None) -> None:
        """Let this action assign to the state; with None, nothing may."""
        self._row.writer = writer

    def changed(self) -> Values:
        """The state with all assignments since it was loaded, every value in its canonical form; OutOfCell if a value
        is outside its domain.
        """
        row = self._row
        if not row.dirty:
            return self._base
        cells, values = self.layout.cells, row.values
        for at in row.dirty:
            values[at] = cells[at].admit(values[at])
        return tuple(values)

    def packed(self, before: int) -> int:
        """The same as `changed`, packed; `before` is the loaded state, packed."""
        cells, values = self.layout.cells, self._row.values
        for at in self._row.dirty:
            before = before & ~cells[at].mask | cells[at].pack(values[at])
        return before

    def assigned(self) -> dict[str, tuple[Any, Any]]:
        """The cells assigned since the state was loaded: their values before and now."""
        return {
            self.layout.cells[at].name: (self._base[at], self._row.values[at]) for at in sorted(set(self._row.dirty))
        }

    def watch(self) -> set[int]:
        """Start recording the cells that are read; returns the growing set."""
        self._row.looked_at = set()
        return self._row.looked_at


def _plain(name: str, at: int) -> property:
    def get(self: State) -> Any:
        row = self._row
        if row.looked_at is not None:
            row.looked_at.add(at)
        return row.values[at]

    return property(get, doc=f"The variable {name}.")


def _missing(name: str) -> property:
    """A declared variable that does not exist under these constants."""

    def get(self: State) -> Any:
        raise SpecificationError(self._unknown(name))

    return property(get)
