"""The result of an election is a value."""

import pytest

from election import NO_ELIGIBLE_LEADER, ElectionResult


def test_result_cannot_be_changed() -> None:
    """Assigning to a field is refused."""
    with pytest.raises(AttributeError):
        NO_ELIGIBLE_LEADER.leader = 1  # type: ignore[misc]


def test_result_is_equal_by_value() -> None:
    """Equal results are equal, hash alike, and unpack in the order leader, ISR, recipients, unclean."""
    result = ElectionResult(leader=1, isr=(1, 2), recipients=(1, 2, 3), unclean=False)
    assert len({result, ElectionResult(1, (1, 2), (1, 2, 3), False)}) == 1
    assert tuple(result) == (1, (1, 2), (1, 2, 3), False)


def test_no_leader() -> None:
    """Without a leader there is no new ISR, no recipient, and no unclean election."""
    assert ElectionResult(leader=None, isr=None, recipients=(), unclean=False) == NO_ELIGIBLE_LEADER
