"""The ports that engines are compared with visit the specification's states; and other figures of the benchmarks."""

from __future__ import annotations

import dataclasses
import doctest
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from benchmarks import (
    compare,
    controller_events,
    kip320,
    natural,
    plain_c,
    process,
    rounds,
    spin,
    stateright,
    table_sizes,
    what_if,
)
from spec.atlas.instances import PinnedInstance, instances
from spec.what_if.events import Crash
from spec.what_if.known_cluster import KnownCluster, complete
from spec.what_if.prediction import PartitionHealth
from spec.what_if.prediction import what_if as predicted
from spec.what_if.situations import situations
from spec.what_if.topic_description import read_description
from statemachines.messages.topic_partition import TopicPartition

BOUNDS = ("brokers", "log_size", "max_records", "max_leader_epoch")
PINNED = {each.name: each for each in instances()}
PUBLISHED = (288, 1_146, 11)
"""Two-phase commit of three managers: distinct and generated states, and the depth [examples/two_phase_commit.py]."""


def pinned(short: str) -> tuple[PinnedInstance, dict[str, int]]:
    """The pinned instance of the ported model, and its bounds."""
    instance = PINNED[f"replication, kip-320, {short}"]
    specification = instance.specification()
    return instance, {name: getattr(specification, name) for name in BOUNDS}


@pytest.mark.parametrize("short", ["2-2-2-2", "3-2-2-1", pytest.param("3-2-2-2", marks=pytest.mark.long)])
def test_the_port_to_plain_python_has_the_pinned_figures(short: str) -> None:
    """The same number of states and steps, and the same depth."""
    instance, bounds = pinned(short)
    found = kip320.explore(**bounds)
    assert found == (instance.distinct_states, instance.depth, instance.generated_states)


@pytest.mark.skipif(bool(spin.missing()), reason=spin.missing())
@pytest.mark.parametrize("search", ["bfs", "dfs"])
def test_the_port_to_promela_has_the_pinned_figures(search: str) -> None:
    """An added process counter or a forgotten helper variable would make more states."""
    instance, bounds = pinned("2-2-2-2")
    found = spin.explore(spin.kip_320(**bounds), search)
    assert (found.distinct, found.generated) == (instance.distinct_states, instance.generated_states)
    assert found.depth in (None, instance.depth)


@pytest.mark.skipif(bool(spin.missing()), reason=spin.missing())
@pytest.mark.parametrize("search", ["bfs", "dfs"])
def test_two_phase_commit_in_promela_has_the_published_figures(search: str) -> None:
    """TLC's for three managers; a depth-first search does not know the depth."""
    found = spin.explore(spin.two_phase_commit(3), search)
    assert (found.distinct, found.generated) == PUBLISHED[:2]
    assert found.depth in (None, PUBLISHED[2])


@pytest.mark.skipif(bool(plain_c.missing()), reason=plain_c.missing())
def test_two_phase_commit_in_c_has_the_published_figures() -> None:
    """TLC's; with six managers, the search has to enlarge its table."""
    assert plain_c.explore(3)[:3] == PUBLISHED
    assert plain_c.explore(6).distinct == 50_816


@pytest.mark.long
def test_two_phase_commit_of_stateright_has_the_published_figures() -> None:
    """It is the same model, and all its threads together visit each state once."""
    if why := stateright.missing():
        pytest.skip(why)
    assert stateright.explore(managers=3, threads=1)[:3] == PUBLISHED
    assert stateright.explore(managers=6, threads=2).distinct == 50_816


