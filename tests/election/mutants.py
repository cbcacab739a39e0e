"""Strategies with one mistake each, and the property that must notice it.

A mutant changes the arguments of the right strategy or its result, so nothing here elects by itself.
"""

from collections.abc import Callable
from typing import NamedTuple

from election import (
    ElectionResult,
    leader_for_controlled_shutdown,
    leader_for_offline,
    leader_for_preferred_replica,
    leader_for_reassign,
)
from tests.election import properties
from tests.election.cases import Case


class Mutant(NamedTuple):
    """A wrong strategy."""

    mistake: str
    strategy: str
    noticed_by: properties.Property
    elect: Callable[[Case, ElectionResult], ElectionResult]
    """Takes a case and the right result; returns the wrong one."""


def searches_in_isr_order(case: Case, right: ElectionResult) -> ElectionResult:
    qualified = [broker for broker in case.isr if broker in case.replicas and broker in case.online]
    return right._replace(leader=qualified[0]) if qualified and right.leader is not None else right


def with_isr(right: ElectionResult, isr: tuple[int, ...]) -> ElectionResult:
    return right if right.leader is None else right._replace(isr=isr)


def with_recipients(right: ElectionResult, recipients: tuple[int, ...]) -> ElectionResult:
    return right if right.leader is None else right._replace(recipients=recipients)


