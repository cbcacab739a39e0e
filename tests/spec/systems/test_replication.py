"""Replication: what each version and each fence prevents, and the need for each property and guard.

The figures of the published models are pinned in `instances.toml`. A mutant is a version without one guard; each must
break the guard's property, under bounds that are large enough.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from spec.by_release import RELEASES
from spec.checking import Result, check
from spec.checking.model import Model
from spec.language import AssumptionViolated, Specification, require
from spec.language.state import Values
from spec.systems.replication import (
    Kip101,
    Kip279,
    Kip320,
    Kip320FirstTry,
    Replicas,
    Replication,
    TruncateOnFetch,
    TruncateToHighWatermark,
    UnderOneEpoch,
)
from tests.rows import rows
from tests.tiers import long_unless

VERSIONS = {
    "truncate-to-high-watermark": TruncateToHighWatermark,
    "kip-101": Kip101,
    "kip-279": Kip279,
    "kip-320-first-try": Kip320FirstTry,
    "kip-320": Kip320,
    "truncate-on-fetch": TruncateOnFetch,
}


OLDEST, *_, NEWEST = VERSIONS


def bounds(short: str) -> dict[str, int]:
    """Return the bounds in the published notation: brokers-log_size-max_records-max_leader_epoch."""
    names = ("brokers", "log_size", "max_records", "max_leader_epoch")
    return dict(zip(names, map(int, short.split("-")), strict=True))


def replication(short: str, **constants: Any) -> Replication:
    """Return the system under these bounds."""
    return Replication.of(**bounds(short), **constants)


def broken(result: Result) -> dict[str, int | None]:
    """Return the properties that break, with the lengths of their shortest traces."""
    return {each.name: each.length for each in result.properties if each.verdict == "violated"}


# Versions.


@rows("truncation", [*VERSIONS])
def test_the_constant_names_the_version(truncation: str) -> None:
    """Each version is a class of its own, selected by the constant that it fixes; all share the system's name."""
    found = Replication.of(truncation=truncation)
    assert type(found) is VERSIONS[truncation]
    assert found.name == "replication"


def test_the_newest_version_is_the_default() -> None:
    """Truncation on fetch, all fences up."""
    default = Replication.of()
    assert type(default) is TruncateOnFetch
    switches = {name for name, constant in default.constants().items() if constant.switch and constant.type is bool}
    assert {name for name in switches if not getattr(default, name)} == {"adopt_leaderless"}


def test_every_release_is_mapped() -> None:
    """By the versions' releases; the first try of KIP-320 was never released."""
    assert tuple(Replication.releases) == RELEASES
    by_version: dict[str, list[str]] = {}
    for release, constants in Replication.releases.items():
        by_version.setdefault(constants["truncation"], []).append(release)
    assert {version: (names[0], names[-1]) for version, names in by_version.items()} == {
        "truncate-to-high-watermark": ("0.10.1", "0.10.2"),
        "kip-101": ("0.11", "1.1"),
        "kip-279": ("2.0", "2.0"),
        "kip-320": ("2.1", "2.7"),
        "truncate-on-fetch": ("2.8", "3.9"),
    }


@pytest.mark.long
def test_releases_since_2_7_differ_as_kafka_does() -> None:
    """2.7 requests the end offset of an epoch; 2.8.0 truncates on fetch, and counts a later truncated part."""
    releases, constants = ("2.7", "2.8.0", "2.8.1"), {**bounds("2-2-2-2"), "history": True}
    found = {each: Replication.of_release(each, **constants) for each in releases}
    assert [type(each) for each in found.values()] == [Kip320, TruncateOnFetch, TruncateOnFetch]
    assert {each: broken(check(its, keep_going=True)) for each, its in found.items()} == {
        "2.7": {},
        "2.8.0": {"weak_isr": 9, "strong_isr": 9, "leader_completeness": 11, "committed_once": 13},
        "2.8.1": {},
    }


@pytest.mark.long
def test_a_late_answer_is_obeyed_until_3_9_0() -> None:
    """KAFKA-18991: another leader has led meanwhile, and the follower truncates committed records."""
    found = {each: Replication.of_release(each, **bounds("2-1-1-3")) for each in ("3.9.0", "3.9.1")}
    assert {each: broken(check(its, keep_going=True)) for each, its in found.items()} == {
        "3.9.0": {"weak_isr": 19, "strong_isr": 19},
        "3.9.1": {},
    }


