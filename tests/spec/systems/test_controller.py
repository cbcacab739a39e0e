"""The controller's life: what each fix prevents, and the need for each property and guard.

A mutant is the system without one guard: of a broker's steps, of the broker that receives requests, or of the
servers. Each must break the guard's property; the bounds are large enough for that.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import pytest

from election.ids import ControllerEpoch
from spec import checking
from spec.by_release import RELEASES
from spec.checking import Result
from spec.language import Specification, part
from spec.parts.receiver import Receiver, ReceiverPart
from spec.systems.controller import ClusterAtWork, ControllerLife
from statemachines.controller.controller_process import Answer, ControllerProcess
from statemachines.controller.design import CONTROLLER, IDLE, ControllerStep, Design
from statemachines.controller.one_partition import OnePartitionController
from statemachines.zookeeper.counters import CountingTransaction, ZooKeeperWithoutZxids
from statemachines.zookeeper.server import WatchTable
from statemachines.zookeeper.tree import Created, Operation, Transaction, stat_of
from tests.spec.systems.faults import (
    DeletingUnfenced,
    FiringAgain,
    LifeOnServers,
    OutlivingUnsaid,
    StartingAgain,
    Unchecked,
    Unversioned,
)
from tests.statemachines.controllers import but_for
from tests.tiers import long_unless

check = partial(checking.check, engine="local")
"""The local engine from the start: these explorations are too large to begin in plain Python."""

PROPOSED = {"ghost_check": True, "resign_on_move": True, "elect_if_none": True}
"""With the open bugs of 3.9 fixed."""
NOTHING_FAILS = {
    "crashes": False,
    "operator_deletes": False,
    "request_failures": False,
    "lost_replies": False,
    "disconnections": False,
    "receiving_broker": False,
}
"""Sessions end, and nothing more happens."""
ONCE = {"elections": 1, "state_writes": 1}
OUTLIVING = {**NOTHING_FAILS, **ONCE, "ephemeral_outlives_session": True, "sessions_per_broker": 2}
"""An ended session's nodes stay for a while, and the broker has a new session before they go."""
DELETES = "only_owner_session_end_or_operator_deletes_controller"


def verdict(result: Result, name: str) -> str:
    """Return the report on one property."""
    return next(each.verdict for each in result.properties if each.name == name)


def length(result: Result, name: str) -> int:
    """Return the number of states that it takes to break this property, the only broken one."""
    assert result.counterexample is not None
    assert (result.verdict, result.counterexample.broken) == ("violated", name)
    return result.counterexample.length


