"""Fetching: what breaks in each release, and the need for each property and guard.

Figures are pinned in `instances.toml`, anomalies in `anomalies.toml`. A mutant is the system without one guard; each
must break the guard's property, under bounds that are large enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from election.ids import BrokerId, LeaderEpoch
from spec.atlas.anomalies import anomalies
from spec.atlas.loading import specification
from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.language import AssumptionViolated, require
from spec.systems.fetching import Fetching, Replicas
from statemachines.broker.hosted_partition import CommittedPartitionState, HostedPartition
from statemachines.broker.replica_fetcher_thread import Followed
from statemachines.changes.replicating import ReplicationDesign
from tests.rows import rows
from tests.tiers import long_unless


def broken(result: Result) -> dict[str, int | None]:
    """Return the properties that break, with the lengths of their shortest traces."""
    return {each.name: each.length for each in result.properties if each.verdict == "violated"}


# Releases.


def test_every_release_has_its_constants() -> None:
    """The rules are the library's, and 3.9 is the default."""
    assert tuple(Fetching.releases) == RELEASES
    newest = Fetching()
    assert newest.design == ReplicationDesign()
    assert Fetching.of_release("2.0.0").design.truncation == "kip-279"


@pytest.mark.parametrize("release", long_unless({"0.10.2", "3.9"}.__contains__, RELEASES))
def test_in_the_smallest_system_nothing_is_missing(release: str) -> None:
    """Two brokers, two epochs: every witness is seen, and what breaks is known to break."""
    found = check(Fetching.of_release(release), keep_going=True)
    assert not [each.name for each in found.properties if each.verdict == "vacuous"]
    idle = {"idle_member_stays"} if not Fetching.of_release(release).design.members_may_idle else set()
    assert set(broken(found)) == idle


def test_2_8_0_counts_a_follower_that_has_yet_to_truncate() -> None:
    """KAFKA-13141: two brokers and two epochs are enough."""
    found = broken(check(Fetching.of_release("2.8.0"), keep_going=True))
    assert found == {"strong_isr": 10, "weak_isr": 10, "truncates_safely": 11}


@rows(
    "constants",
    [
        {"brokers": 1},
        {"brokers": 1, "max_leader_epoch": 0, "max_deaths": 1},
        {"max_leader_epoch": 0},
        {"log_size": 1},
        {"max_deaths": 1, "hidden_bounces": True},
        {"max_deaths": 1, "elects_any_member": False, "max_leader_epoch": 2},
        {"isr_in_two_steps": True},
        {"max_deaths": 1, "checkpoints": True, "log_size": 1},
    ],
)
def test_whatever_the_constants_nothing_is_missing(constants: dict[str, Any]) -> None:
    """Actions and witnesses that constants exclude are absent, so no run is vacuous because of them."""
    assert check(Fetching(**constants)).verdict == "holds"


def test_only_a_leader_that_asks_can_name_lives() -> None:
    with pytest.raises(AssumptionViolated, match="name the lives"):
        Fetching(name_broker_epochs=True)


# The page.

PAGE = Path(__file__).parents[3] / "docs/can-acknowledged-records-be-lost.md"


def cells() -> Iterator[Any]:
    """Each cell of the page's tables: the release, the options, the property, and what the cell says."""
    head: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        columns = [each.strip() for each in line.strip("|").split("|")]
        if line.startswith("| what fails"):
            head = columns
        elif line.startswith("| ") and head:
            options = columns[-1].strip("`")
            about = "acknowledged_kept" if "min_insync_replicas" in options else "leader_completeness"
            for release, says in list(zip(head, columns, strict=True))[1:-1]:
                yield pytest.param(release, options, about, says, id=f"{release} {options}")


@pytest.mark.parametrize(
    ("release", "options", "about", "says"),
    long_unless(lambda case: case[:2] == ("2.8.0", "max_leader_epoch=2"), cells()),
)
def test_the_page_says_what_a_check_says(release: str, options: str, about: str, says: str) -> None:
    """A number is the length of the shortest way to a loss."""
    settings = options.split()
    if "unclean" not in options:
        settings.append("unclean_by_default=false")
    result = check(specification(Fetching, release, settings), engine="local", properties=[about])
    assert says == str(broken(result).get(about, "-"))


@pytest.mark.long
def test_deaths_and_preferred_elections_alone_lose_an_acknowledged_record() -> None:
    """K11 needs no controller that elects at will: one election of the preferred replica, and two deaths."""
    constants = {"brokers": 3, "log_size": 1, "max_leader_epoch": 3, "max_deaths": 2, "elects_any_member": False}
    assert broken(check(Fetching(**constants), engine="local", properties=["strong_isr"])) == {"strong_isr": 25}
    mended = check(Fetching(**constants, forget_after_missed_epoch=True), engine="local", properties=["strong_isr"])
    assert mended.verdict == "holds"


