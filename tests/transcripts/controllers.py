"""Transcripts of a controller: what ours does after each command, and what Kafka's own does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from spec.kafka.control_values import WHOLE, decoded_event, decoded_requests
from spec.kafka.controller_beside import ControllerBeside, event_name, unordered
from spec.kafka.idle_controller_beside import RELEASES as IDLE
from spec.kafka.idle_controller_beside import SEEN, IdleControllerBeside
from spec.kafka.state_machines_beside import RealController
from statemachines.controller.design import CONTROLLER, CONTROLLER_EPOCH
from statemachines.controller.event_processor import ControllerEventProcessor
from statemachines.releases import Release
from statemachines.zookeeper.tree import ZkPath
from tests.transcripts.commands import command_of
from tests.transcripts.observation import Observation, State, lines_of
from tests.transcripts.transcript import Sides, Transcript

# What our controller does.


def ours(
    transcript: Transcript, release: str, processor: type[ControllerEventProcessor] = ControllerEventProcessor
) -> Transcript:
    """The transcript as our controller writes it."""
    proposed: dict[str, Any] = dict.fromkeys(transcript.directive("proposed").split(), True)
    kind = IdleControllerBeside if Release(release) < Release("1.1.0") else ControllerBeside
    controller = kind(release, processor, **proposed)
    return transcript.with_told(_told(_observed(controller, transcript.commands), transcript.directive("show")))


def _observed(controller: ControllerBeside, commands: Iterable[Sequence[str]]) -> Iterator[Observation]:
    for command in map(command_of, commands):
        controller.carry_out(command)
        is_idle = isinstance(controller, IdleControllerBeside)
        asked = [list(batch) for batch in controller.asked]
        yield Observation(
            () if is_idle else tuple(map(event_name, controller.handled)),
            _each_once(asked) if is_idle else asked,
            {broker: list(requests) for broker, requests in controller.sent.items()},
            list(controller.answers_given),
            {name: _copied(value) for name, value in controller.seen().items()},
            list(controller.registered),
        )


def _each_once(asked: Iterable[Iterable[ZkPath]]) -> list[list[ZkPath]]:
    """Each path where it is requested last: Kafka's 0.10 sets watches first, and reads later; ours does both at once.

    Its election is left out, of which ours keeps no record.
    """
    paths = [path for batch in asked for path in batch if path not in (CONTROLLER, CONTROLLER_EPOCH)]
    return [[path] for path in reversed(dict.fromkeys(reversed(paths)))]


def _copied(value: Any) -> Any:
    """A value that stays as it is when the controller goes on."""
    if isinstance(value, Mapping):
        return {key: _copied(each) for key, each in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copied, value))
    return value


def _told(observed: Iterable[Observation], show: str) -> Iterator[list[str]]:
    before: State = {}
    for now in observed:
        yield lines_of(now, before, show)
        before = now.state


# What Kafka's does.


def kafkas(transcripts: Sequence[Transcript], release: str, kafka: RealController) -> Iterator[Transcript]:
    """The transcripts as Kafka's own controller of a release writes them."""
    answers = kafka.of("Events", [[*map(command_of, each.commands)] for each in transcripts])
    for transcript, (_, seen) in zip(transcripts, answers, strict=True):
        yield transcript.with_told(_told(_recorded(seen, release), transcript.directive("show")))


def _recorded(seen: Iterable[Mapping[str, Any]], release: str) -> Iterator[Observation]:
    decoders = SEEN if release in IDLE else WHOLE
    state: State = {}
    registered: list[int] = []
    for now in seen:
        registered = now.get("registered", registered)
        state = {**state, **{name: decoders[name](value) for name, value in now.items() if name in decoders}}
        yield Observation(
            tuple(map(decoded_event, now.get("handled", ()))),
            _each_once(now.get("asked", ())) if release in IDLE else now["asked"],
            decoded_requests(now["sent"]),
            list(map(unordered, now["answers"])),
            state,
            registered,
        )


CONTROLLERS: Final = Sides(ours, kafkas, RealController)
