"""The simulation of the throttle detector, with few runs: drifts are no falls, and falls are found."""

import pytest

from bench.statistics.throttle import CASES, false_alarm_ratio, found_ratio

_RUNS = 40
_DRIFTS = [name for name in CASES if name.startswith(("drift", "stairs", "fast at first"))]


@pytest.mark.real
@pytest.mark.parametrize("memory", [0.3, 0.8])
@pytest.mark.parametrize("name", _DRIFTS)
def test_a_drift_of_a_short_run_is_not_called_throttled(name, memory):
    assert false_alarm_ratio(CASES[name], _RUNS, 100, memory) == 0


@pytest.mark.parametrize("name", ["steady", "warm-up, tau 20 s, × 3", "half of the users from the middle on"])
def test_a_good_run_is_not_called_throttled(name):
    assert false_alarm_ratio(CASES[name], _RUNS, 300, 0.8) == 0


@pytest.mark.real
def test_falls_of_long_runs_are_found_at_their_time():
    for factor in (0.5, 0.2):
        assert found_ratio(factor, 6, 1200, 0.8) == 1
