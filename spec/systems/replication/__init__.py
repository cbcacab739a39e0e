"""Leaders write, followers truncate and fetch: can a committed record be lost, or differ between replicas?

`replicas` has the variables, `replication` the common part of all versions of the protocol. Each version is a file
with its differences from another one: `truncate_to_high_watermark` until 0.10, `kip_101`, `kip_279`, `kip_320`, and
`truncate_on_fetch` since 2.8. `kip_320_first_try` is a design that was never released.
"""

from spec.systems.replication.kip_101 import Kip101
from spec.systems.replication.kip_279 import Kip279
from spec.systems.replication.kip_320 import Kip320
from spec.systems.replication.kip_320_first_try import Kip320FirstTry
from spec.systems.replication.replicas import Committed, Diverging, Fetch, Leadership, Replicas
from spec.systems.replication.replication import Replication, listed
from spec.systems.replication.truncate_on_fetch import TruncateOnFetch
from spec.systems.replication.truncate_to_high_watermark import TruncateToHighWatermark
from spec.systems.replication.under_one_epoch import UnderOneEpoch, has_committed_in_its_epoch

__all__ = [
    "Committed",
    "Diverging",
    "Fetch",
    "Kip101",
    "Kip279",
    "Kip320",
    "Kip320FirstTry",
    "Leadership",
    "Replicas",
    "Replication",
    "TruncateOnFetch",
    "TruncateToHighWatermark",
    "UnderOneEpoch",
    "has_committed_in_its_epoch",
    "listed",
]
