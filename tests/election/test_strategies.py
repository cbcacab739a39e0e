"""The four strategies elect as Kafka does."""

from itertools import permutations

import pytest

from election import (
    NO_ELIGIBLE_LEADER,
    STRATEGIES,
    ElectionResult,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassign,
)
from tests.election.cases import Case, cases, cases_of, orderings
from tests.election.properties import broken

every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)
every_other_strategy = pytest.mark.parametrize(
    "strategy", [name for name in STRATEGIES if name != "controlled-shutdown"]
)


# All inputs.


@every_strategy
def test_properties_hold_among_four_brokers(strategy: str) -> None:
    """Every election among up to four brokers satisfies all properties of its strategy."""
    elect = STRATEGIES[strategy]
    for case in cases(brokers=4):
        result = case.elect(elect)
        assert not broken(strategy, case, result), (case, result)


@every_strategy
def test_properties_hold_for_every_assignment(strategy: str) -> None:
    """Among three brokers they hold for every assignment, not only for the representative ones."""
    elect = STRATEGIES[strategy]
    for replicas in orderings((0, 1, 2)):
        for case in cases_of(replicas, brokers=3):
            result = case.elect(elect)
            assert not broken(strategy, case, result), (case, result)


@every_strategy
def test_broker_ids_do_not_matter(strategy: str) -> None:
    """Renaming the brokers renames the result and changes nothing more."""
    elect = STRATEGIES[strategy]
    for names in permutations((0, 7, 1000)):
        for case in cases(brokers=3):
            result = case.elect(elect)
            expected = (
                result
                if result.leader is None
                else ElectionResult(
                    leader=names[result.leader],
                    isr=tuple(names[broker] for broker in result.isr or ()),
                    recipients=tuple(names[broker] for broker in result.recipients),
                    unclean=result.unclean,
                )
            )
            renamed = Case(
                replicas=tuple(names[broker] for broker in case.replicas),
                isr=tuple(names[broker] for broker in case.isr),
                live=frozenset(names[broker] for broker in case.live),
                shutting_down=frozenset(names[broker] for broker in case.shutting_down),
                unclean=case.unclean,
            )
            assert expected == renamed.elect(elect)


# How the strategies relate.


@every_other_strategy
def test_shutting_down_is_as_good_as_dead(strategy: str) -> None:
    """All but controlled shutdown treat a broker that is shutting down as if it were not up."""
    elect = STRATEGIES[strategy]
    for case in cases(brokers=3):
        dead = case._replace(live=case.online, shutting_down=frozenset())
        assert dead.elect(elect) == case.elect(elect)


def test_strategies_agree_on_a_clean_leader() -> None:
    """Offline, reassign and controlled shutdown find the same clean leader; preferred finds it or none."""
    for case in cases(brokers=3):
        clean = case._replace(unclean=False)
        leader = clean.elect(leader_for_offline).leader
        assert leader == clean.elect(leader_for_reassign).leader
        assert leader == clean.elect(leader_for_controlled_shutdown).leader
        assert clean.elect(leader_for_preferred_replica).leader in (leader, None)


def test_strategies_agree_when_all_are_online() -> None:
    """With every broker up and staying, no strategy touches the ISR, and all send to all replicas."""
    for case in cases(brokers=3):
        if case.online == {0, 1, 2}:
            clean = case._replace(unclean=False)
            results = {clean.elect(elect) for elect in STRATEGIES.values()} - {NO_ELIGIBLE_LEADER}
            assert len(results) <= 1
            assert all((case.isr, case.replicas) == (result.isr, result.recipients) for result in results)


@every_strategy
def test_permission_never_changes_a_clean_election(strategy: str) -> None:
    """If a leader is found without it, permission for an unclean election changes nothing."""
    elect = STRATEGIES[strategy]
    for case in cases(brokers=3):
        clean = case._replace(unclean=False).elect(elect)
        assert clean in (NO_ELIGIBLE_LEADER, case._replace(unclean=True).elect(elect))


@every_strategy
def test_electing_twice_elects_the_same(strategy: str) -> None:
    """A second election from the resulting ISR is clean and gives the same result."""
    elect = STRATEGIES[strategy]
    for case in cases(brokers=3):
        result = case.elect(elect)
        if result.isr is not None:
            assert result._replace(unclean=False) == case._replace(isr=result.isr).elect(elect)


