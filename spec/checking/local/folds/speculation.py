"""What twins call: the members of a set that matter to the body of a fold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

from spec.checking.local.folds.purity import Purity, stays
from spec.checking.local.lazy import LazySet

PATIENCE: Final = 100
"""Elements that all mattered to a body, after which it is no longer tried."""
BREADTH: Final = 4_096
"""The most elements for which a body within a body is tried, counted for all elements of the outer set."""


class Speculation:
    """Tries the bodies of folds before memberships are read."""

    def __init__(self, purity: Purity):
        self._purity = purity
        self._in_vain: dict[CodeType, int] = {}
        """By probe, how many elements it was tried for as long as all of them mattered; -1 if some did not."""

    def members(
        self, of: Any, probe: Callable[[Any], Iterator[Any]], calls: Collection[str], holds: bool = True
    ) -> Any:
        """What a fold iterates over, without elements that do not matter to it.

        Args:
            of: anything; all but a state's set remains as it is.
            probe: a generator for one element, which yields something true if the element matters.
            calls: the members that the probe calls.
            holds: whether the probe says what the fold does.
        """
        if type(of) is not LazySet or not holds:
            return of
        assert isinstance(probe, FunctionType)
        return self._mattering(of, probe) if self._purity.of(probe, calls) else of

    def _mattering(self, of: LazySet, probe: FunctionType) -> Iterator[Any]:
        seen, may_be_tried = of._seen, variables_stay(probe)
        for element, member in zip(of._lens.order, of._members, strict=True):
            if type(member) is bool:
                there = member
            elif member in seen or not may_be_tried or self._matters(of, probe, element):
                there = seen[member] == 1
            else:
                there = False
                seen.left_out.add(member)
            if there:
                yield element
                may_be_tried = variables_stay(probe)  # others may have assigned to them

    def _matters(self, of: LazySet, probe: FunctionType, element: Any) -> bool:
        """Whether an element matters, or nobody can say without reading more.

        A path must read the same whenever it is recorded. So a body is given up only if no element was ever left out.
        """
        seen, in_vain = of._seen, self._in_vain.get(probe.__code__, 0)
        trying, elements = seen.trying, len(of._members)
        if in_vain >= PATIENCE or trying * elements > BREADTH:
            return True
        seen.trying = max(trying, 1) * elements
        try:
            matters = any(probe(element))
        except KeyboardInterrupt:
            raise
        except BaseException:  # also that more must be read; if the element is a member, its turn raises again
            matters = True
        finally:
            seen.trying = trying
        if in_vain >= 0:
            self._in_vain[probe.__code__] = in_vain + 1 if matters else -1
        return matters


def variables_stay(function: FunctionType) -> bool:
    """Whether the variables around a function hold values that stay the same when they are used."""
    closure = function.__closure__
    return closure is None or all(map(_cell_stays, function.__code__.co_freevars, closure))


def _cell_stays(name: str, cell: Any) -> bool:
    if name.startswith("."):  # ours
        return True
    try:
        return stays(cell.cell_contents)
    except ValueError:  # not assigned yet
        return True
