"""What the account says of a window in one state: how far its thirds are apart."""

import re
from random import Random
from statistics import fmean

import pytest

from harness.judge.account import Balance
from harness.judge.summarise import SummaryOptions, summarise, window_of
from harness.metrics.window import parse_window
from tests.support.factories import sample, tally_of


def summary_of(samples):
    tally = tally_of(samples)
    options = SummaryOptions(window=window_of(tally, parse_window("steady"), None))
    return summarise(tally, "tiny", None, options=options)


def line_of(summary):
    (state,) = (one for one in summary.account if one.code == "one-state")
    return state


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.5])
def test_thirds_are_called_the_same_only_if_they_are(seed, sigma):
    random, samples, sums_ms = Random(seed), [], []
    for second in range(120):
        times_ms = [round(200 * random.lognormvariate(0, sigma)) for _ in range(5)]
        sums_ms.append(sum(times_ms))
        # Each row is of the second in which it ends.
        ends_ms = [1_700_000_000_000 + 1000 * second + 190 * number for number in range(5)]
        samples += [sample("Pay", took_ms, end_ms - took_ms) for took_ms, end_ms in zip(times_ms, ends_ms, strict=True)]
    summary = summary_of(samples)
    state, window = line_of(summary), summary.window
    counted_ms = sums_ms[window.from_s : window.to_s]
    length = len(counted_ms) // 3
    averages_ms = [fmean(counted_ms[at : at + length]) / 5 for at in range(len(counted_ms) - length + 1)]
    least_ms, most_ms = min(averages_ms), max(averages_ms)
    assert state.balance is Balance.BALANCED
    if state.right == "the same in all parts":
        assert most_ms < 1.06 * least_ms
    else:
        said = re.fullmatch(r"thirds of (\d+) to (\d+) ms, within the noise", state.right)
        assert [float(value) for value in said.groups()] == pytest.approx([least_ms, most_ms], rel=0.03)
    assert state.difference_ratio == pytest.approx(most_ms / least_ms - 1, abs=0.03)
    assert (state.right == "the same in all parts") == (sigma < 0.5)


def test_thirds_that_differ_by_less_than_the_clock_shows_are_the_same():
    """Of times of 0 ms a few are 1: a third in the middle has none, and no ratio to the others."""
    times_ms = [int(not 150 < number < 450 and number % 20 == 0) for number in range(600)]
    samples = [sample("Pay", time_ms, 1_700_000_000_000 + 200 * at) for at, time_ms in enumerate(times_ms)]
    state = line_of(summary_of(samples))
    assert (state.right, state.difference_ratio) == ("the same in all parts", None)
