"""The registry of engines: each is had by its name, and imported only then."""

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
    ("name", "kind", "told"),
    [("auto", AutoEngine, "reference"), ("local", LocalEngine, "local"), ("reference", ReferenceEngine, "reference")],
)
def test_an_engine_is_found_by_name(name: str, kind: type, told: str) -> None:
    """The result says which one it was that explored."""
    assert isinstance(engine_named(name), kind)
    assert check(Clock(), engine=name).engine == told


def test_every_engine_is_where_the_registry_says() -> None:
    """All of them, in the order in which they are offered."""
    assert [engine_class(name) for name in ENGINES] == [AutoEngine, LocalEngine, SparkEngine, ReferenceEngine]


def test_the_command_line_offers_the_engines_of_the_registry() -> None:
    """The command names them itself, so that `--help` imports no checker."""
    for command in ("check", "anomalies"):
        (option,) = [each for each in kafkaspec.commands[command].params if each.name == "engine"]
        assert option.to_info_dict()["type"]["choices"] == tuple(ENGINES)


def test_an_engine_is_imported_on_demand() -> None:
    """Until then neither numba nor pyspark is, nor the module of the engine."""
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
    """Which one, and which there are."""
    with pytest.raises(UsageError, match=r"^no engine is called steam; there are auto, local, spark, reference$"):
        check(Clock(), engine="steam")
