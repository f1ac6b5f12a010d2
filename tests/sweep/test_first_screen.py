"""What a reader of a sweep sees first: the answer, goals, chart, key levels, what weakens it, what to do next."""

from dataclasses import replace

import pytest

from harness.experiment.record import RUNNING
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID, VALID, Verdict
from harness.judge.warnings import RunWarning
from harness.metrics.histogram import Histogram
from harness.metrics.metric import MEDIAN
from harness.metrics.window import Window
from harness.plan.goal import Goal, GoalRule, metric_text
from harness.sweep.analysis import analyse
from harness.sweep.answer import result_of
from harness.sweep.level_tables import key_table
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.overlay import result_of_sweeps
from harness.sweep.pairs import compare_sweeps
from harness.sweep.record import CAPACITY
from harness.sweep.render import printed_sweep
from harness.sweep.sources import find_sweeps, printed_sweeps
from harness.sweep.text import doubts_of, findings, notes_of
from tests.support.factories import record
from tests.support.first_screens import assert_first_screen
from tests.support.markdown_rows import rows_of
from tests.support.results import label_result
from tests.support.stated_rates import least_covered_text, most_false_text
from tests.support.sweep_reports import save_run, written
from tests.support.sweeps import BROKEN, GATEWAY, NGINX, SWEEP_RECORD, THRUZERO, levels, measured_level, sweep

GOAL = Goal(p90_ms=300)
FINE, SHORT = Verdict(VALID, (), (), ()), Verdict(DOUBTFUL, ("too short to judge",), (), ())
SEARCH = replace(SWEEP_RECORD, kind=CAPACITY, users=(), first_users=1, most_users=9, command="lth capacity --plan=tiny")


def run_of(p90_ms, verdict=FINE, *codes, count=0):
    """Return a run with this p90; of `count` samples, so that it has an interval."""
    total = None
    if count:
        times_ms = [round(p90_ms * (0.5 + 0.55 * index / (count - 1))) for index in range(count)]
        total = replace(label_result("TOTAL", 200.0), histogram=Histogram.of(times_ms))
    figures = Figures(rate_per_s=5.0, percentiles_ms={"50": 90.0, "90": p90_ms, "95": p90_ms + 9}, error_ratio=0.0)
    return LevelRun(
        "tiny/run-07_1", figures, verdict, record(), tuple(RunWarning(code, f"{code}.") for code in codes), total=total
    )


def sweep_of(*runs, **changes):
    """Return a sweep of (users, run) pairs with the record of a finished one."""
    return Sweep("tiny/sweep-07", levels_of(runs), replace(SWEEP_RECORD, **changes))


def steps_of(found, goal=GOAL):
    return [(step.text, step.command) for step in result_of(found, analyse(found.levels, goal)).next_steps]


def test_a_finished_sweep_has_all_parts_in_their_order(reports):
    save_run(reports / "tiny", "run-07_3", 8, 2000)  # 8 users instead of 4, so that the limit is not found yet
    assert_first_screen(written(reports), "answer", "goals", "chart", "table", "doubts", "steps")


def test_an_unfinished_sweep_says_how_to_resume_it(reports):
    text = written(reports, replace(SWEEP_RECORD, state=RUNNING, users=(1, 2, 4, 8)))
    assert_first_screen(text, "answer", "goals", "chart", "table", "doubts", "steps")
    assert "\n- Resume the sweep: `lth sweep --plan=tiny --resume=07`\n" in text


@pytest.mark.real
def test_a_sweep_whose_runs_are_invalid_has_no_answer(reports):
    for number, users in enumerate((1, 2, 4), start=1):
        save_run(reports / "tiny", f"run-07_{number}", users, 10, is_broken=True)
    text = written(reports)
    assert_first_screen(text, "answer", "goals", "table", "doubts")
    assert "\n❌ **INVALID: all 3 runs are INVALID or interrupted: all 40 samples failed" in text


def test_several_sweeps_have_all_parts_in_their_order(reports):
    written(reports)
    (reports / "old.csv").write_text("users,average_ms,rate_per_s\n1,500,2.0\n2,1000,2.0\n8,9000,0.5\n")
    found = find_sweeps([str(reports / "old.csv"), "tiny/sweep-07"], reports)
    sweeps = [one.sweep for one in found]
    analyses = [analyse(one.levels, one.goal) for one in sweeps]
    text = printed_sweeps(found, analyses, [compare_sweeps(*sweeps)], "lth sweep")
    assert_first_screen(text, "answer", "table", "doubts")
    row = rows_of(text)[0]
    assert (row["users"], row["baseline average ms"], row["contender average ms"], row["change %"]) == (
        "1", "500", "400", "-20.0",
    )  # fmt: skip
    assert "\n\nBaseline: old. Contender: tiny/sweep-07.\n" in text
    assert_first_screen(printed_sweeps(found, analyses, [], "lth sweep"), "answer", "table", "doubts")


