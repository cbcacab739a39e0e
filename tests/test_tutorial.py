"""The documents are true: their code runs, and prints the shown output."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from sybil.example import SybilFailure

import spec.language
from tests import tutorial
from tests.tutorial import DOCUMENTS, ROOT, Reader, as_shown, blocks, evaluated, lines_of, prompts

LONG = {
    *("coming-from-hypothesis", "explorer", "gallery", "pictures", "reports", "traces", "tutorial-2", "what-if"),
    *("check-your-own-system", "coming-from-tla", "library", "reading-a-trace"),
}
"""Pages whose commands take more than a few seconds together."""
UNTYPED = "# mypy: allow-untyped-defs, allow-untyped-calls\n"
"""At a prompt nobody annotates functions; their bodies are checked all the same."""
TRIED = [each for each in DOCUMENTS if any(block.region.evaluator for block in blocks(each))]


@pytest.mark.parametrize(
    "page", [pytest.param(each, id=each.stem, marks=[pytest.mark.long] * (each.stem in LONG)) for each in TRIED]
)
def test_document_examples_hold(tmp_path: Path, page: Path) -> None:
    """A user who types the shown commands sees the shown output."""
    Reader(tmp_path).follow(page)


@pytest.mark.long
def test_shown_code_is_typed(tmp_path: Path) -> None:
    """For a strict type checker: the code in files, and calls with plain integers."""
    for page in TRIED:
        for number, block in enumerate(blocks(page, Reader(tmp_path))):
            if block.region.evaluator is evaluated:
                (tmp_path / f"{page.stem.replace('-', '_')}_{number}.py").write_text(block.parsed)
            elif block.region.lexemes["language"] == "python":
                block.evaluate()
        if session := "".join(each.source for block in blocks(page) for each in prompts(block)):
            (tmp_path / f"{page.stem.replace('-', '_')}_session.py").write_text(UNTYPED + session)
    files = sorted(map(str, tmp_path.glob("*.py")))
    assert len(files) > 15
    kept = ROOT / ".mypy_cache" / "documents"  # mypy's cache of the packages: most of the work
    strictly = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(kept)]
    checked = subprocess.run([*strictly, *files], capture_output=True, text=True, check=False, cwd=ROOT)
    assert checked.stdout == f"Success: no issues found in {len(files)} source files\n"


def test_the_front_page_of_the_language_is_true(tmp_path: Path) -> None:
    """The example in the docstring of `spec.language` is a specification, and it holds."""
    code = textwrap.dedent("".join(re.findall(r"^(?: {4}.*)?\n", spec.language.__doc__ or "", re.MULTILINE)))
    (tmp_path / "front.py").write_text(code)
    assert Reader(tmp_path).run("kafkaspec check front.py:Counter").startswith("counter: holds\n")


# The reader.

SMALL = """
Begin a file `said.py`:

```python
class Said:
    word = "yes"

    def say(self):
        print(self.word)
```

Add below `word`:

```python
    other = "no"
```

Replace `say`:

```python
    def say(self):
        print(self.other)
```

Add to the end of `said.py`:

```python
Said().say()
```

```console
$ python said.py
yes
$ false
$ echo $?
1
```
"""


def test_the_reader_detects_false_output(tmp_path: Path) -> None:
    """Code goes to the named place, an exit code lasts until the next command, and wrong output is detected."""
    page = tmp_path / "small.md"
    page.write_text(SMALL)
    reader = Reader(tmp_path)
    *code, commands = blocks(page, reader)
    for block in code:
        block.evaluate()
    with pytest.raises(SybilFailure, match=r"small\.md, line 31.*:\n\$ python said\.py\nno\n$"):
        commands.evaluate()
    [(place, printed)] = reader.unlike
    assert (SMALL[place], printed) == ("yes\n", "no\n")


SESSION = """
```pycon
>>> def twice(number):
...     return 2 * number
```

```pycon
>>> twice(1)
2
>>> for number in (2, 3):
...     twice(number)
4
5
>>> print()
```
"""


def test_a_session_goes_on(tmp_path: Path) -> None:
    """Each statement is compared, and the place of a wrong output is known."""
    page = tmp_path / "session.md"
    page.write_text(SESSION)
    reader = Reader(tmp_path)
    first, second = blocks(page, reader)
    first.evaluate()
    with pytest.raises(SybilFailure):
        second.evaluate()
    assert [(SESSION[place], printed) for place, printed in reader.unlike] == [("4\n5\n", "4\n6\n"), ("", "\n")]
    assert SESSION[: reader.unlike[1][0].start].endswith(">>> print()\n")


@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        ("python\nx = 1", "neither says where it goes"),
        ("python\n1 + 1\n# 3", "# 2"),
        ("console\nkafkaspec list", "has no command"),
        ("toml\nx = 1", "does not say where toml goes"),
        ("\nx", "does not say where  goes"),
    ],
)
def test_the_reader_refuses_what_it_cannot_follow(tmp_path: Path, block: str, wrong: str) -> None:
    """A block without a place, or with other output, is an error of the document."""
    page = tmp_path / "wrong.md"
    page.write_text(f"Here it is:\n\n```{block}\n```\n")
    with pytest.raises((SybilFailure, ValueError), match=wrong):
        Reader(tmp_path).follow(page)


def test_dots_stand_only_for_whole_lines() -> None:
    """A shown line that is not printed is detected, on either side of the dots."""
    printed = "a\nb\nc\nd\n"
    assert all(
        as_shown(printed, shown) for shown in (printed, "a\n...\nd\n", "...\nd\n", "a\n  ...\n", "a\nb\n...\nd\n")
    )
    assert not any(
        as_shown(printed, shown) for shown in ("a\nd\n", "a\n...\nc\n", "b\n...\nd\n", "a\n...\nx\n...\nd\n")
    )


def test_a_member_is_found_with_its_decorators() -> None:
    """A replacement includes them."""
    source = "class A:\n    x = (\n        1\n    )\n    @property\n    def y(self):\n        return 1\n"
    assert (lines_of("x", source), lines_of("y", source)) == ((1, 4), (4, 7))
    with pytest.raises(ValueError, match="no z"):
        lines_of("z", source)


def test_examples_run() -> None:
    """The reader's own doctests pass."""
    assert doctest.testmod(tutorial).failed == 0
