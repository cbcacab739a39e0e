"""The language of specifications.

    from spec.language import Specification, State, action, constant, invariant, require, variable

    class Counts(State):
        count: int = variable("How often it was pressed.")

    class Counter(Specification[Counts]):
        top: int = constant(3, "where it stops", at_least=1)

        def sizes(self):
            return {int: range(self.top + 1)}

        @action
        def press(self, s: Counts):
            "Press the button."
            require(s.count < self.top)
            s.count += 1

        @invariant
        def never_beyond_the_top(self, s: Counts):
            return s.count <= self.top

`docs/tutorial.md` writes a specification from scratch, `docs/parts.md` one made of parts. This package knows nothing
of Kafka, nor of how specifications are explored.
"""

from spec.language.domains import (
    ABSENT,
    LEFT_OUT,
    Domain,
    MappingDomain,
    booleans,
    integers,
    interned,
    left_out,
    mapping,
    one_of,
    optional,
    partial_mapping,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.errors import AssumptionViolated, Bounded, Disabled, OutOfDomain, SpecificationError, UsageError
from spec.language.part import Part, part
from spec.language.pictures import Cells, Drawing, Grid, Look, Queue, Tag, Tags, Tree
from spec.language.sizes import Partial, Size, Total, at_most, frozen
from spec.language.specification import Specification
from spec.language.state import State
from spec.language.switches import switches
from spec.language.symmetry import either, every_combination, interchangeable, part_of
from spec.language.words import (
    Step,
    action,
    assumption,
    bound,
    constant,
    each,
    initial,
    invariant,
    picture,
    require,
    say,
    sometimes,
    switch,
    transition_invariant,
    variable,
    view,
    where,
    without_bounds,
)

__all__ = [
    "ABSENT",
    "AssumptionViolated",
    "Bounded",
    "Cells",
    "Disabled",
    "Domain",
    "Drawing",
    "Grid",
    "LEFT_OUT",
    "Look",
    "MappingDomain",
    "OutOfDomain",
    "Part",
    "Partial",
    "Queue",
    "Size",
    "Specification",
    "SpecificationError",
    "State",
    "Step",
    "Tag",
    "Tags",
    "Total",
    "Tree",
    "UsageError",
    "action",
    "assumption",
    "at_most",
    "booleans",
    "bound",
    "constant",
    "each",
    "either",
    "every_combination",
    "frozen",
    "initial",
    "integers",
    "interchangeable",
    "interned",
    "invariant",
    "left_out",
    "mapping",
    "one_of",
    "optional",
    "part",
    "part_of",
    "partial_mapping",
    "picture",
    "possibly_empty",
    "record",
    "require",
    "say",
    "sequence_of",
    "sometimes",
    "subset_of",
    "switch",
    "switches",
    "transition_invariant",
    "tuple_of",
    "variable",
    "view",
    "where",
    "without_bounds",
]