def steps(result: Result) -> list[str]:
    """Return the counterexample as its steps."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def actions(result: Result) -> list[str]:
    """Return the actions of the counterexample."""
    assert result.counterexample is not None
    return [each.step.action for each in result.counterexample.steps]


def said(result: Result, last: int = 1) -> list[str]:
    """Return the words of the last steps, oldest first."""
    assert result.counterexample is not None
    return [sentence for each in result.counterexample.steps[-last:] for sentence in each.sentences]


def brokers(result: Result, action: str) -> list[int]:
    """Return the brokers that took this action in the counterexample, in order."""
    assert result.counterexample is not None
    return [each.step.parameters["broker"] for each in result.counterexample.steps if each.step.action == action]


# Each fix, when off, breaks its property, by the known sequence of events.


@pytest.mark.long
def test_a_failed_failover_without_move_keeps_the_context() -> None:
    """B24: /controller is deleted, then a step of the failover fails, and the broker does nothing about it."""
    result = check(ControllerLife.of(**ControllerLife.releases["3.9"]), properties=["resigned_context_empty"])
    assert length(result, "resigned_context_empty") == 11
    assert actions(result)[-3:] == ["operator_deletes_controller", "fail", "move_controller"]
    assert said(result, 2) == ["it moves the controller", "there is none: it leaves it at that"]


@pytest.mark.long
def test_a_former_controller_electing_again_keeps_its_context() -> None:
    """B24 without a failure: /controller goes between maybeResign and elect, and elect only notes its absence."""
    result = check(ControllerLife.of(request_failures=False), properties=["resigned_context_empty"])
    assert length(result, "resigned_context_empty") == 24
    assert actions(result)[-3:] == ["maybe_resign", "operator_deletes_controller", "elect"]
    assert said(result, 3) == ["it is this broker", "there is none: it stands for election"]
    assert brokers(result, "maybe_resign") == brokers(result, "elect")[-1:]


@pytest.mark.long
def test_resigning_on_reading_another_clears_the_context() -> None:
    """The proposal prevents both forms of B24, in full for a single election.

    Runs without failures are included: a step may fail, but need not.
    """
    proposed = ControllerLife.of(**ONCE, resign_on_move=True)
    assert proposed.valuation["request_failures"]
    assert check(proposed, properties=["resigned_context_empty"], symmetry=True).verdict == "holds"


@pytest.mark.long
def test_a_ghost_mistakes_its_old_node_for_the_current_one() -> None:
    """B22: its registration is deleted in time, but not /controller; in its new session it reads its own id there."""
    result = check(ControllerLife.of(**OUTLIVING), properties=["controller_started"])
    assert length(result, "controller_started") == 16
    assert actions(result)[-4:] == ["register_broker", "watch_controller", "maybe_resign", "elect"]
    assert said(result, 2) == ["it is this broker", "it is this broker"]
    assert f"zk.delete_outliving_ephemerals(path={CONTROLLER!r})" not in steps(result)


def test_a_ghost_is_found_by_the_session_that_owns_the_node() -> None:
    """KAFKA-13407: proved in full for one broker, and for two beyond the length of the counterexample."""
    seen = ["controller_started"]
    alone = ControllerLife.of(**OUTLIVING, brokers=1, ghost_check=True)
    assert check(alone, properties=seen).verdict == "holds"
    assert check(ControllerLife.of(**OUTLIVING, ghost_check=True), properties=seen, max_depth=20).verdict == "bounded"


@pytest.mark.long
def test_a_broker_cannot_register_again_while_its_old_node_stands() -> None:
    """B23: the broker does not retry after that node is gone."""
    until_2_1 = ControllerLife.of(**OUTLIVING, ephemeral_owner_check=False, registers_again=True)
    result = check(until_2_1, properties=["registered_when_quiet"])
    assert length(result, "registered_when_quiet") == 10
    assert actions(result)[-3:] == ["register_broker", "check_registration", "zk.delete_outliving_ephemerals"]
    assert "the event is dropped" in said(result, 2)[0]


@pytest.mark.long
def test_a_broker_deletes_its_own_old_registration() -> None:
    """KAFKA-7165, with a new registration if the old node is gone: in full for one broker, and for two beyond B23."""
    seen, mended = ["registered_when_quiet"], {**OUTLIVING, "registers_again": True}
    alone = check(ControllerLife.of(**mended, brokers=1), properties=seen)
    assert alone.verdict == "holds"
    assert {each.name for each in alone.actions if each.taken} >= {
        "delete_registration",
        "zk.delete_outliving_ephemerals",
    }
    assert check(ControllerLife.of(**mended), properties=seen, max_depth=16).verdict == "bounded"


@pytest.mark.long
def test_a_broker_stays_unregistered_if_its_old_node_goes_during_the_check() -> None:
    """B23a: since 2.2 that is an error, and the broker does not retry."""
    result = check(ControllerLife.of(**OUTLIVING), properties=["registered_when_quiet"])
    assert length(result, "registered_when_quiet") == 10
    assert actions(result)[-3:] == ["register_broker", "zk.delete_outliving_ephemerals", "check_registration"]
    assert said(result) == ["NONODE, a NullPointerException: the event is dropped"]


@pytest.mark.long
def test_without_fencing_the_loser_deletes_the_winners_node() -> None:
    """B43: until 2.0, a broker whose failover fails deletes /controller, although another broker owns it by then."""
    result = check(ControllerLife.of(**ControllerLife.releases["2.0"]), properties=[DELETES])
    assert length(result, DELETES) == 16
    winner, loser = brokers(result, "create_controller")[-1], brokers(result, "delete_controller")[0]
    assert winner != loser
    assert said(result) == ["deleted"]
    assert actions(result)[-1] == "delete_controller"


ZOMBIE = {
    **ControllerLife.releases["2.1"],
    "fence_zk": False,
    "crashes": False,
    "request_failures": False,
    "lost_replies": False,
    "state_writes": 1,
}


@pytest.mark.long
def test_without_fencing_a_zombie_writes() -> None:
    """B4: an operator deletes /controller, another broker is elected, and the old controller still writes."""
    result = check(ControllerLife.of(**ZOMBIE), properties=["fenced_writes"])
    assert length(result, "fenced_writes") == 20
    assert "operator_deletes_controller()" in steps(result)
    first, second = brokers(result, "register_controller")
    assert first != second
    assert steps(result)[-1] == f"update_leader_and_isr(broker={first}, reply='answered')"


@pytest.mark.long
def test_without_fencing_the_new_controllers_cache_is_out_of_date() -> None:
    """B17: it read the state before the zombie wrote, and never again; brokers refuse the zombie's requests."""
    result = check(ControllerLife.of(**ZOMBIE), properties=["cache_fresh"])
    assert length(result, "cache_fresh") == 32
    first, second = brokers(result, "register_controller")
    assert first != second
    assert brokers(result, "update_leader_and_isr") == [first]
    assert steps(result)[-2:] == ["receiver.deliver_request(epoch=2)", "receiver.deliver_request(epoch=1)"]
    assert said(result, 2) == ["accepted", "STALE_CONTROLLER_EPOCH"]