# Every guard that matters: the system without it, and the property that detects it.


class KeepsHighWatermark(Fetching):
    """A log that is cut keeps its high watermark."""

    @property
    def rules(self) -> ReplicationDesign:
        return self.design.but(replica_lag_time_max_ms=-1, truncate_high_watermark=False)


class HearsAnEpochAgain(Fetching):
    """A leader accepts the request of its own epoch, and begins as after a restart."""

    def become_leader(self, s: Replicas, broker: BrokerId, epoch: LeaderEpoch) -> None:
        if epoch != s.replica[broker].leader_epoch:
            super().become_leader(s, broker, epoch)
            return
        require(s.replica[broker].leader == broker)
        s.log[broker] = s.log[broker].with_high_watermark(0)


class CommitsAlone(Fetching):
    """The high watermark waits for no follower."""

    def hosted(self, s: Replicas, broker: BrokerId) -> HostedPartition:
        hosted = super().hosted(s, broker)
        return hosted._replace(state=CommittedPartitionState((broker,)))


class TakesLogEnd(Fetching):
    """A follower takes its own log's end for the high watermark."""

    def follow(self, s: Replicas, follower: BrokerId, followed: Followed) -> None:
        super().follow(s, follower, followed)
        s.log[follower] = s.log[follower].with_high_watermark(s.log[follower].end_offset)


class ForgetsProposals(Fetching):
    """The high watermark does not wait for a replica that is about to join."""

    def hosted(self, s: Replicas, broker: BrokerId) -> HostedPartition:
        hosted = super().hosted(s, broker)
        return hosted._replace(state=CommittedPartitionState(tuple(s.replica[broker].isr)))


class WritesInAnyEpoch(Fetching):
    """A leader of an earlier epoch can write its ISR."""

    def change_isr(self, s: Replicas, leader: BrokerId, isr: frozenset[BrokerId]) -> bool:
        self.write_isr(s, isr)
        s.replica[leader] = s.replica[leader]._replace(isr=isr)
        return True


class RemembersTheDead(Fetching):
    """A leader still knows the log end of a follower that has died."""

    def ends(self, s: Replicas, broker: BrokerId, kept: int | None, high_watermark: int | None) -> None:
        asked = {pair: s.requests[pair] for pair in tuple(s.requests) if pair.follower == broker}
        super().ends(s, broker, kept, high_watermark)
        for pair, request in asked.items():
            s.requests[pair] = request


SMALL_ISR = {"max_leader_epoch": 2, "max_deaths": 1, "lossy": True, "min_insync_replicas": 2}
UNCLEAN = {"max_leader_epoch": 4, "max_deaths": 2, "elects_any_member": False, "unclean_by_default": True}
MUTANTS: list[tuple[Fetching, str]] = [
    (KeepsHighWatermark(**UNCLEAN), "bounds"),
    (CommitsAlone(), "log_matching"),
    (CommitsAlone(), "strong_isr"),
    (CommitsAlone(), "committed_once"),
    (CommitsAlone(), "truncates_safely"),
    (ForgetsProposals(isr_in_two_steps=True), "weak_isr"),
    (ForgetsProposals(isr_in_two_steps=True), "maximal_isr_covers"),
    (HearsAnEpochAgain(), "no_hw_regression"),
    (TakesLogEnd(), "follower_lags"),
    (WritesInAnyEpoch(), "leader_completeness"),
    (RemembersTheDead(**SMALL_ISR, eligible_leader_replicas=True), "leader_completeness"),
    (Fetching(max_leader_epoch=2, match_fetch_epoch=False), "epochs_describe_the_log"),
]


@pytest.mark.parametrize(
    ("mutant", "property_"),
    long_unless(lambda case: case[0].max_deaths == 0, MUTANTS),
    ids=[f"{type(mutant).__name__}-{name}" for mutant, name in MUTANTS],
)
def test_a_mutant_breaks_its_property(mutant: Fetching, property_: str) -> None:
    """The property depends on the removed guard."""
    assert property_ in broken(check(mutant, properties=[property_]))


def test_every_property_is_broken_by_a_mutant_or_an_anomaly() -> None:
    """None of them holds in every system."""
    whole = Fetching(min_insync_replicas=2, isr_in_two_steps=True)
    sought = {each.name for each in whole.properties if each.kind not in ("sometimes", "type_ok")}
    by_anomaly = {each.property for each in anomalies() if each.system == "fetching"}
    assert {name for _, name in MUTANTS} | by_anomaly >= sought - {"type_ok"}
