"""A damaged run directory is refused in one line that names a file, or the run ends as if undamaged.

`DAMAGE_SEED=... pytest tests/reliability/test_damage.py` repeats the same damage.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from spec.atlas.loading import under
from spec.checking import check
from spec.checking.local import LocalEngine
from spec.language import UsageError
from spec.systems.replication import Replication
from tests.reliability.breaking import outcome
from tests.seeds import seed_of_this_run
from tests.tiers import long_unless

SEED = seed_of_this_run("DAMAGE_SEED")
SUBJECT = under(Replication, "0.10", {"brokers": 2})
HALF = 4
"""Levels that are complete when the run is stopped."""

Damage = Callable[[random.Random, bytes, bytes], bytes | None]
"""The new content of a file, given the content of another one; None removes the file."""


def _flip(drawn: random.Random, content: bytes, other: bytes) -> bytes:
    at = drawn.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << drawn.randrange(8)]) + content[at + 1 :]


def _change_json(drawn: random.Random, content: bytes, other: bytes) -> bytes:
    """Remove a member or change its value, as an editor might. If it is not JSON, use the other file's content."""
    try:
        document = json.loads(content)
    except ValueError:
        return other
    inside = document
    while True:
        name = drawn.choice([*inside] if isinstance(inside, dict) else range(len(inside)))
        if not (isinstance(inside[name], dict | list) and inside[name] and drawn.random() < 0.5):
            break
        inside = inside[name]
    if drawn.random() < 0.3:
        del inside[name]
    else:
        inside[name] = type(inside[name])() or drawn.randrange(1_000)
    return json.dumps(document).encode()


DAMAGES: Sequence[Damage] = (
    _flip,
    lambda drawn, content, other: content[: drawn.randrange(len(content))],
    lambda drawn, content, other: content + drawn.randbytes(drawn.randrange(1, 100)),
    lambda drawn, content, other: drawn.randbytes(len(content)),
    lambda drawn, content, other: other,
    lambda drawn, content, other: None,
)


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped halfway."""
    path = tmp_path_factory.mktemp("half") / "run"
    result = check(SUBJECT, engine=LocalEngine(1, run_dir=path), keep_going=True, max_depth=HALF)
    assert (result.verdict, result.depth) == ("bounded", HALF)
    return path


def is_refused_or_comes_out_the_same(half: Path, place: Path, seed: int) -> None:
    """Check this for one random damage to a copy of the directory."""
    drawn = random.Random(seed)
    shutil.copytree(half, place)
    files = sorted(each for each in place.rglob(drawn.choice(["*.json", "*.parquet"])) if each.stat().st_size)
    file, other = drawn.sample(files, 2)
    damage = _change_json if file.suffix == ".json" and drawn.random() < 0.5 else drawn.choice(DAMAGES)
    damaged = damage(drawn, file.read_bytes(), other.read_bytes())
    file.unlink()
    if damaged is not None:
        file.write_bytes(damaged)
    try:
        resumed = check(SUBJECT, engine=LocalEngine(1, run_dir=place, resume=True), keep_going=True)
    except UsageError as refused:
        said = str(refused)
    else:
        said = ""
        assert outcome(resumed) == outcome(check(SUBJECT, engine=LocalEngine(1), keep_going=True))
    assert not said or re.fullmatch(rf"[^\n]*{re.escape(str(place))}[^\n]*", said)


@pytest.mark.parametrize(
    "number", long_unless((20).__gt__, range(100)), ids=lambda number: f"{number}, DAMAGE_SEED={SEED}"
)
def test_damage_is_refused_or_makes_no_difference(half: Path, tmp_path: Path, number: int) -> None:
    """A hundred damages, drawn anew each time."""
    is_refused_or_comes_out_the_same(half, tmp_path / "run", SEED + number)
