"""What `make long` runs, its parts run too: none of it is left out when somebody runs them one by one."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_each_long_test_is_in_a_part() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    [parts] = re.findall(r"^PARTS := (.*)$", makefile, re.MULTILINE)
    dry = subprocess.run(["make", "--dry-run", *parts.split()], cwd=ROOT, capture_output=True, text=True, check=True)
    covered = [ROOT / path for path in re.findall(r"(?<= )tests/\S+", dry.stdout)]
    long = [path for path in (ROOT / "tests").rglob("test_*.py") if "mark.long" in path.read_text(encoding="utf-8")]
    left_out = [path for path in long if not any(path.is_relative_to(part) for part in covered)]
    assert len(long) > 30
    assert [str(path.relative_to(ROOT)) for path in left_out if path.name != Path(__file__).name] == []
