"""Rates and times of a controller's metrics, as functions of the time that has passed."""

from __future__ import annotations

import pytest

from statemachines import Cluster
from statemachines.cluster_steps import AdvanceController, TakeRequest
from statemachines.controller.metrics import Meter
from tests.rows import rows

STATS = "kafka.controller:type=ControllerStats,name="
QUEUE = "kafka.controller:type=ControllerChannelManager,name=RequestRateAndQueueTimeMs,broker-id="


class Clock:
    """A time that a test sets."""

    now = 1_000_000

    def meter(self) -> Meter:
        return Meter(lambda: self.now)


@rows("seconds, rate", [(4.999, 0), (5, 0.2), (9.999, 0.2), (10, 0.184), (60, 0.08), (65, 0.0736), (300, 0.00146)])
def test_the_rate_of_the_last_minute_decays(seconds: float, rate: float) -> None:
    """The values are those of Metrics 2.2 for one event in the first interval: 0.2 * exp(-age / 60 s)."""
    clock = Clock()
    meter = clock.meter()
    meter.mark()
    clock.now += round(1000 * seconds)
    assert meter.one_minute_rate == pytest.approx(rate, rel=0.01)


def test_a_steady_rate_is_shown() -> None:
    clock = Clock()
    meter = clock.meter()
    for _ in range(600):
        clock.now += 500
        meter.mark()
    assert meter.one_minute_rate == pytest.approx(2, rel=0.05)
    assert meter.mean_rate == pytest.approx(2)


def test_nothing_that_happens_has_no_rate_and_took_no_time() -> None:
    meter = Clock().meter()
    assert (meter.count, meter.mean_rate, meter.one_minute_rate, meter.mean, meter.max) == (0, 0, 0, 0, 0)


def test_requests_wait_in_the_queue_of_a_slow_broker() -> None:
    cluster = Cluster((1, 2, 3), controller=1)
    cluster.settle()
    cluster.create_topic("t", {0: (1, 3)})
    cluster.advance(20, without=lambda step: isinstance(step, TakeRequest) and step.broker == 3)
    before = cluster.meters(1)[QUEUE + "3"].count
    cluster.settle()
    of_slow, of_quick = (cluster.meters(1)[QUEUE + broker] for broker in "32")
    assert of_slow.max == 20_000 > of_quick.max == 0
    assert of_slow.count > before
    assert cluster.metrics(1)[QUEUE + "3"] == of_slow.count


def test_a_change_of_brokers_takes_the_time_until_its_end() -> None:
    cluster = Cluster((1, 2, 3), controller=1)
    cluster.create_topic("t", {0: (2, 3)})
    cluster.settle()
    cluster.advance(60)
    cluster.crash(2)
    cluster.settle(until=lambda it: it.controllers[1].event is not None)
    before = cluster.meters(1)[STATS + "LeaderElectionRateAndTimeMs"].count
    cluster.advance(7, without=AdvanceController)
    cluster.settle()
    timer = cluster.meters(1)[STATS + "LeaderElectionRateAndTimeMs"]
    assert (timer.max, timer.count) == (7_000, before + 1)
    cluster.advance(5)
    assert timer.one_minute_rate > 0
