"""The page of the command's help, as it prints it: `python -m tests.commands` writes docs/commands.md anew.

Read the difference before you keep it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner

from spec.cli.command import kafkaspec

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
COLUMNS = 100
"""How wide the help is there."""
HEAD = """\
# The command

What `kafkaspec --help` prints, and `--help` of each command. `python -m tests.commands` writes this page, and a
test compares.
"""


def help_of(*command: str) -> str:
    """What is printed on a terminal of that width."""
    asked = CliRunner().invoke(kafkaspec, [*command, "--help"], prog_name="kafkaspec", terminal_width=COLUMNS)
    assert asked.exit_code == 0, asked.output
    return asked.output


def page() -> str:
    """All of it."""
    return "\n".join(_parts())


def _parts() -> Iterator[str]:
    yield HEAD
    yield f"```text\n{help_of()}```\n"
    for name in sorted(kafkaspec.commands):
        yield f"## {name}\n\n```text\n{help_of(name)}```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
