"""How often a run that nothing is wrong with is called DOUBTFUL."""

from random import Random

import pytest

from tests.support.good_runs import good_run

# At most 3 in 100 good runs may be DOUBTFUL.
MOST_RATIO = 0.03


def states(count):
    """Return the verdicts on good runs; each has a seed of its own, so that one of them can be looked at alone."""
    return [good_run(Random(seed)).verdict for seed in range(count)]


def test_good_runs_are_valid():
    verdicts = states(3)
    assert sum(verdict.state != "VALID" for verdict in verdicts) <= 1


@pytest.mark.real
def test_of_300_good_runs_few_are_doubtful_and_none_is_invalid():
    verdicts = states(300)
    assert {verdict.state for verdict in verdicts} <= {"VALID", "DOUBTFUL"}
    assert sum(verdict.state == "DOUBTFUL" for verdict in verdicts) <= MOST_RATIO * len(verdicts)
