"""Which runs may be compared and judged."""

import re
from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.compare.comparison import (
    CANNOT_TELL,
    INVALID,
    OK,
    REGRESSED,
)
from harness.compare.decision import compare
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, Verdict
from harness.judge.warnings import RunWarning
from harness.metrics.histogram import Histogram
from harness.metrics.window import ALL, STEADY, Window
from harness.report.run_result import JTL, MARKDOWN, RunResult
from harness.run.record import RUNNING
from tests.support.comparisons import LIMITS, QUIET, average, runs, total
from tests.support.factories import closed_load, record
from tests.support.results import run_result


def test_a_markdown_report_against_runs_is_shown_and_not_judged():
    reports = [
        run_result(
            f"M_{index}",
            total=total(300.0),
            kind=MARKDOWN,
            run=None,
            verdict=None,
            remarks=("the 90 % column is all 0",),
        )
        for index in range(5)
    ]
    found = compare(runs("A", QUIET), reports, LIMITS)
    assert (found.verdict, average(found).verdict, average(found).unit) == (CANNOT_TELL, CANNOT_TELL, "")
    assert average(found).delta_ratio == pytest.approx(2.0)
    assert "M_0: the 90 % column is all 0" in found.warnings
    # Among themselves they are runs like any others.
    others = [replace(report, name=f"N_{index}") for index, report in enumerate(reports)]
    assert compare(reports, others, LIMITS).verdict == OK


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"plan": "other"}, "plan: tiny in the baseline, other in the contender"),
        ({"load": closed_load(users=4)}, "users: 2 in the baseline, 4 in the contender"),
        ({"load": closed_load(duration_s=200.0)}, "duration (s): none in the baseline, 200 in the contender"),
        (
            {"load": closed_load(ramp_s=9.0, loops=9)},
            "ramp-up (s): 1 in the baseline, 9 in the contender; loops: 50 in the baseline, 9 in the contender",
        ),
        ({"load": closed_load(ramp_s=9.0)}, "ramp-up (s): 1 in the baseline, 9 in the contender"),
        ({"load": closed_load(think_time_s=0.5)}, "think time (s): 0 in the baseline, 0.5 in the contender"),
        ({"state": RUNNING}, "tiny/B is still running, or was killed"),
    ],
)
def test_different_runs_are_refused_and_compared_on_request(changes, message):
    base = [run_result("A", total=total())]
    new = [run_result("B", total=total(), run=record(name="B", **changes))]
    with pytest.raises(UsageError, match=re.escape(message)):
        compare(base, new, LIMITS)
    assert f"Compared anyway, although they differ: {message}." in compare(base, new, LIMITS, anyway=True).warnings


def test_interrupted_runs_and_different_windows_are_refused():
    base = [run_result("A", total=total(), window=Window(STEADY, 5, 60, 55, 60))]
    with pytest.raises(UsageError, match="window: all and steady"):
        compare(base, [run_result("B", total=total(), window=Window(ALL, 0, 60, 60, 60))], LIMITS)
    with pytest.raises(UsageError, match="B was interrupted"):
        compare(base, [run_result("B", total=total(), verdict=Verdict(INTERRUPTED, ("stopped",), (), ()))], LIMITS)


def test_a_run_may_be_given_only_once():
    one, other = run_result("A", total=total()), run_result("B", total=total())
    with pytest.raises(UsageError, match="tiny/A is named twice"):
        compare([one], [one], LIMITS)
    with pytest.raises(UsageError, match="tiny/A is named twice"):
        compare([one, one], [other], LIMITS)
    with pytest.raises(UsageError, match="the contender has no runs"):
        compare([one], [], LIMITS)


def test_a_copy_of_a_file_is_no_other_run():
    def files(name, *times_ms, origin_s=1_000):
        own = total(histogram=Histogram.of(times_ms))
        return run_result(name, total=own, kind=JTL, run=None, origin_s=origin_s)

    first, copy = files("a.jtl", 100, 120), files("b.jtl", 120, 100)
    for sides in (([first], [copy]), ([first, copy], [files("c.jtl", 90)]), ([files("c.jtl", 90)], [first, copy])):
        with pytest.raises(UsageError, match=r"b.jtl: has the samples of a.jtl; a copy is no other run"):
            compare(*sides, LIMITS)
    for other in (files("b.jtl", 100, 121), files("b.jtl", 100, 120, origin_s=1_001)):
        assert compare([first], [other], LIMITS).total


STEADY_NOT, LITTLE = (
    RunWarning("one-state", "Not steady: it rises by 30 %."),
    RunWarning("users-time", "The law is off."),
)


def doubtful(run: RunResult, *warnings: RunWarning) -> RunResult:
    reasons = tuple(warning.brief for warning in warnings)
    return replace(run, warnings=warnings, verdict=Verdict(DOUBTFUL, reasons, (), ()))


@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_a_doubtful_run_is_neither_ok_nor_regressed_and_its_metrics_are_shown(factor):
    base, new = runs("A", QUIET), runs("B", [ms * factor for ms in QUIET])
    new[3] = doubtful(new[3], STEADY_NOT)
    found = compare(base, new, LIMITS)
    assert (found.verdict, found.reasons, found.further_runs) == (
        CANNOT_TELL, ("B_3 is DOUBTFUL: Not steady: it rises by 30 %",), None,
    )  # fmt: skip
    assert {one.verdict for one in found.total.metrics} == {CANNOT_TELL}
    one = average(found)
    assert (one.delta_ratio, one.reason) == (pytest.approx(factor - 1), "not judged: a run is DOUBTFUL")
    assert "pass --anyway" in found.warnings[0]
    assert compare(new, base, LIMITS).verdict == CANNOT_TELL


def test_with_anyway_doubtful_runs_are_judged_and_a_warning_states_it():
    base, new = runs("A", QUIET), runs("B", [ms * 1.5 for ms in QUIET])
    base[0], new[3] = doubtful(base[0], STEADY_NOT), doubtful(new[3], STEADY_NOT, LITTLE)
    found = compare(base, new, LIMITS, anyway=True)
    assert found.verdict == REGRESSED
    assert found.warnings[0].startswith("Judged anyway, although A_0 is DOUBTFUL: Not steady: it rises by 30 %; B_3 is")
    assert "A_0, B_3: Not steady: it rises by 30 %." in found.warnings


def test_an_invalid_run_outranks_a_doubtful_one():
    broken = run_result("B", total=total(), verdict=Verdict("INVALID", ("JMeter ended with code 1",), (), ()))
    found = compare([doubtful(run_result("A", total=total()), STEADY_NOT)], [broken], LIMITS, anyway=False)
    assert found.verdict == INVALID


def test_a_side_without_a_request_is_invalid():
    base = [run_result("A", total=total())]
    found = compare(base, [run_result("B", total=total(sample_count=0))], LIMITS)
    assert (found.verdict, found.reasons) == ("INVALID", ("B has no request: nothing was measured",))
