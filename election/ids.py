"""What numbers mean: the types that records and functions of every package share.

They are aliases: a plain integer is one, and `epoch + 1` is an epoch again. A specification says how many there are.

An election takes for a broker's id an integer, or what stands for one, an `Id`: it is compared, and that is all, so
that brokers may be values that can neither be ordered nor counted with.
"""

from typing import TYPE_CHECKING, Annotated, SupportsIndex

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Id = TypeVar("Id", bound=SupportsIndex, default=int)
else:
    # Type variables have defaults since Python 3.13, and at run time the standard library has to do.
    from typing import TypeVar

    Id = TypeVar("Id", bound=SupportsIndex)

__all__ = ["BrokerEpoch", "BrokerId", "ControllerEpoch", "Id", "LeaderEpoch"]

BrokerId = Annotated[int, "a broker's id"]
"""Which broker; an integer from 0 on."""

LeaderEpoch = Annotated[int, "a leader epoch"]
"""How often the partition's leader was elected before; an integer from 0 on."""

ControllerEpoch = Annotated[int, "a controller epoch"]
"""How often a controller was elected; an integer from 0 on, which is before the first one."""

BrokerEpoch = Annotated[int, "a broker epoch"]
"""Which registration of a broker it is: the zxid that created its node; 0 before the first one."""
