"""How long Hypothesis looks: one profile each for a person at work, for every commit, and for a night.

HYPOTHESIS_PROFILE names the profile; without it, `ci` where CI is true and `dev` anywhere else.
"""

import os

from hypothesis import Phase, settings

# The explaining phase names the lines of code that only failing runs reach. In a walk through a specification
# these are lines of the engine; the failure's own text says more.
PHASES = [phase for phase in Phase if phase is not Phase.explain]

# For a person who waits. Random, so that many hands see many walks; what fails is kept and tried first next time.
settings.register_profile("dev", max_examples=100, stateful_step_count=60, deadline=None, phases=PHASES)

# Derandomized: a build that turns red is red because of the change, and is red again on anybody's machine.
settings.register_profile(
    "ci",
    max_examples=120,
    stateful_step_count=80,
    deadline=None,
    phases=PHASES,
    derandomize=True,
    database=None,
    print_blob=True,
)

# Random again, and far: here new failures are welcome. The blob brings one home without the night's database.
settings.register_profile(
    "nightly", max_examples=10_000, stateful_step_count=150, deadline=None, phases=PHASES, print_blob=True
)

settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI", "").lower() == "true" else "dev")
)
