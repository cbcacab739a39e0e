"""Which requests a broker obeys; brokers with one mistake each, and the scenario that detects each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from statemachines.broker.hosted_partition import HostedPartition
from statemachines.broker.kafka_apis import KafkaApis
from statemachines.broker.metadata_cache import MetadataCache
from statemachines.broker.replica_manager import NO_FAILURES, LeadershipChange, LogFailure, ReplicaManager
from statemachines.controller.control_design import ControlDesign
from statemachines.controller.control_responses import ControlResponse, UpdateMetadataResponse
from statemachines.messages.control_requests import (
    ControlRequest,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    StopReplicaPartitionState,
    UpdateMetadataRequest,
)
from statemachines.messages.errors import Errors
from statemachines.messages.topic_partition import TopicPartition
from tests.mutants import mutant_tests
from tests.statemachines.control import T0, T1
from tests.statemachines.receiving import BROKER_EPOCH, EPOCH, Broker, Kinds

Failures: TypeAlias = Mapping[TopicPartition, LogFailure]
NONE, STALE_CONTROLLER = Errors.NONE, Errors.STALE_CONTROLLER_EPOCH


def refuses_an_earlier_registration(kinds: Kinds) -> None:
    """A request for the broker's previous registration changes nothing, whatever its controller epoch."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0)
    before = broker.known()
    stale = Errors.STALE_BROKER_EPOCH
    assert broker.lead(1, 1, epoch=EPOCH + 1, broker_epoch=BROKER_EPOCH - 1) == [stale]
    assert broker.stop(-1, epoch=EPOCH + 1, broker_epoch=BROKER_EPOCH - 1) == [stale]
    assert broker.tell(1, broker_epoch=BROKER_EPOCH - 1) == UpdateMetadataResponse(stale)
    assert broker.known() == before


def takes_any_other_registration(kinds: Kinds) -> None:
    """A later one that the broker does not know yet, and a request without one."""
    for epoch in (BROKER_EPOCH, BROKER_EPOCH + 1, -1):
        broker = Broker(kinds=kinds)
        assert broker.lead(1, 0, broker_epoch=epoch) == [NONE]
        assert broker.stop(0, broker_epoch=epoch) == [NONE]
        assert broker.tell(1, broker_epoch=epoch) == UpdateMetadataResponse(NONE)


def fails_at_a_later_registration_until_2_5_0(kinds: Kinds) -> None:
    """A registration that the broker did not know yet was an error, and nothing was done. [KAFKA-9839]"""
    broker, later, failed = Broker(ControlDesign("2.5.0"), kinds), BROKER_EPOCH + 1, Errors.UNKNOWN_SERVER_ERROR
    before = broker.known()
    assert broker.lead(1, 0, T0, T1, broker_epoch=later) == [failed, failed]
    assert broker.stop(0, broker_epoch=later) == [failed]
    assert broker.tell(1, broker_epoch=later) == UpdateMetadataResponse(failed)
    assert broker.known() == before
    assert broker.lead(1, 0, broker_epoch=BROKER_EPOCH) == [NONE]
    assert Broker(ControlDesign("2.5.1"), kinds).lead(1, 0, broker_epoch=later) == [NONE]


def refuses_an_older_controller(kinds: Kinds) -> None:
    """Its requests change nothing. UpdateMetadata has the same code. [ControllerMovedException]"""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0)
    before = broker.known()
    assert broker.lead(1, 1, epoch=EPOCH - 1) == [STALE_CONTROLLER]
    assert broker.stop(-1, epoch=EPOCH - 1) == [STALE_CONTROLLER]
    assert broker.tell(1, epoch=EPOCH - 1) == UpdateMetadataResponse(STALE_CONTROLLER)
    assert broker.known() == before


def learns_of_a_newer_controller(kinds: Kinds) -> None:
    """By any of the three requests, even if the request does nothing else."""
    requests: list[Callable[[Broker], object]] = [
        lambda broker: broker.lead(1, 0, epoch=EPOCH + 1, replicas=(2, 3)),
        lambda broker: broker.stop(-1, epoch=EPOCH + 1),
        lambda broker: broker.tell(1, epoch=EPOCH + 1),
    ]
    for newer in requests:
        broker = Broker(kinds=kinds)
        newer(broker)
        assert broker.lead(1, 0) == [STALE_CONTROLLER]