@pytest.mark.long
def test_fenced_no_zombie_writes() -> None:
    """The same system with its fence, up to the length of the counterexample without it."""
    fenced, seen = ControllerLife.of(**{**ZOMBIE, "fence_zk": True}), ["fenced_writes", "cache_fresh"]
    assert check(fenced, properties=seen, max_depth=32, symmetry=True).verdict == "bounded"


# With all fixes on, every property holds, and not vacuously.


def test_with_all_fixes_one_broker_satisfies_all_properties() -> None:
    """Every action is taken and every witness met, in a small system."""
    result = check(ControllerLife.of(brokers=1, **PROPOSED))
    assert (result.verdict, result.distinct_states) == ("holds", 30821)
    assert all(each.taken for each in result.actions)
    assert {each.verdict for each in result.properties} == {"holds", "witnessed"}


@pytest.mark.long
def test_with_one_election_two_brokers_satisfy_all_properties() -> None:
    """With every fault except those of the servers; every action is taken."""
    result = check(ControllerLife.of(**ONCE, **PROPOSED), symmetry=True)
    assert (result.verdict, result.distinct_states) == ("holds", 570337)
    assert all(each.taken for each in result.actions)


WITNESSED = {
    "elected": 12,
    "elected_twice": 24,
    "reelected_after_a_crash": 17,
    "a_zombie": 16,
    "a_zombie_with_a_session": 16,
    "all_is_quiet": 15,
    "a_zombie_tries_to_write": 20,
    "a_stale_request_is_refused": 22,
    "a_broker_change": 17,
    "a_controller_change": 12,
    "a_reelect": 15,
    "an_expiry_is_heard_of": 13,
    "dies_before_it_knows_the_brokers": 9,
    "dies_before_it_knows_the_states": 10,
    "dies_before_it_elects": 11,
    "dies_before_it_writes": 12,
}
"""Required witnesses, with the length of the shortest trace to each."""


def witnesses(result: Result) -> dict[str, int | None]:
    """Return the witnesses seen, with their trace lengths."""
    return {each.name: each.length for each in result.properties if each.verdict == "witnessed"}


@pytest.mark.long
def test_every_witness_is_met() -> None:
    """Two brokers, two elections and two writes are necessary and sufficient."""
    result = check(ControllerLife.of(**PROPOSED), max_depth=24, symmetry=True)
    assert (result.verdict, witnesses(result)) == ("bounded", WITNESSED)
    assert set(WITNESSED) == {each.name for each in ControllerLife().properties if each.kind == "sometimes"}