ROW = compare.Row(*PUBLISHED, seconds=1.0, processor_seconds=1.0, bytes_per_state=8.0)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (ROW._replace(seconds=2.0, keeps="fingerprints"), True),
        (ROW._replace(depth=None), True),
        (ROW._replace(depth=12), False),
        (ROW._replace(distinct=287), False),
        (ROW._replace(generated=1_147), False),
    ],
)
def test_a_comparison_fails_if_counts_differ(
    other: compare.Row, same: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code says so, after the table."""
    monkeypatch.setitem(
        compare.MODELS, "two-phase-commit", {"one": lambda managers: ROW, "other": lambda managers: other}
    )
    monkeypatch.setattr(compare, "alone", lambda run, bounds: run(*bounds))
    monkeypatch.setattr("sys.argv", ["compare", "two-phase-commit", "3"])
    assert compare.main() == (0 if same else 1)
    assert f"{other.distinct:,}" in capsys.readouterr().out


def test_a_failed_program_says_why(tmp_path: Path) -> None:
    """With its output and its errors; a program that succeeds has only its output."""
    with pytest.raises(RuntimeError, match=r"exit code 3\nfound\nlost"):
        process.run(tmp_path, "sh", "-c", "echo found; echo lost >&2; exit 3")
    assert process.run(tmp_path, "sh", "-c", "echo found; echo lost >&2").output == "found\n"


def test_a_program_without_its_tool_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names the tool, and the others are compared."""
    monkeypatch.setitem(compare.TOOLS, "SPIN", lambda: "no spin here")
    assert compare.installed(["reference", "SPIN bfs", "local", "SPIN dfs"]) == ["reference", "local"]
    assert capsys.readouterr().out == "SPIN is left out: no spin here\n"


@pytest.mark.long
def test_the_engines_are_compared_on_two_phase_commit() -> None:
    """Each in a process of its own."""
    names = "reference", "local"
    rows = compare.measure({name: compare.MODELS["two-phase-commit"][name] for name in names}, bounds=(3,), repeat=1)
    assert {row[:3] for row in rows.values()} == {PUBLISHED}


def test_an_instance_is_run_as_it_is_pinned() -> None:
    """With its release, constants and properties; and the default instances are pinned."""
    asked = " ".join(rounds.command(PINNED["controller-election, 1.1 to the end"]))
    assert (
        asked == "check controller-election --json --release 1.1 --set brokers=2 --set max_queued_events=2 --continue"
    )
    assert "--set crashes=false" in " ".join(rounds.command(PINNED["controller, connections are lost"]))
    assert set(rounds.NAMES) <= PINNED.keys()


def test_rounds_are_compared_by_their_medians() -> None:
    """The ratio is that of a round, not of medians."""
    assert doctest.testmod(rounds) == (0, 1)
    assert rounds.compared([(1.0, 2.0), (9.0, 9.0), (3.0, 1.0)]) == (3.0, 2.0, 1.0)


def test_tables_are_those_of_the_engine_that_has_them() -> None:
    """Paths, and the figures derived from them, are equal in each search; the reference engine has none."""
    instance, _ = pinned("2-2-2-2")
    first, again = (table_sizes.explore(instance, "local") for _ in range(2))
    assert first.tables is not None
    assert first.is_pinned
    assert (first.tables, first.states) == (again.tables, instance.distinct_states)
    assert 0 < first.tables.paths < first.tables.numbers
    assert len(table_sizes.row(instance, "local", first).split()) == len(instance.name.split()) + 10
    assert table_sizes.explore(instance, "reference", max_states=100).tables is None
    other = dataclasses.replace(instance, distinct_states=1)
    assert not table_sizes.explore(other, "local").is_pinned


def test_the_day_of_a_controller_is_complete() -> None:
    """Each event reaches the controller first; ISRs and all brokers' requests equal the calculated ones.

    Partitions are spread, so that each of 6 brokers leads 40 of 240, and follows in 80.
    """
    days = controller_events.day(partitions=240, brokers=6)
    over, dies, returns, leaves, moves, goes = (
        rest.events[its] for its, rest in zip(controller_events.EVENTS.values(), days, strict=True)
    )
    assert (over.written, over.sent) == (3 + 240 + 240 + 1, 18)
    assert (dies.written, dies.sent) == (40 + 80, 20)
    assert (returns.written, returns.batches) == (0, 2)
    assert leaves.written == 40 + 80
    assert (moves.written, moves.batches) == (2, 5)
    assert goes.sent > 5
    assert all(event.seconds > 0 for event in (over, dies, returns, leaves, moves, goes))


def test_brokers_have_their_share_in_a_day() -> None:
    """A broker that returns rejoins the ISRs; a deleted topic is gone when its brokers have answered."""
    _, _, returns, _, _, goes = controller_events.day(partitions=240, brokers=6)
    assert returns.events["process_alter_partition"].written == 40 + 80
    answered = goes.events["process_topic_deletion_stop_replica_response_received"]
    assert answered.seconds < goes.seconds
    assert all(sum(share.seconds for share in rest.events.values()) < rest.seconds for rest in (returns, goes))


def test_the_day_of_kafkas_controller_is_the_same() -> None:
    """Its commands are our events, with the same names and partitions."""
    commands, places = controller_events.day_of_kafka(partitions=240, brokers=6)
    assert [commands[place]["do"] for place in places.values()][1:3] == ["die", "register"]
    created = [command for command in commands if command["do"] == "create_topic"]
    assert [len(command["partitions"]) for command in created] == [100, 100, 40]
    assert created[2]["partitions"]["39"] == list(controller_events.spread(239, 6))


def large_cluster(partitions: int, brokers: int) -> tuple[KnownCluster, dict[TopicPartition, tuple[int, ...]]]:
    """Return the benchmark's cluster, and the calculated replicas of each partition."""
    keeps = {
        TopicPartition(f"t{at // 100}", at % 100): controller_events.spread(at, brokers) for at in range(partitions)
    }
    return complete(read_description(what_if.described(partitions, brokers), "topics.txt")), keeps


@pytest.mark.parametrize(("partitions", "brokers"), [(120, 5), pytest.param(2_000, 12, marks=pytest.mark.long)])
def test_any_two_brokers_of_a_large_cluster_may_crash(partitions: int, brokers: int) -> None:
    """The first remaining replica leads, the remaining ones are in sync; partitions with equal losses are alike."""
    cluster, keeps = large_cluster(partitions, brokers)
    for pair in combinations(range(brokers), 2):
        left = {each: tuple(broker for broker in kept if broker not in pair) for each, kept in keeps.items()}
        found = predicted(cluster, Crash(*pair))
        assert {each.partition: (each.after.leader, each.after.isr) for each in found.changes} == {
            each: (kept[0], kept) for each, kept in left.items()
        }
        few = {each.partition for each in found.changes if each.health is PartitionHealth.UnderMinIsr}
        assert few == {each for each, kept in left.items() if len(kept) == 1}
        alike = situations(cluster, [Crash(*pair)])
        assert sorted(each for partitions in alike.values() for each in partitions) == sorted(keeps)
        lost = Counter(tuple(broker in pair for broker in kept) for kept in keeps.values())
        assert sorted(map(len, alike.values())) == sorted(lost.values())


def test_a_large_cluster_is_asked_about_by_the_command(tmp_path: Path) -> None:
    """After a day with all kinds of events, only the moved topic has changed."""
    cluster, moves = tmp_path / "topics.txt", tmp_path / "plan.json"
    cluster.write_text(what_if.described(240, 6))
    moves.write_text(what_if.plan(6))
    timed = what_if.ask(cluster, what_if.DAY.format(plan=moves))
    assert (timed.exit_code, timed.partitions, timed.classes) == (0, 240, 0)
    assert timed.seconds > 0


@pytest.mark.parametrize(
    "name",
    [pytest.param("quicksort, choices in a guard", marks=pytest.mark.long), "quicksort, dependent choices"],
)
def test_natural_specifications_have_the_published_states(name: str) -> None:
    """TLC's figures for MCQuicksort.cfg: both forms of the choice make the same steps."""
    found = natural.explore(name, "reference")
    assert found[:3] == (4_548, 11_223, 9)
    assert natural.differences(natural.ROWS[name], {"reference": found}) == []


def test_engines_that_differ_are_named() -> None:
    """By their states, steps or depth; all of them if the number of states is not the pinned one."""
    row = natural.ROWS["a counter to 20,000"]
    found = natural.Explored(20_001, 20_001, 20_001, 1.0, 1.0, "reference")
    other, fewer = found._replace(generated=20_002), found._replace(states=20_000)
    assert natural.differences(row, {"reference": found, "local": found, "auto": other}) == ["auto"]
    assert natural.differences(row, {"reference": fewer, "local": fewer}) == ["reference", "local"]
