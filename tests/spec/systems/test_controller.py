"""The controller's life: what each fix prevents, and that no property or guard stands there for nothing.

A mutant is the system without one guard: of a broker's steps, of the broker that gets requests, or of the servers.
Each must break the property that the guard is there for; the bounds are those at which it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

import pytest

from spec.checking import Result, check
from spec.language import Specification, State, require
from spec.releases import RELEASES
from spec.systems.controller import ANSWERED, ControllerLife, Outliving
from spec.systems.controller_election import Servers
from statemachines.controller import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    Answer,
    Controller,
    Design,
    Do,
    KafkaController,
    Request,
)
from statemachines.znode import Operation, SetData, Stat, Transaction
from statemachines.zookeeper import Table

PROPOSED = {"ghost_check": True, "resign_on_move": True}
"""With what is open in 3.9 mended."""
NOTHING_FAILS = {"crashes": False, "operator": False, "failures": False, "lost_replies": False}
"""Sessions end, and that is all."""
ONCE = {"elections": 1, "updates": 1}
OUTLIVING = {**NOTHING_FAILS, **ONCE, "ephemeral_outlives_session": True, "sessions_per_broker": 2}
"""What a session owned is there for a while yet, and its broker has another one by then."""
DELETES = "only_owner_session_end_or_operator_deletes_controller"


def verdict(result: Result, name: str) -> str:
    """What was found out about one property."""
    return next(each.verdict for each in result.properties if each.name == name)


def length(result: Result, name: str) -> int:
    """How many states it takes to break this property, which is the one that is broken."""
    assert result.counterexample is not None
    assert (result.verdict, result.counterexample.broken) == ("violated", name)
    return result.counterexample.length


def steps(result: Result) -> list[str]:
    """The counterexample as the steps it is made of."""
    assert result.counterexample is not None
    return [str(each.step) for each in result.counterexample.steps]


def actions(result: Result) -> list[str]:
    """The names of these steps."""
    assert result.counterexample is not None
    return [each.step.action for each in result.counterexample.steps]


def said(result: Result, last: int = 1) -> list[str]:
    """What was said in the last steps, oldest first."""
    assert result.counterexample is not None
    return [sentence for each in result.counterexample.steps[-last:] for sentence in each.said]


def brokers(result: Result, action: str) -> list[int]:
    """Who took these steps of the counterexample, in order."""
    assert result.counterexample is not None
    return [each.step.parameters["broker"] for each in result.counterexample.steps if each.step.action == action]


# Each fix switched off breaks the property that it is there for, and the way to it is the one history knows.


def test_a_context_stays_where_a_failover_fails_that_moves_nobody() -> None:
    """B24: /controller is deleted, then a step of the failover fails; the broker leaves it at that."""
    result = check(ControllerLife.of(**ControllerLife.releases["3.9"]), properties=["resigned_clean"])
    assert length(result, "resigned_clean") == 11
    assert actions(result)[-3:] == ["operator_deletes_controller", "fail", "move_controller"]
    assert said(result, 2) == ["it moves the controller", "there is none: it leaves it at that"]


def test_a_context_stays_where_somebody_stands_for_election_who_was_controller() -> None:
    """B24 without a failure: the node goes between maybeResign and elect, and elect only notes that there is none."""
    result = check(ControllerLife.of(failures=False), properties=["resigned_clean"])
    assert length(result, "resigned_clean") == 23
    assert actions(result)[-3:] == ["maybe_resign", "operator_deletes_controller", "elect"]
    assert said(result, 3) == ["it is this broker", "there is none: it stands for election"]
    assert brokers(result, "maybe_resign") == brokers(result, "elect")[-1:]


@pytest.mark.parametrize("fails", [{"failures": True}, {"failures": False}])
def test_who_resigns_whenever_it_reads_another_keeps_no_context(fails: dict[str, Any]) -> None:
    """Both forms of B24 are gone with the proposal, to the end where one election is all there is."""
    proposed = ControllerLife.of(**ONCE, **fails, resign_on_move=True)
    assert check(proposed, properties=["resigned_clean"], symmetry=True).verdict == "holds"


def test_a_ghost_takes_an_old_node_of_its_own_for_its_office() -> None:
    """B22: its registration goes in time, its /controller does not; in its new session it reads that it is named."""
    result = check(ControllerLife.of(**OUTLIVING), properties=["controller_started"])
    assert length(result, "controller_started") == 16
    assert actions(result)[-4:] == ["register_broker", "watch_controller", "maybe_resign", "elect"]
    assert said(result, 2) == ["it is this broker", "it is this broker"]
    assert f"delete_at_last(path={CONTROLLER!r})" not in steps(result)


def test_a_ghost_is_found_by_the_session_that_owns_the_node() -> None:
    """KAFKA-13407: with one broker to the end, with two beyond the length without."""
    seen = ["controller_started"]
    alone = ControllerLife.of(**OUTLIVING, brokers=1, ghost_check=True)
    assert check(alone, properties=seen).verdict == "holds"
    assert check(ControllerLife.of(**OUTLIVING, ghost_check=True), properties=seen, max_depth=20).verdict == "bounded"


def test_a_broker_cannot_register_again_while_its_old_node_stands() -> None:
    """B23: nobody tries again when that node is gone."""
    result = check(ControllerLife.of(**OUTLIVING, ephemeral_owner_check=False), properties=["registered_when_quiet"])
    assert length(result, "registered_when_quiet") == 10
    assert actions(result)[-3:] == ["register_broker", "check_registration", "delete_at_last"]
    assert "the event is dropped" in said(result, 2)[0]


def test_a_broker_deletes_its_own_old_registration() -> None:
    """KAFKA-7165: with one broker to the end, with two beyond the length without."""
    seen = ["registered_when_quiet"]
    alone = check(ControllerLife.of(**OUTLIVING, brokers=1), properties=seen)
    assert alone.verdict == "holds"
    assert {each.name for each in alone.actions if each.taken} >= {"delete_registration", "delete_at_last"}
    assert check(ControllerLife.of(**OUTLIVING), properties=seen, max_depth=16).verdict == "bounded"


def test_without_fencing_the_loser_deletes_the_winners_node() -> None:
    """B43: until 2.0, a broker whose failover fails deletes /controller, which is another's by then."""
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
    "failures": False,
    "lost_replies": False,
    "updates": 1,
}


