"""The least packed state of an orbit, for a group that is small enough to be listed.

The permutations are not tried one by one. They form a tree: permutations with the same effect on the first slots
share a branch, and slot by slot only the branches with the least code are followed. So a slot that names no broker,
such as a broker's own log, is compared once per broker, not once per permutation; and almost always only one branch
soon remains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from spec.checking.symmetry.images import Codes, Image, Permuted, UsedCodes
from spec.language.state import Layout


class PermutationNode:
    """Permutations with the same effect on all slots before this one. Branches are made on demand: a tree is as deep
    as a state has slots, and most branches are never needed.
    """

    def __init__(self, images: Sequence[Sequence[Image]], permutations: tuple[int, ...], slot: int = 0):
        self.permutations = permutations
        self._images, self._slot = images, slot

    @cached_property
    def branches(self) -> tuple[tuple[Image, PermutationNode], ...]:
        """The different effects on this slot, each with its permutations. None after the last slot."""
        if self._slot == len(self._images[0]):
            return ()
        found: dict[Image, list[int]] = {}
        for number in self.permutations:
            found.setdefault(self._images[number][self._slot], []).append(number)
        return tuple(
            (image, PermutationNode(self._images, tuple(its), self._slot + 1)) for image, its in found.items()
        )


class MinimumImage:
    """The least packed state of each orbit under the permutations with these images."""

    def __init__(self, layout: Layout, images: Iterable[tuple[Image, ...]]):
        self.images = tuple(images)
        """The images by permutation and slot. The first permutation changes nothing."""
        self.tree = PermutationNode(self.images, tuple(range(len(self.images))))
        """The permutations by their effect on the first slot, the second, and so on."""
        self._codes = Codes(layout)
        self._permuted = [Permuted(layout, each) for each in self.images]

    def representative(self, packed: int) -> int:
        """The least state in the orbit of a packed state."""
        codes = self._codes.unpack(packed)
        best = self._best(codes)
        return self._permuted[best].of_codes(codes) if best else packed

    def _best(self, codes: UsedCodes) -> int:
        """A permutation that maps a state to the least of its orbit."""
        left = [self.tree]
        while len(left) > 1 or len(left[0].permutations) > 1:
            if len(left) == 1 and len(left[0].branches) == 1:  # nothing to compare
                left = [left[0].branches[0][1]]
                continue
            lowest, following = None, list[PermutationNode]()
            for node in left:
                for image, child in node.branches:
                    code = image.of(codes)
                    if lowest is None or code < lowest:
                        lowest, following = code, [child]
                    elif code == lowest:
                        following.append(child)
            if not following:  # after the last slot: they all lead to the same state
                break
            left = following
        return left[0].permutations[0]