@pytest.mark.parametrize(
    ("constants", "absent"),
    [
        ({"elections": 1}, ["elected_twice", "reelected_after_a_crash", "a_zombie", "a_stale_request_is_refused"]),
        ({"state_writes": 1}, ["elected_twice"]),
        ({"brokers": 1}, ["reelected_after_a_crash", "a_zombie", "a_stale_request_is_refused", "a_broker_change"]),
        ({"operator_deletes": False}, ["a_zombie_with_a_session"]),
        ({"crashes": False}, ["reelected_after_a_crash", "dies_before_it_writes"]),
        ({"expiries": False}, ["reelected_after_a_crash", "an_expiry_is_heard_of"]),
    ],
    ids=str,
)
def test_a_witness_that_cannot_be_met_is_absent(constants: dict[str, Any], absent: list[str]) -> None:
    """It does not exist, so the run is not vacuous."""
    asked = {each.name for each in ControllerLife.of(**constants).properties}
    assert not asked & set(absent)


@pytest.mark.long
def test_with_all_fixes_all_properties_hold() -> None:
    """With the default constants, except for the observer: no other bound, every action taken, every witness met."""
    result = check(ControllerLife.of(**PROPOSED, receiving_broker=False), symmetry=True)
    assert (result.verdict, result.distinct_states) == ("holds", 34030588)
    assert all(each.taken for each in result.actions)
    seen = {name: states for name, states in WITNESSED.items() if name != "a_stale_request_is_refused"}
    assert witnesses(result) == {**seen, "all_is_quiet": 14}


@pytest.mark.long
@pytest.mark.parametrize(
    "constants",
    [
        NOTHING_FAILS,
        *(
            pytest.param({fault: False}, marks=pytest.mark.long)
            for fault in ("expiries", "request_failures", "operator_deletes", "crashes")
        ),
    ],
    ids=lambda constants: " and ".join(constants),
)
def test_impossible_actions_and_witnesses_are_absent(constants: dict[str, Any]) -> None:
    """An action whose fault is off does not exist; every other action is taken, and every property holds."""
    assert check(ControllerLife.of(**{**ONCE, **PROPOSED, **constants}), symmetry=True).verdict == "holds"


# Every guard that matters: the system without it, and the property that detects it. First the steps of a broker.


ANY_EPOCH = 99


def changed(answer: Answer, **known: Any) -> Answer:
    """Return the answer with these facts of the broker changed; the end of a session is left as it is."""
    if answer.controller.session is None:
        return answer
    return answer._replace(controller=but_for(answer.controller, **known))


def of_a_term(me: ControllerProcess) -> dict[str, Any]:
    """Return the facts that a resignation clears, except office and epoch."""
    return {
        "handlers_registered": me.handlers_registered,
        "failover_done": me.failover_done,
        "live_brokers": me.context.live_brokers,
        "partition_state_version": me.context.partition_state_version,
    }


class EpochStartsAgain(ControllerLife):
    """Every second controller resets the epoch to its first value."""

    one_partition_controller = StartingAgain


class DoesNotLookAgain(ControllerLife):
    """After an error reply a broker assumes another's write, even if its own reply was lost."""

    @cached_property
    def design(self) -> Design:
        return super().design.but(looks_again=False)


class TakesItForItsOwn(ControllerLife):
    """After an error reply a broker assumes its own write, whichever broker is controller."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def check_controller(self, me: ControllerProcess) -> Answer:
            super().check_controller(me)
            return Answer(self.deliver(me.next_step()), "")


class UnfencedDelete(ControllerLife):
    """Writes are fenced, but the deletion of /controller is not."""

    one_partition_controller = DeletingUnfenced


class TakesOverAnyState(ControllerLife):
    """A controller elects a leader even if a newer controller wrote the state."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def read_partition_state(self, me: ControllerProcess) -> Answer:
            answer = super().read_partition_state(me.with_context(epoch=ANY_EPOCH))
            return changed(answer, epoch=me.epoch)