def test_without_fencing_a_zombie_writes() -> None:
    """B4: an operator deletes /controller, another broker is elected, and the old controller still writes."""
    result = check(ControllerLife.of(**ZOMBIE), properties=["fenced_writes"])
    assert length(result, "fenced_writes") == 20
    assert "operator_deletes_controller()" in steps(result)
    first, second = brokers(result, "register_controller")
    assert first != second
    assert steps(result)[-1] == f"update_leader_and_isr(broker={first}, reply='answered')"


def test_without_fencing_the_new_controllers_cache_is_out_of_date() -> None:
    """B17: it had read what the zombie then wrote, and never reads it again; brokers refuse what the zombie sends."""
    result = check(ControllerLife.of(**ZOMBIE), properties=["cache_fresh"])
    assert length(result, "cache_fresh") == 30
    first, second = brokers(result, "register_controller")
    assert first != second
    assert brokers(result, "update_leader_and_isr") == [first]
    assert steps(result)[-2:] == ["deliver_request(epoch=2)", "deliver_request(epoch=1)"]
    assert said(result, 2) == ["accepted", "STALE_CONTROLLER_EPOCH"]


@pytest.mark.parametrize("name", ["fenced_writes", "cache_fresh"])
def test_fenced_no_zombie_writes(name: str) -> None:
    """The same system with its fence, as far as it takes without."""
    result = check(ControllerLife.of(**{**ZOMBIE, "fence_zk": True}), properties=[name], max_depth=30, symmetry=True)
    assert result.verdict == "bounded"


# With everything on, all of it holds, and nothing holds because nothing happens.


