"""Domains: the finite sets that variables, their parts and the parameters of actions range over.

A domain numbers its values densely, 0 to size - 1, in an order that is the same in every process. That one order
gives the type invariant (`rank` refuses any other value), the packed state (`rank`, `unrank`), the order in which
sets and parameters are iterated, the tie-break between counterexamples, and Hypothesis strategies. The first value,
number 0, is a variable's initial value unless `initial` assigns another. Dead data should be reset to it: two states
that differ only in a value that is never read again are one state too many.

The same order flattened: a domain is a row of *slots*, each of which holds a small number; a value is its `codes` in
them. Rows of codes, compared as tuples, are ordered as the numbers of their values are. A state is packed slot by
slot, so that a part of a value can be read and written without unpacking the whole.

Values are plain and immutable: integers, strings, enum members, None, tuples, frozensets and NamedTuples. A
variable that is a mapping has a layout, one cell for each key, see `mapping`; as a parameter or a part of a value a
mapping is a `FrozenMapping`.
"""

from spec.language.domains.atoms import LEFT_OUT, EnumerationDomain, IntegerDomain, LeftOut, LeftOutDomain
from spec.language.domains.base import Domain, Slot
from spec.language.domains.collections import SequenceDomain, Subset, SubsetDomain
from spec.language.domains.constructors import (
    DEEPEST,
    TOO_DEEP,
    MappingDomain,
    as_domain,
    booleans,
    can_be_listed,
    choices_of,
    each_choice,
    integers,
    interned,
    left_out,
    mapping,
    not_too_deep,
    one_of,
    optional,
    partial_mapping,
    possibly_empty,
    record,
    sequence_of,
    subset_of,
    tuple_of,
)
from spec.language.domains.interned import InternedDomain
from spec.language.domains.records import (
    ABSENT,
    FrozenMapping,
    FrozenMappingDomain,
    OptionalDomain,
    OrNothingDomain,
    PossiblyDomain,
    PossiblyEmptyDomain,
    RecordDomain,
    TupleDomain,
)

__all__ = [
    "Domain",
    "Slot",
    "EnumerationDomain",
    "FrozenMapping",
    "FrozenMappingDomain",
    "IntegerDomain",
    "InternedDomain",
    "LEFT_OUT",
    "LeftOut",
    "LeftOutDomain",
    "ABSENT",
    "OptionalDomain",
    "OrNothingDomain",
    "PossiblyDomain",
    "PossiblyEmptyDomain",
    "SequenceDomain",
    "Subset",
    "SubsetDomain",
    "RecordDomain",
    "TupleDomain",
    "DEEPEST",
    "MappingDomain",
    "TOO_DEEP",
    "as_domain",
    "booleans",
    "can_be_listed",
    "choices_of",
    "each_choice",
    "integers",
    "interned",
    "left_out",
    "mapping",
    "not_too_deep",
    "one_of",
    "optional",
    "partial_mapping",
    "possibly_empty",
    "record",
    "sequence_of",
    "subset_of",
    "tuple_of",
]