@pytest.mark.parametrize(
    ("fence", "lengths"),
    long_unless(
        lambda case: case[0] == "fence_fetch",
        [
            ("fence_fetch", {"weak_isr": 12}),
            ("fence_high_watermark", {"weak_isr": 14, "strong_isr": 14}),
            ("fence_join", {"weak_isr": 16, "strong_isr": 16}),
            ("join_at_epoch_start", {"weak_isr": 14, "strong_isr": 12}),
        ],
    ),
)
def test_truncation_on_fetch_needs_each_fence(fence: str, lengths: dict[str, int]) -> None:
    """Even beside the others, which might do its work."""
    subject = Replication.of(truncation="truncate-on-fetch", **bounds("3-1-2-2"), **{fence: False})
    assert broken(check(subject, engine="local", keep_going=True)) == lengths


@pytest.mark.parametrize("shared", [Replication, UnderOneEpoch])
def test_the_common_base_is_no_version(shared: type[Replication]) -> None:
    """In the base class alone, followers would not know where to truncate."""
    with pytest.raises(AssumptionViolated, match=r"Replication\.of"):
        shared()


@rows("constants", [{"brokers": 0}, {"log_size": 0}, {"max_records": 0}, {"max_leader_epoch": -1}, {"brokers": 9}])
def test_impossible_bounds_are_refused(constants: dict[str, int]) -> None:
    """The error has the constant, its value and its range."""
    ((name, value),) = constants.items()
    with pytest.raises(AssumptionViolated, match=f"{name} = {value}: it must be at (least|most)"):
        Replication.of(**constants)


@pytest.mark.parametrize("truncation", long_unless(NEWEST.__eq__, VERSIONS))
def test_under_the_smallest_bounds_nothing_is_missing(truncation: str) -> None:
    """Actions and witnesses that the bounds exclude are absent, so no run is vacuous because of them."""
    for brokers, records, epochs, both in product((1, 2), (1, 2), (0, 1), (False, True)):
        short = f"{brokers}-{records}-{records}-{epochs}"
        found = check(replication(short, truncation=truncation, history=both, adopt_leaderless=both))
        loses = truncation == "truncate-to-high-watermark" and brokers > 1 and epochs > 0
        assert found.verdict == ("violated" if loses else "holds")


def test_a_history_changes_nothing_but_itself() -> None:
    """When the committed records are remembered, the rest of the state takes the same values."""
    plain, remembered = (
        reachable(replication("2-2-2-1", truncation="truncate-to-high-watermark", history=history))
        for history in (False, True)
    )
    assert len(remembered) > len(plain)
    assert {state[:-1] for state in remembered} == plain


def reachable(specification: Specification) -> set[Values]:
    """Return every state, found without an engine."""
    model = Model(specification)
    waiting = [state for state, _ in model.initial_states() if state is not None]
    found = set(waiting)
    while waiting:
        for taken in model.expand(waiting.pop()).steps:
            if taken.after is not None and taken.after not in found:
                found.add(taken.after)
                waiting.append(taken.after)
    return found


# High watermarks that go back.


@pytest.mark.parametrize("truncation", long_unless(NEWEST.__eq__, VERSIONS))
def test_high_watermarks_go_back_except_a_leaders_in_its_epoch(truncation: str) -> None:
    """In every version a new leader exposes less than its predecessor, and a follower takes the lower one."""
    result = check(replication("2-2-2-2", truncation=truncation, history=True), keep_going=True)
    verdicts = {each.name: (each.verdict, each.length) for each in result.properties}
    assert verdicts["no_hw_regression"] == ("holds", None)
    assert verdicts["a_new_leader_exposes_less"] == ("witnessed", 9)
    assert verdicts["a_high_watermark_goes_back"] == ("witnessed", 12)


@rows("truncation", [*VERSIONS])
def test_without_its_guard_a_leaders_high_watermark_goes_back_in_its_epoch(truncation: str) -> None:
    """With any truncation rule: the leader of an epoch receives that epoch again."""
    mutant = replication("2-2-2-2", truncation=truncation, refuse_same_epoch=False)
    assert broken(check(mutant, properties=["no_hw_regression"])) == {"no_hw_regression": 7}


# The answers of Kafka's leader, instead of the offsets of the published models.


