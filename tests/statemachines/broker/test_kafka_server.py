"""How a broker stops; brokers with one mistake each, and the scenario that detects each of them.

A battery of short scenarios passes on the class as it is, and the scenario named beside a mutant must fail on it.
"""

from __future__ import annotations

import doctest
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker import kafka_server
from statemachines.broker.kafka_server import (
    AskController,
    Backoff,
    FindController,
    KafkaServer,
    NotAnswered,
    ShutdownStep,
    Stopped,
)
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.controller import controlled_shutdown
from statemachines.controller.calls import EventFailure
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    controlled_shutdown_response,
)
from statemachines.controller.design import CONTROLLER
from statemachines.controller.zk_requests import ZkResponse, retry_requests_until_connected
from statemachines.messages.errors import Errors
from statemachines.zookeeper.tree import Code
from tests.mutants import mutant_tests
from tests.rows import rows
from tests.statemachines.control import T0, T1
from tests.statemachines.processing import EventCluster

Server: TypeAlias = type[KafkaServer]
Answer: TypeAlias = ControlledShutdownResponse | NotAnswered

LET_GO = ControlledShutdownResponse(Errors.NONE)
REMAINS = ControlledShutdownResponse(Errors.NONE, (T0,))
MOVED = ControlledShutdownResponse(Errors.STALE_CONTROLLER_EPOCH)
CLEAN, UNCLEAN = Stopped(cleanly=True), Stopped(cleanly=False)


class Leaving:
    """Broker 1, about to stop, of three live brokers; it takes 2 for the controller.

    Args:
        kind: its class, which may be a mutant.
        release: whose rules it follows; None: the newest.
        epoch: its broker epoch.
        options: see `KafkaServer`.
    """

    def __init__(
        self, kind: Server = KafkaServer, release: str | None = None, epoch: int = 101, **options: Any
    ) -> None:
        self.cache = MetadataCache()
        self.knows(2, 1, 2, 3)
        self.epoch = epoch
        design = ControlDesign() if release is None else ControlDesign(release)
        self.server = kind(1, self.cache, lambda: self.epoch, design, **options)
        self.step = self.server.controlled_shutdown()

    def knows(self, controller: int | None, *alive: int) -> None:
        """Receive UpdateMetadata with this controller and these live brokers."""
        self.cache.state.controller_id, self.cache.state.alive_brokers = controller, frozenset(alive)

    def asks(self) -> tuple[int, int]:
        """The broker that it asks now, and the registration in the request."""
        assert isinstance(self.step, AskController), self.step
        assert self.step.request.brokerId == 1
        return self.step.controller, self.step.request.brokerEpoch

    def answered(self, answer: Answer) -> ShutdownStep:
        """Receive a response, or none."""
        assert isinstance(self.step, AskController), self.step
        self.step = self.server.answered(self.step, answer)
        return self.step

    def waits(self) -> None:
        """Wait out the backoff, and continue."""
        assert isinstance(self.step, Backoff), self.step
        self.step = self.server.backed_off(self.step)

    def reads(self, **nodes: Any) -> None:
        """Read ZooKeeper, which has a controller and its registration, or not."""
        while isinstance(self.step, FindController):
            [request] = self.server.requests(self.step)
            data = nodes.get("controller" if request.path == CONTROLLER else "registered")
            self.step = self.server.controller_found(
                self.step, [ZkResponse(Code.NONODE if data is None else Code.OK, data)]
            )


def is_let_go(kind: Server) -> None:
    """No partition remains: it stops cleanly, and asks no more questions."""
    leaving = Leaving(kind)
    assert leaving.asks() == (2, 101)
    assert leaving.answered(LET_GO) == CLEAN


def asks_again_for_remaining_partitions(kind: Server) -> None:
    """Until another replica is in sync."""
    leaving = Leaving(kind)
    leaving.answered(REMAINS)
    leaving.waits()
    assert leaving.asks() == (2, 101)
    assert leaving.answered(LET_GO) == CLEAN


def asks_again_after_an_error(kind: Server) -> None:
    """Any error. An error names no partitions, but some may still remain."""
    for error in set(Errors) - {Errors.NONE}:
        leaving = Leaving(kind)
        leaving.answered(ControlledShutdownResponse(error))
        leaving.waits()
        assert leaving.asks() == (2, 101)


def asks_again_without_a_response(kind: Server) -> None:
    """The controller may not have received the request."""
    leaving = Leaving(kind)
    leaving.answered(NotAnswered.Lost)
    leaving.waits()
    assert leaving.asks() == (2, 101)


