"""Levels of a sweep and what they show, on published figures and on small ones."""

from dataclasses import replace
from statistics import fmean

import pytest

from harness.judge.goals import GoalResult
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, VALID, Verdict
from harness.judge.warnings import RunWarning, too_few_samples
from harness.metrics.histogram import Histogram
from harness.plan.goal import Goal, GoalRule
from harness.report.run_result import RUN, LabelResult, RunResult
from harness.run.telemetry.table import Usage
from harness.sweep.analysis import SweepAnswer, analyse, answer, outcome
from harness.sweep.answer import result_of
from harness.sweep.levels import Figures, LevelRun, Sweep, level_run, levels_of
from harness.sweep.throughput_curve import Plateau
from harness.sweep.usl import throughput
from tests.support.factories import record
from tests.support.sweeps import BROKEN, DIRECT, GATEWAY, NGINX, THRUZERO, levels, repeated

FINE = Verdict(VALID, (), (), ())
STOPPED = Verdict(INTERRUPTED, ("stopped by hand",), (), ())


def test_thruzero_has_a_plateau_from_10_to_50_and_a_cliff_after_50():
    found = analyse(levels(THRUZERO), None)
    assert (found.best_users, found.best_rate_per_s) == (25, 32.3)
    assert found.plateau == Plateau(10, 50, is_open=False)
    assert (found.cliff.users, found.cliff.next_users) == (50, 75)
    assert found.cliff.fall_ratio == pytest.approx((32.1 - 23.2) / 32.1)
    assert (found.cliff.lowest_per_s, found.cliff.highest_per_s) == (7.4, 23.2)


def test_the_knee_of_thruzero_is_at_the_crossing_of_its_bounds():
    # Levels 10 to 50 have (31.4 + 32.3 + 32.1) / 3 = 31.93 per s; a round at one user takes 1000 / 5.6 ms.
    found = analyse(levels(THRUZERO), None)
    assert found.saturation.rate_per_s == pytest.approx(31.933, abs=1e-3)
    assert (found.saturation.from_users, found.saturation.to_users) == (10, 50)
    assert found.knee.users.value == pytest.approx(31.9333 / 5.6, abs=1e-3)
    assert found.knee.users.low < 5.7 < found.knee.users.high
    assert found.knee.round_ms == pytest.approx(178.57, abs=0.01)


@pytest.mark.parametrize(
    ("rates", "best_users", "plateau", "cliff", "fall_percent", "is_certain", "is_gradual"),
    [
        # 95 % of 12083 is 11478.9: 1000 users are within it, 2000 are not. Two single runs are 9 % above eleven others
        # that differ by 2 %: 3.9 standard errors with the 3 % that single runs are taken to differ by, before the
        # neighbours' own scatter is counted.
        (NGINX, 500, Plateau(500, 1000, False), (1000, 2000), 8.08, False, False),
        # 95 % of 19189 is 18229.6; from 1000 to 2000 throughput falls by 1387, and level by level on to 11338 at 8000.
        (GATEWAY, 1000, Plateau(500, 1000, False), (1000, 8000), 40.91, True, True),
        # 95 % of 78850 is 74907.5: 2000 to 10000 users. 77535, 76085, 70962, 69977: the greatest step is 6.7 of 9.7 %,
        # and single runs are taken to differ by 3 %.
        (DIRECT, 5000, Plateau(2000, 10_000, False), (9000, 12_000), 9.75, True, True),
    ],
    ids=["nginx", "JVM load balancer", "direct"],
)
def test_the_load_balancers_thirteen_levels(rates, best_users, plateau, cliff, fall_percent, is_certain, is_gradual):
    found = analyse(levels(rates), None)
    assert (found.best_users, found.plateau) == (best_users, plateau)
    assert found.knee is None  # there is no level of one user
    assert (found.cliff.users, found.cliff.next_users) == cliff
    assert (found.cliff.is_certain, found.cliff.is_gradual) == (is_certain, is_gradual)
    assert round(found.cliff.fall_ratio * 100, 2) == fall_percent


def test_throughput_that_still_rises_at_the_last_level_has_no_plateau_no_cliff_no_saturation_and_no_knee():
    found = analyse(levels({1: 10, 2: 20, 4: 40, 8: 80, 16: 160}), None)
    assert (found.best_users, found.plateau, found.cliff) == (16, None, None)
    assert (found.saturation, found.knee) == (None, None)


