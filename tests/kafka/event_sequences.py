"""Sequences of events for a whole controller, drawn choice by choice.

Four brokers besides the controller's own, three topics of up to two partitions. Their names are chosen so that
Kafka's hash sets and maps iterate them in order: Kafka handles moving partitions one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from spec.kafka.mappings.partitions import OLD_BROKERS
from spec.kafka.scripted_cluster import OTHER_CONTROLLER, ControlCommand
from spec.kafka.state_machines_beside import CONTROLLER
from statemachines.messages.zk_data import (
    PREFERRED_REPLICA_ELECTION,
    REASSIGN_PARTITIONS,
    delete_topics_topic_path,
    isr_change_notification_path,
)
from statemachines.releases import Release
from tests.kafka.conftest import RELEASE


class Names(NamedTuple):
    """The brokers, topics and partition numbers of a cluster."""

    brokers: tuple[int, ...]
    topics: tuple[str, ...]
    numbers: tuple[str, ...]
    """The partition numbers that each topic may have."""

    @property
    def partitions(self) -> tuple[str, ...]:
        """All possible partitions."""
        return tuple(f"{topic}-{number}" for topic in self.topics for number in self.numbers)


NAMES: Final = Names((1, 2, 3, 4), ("a", "e", "i"), ("0", "15"))
OLD_NAMES: Final = Names(OLD_BROKERS, ("c", "d", "h"), ("15", "21"))
"""Names for releases before 2.5, the first built with Scala 2.13: a set of these iterates in order, a map of
partitions in reverse, a map of brokers in order."""
ALL_EVENTS: Final = 12
"""More events than any command leads to."""
STORAGE_ERROR: Final = 56
"""KAFKA_STORAGE_ERROR."""

Pick = Callable[[int], int]
"""Draws a number below its argument."""


class EventDrawing:
    """Draws commands, one after another.

    Args:
        pick: draws numbers; small numbers mean simple commands.
        release: of the controller.
    """

    def __init__(self, pick: Pick, release: str = RELEASE) -> None:
        self._pick = pick
        self._release = Release(release)
        names = NAMES if self._since("2.5") else OLD_NAMES
        self._brokers, self._topics, self._numbers = names
        self._partitions = names.partitions
        self._to_come: list[ControlCommand] = []

    def _since(self, line: str) -> bool:
        """Whether the release is of this line or newer."""
        return self._release >= Release(f"{line}.0")

    def sequence(self, length: int) -> list[ControlCommand]:
        """So many commands, after those that start a cluster."""
        commands = [self._handled(command) for command in self._cluster()]
        while len(commands) < length:
            goes_on = self._to_come and self._pick(4)
            commands.append(self._handled(self._to_come.pop(0) if goes_on else self._command()))
        end = [self._handled({"do": "stop"})] if self._pick(4) == 3 else []
        return [*commands[: length - len(end)], *end]

    # Choices.

    def _one(self, of: Sequence[Any]) -> Any:
        return of[self._pick(len(of))]

    def _some(self, of: Sequence[Any], at_least: int = 0) -> list[Any]:
        """Some of these, in any order."""
        remaining, count = list(of), max(at_least, self._pick(len(of) + 1))
        return [remaining.pop(self._pick(len(remaining))) for _ in range(count)]

    def _few(self, of: Sequence[Any]) -> list[Any]:
        """One of these, or two."""
        return self._some(of, 1)[: 1 + self._pick(2)]

    # Commands.

    def _cluster(self) -> Iterator[ControlCommand]:
        yield {"do": "wait"}
        yield {"do": "register", "brokers": list(self._brokers) if self._pick(4) else self._some(self._brokers, 1)}
        for topic in self._topics[: 1 + self._pick(3)]:
            yield self._create_topic(topic)

    def _handled(self, command: ControlCommand) -> ControlCommand:
        """The command, with the events to process then, and what happens meanwhile."""
        handle = self._one((ALL_EVENTS, ALL_EVENTS, ALL_EVENTS, ALL_EVENTS, 1, 0))
        rest: dict[str, Any] = {"handle": handle}
        if handle and self._pick(5) == 4:
            rest["meanwhile"] = [
                [self._pick(12), self._pick(2), self._interference()] for _ in range(1 + self._pick(2))
            ]
        if handle and self._pick(8) == 7:
            answered = self._pick(2)
            rest["lost"] = [[self._pick(12), answered, answered + self._pick(2)]]
        return {**command, **rest}

    def _command(self) -> ControlCommand:
        draw: Callable[[], ControlCommand] = self._one(
            (
                *(self._move_brokers,) * 6,
                *(self._answer,) * 6,
                *(self._alter_partition if self._since("2.7") else self._leader_writes,) * 4,
                *(self._reassign,) * 4,
                *(self._change_topics,) * 4,
                *(self._ask_deletion,) * 2,
                *(self._leaders,) * 2,
                self._fail_log_dir,
                self._shut_down,
                self._shut_down,
                self._elect,
                self._elect,
                self._permit if self._since("2.1") else self._change_topics,
                *(self._whole_deletion,) * 2,
                *(self._whole_reassignment,) * 2,
                *(self._controllers,) * 2,
                self._by_hand,
            )
        )
        return draw()

    def _interference(self) -> ControlCommand:
        match self._pick(9):
            case 0 | 1 | 2:
                return self._leader_writes()
            case 8:
                return self._by_hand()
            case 3:
                return {"do": "newer_controller_writes", "partition": self._one(self._partitions)}
            case 4:
                return {"do": "depose"}
            case 5:
                return {"do": "die", "brokers": self._few(self._brokers)}
            case 6:
                return self._change_topics()
        return {"do": "newer_controller"}

    # Brokers.

    def _move_brokers(self) -> ControlCommand:
        match self._pick(5):
            case 0 | 1:
                return {"do": "register", "brokers": self._some(self._brokers, 1)}
            case 2 | 3:
                return {"do": "die", "brokers": self._few(self._brokers)}
        return {"do": "bounce", "brokers": self._few(self._brokers)}

    def _fail_log_dir(self) -> ControlCommand:
        return {"do": "fail_log_dir", "broker": self._one(self._brokers)}

    def _shut_down(self) -> ControlCommand:
        epoch = self._one(("now", "now", "now", "unknown", "old"))
        return {"do": "shut_down", "broker": self._one(self._brokers), "epoch": epoch}

    def _answer(self) -> ControlCommand:
        errors: Mapping[str, int] = {}
        if self._pick(4) == 3:
            errors = dict.fromkeys(self._few(self._partitions), STORAGE_ERROR)
        if self._pick(16) == 15:
            errors = {**errors, "all": -1}
        return {"do": "answer", "broker": self._one(self._brokers), "errors": errors}

    # Leaders.

    def _leaders(self) -> ControlCommand:
        match self._pick(4):
            case 0 | 1:
                return self._leader_writes()
            case 2:
                return {"do": "notify_isr", "partitions": self._few(self._partitions)}
        return {"do": "newer_controller_writes", "partition": self._one(self._partitions)}

    def _leader_writes(self) -> ControlCommand:
        return {"do": "leader_writes", "partition": self._one(self._partitions), "isr": self._some(self._brokers, 1)}

    def _alter_partition(self) -> ControlCommand:
        odd = self._pick(8)
        return {
            "do": "alter_partition",
            "broker": self._one(self._brokers),
            "isrs": {partition: self._some(self._brokers, 1) for partition in sorted(self._few(self._partitions))},
            "epoch_off": -1 if odd == 1 else 0,
            "leader_epoch_off": {2: -1, 3: 1}.get(odd, 0),
            "partition_epoch_off": {4: -1, 5: 1}.get(odd, 0),
            "recovery": 1 if odd == 6 else 0,
        }

    # Administrators.

    def _replicas(self) -> list[int]:
        return self._some(self._brokers, 1)[: 1 + self._pick(3)]

    def _create_topic(self, topic: str) -> ControlCommand:
        numbers = self._numbers[: 1 + self._pick(2)]
        return {"do": "create_topic", "topic": topic, "partitions": {number: self._replicas() for number in numbers}}

    def _change_topics(self) -> ControlCommand:
        topic = self._one(self._topics)
        match self._pick(4):
            case 0 | 1:
                return self._create_topic(topic)
            case 2:
                return {"do": "extend_topic", "topic": topic, "partitions": {self._numbers[1]: self._replicas()}}
        return {"do": "configure", "topic": topic, "unclean": self._one((True, False, None))}

    def _ask_deletion(self) -> ControlCommand:
        return {"do": "ask_deletion", "topic": self._one(self._topics)}

    def _whole_deletion(self) -> ControlCommand:
        """A topic is queued for deletion, and every broker answers."""
        self._to_come = [{"do": "answer", "broker": broker, "errors": {}} for broker in self._brokers]
        return self._ask_deletion()

    def _whole_reassignment(self) -> ControlCommand:
        """A partition is reassigned, and all brokers join its ISR."""
        partition = self._one(self._partitions)
        in_sync: ControlCommand = {"do": "leader_writes", "partition": partition, "isr": list(self._brokers)}
        if self._since("2.7"):
            in_sync = {
                "do": "alter_partition",
                "broker": self._one(self._brokers),
                "isrs": {partition: list(self._brokers)},
                **dict.fromkeys(("epoch_off", "leader_epoch_off", "partition_epoch_off", "recovery"), 0),
            }
        self._to_come = [in_sync, {"do": "answer", "broker": self._one(self._brokers), "errors": {}}]
        return {"do": self._to_reassign, "targets": {partition: self._replicas()}}

    @property
    def _to_reassign(self) -> str:
        """By a request, if the release has one."""
        return "reassign" if self._since("2.4") else "reassign_by_node"

    def _reassign(self) -> ControlCommand:
        moved = sorted(self._few(self._partitions), reverse=not self._since("2.5"))
        if self._pick(3) == 2 or not self._since("2.4"):
            return {"do": "reassign_by_node", "targets": {partition: self._replicas() for partition in moved}}
        targets = {partition: None if self._pick(4) == 3 else self._replicas() for partition in moved}
        return {"do": "reassign", "targets": targets}

    def _elect(self) -> ControlCommand:
        partitions = self._few(self._partitions)
        match self._pick(5):
            case 0 | 1 if self._since("2.2"):
                return {"do": "elect", "partitions": partitions, "type": "PREFERRED"}
            case 2 if self._since("2.4"):
                return {"do": "elect", "partitions": partitions, "type": "UNCLEAN"}
            case 4:
                return {"do": self._one(("rebalance", "check_is_due"))}
        return {"do": "elect_by_node", "partitions": partitions}

    def _permit(self) -> ControlCommand:
        return {"do": "permit_unclean", "topic": self._one((None, *self._topics))}

    # Controllers.

    def _controllers(self) -> ControlCommand:
        return {"do": self._one(("vacate", "vacate", "vacate", "depose", "newer_controller"))}

    def _by_hand(self) -> ControlCommand:
        """An operator writes controllers' nodes by hand."""
        match self._pick(3):
            case 0:
                return {"do": "write_controller", "broker": self._one((CONTROLLER, OTHER_CONTROLLER, None))}
            case 1:
                return {"do": "write_epoch", "epoch": self._pick(4)}
        return {"do": "delete_epoch"}