def refuses_an_older_leader_epoch(kinds: Kinds) -> None:
    """And an equal one."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 3)
    before = broker.known()
    assert broker.lead(1, 2) == broker.lead(1, 3) == [STALE_CONTROLLER]
    assert broker.known() == before


def fences_a_late_stop(kinds: Kinds) -> None:
    """A replica that has returned since continues."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 3)
    assert broker.stop(2, delete=True) == [Errors.FENCED_LEADER_EPOCH]
    assert broker.fetches() == (2, 3)


def follows_the_living(kinds: Kinds) -> None:
    """It does not follow a leader that is not alive."""
    broker = Broker(kinds=kinds)
    broker.tell(1, 3)
    broker.lead(2, 0)
    assert (broker.hosted().leader, broker.fetches()) == (None, None)


def forgets_the_dead(kinds: Kinds) -> None:
    """A broker that UpdateMetadata does not name is no longer alive."""
    broker = Broker(kinds=kinds)
    broker.tell(1)
    assert not broker.cache.has_alive_broker(2)


def stops_fetching_as_leader(kinds: Kinds) -> None:
    """A leader fetches from no broker."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0)
    broker.lead(1, 1)
    assert broker.fetches() is None


def begins_anew_in_each_epoch(kinds: Kinds) -> None:
    """Even under the same leader."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0)
    broker.lead(2, 1)
    assert broker.fetches() == (2, 1)


def goes_on_with_the_others(kinds: Kinds) -> None:
    """One log directory fails, and the broker follows with the other partitions."""
    broker = Broker(kinds=kinds)
    assert broker.lead(2, 0, T0, T1, failures={T0: LogFailure.Storage}) == [Errors.KAFKA_STORAGE_ERROR, NONE]
    assert broker.fetches(T1) == (2, 0)


def makes_logs_of_new_replicas_only(kinds: Kinds) -> None:
    """If a directory has failed."""
    broker = Broker(kinds=kinds)
    broker.manager.handle_log_dir_failure([])
    assert broker.lead(2, 0, T0) == [Errors.KAFKA_STORAGE_ERROR]
    assert broker.lead(2, 0, T1, is_new=True) == [NONE]


def refuses_all_beside_half_a_follower(kinds: Kinds) -> None:
    """It obeys no part of a request that names, in its own epoch, a replica without log."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0, failures={T0: LogFailure.ConfigNotRead})
    assert broker.lead(2, 0, T0, T1) == [Errors.NOT_LEADER_OR_FOLLOWER] * 2
    assert broker.fetches(T1) is None


def deletes_a_missing_log_without_error(kinds: Kinds) -> None:
    """A log that is not there cannot remain."""
    assert Broker(kinds=kinds).stop(-2, delete=True, failures={T0: LogFailure.Storage}) == [NONE]


def starts_no_fetcher_when_it_shuts_down(kinds: Kinds) -> None:
    """It follows its new leader, but no longer fetches, neither from it nor from another."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0, T0)
    broker.lead(1, 0, T1)
    broker.is_shutting_down = True
    assert broker.lead(3, 1, T0, T1) == [NONE, NONE]
    assert (broker.hosted(T0).leader, broker.hosted(T1).leader) == (3, 3)
    assert (broker.fetches(T0), broker.fetches(T1)) == (None, None)
    assert broker.changes[-1].followers == (T0, T1)


def keeps_a_replica_that_has_opened_no_log(kinds: Kinds) -> None:
    """A refused replica has opened none: the directory fails with its log, and the replica is unchanged."""
    broker = Broker(kinds=kinds)
    broker.lead(2, 0)
    broker.manager.restart()
    broker.lead(2, 1, replicas=(2, 3))
    assert broker.manager.handle_log_dir_failure([T0]) == ()
    assert broker.hosted().online


class IgnoresTheBrokerEpoch(KafkaApis):
    """It accepts a request for any registration."""

    def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
        return False


class TakesItsOwnRegistrationOnly(KafkaApis):
    """It refuses a later one, too."""

    def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
        return broker_epoch not in (self.broker_epoch(), -1)


