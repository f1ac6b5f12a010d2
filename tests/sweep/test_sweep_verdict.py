"""The verdict on two sweeps, from their common levels."""

import math
import random
from dataclasses import replace

import pytest

from harness.compare.comparison import CANNOT_TELL, INVALID, OK, REGRESSED
from harness.plan.thresholds import Thresholds
from harness.sweep.analysis import analyse
from harness.sweep.level_verdicts import SweepResults, compare_results, with_verdict
from harness.sweep.levels import LevelKey, Sweep, level_run, levels_of
from harness.sweep.overlay import printed_sweeps_screen
from harness.sweep.pairs import Delta, FigureComparison, LevelVerdict, SweepComparison
from tests.support.factories import record
from tests.support.results import label_result, run_result

LEVELS = (1, 5, 10, 25, 50, 75, 100)


def figure(name, *ratios):
    deltas = tuple(
        Delta(users, 100.0, 100.0 * (1 + ratio), ratio) for users, ratio in zip(LEVELS, ratios, strict=False)
    )
    return FigureComparison(name, deltas, None, None, None)


def judged(*figures, levels=(), repeated=False):
    verdicts = tuple(LevelVerdict(users, verdict, "", repeated) for users, verdict in zip(LEVELS, levels, strict=False))
    return decided(figures, verdicts)


def decided(figures, verdicts):
    found = with_verdict(SweepComparison("a", "b", figures, (), (), verdicts), Thresholds())
    return found.verdict, found.reason


def test_levels_that_all_rise_by_more_than_the_threshold_have_regressed():
    # log(1.13) = 0.12222, log(1.15) = 0.13976: mean 0.13099, s 0.00802 of 1.13, 1.14, 1.14, 1.15 …
    verdict, reason = judged(figure("average_ms", 0.13, 0.14, 0.14, 0.15), levels=[CANNOT_TELL] * 4)
    logs = [math.log(ratio) for ratio in (1.13, 1.14, 1.14, 1.15)]
    mean = sum(logs) / 4
    half = 3.182446 * math.sqrt(sum((value - mean) ** 2 for value in logs) / 3) / 2  # t of 3 degrees of freedom
    low, high = math.expm1(mean - half) * 100, math.expm1(mean + half) * 100
    assert (verdict, reason) == (REGRESSED, f"average {low:+.1f} to {high:+.1f} % over all levels")


def test_less_throughput_is_worse_and_more_is_not():
    assert judged(figure("rate_per_s", -0.2, -0.21, -0.22))[0] == REGRESSED
    assert judged(figure("rate_per_s", 0.2, 0.21, 0.22))[0] == OK


def test_a_regression_needs_repeats_or_more_than_half_of_the_levels():
    flat = figure("average_ms", *[0.0] * 7)
    assert judged(flat, levels=[REGRESSED] + [OK] * 6) == (
        CANNOT_TELL,
        "only at 1 user a change exceeds its threshold: one run per level is not enough, measure again with --repeat=5",
    )
    assert judged(flat, levels=[REGRESSED] * 4 + [OK] * 3)[0] == REGRESSED
    assert judged(flat, levels=[REGRESSED] + [OK] * 6, repeated=True) == (REGRESSED, "at 1 user")


def test_an_invalid_level_makes_the_comparison_invalid():
    assert judged(figure("average_ms", 0.5, 0.5, 0.5), levels=[OK, INVALID, REGRESSED]) == (INVALID, "at 5 users")


def test_two_levels_are_judged_one_by_one():
    assert judged(figure("average_ms", 0.2, 0.2), levels=[OK, OK]) == (OK, "at every level")
    assert judged(figure("average_ms", 0.2, 0.2), levels=[OK, CANNOT_TELL])[0] == CANNOT_TELL


@pytest.mark.real
@pytest.mark.parametrize(("noise", "alarms"), [(0.03, 0), (0.08, 2)])
def test_unchanged_sweeps_of_single_runs_raise_no_alarm(noise, alarms):
    rng = random.Random(7)
    found = [
        judged(
            *(
                figure(name, *(math.exp(rng.gauss(0, noise) - rng.gauss(0, noise)) - 1 for _ in LEVELS))
                for name in ("average_ms", "p90_ms", "rate_per_s")
            )
        )[0]
        for _ in range(400)
    ]
    assert found.count(REGRESSED) <= alarms


def test_a_doubtful_level_is_excluded_and_prevents_ok():
    doubt = "b/run-01_3 is DOUBTFUL: not steady"
    verdicts = tuple(
        LevelVerdict(users, CANNOT_TELL if users == 100 else OK, doubt if users == 100 else "", False, users == 100)
        for users in LEVELS
    )

    def with_doubt(*ratios):
        return decided((figure("average_ms", *ratios),), verdicts)

    assert with_doubt(*[0.0] * 7) == (CANNOT_TELL, "a run at 100 users is DOUBTFUL")
    assert with_doubt(*[0.0] * 6, 9.0) == (CANNOT_TELL, "a run at 100 users is DOUBTFUL")  # no part in the interval
    assert with_doubt(*[0.2] * 6, -0.9)[0] == REGRESSED


def test_levels_of_other_work_are_not_judged_by_their_totals():
    average = figure("average_ms", -0.2, -0.2, -0.2, -0.2)
    mix = "another mix: pay is 50 → 30 % of the samples"
    verdicts = [LevelVerdict(users, CANNOT_TELL, mix, other_work=mix) for users in LEVELS[:4]]
    assert decided((average,), verdicts) == (CANNOT_TELL, f"at 1, 5, 10, 25 users {mix}")
    one = [*verdicts[:1], *(replace(level, reason="", other_work="") for level in verdicts[1:])]
    assert decided((average,), one) == (CANNOT_TELL, f"at 1 user {mix}")
    slower = figure("average_ms", 0.0, 0.2, 0.2, 0.2)
    assert decided((slower,), one) == (REGRESSED, "average +20.0 to +20.0 % over all levels")
    assert decided((figure("average_ms", *[0.2] * 4),), verdicts)[0] == CANNOT_TELL


def shared(users, pay_count):
    """Return a run in which so many of 1,000 samples are slow."""
    labels = [
        label_result("home", 100.0, sample_count=1000 - pay_count),
        label_result("pay", 300.0, sample_count=pay_count),
    ]
    total = label_result("TOTAL", 100 + pay_count / 5, sample_count=1000)
    return run_result(f"tiny/run-07_{users}_{pay_count}", *labels, total=total, run=record(name=f"{users}_{pay_count}"))


@pytest.mark.parametrize(("pay_count", "verdict", "balance"), [(501, OK, "balanced"), (300, CANNOT_TELL, "doubt")])
def test_the_account_of_both_sides_is_that_of_each_level(pay_count, verdict, balance):
    sides = [{LevelKey(users): [shared(users, count)] for users in LEVELS[:4]} for count in (500, pay_count)]
    sweeps = [
        Sweep(f"sweep-{at}", levels_of((key.users, level_run(run)) for key, [run] in side.items()))
        for at, side in enumerate(sides)
    ]
    found = compare_results((sweeps[0], sweeps[1]), SweepResults(*sides), Thresholds()).whole
    assert found.verdict == verdict
    assert [found.accounts[f"both sides, {key.text}"][0].balance.value for key in sides[0]] == [balance] * 4
    printed = printed_sweeps_screen(sweeps, [analyse(one.levels, None) for one in sweeps], [found])
    off = "both sides = the same work: doubt: the labels have other shares: 1"
    assert ("All that is known balances" in printed, printed.count(off)) == (verdict == OK, int(verdict != OK))