class AnswersOvertake(ControllerLife):
    """A watch notification may arrive after the reply to a later request."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def hear(self, me: ControllerProcess, listens: bool) -> ControllerProcess:
            return me

    def hears(self, s: ClusterAtWork, broker: int) -> ControllerProcess:
        me = s.controllers[broker]
        return OnePartitionController.hear(self.controller(s, broker), me, me.handlers_registered)


class NeverResigns(ControllerLife):
    """A controller that reads another's id in /controller continues."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def maybe_resign(self, me: ControllerProcess) -> Answer:
            answer = super().maybe_resign(me)
            known = {
                "active": True,
                "handlers_registered": me.handlers_registered,
                "failover_done": me.failover_done,
                "context": me.context,
            }
            return changed(answer, **known) if me.active else answer


class WatchesOnce(ControllerLife):
    """A controller that is notified of /controller does not set the watch again."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def watch_controller(self, me: ControllerProcess) -> Answer:
            return Answer(me.next_step(), "") if me.active else super().watch_controller(me)

        def _controller_id(self, me: ControllerProcess) -> int | None:
            if not me.active:
                return super()._controller_id(me)
            there = self.zookeeper.exists(me.session, CONTROLLER) is not None
            return int(self.zookeeper.get(me.session, CONTROLLER)[0]) if there else None


class KeepsItsContext(ControllerLife):
    """maybeResign clears nothing."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def maybe_resign(self, me: ControllerProcess) -> Answer:
            return changed(super().maybe_resign(me), **of_a_term(me))


class HandlesAnyway(ControllerLife):
    """A BrokerChange after a resignation is handled as before it."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def handle(self, me: ControllerProcess) -> Answer:
            answer = super().handle(me._replace(active=True))
            return changed(answer, active=me.active)


class ReadsBrokersOnce(ControllerLife):
    """A controller does not read the live brokers again."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def read_brokers(self, me: ControllerProcess) -> Answer:
            answer = super().read_brokers(me)
            return answer if me.in_elect else changed(answer, agenda=IDLE, live_brokers=me.context.live_brokers)


class ForgetsTheVersion(ControllerLife):
    """A controller that resigns forgets the version for the deletion of /controller."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def _to_move(self, me: ControllerProcess, *then: ControllerStep) -> ControllerProcess:
            return super()._to_move(me, *then).with_context(epoch_zk_version=0)


class FailsQuietly(ControllerLife):
    """A failed failover is only logged."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def fail(self, me: ControllerProcess) -> Answer:
            return Answer(me.with_steps()._replace(state_version=0), "")


class RegistersOnce(ControllerLife):
    """In its new session a broker stands for election without registering."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def register_broker(self, me: ControllerProcess) -> Answer:
            return (
                Answer(me.next_step(), "") if ControllerStep.MaybeResign in me.agenda else super().register_broker(me)
            )


class CachesNothingOfItsOwn(ControllerLife):
    """A controller's cache has its reads, but not its writes."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def update_leader_and_isr(self, me: ControllerProcess) -> Answer:
            answer = super().update_leader_and_isr(me)
            return changed(answer, partition_state_version=me.context.partition_state_version)


