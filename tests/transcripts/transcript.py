"""Transcripts: texts of commands, and what a controller did after each.

    # A title, which is a sentence.
    release 3.9.1

    register 1 2 3
    create t 1,2 2,3
    ----
    handles BrokerChange
    ...

A file has several, one after another; empty lines do not matter. `release` names one or more releases, which all do
the same; `show requests` also tells the requests to ZooKeeper. Several commands before a line of dashes are set-up:
only the last one's effects are written.

`make test` compares the texts with our controller, `make long-kafka` with Kafka's own. After a wanted change,
`python -m tests.transcripts` writes what ours does, and `python -m tests.transcripts --kafka` what Kafka's does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from spec.kafka.control_values import WHOLE, decoded_event, decoded_requests
from spec.kafka.controller_beside import ControllerBeside, event_name, unordered
from spec.kafka.idle_controller_beside import RELEASES as IDLE
from spec.kafka.idle_controller_beside import SEEN, IdleControllerBeside
from spec.kafka.scripted_cluster import ControlCommand
from spec.kafka.state_machines_beside import RealController
from statemachines.controller.event_processor import ControllerEventProcessor
from tests.transcripts.commands import command_of
from tests.transcripts.observation import Observation, State, lines_of

ROOT: Final = Path(__file__).parent / "controller"
DASHES: Final = "----"


class Step(NamedTuple):
    """Commands, and what was written of the last one."""

    commands: tuple[tuple[str, ...], ...]
    """The lines of each."""
    told: tuple[str, ...]


class Transcript(NamedTuple):
    """A story of a controller."""

    title: tuple[str, ...]
    """Its comment, line by line."""
    releases: tuple[str, ...]
    show: frozenset[str]
    steps: tuple[Step, ...]

    @property
    def commands(self) -> list[ControlCommand]:
        """All its commands."""
        return [command_of(lines) for step in self.steps for lines in step.commands]

    def with_told(self, told: Iterable[Sequence[str]]) -> Transcript:
        """The same commands, with what was told after each."""
        after = iter(told)
        steps = []
        for step in self.steps:
            lines: Sequence[str] = ()
            for _ in step.commands:
                lines = next(after)
            steps.append(step._replace(told=tuple(lines)))
        return self._replace(steps=tuple(steps))

    def __str__(self) -> str:
        head = [*(f"# {line}" for line in self.title), f"release {' '.join(self.releases)}"]
        head += [f"show {' '.join(sorted(self.show))}"] if self.show else []
        parts = ["\n".join(head)]
        parts += ["\n".join([*chain(*step.commands), DASHES, *step.told]) for step in self.steps]
        return "\n\n".join(parts) + "\n"


def parsed(text: str) -> list[Transcript]:
    """The transcripts of a file."""
    found: list[Transcript] = []
    title: list[str] = []
    commands: list[list[str]] = []
    told: list[str] | None = None
    releases: tuple[str, ...] = ()
    show: frozenset[str] = frozenset()
    steps: list[Step] = []

    def end_step() -> None:
        nonlocal told
        if commands:
            steps.append(Step(tuple(map(tuple, commands)), tuple(told or ())))
            commands.clear()
        told = None

    def end() -> None:
        end_step()
        if steps:
            found.append(Transcript(tuple(title), releases, show, tuple(steps)))
            title.clear()
            steps.clear()

    for line in text.splitlines():
        if not line.strip():
            if told is not None:
                end_step()
        elif line.startswith("# "):
            if steps or commands:
                end()
                show = frozenset()
            title.append(line[2:])
        elif told is not None:
            told.append(line)
        elif line == DASHES:
            told = []
        elif line.startswith("release "):
            releases = tuple(line.split()[1:])
        elif line.startswith("show "):
            show = frozenset(line.split()[1:])
        elif line.startswith(" "):
            commands[-1].append(line)
        else:
            commands.append([line])
    end()
    return found


def files() -> list[Path]:
    """All files, sorted."""
    return sorted(ROOT.glob("*.txt"))


# What our controller does.


def ours(
    transcript: Transcript, release: str, processor: type[ControllerEventProcessor] = ControllerEventProcessor
) -> Transcript:
    """The transcript as our controller writes it."""
    controller = (IdleControllerBeside if release in IDLE else ControllerBeside)(release, processor)
    return transcript.with_told(_told(_observed(controller, transcript.commands), transcript.show))


def _observed(controller: ControllerBeside, commands: Iterable[ControlCommand]) -> Iterator[Observation]:
    for command in commands:
        controller.carry_out(command)
        handled = () if isinstance(controller, IdleControllerBeside) else tuple(map(event_name, controller.handled))
        yield Observation(
            handled,
            [list(batch) for batch in controller.asked],
            {broker: list(requests) for broker, requests in controller.sent.items()},
            list(controller.answers_given),
            {name: _copied(value) for name, value in controller.seen().items()},
            list(controller.registered),
        )


def _copied(value: Any) -> Any:
    """A value that stays as it is when the controller goes on."""
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    return [*map(_copied, value)] if isinstance(value, list) else value


def _told(observed: Iterable[Observation], show: frozenset[str]) -> Iterator[list[str]]:
    before: State = {}
    for now in observed:
        yield lines_of(now, before, show)
        before = now.state


# What Kafka's does.


def kafkas(transcripts: Sequence[Transcript], release: str, kafka: RealController) -> Iterator[Transcript]:
    """The transcripts as Kafka's own controller of a release writes them."""
    answers = kafka.of("Events", [each.commands for each in transcripts])
    for transcript, (_, seen) in zip(transcripts, answers, strict=True):
        yield transcript.with_told(_told(_recorded(seen, release), transcript.show))


def _recorded(seen: Iterable[Mapping[str, Any]], release: str) -> Iterator[Observation]:
    decoders = SEEN if release in IDLE else WHOLE
    state: State = {}
    registered: list[int] = []
    for now in seen:
        registered = now.get("registered", registered)
        state = {**state, **{name: decoders[name](value) for name, value in now.items() if name in decoders}}
        yield Observation(
            tuple(map(decoded_event, now.get("handled", ()))),
            now.get("asked", ()),
            decoded_requests(now["sent"]),
            list(map(unordered, now["answers"])),
            state,
            registered,
        )


def rewritten(text: str, by_kafka: bool) -> str:
    """The text of a file as our controller writes it, or Kafka's, each of the first release that it names."""
    transcripts = parsed(text)
    if not by_kafka:
        return "\n".join(str(ours(each, each.releases[0])) for each in transcripts)
    new: dict[int, Transcript] = {}
    for release in {each.releases[0] for each in transcripts}:
        its = [number for number, each in enumerate(transcripts) if each.releases[0] == release]
        with RealController(release) as kafka:
            new |= zip(its, kafkas([transcripts[number] for number in its], release, kafka), strict=True)
    return "\n".join(str(new[number]) for number in range(len(transcripts)))
