"""Write the transcripts anew: `python -m tests.transcripts [--kafka] [FILE ...]`."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.transcripts.subjects import SUBJECTS
from tests.transcripts.transcript import files, rewrite

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", action="store_true", help="as Kafka's own classes do, not as ours")
    parser.add_argument("files", nargs="*", type=Path, help="all by default")
    options = parser.parse_args()
    known = {path.resolve(): sides for subject, sides in SUBJECTS.items() for path in files(subject)}
    asked = [path.resolve() for path in options.files] or [*known]
    if unknown := [path for path in asked if path not in known]:
        parser.error(f"{unknown[0]} is no file of transcripts")
    for path in asked:
        rewrite(path, options.kafka, known[path])
