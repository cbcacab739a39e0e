"""Transcripts of broker 1, which receives a controller's requests: its commands, and what it answers and holds.

    LeaderAndIsr t-0 led by 2 in 0; t-1 led by 1 in 0, ISR 1+3, on 1+3
    StopReplica t-0 in 3, delete; by the controller of epoch 4
    UpdateMetadata t-0 led by 2 in 0; t-1 in deletion; alive are 1+3
      log of t-0 fails         its directory, when the log is created or deleted
      configuration of t is not read

A request is written as in the transcripts of controllers. What is not written: replicas are 1+2+3, all of them in the
ISR and alive; the partition epoch is the leader epoch; the controller is 9, of epoch 5; the request is for the
broker's present registration. `fail-log-dir 0` is one of its three log directories; `restart` is the next process on
them; `register 110` and `shut-down` are what the broker does.

After the dashes: what has changed. Of a follower Kafka forgets the ISR.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from statemachines.broker.replica_manager import ReplicaManager
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    StopReplicaRequest,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.leader_and_isr import (
    EPOCH_DURING_DELETE,
    LEADER_DURING_DELETE,
    NO_EPOCH,
    LeaderRecoveryState,
)
from statemachines.messages.topic_partition import TopicPartition
from tests.kafka.receiver_comparison import (
    BROKER_EPOCH,
    Command,
    FailDirectory,
    KafkaReceivers,
    Observation,
    Receive,
    Receiver,
    Register,
    Restart,
    ShutDown,
    all_asked,
    as_of,
    put_in_order,
)
from tests.transcripts.observation import ids
from tests.transcripts.transcript import Sides, Transcript

BROKERS: Final = (1, 2, 3)
LIST: Final = r"(none|\d[\d+]*)"
"""Brokers, such as 1+2."""

# Commands.


def commands_of(transcript: Transcript, release: str) -> list[Command]:
    """Its commands, as far as a controller of a release could send them."""
    commands: list[Command] = []
    registered = BROKER_EPOCH
    for line, *failures in transcript.commands:
        verb, _, rest = line.partition(" ")
        match verb:
            case "LeaderAndIsr" | "StopReplica" | "UpdateMetadata":
                topics, text = re.findall(r"(\S+)-\d+ (?:led|without|in)\b", rest), "\n".join(failures)
                logs = re.findall(r"log of (\S+) fails", text)
                unread = re.findall(r"configuration of (\S+) is not read", text)
                request = _request(verb, rest, registered)
                commands.append(Receive(request, dict.fromkeys(topics, 1), tuple(logs), tuple(unread)))
            case "register":
                registered = int(rest)
                commands.append(Register(registered))
            case "fail-log-dir":
                commands.append(FailDirectory(int(rest)))
            case "restart":
                commands.append(Restart())
            case "shut-down":
                commands.append(ShutDown())
            case _:
                raise ValueError(f"{line!r}: allowed are the requests, register, fail-log-dir, restart, shut-down")
    return as_of(release, commands)


def _request(verb: str, rest: str, registered: int) -> ControlRequest:
    parts = [part for part in rest.split("; ") if re.match(r"\S+-\d+\b", part)]
    epoch = _number(rest, "of epoch", 5)
    to = (_number(rest, "by controller", 9), epoch, _number(rest, "for registration", registered))
    match verb:
        case "LeaderAndIsr":
            led = tuple(_led(part, epoch) for part in parts)
            leaders = dict.fromkeys(each.leader for each in led if each.leader >= 0)
            return LeaderAndIsrRequest(*to, led, tuple(leaders))
        case "StopReplica":
            return StopReplicaRequest(*to, False, tuple(map(_stopped, parts)))
    known = tuple(_known(_led(part, epoch), part) for part in parts)
    return UpdateMetadataRequest(*to, known, _brokers(rest, f"alive are {LIST}", BROKERS))


def _number(text: str, words: str, otherwise: int) -> int:
    found = re.search(rf"\b{words} (-?\d+)", text)
    return int(found[1]) if found else otherwise


def _brokers(text: str, pattern: str, otherwise: tuple[int, ...] = ()) -> tuple[int, ...]:
    found = re.search(pattern, text)
    return tuple(map(int, re.findall(r"\d+", found[1]))) if found else otherwise


def _partition(part: str) -> TopicPartition:
    topic, _, number = re.split("[ ,]", part)[0].rpartition("-")
    return TopicPartition(topic, int(number))


def _led(part: str, epoch: int) -> LeaderAndIsrPartitionState:
    leader_epoch = _number(part, "in", 0)
    replicas = _brokers(part, rf"\bon {LIST}", BROKERS)
    return LeaderAndIsrPartitionState(
        _partition(part),
        epoch,
        _number(part, "led by", -1),
        leader_epoch,
        _brokers(part, f"ISR {LIST}", replicas),
        _number(part, "version", leader_epoch),
        replicas,
        _brokers(part, f"adding {LIST}"),
        _brokers(part, f"removing {LIST}"),
        ", new" in part,
        LeaderRecoveryState(int(", recovering" in part)),
    )


def _stopped(part: str) -> StopReplicaPartitionState:
    epoch = EPOCH_DURING_DELETE if " in deletion" in part else _number(part, "in", NO_EPOCH)
    return StopReplicaPartitionState(_partition(part), epoch, ", delete" in part)


def _known(led: LeaderAndIsrPartitionState, part: str) -> UpdateMetadataPartitionState:
    partition, epoch, leader, leader_epoch, isr, version, replicas, *_ = led
    leader = LEADER_DURING_DELETE if " in deletion" in part else leader
    offline = _brokers(part, f", {LIST} offline")
    return UpdateMetadataPartitionState(partition, epoch, leader, leader_epoch, isr, version, replicas, offline)


# What it answers and holds.


def _told(seen: Iterable[Observation]) -> Iterator[list[str]]:
    before: Observation = {
        "controller_epoch": 0,
        "all_partitions": {},
        "fetchers": {},
        "logs": {},
        "metadata": {"controller_id": None, "alive_brokers": [], "partition_states": []},
    }
    for now in seen:
        yield [*_answers(now), *_holds(before, now)]
        before = now


def _answers(now: Observation) -> Iterator[str]:
    if "error" in now:
        errors = [f"{partition} {error}" for partition, error in sorted(now["partitions"].items())]
        yield f"answers {', '.join(errors if errors and now['error'] == 'NONE' else [now['error'], *errors])}"
    for does, word in (("leads", "leaders"), ("follows", "followers")):
        if now.get(word):
            yield f"{does} {', '.join(now[word])}"


def _holds(before: Observation, now: Observation) -> Iterator[str]:
    epoch = now["controller_epoch"]
    if before["controller_epoch"] != epoch:
        yield f"controller epoch {epoch}"
    for name, gone, text in (
        ("all_partitions", "is forgotten", lambda hosted: f"is {_hosted(hosted, epoch)}"),
        ("fetchers", "is not fetched", lambda fetching: f"is fetched from {' in '.join(map(str, fetching))}"),
        ("logs", "has no log", lambda directory: f"has a log in directory {directory}"),
    ):
        yield from _changes(before[name], now[name], gone, text)
    was, metadata = before["metadata"], now["metadata"]
    if was["controller_id"] != metadata["controller_id"]:
        yield f"metadata: the controller is {metadata['controller_id'] or 'unknown'}"
    if was["alive_brokers"] != metadata["alive_brokers"]:
        yield f"metadata: alive are {ids(metadata['alive_brokers'])}"
    known = _changes(_by_name(was), _by_name(metadata), "is forgotten", lambda state: f"is {_metadata(state, epoch)}")
    yield from (f"metadata: {line}" for line in known)


def _changes(
    before: Mapping[str, Any], now: Mapping[str, Any], gone: str, text: Callable[[Any], str]
) -> Iterator[str]:
    for partition in sorted(before.keys() | now.keys()):
        if partition not in now:
            yield f"{partition} {gone}"
        elif partition not in before or before[partition] != now[partition]:
            yield f"{partition} {text(now[partition])}"


def _by_name(metadata: Observation) -> dict[str, Observation]:
    return {f"{each['topicName']}-{each['partitionIndex']}": each for each in metadata["partition_states"]}


def _hosted(hosted: Observation | None, epoch: int) -> str:
    if hosted is None:
        return "offline"
    recovering = ["recovering"] if hosted["leader_recovery_state"] else []
    if hosted["leader"] is None:
        led = ["known"]
    else:
        led = _leader(hosted["leader"], hosted["leader_epoch"], hosted["partition_epoch"])
    return ", ".join([*led, *_replicas(hosted), *recovering, *_written(hosted["controller_epoch"], epoch)])


def _metadata(state: Observation, epoch: int) -> str:
    led = _leader(state["leader"], state["leaderEpoch"], state["zkVersion"])
    offline = [f"{ids(state['offlineReplicas'])} offline"] if state["offlineReplicas"] else []
    return ", ".join([*led, *_replicas(state), *offline, *_written(state["controllerEpoch"], epoch)])


def _leader(leader: int, leader_epoch: int, version: int) -> list[str]:
    led = f"led by {leader} in {leader_epoch}" if leader >= 0 else f"without leader in {leader_epoch}"
    return [led] if version == leader_epoch else [led, f"version {version}"]


def _replicas(state: Observation) -> list[str]:
    named = (("ISR", "isr"), ("on", "replicas"), ("adding", "adding"), ("removing", "removing"))
    return [f"{word} {ids(state[name])}" for word, name in named if state.get(name)]


def _written(controller_epoch: int, epoch: int) -> list[str]:
    return [f"by the controller of epoch {controller_epoch}"] if controller_epoch not in (0, epoch) else []


# Ours and Kafka's.


def ours(transcript: Transcript, release: str, kind: type[ReplicaManager] = ReplicaManager) -> Transcript:
    """The transcript as our broker writes it."""
    return transcript.with_told(_told(_observed(commands_of(transcript, release), Receiver(release, kind))))


def _observed(commands: Iterable[Command], broker: Receiver) -> Iterator[Observation]:
    healthy = [0, 1, 2]
    where: dict[str, int] = {}
    for command in commands:
        answered = broker.carry_out(command, where)
        if isinstance(command, FailDirectory):
            healthy.remove(command.number)
        logs = sorted(map(str, broker.manager.state.logs))
        where = {log: where[log] for log in logs if log in where}
        for log in logs:  # each in the directory that has the fewest [LogManager.nextLogDirs]
            where.setdefault(log, min(healthy, key=[*where.values()].count))
        yield {**answered, **broker.seen(where)}


def kafkas(transcripts: Sequence[Transcript], release: str, kafka: KafkaReceivers) -> Iterator[Transcript]:
    """The transcripts as Kafka's own broker of a release writes them."""
    answers = all_asked(kafka, [commands_of(each, release) for each in transcripts])
    for transcript, (_, seen) in zip(transcripts, answers, strict=True):
        for now in seen:
            put_in_order(now, release)
        yield transcript.with_told(_told(seen))


RECEIVERS: Final = Sides(ours, kafkas, KafkaReceivers)
