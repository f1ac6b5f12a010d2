"""Levels of a sweep and what they show, on published figures and on small ones."""

import pytest

from harness.caveats import CLOSED_MODEL, Caveat
from harness.goal import Goal
from harness.result import RUN, LabelResult, RunResult
from harness.stats.sweep import Figures, LevelRun, Sweep, level_run, levels_of
from harness.stats.sweep_analysis import Answer, Plateau, analyse, answer, outcome
from harness.telemetry import Usage
from harness.verdict import INTERRUPTED, VALID, Verdict
from tests.sweeps import BROKEN, DIRECT, GATEWAY, NGINX, THRUZERO, levels, repeated

FINE = Verdict(VALID, (), (), ())
STOPPED = Verdict(INTERRUPTED, ("stopped by hand",), (), ())


def test_thruzero_has_its_plateau_from_10_to_50_and_its_cliff_after_50():
    found = analyse(levels(THRUZERO), None)
    assert (found.best_users, found.best_rate_per_s) == (25, 32.3)
    assert found.plateau == Plateau(10, 50, is_open=False)
    assert (found.cliff.users, found.cliff.next_users) == (50, 75)
    assert found.cliff.fall_ratio == pytest.approx((32.1 - 23.2) / 32.1)
    assert (found.cliff.lowest_per_s, found.cliff.highest_per_s) == (7.4, 23.2)


def test_the_knee_of_thruzero_is_at_5():
    # Above the line from (1, 5.6) to (25, 32.3): at 5 0.816 - 0.167, at 10 0.966 - 0.375.
    assert analyse(levels(THRUZERO), None).knee_users == 5


@pytest.mark.parametrize(
    ("rates", "best_users", "plateau", "cliff", "fall_percent", "knee_users"),
    [
        # 95 % of 12083 is 11478.9: 1000 users are within it, 2000 are not.
        (NGINX, 500, Plateau(500, 1000, False), (1000, 2000), 8.08, None),
        # 95 % of 19189 is 18229.6; from 1000 to 2000 throughput falls by 1387.
        (GATEWAY, 1000, Plateau(500, 1000, False), (1000, 2000), 7.23, None),
        # 95 % of 78850 is 74907.5: 2000 to 10000 users. At 2000 0.991 of the rise is there, after 0.333 of the way.
        (DIRECT, 5000, Plateau(2000, 10_000, False), (10_000, 11_000), 6.73, 2000),
    ],
    ids=["nginx", "JVM load balancer", "direct"],
)
def test_the_load_balancers_thirteen_levels(rates, best_users, plateau, cliff, fall_percent, knee_users):
    found = analyse(levels(rates), None)
    assert (found.best_users, found.plateau, found.knee_users) == (best_users, plateau, knee_users)
    assert (found.cliff.users, found.cliff.next_users) == cliff
    assert round(found.cliff.fall_ratio * 100, 2) == fall_percent


def test_throughput_that_still_rises_at_the_last_level_has_no_plateau_no_cliff_and_no_knee():
    found = analyse(levels({1: 10, 2: 20, 4: 40, 8: 80, 16: 160}), None)
    assert (found.best_users, found.plateau, found.cliff, found.knee_users) == (16, None, None, None)


def test_a_plateau_that_reaches_the_last_level_is_open():
    assert analyse(levels({1: 10, 10: 99, 20: 100, 30: 98}), None).plateau == Plateau(10, 30, is_open=True)


def test_a_slow_decline_is_no_cliff():
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


def test_a_level_with_an_invalid_run_takes_no_part():
    found = levels_of(
        [
            (1, LevelRun("a", Figures(rate_per_s=10), FINE)),
            (2, LevelRun("b", Figures(rate_per_s=900), BROKEN)),
            (3, LevelRun("c", Figures(rate_per_s=30), FINE)),
        ]
    )
    analysis = analyse(found, None)
    assert (analysis.best_users, analysis.cliff) == (3, None)


def test_of_repeats_the_median_counts_and_what_was_stopped_does_not():
    runs = [
        LevelRun("a", Figures(sample_count=10, rate_per_s=5, p90_ms=100, error_count=1, error_ratio=0.1), FINE),
        LevelRun("b", Figures(sample_count=20, rate_per_s=6, p90_ms=900, error_count=0, error_ratio=0.0), FINE),
        LevelRun("c", Figures(sample_count=30, rate_per_s=9, p90_ms=110, error_count=2, error_ratio=0.2), FINE),
        LevelRun("d", Figures(sample_count=99, rate_per_s=99, p90_ms=99, error_count=99, error_ratio=1.0), STOPPED),
    ]
    level = repeated(5, runs)
    assert (level.figures.rate_per_s, level.figures.p90_ms) == (6, 110)
    assert (level.figures.sample_count, level.figures.error_count) == (60, 3)
    assert level.figures.error_ratio == pytest.approx(0.1)
    assert level.range_of("p90_ms") == (100, 900)
    assert [run.name for run in level.counted] == ["a", "b", "c"]


