"""How often a run that nothing is wrong with is called DOUBTFUL."""

from random import Random

import pytest

from tests.support.good_runs import good_run

# At most 3 in 100 good runs may be DOUBTFUL, and 1 in 100 may be called throttled.
MOST_RATIO = 0.03
THROTTLED_MOST_RATIO = 0.01


def good_runs(count):
    """Return the summaries of good runs; each has a seed of its own, so that one of them can be looked at alone."""
    return [good_run(Random(seed)) for seed in range(count)]


@pytest.mark.real
def test_good_runs_are_valid():
    assert sum(run.verdict.state != "VALID" for run in good_runs(3)) <= 1


@pytest.mark.real
def test_of_60_good_runs_few_are_doubtful_and_none_is_invalid():
    runs = good_runs(60)
    assert {run.verdict.state for run in runs} <= {"VALID", "DOUBTFUL"}
    assert sum(run.verdict.state == "DOUBTFUL" for run in runs) <= MOST_RATIO * len(runs)
    assert sum(run.throttle is not None for run in runs) <= THROTTLED_MOST_RATIO * len(runs)
