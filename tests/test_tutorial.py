"""The tutorial is true: its code runs, and prints what it says."""

from __future__ import annotations

import doctest
import re
import sys
import textwrap
from pathlib import Path

import pytest

import spec.language
from tests import tutorial
from tests.tutorial import PAGES, Reader, lines_of, without_times

PROGRAMS = Path(sys.executable).parent


LONG = {"tutorial-2", "explorer", "traces", "what-if"}
"""Pages whose commands take more than a few seconds together."""


@pytest.mark.parametrize(
    "page", [pytest.param(each, id=each.stem, marks=[pytest.mark.long] * (each.stem in LONG)) for each in PAGES]
)
def test_a_page_prints_what_it_says(tmp_path: Path, page: Path) -> None:
    """A person who types what stands there sees what stands there."""
    tried = list(Reader(tmp_path, PROGRAMS).follow(page.read_text()))
    assert sum(each.command.startswith("kafkaspec") for each in tried) >= 3
    said = [(each.command, without_times(each.expected)) for each in tried]
    assert said == [(each.command, without_times(each.printed)) for each in tried]


def test_the_front_page_of_the_language_is_true(tmp_path: Path) -> None:
    """The specification that `spec.language` begins with is one, and it holds."""
    code = textwrap.dedent("".join(re.findall(r"^(?: {4}.*)?\n", spec.language.__doc__ or "", re.MULTILINE)))
    (tmp_path / "front.py").write_text(code)
    assert Reader(tmp_path, PROGRAMS).run("kafkaspec check front.py:Counter").startswith("counter: holds\n")


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


def test_the_reader_sees_what_is_not_so(tmp_path: Path) -> None:
    """Code goes where the text says, an exit code lasts until the next command, and a wrong output is found."""
    tried = list(Reader(tmp_path, PROGRAMS).follow(SMALL))
    assert [each[:3] for each in tried] == [
        ("python said.py", "yes\n", "no\n"),
        ("false", "", ""),
        ("echo $?", "1\n", "1\n"),
    ]
    first, last = tried[0].span
    assert SMALL[first:last] == "yes\n"


@pytest.mark.parametrize("text", ["Here it is:\n\n```python\npass\n```\n", "Read `this`:\n\n```rust\n```\n"])
def test_the_reader_refuses_what_it_cannot_follow(tmp_path: Path, text: str) -> None:
    """A block that goes nowhere is a mistake of the tutorial."""
    with pytest.raises(ValueError, match=r"does not say where|cannot do anything"):
        list(Reader(tmp_path, PROGRAMS).follow(text))


def test_a_member_is_found_with_its_decorators() -> None:
    """What is replaced includes what stands before it."""
    source = "class A:\n    x = (\n        1\n    )\n    @property\n    def y(self):\n        return 1\n"
    assert (lines_of("x", source), lines_of("y", source)) == ((1, 4), (4, 7))
    with pytest.raises(ValueError, match="no z"):
        lines_of("z", source)


def test_examples_run() -> None:
    """The reader's own example is true."""
    assert doctest.testmod(tutorial).failed == 0
