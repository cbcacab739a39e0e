"""Types of numbers that the records and functions of every package share.

They are aliases of `int`: a plain integer is a valid epoch, and so is `epoch + 1`. A specification sets their ranges.

Elections accept any `Id` as a broker's id: an integer, or a value that stands for one. Ids are only compared for
equality, so brokers may be values without order or arithmetic.
"""

from typing import TYPE_CHECKING, Annotated, SupportsIndex

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Id = TypeVar("Id", bound=SupportsIndex, default=int)
else:
    # Type variables have defaults since Python 3.13; at run time the standard library's suffice without one.
    from typing import TypeVar

    Id = TypeVar("Id", bound=SupportsIndex)


BrokerId = Annotated[int, "a broker's id"]
"""A broker; an integer from 0 on."""

LeaderEpoch = Annotated[int, "a leader epoch"]
"""The number of earlier elections of the partition's leader; an integer from 0 on."""

ControllerEpoch = Annotated[int, "a controller epoch"]
"""The number of controller elections so far; an integer from 0 on, 0 before the first."""

BrokerEpoch = Annotated[int, "a broker epoch"]
"""A registration of a broker: the zxid that created its node; 0 before the first one."""
