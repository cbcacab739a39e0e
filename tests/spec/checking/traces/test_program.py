"""A trace as a program that runs as printed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spec.checking import Replay, Trace, check
from spec.checking.traces.program import program
from spec.language import Specification, State, action, constant, require, sequence_of, variable
from spec.language.errors import UsageError
from tests.spec.checking.toys import Bank, Ring
from tests.spec.checking.traces.test_brief import ANN, BOB, IN_TURN, Letters, run
from tests.spec.checking.traces.test_trace import Post
from tests.spec.testing.toys import Names

ROOT = Path(__file__).parents[4]


def done(text: str) -> None:
    """Run a program."""
    exec(compile(text, "printed", "exec"), {"__name__": "__main__"})


def counterexample(specification: Any, name: str) -> Trace:
    """The counterexample of this property."""
    found = check(specification, properties=[name], engine="reference").counterexample
    assert found is not None
    return found


def test_a_counterexample_as_a_program() -> None:
    """It has the constants that differ from the defaults, the steps, and the property that breaks with its state."""
    assert program(
        Post(boxes=1, careful=False), counterexample(Post(boxes=1, careful=False), "nothing_is_taken")
    ) == (
        '''\
"""post: nothing_is_taken breaks in the last of 4 states."""

from spec.checking import Replay
from spec.language import Step
from tests.spec.checking.traces.test_trace import Post

replay = Replay(Post(boxes=1, careful=False))
replay.do(Step("write", {"at": 0, "to": 1}))
replay.do(Step("look", {"at": 0, "who": "ann"}))
replay.do(Step("take", {"at": 0}))
assert replay.broken["nothing_is_taken"] == 4
'''
    )


SEVERAL = Ring(machines=2)
PRIVILEGED = check(SEVERAL, show="other_moves", engine="reference").shown
assert PRIVILEGED is not None


@pytest.mark.parametrize(
    ("specification", "trace"),
    [
        (Letters(), run(Letters(), IN_TURN)),
        (Letters(), run(Letters(), [*ANN, *BOB[:2]], "")),
        (Letters(), run(Letters(), [], "")),
        (Bank(rich=2), counterexample(Bank(rich=2), "not_rich")),
        (SEVERAL, PRIVILEGED),
        (Names(), counterexample(Names(), "not_all")),
    ],
    ids=["counterexample", "run", "no step", "records", "several initial states", "enumerations"],
)
def test_the_program_runs_and_asserts_the_end(specification: Any, trace: Trace) -> None:
    """It runs unchanged."""
    text = program(specification, trace)
    done(text)
    assert "\nassert " in text


def test_the_program_runs_in_a_process_of_its_own() -> None:
    """It imports all that it needs."""
    text = program(Letters(), run(Letters(), IN_TURN))
    answer = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True, cwd=ROOT)
    assert (answer.returncode, answer.stderr) == (0, "")


def test_the_program_fails_if_the_trace_ends_differently() -> None:
    """As it would after a fix of the specification."""
    text = program(Letters(), run(Letters(), IN_TURN))
    with pytest.raises(AssertionError):
        done(text.replace("== 7", "== 6"))
    text = program(Letters(), run(Letters(), ANN, ""))
    assert 'assert replay.value("tray") == 1' in text
    with pytest.raises(AssertionError):
        done(text.replace('("tray") == 1', '("tray") == 2'))


def test_a_specification_that_cannot_be_imported_is_refused() -> None:
    """In one line."""

    class Hidden(Letters):
        """A specification that no module can import."""

    with pytest.raises(UsageError, match=r"Hidden is defined within a function, so no other program can import it"):
        program(Hidden(), Replay(Hidden()).run)


def test_a_deadlock_as_a_program() -> None:
    """The program asserts that nothing is enabled at the end."""
    sentence = Sentence(known=('it\'s "so"', "isn't"))
    found = check(sentence, deadlock=True, engine="reference").counterexample
    assert found is not None
    text = program(sentence, found)
    assert text.splitlines()[0] == '"""sentence: nothing is enabled in the last of 3 states."""'
    assert text.splitlines()[-1] == "assert replay.enabled == ()"
    done(text)


class Words(State):
    """The state of `Sentence`."""

    words: tuple[str, ...] = variable("What was said.", of=lambda self: sequence_of(self.known, longest=2))


class Sentence(Specification[Words]):
    """A sentence of at most two words, which may have quotation marks."""

    known: tuple[str, ...] = constant(("a", "b"), "What can be said.")

    @action(word=lambda self: self.known)
    def speak(self, s: Words, word: str) -> None:
        require(word not in s.words)
        s.words += (word,)