def test_with_everything_on_one_broker_keeps_all_of_it() -> None:
    """Every action is taken and every witness met, in a system small enough to look at."""
    result = check(ControllerLife.of(brokers=1, **PROPOSED))
    assert (result.verdict, result.distinct_states) == ("holds", 7072)
    assert all(each.taken for each in result.actions)
    assert {each.verdict for each in result.properties} == {"holds", "witnessed"}


def test_with_one_election_two_brokers_keep_all_of_it() -> None:
    """With every fault but that of the servers; every action is taken."""
    result = check(ControllerLife.of(**ONCE, **PROPOSED), symmetry=True)
    assert (result.verdict, result.distinct_states) == ("holds", 133904)
    assert all(each.taken for each in result.actions)


WITNESSED = {
    "elected": 12,
    "elected_twice": 23,
    "reelected_after_a_crash": 17,
    "a_zombie": 16,
    "a_zombie_with_a_session": 16,
    "all_is_quiet": 14,
    "a_zombie_tries_to_write": 20,
    "a_stale_request_is_refused": 22,
    "a_broker_change": 17,
}
"""What must be able to happen, and how many states it takes."""


def witnesses(result: Result) -> dict[str, int | None]:
    """What was witnessed, by how many states."""
    return {each.name: each.length for each in result.properties if each.verdict == "witnessed"}


def test_every_witness_is_met() -> None:
    """Two brokers, two elections and two writes are enough, and none of these is too much."""
    result = check(ControllerLife.of(**PROPOSED), max_depth=24, symmetry=True)
    assert (result.verdict, witnesses(result)) == ("bounded", WITNESSED)
    assert set(WITNESSED) == {each.name for each in ControllerLife().properties if each.kind == "sometimes"}


@pytest.mark.parametrize(
    ("constants", "absent"),
    [
        ({"elections": 1}, ["elected_twice", "reelected_after_a_crash", "a_zombie", "a_stale_request_is_refused"]),
        ({"updates": 1}, ["elected_twice"]),
        ({"brokers": 1}, ["reelected_after_a_crash", "a_zombie", "a_stale_request_is_refused", "a_broker_change"]),
        ({"operator": False}, ["a_zombie_with_a_session"]),
        ({"crashes": False}, ["reelected_after_a_crash"]),
    ],
    ids=str,
)
def test_a_witness_that_cannot_be_met_is_absent(constants: dict[str, Any], absent: list[str]) -> None:
    """It is not asked for, so that nothing is missing."""
    asked = {each.name for each in ControllerLife.of(**constants).properties}
    assert not asked & set(absent)


@pytest.mark.long
def test_with_everything_on_all_of_it_holds() -> None:
    """The constants as they are: no bound but theirs, every action taken, every witness met."""
    result = check(ControllerLife.of(**PROPOSED), symmetry=True)
    assert (result.verdict, result.distinct_states) == ("holds", 9821219)
    assert all(each.taken for each in result.actions)
    assert witnesses(result) == WITNESSED


@pytest.mark.parametrize("constants", [NOTHING_FAILS, {"failures": False}, {"operator": False}, {"crashes": False}])
def test_what_cannot_happen_is_absent_not_missing(constants: dict[str, Any]) -> None:
    """An action whose fault is off is not asked for; what is left is taken, and all of it holds."""
    assert check(ControllerLife.of(**{**ONCE, **PROPOSED, **constants}), symmetry=True).verdict == "holds"


# Every guard that matters: the system without it, and the property that sees it. First the steps of a broker.


class Mutant(ControllerLife):
    """The system whose brokers take other steps, where these differ."""

    steps: ClassVar[type[KafkaController]] = KafkaController

    def controller(self, s: State, broker: int) -> KafkaController:
        return self.steps(self.design, self.zookeeper(s), broker)

    def request(self, s: State, broker: int, do: Do, step: Request, reply: str = ANSWERED) -> None:
        super().request(s, broker, do, getattr(self.steps, step.__name__), reply)


