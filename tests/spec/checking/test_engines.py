"""The registry of engines: it finds an engine by name, and imports it only then."""

from __future__ import annotations

import subprocess
import sys

import pytest

from spec.checking import check
from spec.checking.auto import AutoEngine
from spec.checking.engines import ENGINES, engine_class, engine_named
from spec.checking.local import LocalEngine
from spec.checking.reference import ReferenceEngine
from spec.checking.spark import SparkEngine
from spec.cli.command import kafkaspec
from spec.language import UsageError
from tests.spec.checking.toys import Clock


@pytest.mark.parametrize(
    ("name", "kind", "explored_by"),
    [("auto", AutoEngine, "reference"), ("local", LocalEngine, "local"), ("reference", ReferenceEngine, "reference")],
)
def test_an_engine_is_found_by_name(name: str, kind: type, explored_by: str) -> None:
    """The result names the engine that explored."""
    assert isinstance(engine_named(name), kind)
    assert check(Clock(), engine=name).engine == explored_by


def test_every_registered_engine_can_be_loaded() -> None:
    """All engines, in the order in which they are offered."""
    assert [engine_class(name) for name in ENGINES] == [AutoEngine, LocalEngine, SparkEngine, ReferenceEngine]


def test_the_command_line_offers_the_engines_of_the_registry() -> None:
    """The command lists the names itself, so that `--help` imports no checker."""
    for command in ("check", "anomalies"):
        (option,) = [each for each in kafkaspec.commands[command].params if each.name == "engine"]
        assert option.to_info_dict()["type"]["choices"] == tuple(ENGINES)


def test_an_engine_is_imported_on_demand() -> None:
    """Before, neither numba, nor pyspark, nor the module of the engine is imported."""
    program = """
import sys
from spec.checking.engines import engine_class
names = ("numba", "spec.checking.auto", "spec.checking.local", "spec.checking.spark")
print([name for name in names if name in sys.modules])
engine_class("auto")
print([name for name in names if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["[]", "['spec.checking.auto']"]


def test_an_unknown_engine_is_a_usage_error() -> None:
    """The error names it and the known ones."""
    with pytest.raises(UsageError, match=r"^no engine is called steam; there are auto, local, spark, reference$"):
        check(Clock(), engine="steam")
