"""Properties of every election, stated without saying how to elect.

A property takes a case and a strategy's result, and returns whether the result is right. Its name completes the
sentence "in a correct election ...". COMMON holds for all strategies; OWN adds, by strategy, which broker must be
elected, what becomes of the ISR, and which brokers receive the result.
"""

from collections.abc import Callable, Mapping
from itertools import takewhile

from election import NO_ELIGIBLE_LEADER, ElectionResult
from tests.election.cases import Case

Property = Callable[[Case, ElectionResult], bool]


def without_a_leader_nothing_changes(case: Case, result: ElectionResult) -> bool:
    return result.leader is not None or result == NO_ELIGIBLE_LEADER


def the_leader_is_an_online_replica(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or (result.leader in case.replicas and result.leader in case.online)


def the_leader_is_in_the_new_isr(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or (result.isr is not None and result.leader in result.isr)


def a_clean_leader_was_in_sync(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or result.unclean == (result.leader not in case.isr)


def nobody_ranked_higher_qualified(case: Case, result: ElectionResult) -> bool:
    higher = takewhile(lambda replica: replica != result.leader, case.replicas)
    qualified = case.online if result.unclean else case.online.intersection(case.isr)
    return result.leader is None or qualified.isdisjoint(higher)


def an_unclean_election_is_permitted_and_the_last_resort(case: Case, result: ElectionResult) -> bool:
    return not result.unclean or (case.unclean and case.online.isdisjoint(case.isr))


def the_isr_keeps_its_order(case: Case, result: ElectionResult) -> bool:
    return result.isr is None or result.unclean or is_thinned(result.isr, case.isr)


def recipients_are_replicas_in_their_order(case: Case, result: ElectionResult) -> bool:
    return is_thinned(result.recipients, case.replicas)


def a_qualified_replica_gets_elected(case: Case, result: ElectionResult) -> bool:
    return result.leader is not None or not case.online.intersection(case.isr).intersection(case.replicas)


def only_the_preferred_replica_gets_elected(case: Case, result: ElectionResult) -> bool:
    qualified = case.replicas[:1] and case.replicas[0] in case.online and case.replicas[0] in case.isr
    return result.leader == (case.replicas[0] if qualified else None)


def a_permitted_unclean_election_takes_place(case: Case, result: ElectionResult) -> bool:
    hopeless = case.online.isdisjoint(case.isr) and not case.online.isdisjoint(case.replicas)
    return result.unclean == (case.unclean and hopeless)


def an_election_is_clean(case: Case, result: ElectionResult) -> bool:
    return not result.unclean


def an_unclean_leader_stands_alone(case: Case, result: ElectionResult) -> bool:
    return not result.unclean or result.isr == (result.leader,)


def exactly_the_offline_leave_the_isr(case: Case, result: ElectionResult) -> bool:
    return result.isr is None or result.unclean or set(case.isr).difference(result.isr) == set(case.isr) - case.online


def exactly_the_leaving_leave_the_isr(case: Case, result: ElectionResult) -> bool:
    return result.isr is None or set(case.isr).difference(result.isr) == case.shutting_down.intersection(case.isr)


def nobody_leaves_the_isr(case: Case, result: ElectionResult) -> bool:
    return result.isr is None or len(result.isr) == len(case.isr)


def all_online_replicas_are_recipients(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or case.online.intersection(case.replicas) == set(result.recipients)


def all_live_replicas_are_recipients(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or case.live.intersection(case.replicas) == set(result.recipients)


def all_replicas_are_recipients(case: Case, result: ElectionResult) -> bool:
    return result.leader is None or set(case.replicas) == set(result.recipients)


def is_thinned(few: tuple[int, ...], many: tuple[int, ...]) -> bool:
    """Return whether `few` is `many` without some of its members, in the same order."""
    rest = iter(many)
    return all(broker in rest for broker in few)


COMMON: tuple[Property, ...] = (
    without_a_leader_nothing_changes,
    the_leader_is_an_online_replica,
    the_leader_is_in_the_new_isr,
    a_clean_leader_was_in_sync,
    nobody_ranked_higher_qualified,
    an_unclean_election_is_permitted_and_the_last_resort,
    the_isr_keeps_its_order,
    recipients_are_replicas_in_their_order,
)

OWN: Mapping[str, tuple[Property, ...]] = {
    "offline": (
        a_qualified_replica_gets_elected,
        a_permitted_unclean_election_takes_place,
        an_unclean_leader_stands_alone,
        exactly_the_offline_leave_the_isr,
        all_online_replicas_are_recipients,
    ),
    "reassign": (
        a_qualified_replica_gets_elected,
        an_election_is_clean,
        nobody_leaves_the_isr,
        all_replicas_are_recipients,
    ),
    "preferred": (
        only_the_preferred_replica_gets_elected,
        an_election_is_clean,
        nobody_leaves_the_isr,
        all_replicas_are_recipients,
    ),
    "controlled-shutdown": (
        a_qualified_replica_gets_elected,
        an_election_is_clean,
        exactly_the_leaving_leave_the_isr,
        all_live_replicas_are_recipients,
    ),
}


def broken(strategy: str, case: Case, result: ElectionResult) -> list[str]:
    """Return the names of the properties of this strategy that `result` breaks."""
    return [claim.__name__ for claim in (*COMMON, *OWN[strategy]) if not claim(case, result)]