class CachesTooEarly(ControllerLife):
    """A controller's cache has a write before it is made."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def read_partition_state(self, me: ControllerProcess) -> Answer:
            answer = super().read_partition_state(me)
            writes = answer.controller.about_to(ControllerStep.UpdateLeaderAndIsr)
            return changed(answer, partition_state_version=answer.controller.state_version + 1) if writes else answer


# A broker that receives requests, and servers with one fault each.


class Credulous(ReceiverPart):
    """It accepts any request."""

    def accepts(self, s: Receiver, epoch: int) -> bool:
        return True


class TakesAnyRequest(ControllerLife):
    """A broker does not check which controller sent a request."""

    @part
    def receiver(self) -> ReceiverPart:
        return Credulous(epochs=self.domain_of(ControllerEpoch))


class EphemeralsOutlive(LifeOnServers):
    """On a ZooKeeper where nodes outlive their session, although the part is not configured so."""

    servers = OutlivingUnsaid


class WatchesStay(LifeOnServers):
    """On a ZooKeeper whose watches fire more than once."""

    servers = FiringAgain


class ChildrenUnwatched(LifeOnServers):
    """On a ZooKeeper that arms no watch on children."""

    class servers(ZooKeeperWithoutZxids):  # noqa: N801
        def _arm(self, table: WatchTable, path: str, session: Any) -> None:
            if table == "data_watches":
                super()._arm(table, path, session)


class TellsBrokersByName(ControllerLife):
    """A controller that reads the same ids takes them for the same brokers."""

    class one_partition_controller(OnePartitionController):  # noqa: N801
        def read_brokers(self, me: ControllerProcess) -> Answer:
            answer = super().read_brokers(me)
            found = answer.controller.brokers_read or answer.controller.context.live_brokers
            if me.in_elect or {each.name for each in me.context.live_brokers} != {each.name for each in found}:
                return answer
            return changed(answer, agenda=IDLE, live_brokers=me.context.live_brokers, brokers_read=frozenset())


class NumbersAgain(LifeOnServers):
    """On a ZooKeeper that gives each registration of a broker the same czxid."""

    class servers(ZooKeeperWithoutZxids):  # noqa: N801
        class transaction(CountingTransaction):  # noqa: N801
            def create(self, session: Any, path: str, data: Any, ephemeral: bool, sequential: bool) -> Created:
                created = super().create(session, path, data, ephemeral, sequential)
                if path in self.created:
                    self.nodes[path] = self.nodes[path]._replace(czxid=1)
                    return Created(path, stat_of(self.nodes[path]))
                return created


class ComesBackDeaf(LifeOnServers):
    """On a ZooKeeper that never notifies a reconnected client of missed events."""

    class servers(ZooKeeperWithoutZxids):  # noqa: N801
        def come_back(self, session: Any) -> None:
            self.state.events[session] = ()


class VersionsStay(LifeOnServers):
    """On a ZooKeeper that does not count the writes of a node."""

    servers = Unversioned


class ChecksPass(LifeOnServers):
    """On a ZooKeeper whose multi ignores its checks."""

    servers = Unchecked


class KeepsWhatWasDone(LifeOnServers):
    """On a ZooKeeper whose multi keeps the operations before the one that failed."""

    class servers(ZooKeeperWithoutZxids):  # noqa: N801
        class transaction(Transaction):  # noqa: N801
            def apply(self, session: Any, operation: Operation) -> Any:
                result = super().apply(session, operation)
                self.commit()
                return result


ALONE = {**PROPOSED, "brokers": 1}
QUIETLY = {**NOTHING_FAILS, **ONCE, "crashes": True}
TOGETHER = {**PROPOSED, "crashes": False}
"""The open bugs of 3.9 are fixed, so only the mutation breaks a property."""

MUTANTS: list[tuple[Specification, str, int]] = [
    (EphemeralsOutlive(**ALONE), "zk.ephemeral_owned", 5),
    (VersionsStay(**ALONE), "zk.version_step", 8),
    (WatchesStay(**ALONE), "zk.one_shot", 8),
    (UnfencedDelete(**TOGETHER), DELETES, 19),
    (EpochStartsAgain(**ALONE), "epoch_monotone", 17),
    (ControllerLife(**TOGETHER, lost_replies=False, conditional_increment=False), "epoch_unique", 16),
    (TakesItForItsOwn(**TOGETHER), "epoch_unique", 17),
    (ControllerLife(**TOGETHER, lost_replies=False, conditional_increment=False), "single_controller", 16),
    (ChecksPass(**TOGETHER), "fenced_writes", 20),
    (KeepsWhatWasDone(**ALONE), "zk.multi_atomic", 11),
    (AnswersOvertake(**ALONE), "watch_before_data", 8),
    (NeverResigns(**{**TOGETHER, "elect_if_none": False}), "active_has_node", 16),
    (TakesAnyRequest(**TOGETHER), "receiver.broker_sees_monotone", 22),
    (TakesOverAnyState(**TOGETHER, fence_zk=False), "state_writer_monotone", 24),
    (CachesNothingOfItsOwn(**ALONE), "cache_fresh", 17),
    (CachesTooEarly(**ALONE), "cache_not_ahead", 11),
    (WatchesOnce(**ALONE), "no_lost_wakeup", 14),
    (ChildrenUnwatched(**ALONE), "no_lost_wakeup", 11),
    (ComesBackDeaf(**ALONE), "no_lost_wakeup", 17),
    (NumbersAgain(**ALONE, registrations=2), "czxid_monotone", 8),
    (TellsBrokersByName(**{**PROPOSED, **QUIETLY}, registrations=2), "live_brokers_known", 26),
    (KeepsItsContext(**ALONE), "resigned_context_empty", 15),
    (HandlesAnyway(**TOGETHER), "resigned_context_empty", 24),
    (FailsQuietly(**ALONE), "controller_started", 9),
    (DoesNotLookAgain(**ALONE), "controller_started", 12),
    (ForgetsTheVersion(**ALONE), "controller_started", 14),
    (RegistersOnce(**ALONE), "registered_when_quiet", 21),
    (ReadsBrokersOnce(**TOGETHER), "live_brokers_known", 22),
    (ControllerLife(**{**ALONE, "elect_if_none": False}), "controller_exists", 14),
    (ControllerLife(**ALONE, threads="queue"), "writes_in_its_session", 15),
    (ControllerLife(**ALONE, threads="queue"), "handles_in_its_session", 19),
    (HandlesAnyway(**TOGETHER), "resigned_does_nothing", 23),
]


@pytest.mark.parametrize(
    ("mutant", "property_", "states"),
    [
        pytest.param(
            *(mutant, name, states),
            id=f"{type(mutant).__name__}-{name}",
            marks=[pytest.mark.long] * (states > 5),
        )
        for mutant, name, states in MUTANTS
    ],
)
def test_a_mutant_breaks_its_property(mutant: Specification, property_: str, states: int) -> None:
    """At this length, and every value stays in its domain on the way."""
    result = check(mutant, properties=[property_], max_depth=states)
    assert length(result, property_) == states


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds in every system."""
    sought = {each.name for each in ControllerLife(registrations=2).properties if each.kind != "sometimes"}
    assert {name for _, name, _ in MUTANTS} == sought - {"type_ok"}


