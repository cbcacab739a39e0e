"""A system's constants are looked up by the name of a release."""

import pytest

from spec.atlas.catalogue import describe
from spec.atlas.loading import specification, system_named
from spec.by_release import RELEASES, ByRelease, distinct, release_named
from spec.language.errors import UsageError
from statemachines.releases import Release, line_of


def test_a_system_may_know_other_releases() -> None:
    """Its own names are exact, and Kafka's other releases do not exist for it."""
    own: dict[str, object] = {"2.0": {}, "draft": {}}
    assert release_named("draft", own) == "draft"
    assert release_named("2.0.0", own) == "2.0"
    with pytest.raises(UsageError, match=r"^no release is called 2\.1; there are 2\.0, draft$"):
        release_named("2.1", own)
    with pytest.raises(UsageError, match=r"^release 2\.1: the system has no releases"):
        release_named("2.1", {})


def test_a_differing_patch_release_is_named_exactly() -> None:
    """Other patch releases have their line's name, which means the newest of the line."""
    fixed = ByRelease(lambda release: {"fixed": Release(release) >= Release("2.0.1")})
    assert [release_named(name, fixed) for name in ("2.0", "2.0.1", "2.0.0", "2.1.0")] == [
        "2.0",
        "2.0",
        "2.0.0",
        "2.1",
    ]
    with pytest.raises(UsageError, match=r"^no release is called 2\.0\.7; of 2\.0 there are 2\.0\.0, 2\.0\.1$"):
        release_named("2.0.7", fixed)


@pytest.mark.parametrize(
    ("system", "switch", "before", "after"),
    [
        ("controller", "reinit_only_if_expired", "3.0.0", "3.0.1"),
        ("control-requests", "stop_at_same_epoch", "3.4.0", "3.4.1"),
        ("control-requests", "newer_broker_epoch", "2.5.0", "2.5.1"),
    ],
)
def test_releases_of_a_line_are_two_systems(system: str, switch: str, before: str, after: str) -> None:
    """If a fix came between them; the line means the last of them."""
    cls = system_named(system)
    assert specification(cls, before).valuation[switch] is False
    assert specification(cls, after).valuation[switch] is True
    assert cls.releases[line_of(after)] == cls.releases[after]
    assert list(cls.releases) == list(RELEASES)


def test_an_exception_to_a_line_is_named() -> None:
    """As in the list of systems."""
    fixed = ByRelease(lambda release: {"fixed": Release(release) >= Release("2.0.1")})
    assert [name for name in distinct(fixed) if name.startswith("2.0")] == ["2.0.0", "2.0"]
    assert set(distinct(fixed)) == {"2.0.0", *RELEASES}
    assert list(distinct({"2.0": {}, "draft": {}})) == ["2.0", "draft"]
    assert any(line.before.startswith("    2.8 to 3.0.0  ") for line in describe(system_named("controller")))