@every_strategy
def test_unassigned_brokers_do_not_matter(strategy: str) -> None:
    """Brokers that are neither assigned nor in sync may be up or not."""
    elect = STRATEGIES[strategy]
    for case in cases(brokers=3):
        known = frozenset(case.replicas).union(case.isr)
        without = case._replace(live=case.live & known, shutting_down=case.shutting_down & known)
        assert without.elect(elect) == case.elect(elect)


# Cases worked by hand.


def test_offline_searches_in_the_order_of_the_assignment() -> None:
    """Replica 2 precedes 3 in the assignment, so it leads though 3 precedes it in the ISR, which keeps its order."""
    assert leader_for_offline((1, 2, 3), (3, 1, 2), {2, 3}) == ElectionResult(2, (3, 2), (2, 3), False)


def test_offline_without_permission_waits() -> None:
    """With no live member of the ISR there is no leader, however many other replicas are up."""
    assert leader_for_offline((1, 2, 3), (1,), {2, 3}) == NO_ELIGIBLE_LEADER


def test_offline_with_permission_takes_the_first_online_replica() -> None:
    """The unclean leader is the first online replica of the assignment and becomes the whole ISR."""
    assert leader_for_offline((1, 2, 3), (1,), {2, 3}, unclean=True) == ElectionResult(2, (2,), (2, 3), True)


def test_offline_with_permission_and_an_empty_isr() -> None:
    """An empty ISR is one without live members."""
    assert leader_for_offline((1, 2), (), {2}, unclean=True) == ElectionResult(2, (2,), (2,), True)


def test_offline_with_permission_prefers_a_clean_leader() -> None:
    """A live member of the ISR is elected although an earlier replica is up."""
    assert leader_for_offline((1, 2, 3), (3,), {1, 2, 3}, unclean=True) == ElectionResult(3, (3,), (1, 2, 3), False)


def test_offline_without_any_replica_online() -> None:
    """Without an online replica, permission does not help either."""
    assert leader_for_offline((1, 2), (1, 2), {3}, unclean=True) == NO_ELIGIBLE_LEADER


def test_offline_keeps_a_live_outsider_in_the_isr() -> None:
    """A live member of the ISR outside the assignment stays in it, and is neither elected nor a recipient."""
    assert leader_for_offline((1, 2), (3, 2), {1, 2, 3}) == ElectionResult(2, (3, 2), (1, 2), False)


def test_offline_is_not_unclean_beside_a_live_outsider() -> None:
    """While a member of the ISR lives, even one outside the assignment, no unclean election takes place."""
    assert leader_for_offline((1, 2), (2, 3), {1, 3}, unclean=True) == NO_ELIGIBLE_LEADER
    assert leader_for_offline((1, 2), (2, 3), {1}, unclean=True) == ElectionResult(1, (1,), (1,), True)


def test_offline_skips_brokers_shutting_down() -> None:
    """A broker that is shutting down is not elected, kept in the ISR or a recipient, though it is up."""
    result = leader_for_offline((1, 2, 3), (1, 2), {1, 2, 3}, shutting_down={1})
    assert result == ElectionResult(2, (2,), (2, 3), False)


def test_broker_zero_can_lead() -> None:
    """Broker 0 is elected like any other."""
    assert all(elect((0, 1), (0, 1), {0, 1}).leader == 0 for elect in STRATEGIES.values())


def test_reassign_moves_to_the_target_replicas() -> None:
    """Of the targets 4, 5, 6 the first one leads, and the ISR still holds the old replicas 1, 2, 3."""
    result = leader_for_reassign((4, 5, 6), (1, 2, 3, 4, 5, 6), {1, 2, 3, 4, 5, 6})
    assert result == ElectionResult(4, (1, 2, 3, 4, 5, 6), (4, 5, 6), False)


def test_reassign_keeps_the_dead() -> None:
    """A dead target is passed over, and yet stays in the ISR and among the recipients."""
    assert leader_for_reassign((4, 5), (4, 5, 1), {1, 5}) == ElectionResult(5, (4, 5, 1), (4, 5), False)


def test_reassign_needs_a_target_in_sync() -> None:
    """Targets that are up but not in sync do not lead, with permission or without."""
    assert leader_for_reassign((4, 5), (1, 2), {1, 2, 4, 5}, unclean=True) == NO_ELIGIBLE_LEADER