@pytest.mark.parametrize(("verdict", "option"), [("CANNOT TELL", "--repeat=5"), ("REGRESSED", "--profile"), ("OK", "")])
def test_a_comparison_of_sweeps_says_what_to_do_next(verdict, option):
    sweeps = [sweep_of((1, run_of(100))), sweep_of((1, run_of(200)))]
    found = replace(compare_sweeps(*sweeps), verdict=verdict, reason=" ".join(["much"] * 30))
    result = result_of_sweeps(sweeps, [analyse(one.levels, GOAL) for one in sweeps], [found])
    size = "within ±0.0" if verdict == "CANNOT TELL" else "0.0"
    assert result.headline == f"{verdict}. Seen: {metric_text(MEDIAN)} {size} % over 1 level."
    commands = [step.command for step in result.next_steps]
    assert commands == ([f"lth sweep --plan=tiny --users=1,2,4 {option}"] if option else [])


@pytest.mark.parametrize(
    ("found", "goal", "headline"),
    [
        (sweep_of(state=RUNNING, runs=()), GOAL, "INTERRUPTED: 0 of 3 runs measured."),
        (
            sweep_of((1, run_of(100)), (5, run_of(200))), GOAL,
            "FOUND: at least 5 users within p90 ≤ 300 ms: every level meets it.",
        ),
        (
            sweep_of((1, run_of(100)), (5, run_of(100, SHORT)), (9, run_of(400))), GOAL,
            "FOUND: at least 1 user within p90 ≤ 300 ms, perhaps 5; 9 users miss it.",
        ),
        (
            sweep_of((1, run_of(100, SHORT)), (5, run_of(400))), GOAL,
            "CANNOT TELL: the run with 1 user was too short or disturbed; 5 users miss the goal.",
        ),
        (
            sweep_of(*[(1, run_of(100, SHORT))] * 3), Goal(p90_ms=35, error_ratio=0.01),
            "CANNOT TELL: all 3 runs with 1 user were too short or disturbed.",
        ),
        (
            sweep_of((1, run_of(318, count=27)), kind=CAPACITY, users=(), first_users=1, most_users=9), GOAL,
            "CANNOT TELL: 1 user is too close to the goal for this number of samples.",
        ),
        (
            sweep_of((1, run_of(100)), (5, replace(run_of(100), figures=Figures(error_ratio=0.02)))),
            Goal(error_ratio=0.01), "FOUND: 1 user within the goal; 5 users miss it (errors 2.00 %).",
        ),
        (sweep_of((1, run_of(100, Verdict(INTERRUPTED, (), (), ())))), GOAL, "INVALID: no run was completed."),
        (sweep("ThruZero", {users: Figures(rate_per_s=rate) for users, rate in THRUZERO.items()}), None,
         "FOUND: best throughput 32.30 req/s at 25 users; no goal was given."),
    ],
)  # fmt: skip
def test_the_answer_has_at_most_20_words(found, goal, headline):
    result = result_of(found, analyse(found.levels, goal))
    assert result.headline == headline
    assert len(result.headline.split()) <= 20


def lost(p90_ms):
    """Return a run whose users ended early, for a reason that is not the system's."""
    return run_of(p90_ms, Verdict(INVALID, ("All 5 users ended at 43 s of the requested 56 s",), (), ()))


@pytest.mark.parametrize(
    ("runs", "goal", "headline"),
    [
        (((1, run_of(100)), (5, lost(100))), GOAL, "FOUND: at least 1 user within p90 ≤ 300 ms, perhaps 5."),
        (((1, lost(100)), (5, run_of(400))), GOAL,
         "CANNOT TELL: the run with 1 user is INVALID; 5 users miss the goal."),
        (((1, run_of(100)), (5, lost(100))), None, "DOUBTFUL: best throughput 5.00 req/s at 1 user; 5 users: INVALID."),
        (((1, run_of(100)), (5, run_of(100, SHORT))), None,
         "DOUBTFUL: best throughput 5.00 req/s at 1 user; 5 users: DOUBTFUL."),
    ],
)  # fmt: skip
def test_a_level_that_was_not_measured_is_neither_a_miss_nor_below_the_best(runs, goal, headline):
    found = sweep_of(*runs)
    assert result_of(found, analyse(found.levels, goal)).headline == headline
    if goal:
        invalid = next(level.text for level in found.levels if level.invalid)
        assert steps_of(found, goal) == [(f"See why the run with {invalid} is INVALID", "lth open tiny/run-07_1")]


