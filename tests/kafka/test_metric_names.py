"""Metrics and threads have the names in Kafka's jars, from the first release that our tables give for each."""

from __future__ import annotations

import re
import zipfile

import pytest

from spec.kafka.jars import class_path, releases
from spec.language.errors import UsageError
from statemachines.controller.channel_manager import send_thread_name
from statemachines.controller.metrics import GAUGES, QUEUE_SIZES, REQUEST_RATES, gauges_of
from statemachines.controller.threads import CONTROLLER_EVENT_THREAD
from statemachines.releases import Release


def constants(release: str) -> bytes:
    """The bytes of a release's controller classes, which include the constants."""
    try:
        jars = class_path(release)
    except UsageError as missing:
        pytest.skip(str(missing))
    (jar,) = (each for each in jars if each.name.startswith("kafka_2"))
    with zipfile.ZipFile(jar) as archive:
        return b"".join(archive.read(name) for name in archive.namelist() if name.startswith("kafka/controller/"))


@pytest.mark.parametrize("release", releases())
def test_a_release_has_these_names(release: str) -> None:
    classes, has = constants(release), {each.name for each in gauges_of(release)}
    since = {"TotalQueueSize": QUEUE_SIZES, "RequestRateAndQueueTimeMs": REQUEST_RATES}
    expected = {
        **{each.name: each.name in has for each in GAUGES},
        **{name: first <= Release(release) for name, first in since.items()},
        CONTROLLER_EVENT_THREAD: Release("0.11.0.0") <= Release(release),
        **dict.fromkeys(re.findall("[a-zA-Z-]+", send_thread_name(1, 2))[1:], True),
        **dict.fromkeys(("LeaderElectionRateAndTimeMs", "UncleanLeaderElectionsPerSec"), True),
    }
    assert {name: name.encode() in classes for name in expected} == expected
