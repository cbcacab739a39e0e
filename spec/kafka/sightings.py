"""The shortest path into an anomaly, by a release's own specification, for real KafkaControllers to follow.

The atlas records each sighting (`seen_on_controllers` in `anomalies.toml`); the tests repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spec.atlas.anomalies import Anomaly
from spec.atlas.loading import system_named, under
from spec.checking.check import silent
from spec.checking.exploration import Options
from spec.checking.local import LocalEngine
from spec.checking.model import Model, Path
from spec.language.errors import UsageError
from spec.systems.controller import ControllerLife
from statemachines.releases import Release

UNTIL_1_0: Final[Mapping[str, Any]] = {"brokers": 1}
"""With events in ZkEventThread two brokers have too many states; one broker suffices for these anomalies."""


def replay_of(anomaly: Anomaly, release: str) -> tuple[Model, Path] | None:
    """The shortest path that breaks an anomaly's property in a release; None if it holds, or the release has the fix.

    Args:
        anomaly: its row in the atlas. Constants that differ from the system's apply on both sides; for releases until
            1.0 there is one broker.
        release: one that can run, such as 3.9.1.

    Raises:
        UsageError: the anomaly's system does not run beside Kafka's classes.
    """
    system = system_named(anomaly.system)
    if not issubclass(system, ControllerLife):
        raise UsageError(f"{anomaly.id} is of {anomaly.system}; only controller runs beside Kafka's classes")
    smaller = UNTIL_1_0 if Release(release) <= Release("1.0") else {}
    specification = under(system, release, {**anomaly.constants, **smaller})
    if specification.valuation[anomaly.switch] != anomaly.specification("off").valuation[anomaly.switch]:
        return None
    model = Model(specification)
    [number] = model.numbers([anomaly.property])
    options = Options((*model.numbers(["type_ok"]), number))
    discovery = LocalEngine().explore(model, options, silent).discoveries.get(number)
    return None if discovery is None else (model, discovery.path)
