"""Scenarios of Kafka's controller and replication agree with the specification, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spec.checking import Replay, check
from spec.language import UsageError
from spec.scenarios import scenario_named, scenarios, transcript
from spec.scenarios.transcript import TranscriptContradicted, TranscriptError, run
from spec.systems.replication import Replication

HERE = Path(transcript.__file__).parent
TRANSCRIPTS = sorted(HERE.glob("*.txt"))


def test_there_are_transcripts() -> None:
    """A missing file is noticed."""
    assert [each.name for each in scenarios()] == [path.stem for path in TRANSCRIPTS]
    assert [path.stem for path in TRANSCRIPTS] == [
        "e1-election-and-failover",
        "e2-under-fences",
        "e2-zombie-writes",
        "fetch-under-an-old-epoch",
        "fetch-under-kip-320",
        "join-under-an-old-epoch",
        "join-under-kip-320",
        "k11-a-missed-epoch",
        "leader-fails-at-8-4-6",
        "t1-fetch-by-fetch",
        "t1-kept-fetch-by-fetch",
        "t1-loss-by-truncation",
        "t1-under-kip-101",
        "t1-under-kip-320",
        "t10-joined-without-its-log",
        "t19-one-epoch-two-histories",
        "t1b-loss-without-restart",
        "t1b-under-kip-101",
        "t2-divergence",
        "t2-fetch-by-fetch",
        "t2-uncommitted-under-kip-101",
        "t2-under-kip-101",
        "t3-prime-divergence-under-kip-101",
        "t3-prime-fetch-by-fetch",
        "t3-prime-under-kip-279",
        "t3-prime-under-kip-320",
        "t4-counted-under-an-old-epoch",
        "t4-under-kip-320",
        "t5-asked-too-early",
        "t5-under-kip-320",
        "t6-the-same-leader-again",
        "t6-under-kip-320",
        "t7-a-leader-without-an-answer",
        "t7-under-kip-320",
        "t8-joined-below-the-epoch",
        "t8-under-kip-320",
        "t9-last-replica-standing",
    ]


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_each_transcript_is_confirmed(path: Path) -> None:
    """Each step is enabled, each claim is true, and only the named properties break."""
    run(path)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_begins_with_title_and_sources(path: Path) -> None:
    """A reader sees its subject and its origin."""
    title, blank, sources, *_ = path.read_text(encoding="utf-8").splitlines()
    assert (title == title.strip() != "", blank, re.match(r"Sources?: .", sources) is not None) == (True, "", True)


def test_a_transcript_refers_to_existing_ones() -> None:
    """By their file names."""
    names = {name for path in TRANSCRIPTS for name in re.findall(r"[\w-]+\.txt", path.read_text(encoding="utf-8"))}
    assert len(names) > 5
    assert names <= {path.name for path in TRANSCRIPTS}


SAME: list[tuple[str, str, str]] = [
    ("e2-zombie-writes", "e2-under-fences", "register_controller(broker=1)"),
    ("t1-loss-by-truncation", "t1-under-kip-101", "become_leader(broker=1, epoch=3)"),
    ("t1-loss-by-truncation", "t1-under-kip-320", "become_follower(broker=0, epoch=3)"),
    ("t1b-loss-without-restart", "t1b-under-kip-101", "become_follower(broker=2, epoch=3)"),
    ("t2-divergence", "t2-under-kip-101", "leader_increment_high_watermark(leader=1)"),
    ("t3-prime-divergence-under-kip-101", "t3-prime-under-kip-279", "become_follower(broker=1, epoch=3)"),
    ("t3-prime-divergence-under-kip-101", "t3-prime-under-kip-320", "become_follower(broker=1, epoch=3)"),
    ("fetch-under-an-old-epoch", "fetch-under-kip-320", "leader_increment_high_watermark(leader=2)"),
    ("join-under-an-old-epoch", "join-under-kip-320", "leader_increment_high_watermark(leader=2)"),
    ("t4-counted-under-an-old-epoch", "t4-under-kip-320", "become_leader(broker=0, epoch=3)"),
    ("t5-asked-too-early", "t5-under-kip-320", "controller_elect_leader(broker=0)"),
    ("t6-the-same-leader-again", "t6-under-kip-320", "become_follower(broker=1, epoch=3)"),
    ("t7-a-leader-without-an-answer", "t7-under-kip-320", "become_leader(broker=1, epoch=4)"),
    ("t8-joined-below-the-epoch", "t8-under-kip-320", "become_follower(broker=2, epoch=1)"),
]


@pytest.mark.parametrize(("story", "other", "last"), SAME, ids=[row[1] for row in SAME])
def test_another_version_follows_the_same_events(story: str, other: str, last: str) -> None:
    """Up to this step; there the first truncates too much or too little, or the other refuses the next step."""
    one, two = (list(map(str, run(HERE / f"{name}.txt").steps)) for name in (story, other))
    length = len(one) - one[::-1].index(last)
    assert one[:length] == two[:length]
    assert (bool(run(HERE / f"{story}.txt").broken), run(HERE / f"{other}.txt").broken) == (True, {})


FENCES: list[tuple[str, str, str]] = [
    ("fetch-under-an-old-epoch", "fetch-under-kip-320", "fence_fetch=false"),
    ("join-under-an-old-epoch", "join-under-kip-320", "fence_join=false"),
    ("t4-counted-under-an-old-epoch", "t4-under-kip-320", "fence_high_watermark=false"),
    ("t5-asked-too-early", "t5-under-kip-320", "fence_truncation=false"),
    ("t6-the-same-leader-again", "t6-under-kip-320", "truncate_every_epoch=false"),
    ("t7-a-leader-without-an-answer", "t7-under-kip-320", "persist_epoch_on_lead=false"),
    ("t8-joined-below-the-epoch", "t8-under-kip-320", "join_at_epoch_start=false"),
]


@pytest.mark.parametrize(("story", "other", "fence"), FENCES, ids=[row[0] for row in FENCES])
def test_one_fence_makes_the_difference(story: str, other: str, fence: str, tmp_path: Path) -> None:
    """With the fence the story fails, and without it the other one does."""
    without, with_it = ((HERE / f"{name}.txt").read_text(encoding="utf-8") for name in (story, other))
    assert without.count(f" {fence} ") == with_it.count(" truncation=kip-320 ") == 1
    path = tmp_path / "changed.txt"
    version = " truncation=kip-320 "
    for text in (without.replace(f" {fence} ", " "), with_it.replace(version, f"{version}{fence} ")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(TranscriptError):
            run(path)


@pytest.mark.parametrize(
    ("story", "broken", "length"),
    [("fetch-under-an-old-epoch", "weak_isr", 13), ("join-under-an-old-epoch", "strong_isr", 15)],
)
def test_a_transcript_has_the_minimal_length(story: str, broken: str, length: int) -> None:
    """The same length as the checker's counterexample, which takes half a minute each."""
    replay = run(HERE / f"{story}.txt")
    assert replay.broken[broken] == replay.number == length


