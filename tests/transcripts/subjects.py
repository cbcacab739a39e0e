"""The subjects of transcripts, by their folders: how each is run by us and by Kafka."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.transcripts.brokers import RECEIVERS
from tests.transcripts.clusters import CLUSTERS
from tests.transcripts.controllers import CONTROLLERS
from tests.transcripts.transcript import Sides

SUBJECTS: Final[Mapping[str, Sides]] = {"controller": CONTROLLERS, "broker": RECEIVERS, "cluster": CLUSTERS}
