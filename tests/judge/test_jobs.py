"""The jobs of a report: durations, states, the loads around them, goals, and what is not claimed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest

from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED
from harness.base.records import build, to_plain
from harness.compare.decision import compare
from harness.jtl.sample import TRANSACTION_MESSAGE, Sample
from harness.judge.jobs import FoundJob, find_jobs, goals_of_jobs, jobs_of_run, with_loads
from harness.judge.summarise import SummaryOptions, summarise
from harness.judge.summary import RunSummary
from harness.judge.verdict import INTERRUPTED, INVALID, VALID
from harness.metrics.figures import JOBS, LOAD
from harness.metrics.interval import IntervalMs
from harness.plan.job import JobRecord
from harness.plan.load.groups import GroupLoad, Stage
from harness.plan.thresholds import Thresholds
from harness.report.charts.run_charts import run_charts
from harness.report.markdown import report
from harness.report.run_result import RunResult
from tests.support.factories import closed_load, failed, record, sample, tally_of

IMPORT = JobRecord("import", "college", 1000, 1, 100.0, 1.0, None)
START_MS = 1_000_000


def rows_of(state: str, start_ms: int = START_MS, elapsed_ms: int = 50_000, name: str = "import") -> list[Sample]:
    """Return the rows of one repetition; `state` is empty for a job that is done, None for one without an end."""
    thread = {"thread_name": f"[[job]] {name} 1-1"}
    end_ms = start_ms + elapsed_ms
    message = f"{TRANSACTION_MESSAGE} 3, number of failing samples : {int(bool(state))}"
    made = failed if state else sample
    how = {"failure": state} if state else {}
    return [
        sample(f"{name}: start", 20, start_ms, **thread),
        sample(f"{name}: poll", 10, end_ms - 10, **thread),
        made(f"{name}: state", elapsed_ms=0, start_ms=end_ms, **how, **thread),
        made(name, elapsed_ms=elapsed_ms, start_ms=start_ms, **thread)._replace(message=message),
    ]


def found(rows: Iterable[Sample], *records: JobRecord) -> tuple[FoundJob, ...]:
    listed = list(rows)
    return find_jobs(records or (IMPORT,), lambda: listed)


def test_a_job_that_is_done_has_its_duration_and_records_per_second() -> None:
    (job,) = found(rows_of(""))
    assert (job.run.state, job.run.started_ms, job.run.duration_s, job.run.records_per_s) == ("done", START_MS, 50, 20)
    assert (job.run.name, job.run.tenant, job.run.records, job.run.repetition) == ("import", "college", 1000, 1)


def test_only_a_job_that_is_done_has_records_per_second_and_only_one_that_ended_a_duration() -> None:
    states = ("failed: $.status is ERROR", "limit: not done within 100 s: $.status is RUNNING",
              "unanswered: 3 polls in a row: no $.status in the answer, which begins: <html>")  # fmt: skip
    jobs = [found(rows_of(state))[0] for state in states]
    assert [job.run.state for job in jobs] == ["failed", "limit", "unanswered"]
    assert [job.run.duration_s for job in jobs] == [50, None, None]
    assert {job.run.records_per_s for job in jobs} == {None}
    assert jobs[2].why.endswith("which begins: <html>")
    # An assertion of the plan that fails says nothing about the job.
    assert found(rows_of("expected 200"))[0].run.state == "unanswered"


def test_a_job_without_its_last_row_is_unfinished_and_one_without_any_did_not_begin() -> None:
    (cut,), (absent,) = found(rows_of("")[:2]), found([sample()])
    assert (cut.run.state, cut.run.started_ms, cut.run.duration_s) == ("unfinished", START_MS, None)
    assert (absent.run.state, absent.run.started_ms) == ("unfinished", None)


def test_repetitions_are_counted_and_jobs_are_in_the_order_of_their_starts() -> None:
    edit = replace(IMPORT, name="edit", tenant=None, records=None)
    rows = [*rows_of(""), *rows_of("", START_MS + 10_000, 5000, "edit"), *rows_of("", START_MS + 60_000, 40_000)]
    jobs = found(rows, edit, replace(IMPORT, name="later"), IMPORT)
    assert [(job.run.name, job.run.repetition) for job in jobs] == [
        ("import", 1), ("edit", 1), ("import", 2), ("later", 1),
    ]  # fmt: skip
    assert [job.run.duration_s for job in jobs] == [50, 5, 40, None]
    assert [job.run.records_per_s for job in jobs] == [20, None, 25, None]


def test_a_repetition_that_the_end_of_the_run_prevented_is_not_silently_left_out() -> None:
    thrice = replace(IMPORT, repeat=3)
    jobs = found(rows_of(""), thrice)
    assert [(job.run.repetition, job.run.state) for job in jobs] == [(1, "done"), (2, "unfinished")]
    cut = found([*rows_of(""), *rows_of("", START_MS + 60_000)[:2]], thrice)
    assert [(job.run.repetition, job.run.state) for job in cut] == [(1, "done"), (2, "unfinished")]


def test_a_job_that_failed_soon_has_no_duration_to_compare_and_one_that_recovered_has() -> None:
    def labels(state: str, **changes: object) -> list[str]:
        return [label.label for label in RunResult.of(replace(summary_of(state, 1000), **changes)).labels]

    assert labels("") == ["Page", "import"]
    assert labels("failed: $.status is ERROR") == labels("failed: $.status is ERROR", jobs=()) == ["Page"]
    summary = summary_of("unanswered: a poll failed", 1000)
    done = tuple(replace(job, state="done") for job in summary.jobs)
    assert labels("unanswered: a poll failed", jobs=done) == ["Page", "import"]


def user(group: str, slow_ms: IntervalMs, until_ms: int) -> list[Sample]:
    """Return a request per 100 ms that takes 10 ms, and 90 ms in an interval."""
    times = range(START_MS - 30_000, until_ms, 100)
    return [
        sample("Page", 90 if slow_ms.from_ms <= at < slow_ms.to_ms else 10, at, thread_name=f"{group} 1-1",
               group_threads=1)
        for at in times
    ]  # fmt: skip


def test_each_load_has_its_p95_before_during_and_after_a_job() -> None:
    slow = IntervalMs(START_MS, START_MS + 50_000)
    calm = IntervalMs(0, 0)
    rows = [*user("B", calm, START_MS + 90_000), *user("A", slow, START_MS + 90_000), *rows_of("")]
    loads = [GroupLoad(name, (Stage(1, None, 0, 120),)) for name in ("A", "B")]
    full_ms = IntervalMs(START_MS - 20_000, START_MS + 90_000)  # 10 s of ramp-up are left out
    (job,) = with_loads(found(rows), lambda: rows, loads, (), full_ms)
    one, other = job.run.loads
    assert (one.load, one.before_p95_ms, one.during_p95_ms, one.after_p95_ms) == ("A", 10, 90, 10)
    assert (one.before_count, one.during_count, one.after_count) == (200, 500, 400)
    assert (other.load, other.before_p95_ms, other.during_p95_ms, other.after_p95_ms) == ("B", 10, 10, 10)


def test_few_samples_have_no_p95_and_a_job_that_may_still_run_has_no_after() -> None:
    rows = [*user("Users", IntervalMs(0, 0), START_MS + 60_000), *rows_of("limit: not done within 50 s: $.s is RUN")]
    full_ms = IntervalMs(START_MS - 1900, START_MS + 60_000)
    (job,) = with_loads(found(rows), lambda: rows, (), (), full_ms)
    (label,) = job.run.loads  # of a single load each label
    assert (label.load, label.before_count, label.before_p95_ms, label.during_p95_ms) == ("Page", 19, None, 10)
    assert (label.after_count, label.after_p95_ms) == (0, None)


def test_the_goal_of_a_job_is_its_duration_or_else_its_limit() -> None:
    (default,) = goals_of_jobs(found(rows_of("")))
    assert default.is_met and default.is_default
    assert default.text == "job import: duration 50 s, goal ≤ 100 s (the default)"
    met, missed = (goals_of_jobs(found(rows_of(""), replace(IMPORT, goal_s=goal_s)))[0] for goal_s in (50.0, 49.0))
    assert (met.is_met, missed.is_met) == (True, False)
    assert (missed.goal_text, missed.measured_text) == ("job import: duration ≤ 49 s", "50 s")


def test_a_job_that_failed_or_reached_its_limit_misses_its_goal_and_says_why() -> None:
    for state in ("failed: $.status is ERROR", "limit: not done within 100 s: $.status is RUNNING"):
        (goal,) = goals_of_jobs(found(rows_of(state)))
        assert not goal.is_met and goal.measured is None
        assert goal.text.startswith(f"job import: duration {state}, goal ≤ 100 s")
    # Of several repetitions the slowest counts, and one that is not done.
    (slowest,) = goals_of_jobs(found([*rows_of(""), *rows_of("", START_MS + 60_000, 70_000)]))
    assert slowest.measured_text == "70 s" and slowest.is_met
    (bad,) = goals_of_jobs(found([*rows_of(""), *rows_of("failed: $.s is X", START_MS + 60_000)]))
    assert not bad.is_met


def summary_of(state: str | None, elapsed_ms: int = 50_000, **changes: object) -> RunSummary:
    """Return the summary of a run of 120 s with a job from its 30th second on."""
    job_rows = rows_of(state or "", elapsed_ms=elapsed_ms)[: None if state is not None else 2]
    rows = [*user("Users", IntervalMs(0, 0), START_MS + 90_000), *job_rows]
    rows.sort(key=lambda one: one.end_ms)
    tally = tally_of(rows)
    load = closed_load(1, duration_s=120.0, ramp_s=0.0, think_time_s=0.09)
    run = record(**{"load": load, "took_s": 121.0, "jobs": (IMPORT,), **changes})
    jobs = jobs_of_run(run, lambda: rows, tally.span_ms())
    return summarise(tally, run.id, run, options=SummaryOptions(jobs=jobs))


def test_requests_of_jobs_are_no_samples_of_the_load() -> None:
    summary = summary_of("")
    load, jobs = summary.group(LOAD), summary.group(JOBS)
    assert load and jobs and load.total.sample_count == 1200 and load.total.max_ms == 10
    assert [label.label for label in jobs.labels] == ["import: start", "import: poll", "import: state", "import"]
    assert summary.littles_law and summary.littles_law.active_users == 1
    assert build(RunSummary, json.loads(json.dumps(to_plain(summary)))) == summary


def test_a_run_with_a_done_job_is_valid_and_its_report_has_the_tables_of_jobs() -> None:
    summary = summary_of("")
    assert (summary.verdict.state, summary.verdict.exit_code) == (VALID, EXIT_OK)
    text = report(summary, run_charts(summary), "", "run-01_1")
    jobs = text.split("## Jobs\n")[1].split("\n## ")[0]
    assert "| import | college | done | 50 | 1000 | 20 |" in jobs
    assert "| import | Page | 10 | 10 | 10 | 300 | 500 | 400 |" in jobs
    without = summarise(tally_of(user("Users", IntervalMs(0, 0), START_MS)), "x", record())
    assert "## Jobs" not in report(without, run_charts(without), "", "run-01_1")


def test_a_failed_job_misses_a_goal_and_an_unknown_state_makes_the_run_invalid() -> None:
    missed = summary_of("failed: $.status is ERROR").verdict
    assert (missed.state, missed.exit_code) == (VALID, EXIT_REGRESSED)
    assert missed.goals_missed == ("job import: duration failed: $.status is ERROR, goal ≤ 100 s (the default)",)
    garbage = "3 polls in a row: no $.status in the answer, which begins: <html>oops"
    unknown = summary_of(f"unanswered: {garbage}").verdict
    assert (unknown.state, unknown.exit_code) == (INVALID, EXIT_INVALID)
    assert unknown.reasons == (f"job import: its state is not known: {garbage}",)


def test_a_job_that_the_end_of_the_run_cut_off_is_invalid_unless_the_run_was_ended_on_purpose() -> None:
    cut = summary_of(None)
    assert cut.verdict.reasons == ("job import: had not ended when the run ended",)
    assert cut.jobs[0].duration_s is None and cut.jobs[0].loads[0].after_p95_ms is None
    assert summary_of(None, interrupted=True).verdict.state == INTERRUPTED
    assert summary_of(None, stopped_early="p95 above 5 s").verdict.state != INVALID


@pytest.mark.real
def test_the_duration_of_a_job_is_compared_with_one_value_per_run() -> None:
    def side(name: str, scale: float) -> list[RunResult]:
        durations_ms = (50_000, 50_500, 49_500, 50_200, 49_800)
        return [
            RunResult.of(summary_of("", round(one * scale), name=f"run-{name}_{at}"))
            for at, one in enumerate(durations_ms)
        ]

    slower = compare(side("01", 1.0), side("02", 1.3), Thresholds(), anyway=True)
    assert slower.verdict == "REGRESSED" and any("import" in reason for reason in slower.reasons)
    equal = compare(side("01", 1.0), side("02", 1.001), Thresholds(), anyway=True)
    (job,) = (label for label in equal.labels if label.label == "import")
    assert job.verdict == "OK" and not [one for one in equal.labels if "poll" in one.label]
    single = compare(side("01", 1.0)[:1], side("02", 1.3)[:1], Thresholds(), anyway=True)
    (alone,) = (label for label in single.labels if label.label == "import")
    assert alone.verdict == "CANNOT TELL"  # one duration a side shows nothing
