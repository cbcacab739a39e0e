"""Random walks: any specification as a Hypothesis state machine, alone or with a real system beside it.

    from spec.testing import as_state_machine

    TestCounter = as_state_machine(Counter(top=3)).TestCase

A checker explores all states of a small system. A random walk goes far into a large one, and Hypothesis shrinks a
failure to a short program. `against` walks with an implementation as well, and compares the two after every step.
"""

from spec.language.errors import require

require("hypothesis")

from spec.testing.comparison import Mismatch, against  # noqa: E402 - where what they need is there
from spec.testing.machine import SpecificationMachine, as_state_machine  # noqa: E402
from spec.testing.walk import Violation  # noqa: E402

__all__ = ["Mismatch", "SpecificationMachine", "Violation", "against", "as_state_machine"]