class SettledDrawing(EventDrawing):
    """Draws commands to a controller of 0.10, 0.11 or 1.0, most with all their consequences.

    Since 0.11 ZkEventThread only reads after some commands, and the events wait in the queue; or one is handled.
    The possible commands are those of 1.1; until 0.11 no log directory fails alone. Since 0.11, other controllers and
    an operator's writes are not drawn: if a topic's nodes are gone while it is queued for deletion, no controller can
    take over, see `test_no_controller_can_take_over`.
    """

    def __init__(self, pick: Pick, release: str) -> None:
        super().__init__(pick, "1.1.0")
        self._has_directories = Release(release) >= Release("1.0.0")
        self._has_others = Release(release) < Release("0.11.0")

    def _fail_log_dir(self) -> ControlCommand:
        return super()._fail_log_dir() if self._has_directories else self._move_brokers()

    def _handled(self, command: ControlCommand) -> ControlCommand:
        if self._has_others or self._pick(5) < 3:
            return command
        return {**command, "handle": self._pick(2)}

    def _reassign(self) -> ControlCommand:
        """Sometimes the node is overwritten, though another reassignment is in progress."""
        return {**super()._reassign(), "do": self._one(("reassign_by_node", "write_reassignment"))}

    def _ask_deletion(self) -> ControlCommand:
        return super()._ask_deletion() if self._pick(3) else self._withdraw()

    def _withdraw(self) -> ControlCommand:
        """Somebody deletes the node of a request, which the controller may already have read."""
        requests = (
            *map(delete_topics_topic_path, self._topics),
            *(REASSIGN_PARTITIONS, PREFERRED_REPLICA_ELECTION),
            f"{isr_change_notification_path()}{self._pick(3):010}",
        )
        return {"do": "withdraw", "path": self._one(requests)}

    def _controllers(self) -> ControlCommand:
        others = ("depose",) if self._has_others else ()
        return {"do": self._one(("vacate", "vacate", "newer_controller", *others))}

    def _by_hand(self) -> ControlCommand:
        return super()._by_hand() if self._has_others else {"do": "vacate"}

    def _leaders(self) -> ControlCommand:
        if self._pick(2):
            return self._leader_writes()
        return {"do": "notify_isr", "partitions": self._few(self._partitions)}
