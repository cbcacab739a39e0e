"""Our brokers, stepped by the same commands as Kafka's (`data_plane_beside` lists them).

    ours = SteppedBrokers(case, "3.9.1")
    for command, kafkas in zip(case.commands, steps):
        assert ours.disagreements(command, kafkas) == []

A command has the same answer on both sides, and leaves the same: of each running broker its role, log, high
watermark, leader epochs, ISR, what it knows of its followers, its fetcher and its producers; of each broker, the high
watermark and the leader epochs on its disk. Not compared: recovery points; of a response with an error or a diverging
epoch, the rest; what happens after a fetcher thread has died.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

from election.ids import BrokerId
from spec.kafka.data_plane_beside import Case, Command, Step
from spec.kafka.scripted_cluster import Disagreement, different
from statemachines.broker.alter_partition_manager import AlterPartitionManager
from statemachines.broker.broker import Broker
from statemachines.broker.data_plane import Exchange, Halted, Settings
from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.partition import NEVER, Milliseconds
from statemachines.changes.replicating import ReplicationDesign
from statemachines.controller.alter_partition import AlterPartitionOutcome, AlterPartitionResponse
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.zk_requests import GetData, ZkRequest, ZkResponse
from statemachines.messages.control_requests import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.leader_and_isr import LeaderAndIsr
from statemachines.messages.records import (
    EpochAnswer,
    EpochQuestion,
    FetchedPartition,
    FetchPartition,
    FollowerResponse,
    OffsetAnswer,
    OffsetQuestion,
    PartitionAnswer,
    PartitionQuestion,
    Produced,
)
from statemachines.messages.topic_partition import TopicPartition
from statemachines.messages.zk_data import TopicPartitionState
from statemachines.releases import Release
from statemachines.zookeeper.tree import Code, SetData

T0: Final = TopicPartition("t", 0)
BEGINNING: Final[Milliseconds] = 1_000
"""The time when a case begins."""
LATEST, EARLIEST = -1, -2
RENAMED: Final = {"NOT_LEADER_FOR_PARTITION": "NOT_LEADER_OR_FOLLOWER", "UNKNOWN": "UNKNOWN_SERVER_ERROR"}
"""Errors that had other names until 2.5, and until 0.11."""
EPOCHS: Final = "leader-epoch-checkpoint"


class SteppedBrokers:
    """Our side of a case.

    Args:
        case: the number of brokers and their configuration.
        release: whose rules apply.
        design: the rules, if they are not those of the release; a test can turn one round.
    """

    def __init__(self, case: Case, release: str, design: ReplicationDesign | None = None) -> None:
        self._release = Release(release)
        rules = ReplicationDesign(release) if design is None else design
        self._now = BEGINNING
        self._under_way: set[tuple[BrokerId, BrokerId]] = set()
        """The followers and leaders with a response that has left the leader."""
        self._halted = False
        """A broker's process has ended by itself; a case ends, too."""
        self._node: TopicPartitionState | None = None
        self._version = -1
        self._produced: dict[BrokerId, list[Produced]] = {}
        self._backing_off: dict[BrokerId, object] = {}
        """The brokers that send a proposal of an ISR again when time has passed, or when there is another one."""
        self._writes_late: set[str] = set()
        """The brokers that had not yet written their leader epochs when they were last seen [since 3.8]."""
        settings = Settings(
            rules.but(replica_lag_time_max_ms=case.lag_time_max),
            lambda: self._now,
            lambda _: case.min_insync_replicas,
            lambda _: case.unclean,
            self._note,
        )
        control = ControlDesign(release)
        self._brokers = {
            broker: Broker(broker, control, lambda: -1, self._ask_zookeeper, settings)
            for broker in range(1, case.brokers + 1)
        }

    def disagreements(self, command: Command, kafkas: Step) -> list[Disagreement]:
        """Carry out a command that Kafka's brokers have carried out, and report the differences."""
        said = json.dumps(kafkas._asdict())
        for before, now in RENAMED.items():
            said = said.replace(f'"{before}"', f'"{now}"')
        kafkas = Step(**json.loads(said))
        arguments = {name: it for name, it in command.items() if name != "do"}
        answer = {} if "impossible" in kafkas.answer else getattr(self, f"_{command['do']}")(**arguments)
        for number, its in self._running.items():
            if isinstance(its.isr_changes, AlterPartitionManager) and its.isr_changes_to_send:
                proposed = its.isr_changes.state.unsent_isr_updates[T0]
                if self._backing_off.pop(number, None) is proposed:
                    self._backing_off[number] = proposed
                else:
                    its.alter_partition_request()
        if "failure" in kafkas.answer:  # Kafka's handler has thrown an exception; what it has done, counts
            answer.pop("error")
        ours, theirs = self._state(), kafkas.state
        found = [
            each for name, its in answer.items() for each in different(name, its, kafkas.answer.get(name, "nothing"))
        ]
        for broker, its in ours["brokers"].items():
            seen = theirs["brokers"].get(broker, {})
            for each in seen.get("remote_replicas", {}).values():
                each["last_fetch_time"] = max(NEVER, each["last_fetch_time"])  # until 2.3, -1 is never, too
            found += [
                each
                for name, value in its.items()
                for each in different(f"{name} of {broker}", value, seen.get(name))
            ]
        found += different("running", [*ours["brokers"]], [*theirs["brokers"]])
        for broker, seen in theirs["brokers"].items():
            (self._writes_late.add if seen["scheduled"] else self._writes_late.discard)(broker)
        for broker, its in ours["files"].items():
            seen = theirs["files"][broker]
            for name, value in its.items():
                if not (name == EPOCHS and broker in self._writes_late):
                    found += different(f"{name} of {broker}", value, seen.get(name) or type(value)())
        return found

    def _note(self, what: object) -> None:
        self._halted |= isinstance(what, Halted)

    @property
    def _running(self) -> dict[BrokerId, Broker]:
        return {broker: its for broker, its in self._brokers.items() if its.is_running}

    def _ask_zookeeper(self, requests: tuple[ZkRequest, ...]) -> tuple[ZkResponse, ...]:
        """The node of the partition's state answers."""
        (request,) = requests
        match request:
            case SetData(_, data, version):
                if version != self._version:
                    return (ZkResponse(Code.BADVERSION),)
                self._node, self._version = data, version + 1
                return (ZkResponse(Code.OK, version=self._version),)
            case GetData():
                return (ZkResponse(Code.OK, self._node, self._version),)
        raise AssertionError(f"a leader asks ZooKeeper {request}")

    # Commands.

    def _start(self, broker: BrokerId) -> dict[str, Any]:
        self._produced[broker] = []
        self._under_way = {each for each in self._under_way if each[0] != broker}
        self._backing_off.pop(broker, None)
        self._brokers[broker].start()
        return {}

    def _stop(self, broker: BrokerId) -> dict[str, Any]:
        self._send_all(broker)
        self._brokers[broker].stop(cleanly=True)
        return {}

    def _crash(self, broker: BrokerId, keep: int | None = None) -> dict[str, Any]:
        self._send_all(broker)
        self._brokers[broker].stop(keep=lambda _: keep)
        return {}

    def _leader_and_isr(
        self, broker: BrokerId, controller_epoch: int, partition_epoch: int, live: list[BrokerId], **given: Any
    ) -> dict[str, Any]:
        if partition_epoch > self._version:
            self._zk(version=partition_epoch, controller_epoch=controller_epoch, **given)
        its = self._brokers[broker]
        its.handle(UpdateMetadataRequest(0, controller_epoch, -1, (), tuple(live)))
        state = LeaderAndIsrPartitionState(
            T0,
            controller_epoch,
            given["leader"],
            given["leader_epoch"],
            tuple(given["isr"]),
            partition_epoch,
            tuple(given["replicas"]),
            tuple(given.get("adding", ())),
            tuple(given.get("removing", ())),
            given.get("is_new", False),
        )
        response = its.handle(LeaderAndIsrRequest(0, controller_epoch, -1, (state,), tuple(live)))
        errors = [response.errorCode, *(error for _, error in response.partitionErrors)]  # type: ignore[union-attr]
        return {"error": next((str(each) for each in errors if each is not Errors.NONE), "NONE")}

    def _zk(
        self, version: int, controller_epoch: int, leader: BrokerId, leader_epoch: int, isr: list[BrokerId], **_: Any
    ) -> dict[str, Any]:
        state = LeaderAndIsr(leader, leader_epoch, tuple(isr))
        self._node, self._version = TopicPartitionState.encode(state, controller_epoch), version
        return {}

    def _append(self, broker: BrokerId, value: str, acks: Any) -> dict[str, Any]:
        produced = Produced(value, acks)
        self._brokers[broker].data_plane.append(T0, produced)
        if acks == -1:
            self._produced[broker].append(produced)
        if acks == 0:
            return {}
        return {"offset": produced.offset, "error": _error(produced)}

    def _consume(self, broker: BrokerId, offset: int) -> dict[str, Any]:
        found = self._brokers[broker].data_plane.consume(T0, offset)
        return {"error": str(found)} if isinstance(found, Errors) else {"error": "NONE", "values": [*found]}

    def _send(self, follower: BrokerId, leader: BrokerId) -> dict[str, Any]:
        plane = self._brokers[follower].data_plane
        plane.send(leader, [T0])
        return self._sent(follower, leader)

    def _handle(self, follower: BrokerId, leader: BrokerId) -> dict[str, Any]:
        led_by, exchanges = self._brokers[leader], self._brokers[follower].data_plane.exchanges
        response = led_by.data_plane.answer(exchanges[leader].request, partial(_expand, led_by))
        exchanges[leader] = exchanges[leader]._replace(response=response)
        return self._answer(response.answers[0][1])

    def _deliver(self, follower: BrokerId, leader: BrokerId) -> dict[str, Any]:
        plane = self._brokers[follower].data_plane
        asked = plane.exchanges[leader].request.questions[0][1]
        self._send_response(follower, leader)
        self._under_way.discard((follower, leader))
        plane.receive(leader)
        if isinstance(asked, EpochQuestion):  # the thread fetches in the same round
            self._fetch_in_the_same_round(follower, leader)
        return self._sent(follower, leader)

    def _send_all(self, leader: BrokerId) -> None:
        """A leader's process ends, and its responses are under way."""
        for follower in self._running:
            self._send_response(follower, leader)

    def _send_response(self, follower: BrokerId, leader: BrokerId) -> None:
        """A leader sends its response, with the records that are in its file by then."""
        exchanges = self._brokers[follower].data_plane.exchanges
        exchange = exchanges.get(leader)
        if exchange is None or exchange.response is None or (follower, leader) in self._under_way:
            return
        self._under_way.add((follower, leader))
        ((_, asked),) = exchange.request.questions
        ((_, answer),) = exchange.response.answers
        if isinstance(asked, FetchPartition) and isinstance(answer, FetchedPartition):
            log = self._brokers[leader].data_plane.partitions[T0].log
            records = log.records[asked.fetch_offset : asked.fetch_offset + len(answer.records)]
            sent = FollowerResponse(((T0, answer._replace(records=records)),))
            exchanges[leader] = exchange._replace(response=sent)

    def _drop(self, follower: BrokerId, leader: BrokerId) -> dict[str, Any]:
        self._under_way.discard((follower, leader))
        exchange = self._brokers[follower].data_plane.exchanges.pop(leader)
        if isinstance(exchange.request.questions[0][1], EpochQuestion):
            self._fetch_in_the_same_round(follower, leader)
        return self._sent(follower, leader)

    def _fetch_in_the_same_round(self, follower: BrokerId, leader: BrokerId) -> None:
        plane = self._brokers[follower].data_plane
        state = plane.fetching.get(T0)
        if state is not None and not state.is_truncating:
            plane.send(leader, [T0])

    def _checkpoint(self, broker: BrokerId) -> dict[str, Any]:
        self._brokers[broker].data_plane.checkpoint()
        return {}

    def _shrink(self, broker: BrokerId) -> dict[str, Any]:
        self._brokers[broker].shrink_isrs()
        return {}

    def _advance(self, milliseconds: int) -> dict[str, Any]:
        self._now += milliseconds
        return {}

    def _run_scheduled(self, broker: BrokerId) -> dict[str, Any]:
        self._backing_off.pop(broker, None)
        return {}

    def _flush(self, broker: BrokerId) -> dict[str, Any]:
        return {}

    def _answer_isr(
        self,
        broker: BrokerId,
        error: str = "NONE",
        isr: tuple[BrokerId, ...] = (),
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        request_error: str = "NONE",
    ) -> dict[str, Any]:
        changes = self._brokers[broker].isr_changes
        if request_error != "NONE" and isinstance(changes, AlterPartitionManager):
            self._backing_off[broker] = changes.state.unsent_isr_updates.get(T0)
        state = LeaderAndIsr(broker, leader_epoch, tuple(isr), partition_epoch=partition_epoch)
        outcome: AlterPartitionOutcome = state if error == "NONE" else Errors[error]
        self._brokers[broker].alter_partition_answered(
            AlterPartitionResponse(Errors[request_error], ((T0, outcome),))
        )
        return {}

    # What is compared.

    def _sent(self, follower: BrokerId, leader: BrokerId) -> dict[str, Any]:
        exchange = self._brokers[follower].data_plane.exchanges.get(leader)
        request = None if exchange is None else self._described(exchange)
        return {"request": request, "halted": True} if self._halted else {"request": request}

    def _described(self, exchange: Exchange) -> dict[str, Any]:
        asked: PartitionQuestion = exchange.request.questions[0][1]
        fenced = {"leader_epoch": asked.current_leader_epoch} if self._since("2.1") else {}
        match asked:
            case FetchPartition(offset, _, last):
                last_fetched = {"last_fetched_epoch": last} if self._since("2.7") else {}
                return {"kind": "fetch", "offset": offset, **fenced, **last_fetched}
            case EpochQuestion(epoch):
                return {"kind": "offsets_for_leader_epoch", "epoch": epoch, **fenced}
            case OffsetQuestion(earliest):
                return {"kind": "list_offsets", "timestamp": EARLIEST if earliest else LATEST, **fenced}

    def _answer(self, answer: PartitionAnswer) -> dict[str, Any]:
        match answer:
            case FetchedPartition(error, records, high_watermark, diverging):
                if error is not Errors.NONE:
                    return {"error": str(error)}
                parts = {"diverging_epoch": None if diverging is None else [*diverging]} if self._since("2.7") else {}
                if diverging is not None:
                    return parts
                return {"error": "NONE", "records": _listed(records), "high_watermark": high_watermark, **parts}
            case EpochAnswer(error, end):
                epoch = {"epoch": end.epoch} if self._since("2.0") else {}
                return {"error": str(error), "end_offset": end.end_offset, **epoch}
            case OffsetAnswer(error, offset):
                return {"error": str(error), "offset": offset}

    def _since(self, release: str) -> bool:
        return self._release >= Release(release)

    def _state(self) -> dict[str, Any]:
        return {
            "brokers": {str(broker): self._of(its) for broker, its in self._running.items()},
            "files": {str(broker): self._files(its) for broker, its in self._brokers.items()},
        }

    def _files(self, broker: Broker) -> dict[str, Any]:
        disk = broker.disks.get(T0)
        if disk is None:
            return {}
        mine = broker.data_plane.partitions[T0].log if broker.is_running else disk
        epochs = {EPOCHS: [[*each] for each in mine.epochs.entries]} if self._since("0.11") else {}
        return {"replication-offset-checkpoint": disk.high_watermark, **epochs}

    def _of(self, broker: Broker) -> dict[str, Any]:
        plane, hosted = broker.data_plane, broker.replica_manager.state.all_partitions.get(T0)
        mine = plane.partitions.get(T0)
        its: dict[str, Any] = {"role": "none"}
        if hosted is not None and not hosted.online:
            hosted = None
        if hosted is not None:
            its |= self._of_hosted(broker, hosted)
        if mine is not None:
            its |= {"log": _listed(mine.log.records), "end_offset": mine.log.end_offset}
            if self._since("0.11"):
                its["epochs"] = [[*each] for each in mine.log.epochs.entries]
            if hosted is not None and hosted.has_log:
                its["high_watermark"] = mine.log.high_watermark
                if self._since("2.0"):
                    its["leader_epoch_start_offset"] = mine.epoch_start if self._since("2.0.1") else None
        its["fetch"] = self._fetch(broker)
        if isinstance(broker.isr_changes, AlterPartitionManager):
            flight = broker.isr_changes.state.in_flight
            waits = flight is not None and broker.broker not in self._backing_off
            its["isr_requests"] = [
                {
                    "isr": sorted(each.newIsr),
                    "leader_epoch": each.leaderEpoch,
                    "partition_epoch": each.partitionEpoch,
                }
                for each in (flight.request.partitions if flight and waits else ())
            ]
        produced = self._produced[broker.broker]
        its["waiting"] = [each.value for each in produced if not each.acknowledged and each.error is None]
        done = [each for each in produced if each.acknowledged or each.error is not None]
        its["completed"] = [[each.value, each.offset, _error(each)] for each in done]
        return its

    def _of_hosted(self, broker: Broker, hosted: HostedPartition) -> dict[str, Any]:
        leads = hosted.is_led_by(broker.broker)
        its: dict[str, Any] = {
            "role": "leader" if leads else "none" if hosted.leader is None else "follower",
            "leader": hosted.leader,
            "leader_epoch": hosted.leader_epoch,
            "isr": sorted(hosted.state.isr),
        }
        if self._since("2.8"):
            its["maximal_isr"] = sorted(hosted.state.maximal_isr)
        if leads:
            its["partition_epoch"] = hosted.partition_epoch
            followers = broker.data_plane.partitions[T0].followers
            its["remote_replicas"] = {
                str(each.broker): {
                    "end_offset": each.end_offset,
                    "last_fetch_leader_end_offset": each.leader_end_offset,
                    "last_fetch_time": each.last_fetch,
                    "last_caught_up_time": each.last_caught_up,
                }
                for each in sorted(followers)
            }
        return its

    def _fetch(self, broker: Broker) -> dict[str, Any] | None:
        state = broker.data_plane.fetching.get(T0)
        if state is None:
            return None
        its: dict[str, Any] = {
            "leader": broker.replica_manager.state.fetchers[T0].leader,
            "offset": state.fetch_offset,
        }
        if self._since("2.1"):
            its["leader_epoch"] = state.leader_epoch
        if self._since("2.7"):
            its["last_fetched_epoch"] = state.last_fetched_epoch
        if self._since("0.11"):
            its["truncating"] = state.is_truncating
        return its


def _expand(leader: Broker, partition: TopicPartition, replica: BrokerId) -> None:
    """Kafka's leader asks again at each fetch."""
    if leader.isr_changes.may_expand_isr(partition, replica):
        leader.expand_isr(partition, replica)


def _error(produced: Produced) -> str | None:
    if produced.error is not None:
        return str(produced.error)
    return "NONE" if produced.acknowledged else None


def _listed(records: Any) -> list[list[Any]]:
    return [[*each] for each in records]
