"""The catalogue lists systems with the owner of each constant, and anomalies with their subjects."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from spec import by_release
from spec.atlas import catalogue
from spec.atlas.anomalies import NEVER_SHIPPED, read
from spec.atlas.catalogue import atlas, describe, overview
from spec.atlas.loading import system_named
from spec.cli.command import kafkaspec
from spec.cli.failures import failure_of
from spec.language import Specification, State, action, assumption, constant, invariant, sometimes, switch, variable
from spec.systems import SYSTEMS
from tests.spec.atlas.test_anomalies import ATLAS
from tests.spec.checking.traces.test_trace import Post
from tests.spec.toys import Turnstile

OWN = r"""
from spec.language import Specification, State, action, assumption, variable


class Lamp(State):
    lit: bool = variable("Whether it is.")


class Silent(Specification[Lamp]):
    name = "si\x9blent\n"

    @action
    def light(self, s): s.lit = True

class Raising(Silent):
    @assumption
    def wrong(self):
        raise ValueError("\x9b")
"""


class Board(Post):
    """A system of its own."""


class Pinned(Board):
    """The common base of two variants; not itself a system."""

    name = Board.name
    lasting: bool = switch(True, "It stays.")


class Hasty(Pinned, Board, careful=False):
    """A variant of `Board`."""


class Flown(Pinned, Board, form="pigeon"):
    """Another variant of `Board`."""


def test_shared_constants_are_listed_for_each_variant() -> None:
    """Although the declaring class is not a variant itself."""
    of_each = [each["of"] for each in catalogue.described(Board)["constants"] if each["name"] == "lasting"]
    assert of_each == ["board with careful = False", "board with form = pigeon"]
    assert [line.before for line in describe(Board)].count("    lasting = true  ") == 2


def test_a_system_is_described() -> None:
    """The entry of one system in `kafkaspec list`: releases with the same constants share a line."""
    assert [str(line) for line in describe(Post)] == [
        "post",
        "  Letters go through boxes.",
        "",
        "  constants",
        "    boxes = 2  Where letters lie.",
        "",
        "  properties",
        "    not_both_looked   Ann and Bob never look into the same box.",
        "    nothing_is_taken  No letter goes away.",
        "    both_full         [witness] Both are full.",
        "",
        "  switches",
        "    careful = true  Nobody writes twice.",
        "    form = post     [one of post, pigeon] How it is sent.",
        "",
        "  releases, each by what differs from the one before",
        "    0.10.1 to 1.1  careful = false",
        "    2.0 to 3.9     careful = true",
    ]


class Bright(State):
    """The states of `Lit`."""

    lit: bool = variable("Whether it is.")


class Lit(Specification[Bright]):
    """A lamp that may be watched."""

    name = "lit"
    watched: bool = switch(False, "It is watched.")
    colours: int = constant(0, "Bound: how many it has.")
    wild: bool = switch(False, "Nothing is known of it then.")

    @assumption
    def known(self) -> bool:
        """It is tame."""
        return 1 // (not self.wild) > 0

    @action
    def light(self, s: Bright) -> None:
        """It is lit."""
        s.lit = True

    @invariant(when=lambda self: self.watched or self.colours > 0)
    def seen(self, s: Bright) -> bool:
        """An observer sees it."""
        return True

    @sometimes(when=lambda self: self.colours > 0)
    def shines(self, s: Bright) -> bool:
        """It has a colour."""
        return s.lit


def test_a_property_that_is_off_is_listed_with_its_constant() -> None:
    """The hint is the first constant that turns it on; a constant whose other value raises is no hint."""
    words = {line.before.strip(): line.words for line in describe(Lit)}
    assert words["seen"] == "[off: --set watched=true] An observer sees it."
    assert words["shines"] == "[witness, off: --set colours=1] It has a colour."
    assert catalogue.described(Lit)["properties"] == []
    assert [(each["name"], each["on_with"]) for each in catalogue.described(Lit)["properties_off"]] == [
        ("seen", {"watched": True}),
        ("shines", {"colours": 1}),
    ]


def test_a_system_of_ours_says_how_to_begin() -> None:
    """It suggests a small check, lists the system's anomalies, and marks properties that are off by default."""
    words = {line.before.strip(): line.words for line in describe(system_named("partitions"))}
    assert re.fullmatch(r"kafkaspec check partitions( --set \w+=\w+)+ \([\d,]+ states\)", words["smallest check:"])
    assert "K10" in words["anomalies:"]
    assert words["balanced"].startswith("[off: --set rebalances=true] P18: ")


