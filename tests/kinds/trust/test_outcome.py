"""What a trust test answers: from runs with given numbers, without a report."""

from dataclasses import replace

import pytest

from harness.history.catalogue import Entry
from harness.judge.verdict import DOUBTFUL, VALID, Verdict
from harness.judge.warnings import RunWarning
from harness.kinds.trust.known import known_of
from harness.kinds.trust.outcome import TrustOutcome, headline, outcome_of
from harness.kinds.trust.overview import noise_of
from harness.kinds.trust.power import least_change
from harness.kinds.trust.record import TrustRecord, TrustRun
from harness.kinds.trust.render import trust_report
from harness.metrics.batch_means import Estimate
from harness.metrics.window import Window
from harness.plan.thresholds import Thresholds
from harness.report.run_result import RUN, LabelResult, RunResult
from tests.support.factories import closed_load, record
from tests.support.results import label_result

IDS = ("average", "50", "90", "95", "99", "throughput")


def result_of(name: str, value_ms: float, samples: int = 10_000, **changes: object) -> RunResult:
    total = LabelResult(
        label="TOTAL", sample_count=samples, error_count=0, error_ratio=0.0, average_ms=value_ms,
        percentiles_ms=dict.fromkeys(("50", "90", "95", "99"), value_ms), min_ms=1.0, max_ms=9.0,
        rate_per_s=1000 / (value_ms or 1.0), received_bytes_per_s=None,
    )  # fmt: skip
    verdict = Verdict(VALID, (), (), ())
    run = record(name=name, **changes)
    return RunResult(f"tiny/{name}", RUN, run, verdict, Window("steady", 0, 60, 60, 60), 0, total)


def outcome(values_ms: list[tuple[float, float]], within: float = 0.001, **given: object) -> TrustOutcome:
    """Return the outcome of starts with two runs each; the runs' batches have this standard error."""
    samples, entries, detect = given.get("samples", 10_000), given.get("entries", ()), given.get("detect", 0.05)
    runs, results = [], {}
    for start, pair in enumerate(values_ms, start=1):
        for index, value_ms in enumerate(pair):
            name = f"run-01_{len(runs) + 1}"
            estimates = {one: Estimate(100.0, 100 * within, 19.0, 20, -0.05) for one in IDS}
            runs.append(
                TrustRun(2, start, state="ended", run=name, exit_code=0, took_s=70.0, index=index, estimates=estimates)
            )
            results[name] = result_of(name, value_ms, samples)  # type: ignore[arg-type]
            if jobs := given.get("job"):
                duration = label_result("import", jobs[start - 1][index], sample_count=1, is_job=True)  # type: ignore[index]
                results[name] = replace(results[name], labels=(duration,))
    test = TrustRecord(
        name="trust-01", command="lth trust --plan=tiny", plan="tiny", budget_s=None, state="finished",
        runs=tuple(runs), started_at="2026-03-01T00:00:00Z", spent_s=1.0, git_commit=None, git_changed=None,
        profile="local", users=2, starts=len(values_ms), ramp_s=None, duration_s=None, target=None,
        detect_ratio=detect, thresholds=Thresholds(),
    )  # type: ignore[arg-type]  # fmt: skip
    return outcome_of(test, results, entries)  # type: ignore[arg-type]


QUIET = [(100.0, 100.5), (100.4, 100.9), (99.8, 100.2), (100.1, 100.8)]
NOISY = [(100.0, 130.0), (140.0, 90.0), (80.0, 120.0), (110.0, 150.0)]


def test_a_quiet_benchmark_sees_the_change_with_few_short_runs_and_names_the_threshold_that_hides_it():
    found = outcome(QUIET)
    assert (found.verdict, found.exit_code) == ("FOUND", 0)
    # 13 runs as long as the shortest steady window, and 10 s beside each.
    assert headline(found) == "FOUND: this benchmark sees 5 % (2-10 %) in p95 with 6 pairs of 50 s (13 min)."
    # A p95 of this plan must change by 10 % to be a regression.
    assert found.result.next_steps[0].text.startswith("Set p95 = 0.05 in the plan's [compare]")


@pytest.mark.real
def test_a_slow_start_is_named_and_starts_that_belong_together_are_not():
    slow = outcome([*QUIET, (100.2, 100.3), (112.0, 111.5)])
    why = "start 6 differs from the others by 11.4 %; with one such start in 6, 8 pairs find 13.4 % in 81 % of tests"
    assert slow.metrics[0].outlier == why
    assert all(one.outlier.startswith(why[:40]) for one in slow.metrics if one.metric.is_time)
    assert f"Slow starts or heavy tails: average: {why}." in trust_report(slow, "")
    assert {one.outlier for one in outcome(QUIET).metrics} == {""}


