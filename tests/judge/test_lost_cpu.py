"""CPU that others used: reported when it coincides with the seconds that make a run unsteady, and not otherwise."""

from dataclasses import replace
from random import Random

import pytest

from harness.judge.lost_cpu import find_lost_cpu
from harness.judge.summarise import SummaryOptions, summarise, window_of
from harness.judge.summary import Observed
from harness.metrics.full_load import Drive
from harness.metrics.timeline import SecondFigures
from harness.metrics.window import Window, WindowSpec, find_window
from harness.run.telemetry.table import UsageSeries
from tests.support.factories import closed_load, record, sample, tally_of

RUN_S = 121
SLOW = range(90, 121)


def seconds_with(slow=SLOW, factor=2.0):
    """Return the seconds of 10 users at 200 ms, which takes `factor` times as long in the seconds `slow`."""
    noise, found = Random(1), []
    for second in range(RUN_S):
        average_ms = 200 * noise.uniform(0.95, 1.05) * (factor if second in slow else 1)
        count = round(10 * 1000 / average_ms)
        found.append(SecondFigures(count, round(count * average_ms), 10))
    return found


def series(process, cores_at, width_s=1, after_s=0.0):
    """Return a series whose row `after_s` after the end of each second has the cores of that second."""
    begins = range(0, RUN_S - width_s + 1, width_s)
    means = [sum(cores_at(begin + part) for part in range(width_s)) / width_s for begin in begins]
    # The mean of the times of the rows begin + 1, …, begin + width.
    times = tuple(begin + (width_s + 1) / 2 + after_s for begin in begins)
    return UsageSeries(process, times, tuple(means), (10**9,) * len(times))


def stolen(cores, during=SLOW, otherwise=0.0, **changes):
    return series("stolen", lambda second: cores if second in during else otherwise, **changes)


def lost(seconds, *found):
    window = find_window(WindowSpec("steady"), seconds, Drive(10))
    return find_lost_cpu(window, seconds, found, 2)


def test_stolen_cpu_in_the_slow_seconds_is_found():
    found = lost(seconds_with(), stolen(0.4), series("host", lambda _: 1.5))
    assert (found.is_stolen, found.cores) == (True, pytest.approx(0.4))
    assert (found.from_s, found.to_s) == (90, 120)
    assert found.during_ms == pytest.approx(400, rel=0.02)
    assert found.else_ms == pytest.approx(200, rel=0.02)


def test_means_of_several_seconds_find_the_same_interval():
    found = lost(seconds_with(range(90, 121)), stolen(0.4, range(90, 121), width_s=2))
    assert (found.from_s, found.to_s) == (90, 120)


@pytest.mark.parametrize("after_s", [-0.4, -0.1, 0.0, 0.3, 0.5])
def test_rows_within_a_second_have_the_cpu_of_all_seconds(after_s):
    host = series("host", lambda second: 1.9 if second in SLOW else 1.1, after_s=after_s)
    found = lost(seconds_with(), host, series("jmeter", lambda _: 1.1, after_s=after_s))
    assert found.cores == pytest.approx(0.8, abs=0.03)
    assert found.to_s - found.from_s >= 29


def test_other_processes_in_the_slow_seconds_are_found():
    # The host uses 1.9 cores in the slow seconds, of which JMeter and the system have 1.1.
    host = series("host", lambda second: 1.9 if second in SLOW else 1.1)
    own = [series("jmeter", lambda _: 0.4), series("nginx", lambda _: 0.7)]
    found = lost(seconds_with(), host, *own)
    assert (found.is_stolen, found.cores) == (False, pytest.approx(0.8))
    assert (found.from_s, found.to_s) == (90, 120)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param((), id="nothing was measured"),
        pytest.param((stolen(0.4, range(30, 60)),), id="in other seconds"),
        pytest.param((stolen(0.4, range(RUN_S)),), id="all the time"),
        pytest.param((stolen(0.4, otherwise=0.25),), id="nearly as much in the rest"),
        pytest.param((stolen(0.04),), id="less than a twentieth of the cores"),
        pytest.param((stolen(0.4, range(90, 92)),), id="for two of the slow seconds"),
        pytest.param(
            (
                series("host", lambda second: 1.9 if second in SLOW else 1.1),
                series("nginx", lambda second: 1.8 if second in SLOW else 1.0),
            ),
            id="the system itself used it",
        ),
    ],
)
def test_cpu_that_does_not_explain_the_slow_seconds_is_not_reported(found):
    seconds = seconds_with()
    assert find_window(WindowSpec("steady"), seconds, Drive(10)).is_steady is False
    assert lost(seconds, *found) is None


def test_a_slow_warm_up_has_the_cpu_that_others_used_then():
    seconds, window = seconds_with(range(8, 20)), Window("steady", 30, 118, 88, 121, warm_up_cut_s=30, is_steady=True)
    slower = replace(window, slow_down="the average was 400 ms from 8 to 20 s, otherwise 200 ms")
    host = series("host", lambda second: 1.9 if 5 <= second < 20 else 1.1)
    own = series("jmeter", lambda _: 1.1)
    found = find_lost_cpu(slower, seconds, [host, own], 2)
    assert found.text(2) == "Other programs used 0.8 of 2 cores from 5 s to 20 s"
    assert find_lost_cpu(window, seconds, [host, own], 2) is None
    assert find_lost_cpu(slower, seconds, [series("host", lambda _: 1.9), own], 2) is None  # all the time


def test_nothing_is_reported_when_the_rest_is_unsteady_too():
    seconds = [*seconds_with()[:50], *seconds_with(range(50, 90), 1.4)[50:90], *seconds_with()[90:]]
    assert lost(seconds, stolen(0.4)) is None


def test_stolen_seconds_that_were_not_slower_are_not_reported():
    seconds = seconds_with(range(60, RUN_S), 1.5)
    assert lost(seconds, stolen(0.4, range(10, 30))) is None


def test_a_steady_run_reports_nothing():
    seconds = seconds_with(factor=1.0)
    assert find_window(WindowSpec("steady"), seconds, Drive(10)).is_steady
    assert lost(seconds, stolen(0.4)) is None


def warnings_of(*found):
    """Return the warnings by code of a run of 10 users that takes twice as long from 90 s on."""
    samples = []
    for second, figures in enumerate(seconds_with()):
        average_ms = figures.elapsed_sum_ms // figures.sample_count
        for number in range(figures.sample_count):
            end_ms = 1_000_000 + 1000 * second + 1000 * number // figures.sample_count
            samples.append(sample(start_ms=end_ms - average_ms, elapsed_ms=average_ms, all_threads=10))
    run, tally = record(load=closed_load(users=10, duration_s=RUN_S)), tally_of(samples)
    window = window_of(tally, WindowSpec("steady"), run)
    summary = summarise(tally, "tiny/run-01_1", run, Observed(usage_series=found), SummaryOptions(window, tally))
    return {warning.code: warning.text for warning in summary.warnings}


def test_the_warning_contains_one_sentence_with_the_numbers():
    text = warnings_of(stolen(0.4, range(90, 121)))["one-state"]
    assert (
        " The hypervisor took 0.4 of 2 cores from 90 s to 121 s, when the average was 401 ms instead of 199 ms; "
        "without these seconds the run is steady. It was 199 ms before 91 s, 401 ms after. Averages and percentiles"
        in text
    )
    assert text.startswith("The average depends on when you look: 199 to 401 ms. ")


def test_a_fall_to_a_constant_rate_is_not_also_called_unsteady():
    assert set(warnings_of()) & {"throttled", "one-state"} == {"throttled"}
