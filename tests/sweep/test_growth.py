"""Memory over consecutive runs: a slope with its interval, and what is a suspicion."""

import pytest

from harness.sweep.growth import RunMemory, growth_per_run

MB = 1024 * 1024


def runs(*sizes_mb: float, users: tuple[int, ...] = (), process: str = "mod") -> list[RunMemory]:
    """Runs in order of time, by default all of eight users."""
    levels = users or (8,) * len(sizes_mb)
    return [RunMemory(level, {process: size * MB}) for level, size in zip(levels, sizes_mb, strict=True)]


def test_the_slope_and_its_interval_are_those_of_least_squares():
    # Numbers about their mean: -1.5, -0.5, 0.5, 1.5; slope (1.5 * 30 + 0.5 * 6) / 5 = 9.6; residuals -0.6, 1.8, -1.8,
    # 0.6, their squares 7.2; error sqrt(7.2 / 2 / 5) = 0.8485; Student's t of 2 degrees of freedom 4.3027.
    (growth,) = growth_per_run(runs(100, 112, 118, 130))
    assert growth.per_run_bytes / MB == pytest.approx(9.6)
    assert growth.low_bytes / MB == pytest.approx(9.6 - 3.651, abs=0.001)
    assert growth.high_bytes / MB == pytest.approx(9.6 + 3.651, abs=0.001)
    assert (growth.run_count, growth.mean_bytes / MB) == (4, 115)
    assert (growth.first_bytes / MB, growth.last_bytes / MB) == (100, 130)
    assert growth.is_suspect


def test_memory_of_more_users_is_not_growth():
    # Rounds of 1 and 8 users: 50 MB more at 8 users, and nothing from round to round.
    (growth,) = growth_per_run(runs(100, 150, 100, 150, 100, 150, users=(1, 8, 1, 8, 1, 8)))
    assert growth.per_run_bytes == pytest.approx(0)
    assert not growth.is_suspect


def test_growth_between_rounds_is_separated_from_that_of_users():
    # Two runs are between the same levels of two rounds: 20 MB are 10 per run.
    (growth,) = growth_per_run(runs(100, 150, 120, 170, users=(1, 8, 1, 8)))
    assert growth.per_run_bytes / MB == pytest.approx(10)
    assert growth.is_suspect


def test_levels_measured_once_show_no_growth():
    assert growth_per_run(runs(100, 120, 140, 160, users=(1, 5, 8, 20))) == ()
    assert growth_per_run(runs(100, 120)) == ()
    assert growth_per_run([]) == ()


def test_growth_that_may_be_chance_is_not_suspected():
    # Slope 2; residuals -7, 11, -1, -3, their squares 180; error sqrt(180 / 2 / 5) = 4.24, times 4.3 = 18.3.
    (growth,) = growth_per_run(runs(100, 120, 110, 110))
    assert growth.per_run_bytes / MB == pytest.approx(2)
    assert growth.low_bytes < 0 < growth.high_bytes
    assert not growth.is_suspect


@pytest.mark.parametrize(("step_mb", "is_suspect"), [(3, False), (5, True)])
def test_certain_growth_below_two_percent_per_run_is_not_suspected(step_mb, is_suspect):
    # 3 MB of 204.5 MB are 1.5 %, 5 MB of 207.5 MB are 2.4 %.
    (growth,) = growth_per_run(runs(*(200 + number * step_mb for number in range(4))))
    assert growth.low_bytes > 0
    assert growth.is_suspect == is_suspect


def test_each_process_is_judged_by_the_runs_that_contain_it():
    seen = [RunMemory(8, {"a": size * MB, **({"b": 50.0 * MB} if size > 100 else {})}) for size in (100, 110, 120)]
    (growth,) = growth_per_run(seen)
    assert (growth.process, growth.run_count) == ("a", 3)
