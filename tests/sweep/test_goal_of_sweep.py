"""The answer of a sweep: the greatest number of users whose levels are within the goal."""

import math
from dataclasses import replace
from statistics import fmean

import pytest

from harness.judge.account import AccountLine, Balance, asked_offered, offered_read
from harness.judge.goals import GoalResult
from harness.judge.verdict import DOUBTFUL, INVALID, VALID, Verdict
from harness.judge.warnings import too_few_samples
from harness.metrics.histogram import Histogram
from harness.plan.goal import Goal, GoalRule
from harness.report.run_result import LabelResult
from harness.run.record import SYSTEM_DIED
from harness.sweep.analysis import SweepAnswer, analyse, answer, outcome
from harness.sweep.answer import result_of
from harness.sweep.goal_intervals import scatter_of_repeats
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from tests.support.factories import record
from tests.support.sweeps import BROKEN, THRUZERO, levels, repeated
from tests.sweep.test_sweep import FINE


def timed(averages, **changes):
    return levels_of((users, LevelRun("run", Figures(average_ms=ms, **changes))) for users, ms in averages.items())


GOAL = Goal(average_ms=1000)


def test_the_answer_is_the_greatest_number_of_users_below_which_all_levels_are_within_the_goal():
    found = answer(timed({1: 100, 10: 400, 25: 1000, 50: 1558, 75: 3233}), GOAL)
    assert found == SweepAnswer(25, next_users=50, is_missed=True, reasons=("average 1558 ms",), missed_users=50)


def test_a_level_within_the_goal_above_one_that_is_not_does_not_count():
    found = answer(timed({1: 100, 10: 1400, 25: 900}), GOAL)
    assert (found.users, found.next_users, found.again) == (1, 10, (25,))


def test_if_all_levels_meet_the_goal_the_answer_is_at_least():
    assert answer(timed({1: 100, 10: 200}), GOAL) == SweepAnswer(10, is_least=True)


def test_no_level_within_the_goal_is_no_answer():
    assert answer(timed({1: 2000, 10: 3000}), GOAL).users is None


def test_every_part_of_the_goal_must_be_met():
    goal = Goal(p90_ms=500, error_ratio=0.01, average_ms=1000, each_average_ms=300)
    [level] = timed({1: 100}, percentiles_ms={"90": 501}, error_ratio=0.02, slowest_label_ms=301)
    assert outcome(level, goal).reasons == (
        "p90 501 ms",
        "slowest label's average 301 ms",
        "errors 2.00 %",
    )


def test_an_unknown_metric_is_neither_within_the_goal_nor_missed():
    found = answer(levels(THRUZERO), GOAL)
    assert (found.users, found.next_users, found.is_missed) == (None, 1, False)
    assert found.reasons == ("average unknown",)


def test_a_level_with_one_invalid_run_is_not_within_the_goal():
    broken = LevelRun("b", Figures(error_ratio=1.0), BROKEN)
    level = repeated(5, [LevelRun("a", Figures(average_ms=1), FINE), broken])
    assert outcome(level, GOAL).reasons == ("1 of 2 runs is INVALID",)
    assert outcome(level, GOAL).is_within is False


ENDED = "All 10 users ended at 43 s of the requested 56 s"
LEFT = AccountLine(asked_offered.LINE.code, asked_offered.LINE.title, "", "", 0.2, Balance.INVALID, ENDED, ())
ROWS = replace(LEFT, code=offered_read.LINE.code, text="9 % of the rows are missing")
DEAD = f"web {SYSTEM_DIED}: it was killed by signal 9"
FAST, SLOW = Figures(average_ms=10, error_ratio=0.0), Figures(average_ms=3000, error_ratio=0.0)


@pytest.mark.parametrize(
    ("figures", "account", "stop_reasons", "is_within"),
    [
        (FAST, (LEFT,), (), None),
        (SLOW, (LEFT,), (), False),
        (FAST, (ROWS,), (), None),
        (SLOW, (ROWS,), (), None),
        (SLOW, (LEFT, ROWS), (), None),
        (FAST, (), ("JMeter was killed by signal 9",), None),
        (Figures(), (), (), None),
        (replace(FAST, error_ratio=0.02), (LEFT,), (), False),
        (FAST, (), (DEAD,), False),
    ],
)
def test_an_invalid_run_is_no_limit_of_the_system_unless_that_failed(figures, account, stop_reasons, is_within):
    goal = Goal(average_ms=1000, error_ratio=0.01)
    run = LevelRun("a", figures, Verdict(INVALID, (ENDED,), (), ()), record(stop_reasons=stop_reasons), account=account)
    assert outcome(repeated(5, [run]), goal).is_within is is_within
    assert outcome(repeated(5, [run, run, run]), goal).is_within is is_within
    fine = LevelRun("b", FAST, FINE)
    assert outcome(repeated(5, [run, fine]), goal).is_within is is_within
    assert outcome(repeated(5, [run, fine, fine]), goal).is_within is True
    assert outcome(repeated(5, [run, replace(fine, figures=SLOW)]), goal).is_within is False