def test_preferred_elects_the_head() -> None:
    """The first assigned replica leads again; a dead member stays in the ISR and is a recipient."""
    assert leader_for_preferred_replica((1, 2, 3), (2, 3, 1), {1, 2}) == ElectionResult(
        1, (2, 3, 1), (1, 2, 3), False
    )


@pytest.mark.parametrize(
    ("isr", "live", "shutting_down"),
    [((1, 2), {2}, set()), ((2,), {1, 2}, set()), ((1, 2), {1, 2}, {1})],
    ids=["dead", "out of sync", "shutting down"],
)
def test_preferred_elects_only_the_head(isr: tuple[int, ...], live: set[int], shutting_down: set[int]) -> None:
    """If the head does not qualify, none is elected, though the next replica would qualify."""
    assert leader_for_preferred_replica((1, 2), isr, live, shutting_down=shutting_down) == NO_ELIGIBLE_LEADER


def test_controlled_shutdown_hands_over() -> None:
    """The leaving leader quits the ISR, the next replica in sync leads, and both are recipients."""
    result = leader_for_controlled_shutdown((1, 2, 3), (1, 2, 3), {1, 2, 3}, shutting_down={1})
    assert result == ElectionResult(2, (2, 3), (1, 2, 3), False)


def test_controlled_shutdown_keeps_the_dead() -> None:
    """A dead member of the ISR is not elected and is no recipient, but stays in it."""
    result = leader_for_controlled_shutdown((1, 2, 3), (1, 2, 3), {1, 3}, shutting_down={1})
    assert result == ElectionResult(3, (2, 3), (1, 3), False)


def test_controlled_shutdown_of_all_candidates() -> None:
    """If all live members of the ISR are leaving, none takes over, not even uncleanly."""
    result = leader_for_controlled_shutdown((1, 2, 3), (1, 2), {1, 2, 3}, shutting_down={1, 2}, unclean=True)
    assert result == NO_ELIGIBLE_LEADER


@every_strategy
def test_no_replicas_no_leader(strategy: str) -> None:
    """A partition without assigned replicas has no leader, whatever its ISR says."""
    assert STRATEGIES[strategy]((), (1, 2), {1, 2}, unclean=True) == NO_ELIGIBLE_LEADER


@every_strategy
def test_without_live_brokers_there_is_no_leader(strategy: str) -> None:
    """With all brokers down none is elected."""
    assert STRATEGIES[strategy]((1, 2), (1, 2), (), unclean=True) == NO_ELIGIBLE_LEADER


# Names, containers, purity.


def test_strategies_go_by_their_names() -> None:
    """The table has Kafka's four strategies and cannot be changed."""
    assert {
        "offline": leader_for_offline,
        "reassign": leader_for_reassign,
        "preferred": leader_for_preferred_replica,
        "controlled-shutdown": leader_for_controlled_shutdown,
    } == STRATEGIES
    with pytest.raises(TypeError, match="does not support item assignment"):
        STRATEGIES["offline"] = leader_for_reassign  # type: ignore[index]


@every_strategy
def test_container_types_do_not_matter(strategy: str) -> None:
    """Lists are accepted as well as tuples and sets, in any order where order has no meaning; results have tuples."""
    elect = STRATEGIES[strategy]
    result = elect((2, 3, 1), (1, 3, 2), frozenset({1, 2, 3, 4}), shutting_down=frozenset({2, 4}))
    assert result == elect([2, 3, 1], [1, 3, 2], [4, 3, 2, 1], shutting_down=[4, 2])
    assert result == elect((2, 3, 1), (1, 3, 2), range(1, 5), shutting_down=dict.fromkeys([2, 4]).keys())
    assert hash(elect([2, 3, 1], [1, 3, 2], [4, 3, 2, 1])) is not None


@every_strategy
def test_arguments_stay_as_they_were(strategy: str) -> None:
    """An election changes none of its arguments, and its result does not share them."""
    replicas, isr, live, shutting_down = [1, 2, 3], [3, 2, 1], {1, 2}, {2}
    result = STRATEGIES[strategy](replicas, isr, live, shutting_down=shutting_down, unclean=True)
    assert ([1, 2, 3], [3, 2, 1], {1, 2}, {2}) == (replicas, isr, live, shutting_down)
    for argument in (replicas, isr, live, shutting_down):
        argument.clear()
    assert result == STRATEGIES[strategy]([1, 2, 3], [3, 2, 1], {1, 2}, shutting_down={2}, unclean=True)
