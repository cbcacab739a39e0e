"""The file `replication-offset-checkpoint`: the high watermark of each partition of a log directory.

    0           the version
    1           the number of entries
    t 0 42      an entry: topic, partition and offset

Its format is that of every checkpoint (`checkpoint_file`), in all releases. `recovery-point-offset-checkpoint` and
`log-start-offset-checkpoint` are such files, too. A broker writes the entries in any order, and takes the last of two
of one partition. [OffsetCheckpoint.scala, 0.10; OffsetCheckpointFile.scala, 0.11 to 3.9]

>>> parse(render({TopicPartition("t", 0): 42}))
{TopicPartition(topic='t', partition=0): 42}
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from statemachines.broker.log.checkpoint_file import (
    LONG,
    MalformedCheckpoint,
    entries_of,
    fields_of,
    integer,
    read_text,
    text_of,
    write_text,
)
from statemachines.messages.records import Offset
from statemachines.messages.topic_partition import TopicPartition

NAME: Final = "replication-offset-checkpoint"
"""The file's name in a log directory."""
ALLOWED: Final = "a topic, a partition and an offset, with white space between them"


def parse(text: str, name: str = NAME) -> dict[TopicPartition, Offset]:
    """The offsets in this text; `name` is for the error.

    Raises MalformedCheckpoint. Until 0.10 a broker counts partitions, and since 0.11 entries; here entries count.
    """
    offsets = {}
    for line, entry in entries_of(text, name):
        match fields_of(entry):
            case [topic, number, offset] if topic:
                partition, value = integer(number), integer(offset, LONG)
            case _:
                partition = value = None
        if partition is None or value is None:
            raise MalformedCheckpoint(name, line, entry, ALLOWED)
        offsets[TopicPartition(topic, partition)] = value
    return offsets


def render(offsets: Mapping[TopicPartition, Offset]) -> str:
    """The text that a broker writes for these offsets, by partition."""
    return text_of(f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items()))


def read(path: Path) -> dict[TopicPartition, Offset]:
    """The offsets in a file; a missing file has none.

    Raises MalformedCheckpoint, and OSError as reading does.
    """
    return parse(read_text(path), str(path))


def write(path: Path, offsets: Mapping[TopicPartition, Offset]) -> None:
    """Write offsets to a file, replacing its content in one step.

    Raises OSError as writing does; then the file holds what it held.
    """
    write_text(path, render(offsets))
