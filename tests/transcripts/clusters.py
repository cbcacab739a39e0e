"""Transcripts of a whole cluster, for what several brokers do at once. No driver of Kafka shows it: ours writes them.

    brokers 1 2 3               they run, and the first is controller
    create t 1,2                a topic
    crash 1                     its session ends, too; also restart, bounce, expire
    register-by-hand 1          somebody creates the node of a broker
    vacate                      somebody deletes /controller; also write-controller 2, write-epoch 7, delete-epoch
    2 goes on                   its controller handles events, until its next request would write to ZooKeeper
    2 writes                    this request
    settle                      all controllers go on, until nothing is left to do

After the dashes: what ZooKeeper has of controllers, what brokers wrote and sent, and who believes to be controller.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Final

from statemachines import Cluster
from statemachines.cluster_steps import AdvanceController
from statemachines.controller.design import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH
from tests.transcripts.transcript import Sides, Transcript


class _Story:
    """A cluster of a release, and what of it was told."""

    def __init__(self, release: str) -> None:
        self.release = release
        self.cluster = Cluster(())
        self.told: dict[str, str] = {}

    def carry_out(self, line: str) -> list[str]:
        """Carry out a command, and tell what has changed."""
        done = len(self.cluster.history)
        match line.split():
            case ["brokers", *brokers]:
                self.cluster, done = Cluster(map(int, brokers), self.release), 0
                self.cluster.settle()
            case ["settle"]:
                self.cluster.settle()
            case ["create", topic, *partitions]:
                self.cluster.create_topic(topic, {n: _ids(replicas) for n, replicas in enumerate(partitions)})
            case ["crash" | "restart" | "bounce" as verb, *brokers]:
                getattr(self.cluster, verb)(*map(int, brokers))
            case ["expire", broker]:
                self.cluster.expire_session(int(broker))
            case ["register-by-hand", broker]:
                self.cluster.zookeeper.create(None, f"{BROKER_IDS}/{broker}")
            case ["vacate"]:
                self.cluster.zookeeper.delete(None, CONTROLLER)
            case ["write-controller", broker]:
                self.cluster.zookeeper.set(None, CONTROLLER, int(broker))
            case ["write-epoch", epoch]:
                self.cluster.zookeeper.set(None, CONTROLLER_EPOCH, int(epoch))
            case ["delete-epoch"]:
                self.cluster.zookeeper.delete(None, CONTROLLER_EPOCH)
            case [broker, "goes", "on"]:
                while _goes_on(after := copy.deepcopy(self.cluster), int(broker)) and not _written(
                    self.cluster, after
                ):
                    self.cluster = after
            case [broker, "writes"]:
                _goes_on(self.cluster, int(broker))
            case _:
                raise ValueError(f"{line!r} is none of the commands in the header of {__name__}")
        before, self.told = self.told, dict(self._now())
        changed = (text for name, text in self.told.items() if before.get(name) != text)
        return [*map(str, self.cluster.history[done:]), *changed]

    def _now(self) -> Iterator[tuple[str, str]]:
        nodes = self.cluster.zookeeper.state.nodes
        for path in (CONTROLLER, CONTROLLER_EPOCH):
            yield path, f"in ZooKeeper {path} is {nodes[path].data if path in nodes else 'deleted'}"
        for broker, controller in self.cluster.controllers.items():
            yield str(broker), f"{broker} believes to be controller{'' if controller.active else ' no longer'}"


def _goes_on(cluster: Cluster, broker: int) -> bool:
    """A broker's controller takes its next step, if it has one."""
    for step in cluster.steps():
        if isinstance(step, AdvanceController) and step.broker == broker:
            cluster.step(step)
            return True
    return False


def _written(before: Cluster, after: Cluster) -> bool:
    return before.zookeeper.state.zxid != after.zookeeper.state.zxid


def ours(transcript: Transcript, release: str) -> Transcript:
    """The transcript as our cluster writes it."""
    story = _Story(release)
    return transcript.with_told([story.carry_out(line) for line, *_ in transcript.commands])


CLUSTERS: Final = Sides(ours)


def _ids(words: str) -> tuple[int, ...]:
    return tuple(map(int, words.split(",")))