# Releases.


def test_every_release_is_mapped() -> None:
    """3.9 has every fix that Kafka made, and no proposal."""
    assert tuple(ControllerLife.releases) == RELEASES
    assert ControllerLife.releases["3.9"] == {
        "threads": "barrier",
        "listener_guard": True,
        "skip_if_self": True,
        "epoch_update": "multi",
        "fence_zk": True,
        "conditional_increment": True,
        "ephemeral_owner_check": True,
        "registers_again": False,
        "replace_registration": False,
        "broker_epoch": True,
        "reinit_only_if_expired": True,
        "ghost_check": False,
        "resign_on_move": False,
        "elect_if_none": False,
    }


@pytest.mark.parametrize(
    ("switch", "since"),
    [
        ("listener_guard", "0.10.2"),
        ("skip_if_self", "0.10.2"),
        ("fence_zk", "2.1"),
        ("ephemeral_owner_check", "2.2"),
        ("broker_epoch", "2.2"),
    ],
)
def test_a_fix_came_with_its_release(switch: str, since: str) -> None:
    """KAFKA-4447, KAFKA-4229, KAFKA-6082, KAFKA-7165, KAFKA-7235: each stays from then on."""
    having = [release for release, known in ControllerLife.releases.items() if known[switch]]
    assert having == list(RELEASES[RELEASES.index(since) :])