def test_a_finding_names_the_doubtful_levels_that_it_needs():
    rates = {1: 10.0, 5: 50.0, 10: 91.0, 20: 91.0, 40: 92.0}

    def found_with(doubtful):
        runs = ((users, replace(run_of(100, SHORT if users == doubtful else FINE), figures=Figures(rate_per_s=rate)))
                for users, rate in rates.items())  # fmt: skip
        one = Sweep("tiny/sweep-07", levels_of(runs), SWEEP_RECORD)
        return [name for name, text in findings(one, analyse(one.levels, None)).items() if "; DOUBTFUL at " in text]

    assert found_with(0) == found_with(5) == []
    assert found_with(1) == ["knee"]
    assert found_with(20) == ["plateau", "saturation", "knee"] == found_with(10)
    assert found_with(40) == ["best throughput", "plateau", "saturation", "knee"]


def test_a_long_name_or_reason_does_not_lengthen_the_answer():
    long = " ".join(["much"] * 30)
    stopped = sweep_of((1, run_of(100)), (5, replace(run_of(200), record=record(stopped_early=long))))
    headline = "FOUND: 1 user within the goal; 5 users miss it."
    assert result_of(stopped, analyse(stopped.levels, GOAL)).headline == headline
    broken = sweep_of((1, replace(run_of(1), verdict=replace(BROKEN, reasons=(long,)))))
    assert result_of(broken, analyse(broken.levels, GOAL)).headline == "INVALID: no run can be used."
    names = [sweep(long, {1: Figures(average_ms=1.0)}), sweep("b", {1: Figures(average_ms=2.0)})]
    analyses = [analyse(one.levels, None) for one in names]
    for comparisons in ([], [compare_sweeps(*names)]):
        assert len(result_of_sweeps(names, analyses, comparisons).headline.split()) <= 20


@pytest.mark.parametrize(
    ("load", "window_s", "run_s", "count", "option"),
    [
        # 60 s with a window of 43 s need 7 s more, 20 s with one of 12 s 38 s more: rounded up to 10 s.
        ({"duration_s": 60.0, "loops": None}, 43, 60, 5000, " --duration=70s"),
        ({"duration_s": 20.0, "loops": None}, 12, 21, 5000, " --duration=60s"),
        # 100 samples take 43 s * 100 / 50 = 86 s: 43 s more.
        ({"duration_s": 60.0, "loops": None}, 43, 60, 50, " --duration=110s"),
        # 5 loops took 20 s, of which 12 count: 58 s are 14.5 loops. 400 requests took 20 s: 58 s are 1,160.
        ({"duration_s": None, "loops": 5}, 12, 20, 5000, " --loops=15"),
        ({"duration_s": 600.0, "loops": None, "requests": 400}, 12, 20, 400, " --requests=1200"),
    ],
)
def test_levels_that_are_too_short_are_measured_again_with_what_makes_them_long_enough(
    load, window_s, run_s, count, option
):
    run = run_of(100, SHORT, "too-short")
    run = replace(
        run,
        record=replace(run.record, load=replace(run.record.load, **load)),
        window=Window("all", 1, 1 + window_s, window_s, run_s, is_steady=False),
        figures=replace(run.figures, sample_count=count),
    )
    longer = ("Measure levels that are long enough to judge", f"lth sweep --plan=tiny --users=1,2,4{option}")
    assert steps_of(sweep_of((1, run), (5, run_of(100)))) == [longer]
    ended = replace(run, verdict=lost(100).verdict)
    see = ("See why the run with 5 users is INVALID", "lth open tiny/run-07_1")
    assert steps_of(sweep_of((1, run_of(100)), (5, ended))) == [see]
    left_early = replace(run, warnings=(*run.warnings, RunWarning("asked-offered", "Two users left early.")))
    assert longer not in steps_of(sweep_of((1, left_early), (5, run_of(100))))


