"""Our brokers beside Kafka's, command by command: appends, fetches, truncation, ISRs, crashes and restarts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Any, Final, TypeAlias

import pytest

from spec.kafka.data_plane_beside import RELEASES, Case, Command, DataPlane, Step, command
from spec.kafka.scripted_cluster import Disagreement
from spec.kafka.stepped_brokers import SteppedBrokers
from statemachines.changes.change import Compared
from statemachines.changes.replicating import ReplicationDesign
from tests.kafka.conftest import RELEASE, of_each_release
from tests.kafka.data_plane_drawing import Drawing

CASES: Final = 300
"""In `make test`, of the newest release; also enough to contradict each rule turned round."""
LONG: Final = int(os.environ.get("DATA_PLANE_CASES", 500))
"""In the long test, of each release."""

Stepped: TypeAlias = list[tuple[Case, list[Step]]]


@pytest.fixture(scope="session")
def stepped() -> Iterator[Callable[[str, str, int], Stepped]]:
    """Drawn cases of a release, with what Kafka has done; for each release and seed only once."""
    seen: dict[tuple[str, str], Stepped] = {}
    with of_each_release(_data_plane) as kafka:

        def drawn(release: str, seed: str, count: int) -> Stepped:
            found = seen.setdefault((release, seed), [])
            more = range(len(found), count)
            found += kafka(release).of([Drawing(Random(f"{seed} {number}"), release).case() for number in more])
            return found[:count]

        yield drawn


def _data_plane(release: str) -> AbstractContextManager[DataPlane]:
    return DataPlane(release)


def disagreements(
    case: Case, steps: Sequence[Step], release: str, design: ReplicationDesign | None = None
) -> tuple[list[Command], list[Disagreement]]:
    """The first differences of a case, with the commands until then."""
    ours = SteppedBrokers(case, release, design)
    for number, (each, step) in enumerate(zip(case.commands, steps, strict=True), 1):
        if "died" in step.answer:
            break
        if found := ours.disagreements(each, step):
            return [*case.commands[:number]], found
        if "halted" in step.answer:
            break
    return [], []


def compare(cases: Stepped, release: str) -> None:
    """AssertionError names the first difference, if there is one."""
    for case, steps in cases:
        commands, found = disagreements(case, steps, release)
        if found:
            pytest.fail("\n".join([*map(str, commands), *map(str, found)]))


def is_contradicted(cases: Stepped, release: str, **turned: object) -> bool:
    """Whether Kafka contradicts a rule that is turned round."""
    design = ReplicationDesign(release).but(**turned)
    for case, steps in cases:
        try:
            if disagreements(case, steps, release, design)[1]:
                return True
        except (AssertionError, ValueError):  # what ours cannot do at all
            return True
    return False


def test_brokers_do_what_kafkas_do(stepped: Callable[[str, str, int], Stepped]) -> None:
    """Always the same cases of the newest release."""
    compare(stepped(RELEASE, "turn", CASES), RELEASE)


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
def test_brokers_do_what_kafkas_do_in_each_release(
    stepped: Callable[[str, str, int], Stepped], release: str, first_seed: int
) -> None:
    """Other cases in each run."""
    print(f"seed {first_seed}")
    for begin in range(0, LONG, 500):
        compare(stepped(release, f"{first_seed} {begin}", min(500, LONG - begin)), release)


# Each rule turned round is contradicted.

OTHERS: Mapping[str, tuple[object, ...]] = {
    "truncation": ("truncate-to-high-watermark", "kip-101", "kip-279", "kip-320", "truncate-on-fetch"),
    "stranger": ("fails", "empty", "refused"),
    "unknown_high_watermark": (-1, 0),
}
"""The values of rules that are no yes or no."""
ALWAYS: Final = ("fence_fetch", "truncation", "epochs_in_records", "fetch_time_in_sync_only", "answer_after_advance")
TURNED: Mapping[str, tuple[str, ...]] = {
    "3.9.1": (
        *ALWAYS,
        "advance_on_commit",
        "cap_min_isr",
        "forget_last_fetched_epoch",
        "forget_on_error",
        "join_at_epoch_start",
        "match_fetch_epoch",
        "members_may_idle",
        "newest_epoch_wins",
        "note_epoch_on_lead",
        "skip_diverging_fetch",
        "truncate_before_high_watermark",
        "truncate_high_watermark",
        "wait_for_min_isr",
    ),
    "2.8.2": (
        *ALWAYS,
        "advance_on_commit",
        "cap_min_isr",
        "clear_pending",
        "drop_fetch_while_truncating",
        "forget_last_fetched_epoch",
        "forget_on_error",
        "join_at_epoch_start",
        "match_fenced_epoch",
        "match_fetch_epoch",
        "members_may_idle",
        "newest_epoch_wins",
        "note_epoch_on_lead",
        "skip_diverging_fetch",
        "truncate_before_high_watermark",
        "truncate_epochs_always",
        "truncate_high_watermark",
        "wait_for_caught_up",
        "wait_for_min_isr",
    ),
    "2.6.3": (
        *ALWAYS,
        "ask_without_epoch",
        "cap_min_isr",
        "drop_fetch_while_truncating",
        "fetch_from_high_watermark",
        "forget_on_error",
        "halt_out_of_range",
        "join_at_epoch_start",
        "match_question_epoch",
        "members_may_idle",
        "newest_epoch_wins",
        "note_epoch_on_lead",
        "truncate_epochs_always",
        "truncate_high_watermark",
        "wait_for_min_isr",
    ),
    "1.1.1": (
        *ALWAYS,
        "ask_without_epoch",
        "cap_min_isr",
        "end_of_no_epoch",
        "fetch_from_high_watermark",
        "halt_out_of_range",
        "join_at_epoch_start",
        "members_may_idle",
        "note_epoch_on_lead",
        "stranger",
        "truncate_high_watermark",
        "wait_for_caught_up",
        "wait_for_min_isr",
    ),
    "0.10.2.2": (
        *ALWAYS,
        "cap_min_isr",
        "forget_on_error",
        "halt_out_of_range",
        "join_at_epoch_start",
        "members_may_idle",
        "stranger",
        "truncate_high_watermark",
        "wait_for_caught_up",
        "wait_for_min_isr",
    ),
}
"""The rules of a release that the first 500 cases contradict when they are turned round."""


def turned_of(rule: str, release: str) -> list[object]:
    """The values that a rule does not have in a release."""
    now = getattr(ReplicationDesign(release), rule)
    return [each for each in OTHERS.get(rule, (True, False)) if each != now]


@pytest.mark.long
@pytest.mark.parametrize(
    "release", [pytest.param(each, marks=() if each == RELEASE else pytest.mark.long) for each in TURNED]
)
def test_a_rule_turned_round_is_contradicted(stepped: Callable[[str, str, int], Stepped], release: str) -> None:
    """A release does not have a rule that it has, or has one that it has not."""
    cases = stepped(release, "turn", CASES if release == RELEASE else 500)
    silent = [
        rule
        for rule in TURNED[release]
        if not any(is_contradicted(cases, release, **{rule: value}) for value in turned_of(rule, release))
    ]
    assert not silent


# Rules that drawn cases hardly ever show.


def lead(leader: int, epoch: int, to: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> list[Command]:
    """Brokers hear who leads a partition of three replicas."""
    given: dict[str, Any] = {"leader": leader, "leader_epoch": epoch, "isr": [*isr], "partition_epoch": 3 * epoch + 1}
    more: dict[str, Any] = {"controller_epoch": 1, "replicas": [1, 2, 3], "live": [*live]}
    return [command("leader_and_isr", broker=broker, **given, **more) for broker in to]


def rounds(follower: int, leader: int, count: int = 1) -> list[Command]:
    """A follower fetches so many times, each in up to three exchanges."""
    exchange = [command(do, follower=follower, leader=leader) for do in ("send", "handle", "deliver")]
    return exchange * count


EVERYONE = (1, 2, 3)
STARTED = [command("start", broker=broker) for broker in EVERYONE]
UNASSIGNED: Mapping[str, Any] = {"leader": 1, "isr": [1, 2], "controller_epoch": 1, "replicas": [1], "live": [1, 2]}
UNASSIGNED_MEMBER = Case(  # KAFKA-9672: a reassignment has removed broker 2, and the ISR still has it
    brokers=2,
    commands=[
        *STARTED[:2],
        *lead(1, 0, (1, 2), (1, 2), (1, 2)),
        *rounds(2, 1, 2),
        command("leader_and_isr", broker=1, leader_epoch=1, partition_epoch=5, **UNASSIGNED),
        command("zk", leader=1, leader_epoch=1, isr=[1, 2], controller_epoch=1, version=5),
        command("append", broker=1, value="m0", acks=-1),
        command("shrink", broker=1),
        command("advance", milliseconds=11),
        command("shrink", broker=1),
        command("leader_and_isr", broker=1, leader_epoch=2, partition_epoch=9, **UNASSIGNED),
        command("zk", leader=1, leader_epoch=2, isr=[1, 2], controller_epoch=1, version=9),
        command("shrink", broker=1),
    ],
)
STORIES: Mapping[str, tuple[str, Case]] = {
    "drop_unassigned": ("3.9.1", UNASSIGNED_MEMBER),
    "wait_for_eligible_only": (  # broker 2 is caught up, and not alive as far as the leader knows
        "3.9.1",
        Case(
            brokers=3,
            commands=[
                *STARTED,
                *lead(1, 0, (2, 3), (1, 3), EVERYONE),
                *lead(1, 0, (1,), (1, 3), (1, 3)),
                *rounds(2, 1),
                command("append", broker=1, value="m1", acks=-1),
                *rounds(3, 1, 2),
            ],
        ),
    ),
    "advance_at_each_fetch": (  # broker 2 holds the high watermark until it has lagged for too long
        "1.1.1",
        Case(
            brokers=3,
            commands=[
                *STARTED,
                *lead(1, 0, EVERYONE, (1, 3), EVERYONE),
                command("zk", leader=1, leader_epoch=0, isr=[1, 3], controller_epoch=1, version=9),
                *rounds(2, 1, 3),
                *rounds(3, 1, 2),
                command("append", broker=1, value="m1", acks=-1),
                *rounds(3, 1, 2),
                command("advance", milliseconds=11),
                *rounds(3, 1),
            ],
        ),
    ),
    "unknown_high_watermark": (  # broker 2 has cut its log below its high watermark, and leads
        "0.10.2.2",
        Case(
            brokers=3,
            unclean=True,
            commands=[
                *STARTED,
                *lead(1, 0, (1, 2), (1, 2), EVERYONE),
                command("append", broker=1, value="m1", acks=-1),
                *rounds(2, 1, 3),
                command("crash", broker=1, keep=0),
                command("start", broker=1),
                *lead(1, 1, (1,), (1, 2), EVERYONE),
                *rounds(2, 1, 2),
                *lead(2, 2, (2,), (2, 1), EVERYONE),
            ],
        ),
    ),
    "skip_later_epochs": (  # the response is sent when the leader has cut its log, and fetched what another wrote
        "3.9.1",
        Case(
            brokers=3,
            commands=[
                *STARTED,
                *lead(1, 0, EVERYONE, EVERYONE, EVERYONE),
                command("append", broker=1, value="m1", acks=1),
                command("send", follower=3, leader=1),
                command("handle", follower=3, leader=1),
                *lead(2, 1, (2, 1), (2, 1), EVERYONE),
                command("append", broker=2, value="m2", acks=1),
                *rounds(1, 2, 3),
                command("deliver", follower=3, leader=1),
            ],
        ),
    ),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "rule",
    [pytest.param(rule, marks=() if of == RELEASE else pytest.mark.long) for rule, (of, _) in STORIES.items()],
)
def test_a_story_equals_kafkas_and_contradicts_its_rule_turned_round(rule: str) -> None:
    """Each in one release."""
    release, case = STORIES[rule]
    with of_each_release(_data_plane) as kafka:
        cases: Stepped = [*kafka(release).of([case])]
    compare(cases, release)
    assert any(is_contradicted(cases, release, **{rule: value}) for value in turned_of(rule, release))


K11 = Case(
    brokers=3,
    min_insync_replicas=2,
    commands=[
        *STARTED,
        *lead(1, 0, EVERYONE, EVERYONE, EVERYONE),
        command("append", broker=1, value="m0", acks=-1),
        *rounds(3, 1, 3),  # broker 3 has m0, and broker 2 lags
        *lead(2, 1, (2, 3), EVERYONE, EVERYONE),  # broker 1 never hears of it
        *rounds(3, 2, 3),
        command("crash", broker=2),
        *lead(1, 2, (1,), (1, 3), (1, 3)),
        command("crash", broker=1),
        *lead(3, 3, (3,), (3,), (3,)),
        command("consume", broker=3, offset=0),
    ],
)

STOPS_AT_ONCE = Case(
    brokers=2,
    commands=[
        command("start", broker=1),
        *lead(1, 0, (1,), (1,), (1,)),
        command("append", broker=1, value="m0", acks=1),
        command("stop", broker=1),
        command("start", broker=1),
        command("stop", broker=1),  # before it hears that it leads: the file of high watermarks stays
        command("start", broker=1),
        *lead(1, 1, (1,), (1,), (1,)),
        command("consume", broker=1, offset=0),
    ],
)

DIVERGING = Case(
    brokers=2,
    commands=[
        *STARTED[:2],
        *lead(1, 0, (1, 2), (1, 2), (1, 2)),
        command("append", broker=1, value="m0", acks=1),
        *rounds(2, 1, 3),
        *lead(1, 1, (1,), (1,), (1, 2)),
        *lead(2, 2, (2,), (2,), (1, 2)),
        *lead(1, 3, (1, 2), (1,), (1, 2)),  # broker 1 knows that 2 has m0, and 2 has noted the epoch 2
        command("zk", leader=1, leader_epoch=3, isr=[1], controller_epoch=1, version=10),
        *rounds(2, 1, 3),
    ],
)


@pytest.mark.long
@pytest.mark.parametrize("release", RELEASES)
def test_stories_of_every_release_equal_kafkas(release: str) -> None:
    """Among them K11: a leader that missed an epoch acknowledges what its follower has cut, and it is lost."""
    with of_each_release(_data_plane) as kafka:
        cases: Stepped = [*kafka(release).of([K11, STOPS_AT_ONCE, UNASSIGNED_MEMBER, DIVERGING])]
    compare(cases, release)
    *_, led_on, _, _, consumed = cases[0][1]
    assert led_on.state["brokers"]["1"]["completed"] == [["m0", 0, "NONE"]]
    assert led_on.state["brokers"]["3"]["log"] == []
    assert consumed.answer == {"error": "NONE", "values": []}


def test_each_rule_that_is_compared_is_contradicted_somewhere() -> None:
    """All are, but for the lag time, which each case chooses, rules known by the source, and proposed ones."""
    contradicted = {rule for rules in TURNED.values() for rule in rules} | STORIES.keys()
    rules = ReplicationDesign.changes
    assert contradicted == {rule for rule, its in rules.items() if Compared.DataPlane in its.compared}
    by_source = {"answer_on_stop", "expire_twice", "keep_overrides", "look_up_partition", "truncate_removed"}
    proposed = {rule for rule, its in rules.items() if its.proposed_by is not None}
    assert rules.keys() - contradicted == by_source | proposed | {"replica_lag_time_max_ms"}