def gives_up_after_three(kind: Server) -> None:
    """The first attempt counts."""
    leaving = Leaving(kind)
    for _ in range(2):
        leaving.answered(REMAINS)
        leaving.waits()
    assert leaving.answered(REMAINS) == UNCLEAN


def waits_between_attempts(kind: Server) -> None:
    """For the configured time, but not after the last attempt."""
    leaving = Leaving(kind, max_retries=2, retry_backoff_ms=70)
    assert leaving.answered(REMAINS) == Backoff(1, 2, 70)
    leaving.waits()
    assert leaving.answered(REMAINS) == UNCLEAN


def gives_up_after_an_unexpected_error(kind: Server) -> None:
    """Even with attempts left: Kafka swallows the exception, and the remaining attempts with it."""
    assert Leaving(kind).answered(NotAnswered.Unexpected) == UNCLEAN


def asks_the_current_controller(kind: Server) -> None:
    """Another controller has been elected since."""
    leaving = Leaving(kind)
    leaving.answered(MOVED)
    leaving.knows(3, 1, 2, 3)
    leaving.waits()
    assert leaving.asks() == (3, 101)


def asks_the_previous_controller_if_none_is_known(kind: Server) -> None:
    """It may be the controller again; also if the known controller is not alive."""
    for controller in (None, 3):
        leaving = Leaving(kind)
        leaving.answered(REMAINS)
        leaving.knows(controller, 1, 2)
        leaving.waits()
        assert leaving.asks() == (2, 101)


def an_attempt_without_controller_counts(kind: Server) -> None:
    """It knows of no controller yet: it waits, and asks once it does."""
    leaving = Leaving(kind)
    leaving.knows(None, 1)
    leaving.step = leaving.server.controlled_shutdown()
    assert leaving.step == Backoff(2, None, 5_000)
    leaving.waits()
    leaving.knows(3, 1, 3)
    leaving.waits()
    assert leaving.asks() == (3, 101)
    assert leaving.answered(REMAINS) == UNCLEAN


def sends_its_current_registration(kind: Server) -> None:
    """Its session ended while it waited, and it has registered anew; the old epoch would be refused."""
    leaving = Leaving(kind)
    leaving.answered(REMAINS)
    leaving.epoch = 202
    leaving.waits()
    assert leaving.asks() == (2, 202)


class NeverBelievesIt(KafkaServer):
    """It uses all attempts, whatever the response."""

    def _lets_go(self, answer: ControlledShutdownResponse) -> bool:
        return False


class LooksAtTheErrorOnly(KafkaServer):
    """It ignores the remaining partitions."""

    def _lets_go(self, answer: ControlledShutdownResponse) -> bool:
        return answer.errorCode is Errors.NONE


class LooksAtWhatRemainsOnly(KafkaServer):
    """An error names no remaining partitions."""

    def _lets_go(self, answer: ControlledShutdownResponse) -> bool:
        return not answer.remainingPartitions


class TakesSilenceForConsent(KafkaServer):
    """It takes a lost response for success."""

    def answered(self, step: AskController, answer: Answer) -> ShutdownStep:
        return super().answered(step, LET_GO if answer is NotAnswered.Lost else answer)


class CountsRetriesOnly(KafkaServer):
    """It does not count the first attempt."""

    def controlled_shutdown(self) -> ShutdownStep:
        return self._attempt(self.max_retries + 1, None)