ANY_EPOCH = 99
CONTEXT = ("listens", "started", "live", "cached")


def changed(answer: Answer, **known: Any) -> Answer:
    """What a broker knows after an answer, but for this; an end of its session is left as it is."""
    if answer.controller.session is None:
        return answer
    return answer._replace(controller=answer.controller._replace(**known))


class UnconditionalIncrement(Mutant):
    """The multi sets the epoch whatever its version is."""

    class steps(KafkaController):  # noqa: N801
        def asks(self, me: Controller) -> tuple[Operation, ...]:
            asked = super().asks(me)
            return tuple(each._replace(version=-1) if isinstance(each, SetData) else each for each in asked)


class EpochStartsAgain(Mutant):
    """Every second controller puts the epoch back to where it began."""

    class steps(KafkaController):  # noqa: N801
        def asks(self, me: Controller) -> tuple[Operation, ...]:
            asked = super().asks(me)
            if not me.about_to(Do.RegisterController):
                return asked
            return (asked[0], SetData(CONTROLLER_EPOCH, (me.epoch + 1) % 2, me.epoch_zk_version))


class DoesNotLookAgain(Mutant):
    """Who is refused takes it for somebody else's doing, even if its own reply was lost."""

    @cached_property
    def design(self) -> Design:
        return super().design._replace(looks_again=False)


class TakesItForItsOwn(Mutant):
    """Who is refused takes it for its own doing, whoever is controller."""

    class steps(KafkaController):  # noqa: N801
        def check_controller(self, me: Controller) -> Answer:
            super().check_controller(me)
            return Answer(self.deliver(me.on()), "")


class UnfencedDelete(Mutant):
    """Writes are fenced, and the deletion of /controller is not."""

    class steps(KafkaController):  # noqa: N801
        def _fence(self, me: Controller) -> Iterator[Operation]:
            return iter(()) if me.about_to(Do.DeleteController) else super()._fence(me)


class TakesOverAnyState(Mutant):
    """A controller elects a leader even if a newer controller wrote the state."""

    class steps(KafkaController):  # noqa: N801
        def read_partition_state(self, me: Controller) -> Answer:
            answer = super().read_partition_state(me._replace(epoch=ANY_EPOCH))
            return changed(answer, epoch=me.epoch)


class AnswersOvertake(Mutant):
    """What a watch has to tell may arrive after the answer to a later request."""

    class steps(KafkaController):  # noqa: N801
        def deliver(self, me: Controller) -> Controller:
            return me

    def deliver_event(self, s: State, broker: int) -> None:
        me = s.controllers[broker]
        require(me.session is not None and s.events[me.session])
        s.controllers[broker] = KafkaController.deliver(self.controller(s, broker), me)


class NeverResigns(Mutant):
    """Who was controller, and reads that another is, goes on."""

    class steps(KafkaController):  # noqa: N801
        def maybe_resign(self, me: Controller) -> Answer:
            known = {name: getattr(me, name) for name in (*CONTEXT, "active", "epoch", "epoch_zk_version")}
            return changed(super().maybe_resign(me), **known) if me.active else super().maybe_resign(me)


class WatchesOnce(Mutant):
    """A controller that hears of /controller does not watch it again."""

    class steps(KafkaController):  # noqa: N801
        def watch_controller(self, me: Controller) -> Answer:
            return Answer(me.on(), "") if me.active else super().watch_controller(me)


class KeepsItsContext(Mutant):
    """maybeResign takes nothing down."""

    class steps(KafkaController):  # noqa: N801
        def maybe_resign(self, me: Controller) -> Answer:
            return changed(super().maybe_resign(me), **{name: getattr(me, name) for name in CONTEXT})


class HandlesAnyway(Mutant):
    """A BrokerChange that is handled after a resignation is handled as before it."""

    class steps(KafkaController):  # noqa: N801
        def handle(self, me: Controller) -> Answer:
            answer = super().handle(me._replace(active=True))
            return changed(answer, active=me.active)


