"""Commands of a transcript: a line of words becomes a command of `ScriptedCluster` or `ControllerBeside`.

    create t 1,2 2,3            a topic with two partitions, each with its replicas
    reassign t-0:3,4 t-1:none   a request; none cancels
      before 2: die 3           broker 3 dies before the third batch of requests to ZooKeeper
      lose 1 0 2                the connection is lost: of the second batch none is answered, two are carried out
      handle 1                  only one event is handled

Lines that are indented belong to the command above them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from spec.kafka.controller_beside import ControllerBeside
from spec.kafka.scripted_cluster import ControlCommand
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderRecoveryState
from statemachines.messages.zk_data import delete_topics_topic_path
from tests.kafka.event_sequences import ALL_EVENTS

Words = Sequence[str]


def command_of(lines: Sequence[str]) -> ControlCommand:
    """The command of its first line, with what the other lines add.

    >>> command_of(["register 1 2", "  handle 0"])
    {'do': 'register', 'brokers': [1, 2], 'handle': 0}
    """
    command = {**_one(lines[0]), "handle": ALL_EVENTS}
    for line in lines[1:]:
        what, _, rest = line.strip().partition(" ")
        match what:
            case "handle":
                command["handle"] = int(rest)
            case "before":
                batch, _, other = rest.partition(": ")
                number, _, place = batch.partition(".")
                command.setdefault("meanwhile", []).append([int(number), int(place or 0), _one(other)])
            case "lose":
                command.setdefault("lost", []).append(_numbers(rest.split()))
            case _:
                raise ValueError(f"{line!r}: allowed are handle, before, lose")
    return command


def _one(line: str) -> dict[str, Any]:
    verb, *words = line.split()
    if verb not in VERBS:
        raise ValueError(f"{line!r}: allowed are {', '.join(VERBS)}")
    method, arguments = VERBS[verb]
    return {"do": method.__name__, **arguments(words)}


def _numbers(words: Iterable[str]) -> list[int]:
    return list(map(int, words))


def _ids(word: str) -> list[int]:
    """Brokers, such as 1,2."""
    return _numbers(filter(None, word.split(",")))


def _by_partition(words: Words) -> dict[str, list[int] | None]:
    """Brokers by partition, such as t-0:1,2; none has none."""
    return {name: None if ids == "none" else _ids(ids) for name, _, ids in (word.rpartition(":") for word in words)}


def _topic(words: Words) -> dict[str, Any]:
    """A topic, and the replicas of its partitions in order; those that need no other are written 2=1,2."""
    topic, *assignments = words
    numbered = (each if "=" in each else f"{number}={each}" for number, each in enumerate(assignments))
    by_number = {number: _ids(ids) for number, _, ids in (each.partition("=") for each in numbered)}
    return {"topic": topic, "partitions": by_number}


def _answer(words: Words) -> dict[str, Any]:
    """A broker, and errors: of a partition, such as t-0:KAFKA_STORAGE_ERROR, or of the whole answer, all:..."""
    broker, *errors = words
    by_name = (each.split(":") for each in errors)
    return {"broker": int(broker), "errors": {name: Errors[error].value for name, error in by_name}}


def _alteration(words: Words) -> dict[str, Any]:
    """A broker, the ISRs that it requests, and by how much its epochs are off, such as leader_epoch_off=-1."""
    broker, *rest = words
    options = dict(each.split("=") for each in rest if "=" in each)
    off = {name: int(options.get(name, 0)) for name in ("epoch_off", "leader_epoch_off", "partition_epoch_off")}
    recovery = LeaderRecoveryState.RECOVERING if "recovering" in rest else LeaderRecoveryState.RECOVERED
    isrs = _by_partition([each for each in rest if ":" in each])
    return {"broker": int(broker), "isrs": isrs, **off, "recovery": recovery.value}


def _unclean(word: str) -> bool | None:
    return {"unclean": True, "clean": False, "default": None}[word]


Beside = ControllerBeside
VERBS: Final[Mapping[str, tuple[Callable[..., object], Callable[[Words], dict[str, Any]]]]] = {
    # Brokers.
    "register": (Beside.register, lambda words: {"brokers": _numbers(words)}),
    "die": (Beside.die, lambda words: {"brokers": _numbers(words)}),
    "bounce": (Beside.bounce, lambda words: {"brokers": _numbers(words)}),
    "answer": (Beside.answer, _answer),
    "shut-down": (Beside.shut_down, lambda words: {"broker": int(words[0]), "epoch": (*words, "now")[1]}),
    "fail-log-dir": (Beside.fail_log_dir, lambda words: {"broker": int(words[0])}),
    # Leaders.
    "isr": (Beside.leader_writes, lambda words: {"partition": words[0], "isr": _ids(words[1])}),
    "notify-isr": (Beside.notify_isr, lambda words: {"partitions": list(words)}),
    "alter-partition": (Beside.alter_partition, _alteration),
    # Administrators.
    "create": (Beside.create_topic, _topic),
    "extend": (Beside.extend_topic, _topic),
    "configure": (Beside.configure, lambda words: {"topic": words[0], "unclean": _unclean(words[1])}),
    "permit-unclean": (Beside.permit_unclean, lambda words: {"topic": (*words, None)[0]}),
    "delete": (Beside.ask_deletion, lambda words: {"topic": words[0]}),
    "withdraw-deletion": (Beside.withdraw, lambda words: {"path": delete_topics_topic_path(words[0])}),
    "withdraw": (Beside.withdraw, lambda words: {"path": words[0]}),
    "reassign": (Beside.reassign, lambda words: {"targets": _by_partition(words)}),
    "reassign-by-node": (Beside.reassign_by_node, lambda words: {"targets": _by_partition(words)}),
    "write-reassignment": (Beside.write_reassignment, lambda words: {"targets": _by_partition(words)}),
    "elect": (Beside.elect, lambda words: {"partitions": list(words[1:]), "type": words[0].upper()}),
    "elect-by-node": (Beside.elect_by_node, lambda words: {"partitions": list(words)}),
    # The controller, and other controllers.
    "rebalance": (Beside.rebalance, lambda _: {}),
    "check-is-due": (Beside.check_is_due, lambda _: {}),
    "vacate": (Beside.vacate, lambda _: {}),
    "depose": (Beside.depose, lambda _: {}),
    "newer-controller": (Beside.newer_controller, lambda _: {}),
    "newer-controller-writes": (Beside.newer_controller_writes, lambda words: {"partition": words[0]}),
    "expire": (Beside.expire, lambda _: {}),
    "stop": (Beside.stop, lambda _: {}),
    "wait": (Beside.wait, lambda _: {}),
    # An operator, who writes nodes by hand.
    "delete-state": (Beside.delete_state, lambda words: {"partition": words[0]}),
    "write-controller": (
        Beside.write_controller,
        lambda words: {"broker": None if words[0] == "none" else int(words[0])},
    ),
    "write-epoch": (Beside.write_epoch, lambda words: {"epoch": int(words[0])}),
    "delete-epoch": (Beside.delete_epoch, lambda _: {}),
}
"""What may happen, and the arguments that its words stand for."""
