"""What numbers mean: the types that records and functions of every package share.

They are aliases: a plain integer is one, and `epoch + 1` is an epoch again. A specification says how many there are.
"""

from typing import Annotated

__all__ = ["BrokerId", "LeaderEpoch"]

BrokerId = Annotated[int, "a broker's id"]
"""Which broker; an integer from 0 on."""

LeaderEpoch = Annotated[int, "a leader epoch"]
"""How often the partition's leader was elected before; an integer from 0 on."""