def test_the_next_step_fits_what_is_missing():
    undecided = sweep_of((1, run_of(318, count=27)))
    repeat = (
        "Repeat each level, to know how much single runs differ",
        "lth sweep --plan=tiny --users=1,2,4 --repeat=3",
    )
    assert steps_of(undecided) == [repeat]
    more = ("Measure more users to find the limit", "lth sweep --plan=tiny --users=5,10,20")
    assert steps_of(sweep_of((1, run_of(100)), (5, run_of(100)))) == [more]
    between = ("Search for the limit between these levels", "lth capacity --plan=tiny --from=1 --most=5")
    assert steps_of(sweep_of((1, run_of(100)), (5, run_of(400)))) == [between]
    assert steps_of(sweep_of((1, run_of(100)), (2, run_of(400)))) == []
    searched = Sweep("tiny/sweep-07", levels_of([(1, run_of(100)), (2, run_of(400))]), SEARCH)
    assert steps_of(searched) == [("Measure what happens beyond the limit", "lth overload --plan=tiny")]
    goal = ("See how many users a goal allows", "lth sweeps tiny/sweep-07 --p90=1000")
    assert steps_of(sweep_of((1, run_of(100))), None) == [goal]
    stopped = sweep_of((1, run_of(100)), stop_reason="the budget of 5 min is used up")
    assert steps_of(stopped) == [("Resume the sweep with a larger --max", "lth sweep --plan=tiny --resume=07")]


def test_the_key_table_of_many_levels_has_those_about_the_answer():
    for rates, best in ((NGINX, "500"), (GATEWAY, "1000")):
        found = Sweep("x", levels({**rates, **{20_000 + at: 1.0 for at in range(9)}}))
        table = key_table(found, analyse(found.levels, None))
        users = [row["users"] for row in rows_of(table)]
        assert len(users) == 12
        assert (users[0], users[-1]) == ("500", "20008")
        assert best in users
        assert table.endswith("\n\n10 more levels are in the table of all columns.")


def test_an_undecided_level_is_explained_with_its_interval():
    found = sweep_of((1, run_of(318, count=27)))
    [line] = [text for text in doubts_of(found, analyse(found.levels, GOAL)) if text.startswith("CANNOT TELL")]
    assert line.startswith("CANNOT TELL at 1 user: p90 318 ms, 95 % interval ")
    assert line.endswith(" to no upper end, of 27 samples.")


def test_a_search_that_used_up_its_runs_is_not_settled():
    runs = (measured_level(1, 1, "run-07_1"),) * 40
    found = Sweep("tiny/sweep-07", levels_of([(1, run_of(100))]), replace(SEARCH, runs=runs))
    doubts = doubts_of(found, analyse(found.levels, GOAL))
    assert "The search ended after 40 runs, before the limit was settled." in doubts
    assert not any("settled" in text for text in doubts_of(replace(found, record=SEARCH), analyse(found.levels, GOAL)))


def test_the_page_of_a_search_states_how_often_its_answer_is_right():
    found = Sweep("tiny/sweep-07", levels_of([(1, run_of(100))]), SEARCH)
    most, least = most_false_text("sweep --find"), least_covered_text("sweep --find").removesuffix(" %")
    stated = f"at most {most} claim more users than the true limit, and {least} to 100 % have it between"
    assert [text for text in notes_of(found) if stated in text]
    assert not [text for text in notes_of(replace(found, record=SWEEP_RECORD)) if "simulated" in text]


def test_a_goal_of_a_label_is_in_the_goals_and_not_in_the_answer():
    goal = Goal(GoalRule("p99_ms", "Check Out", max=300), p90_ms=300)
    found = sweep_of((1, run_of(100)))
    result = result_of(found, analyse(found.levels, goal))
    assert result.goals == "Goal: p90 ≤ 300 ms, Check Out: p99 ≤ 300 ms."
    assert result.headline == "CANNOT TELL: at 1 user Check Out: p99 ≤ 300 ms is unknown."


def test_a_terminal_shows_the_same_parts_in_the_same_order():
    found = sweep_of((1, run_of(100)), (5, run_of(400)))
    lines = printed_sweep(found, analyse(found.levels, GOAL)).splitlines()
    assert lines[0] == "✔ FOUND: 1 user within p90 ≤ 300 ms; 5 users miss it (p90 400 ms)."
    assert lines[1:3] == ["Goal: p90 ≤ 300 ms.", ""]
    parts = [lines.index(line) for line in ("What weakens it:", "What to do next:")]
    assert 3 < parts[0] < parts[1]
    assert lines[-1] == "- Search for the limit between these levels: lth capacity --plan=tiny --from=1 --most=5"