def only(brokers: frozenset[int], ordered: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(broker for broker in ordered if broker in brokers)


MUTANTS = (
    Mutant(
        "offline searches in the order of the ISR",
        "offline",
        properties.nobody_ranked_higher_qualified,
        searches_in_isr_order,
    ),
    Mutant(
        "reassign searches in the order of the ISR",
        "reassign",
        properties.nobody_ranked_higher_qualified,
        searches_in_isr_order,
    ),
    Mutant(
        "controlled shutdown searches in the order of the ISR",
        "controlled-shutdown",
        properties.nobody_ranked_higher_qualified,
        searches_in_isr_order,
    ),
    Mutant(
        "offline searches by number",
        "offline",
        properties.nobody_ranked_higher_qualified,
        lambda case, right: case._replace(replicas=tuple(sorted(case.replicas))).elect(leader_for_offline),
    ),
    Mutant(
        "reassign elects from the ISR outside the assignment",
        "reassign",
        properties.the_leader_is_an_online_replica,
        lambda case, right: case._replace(
            replicas=(*case.replicas, *only(frozenset(case.isr).difference(case.replicas), case.isr))
        ).elect(leader_for_reassign),
    ),
    Mutant(
        "offline takes a broker that is shutting down for live",
        "offline",
        properties.the_leader_is_an_online_replica,
        lambda case, right: case._replace(shutting_down=frozenset()).elect(leader_for_offline),
    ),
    Mutant(
        "reassign takes a broker that is shutting down for live",
        "reassign",
        properties.the_leader_is_an_online_replica,
        lambda case, right: case._replace(shutting_down=frozenset()).elect(leader_for_reassign),
    ),
    Mutant(
        "preferred takes a broker that is shutting down for live",
        "preferred",
        properties.the_leader_is_an_online_replica,
        lambda case, right: case._replace(shutting_down=frozenset()).elect(leader_for_preferred_replica),
    ),
    Mutant(
        "controlled shutdown takes a broker that is shutting down for dead",
        "controlled-shutdown",
        properties.all_live_replicas_are_recipients,
        lambda case, right: with_recipients(right, only(case.online, case.replicas)),
    ),
    Mutant(
        "offline keeps the dead in the ISR",
        "offline",
        properties.exactly_the_offline_leave_the_isr,
        lambda case, right: right if right.unclean else with_isr(right, case.isr),
    ),
    Mutant(
        "offline drops unassigned members from the ISR",
        "offline",
        properties.exactly_the_offline_leave_the_isr,
        lambda case, right: (
            right if right.isr is None else right._replace(isr=only(frozenset(case.replicas), right.isr))
        ),
    ),
    Mutant(
        "offline writes the ISR in the order of the assignment",
        "offline",
        properties.the_isr_keeps_its_order,
        lambda case, right: (
            right if right.isr is None else right._replace(isr=only(frozenset(right.isr), case.replicas))
        ),
    ),
    Mutant(
        "reassign drops the dead from the ISR",
        "reassign",
        properties.nobody_leaves_the_isr,
        lambda case, right: with_isr(right, only(case.online, case.isr)),
    ),
    Mutant(
        "preferred drops the dead from the ISR",
        "preferred",
        properties.nobody_leaves_the_isr,
        lambda case, right: with_isr(right, only(case.online, case.isr)),
    ),
    Mutant(
        "controlled shutdown drops the dead from the ISR",
        "controlled-shutdown",
        properties.exactly_the_leaving_leave_the_isr,
        lambda case, right: with_isr(right, only(case.online, case.isr)),
    ),
    Mutant(
        "controlled shutdown keeps brokers that are shutting down in the ISR",
        "controlled-shutdown",
        properties.exactly_the_leaving_leave_the_isr,
        lambda case, right: with_isr(right, case.isr),
    ),
    Mutant(
        "controlled shutdown elects a dead member of the ISR",
        "controlled-shutdown",
        properties.the_leader_is_an_online_replica,
        lambda case, right: case._replace(live=case.live.union(case.isr)).elect(leader_for_controlled_shutdown),
    ),
    Mutant(
        "preferred goes on to the next replica",
        "preferred",
        properties.only_the_preferred_replica_gets_elected,
        lambda case, right: case.elect(leader_for_reassign),
    ),
    Mutant(
        "offline considers only the preferred replica",
        "offline",
        properties.a_qualified_replica_gets_elected,
        lambda case, right: case._replace(replicas=case.replicas[:1]).elect(leader_for_offline),
    ),
    Mutant(
        "offline elects uncleanly without permission",
        "offline",
        properties.an_unclean_election_is_permitted_and_the_last_resort,
        lambda case, right: case._replace(unclean=True).elect(leader_for_offline),
    ),
    Mutant(
        "offline elects uncleanly though a member of the ISR is live outside the assignment",
        "offline",
        properties.an_unclean_election_is_permitted_and_the_last_resort,
        lambda case, right: case._replace(isr=only(frozenset(case.replicas), case.isr)).elect(leader_for_offline),
    ),
    Mutant(
        "offline never elects uncleanly",
        "offline",
        properties.a_permitted_unclean_election_takes_place,
        lambda case, right: case._replace(unclean=False).elect(leader_for_offline),
    ),
    Mutant(
        "offline does not report that it elected uncleanly",
        "offline",
        properties.a_clean_leader_was_in_sync,
        lambda case, right: right._replace(unclean=False),
    ),
    Mutant(
        "offline keeps the old ISR beside an unclean leader",
        "offline",
        properties.an_unclean_leader_stands_alone,
        lambda case, right: right._replace(isr=(*case.isr, *right.recipients[:1])) if right.unclean else right,
    ),
    Mutant(
        "offline leaves an unclean leader out of the ISR",
        "offline",
        properties.the_leader_is_in_the_new_isr,
        lambda case, right: right._replace(isr=()) if right.unclean else right,
    ),
    Mutant(
        "reassign elects uncleanly",
        "reassign",
        properties.an_election_is_clean,
        lambda case, right: case.elect(leader_for_offline),
    ),
    Mutant(
        "offline sends to the dead too",
        "offline",
        properties.all_online_replicas_are_recipients,
        lambda case, right: with_recipients(right, case.replicas),
    ),
    Mutant(
        "reassign sends to no dead broker",
        "reassign",
        properties.all_replicas_are_recipients,
        lambda case, right: with_recipients(right, only(case.online, case.replicas)),
    ),
    Mutant(
        "preferred sends to the ISR",
        "preferred",
        properties.recipients_are_replicas_in_their_order,
        lambda case, right: with_recipients(right, case.isr),
    ),
    Mutant(
        "preferred sends to the replicas when none was elected",
        "preferred",
        properties.without_a_leader_nothing_changes,
        lambda case, right: right._replace(recipients=case.replicas),
    ),
    Mutant(
        "offline empties the ISR when none was elected",
        "offline",
        properties.without_a_leader_nothing_changes,
        lambda case, right: right._replace(isr=right.isr or ()),
    ),
)