def test_without_a_goal_there_is_no_answer_but_the_way_to_give_one():
    for goal in (None, Goal()):
        found = answer(timed({1: 100}), goal)
        assert found.users is None
        assert "--p90" in found.reasons[0]


def test_runs_with_different_goals_have_no_common_goal():
    assert Sweep("x", levels(THRUZERO)).goal is None


CHECK_OUT = GoalRule("p99_ms", "Check Out", max=300)


def judged(rule, is_met, state=VALID, **changes):
    """Return a fast run with the verdict on one rule."""
    text = f"{rule.text} was {'met' if is_met else 'missed'}"
    result = GoalResult(rule.label, rule.metric, rule.max, rule.min, 1.0, rule.label, 1, 1 - is_met, is_met, text)
    _, run = measured(1, spread(100, 80), verdict=Verdict(state, changes.pop("reasons", ()), (), (), (result,)))
    return replace(run, **changes)


@pytest.mark.parametrize("rule", [CHECK_OUT, GoalRule("rate_per_s", min=100), GoalRule("p99_ms", max=5)])
def test_limits_that_levels_have_no_figure_of_are_judged_by_the_verdicts_of_the_runs(rule):
    goal = Goal.of([rule, GoalRule("p90_ms", max=300)], "x")
    met, missed = judged(rule, True), judged(rule, False)
    assert outcome(repeated(5, [met]), goal).is_within is True
    found = outcome(repeated(5, [missed]), goal)
    assert (found.is_within, found.reasons) == (False, (f"{rule.text} was missed",))
    assert outcome(repeated(5, [missed, met, met]), goal).is_within is True
    assert outcome(repeated(5, [missed, missed, met]), goal).is_within is False


def test_a_limit_that_the_verdict_of_a_run_does_not_judge_is_unknown():
    found = outcome(repeated(5, [judged(CHECK_OUT, True)]), Goal(GoalRule("p99_ms", "Check In", max=300), p90_ms=300))
    assert (found.is_within, found.reasons) == (None, ("Check In: p99 ≤ 300 ms is unknown",))


def test_a_run_that_a_stop_condition_ended_is_not_within_the_goal_however_fast():
    stopped = {"reasons": ("stopped early: x",), "record": record(stopped_early="errors above 5 % for 9 s; 7 %")}
    run = judged(CHECK_OUT, True, DOUBTFUL, **stopped)
    found = outcome(repeated(5, [run]), P90)
    assert (found.is_within, found.reasons) == (False, ("stopped early: errors above 5 % for 9 s; 7 %",))


def measured(users, times_ms, name="run", **changes):
    """Return (users, run) of a run with these response times, as `level_run` makes it."""
    histogram = Histogram.of(times_ms)
    p90_ms = float(histogram.quantiles_ms([0.9])[0])
    total = LabelResult(
        "TOTAL", len(times_ms), 0, 0.0, fmean(times_ms), {"90": p90_ms}, 1, 999, 10.0, None, None, histogram
    )
    mean_ms = fmean(times_ms)
    figures = Figures(
        sample_count=len(times_ms), rate_per_s=10.0, percentiles_ms={"90": p90_ms}, average_ms=mean_ms, error_ratio=0.0
    )
    return users, LevelRun(name, figures, changes.get("verdict", FINE), total=total)


P90 = Goal(p90_ms=300)


def spread(middle_ms, count):
    """Return `count` times evenly spread over the middle ± 40 %."""
    return [round(middle_ms * (0.6 + 0.8 * index / (count - 1))) for index in range(count)]


def test_27_samples_near_the_goal_are_undecided():
    # Binomial(27, 0.9) has its 2.5 % quantile at 21: the 21st sample is 243 × (0.6 + 0.8 × 20 / 26). With fewer than 36
    # samples all may be below the true p90.
    [level] = levels_of([measured(1, spread(243, 27))])
    found = outcome(level, P90)
    assert found.is_within is None
    assert found.reasons == ("p90 318 ms, 95 % interval 295 ms to no upper end, of 27 samples",)


def test_many_samples_far_from_the_goal_decide():
    below, above = levels_of([measured(1, spread(150, 500)), measured(2, spread(600, 500))])
    assert (outcome(below, P90).is_within, outcome(above, P90).is_within) == (True, False)


def test_repeats_of_a_level_are_judged_together():
    # One run of 60 samples reaches up to its 59th, 303 ms; five of them to the 281st of 300, 295 ms.
    runs = [measured(4, spread(219, 60), f"run-{number}") for number in range(5)]
    assert outcome(levels_of(runs[:1])[0], P90).is_within is None
    assert outcome(levels_of(runs)[0], P90).is_within is True