@pytest.mark.long
def test_with_kafkas_answers_kip_279_still_diverges() -> None:
    """KAFKA-7415: a leader without a record of its epoch cannot answer, and a follower uses its own high watermark.

    The published model compares the logs themselves, and does not see it.
    """
    assert check(replication("2-2-2-2", truncation="kip-279")).verdict == "holds"
    result = check(replication("2-2-2-2", truncation="kip-279", answers="kafka"), keep_going=True)
    assert broken(result) == {"weak_isr": 12, "strong_isr": 12}


@pytest.mark.long
def test_kip_320_needs_a_leader_that_can_answer_for_its_epoch() -> None:
    """With such a leader, Kafka's answers are as good as the published offsets."""
    constants = {"truncation": "kip-320", "answers": "kafka"}
    unable = replication("2-2-2-2", **constants, persist_epoch_on_lead=False)
    assert broken(check(unable, keep_going=True)) == {"weak_isr": 13, "strong_isr": 13}
    assert check(replication("2-2-2-2", **constants, history=True)).verdict == "holds"


@pytest.mark.long
def test_on_fetch_a_leader_that_cannot_answer_is_harmless() -> None:
    """It refuses the fetch; the earlier protocol's answer sent the follower back to its high watermark."""
    assert check(replication("2-2-2-2", persist_epoch_on_lead=False, history=True)).verdict == "holds"


# Every guard that matters: the system without it, and the property that detects it.


class ElectsAnybody(Kip320):
    """The controller elects any broker, in the ISR or not."""

    def controller_elect_leader(self, s: Replicas, broker: int) -> None:
        require(broker != s.partition_state.leader)
        self.send(s, broker, s.partition_state.isr)


class CommitsAlone(Kip320):
    """The high watermark waits for no follower."""

    def acknowledged_offset(self, s: Replicas, follower: int, leader: int, offset: int) -> int:
        return offset


class JoinsBehind(Kip320):
    """A replica joins the ISR at any log end."""

    def may_join(self, s: Replicas, follower: int, leader: int) -> bool:
        return self.same_epoch(s, follower, leader) and self.follows(s, follower, leader)


class NeverTruncates(Kip320):
    """A follower never truncates."""

    def truncation_offset(self, s: Replicas, follower: int, leader: int) -> int:
        return len(s.log[follower].records)


class CommitsBeyond(Kip320):
    """The high watermark advances beyond the log's end."""

    def leader_increment_high_watermark(self, s: Replicas, leader: int) -> None:
        require(self.presumes_leadership(s, leader))
        log = s.log[leader]
        s.log[leader] = log._replace(high_watermark=log.high_watermark + 1)


class FetchesFromAnywhere(TruncateOnFetch):
    """A leader answers a fetch whatever precedes it in the follower's log."""

    def may_fetch(self, s: Replicas, follower: int, leader: int) -> bool:
        return self.same_epoch(s, follower, leader)


MUTANTS: list[tuple[Specification, str]] = [
    (CommitsBeyond(**bounds("1-1-1-0")), "type_ok"),
    (Kip320(**bounds("1-1-1-0"), refuse_same_epoch=False), "no_hw_regression"),
    (ElectsAnybody(**bounds("2-1-1-1")), "leader_in_isr"),
    (CommitsAlone(**bounds("2-1-1-0")), "weak_isr"),
    (CommitsAlone(**bounds("2-1-1-0")), "strong_isr"),
    (CommitsAlone(**bounds("2-1-2-1"), history=True), "leader_completeness"),
    (CommitsAlone(**bounds("2-1-2-1"), history=True), "committed_once"),
    (JoinsBehind(**bounds("2-1-1-0")), "weak_isr"),
    (NeverTruncates(**bounds("2-1-2-1")), "weak_isr"),
    (FetchesFromAnywhere(**bounds("2-2-3-1")), "weak_isr"),
]


@pytest.mark.parametrize(
    ("mutant", "property_"), MUTANTS, ids=[f"{type(mutant).__name__}-{name}" for mutant, name in MUTANTS]
)
def test_a_mutant_breaks_its_property(mutant: Specification, property_: str) -> None:
    """The property depends on the removed guard."""
    assert property_ in broken(check(mutant, properties=[property_]))


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system."""
    sought = {each.name for each in Kip320(history=True).properties if each.kind != "sometimes"} | {"type_ok"}
    assert {name for _, name in MUTANTS} == sought