def test_the_end_of_the_divergence_needs_no_leader_epochs(tmp_path: Path) -> None:
    """The transcript says so: the old rule truncates the same record."""
    text = (HERE / "t2-uncommitted-under-kip-101.txt").read_text(encoding="utf-8")
    assert "truncation=kip-101" in text
    path = tmp_path / "t2-uncommitted.txt"
    path.write_text(text.replace("truncation=kip-101", "truncation=truncate-to-high-watermark"), encoding="utf-8")
    assert run(path).broken == {}


def test_a_counterexample_of_the_checker_can_be_replayed() -> None:
    """Step by step, without bounds, to the same end."""
    specification = Replication.of(
        truncation="truncate-to-high-watermark", brokers=2, log_size=2, max_records=2, max_leader_epoch=2
    )
    trace = check(specification, properties=["weak_isr"]).counterexample
    assert trace is not None
    replay = Replay(specification)
    changes = []
    for each in trace.steps:
        assert replay.broken == {}
        changes.append(replay.do(each.step).changes)
    assert replay.broken["weak_isr"] == replay.number == trace.length == 9
    assert (changes, replay.trace("weak_isr")) == ([each.changes for each in trace.steps], trace)


# The reader: every line counts.

MISSAID = {
    "a misspelt action": (re.compile(r"^( +)(\w+\(.*)"), r"\1re\2"),
    "a step claimed to be refused": (re.compile(r"^( +)(\w+\(.*?\)).*"), r"\1refused: \2"),
    "a refused step that is done": (re.compile(r"^( +)refused: "), r"\1"),
    "another value": (re.compile(r"^( +\w+(?:\[\d\])?: .*)(\d)"), r"\g<1>9"),
    "a violation not named": (re.compile(r"^( +)breaks \w+(, )?(.*)"), r"\1holds type_ok"),
    "a violation that is none": (re.compile(r"^( +)holds "), r"\1breaks "),
    "a step at the left edge": (re.compile(r"^ +(\w+\(.*)"), r"\1"),
    "a step with other words": (re.compile(r"^( +\w+\(.*?\)).*"), r"\1   it does something else"),
}