class WaitsAfterTheLast(KafkaServer):
    """As until 3.0."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.design = self.design.but(stop_after_last_retry=False)


class TriesOnWhateverHappens(KafkaServer):
    """It handles an unexpected error like a failed connection."""

    def answered(self, step: AskController, answer: Answer) -> ShutdownStep:
        return super().answered(step, NotAnswered.Lost if isinstance(answer, NotAnswered) else answer)


class StaysWithTheFirst(KafkaServer):
    """It keeps asking the first controller."""

    def backed_off(self, step: Backoff) -> ShutdownStep:
        return self._ask(step.prev_controller, step.remaining_retries - 1)


class ForgetsWhomItAsked(KafkaServer):
    """Each attempt forgets the previous controller."""

    def backed_off(self, step: Backoff) -> ShutdownStep:
        return super().backed_off(step._replace(prev_controller=None))


class StopsWithoutController(KafkaServer):
    """It stops if it knows no controller to ask."""

    def _ask(self, controller: int | None, remaining: int) -> ShutdownStep:
        return UNCLEAN if controller is None else super()._ask(controller, remaining)


class KnowsItsFirstRegistrationOnly(KafkaServer):
    """It reads its epoch only once."""

    def __init__(self, broker: int, cache: MetadataCache, broker_epoch: Callable[[], int], *more: Any) -> None:
        first = broker_epoch()
        super().__init__(broker, cache, lambda: first, *more)


MUTANTS: list[tuple[Server, Callable[[Server], None]]] = [
    (NeverBelievesIt, is_let_go),
    (LooksAtTheErrorOnly, asks_again_for_remaining_partitions),
    (LooksAtWhatRemainsOnly, asks_again_after_an_error),
    (TakesSilenceForConsent, asks_again_without_a_response),
    (CountsRetriesOnly, gives_up_after_three),
    (WaitsAfterTheLast, waits_between_attempts),
    (TriesOnWhateverHappens, gives_up_after_an_unexpected_error),
    (StaysWithTheFirst, asks_the_current_controller),
    (ForgetsWhomItAsked, asks_the_previous_controller_if_none_is_known),
    (StopsWithoutController, an_attempt_without_controller_counts),
    (KnowsItsFirstRegistrationOnly, sends_its_current_registration),
]


test_the_class_passes, test_each_mutant_is_caught = mutant_tests(KafkaServer, MUTANTS)


@pytest.mark.parametrize("module", [kafka_server, controlled_shutdown])
def test_the_examples_in_the_docstrings(module: Any) -> None:
    """Their output is correct."""
    assert doctest.testmod(module).failed == 0


@given(
    st.sampled_from([None, "1.0", "1.1", "2.8", "3.0"]),
    st.integers(-1, 4),
    st.lists(st.sampled_from([REMAINS, MOVED, NotAnswered.Lost]), min_size=5, max_size=5),
    st.lists(st.sampled_from([None, 2, 3]), min_size=5, max_size=5),
)
def test_a_controlled_shutdown_ends(
    release: str | None, retries: int, answers: list[Answer], controllers: list[int | None]
) -> None:
    """Uncleanly without permission: whatever fails, after its number of attempts, or earlier."""
    leaving = Leaving(release=release, max_retries=retries)
    asked = waited = 0
    while not isinstance(leaving.step, Stopped):
        match leaving.step:
            case FindController():
                leaving.reads(controller=controllers[waited], registered=1)
            case AskController():
                leaving.answered(answers[waited])
                asked += 1
            case Backoff():
                waited += 1
                leaving.knows(controllers[waited], 1, 2)
                leaving.waits()
    assert leaving.step == UNCLEAN
    assert max(asked, waited) <= max(retries, 0)


# Differences of older releases


def test_until_3_0_it_waits_after_the_last_attempt() -> None:
    """To no purpose: there is no further attempt."""
    leaving = Leaving(release="3.0", max_retries=1)
    assert leaving.answered(REMAINS) == Backoff(0, 2, 5_000)
    leaving.waits()
    assert leaving.step == UNCLEAN


def test_until_2_8_it_asks_zookeeper_who_is_controller() -> None:
    """Whatever its metadata cache says; and then for the controller's registration. [KAFKA-9189]"""
    leaving = Leaving(release="2.8")
    asked = []
    while isinstance(leaving.step, FindController):
        asked += [request.path for request in leaving.server.requests(leaving.step)]
        leaving.step = leaving.server.controller_found(leaving.step, [ZkResponse(Code.OK, 3)])
    assert asked == ["/controller", "/brokers/ids/3"]
    assert leaving.asks() == (3, 101)


@pytest.mark.parametrize("nodes", [{}, {"controller": 3}], ids=["no controller", "not registered"])
def test_without_a_known_controller_the_previous_one_is_asked_again(nodes: Mapping[str, int]) -> None:
    """As with the metadata cache; on the first attempt there is no previous one."""
    leaving = Leaving(release="2.8")
    leaving.reads(**nodes)
    assert leaving.step == Backoff(2, None, 5_000)
    leaving.waits()
    leaving.reads(controller=2, registered=2)
    leaving.answered(REMAINS)
    leaving.waits()
    leaving.reads(**nodes)
    assert leaving.asks() == (2, 101)


@pytest.mark.parametrize(("release", "gives_up"), [("1.0", True), ("1.1", False)])
def test_until_1_0_no_controller_ended_it(release: str, gives_up: bool) -> None:
    """The search for it throws, and the exception is swallowed with all remaining attempts."""
    leaving = Leaving(release=release)
    leaving.reads()
    assert (leaving.step == UNCLEAN) is gives_up


