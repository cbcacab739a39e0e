"""A canonical form of packed states, for a group that is too large to be listed: exactly one state of each orbit.

Values are ordered only by what the state says about them, and are then renamed in that order. Programs for graph
isomorphism do the same (nauty; McKay, Practical graph isomorphism, 1981):

- *Colour refinement.* Values are distinguished by the facts in which they occur, then by the colours of the values
  with which they occur, until this distinguishes no further values. A cell is the set of values of one colour.
- *Twins.* Values of a cell whose exchange leaves the state unchanged may be in any order. Where values do not refer
  to each other, those of one cell are always twins, and ordering them is just sorting.
- *Individualisation.* If a cell has other values too, each of them in turn is put before the rest, and refinement
  continues. This gives a tree of orders. Of its leaves, those whose refinements left the lowest traces are kept, and
  of these the one with the least packed state is the canonical form.
- *Automorphisms.* Two leaves with the same packed state reveal a permutation that leaves the state unchanged. Of
  values that it maps to each other, only one needs to be tried.

Refinement mixes words, and two words may collide. That costs only time: facts decide whether values are twins, and
which leaf is the least. `spec.checking.local.representing` is the same algorithm, compiled.
"""

from __future__ import annotations

from collections.abc import Sequence

from spec.checking.states.splitmix import MASK, mixed
from spec.checking.symmetry.relations import Relations
from spec.language.cells import WORD
from spec.language.state import Layout


class Canonical:
    """A representative of each orbit, not necessarily the least state of it."""

    def __init__(self, layout: Layout, facts: Relations):
        self.facts = facts
        places = [
            ((layout.words - 1 - place.word) * WORD + place.shift, (1 << place.width) - 1) for place in layout.slots
        ]
        self.shifts = [shift for shift, _ in places]
        self._slots = [
            (*places[each.slot], each.first, *(places[each.guard] if each.guard >= 0 else (0, 0)), each.above)
            for each in facts.slots
        ]
        self._moving = sum(mask << shift for shift, mask, *_ in self._slots)
        # Memoryviews, whose items are plain integers: they are read one by one.
        self.kind_of, self.table = facts.kind_of.data, facts.table.data
        self.slot_of, self.code_of = facts.slot_of.data, facts.code_of.data
        self.arity, self.offset = facts.arity.tolist(), facts.offset.tolist()
        self.stride, self.role_salt = facts.stride.tolist(), facts.role_salt.tolist()
        self.salt, self.tells = facts.salt.tolist(), facts.tells.tolist()
        self.sort_begins = facts.sort_begins
        self._arguments: dict[int, tuple[int, ...]] = {}

    def representative(self, packed: int) -> int:
        """The canonical form of a packed state."""
        facts, arguments = list[int](), self._arguments
        for shift, mask, first, guard, guard_mask, above in self._slots:
            fact = first + (packed >> shift & mask)
            if self.kind_of[fact] >= 0 and (not guard_mask or packed >> guard & guard_mask > above):
                facts.append(fact)
                if fact not in arguments:
                    arity = self.arity[self.kind_of[fact]]
                    arguments[fact] = tuple(self.facts.arguments[fact, :arity].tolist())
        return packed & ~self._moving | _Search(self, facts, arguments).least

    def about(self, fact: int, arguments: Sequence[int]) -> int:
        """The fact of the same kind with other arguments."""
        kind = self.kind_of[fact]
        at: int = self.offset[kind]
        for value, stride in zip(arguments, self.stride[kind], strict=False):
            at += (value - self.sort_begins[value]) * stride
        found: int = self.table[at]
        return found


class _Node:
    """An order of the values, in cells: a value's colour is the place where its cell begins."""

    def __init__(self, order: list[int], colour: list[int]):
        self.order, self.colour = order, colour

    def cells(self) -> list[range]:
        """The places of each cell."""
        begins = sorted(set(self.colour))
        return [range(*each) for each in zip(begins, [*begins[1:], len(self.order)], strict=True)]

    def split(self, words: Sequence[int], trace: int) -> int:
        """Split a cell by the words of its values, the lowest first; mix the outcome into the trace."""
        for cell in self.cells():
            its = sorted((self.order[place] for place in cell), key=words.__getitem__)
            last = None
            for place, value in zip(cell, its, strict=True):
                self.order[place] = value
                if words[value] != last:
                    last, begin = words[value], place
                    trace = (mixed(trace ^ last) + place) & MASK
                self.colour[value] = begin
        return trace

    def individualised(self, cell: range, value: int) -> _Node:
        """The same order, with one value of a cell before the others."""
        order, colour = [*self.order], [*self.colour]
        others = [order[place] for place in cell if order[place] != value]
        for place, each in zip(cell, (value, *others), strict=True):
            order[place] = each
            colour[each] = cell[0] if each == value else cell[1]
        return _Node(order, colour)


