"""Random walks: any specification as a Hypothesis state machine, alone or with a real system beside it.

    from spec.testing import as_state_machine

    TestCounter = as_state_machine(Counter(top=3)).TestCase

A checker goes through all states of a small system; a walk goes far into a large one, and shrinks what it finds
to a short program. `against` takes the same walks with an implementation, and compares the two at every step.
"""

from spec.language.extras import require

require("hypothesis")

from spec.testing.comparison import Mismatch, against  # noqa: E402 - where what they need is there
from spec.testing.machine import SpecificationMachine, as_state_machine  # noqa: E402
from spec.testing.walk import Violation  # noqa: E402

__all__ = ["Mismatch", "SpecificationMachine", "Violation", "against", "as_state_machine"]