def test_until_1_0_a_controller_without_registration_did_not_end_it() -> None:
    """The controller may be about to register."""
    leaving = Leaving(release="1.0")
    leaving.reads(controller=3)
    assert leaving.step == Backoff(2, None, 5_000)


def test_a_session_that_has_ended_ends_it() -> None:
    """It can no longer ask ZooKeeper."""
    leaving = Leaving(release="2.8")
    assert isinstance(leaving.step, FindController)
    assert leaving.server.controller_found(leaving.step, [ZkResponse(Code.SESSIONEXPIRED)]) == UNCLEAN


def test_one_request_has_one_answer() -> None:
    """Any other number is refused."""
    leaving = Leaving(release="2.8")
    assert isinstance(leaving.step, FindController)
    with pytest.raises(ValueError, match="one request has 2 answers"):
        leaving.server.controller_found(leaving.step, [ZkResponse(Code.OK, 2)] * 2)


@pytest.mark.parametrize(("release", "epoch"), [("2.1", -1), ("2.2", 101)])
def test_until_2_1_requests_had_no_broker_epoch(release: str, epoch: int) -> None:
    """So the controller could not refuse it. [KIP-380]"""
    leaving = Leaving(release=release)
    leaving.reads(controller=2, registered=2)
    assert leaving.asks() == (2, epoch)


# Both sides


@rows(
    "answer, error",
    [
        (EventFailure.ControllerMoved, Errors.STALE_CONTROLLER_EPOCH),
        (EventFailure.StaleBrokerEpoch, Errors.STALE_BROKER_EPOCH),
        (EventFailure.BrokerNotAvailable, Errors.BROKER_NOT_AVAILABLE),
        (EventFailure.UnknownBroker, Errors.UNKNOWN_SERVER_ERROR),
        (EventFailure.IllegalState, Errors.UNKNOWN_SERVER_ERROR),
        (Code.SESSIONEXPIRED, Errors.UNKNOWN_SERVER_ERROR),
    ],
)
def test_failures_are_answered_by_error_code(answer: EventFailure | Code, error: Errors) -> None:
    """A failure without an error code of its own is unknown to the broker, as is an exception inside Kafka."""
    assert controlled_shutdown_response(answer) == ControlledShutdownResponse(error)


def asked(cluster: EventCluster, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
    """The controller's response."""
    answer = cluster.process("process_controlled_shutdown", request.brokerId, request.brokerEpoch).answer
    return controlled_shutdown_response(answer)


@pytest.mark.parametrize("release", ["2.1", "2.8", "3.9"])
def test_a_broker_and_its_controller(release: str) -> None:
    """It leads a partition with no other replica in sync; a follower catches up, and the controller lets it stop."""
    cluster = EventCluster(design=ControlDesign(release))
    cluster.zookeeper.create(None, CONTROLLER, 2)
    cluster.create_topic("t", (1, 2, 3), (2, 1))
    cluster.take_over()
    cluster.leader_writes(T0, (1,))
    leaving = Leaving(release=release, epoch=cluster.context.state.live_broker_epochs[1])
    answers = []
    while not isinstance(leaving.step, Stopped):
        match leaving.step:
            case FindController() as finding:
                requests = leaving.server.requests(finding)
                responses = retry_requests_until_connected(cluster.zookeeper, None, requests)
                leaving.step = leaving.server.controller_found(finding, responses)
            case AskController() as asking:
                assert asking.controller == 2
                answers.append(asked(cluster, asking.request))
                leaving.answered(answers[-1])
            case Backoff():
                cluster.leader_writes(T0, (1, 3))
                leaving.waits()
    assert answers == [REMAINS, LET_GO]
    assert leaving.step == CLEAN
    assert [cluster.state(each).leader for each in (T0, T1)] == [3, 2]


def test_a_bounced_broker_is_refused_until_it_knows_its_registration() -> None:
    """The controller has seen its new registration before the broker itself has."""
    cluster = EventCluster()
    cluster.create_topic("t", (1, 2))
    cluster.take_over()
    registered = cluster.context.state.live_broker_epochs[1]
    leaving = Leaving(epoch=registered - 1)
    refusal = asked(cluster, ControlledShutdownRequest(1, leaving.asks()[1]))
    assert refusal.errorCode is Errors.STALE_BROKER_EPOCH
    leaving.answered(refusal)
    leaving.epoch = registered
    leaving.waits()
    assert leaving.answered(asked(cluster, ControlledShutdownRequest(1, leaving.asks()[1]))) == CLEAN
