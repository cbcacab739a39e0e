"""Which controller epochs a broker takes, beside Kafka's ReplicaManager: requests that have nothing but an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import pytest

from spec.kafka.pure import PureCalls
from statemachines.controller import accepts

REQUESTS = ("LeaderAndIsrRequest", "StopReplicaRequest", "UpdateMetadataRequest")
EPOCHS = range(4)

Seen: TypeAlias = Sequence[tuple[dict[str, Any], dict[str, Any]]]
"""Requests with what a broker makes of them."""


@pytest.fixture(scope="module")
def seen(pure: PureCalls) -> Seen:
    """Each request, under each epoch, at a broker that knows each."""
    cases = [
        {"request": request, "known": known, "epoch": epoch}
        for request, known, epoch in product(REQUESTS, EPOCHS, EPOCHS)
    ]
    return list(pure.of("Receivers", cases))


def contradicted(seen: Seen, takes: Callable[[int, int], bool]) -> Iterator[dict[str, Any]]:
    """The requests that Kafka answers in another way, or after which a broker knows another epoch."""
    for case, answer in seen:
        taken = takes(case["known"], case["epoch"])
        if answer != {
            "error": "NONE" if taken else "STALE_CONTROLLER_EPOCH",
            "known": case["epoch"] if taken else case["known"],
        }:
            yield case


def test_what_a_broker_takes(seen: Seen) -> None:
    """What `accepts` says, of all three requests; and what it has taken, it knows."""
    assert len(seen) == 3 * 4 * 4
    assert list(contradicted(seen, accepts)) == []


@pytest.mark.parametrize(
    "wrong",
    [lambda known, epoch: epoch > known, lambda known, epoch: True, lambda known, epoch: epoch == known],
    ids=["only newer ones", "all", "only the same"],
)
def test_a_rule_that_is_wrong(seen: Seen, wrong: Callable[[int, int], bool]) -> None:
    """Kafka contradicts it, for each request."""
    assert {case["request"] for case in contradicted(seen, wrong)} == set(REQUESTS)