def test_closely_spaced_levels_that_still_rise_are_not_saturated():
    assert analyse(levels({1: 1.0, 95: 95.0, 98: 98.0, 100: 100.0}), None).saturation is None


def test_throughput_that_stays_the_same_up_to_200_users_is_saturated_and_has_no_peak():
    # 20 per s from 41 users on: a round takes 2.05 s, and the bottleneck has 20 per s.
    rates = {users: min(20.0, users / 2.05) for users in (1, 2, 5, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200)}
    found = analyse(levels(rates), None)
    assert found.usl.peak_users is None
    assert (found.saturation.from_users, round(found.saturation.rate_per_s, 1)) == (40, 19.9)
    assert found.knee.users.value == pytest.approx(41, rel=0.01)


def test_a_plateau_that_reaches_the_last_level_is_open():
    assert analyse(levels({1: 10, 10: 99, 20: 100, 30: 98}), None).plateau == Plateau(10, 30, is_open=True)


def test_a_slow_decline_is_not_a_cliff():
    assert analyse(levels({1: 100, 2: 96, 3: 92, 4: 88.5}), None).cliff is None


def test_failing_fast_is_not_throughput():
    found = levels_of(
        [
            (10, LevelRun("a", Figures(rate_per_s=100, error_ratio=0.0))),
            (20, LevelRun("b", Figures(rate_per_s=300, error_ratio=0.9))),
        ]
    )
    analysis = analyse(found, None)
    assert (analysis.best_users, analysis.best_rate_per_s) == (10, 100)
    assert analysis.cliff.fall_ratio == pytest.approx(0.7)


def test_a_level_with_an_invalid_run_is_excluded():
    found = levels_of(
        [
            (1, LevelRun("a", Figures(rate_per_s=10), FINE)),
            (2, LevelRun("b", Figures(rate_per_s=900), BROKEN)),
            (3, LevelRun("c", Figures(rate_per_s=30), FINE)),
        ]
    )
    analysis = analyse(found, None)
    assert (analysis.best_users, analysis.cliff) == (3, None)


def test_the_median_of_repeats_counts_without_interrupted_runs():
    runs = [
        LevelRun(
            "a",
            Figures(sample_count=10, rate_per_s=5, percentiles_ms={"90": 100}, error_count=1, error_ratio=0.1),
            FINE,
        ),
        LevelRun(
            "b",
            Figures(sample_count=20, rate_per_s=6, percentiles_ms={"90": 900}, error_count=0, error_ratio=0.0),
            FINE,
        ),
        LevelRun(
            "c",
            Figures(sample_count=30, rate_per_s=9, percentiles_ms={"90": 110}, error_count=2, error_ratio=0.2),
            FINE,
        ),
        LevelRun(
            "d",
            Figures(sample_count=99, rate_per_s=99, percentiles_ms={"90": 99}, error_count=99, error_ratio=1.0),
            STOPPED,
        ),
    ]
    level = repeated(5, runs)
    assert (level.figures.rate_per_s, level.figures.of("p90_ms")) == (6, 110)
    assert (level.figures.sample_count, level.figures.error_count) == (60, 3)
    assert level.figures.error_ratio == pytest.approx(0.1)
    assert level.range_of("p90_ms") == (100, 900)
    assert [run.name for run in level.counted] == ["a", "b", "c"]


def at(users, *rates):
    return [(users, LevelRun(f"{users}-{rate}", Figures(rate_per_s=rate))) for rate in rates]


def test_repeats_decide_whether_a_cliff_is_significant():
    apart = analyse(levels_of(at(10, 98, 100, 102) + at(20, 80, 82, 84)), None).cliff
    overlapping = analyse(levels_of(at(10, 90, 100, 102) + at(20, 80, 92, 95)), None).cliff
    assert (apart.is_certain, apart.is_single) == (True, False)
    assert (overlapping.is_certain, overlapping.is_single) == (False, False)