class FailsAtWhateverIsLater(KafkaApis):
    """As releases until 2.5.0 do."""

    def handle(
        self, request: ControlRequest, failures: Mapping[TopicPartition, LogFailure] = NO_FAILURES
    ) -> ControlResponse:
        self.design = self.design.but(newer_broker_epoch=False)
        return super().handle(request, failures)


class LooksForNoneInEpochs(KafkaApis):
    """It treats -1 as an epoch like any other."""

    def is_broker_epoch_stale(self, broker_epoch: int) -> bool:
        return broker_epoch < self.broker_epoch()


class IgnoresTheControllerEpoch(ReplicaManager):
    """It obeys any controller."""

    def _is_current_controller(self, request: ControlRequest) -> bool:
        return True


class DoesNotRememberTheController(ReplicaManager):
    """It does not remember the newest epoch if the request does nothing else."""

    def _is_current_controller(self, request: ControlRequest) -> bool:
        known, takes = self.state.controller_epoch, super()._is_current_controller(request)
        if isinstance(request, UpdateMetadataRequest):
            self.state.controller_epoch = known
        return takes


class IgnoresTheLeaderEpoch(ReplicaManager):
    """It obeys the last request."""

    def _leader_and_isr_error(self, partition: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        error = super()._leader_and_isr_error(partition, state)
        return NONE if error is STALE_CONTROLLER else error


class TakesTheSameLeaderEpoch(ReplicaManager):
    """It accepts the same epoch again."""

    def _leader_and_isr_error(self, partition: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        hosted = self.state.all_partitions.get(partition, HostedPartition())
        same = state.leaderEpoch == hosted.leader_epoch
        return NONE if same else super()._leader_and_isr_error(partition, state)


class StopsAnyhow(ReplicaManager):
    """It obeys a late StopReplica."""

    def _may_stop(self, partition: TopicPartition, state: StopReplicaPartitionState, delete: bool) -> Errors:
        return NONE


class EveryoneIsAlive(MetadataCache):
    """It takes a broker that it never heard of for alive."""

    def has_alive_broker(self, broker: int) -> bool:
        return True


class FollowsTheDead(ReplicaManager):
    """It does not check whether the leader is alive."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.metadata_cache = EveryoneIsAlive(self.metadata_cache.state)


class RemembersTheDead(MetadataCache):
    """It adds brokers to the live ones, and removes none."""

    def update_metadata(self, request: UpdateMetadataRequest) -> tuple[TopicPartition, ...]:
        alive = self.state.alive_brokers
        deleted = super().update_metadata(request)
        self.state.alive_brokers |= alive
        return deleted


class LeadsAndFetches(ReplicaManager):
    """A leader continues to fetch."""

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, failures: Failures = NO_FAILURES
    ) -> LeadershipChange:
        fetching = dict(self.state.fetchers)
        change = super().become_leader_or_follower(request, failures)
        for partition, fetches in fetching.items():
            self.state.fetchers.setdefault(partition, fetches)
        return change


class FollowsOn(ReplicaManager):
    """Under the same leader it does not begin anew. [B9]"""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.design = self.design.but(truncate_every_epoch=False)


class EndsWithTheFirstFailure(ReplicaManager):
    """A failure of one partition is a failure of all."""

    def become_leader_or_follower(
        self, request: LeaderAndIsrRequest, failures: Failures = NO_FAILURES
    ) -> LeadershipChange:
        self.design = self.design.but(skip_unreadable_config=False)
        unread = dict.fromkeys(failures, LogFailure.ConfigNotRead)
        return super().become_leader_or_follower(request, unread)


class MakesAllLogs(ReplicaManager):
    """It makes a log for every replica, new or not."""

    def _create_log(self, partition: TopicPartition, is_new: bool, handling: Any) -> LogFailure | None:
        return super()._create_log(partition, True, handling)


class RefusesHalfAFollowerOnly(ReplicaManager):
    """It refuses only the replica without log, not the whole request."""

    def _leader_and_isr_error(self, partition: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        hosted = self.state.all_partitions.get(partition, HostedPartition())
        same = state.leaderEpoch == hosted.leader_epoch
        return STALE_CONTROLLER if same else super()._leader_and_isr_error(partition, state)


class FailsToDeleteNothing(ReplicaManager):
    """It does not check whether there is a log."""

    def _stop(self, partition: TopicPartition, delete: bool, handling: Any) -> None:
        super()._stop(partition, delete, handling)
        if delete and partition in handling.failures:
            handling.errors[partition] = Errors.KAFKA_STORAGE_ERROR


class FetchesToTheLast(ReplicaManager):
    """It starts fetchers while it shuts down."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{**options, "is_shutting_down": lambda: False})


class LeavesFetchersAlone(ReplicaManager):
    """It continues its old fetches, from the old leaders."""

    def _make_followers(
        self, states: Mapping[TopicPartition, LeaderAndIsrPartitionState], handling: Any
    ) -> tuple[TopicPartition, ...]:
        fetching = dict(self.state.fetchers)
        made = super()._make_followers(states, handling)
        if self.is_shutting_down():
            self.state.fetchers.update(fetching)
        return made


class OpensWhatLiesThere(ReplicaManager):
    """It takes the log of a replica for open if there is one."""

    def _leader_and_isr_error(self, partition: TopicPartition, state: LeaderAndIsrPartitionState) -> Errors:
        error = super()._leader_and_isr_error(partition, state)
        if partition in self.state.logs:
            self.state.all_partitions[partition] = self.state.all_partitions[partition].with_log()
        return error


MUTANTS: list[tuple[Kinds, Callable[[Kinds], None]]] = [
    (Kinds(apis=IgnoresTheBrokerEpoch), refuses_an_earlier_registration),
    (Kinds(apis=TakesItsOwnRegistrationOnly), takes_any_other_registration),
    (Kinds(apis=FailsAtWhateverIsLater), fails_at_a_later_registration_until_2_5_0),
    (Kinds(apis=LooksForNoneInEpochs), takes_any_other_registration),
    (Kinds(manager=IgnoresTheControllerEpoch), refuses_an_older_controller),
    (Kinds(manager=DoesNotRememberTheController), learns_of_a_newer_controller),
    (Kinds(manager=IgnoresTheLeaderEpoch), refuses_an_older_leader_epoch),
    (Kinds(manager=TakesTheSameLeaderEpoch), refuses_an_older_leader_epoch),
    (Kinds(manager=StopsAnyhow), fences_a_late_stop),
    (Kinds(manager=FollowsTheDead), follows_the_living),
    (Kinds(cache=RemembersTheDead), forgets_the_dead),
    (Kinds(manager=LeadsAndFetches), stops_fetching_as_leader),
    (Kinds(manager=FollowsOn), begins_anew_in_each_epoch),
    (Kinds(manager=EndsWithTheFirstFailure), goes_on_with_the_others),
    (Kinds(manager=MakesAllLogs), makes_logs_of_new_replicas_only),
    (Kinds(manager=RefusesHalfAFollowerOnly), refuses_all_beside_half_a_follower),
    (Kinds(manager=FailsToDeleteNothing), deletes_a_missing_log_without_error),
    (Kinds(manager=FetchesToTheLast), starts_no_fetcher_when_it_shuts_down),
    (Kinds(manager=LeavesFetchersAlone), starts_no_fetcher_when_it_shuts_down),
    (Kinds(manager=OpensWhatLiesThere), keeps_a_replica_that_has_opened_no_log),
]


test_the_classes_pass, test_each_mutant_is_caught = mutant_tests(Kinds(), MUTANTS)


@given(st.integers(-1, EPOCH - 1), st.integers(0, BROKER_EPOCH + 1), st.sampled_from([1, 2]), st.integers(-2, 9))
def test_a_stale_request_changes_nothing(epoch: int, broker_epoch: int, leader: int, leader_epoch: int) -> None:
    """Whatever it says; the broker checks the registration first."""
    broker = Broker()
    broker.lead(2, 3)
    before = broker.known()
    stale = Errors.STALE_BROKER_EPOCH if broker_epoch < BROKER_EPOCH else STALE_CONTROLLER
    assert broker.lead(leader, leader_epoch, epoch=epoch, broker_epoch=broker_epoch) == [stale]
    assert broker.stop(leader_epoch, epoch=epoch, broker_epoch=broker_epoch) == [stale]
    assert broker.tell(1, epoch=epoch, broker_epoch=broker_epoch) == UpdateMetadataResponse(stale)
    assert broker.known() == before
