"""The JVM for pure calls: it reports its versions, refuses unknown calls, and has its release's files."""

from __future__ import annotations

import pytest

from spec.kafka.pure import PureCalls
from spec.language.errors import EnvironmentFailed
from tests.kafka.conftest import RELEASE

NOBODY = {
    "strategy": "offline",
    "replicas": [0],
    "isr": [0],
    "live": [],
    "shutting_down": [],
    "failed": [],
    "unclean": False,
}


def test_the_release_is_reported(pure: PureCalls) -> None:
    """Kafka, its ZooKeeper, and Java."""
    assert pure.about["ready"] == RELEASE
    assert set(pure.about) == {"ready", "zookeeper", "java"}


def test_many_cases_keep_their_order(pure: PureCalls) -> None:
    """Each comes with its own answer, whatever the number of lines."""
    cases = [{**NOBODY, "live": [0] * (number % 3)} for number in range(2_000)]
    answered = list(pure.of("Elections", iter(cases)))
    assert [case for case, _ in answered] == cases
    assert [answer is None for _, answer in answered] == [number % 3 == 0 for number in range(2_000)]


@pytest.mark.parametrize(
    ("call", "case", "why"),
    [
        ("Prophecies", {}, "no call Prophecies"),
        pytest.param("Elections", {}, "no replicas in", marks=pytest.mark.long),
        pytest.param("Elections", {**NOBODY, "strategy": "coin"}, "no strategy coin", marks=pytest.mark.long),
    ],
)
def test_an_unknown_call_is_refused(pure: PureCalls, call: str, case: dict[str, object], why: str) -> None:
    """It ends, and the error has its last words."""
    with (
        PureCalls(RELEASE) as doomed,
        pytest.raises(EnvironmentFailed, match=rf"ended with 2 \(malformed: {why}"),
    ):
        list(doomed.of(call, [case]))