@pytest.mark.parametrize(
    ("rates", "is_certain"),
    [
        ({1: 10, 10: 98, 20: 106, 30: 99, 40: 102}, False),  # 6.6 % lower than one good run
        ({1: 10, 10: 98, 20: 106, 30: 96, 40: 104}, False),  # one level is low, the next is not
        ({1: 10, 10: 98, 20: 104, 30: 70}, True),  # far more than single runs differ by
        ({1: 10, 10: 100, 20: 101, 30: 100, 40: 90, 50: 88, 60: 89}, True),  # and stays there
    ],
)
def test_a_fall_of_single_runs_is_a_cliff_only_if_large_or_lasting(rates, is_certain):
    cliff = analyse(levels(rates), None).cliff
    assert (cliff.is_certain, cliff.is_single) == (is_certain, True)


FLAT = {1: 20, 10: 100, 20: 99, 30: 101, 40: 100, 50: 99}


@pytest.mark.parametrize(
    ("beyond", "users", "is_gradual"),
    [
        ({60: 94, 70: 87, 80: 81, 90: 76, 100: 70}, (50, 100), True),  # the same fall from level to level
        ({60: 70, 70: 71, 80: 69, 90: 70, 100: 70}, (50, 60), False),  # all of it in one step
        ({60: 70, 70: 66, 80: 61, 90: 55, 100: 50}, (50, 60), False),  # a step, and then gradually further
        ({60: 0, 70: 0, 80: 0, 90: 0, 100: 0}, (50, 60), False),
    ],
)
def test_a_fall_spread_over_levels_is_no_cliff(beyond, users, is_gradual):
    cliff = analyse(levels({**FLAT, **beyond}), None).cliff
    assert (cliff.users, cliff.next_users, cliff.is_certain, cliff.is_gradual) == (*users, True, is_gradual)


def test_a_peak_that_the_law_follows_is_no_cliff():
    # Seven levels: the greatest fall from one to the next is 27 %, and there is no step.
    rates = {users: throughput(20.0, 0.01, 0.0002, users) for users in (1, 5, 10, 25, 50, 100, 200)}
    found = analyse(levels(rates), None)
    assert found.usl.follows
    assert (found.cliff.is_certain, found.cliff.is_gradual) == (True, True)


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
    level = repeated(5, [LevelRun("a", Figures(average_ms=1), FINE), LevelRun("b", Figures(), BROKEN)])
    assert outcome(level, GOAL).reasons == ("1 of 2 runs is INVALID",)
    assert outcome(level, GOAL).is_within is False


def test_without_a_goal_there_is_no_answer_but_the_way_to_give_one():
    for goal in (None, Goal()):
        found = answer(timed({1: 100}), goal)
        assert found.users is None
        assert "--p90" in found.reasons[0]


def label(name, average_ms, errors=(0, 0.0)):
    return LabelResult(
        name, 100, *errors, average_ms, {"50": 90.0, "75": 110.0, "90": 150.0, "95": 160.0}, 1, 999, 10.0, None
    )


def usage(process, cores):
    return Usage(process, 10, cores, cores, cores, 1, 1, 1, 1)


def test_a_run_has_the_metrics_of_its_window_and_the_errors_of_the_whole_run():
    result = RunResult(
        name="tiny/run-07_1",
        kind=RUN,
        run=None,
        verdict=FINE,
        window=None,
        origin_s=0,
        total=label("TOTAL", 100.0),
        labels=(label("a", 80.0), label("b", 120.0)),
        usages=(usage("jmeter", 0.5), usage("harness", 0.1), usage("web", 1.5), usage("db", 0.25), usage("host", 2.4)),
        warnings=(RunWarning("closed-model", "…"),),
        whole=label("TOTAL", 130.0, (7, 0.035)),
    )
    run = level_run(result)
    figures = run.figures
    assert (figures.average_ms, figures.of("p75_ms"), figures.slowest_label_ms) == (100.0, 110.0, 120.0)
    assert (figures.error_count, figures.error_ratio) == (7, 0.035)
    assert (figures.generator_cpu_cores, figures.system_cpu_cores) == (0.5, 1.75)
    assert run.warning_codes == ("closed-model",)


def test_a_run_without_samples_or_telemetry_has_no_values():
    result = RunResult("tiny/run-07_1", RUN, None, BROKEN, None, None, None, ())
    assert level_run(result).figures == Figures()


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