class ForgetsTheVersion(Mutant):
    """Who resigns to move the controller forgets the version that the deletion of /controller checks."""

    class steps(KafkaController):  # noqa: N801
        def _to_move(self, me: Controller) -> Controller:
            return super()._to_move(me)._replace(epoch_zk_version=0)


class FailsQuietly(Mutant):
    """A failover that fails is logged, and that is all."""

    class steps(KafkaController):  # noqa: N801
        def fail(self, me: Controller) -> Answer:
            return Answer(me.to()._replace(state_version=0), "")


class RegistersOnce(Mutant):
    """In its new session a broker elects, and does not register."""

    class steps(KafkaController):  # noqa: N801
        def register_broker(self, me: Controller) -> Answer:
            return Answer(me.on(), "") if Do.MaybeResign in me.doing else super().register_broker(me)


class CachesNothingOfItsOwn(Mutant):
    """A controller's cache has what it read, and not what it wrote."""

    class steps(KafkaController):  # noqa: N801
        def update_leader_and_isr(self, me: Controller) -> Answer:
            answer = super().update_leader_and_isr(me)
            return changed(answer, cached=me.cached)


class CachesTooEarly(Mutant):
    """A controller's cache has what it is about to write."""

    class steps(KafkaController):  # noqa: N801
        def read_partition_state(self, me: Controller) -> Answer:
            answer = super().read_partition_state(me)
            writes = answer.controller.about_to(Do.UpdateLeaderAndIsr)
            return changed(answer, cached=answer.controller.state_version + 1) if writes else answer


# A broker that gets requests, and servers that are wrong in one point each.


class TakesAnyRequest(ControllerLife):
    """A broker does not ask which controller a request is from."""

    def deliver_request(self, s: State, epoch: int) -> None:
        require(epoch in s.requests)
        s.requests -= {epoch}
        s.known_epoch = epoch


class EphemeralsOutlive(ControllerLife):
    """On a ZooKeeper that does not delete what an ended session owns, and is said to."""

    zookeeper = Outliving


class WatchesStay(ControllerLife):
    """On a ZooKeeper whose watches fire more than once."""

    class zookeeper(Servers):  # noqa: N801
        def _disarm(self, table: Table, path: str) -> list[Any]:
            return list(self._watches(table)[path])


class ChildrenUnwatched(ControllerLife):
    """On a ZooKeeper that arms no watch on children."""

    class zookeeper(Servers):  # noqa: N801
        def _arm(self, table: Table, path: str, session: Any) -> None:
            if table == "data_watches":
                super()._arm(table, path, session)


class VersionsStay(ControllerLife):
    """On a ZooKeeper that does not count the writes of a node."""

    class zookeeper(Servers):  # noqa: N801
        class transaction(Transaction):  # noqa: N801
            def set(self, path: str, data: Any, version: int) -> Stat:
                stat = super().set(path, data, version)
                self.nodes[path] = self.nodes[path]._replace(version=stat.version - 1)
                return stat


class ChecksPass(ControllerLife):
    """On a ZooKeeper whose multi does not look at its checks."""

    class zookeeper(Servers):  # noqa: N801
        class transaction(Transaction):  # noqa: N801
            def check(self, path: str, version: int) -> None:
                """Passes whatever the version is."""


class KeepsWhatWasDone(ControllerLife):
    """On a ZooKeeper whose multi keeps the operations before the one that failed."""

    class zookeeper(Servers):  # noqa: N801
        class transaction(Transaction):  # noqa: N801
            def apply(self, session: Any, operation: Operation) -> Any:
                result = super().apply(session, operation)
                self.commit()
                return result


ALONE = {**PROPOSED, "brokers": 1}
TOGETHER = {**PROPOSED, "crashes": False}
"""What is open in 3.9 is mended, so that it is the mutant that breaks a property."""

