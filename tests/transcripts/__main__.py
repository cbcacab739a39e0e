"""Write the transcripts anew: `python -m tests.transcripts [--kafka] [FILE ...]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.transcripts.brokers import RECEIVERS
from tests.transcripts.clusters import CLUSTERS
from tests.transcripts.transcript import CONTROLLERS, files, rewrite

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", action="store_true", help="as Kafka's own classes do, not as ours")
    parser.add_argument("files", nargs="*", type=Path, help="all by default")
    options = parser.parse_args()
    for path in options.files or [*files(), *files("broker"), *files("cluster")]:
        rewrite(path, options.kafka, {"broker": RECEIVERS, "cluster": CLUSTERS}.get(path.parent.name, CONTROLLERS))