class _Search:
    """The search for the canonical form of a state with these facts."""

    def __init__(self, form: Canonical, facts: list[int], arguments: dict[int, tuple[int, ...]]):
        self.form, self.facts, self.arguments = form, facts, arguments
        self.here = set(facts)
        self.relations = list[int]()
        words = [0] * len(form.sort_begins)
        for fact in facts:
            kind = form.kind_of[fact]
            if form.tells[kind] and form.arity[kind] == 1:
                (value,) = arguments[fact]
                words[value] = (words[value] + form.role_salt[kind][0]) & MASK
            elif form.tells[kind] and form.arity[kind]:
                self.relations.append(fact)
        self.least = -1
        """The packed facts of the best leaf so far."""
        self.best_order, self.best_path = list[int](), list[int]()
        self.traces = list[int]()
        """The traces on the path to the best leaf, or to the first leaf of a better branch."""
        self.path, self.alike = list[int](), list[list[int]]()
        """The individualised values; and by level, which values are known to lead to the same."""
        root = _Node([*range(len(words))], [*form.sort_begins])
        root.split(words, 0)
        self._refine(root)
        self._visit(root)

    def _refine(self, node: _Node) -> int:
        """Refine colours until nothing changes; the trace of the refinement."""
        form, trace = self.form, 0
        number = len(set(node.colour))
        while self.relations and number < len(node.order):
            words = [0] * len(node.order)
            for fact in self.relations:
                kind, arguments = form.kind_of[fact], self.arguments[fact]
                key = form.salt[kind]
                for value, salt in zip(arguments, form.role_salt[kind], strict=False):
                    key += mixed(salt ^ node.colour[value])
                key &= MASK
                for value, salt in zip(arguments, form.role_salt[kind], strict=False):
                    words[value] = (words[value] + mixed(key ^ salt)) & MASK
            trace = node.split(words, trace)
            before, number = number, len(set(node.colour))
            if number == before:
                break
        return trace

    def _visit(self, node: _Node, trace: int | None = None) -> int:
        """Visit the leaves below a node; the level at which to continue."""
        level = len(self.path)
        cell = self._target(node)
        if trace is not None and not self._promising(trace << 1 & MASK | (cell is not None)):
            return level - 1
        if cell is None:
            return self._leaf(node)
        self.alike.append(self._twins_in(node, cell))
        tried = set[int]()
        for value in [node.order[place] for place in cell]:
            if self.alike[level][value] in {self.alike[level][each] for each in tried}:
                continue
            tried.add(value)
            child = node.individualised(cell, value)
            self.path.append(value)
            back = self._visit(child, self._refine(child))
            self.path.pop()
            if back < level:
                break
        else:
            back = level - 1
        self.alike.pop()
        return back

    def _promising(self, trace: int) -> bool:
        """Whether the best leaf may be below the newest node of the path, which has this trace."""
        at = len(self.path) - 1
        if at == len(self.traces):
            self.traces.append(trace)
        elif trace < self.traces[at]:
            self.traces[at:] = [trace]
            self.least = -1
        return trace == self.traces[at]

    def _leaf(self, node: _Node) -> int:
        packed = self._renamed(node.order)
        if self.least < 0 or packed < self.least:
            self.least, self.best_order, self.best_path = packed, node.order, [*self.path]
        elif packed == self.least:
            common = next(at for at, value in enumerate(self.path) if value != self.best_path[at])
            for level in range(common + 1):
                for one, other in zip(self.best_order, node.order, strict=True):
                    self._join(self.alike[level], one, other)
            return common
        return len(self.path) - 1

    def _target(self, node: _Node) -> range | None:
        """The first cell whose values are not all twins."""
        for cell in node.cells():
            if not all(self._are_twins(node.order[cell[0]], node.order[place]) for place in cell[1:]):
                return cell
        return None

    def _twins_in(self, node: _Node, cell: range) -> list[int]:
        alike = [*range(len(node.order))]
        its = [node.order[place] for place in cell]
        for at, one in enumerate(its):
            for other in its[:at]:
                if alike[one] != alike[other] and self._are_twins(other, one):
                    self._join(alike, other, one)
        return alike

    def _are_twins(self, one: int, other: int) -> bool:
        """Whether exchanging these two leaves the state unchanged."""
        for fact in self.facts:
            its = self.arguments[fact]
            if (one in its or other in its) and self.form.about(
                fact, [other if value == one else one if value == other else value for value in its]
            ) not in self.here:
                return False
        return True

    def _renamed(self, order: Sequence[int]) -> int:
        """The packed facts after values are renamed in this order."""
        name, form, packed = [0] * len(order), self.form, 0
        for place, value in enumerate(order):
            name[value] = place
        for fact in self.facts:
            image = self.form.about(fact, [name[value] for value in self.arguments[fact]])
            packed |= form.code_of[image] << form.shifts[form.slot_of[image]]
        return packed

    @staticmethod
    def _join(alike: list[int], one: int, other: int) -> None:
        kept, gone = sorted((alike[one], alike[other]))
        if kept != gone:
            alike[:] = [kept if each == gone else each for each in alike]
