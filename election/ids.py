"""What numbers mean: the types that records and functions of every package share.

They are aliases: a plain integer is one, and `epoch + 1` is an epoch again. A specification says how many there are.
"""

from typing import Annotated

__all__ = ["BrokerEpoch", "BrokerId", "ControllerEpoch", "LeaderEpoch"]

BrokerId = Annotated[int, "a broker's id"]
"""Which broker; an integer from 0 on."""

LeaderEpoch = Annotated[int, "a leader epoch"]
"""How often the partition's leader was elected before; an integer from 0 on."""

ControllerEpoch = Annotated[int, "a controller epoch"]
"""How often a controller was elected; an integer from 0 on, which is before the first one."""

BrokerEpoch = Annotated[int, "a broker epoch"]
"""Which registration of a broker it is: the zxid that created its node; 0 before the first one."""