@pytest.mark.parametrize("goal", [Goal(average_ms=300), Goal(p90_ms=400)])
def test_repeats_of_other_levels_show_how_sure_single_runs_are(goal):
    # Two levels whose runs differ by 8 %: a single run 2 % below the goal is not sure, though its samples are many.
    near, far = measured(9, spread(290, 5000)), [measured(2, spread(ms, 5000)) for ms in (100, 108)]
    others = [measured(3, spread(ms, 5000)) for ms in (120, 130)]
    assert [outcome(level, goal).is_within for level in levels_of([near])] == [True]
    assert [outcome(level, goal).is_within for level in levels_of([*far, *others, near])] == [True, True, None]


def test_the_scatter_of_repeats_is_pooled_with_what_is_assumed():
    assert scatter_of_repeats([[100.0], [300.0]]) is None
    logs = [[0.0, 0.1], [1.0, 1.2, 1.1]]
    found = scatter_of_repeats([[math.exp(log) for log in each] for each in logs])
    # Sums of squares 0.005 and 0.02, with 1 and 2 degrees of freedom; assumed are 2 of 2 %.
    assert found and found.freedom == 5
    assert found.deviation == pytest.approx(math.sqrt((0.005 + 0.02 + 2 * 0.02**2) / 5))


def test_an_average_is_judged_by_its_interval_too():
    [level] = levels_of([measured(1, spread(295, 20))])
    assert outcome(level, Goal(average_ms=300)).is_within is None
    assert outcome(level, Goal(average_ms=200)).is_within is False


def test_the_answer_is_at_least_and_perhaps_with_an_undecided_level():
    runs = [(10, 150), (20, 219), (30, 600)]
    found = answer(levels_of(measured(users, spread(ms, 60)) for users, ms in runs), P90)
    assert (found.users, found.perhaps_users, found.missed_users) == (10, 20, 30)
    assert (found.next_users, found.is_missed, found.is_least) == (20, False, False)


DOUBT = Verdict(DOUBTFUL, ("not steady",), (), ())


def test_a_doubtful_level_gives_no_answer():
    found = answer(levels_of([measured(10, spread(150, 500)), measured(20, spread(150, 500), verdict=DOUBT)]), P90)
    assert (found.users, found.perhaps_users, found.is_least) == (10, 20, False)
    assert found.reasons == ("the run is DOUBTFUL (not steady)",)


def test_a_doubtful_level_below_one_that_is_within_is_named():
    found = answer(levels_of([measured(10, spread(150, 500), verdict=DOUBT), measured(20, spread(150, 500))]), P90)
    assert (found.users, found.unsure, found.is_least) == (20, (10,), True)


def test_a_run_doubtful_only_for_few_samples_is_judged_by_its_interval():
    few = Verdict(DOUBTFUL, (too_few_samples.WARNING.brief,), (), ())
    [level] = levels_of([measured(1, spread(100, 80), verdict=few)])
    assert outcome(level, P90).is_within is True


OF_MORE = Goal(p90_ms=300)
NONE_WITHIN = "FOUND: no level is within p90 ≤ 300 ms: 1 user misses it (p90 400 ms)."


@pytest.mark.parametrize(
    ("p90_ms", "goal", "state", "headline"),
    [
        ({1: 100, 5: 400}, OF_MORE, "VALID", "FOUND: 1 user within p90 ≤ 300 ms; 5 users miss it (p90 400 ms)."),
        ({1: 100, 5: 200}, OF_MORE, "VALID", "FOUND: at least 5 users within p90 ≤ 300 ms: every level meets it."),
        ({1: 400, 5: 500}, OF_MORE, "VALID", NONE_WITHIN),
        ({1: None, 5: None}, OF_MORE, "VALID", "CANNOT TELL: at 1 user p90 unknown."),
        ({1: 100, 5: 100}, OF_MORE, "DOUBTFUL", "CANNOT TELL: the run with 1 user was too short or disturbed."),
        ({1: 100, 5: 400}, None, "VALID", "FOUND: best throughput 5.00 req/s at 5 users; no goal was given."),
        ({1: 100, 5: 400}, None, "DOUBTFUL", "DOUBTFUL: best throughput 5.00 req/s at 5 users, in a DOUBTFUL run."),
        ({1: 100, 5: 400}, OF_MORE, "INVALID", "INVALID: both runs are INVALID or interrupted: busy."),
        ({}, OF_MORE, "VALID", "INVALID: no run was completed."),
    ],
)
def test_the_headline_of_a_sweep_is_its_verdict_and_a_short_answer(p90_ms, goal, state, headline):
    runs = [
        (users, LevelRun("run", Figures(rate_per_s=users, **one), Verdict(state, ("busy",), (), ())))
        for users, value in p90_ms.items()
        for one in [{"percentiles_ms": {"90": value}} if value else {}]
    ]
    found = Sweep("tiny/sweep-07", levels_of(runs))
    result = result_of(found, analyse(found.levels, goal))
    assert result.headline == headline
    assert result.headline.startswith(f"{result.verdict}: ")
    assert result.is_missed == (headline == NONE_WITHIN)