def test_a_proposed_test_sees_the_change_also_with_the_variance_of_one_in_five_tests():
    found = outcome(
        [(100.0, 101.0), (100.8, 100.2), (99.5, 100.0), (101.2, 100.2), (99.8, 100.5), (100.2, 99.5)], 0.006
    )
    one = found.metrics[0]
    assert one.parts and one.parts.caution > 1.3
    way, window_s = one.ways[0], one.ways[0].length_s
    variance = one.parts.caution * (one.parts.between + one.parts.shrinking * 60 / window_s)
    assert least_change(variance, way.pairs) <= 0.05 + 1e-9
    cautious = known_of(found.to_plain(), "tiny/trust-01").variance(one.metric, 60)
    assert cautious == pytest.approx(one.parts.caution * one.parts.total.variance)


def test_a_noisy_benchmark_cannot_tell_and_says_what_it_sees():
    found = outcome(NOISY)
    assert found.verdict == "CANNOT TELL"
    assert headline(found).startswith("CANNOT TELL 5 % in p95: ten pairs of these runs see ")
    assert all("8 pairs see only" in one.gate_problem for one in found.metrics)
    average = found.metrics[0]
    assert average.alarm_ratio is not None
    # Of two single runs a third would be REGRESSED by the noise within them; the comparison knows this test.
    assert average.alarm_ratio < 0.01


def test_a_percentile_with_too_few_samples_or_near_the_clock_resolution_must_not_gate():
    problems = {one.metric.name: one.gate_problem for one in outcome(QUIET, samples=800).metrics}
    assert problems["p99"] == "800 samples, 5,000 needed"
    assert problems["average"] == ""
    # What is too coarse is the reason, and not a quiet metric with too few samples.
    few = outcome(QUIET, samples=50)
    assert headline(few) == "CANNOT TELL 5 %: p95 must not gate: 50 samples, 1,000 needed."
    small = outcome([(5.0, 5.0)] * 3)
    assert {one.gate_problem for one in small.metrics if one.metric.is_time and one.metric.percentile} == {
        "near the 1 ms clock resolution"
    }
    assert "in average with" in headline(small)


def test_fewer_than_three_complete_starts_are_not_judged():
    found = outcome(QUIET[:2])
    assert headline(found) == "CANNOT TELL: 2 of 2 starts are complete."
    assert found.metrics == ()


def test_a_value_of_0_is_unknown():
    average = outcome([(0.0, 1.0), *QUIET]).metrics[0]
    assert (average.parts, average.gate_problem) == (None, "unknown")


@pytest.mark.parametrize(("days", "is_known"), [(2, False), (3, True)])
def test_days_are_known_from_three_days_of_runs_under_the_same_conditions(days, is_known):
    def entry(day: int, value_ms: float, **changes: object) -> Entry:
        run = result_of(f"run-09_{day}", value_ms, started_at=f"2026-02-{day:02d}T10:00:00Z", **changes)
        return Entry("tiny", f"run-09_{day}", 9, day, run.run, run)

    entries = [entry(day, 100.0 + 10 * day) for day in range(1, days + 1)]
    others = [entry(day, 500.0, load=closed_load(users=9)) for day in range(10, 15)]
    day = outcome(QUIET, entries=[*entries, *others]).metrics[0].day
    assert (day is not None) == is_known
    # The logarithms of 110, 120 and 130 have a standard deviation of 0.0836; single runs scatter by 0.5 %.
    assert day is None or day.ratio == pytest.approx(0.0836, abs=0.001)


def test_the_duration_of_a_job_has_a_row_of_its_own_with_one_value_per_run_and_is_not_the_answer():
    durations_ms = [(60_000.0, 60_300.0), (60_200.0, 60_500.0), (59_900.0, 60_100.0), (60_000.0, 60_400.0)]
    found = outcome(QUIET, job=durations_ms)
    job = next(one for one in found.metrics if one.job)
    assert (job.name, job.sample_count, job.gate_problem) == ("import duration", 1, "")
    assert job.parts and job.seen_at(8).ratio is not None and job.seen_at(8).ratio < 0.02
    assert found.answer and found.answer.name == "p95"
    assert not [one for one in outcome(QUIET).metrics if one.job]


def test_an_unfinished_test_is_interrupted():
    found = outcome(QUIET)
    unfinished = replace(found, record=replace(found.record, state="running"))
    assert unfinished.exit_code == 130
    assert headline(unfinished).startswith("INTERRUPTED, so far FOUND: ")
    assert unfinished.result.next_steps[0].command == "lth trust --plan=tiny --resume=01"


def test_the_cause_of_noise_is_what_the_disturbed_runs_recorded():
    entries = []
    for day, value_ms in enumerate((100.0, 130.0, 90.0, 140.0, 100.0, 120.0, 95.0), start=1):
        one = result_of(f"run-01_{day}", value_ms, started_at=f"2026-02-{day:02d}T10:00:00Z")
        if day == 5:
            warning = RunWarning("other-cpu", "Other programs used 60 % of this machine's CPU.")
            one = replace(one, verdict=Verdict(DOUBTFUL, ("other CPU",), (), ()), warnings=(warning,))
        entries.append(Entry("tiny", f"run-01_{day}", 1, day, one.run, one))
    noise = noise_of(entries, "tiny")
    assert noise is not None
    assert (noise.run_count, noise.since) == (6, "2026-02-01")
    assert noise.causes == ("CPU of other processes: 1 of 7 runs",)
    assert noise_of(entries[:6], "tiny") is None
