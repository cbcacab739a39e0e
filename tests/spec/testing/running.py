"""Running a generated machine to its failure, and reading its output."""

import re
from dataclasses import dataclass
from typing import Any

from hypothesis import Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from spec.testing import SpecificationMachine

STEP = re.compile(r"state\.(?:begin|take)\(step=(.*)\)")

THOROUGH = settings(
    max_examples=400,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[phase for phase in Phase if phase is not Phase.explain],
)
"""Enough for the planted bugs, whatever the profile, and the same each time."""


@dataclass
class Failure:
    """The failure of a machine."""

    error: Exception
    text: str
    """Everything printed about it."""

    @property
    def steps(self) -> list[str]:
        """Return the steps of the printed program, between the machine's construction and its teardown."""
        lines = self.text.splitlines()
        start = next(n for n, line in enumerate(lines) if line.startswith("state = "))
        taken = [STEP.fullmatch(line) for line in lines[start + 1 : lines.index("state.teardown()")]]
        assert all(taken), self.text
        return [each[1] for each in taken if each]

    @property
    def program(self) -> str:
        """Return the printed program, from its imports to its end, without Hypothesis's heading."""
        lines = self.text.splitlines()
        first = next(n for n, line in enumerate(lines) if line.startswith(("from ", "import ")))
        made = next(n for n, line in enumerate(lines) if line.startswith("state = "))
        last = lines.index("state.teardown()") if "state.teardown()" in lines else made
        return "\n".join(lines[first : last + 1])


def failure_of(machine: type[SpecificationMachine], **changed: Any) -> Failure:
    """Run a machine that must fail."""
    try:
        run(machine, **changed)
    except Exception as error:
        return Failure(error, "\n".join([str(error), *getattr(error, "__notes__", [])]))
    raise AssertionError("nothing failed")


def run(machine: type[SpecificationMachine], **changed: Any) -> None:
    """Run a machine thoroughly, or with some settings changed."""
    run_state_machine_as_test(machine, settings=settings(THOROUGH, **changed))