CHANGED = ("t1-loss-by-truncation", "t1-under-kip-320", "t2-uncommitted-under-kip-101")
"""Changed lines of every kind; each change runs a transcript, so this is a sample."""


@pytest.mark.long
@pytest.mark.parametrize("what", MISSAID)
def test_every_line_counts(what: str, tmp_path: Path) -> None:
    """A transcript with such a change fails, and the error names a line."""
    pattern, replacement = MISSAID[what]
    outcomes = []
    for name in CHANGED:
        lines = (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()
        for at, line in enumerate(lines):
            changed = pattern.sub(replacement, line)
            if changed != line:
                (tmp_path / name).write_text("\n".join([*lines[:at], changed, *lines[at + 1 :]]), encoding="utf-8")
                outcomes.append(outcome(tmp_path / name))
    assert len(outcomes) > 1
    assert [each for each in outcomes if not re.match(r"[\w-]+:\d+: .", each)] == []


def run_own(path: Path) -> Replay:
    """Replay a transcript with a trusted system."""
    named = re.search(r"^ +system (\S+)", path.read_text(), re.MULTILINE)
    return run(path, named[1] if named else None)


def outcome(path: Path) -> str:
    """Return the error of a transcript."""
    try:
        run_own(path)
    except TranscriptError as wrong:
        return str(wrong)
    return "it passes"


JUGS = "    system tests.spec.checking.toys:Jugs\n"
COUNTERS = "    system tests.spec.checking.toys:Counters counters=2"
FOUR = ["fill_large", "large_to_small", "empty_small", "large_to_small", "fill_large"]
NEARLY = "".join(f"    {name}()\n" for name in FOUR)

REFUSED: list[tuple[str, str, str]] = [
    ("nothing at all", "", "t:0: it has no step"),
    ("only prose", "Once upon a time.\n", "t:1: it has no step"),
    ("no step", JUGS + "    holds not_four\n", "t:2: it has no step"),
    ("no claim", JUGS + "    fill_small()\n", "t:2: it has no line `breaks` or `holds`"),
    (
        "no system",
        "    fill_small()\n",
        "t:1: its first indented line must be `system NAME CONSTANT=VALUE ...`, not: fill_small()",
    ),
    (
        "an unknown constant",
        COUNTERS + " clocks=3\n",
        "t:1: counters has no constant clocks; it has counters, top, at_most, closed_at",
    ),
    ("a constant out of range", COUNTERS + " top=0\n", "t:1: top = 0: it must be at least 1"),
    (
        "an unknown action",
        JUGS + "    empty_smal()\n",
        "t:2: step 2, empty_smal(): there is no action empty_smal; there are fill_small, fill_large, empty_small, "
        "empty_large, small_to_large, large_to_small",
    ),
    (
        "an unknown action claimed to be refused",
        JUGS + "    refused: empty_smal()\n",
        "t:2: step 2, empty_smal(): there is no action empty_smal; there are fill_small, fill_large, empty_small, "
        "empty_large, small_to_large, large_to_small",
    ),
    (
        "an unknown parameter",
        COUNTERS + "\n    up(count=1)\n",
        "t:2: step 2, up(count=1): up takes counter",
    ),
    (
        "a step that is not enabled",
        COUNTERS + " top=1\n    up(counter=0)\n\n    up(counter=0)\n",
        "t:4: step 3, up(counter=0): its guard does not hold here; enabled are up(counter=1)",
    ),
    (
        "a step that is not refused",
        COUNTERS + " top=1\n    refused: up(counter=0)\n",
        "t:2: up(counter=0) is enabled, not refused",
    ),
    (
        "a step that is not one",
        COUNTERS + "\n    up(0)\n",
        "t:2: not a step: up(0); write action(parameter=value, ...)",
    ),
    (
        "a step half written",
        COUNTERS + "\n    up(counter=)\n",
        "t:2: not a step: up(counter=); write action(parameter=value, ...)",
    ),
    ("a step without its brackets", COUNTERS + "\n    up\n", "t:2: neither a step nor a claim: up"),
    ("a step at the left edge", JUGS + "fill_small()\n", "t:2: it is not indented: fill_small()"),
    (
        "another value",
        COUNTERS + "\n    up(counter=1)\n    count: 1 | 0\n",
        "t:3: count is 0 | 1, not 1 | 0",
    ),
    (
        "an unknown place",
        COUNTERS + "\n    up(counter=1)\n    count[2]: 0\n",
        "t:3: there is no place count[2]; there are count, count[0], count[1]",
    ),
    (
        "a violation too late",
        JUGS + NEARLY + "    large_to_small()\n    fill_small()\n    breaks not_four\n",
        "t:7: no line below names a broken property: not_four: There are never four litres in the large jug.",
    ),
    (
        "a violation at the end not named",
        JUGS + NEARLY + "    holds not_four\n    large_to_small()\n\nThat is all.\n",
        "t:8: no line below names a broken property: not_four: There are never four litres in the large jug.",
    ),
    (
        "a violation in the initial state not named",
        COUNTERS + " at_most=-1\n\n    up(counter=0)\n    holds type_ok\n",
        "t:1: no line below names a broken property: not_too_many: The sum is within its limit.",
    ),
    ("a violation that is none", JUGS + NEARLY + "    breaks not_four\n", "t:7: not_four holds"),
    (
        "a violation of old",
        JUGS + NEARLY + "    large_to_small()\n    breaks not_four\n    empty_large()\n    breaks not_four\n",
        "t:10: not_four broke before, at step 7",
    ),
    (
        "a broken property claimed to hold",
        JUGS + NEARLY + "    large_to_small()\n    holds not_four\n",
        "t:8: not_four does not hold, step 7 broke it",
    ),
    (
        "an unknown property",
        JUGS + "    fill_small()\n    holds not_for\n",
        "t:3: there is no property not_for; there are type_ok, not_four, deadlock",
    ),
    (
        "words at a silent step",
        JUGS + "    fill_small()   it is full\n",
        "t:2: the step says nothing, not it is full",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_the_reader_reports_the_place_of_an_error(text: str, expected: str, tmp_path: Path) -> None:
    """File, line and reason, in one line."""
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(TranscriptError) as wrong:
        run_own(path)
    assert str(wrong.value) == expected


def test_a_foreign_transcript_runs_no_code(tmp_path: Path) -> None:
    """Its system is not even imported; the user names the system for the replay."""
    witness, module, path = tmp_path / "imported", tmp_path / "theirs.py", tmp_path / "theirs.txt"
    module.write_text(f"open({str(witness)!r}, 'w').close()\nfrom tests.spec.checking.toys import Jugs\n")
    path.write_text(f"    system {module}:Jugs\n    fill_small()\n    holds not_four\n")
    with pytest.raises(TranscriptError, match=r"^theirs\.txt:1: it names '.*theirs\.py:Jugs', which is no system"):
        run(path)
    assert run(path, "tests.spec.checking.toys:Jugs").broken == {}
    assert not witness.exists()
    assert run(path, f"{module}:Jugs").broken == {}
    assert witness.exists()


def test_a_transcript_of_another_system(tmp_path: Path) -> None:
    """Any specification works; strings have no quotes, as in printed traces."""
    path = tmp_path / "bank.txt"
    path.write_text(
        "A bank, after the bell\n\n"
        "    system tests.spec.checking.toys:Bank rich=2\n"
        "    open_account(who=bob)   welcome; an account is opened\n"
        "    known: {zoe, bob}\n"
        "    refused: open_account(who=bob)\n"
        "    pay(who=bob, much=2)\n"
        "    account[bob].money: 2\n"
        "    breaks not_rich\n"
        "    close(who=bob)\n"
        "    account[bob]: absent\n"
        "    breaks nobody_closes_with_money\n"
        "    holds type_ok\n"
    )
    assert run_own(path).broken == {"not_rich": 3, "nobody_closes_with_money": 4}


@pytest.mark.parametrize(
    ("line", "contradicted"),
    [
        ("    count: 1 | 0\n", True),
        ("    up(counter=1)   it is full\n", True),
        ("    refused: up(counter=0)\n", True),
        ("    breaks type_ok\n", True),
        ("    up(counter=1)\n    up(counter=1)\n    up(counter=1)\n    up(counter=1)\n", True),
        ("    up(counter=7)\n", False),
        ("    holds type_okay\n", False),
        ("    count[7]: 0\n", False),
    ],
)
def test_a_contradiction_is_no_syntax_error(line: str, contradicted: bool, tmp_path: Path) -> None:
    """A false claim and a meaningless line have different exit codes."""
    path = tmp_path / "t"
    path.write_text(f"{COUNTERS}\n    up(counter=1)\n{line}    holds type_ok\n")
    with pytest.raises(TranscriptError) as wrong:
        run_own(path)
    assert isinstance(wrong.value, TranscriptContradicted) == contradicted


def test_a_unique_prefix_names_a_scenario() -> None:
    """For an ambiguous prefix, the error lists all matches."""
    assert scenario_named("t1-loss").name == scenario_named("t1-loss-by-truncation").name == "t1-loss-by-truncation"
    with pytest.raises(UsageError, match=r"t1b-loss-without-restart, t1b-under-kip-101$"):
        scenario_named("t1b-")
    assert scenario_named("T1b").name == "t1b-loss-without-restart", "the label of its title"
    with pytest.raises(UsageError, match="t18; there are e1-election-and-failover, "):
        scenario_named("t18")


def test_a_line_is_printed_with_its_effect() -> None:
    """Prose and the first line are unchanged; a step gets its number and its changes, a claim its mark."""
    lines = [str(line) for line in scenario_named("t1-loss").replay()]
    texts = scenario_named("t1-loss").text.splitlines()
    assert [each for each in lines if not each.startswith("  ") or each.startswith("    system")] == [
        each for each in texts if not each.startswith("  ") or each.startswith("    system")
    ]
    cut = next(each for each in lines if "it truncates its log" in each).splitlines()
    assert cut[0] == "  16  become_follower(broker=1, epoch=1)   it truncates its log"
    assert "        log[1].records: (m0@0, m1@0) -> (m0@0,)" in cut
    assert "      ! breaks weak_isr, strong_isr" in lines
    assert "      = log[1]: [m0@0] 1/1" in lines
