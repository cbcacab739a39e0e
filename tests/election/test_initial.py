"""A new partition gets its first leader and ISR as in Kafka."""

from election import NO_ELIGIBLE_LEADER, ElectionResult, initialize_leader_and_isr, leader_for_offline
from tests.election.cases import cases


def test_online_replicas_form_the_isr() -> None:
    """The online replicas, in the order of the assignment, are the ISR and the recipients; the first one leads."""
    assert initialize_leader_and_isr((3, 1, 2), {2, 3}) == ElectionResult(3, (3, 2), (3, 2), False)


def test_dead_head_is_passed_over() -> None:
    """The leader is the first online replica, preferred or not."""
    assert initialize_leader_and_isr((3, 1, 2), {1, 2}) == ElectionResult(1, (1, 2), (1, 2), False)


def test_brokers_shutting_down_do_not_count() -> None:
    """A broker that is shutting down is not online."""
    assert initialize_leader_and_isr((1, 2), {1, 2}, shutting_down={1}) == ElectionResult(2, (2,), (2,), False)


def test_without_online_replicas_there_is_no_leader() -> None:
    """Without an online replica the partition stays new."""
    assert initialize_leader_and_isr((1, 2), {3}) == NO_ELIGIBLE_LEADER
    assert initialize_leader_and_isr((1, 2), {1, 2}, shutting_down={1, 2}) == NO_ELIGIBLE_LEADER
    assert initialize_leader_and_isr((), {1}) == NO_ELIGIBLE_LEADER


def test_initial_election_equals_an_offline_one_with_all_in_sync() -> None:
    """It equals the offline election of a partition whose ISR is its assignment."""
    for case in cases(brokers=4):
        if case.isr == case.replicas and not case.unclean:
            result = initialize_leader_and_isr(case.replicas, case.live, shutting_down=case.shutting_down)
            assert case.elect(leader_for_offline) == result