MUTANTS: list[tuple[Specification, str, int]] = [
    (EphemeralsOutlive(**ALONE), "ephemeral_owned", 5),
    (VersionsStay(**ALONE), "version_step", 8),
    (WatchesStay(**ALONE), "one_shot", 8),
    (UnfencedDelete(**TOGETHER), DELETES, 19),
    (EpochStartsAgain(**ALONE), "epoch_monotone", 17),
    (UnconditionalIncrement(**TOGETHER, lost_replies=False), "epoch_unique", 16),
    (TakesItForItsOwn(**TOGETHER), "epoch_unique", 17),
    (UnconditionalIncrement(**TOGETHER, lost_replies=False), "one_effective", 16),
    (ChecksPass(**TOGETHER), "fenced_writes", 20),
    (KeepsWhatWasDone(**ALONE), "multi_atomic", 10),
    (AnswersOvertake(**ALONE), "watch_before_data", 8),
    (NeverResigns(**TOGETHER), "active_has_node", 15),
    (TakesAnyRequest(**TOGETHER), "broker_sees_monotone", 22),
    (TakesOverAnyState(**TOGETHER, fence_zk=False), "state_writer_monotone", 24),
    (CachesNothingOfItsOwn(**ALONE), "cache_fresh", 16),
    (CachesTooEarly(**ALONE), "cache_not_ahead", 11),
    (WatchesOnce(**ALONE), "no_lost_wakeup", 13),
    (ChildrenUnwatched(**ALONE), "no_lost_wakeup", 10),
    (KeepsItsContext(**ALONE), "resigned_clean", 14),
    (HandlesAnyway(**TOGETHER), "resigned_clean", 19),
    (FailsQuietly(**ALONE), "controller_started", 9),
    (DoesNotLookAgain(**ALONE), "controller_started", 11),
    (ForgetsTheVersion(**ALONE), "controller_started", 14),
    (RegistersOnce(**ALONE), "registered_when_quiet", 18),
]


@pytest.mark.parametrize(
    ("mutant", "property_", "states"), MUTANTS, ids=[f"{type(mutant).__name__}-{name}" for mutant, name, _ in MUTANTS]
)
def test_a_mutant_breaks_the_property_that_is_there_for_it(
    mutant: Specification, property_: str, states: int
) -> None:
    """By so many states, and no value has left its domain on the way."""
    result = check(mutant, properties=[property_], max_depth=states)
    assert length(result, property_) == states


def test_every_property_is_broken_by_some_mutant() -> None:
    """None of them holds whatever the system does."""
    sought = {each.name for each in ControllerLife().properties if each.kind != "sometimes"}
    assert {name for _, name, _ in MUTANTS} == sought - {"type_ok"}


def test_only_what_differs_breaks_it() -> None:
    """A mutant that differs in nothing keeps all of it."""
    assert check(Mutant(**ALONE)).verdict == "holds"


# Releases.


def test_the_releases_from_1_1_on_are_mapped() -> None:
    """Those before it handle events otherwise, and are not modelled."""
    assert tuple(ControllerLife.releases) == RELEASES[RELEASES.index("1.1") :]
    assert ControllerLife.releases["3.9"] == {
        "epoch_update": "multi",
        "fence_zk": True,
        "ephemeral_owner_check": True,
        "ghost_check": False,
        "resign_on_move": False,
    }


@pytest.mark.parametrize(
    ("release", "election", "fenced", "owner_check"),
    [("1.1", "cas_checked", False, False), ("2.1", "multi", True, False), ("2.2", "multi", True, True)],
)
def test_a_release_does_it_as_history_has_it(release: str, election: str, fenced: bool, owner_check: bool) -> None:
    """KAFKA-6082 came with 2.1, KAFKA-7165 with 2.2; what is proposed, with none."""
    known = ControllerLife.releases[release]
    assert (known["epoch_update"], known["fence_zk"], known["ephemeral_owner_check"]) == (
        election,
        fenced,
        owner_check,
    )
    assert not known["ghost_check"]
    assert not known["resign_on_move"]
    mended = ControllerLife.of(**{**known, **PROPOSED}, brokers=1)
    assert check(mended).verdict == "holds"
