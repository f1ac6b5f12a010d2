import pytest
from tests.plan.adopt.test_same_traffic import GROUPS, GeneratedPlan, compare
@pytest.mark.real
@pytest.mark.parametrize("seed", range(26, 50))
def test_more(tmp_path, seed):
    compare(GeneratedPlan.of(seed, GROUPS[seed % len(GROUPS)]), tmp_path)
