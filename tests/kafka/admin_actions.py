"""Situations of a cluster and actions of an administrator, valid and not, drawn choice by choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from spec.kafka.admin_tools_beside import Action, Situation, actions_of
from statemachines.releases import Release

Pick = Callable[[int], int]
"""Draws a number below its argument."""
T = TypeVar("T")

BROKERS: Final = (1, 2, 3, 4)
UNKNOWN: Final = 7
"""A broker that never was."""
TOPICS: Final = ("t", "u", "a.b", "c_d")
OTHERS: Final = ("a_b", "c.d", "v-1", "a.b.", "_t")
"""Other names, some of which collide with these."""
ILLEGAL: Final = ("", ".", "..", "t/u", "x" * 250)
RACKS: Final = ("r", "s")


class AdminDrawing:
    """Draws a situation, and one action in it.

    Args:
        pick: draws numbers.
        release: in which the action happens.
    """

    def __init__(self, pick: Pick, release: str) -> None:
        self._pick, self._release = pick, release

    def case(self) -> tuple[Situation, Action]:
        """A situation and an action."""
        situation = self._situation()
        self._partitions = [
            f"{topic}-{number}" for topic, partitions in situation.topics.items() for number in partitions
        ]
        do = self._one(actions_of(self._release))
        return situation, {"do": do, **getattr(self, f"_{do}")(situation)}

    def _one(self, of: Sequence[T]) -> T:
        return of[self._pick(len(of))]

    def _some(self, of: Sequence[T], most: int) -> list[T]:
        """Some different elements, in any order."""
        left, some = list(of), list[T]()
        for _ in range(self._pick(min(most, len(left)) + 1)):
            some.append(left.pop(self._pick(len(left))))
        return some

    def _rarely(self) -> bool:
        return self._pick(4) == 0

    def _situation(self) -> Situation:
        live = sorted(self._some(BROKERS, 4)) or list(BROKERS)
        racks = {broker: self._one(RACKS) for broker in self._some(live, len(live))} if self._rarely() else {}
        if self._rarely():
            racks = {broker: self._one(RACKS) for broker in live}
        topics = {topic: self._existing() for topic in self._some(TOPICS, 3)}
        partitions = [f"{topic}-{number}" for topic, its in topics.items() for number in its]
        moving = {each: self._replicas() for each in self._some(partitions, 2)} if self._rarely() else None
        adding = {}
        if Release(self._release) >= Release("2.4.0") and self._rarely():
            adding = {each: [UNKNOWN] for each in self._some(partitions, 1)}
        return Situation(
            live=live,
            down=[broker for broker in BROKERS if broker not in live],
            racks=racks,
            topics=topics,
            adding=adding,
            marked=self._some(TOPICS, 2),
            moving=moving,
            electing=self._some(partitions, 2) if self._rarely() else None,
            unclean=self._some(tuple(topics), 1),
            configs={topic: {"retention.ms": "1000"} for topic in self._some(tuple(topics), 1)},
        )

    def _existing(self) -> dict[int, list[int]]:
        """The partitions of a topic, rarely of unequal sizes, or with a gap."""
        replicas = 1 + self._pick(3)
        partitions = {number: self._of_size(replicas) for number in range(1 + self._pick(3))}
        if self._rarely():
            partitions[self._one((len(partitions), 5))] = self._of_size(1 + self._pick(3))
        return partitions

    def _of_size(self, size: int) -> list[int]:
        left = list(BROKERS)
        return [left.pop(self._pick(len(left))) for _ in range(size)]

    def _replicas(self, size: int = 0) -> list[int]:
        """So many brokers, or some; they may be down or unknown, and one may occur twice."""
        brokers = self._of_size(size or 1 + self._pick(3))
        if self._rarely():
            brokers[self._pick(len(brokers))] = self._one((UNKNOWN, *brokers))
        return brokers

    def _topic(self, situation: Situation) -> str:
        return self._one((*situation.topics, *situation.topics, self._one(TOPICS), self._one(OTHERS)))

    def _new_topic(self) -> str:
        return self._one((*TOPICS, *OTHERS, self._one(ILLEGAL)))

    # Actions.

    def _create(self, _: Situation) -> dict[str, Any]:
        numbers = [*range(1 + self._pick(3))]
        if self._rarely():
            numbers[self._pick(len(numbers))] += 1 + self._pick(3)
        size = 1 + self._pick(2)
        partitions = {str(number): self._replicas(self._one((0, size, size, size))) for number in numbers}
        return {"topic": self._new_topic(), "partitions": partitions}

    def _place(self, _: Situation) -> dict[str, Any]:
        return {"topic": self._new_topic(), "count": self._pick(5), "replicas": self._pick(5)}

    def _add(self, situation: Situation) -> dict[str, Any]:
        return {"topic": self._topic(situation), "count": self._pick(8)}

    def _delete(self, situation: Situation) -> dict[str, Any]:
        return {"topic": self._topic(situation)}

    def _some_partitions(self) -> list[dict[str, Any]]:
        """Partitions for a plan; rarely one that does not exist."""
        partitions = self._some(self._partitions, 2) or self._partitions[:1]
        if not partitions or self._rarely():
            partitions.append(self._one(("t-6", "u-0", "v-0")))
        split = (each.rsplit("-", 1) for each in dict.fromkeys(partitions))
        return [{"topic": topic, "partition": int(number)} for topic, number in split]

    def _reassign_by_tool(self, _: Situation) -> dict[str, Any]:
        plan = [
            {**each, "replicas": [] if self._pick(8) == 0 else self._replicas()} for each in self._some_partitions()
        ]
        return {"plan": {"version": 1, "partitions": plan}}

    def _elect_by_tool(self, _: Situation) -> dict[str, Any]:
        plan = self._some_partitions()
        if self._rarely():
            plan.append(plan[0])
        return {"plan": {"version": 1, "partitions": plan}}

    _add_by_tool, _delete_by_tool = _add, _delete
    _permit_unclean = _permit_unclean_by_tool = _delete
