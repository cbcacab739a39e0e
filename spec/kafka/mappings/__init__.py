"""The systems that can run beside Kafka's own classes, each with its mapping."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spec.kafka.mapping import SystemMapping
from spec.kafka.mappings.controller import ControllerMapping
from spec.kafka.mappings.partitions import PartitionsMapping
from spec.language import Specification
from spec.language.errors import UsageError

__all__ = ["MAPPINGS", "mapping_of"]

MAPPINGS: Final[Mapping[str, type[SystemMapping]]] = {
    mapping.system.name: mapping for mapping in (ControllerMapping, PartitionsMapping)
}
"""Mappings by the names of their systems."""


def mapping_of(system: type[Specification]) -> type[SystemMapping]:
    """The mapping of a system, or of the one that it varies.

    Raises:
        UsageError: there is none.
    """
    for mapping in MAPPINGS.values():
        if issubclass(system, mapping.system):
            return mapping
    raise UsageError(f"{system.name}: only {' and '.join(MAPPINGS)} run beside Kafka's classes")