def test_whether_a_cliff_is_more_than_chance_is_told_by_the_repeats():
    def at(users, *rates):
        return [(users, LevelRun(f"{users}-{rate}", Figures(rate_per_s=rate))) for rate in rates]

    apart = analyse(levels_of(at(10, 98, 100, 102) + at(20, 80, 82, 84)), None)
    overlapping = analyse(levels_of(at(10, 90, 100, 102) + at(20, 80, 92, 95)), None)
    single = analyse(levels_of(at(10, 100) + at(20, 80)), None)
    assert (apart.cliff.is_apart, overlapping.cliff.is_apart, single.cliff.is_apart) == (True, False, None)


def timed(averages, **changes):
    return levels_of((users, LevelRun("run", Figures(average_ms=ms, **changes))) for users, ms in averages.items())


GOAL = Goal(None, None, average_ms=1000)


def test_the_answer_is_the_greatest_number_of_users_below_which_all_levels_are_within_the_goal():
    found = answer(timed({1: 100, 10: 400, 25: 1000, 50: 1558, 75: 3233}), GOAL)
    assert found == Answer(25, next_users=50, is_missed=True, reasons=("the average is 1558 ms",))


def test_a_level_within_the_goal_above_one_that_is_not_does_not_count():
    found = answer(timed({1: 100, 10: 1400, 25: 900}), GOAL)
    assert (found.users, found.next_users, found.again) == (1, 10, (25,))


def test_all_levels_within_the_goal_are_at_least_so_many():
    assert answer(timed({1: 100, 10: 200}), GOAL) == Answer(10, is_least=True)


def test_no_level_within_the_goal_is_no_answer():
    assert answer(timed({1: 2000, 10: 3000}), GOAL).users is None


def test_every_part_of_the_goal_must_be_kept():
    goal = Goal(p90_ms=500, error_ratio=0.01, average_ms=1000, each_average_ms=300)
    [level] = timed({1: 100}, p90_ms=501, error_ratio=0.02, slowest_label_ms=301)
    assert outcome(level, goal).reasons == (
        "the 90 % line is 501 ms",
        "the slowest label's average is 301 ms",
        "the share of errors is 2.00 %",
    )


def test_what_is_not_known_is_neither_within_the_goal_nor_missed():
    found = answer(levels(THRUZERO), GOAL)
    assert (found.users, found.next_users, found.is_missed) == (None, 1, False)
    assert found.reasons == ("the average is not known",)


def test_a_level_of_which_one_run_is_invalid_is_not_within_the_goal():
    level = repeated(5, [LevelRun("a", Figures(average_ms=1), FINE), LevelRun("b", Figures(), BROKEN)])
    assert outcome(level, GOAL).reasons == ("1 of 2 runs is INVALID",)
    assert outcome(level, GOAL).is_within is False


def test_without_a_goal_there_is_no_answer_and_it_says_how_to_give_one():
    for goal in (None, Goal(None, None)):
        found = answer(timed({1: 100}), goal)
        assert found.users is None
        assert "--p90" in found.reasons[0]


def label(name, average_ms, errors=(0, 0.0)):
    return LabelResult(
        name, 100, *errors, average_ms, {"50": 90.0, "75": 110.0, "90": 150.0, "95": 160.0}, 1, 999, 10.0, None
    )


def usage(process, cores):
    return Usage(process, 10, cores, cores, cores, 1, 1, 1, 1)


def test_a_run_gives_the_figures_of_its_window_and_the_errors_of_all_of_it():
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
        caveats=(Caveat(CLOSED_MODEL, "…"),),
        whole=label("TOTAL", 130.0, (7, 0.035)),
    )
    run = level_run(result)
    figures = run.figures
    assert (figures.average_ms, figures.p75_ms, figures.slowest_label_ms) == (100.0, 110.0, 120.0)
    assert (figures.error_count, figures.error_ratio) == (7, 0.035)
    assert (figures.generator_cpu_cores, figures.system_cpu_cores) == (0.5, 1.75)
    assert run.caveat_codes == ("closed-model",)


def test_a_run_without_samples_or_telemetry_knows_nothing():
    result = RunResult("tiny/run-07_1", RUN, None, BROKEN, None, None, None, ())
    assert level_run(result).figures == Figures()


def test_runs_that_differ_in_their_goal_have_none_in_common():
    assert Sweep("x", levels(THRUZERO)).goal is None