def test_the_threads_and_the_election_changed_with_these_releases() -> None:
    """KAFKA-5028, KAFKA-5642, KAFKA-6082; and KAFKA-13461 lasted from 2.8 to 3.0.0."""
    known = ControllerLife.releases
    assert [known[release]["threads"] for release in ("0.10.2", "0.11", "1.0", "1.1")] == [
        "lock",
        "queue",
        "queue",
        "barrier",
    ]
    assert [known[release]["epoch_update"] for release in ("1.0", "1.1", "2.0", "2.1")] == [
        "cas_swallowed",
        "cas_checked",
        "cas_checked",
        "multi",
    ]
    assert [release for release in RELEASES if not known[release]["reinit_only_if_expired"]] == ["2.8"]
    assert [known[release]["reinit_only_if_expired"] for release in ("2.7.2", "2.8.0", "3.0.0", "3.0.1")] == [
        True,
        False,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "release",
    long_unless("3.9".__eq__, ("0.10.1", "0.10.2", "1.0", "1.1", "2.1", "2.2", "3.9")),
)
def test_each_release_breaks_something(release: str) -> None:
    """Without the proposals, even the newest."""
    assert check(ControllerLife.of(**ControllerLife.releases[release])).verdict == "violated"


@pytest.mark.parametrize("release", long_unless("3.9".__eq__, ["1.1", "2.1", "2.2", "3.9"]))
def test_with_the_proposals_one_broker_satisfies_all_properties(release: str) -> None:
    """Since 1.1 a single broker needs no more than the proposals."""
    alone = {**ControllerLife.releases[release], **PROPOSED, "brokers": 1, "max_queued_events": 5, "state_writes": 1}
    assert check(ControllerLife.of(**alone, disconnections=False)).verdict == "holds"


# The layers between a broker and ZooKeeper until 1.0.


def before(release: str, **constants: Any) -> ControllerLife:
    """Return one broker of a release, with only these faults."""
    alone = {**NOTHING_FAILS, **ONCE, "brokers": 1, "max_queued_events": 5}
    return ControllerLife.of(**{**ControllerLife.releases[release], **alone, **constants})


@pytest.mark.long
def test_a_session_that_ends_in_its_election_makes_a_ghost_in_0_10_1() -> None:
    """B22, KAFKA-4229: elected in its new session, it learns of the new session, resigns, and reads its own id."""
    seen = ["controller_started"]
    result = check(before("0.10.1", max_queued_events=8), properties=seen)
    assert length(result, "controller_started") == 18
    assert actions(result)[4:7] == ["zk.expire", "learn_of_expiry", "create_controller"]
    assert said(result, 2) == ["SessionExpirationListener: it resigns", "it is this broker"]
    assert check(before("0.10.1", max_queued_events=8, skip_if_self=True), properties=seen).verdict == "holds"


@pytest.mark.parametrize(
    ("release", "states"),
    long_unless(lambda case: case[0] == "0.10.2", [("0.10.1", 23), ("0.10.2", 23), ("1.0", 19)]),
)
def test_one_lost_reply_makes_two_failovers_of_one_epoch_until_1_0(release: str, states: int) -> None:
    """B20 with a single broker: its own increment makes the retry fail, and the failure is swallowed."""
    known = {"lost_replies": True, "elections": 2}
    result = check(before(release, **known), properties=["epoch_unique"])
    assert length(result, "epoch_unique") == states
    assert "increment_epoch(broker=0, reply='lost')" in steps(result)
    checked = before(release, **known, epoch_update="cas_checked")
    assert check(checked, properties=["epoch_unique"]).verdict == "holds"


@pytest.mark.parametrize(
    ("release", "states"),
    long_unless(lambda case: case[0] == "0.10.2", [("0.10.1", 23), ("0.10.2", 23), ("1.0", 17)]),
)
def test_a_request_crosses_sessions_until_1_0(release: str, states: int) -> None:
    """B3: read in one session and written in the next, when the broker is no longer controller."""
    result = check(before(release, max_queued_events=8), properties=["writes_in_its_session"])
    assert length(result, "writes_in_its_session") == states
    assert actions(result)[-3:] == ["zk.expire", "learn_of_expiry", "update_leader_and_isr"]
