"""Each property notices its mutants."""

import pytest

from election import STRATEGIES
from tests.election.cases import cases
from tests.election.mutants import MUTANTS, Mutant
from tests.election.properties import COMMON, OWN


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.mistake)
def test_mutants_are_detected(mutant: Mutant) -> None:
    """A strategy with this one mistake breaks the property named beside it."""
    right = STRATEGIES[mutant.strategy]
    assert mutant.noticed_by in (*COMMON, *OWN[mutant.strategy])
    assert any(not mutant.noticed_by(case, mutant.elect(case, case.elect(right))) for case in cases(brokers=3))


def test_each_property_detects_a_mutant() -> None:
    """Each property notices some mutant."""
    claims = {claim for own in OWN.values() for claim in own}.union(COMMON)
    assert claims == {mutant.noticed_by for mutant in MUTANTS}