def test_anomalies_that_the_default_bounds_hide_are_named() -> None:
    """With the bounds that show them; one that the defaults show is not among them."""
    [hidden] = [str(line) for line in describe(system_named("controller")) if "defaults hide" in str(line)]
    assert "B51 needs ephemeral_outlives_session=true, sessions_per_broker=3" in hidden
    assert "K1 needs" not in hidden


def test_the_list_of_systems_fits_one_screen() -> None:
    """Each takes one line, no wider than most terminals, with its subject."""
    lines = [str(line) for line in overview()]
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 140
    for name in SYSTEMS:
        assert sum(line.startswith(f"{name} ") and line.endswith(".") for line in lines) == 1


def test_a_users_system_is_described_or_refused_on_a_line(tmp_path: Path) -> None:
    """Its docstrings may be missing, or its code may raise."""
    file = tmp_path / "own.py"
    file.write_text(OWN)
    silent = CliRunner().invoke(kafkaspec, ["list", f"{file}:Silent"])
    assert (silent.exit_code, silent.output.splitlines()[:2]) == (0, [r"si\x9blent\n", "  "])
    raising = CliRunner().invoke(kafkaspec, ["list", f"{file}:Raising"])
    assert str(failure_of(raising.exception or AssertionError())) == r"Error: own.py, line 18: ValueError: \x9b"


def test_constants_of_a_variant_are_listed_under_its_title() -> None:
    """Constants that only a variant has are listed for it alone; a class that is not a variant is left out."""
    text = "\n".join(map(str, describe(Turnstile)))
    assert (
        """
  switches
    kind = arm  [one of rope, arm] the barrier

  switches of turnstile with kind = arm
    lock = true  it locks when the room is full
"""
        in text
    )
    assert (
        "  constants of turnstile with kind = arm\n    patience = 1  how many more it lets in without a lock\n"
        in text
    )
    assert "with kind = rope" not in text
    assert "force" not in text


def test_inherited_constants_are_listed_once() -> None:
    """A redeclared constant is listed again, and so is one that two variants inherit from elsewhere."""

    class Shaped(Specification):
        """Two."""

        form: str = switch("a", "Its form.", among=["a", "b", "c", "d"])

    class Loud:
        loud: bool = switch(True, "It is loud.")

    class B(Loud, Shaped, form="b"):
        quick: bool = switch(True, "It is quick.")

    class C(B, form="c"):
        quick: bool = switch(False, "It is not so quick.")

    class D(Loud, Shaped, form="d"):
        pass

    assert [type(Shaped.of(form=form)) for form in "abcd"] == [Shaped, B, C, D]
    assert [str(line) for line in describe(Shaped)][2:] == [
        "",
        "  switches",
        "    form = a  [one of a, b, c, d] Its form.",
        "",
        "  switches of shaped with form = b",
        "    loud = true   It is loud.",
        "    quick = true  It is quick.",
        "",
        "  switches of shaped with form = c",
        "    quick = false  It is not so quick.",
        "",
        "  switches of shaped with form = d",
        "    loud = true  It is loud.",
    ]


def test_releases_are_aligned() -> None:
    """For spans of any length."""
    assert [str(line) for line in describe(Turnstile)][-2:] == [
        "    0.11 to 1.1  kind = rope",
        "    2.0 to 3.9   kind = arm, lock = true",
    ]


def test_anomalies_are_listed() -> None:
    """The list has id, fix release, effect and the deciding switch; an anomaly without a fix release is open."""
    assert (
        atlas(read(ATLAS))
        == """\
T1   KIP-1     gone since 2.0
  More are in than fit in.
  tests.spec.toys:Turnstile: never_crowded breaks with kind = rope, holds with kind = arm

T20  KAFKA-20  open
  A lock is missing.
  tests.spec.toys:Turnstile: never_crowded breaks with lock = false, holds with the proposed fix, lock = true"""
    )
    assert atlas(()) == "none is recorded"


def test_an_anomaly_that_no_release_had_is_not_called_open() -> None:
    """And the switch that prevents it is not called a proposal."""
    text = atlas([replace(read(ATLAS)[1], fixed_in=NEVER_SHIPPED)])
    assert text.startswith("T20  KAFKA-20  never shipped\n")
    assert "proposed" not in text


@pytest.mark.parametrize("module", [catalogue, by_release])
def test_examples_run(module: Any) -> None:
    """The doctests pass."""
    assert doctest.testmod(module).failed == 0
