"""A system that becomes slower from run to run: the repeats of a level are no longer one state."""

import math
from random import Random

import pytest

from harness.judge.verdict import VALID, Verdict
from harness.metrics.metric import AVERAGE, THROUGHPUT
from harness.plan.goal import Goal
from harness.sweep.analysis import analyse
from harness.sweep.answer import result_of
from harness.sweep.drift import drift_of
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.text import doubts_of
from tests.support.factories import record
from tests.support.sweeps import SWEEP_RECORD

RECORDS = [record(name=f"run-01_{number}", started_at=f"2026-01-01T00:{number:02d}:00Z") for number in range(40)]
USERS = (1, 5, 10)


def rounds(count, per_run=0.0, noise=0.02, seed=1, users=USERS, *, is_rate_alike=False):
    """Return a sweep in rounds whose every run takes so much longer than the one before, as a ratio, and noise."""
    random, runs = Random(seed), []
    for number in range(count * len(users)):
        level = users[number % len(users)]
        factor = math.exp(random.gauss(0, noise)) * (1 + per_run) ** number
        rate = 10.0 * level / (1 if is_rate_alike else factor)
        figures = Figures(average_ms=100.0 * level * factor, rate_per_s=rate)
        runs.append((level, LevelRun(f"run-{number}", figures, Verdict(VALID, (), (), ()), RECORDS[number])))
    return Sweep("tiny/sweep-07", levels_of(runs), SWEEP_RECORD)


@pytest.mark.parametrize("is_rate_alike", [True, False])
@pytest.mark.parametrize(("per_run", "word"), [(0.06, "slower"), (-0.06, "faster")])
def test_a_change_from_run_to_run_is_named_with_its_direction_and_size(per_run, word, is_rate_alike):
    found = rounds(3, per_run, is_rate_alike=is_rate_alike)
    drift = drift_of(found)
    # Eight steps of 6 %: 1.06 ** 8 = 1.59, 0.94 ** 8 = 0.61.
    assert (drift.brief, drift.run_count) == (f"{word} from run to run", 9)
    assert abs(math.log1p(drift.change_ratio)) == pytest.approx(abs(8 * math.log1p(per_run)), rel=0.2)
    analysis = analyse(found.levels, None)
    assert result_of(found, analysis).headline.startswith("DOUBTFUL: best throughput ")
    assert result_of(found, analysis).headline.endswith(f", but {word} from run to run.")
    assert f"The system, or its machine, became {word} from run to run: " in doubts_of(found, analysis)[0]
    assert result_of(found, analyse(found.levels, Goal(average_ms=9000))).verdict == "FOUND"


def test_levels_that_differ_are_no_drift_and_a_level_needs_repeats():
    assert drift_of(rounds(1, 0.3)) is None
    assert drift_of(rounds(3, noise=0.0)) is None
    assert drift_of(Sweep("published", levels_of([(1, LevelRun("a", Figures(average_ms=1.0)))] * 4))) is None


@pytest.mark.real
@pytest.mark.parametrize("noise", [0.02, 0.05, 0.1])
def test_at_most_one_of_a_hundred_sweeps_of_alike_runs_drifts(noise):
    found = [drift_of(rounds(count, noise=noise, seed=seed)) for seed in range(100) for count in (2, 3, 5)]
    assert sum(map(bool, found)) <= 3


def test_each_value_may_drift_alone():
    assert drift_of(rounds(3, 0.06, is_rate_alike=True)).name == AVERAGE.phrase
    found = rounds(3, 0.06, noise=0.0)
    assert drift_of(found).name in (AVERAGE.phrase, THROUGHPUT.phrase)
