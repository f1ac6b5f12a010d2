"""Which runs may be compared, and the warnings of a comparison."""

from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.compare.compare import compare
from harness.compare.comparison import (
    CANNOT_TELL,
    INVALID,
    OK,
    REGRESSED,
)
from harness.compare.result import JTL, MARKDOWN, RunResult
from harness.metrics.window import ALL, STEADY, Window
from harness.report.verdict import DOUBTFUL, INTERRUPTED, Verdict
from harness.report.warnings import RunWarning, WarningCode
from harness.run.record import RUNNING
from tests.support.comparisons import LIMITS, QUIET, average, runs, total
from tests.support.factories import closed_load, record
from tests.support.results import label_result, run_result


def test_labels_on_one_side_only_change_the_mix_in_total():
    pay, read = label_result("Pay", sample_count=60), label_result("Read", sample_count=40)
    both = [run_result("A", pay, read, total=total(sample_count=100))]
    found = compare(both, [run_result("B", pay, total=total(sample_count=60))], LIMITS)
    assert found.only_base == ("Read",)
    assert found.caveats[0].startswith(
        "TOTAL contains different requests: labels of one side only are 40.00 % of the baseline's samples and "
        "0.00 % of the contender's."
    )
    # One request in a hundred changes nothing.
    rare = run_result("C", label_result("Pay", sample_count=99), label_result("Odd", sample_count=1),
                      total=total(sample_count=100))  # fmt: skip
    found = compare([rare], [run_result("B", pay, total=total(sample_count=60))], LIMITS)
    assert not any(warning.startswith("TOTAL is not") for warning in found.caveats)


def test_a_markdown_report_against_runs_is_shown_and_not_judged():
    reports = [
        run_result(
            f"M_{place}",
            total=total(300.0),
            kind=MARKDOWN,
            run=None,
            verdict=None,
            remarks=("the 90 % column is all 0",),
        )
        for place in range(5)
    ]
    found = compare(runs("A", QUIET), reports, LIMITS)
    assert (found.verdict, average(found).verdict, average(found).unit) == (CANNOT_TELL, CANNOT_TELL, "")
    assert average(found).delta_ratio == pytest.approx(2.0)
    assert "M_0: the 90 % column is all 0" in found.caveats
    # Among themselves they are runs like any others.
    others = [replace(report, name=f"N_{place}") for place, report in enumerate(reports)]
    assert compare(reports, others, LIMITS).verdict == OK


def test_jtls_without_a_record_are_compared_and_unknown_settings_are_reported():
    jtls = [replace(one, run=None, kind=JTL) for one in runs("A", QUIET)]
    found = compare(jtls, runs("B", QUIET), LIMITS)
    assert found.verdict == OK
    assert "no run.json, so users, duration and system cannot be compared" in found.caveats[0]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"plan": "other"}, "plan is tiny in the baseline, other in the contender"),
        ({"load": closed_load(users=4)}, "users is 2 in the baseline, 4 in the contender"),
        ({"load": closed_load(duration_s=200.0)}, "duration_s is 100 in the baseline, 200 in the contender"),
        (
            {"load": closed_load(duration_s=None, loops=9)},
            "duration_s is 100 in the baseline, none in the contender; "
            "loops is none in the baseline, 9 in the contender",
        ),
        ({"load": closed_load(ramp_s=9.0)}, "ramp_s is 1 in the baseline, 9 in the contender"),
        ({"load": closed_load(think_time_s=0.5)}, "think_time_s is 0 in the baseline, 0.5 in the contender"),
        ({"state": RUNNING}, "tiny/B is still running, or was killed"),
    ],
)
def test_different_runs_are_refused_and_compared_on_request(changes, says):
    base = [run_result("A", total=total())]
    new = [run_result("B", total=total(), run=record(name="B", **changes))]
    with pytest.raises(UsageError, match=says):
        compare(base, new, LIMITS)
    assert f"Compared anyway, although they differ: {says}." in compare(base, new, LIMITS, anyway=True).caveats


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


def test_there_are_warnings_about_single_runs_and_their_order():
    base = [replace(one, origin_s=100 + place) for place, one in enumerate(runs("A", QUIET))]
    new = [replace(one, origin_s=200 + place) for place, one in enumerate(runs("B", QUIET))]
    new[0] = replace(
        new[0],
        warnings=(
            RunWarning(WarningCode.NOT_STEADY, "Not steady: it fell apart"),
            RunWarning(WarningCode.CLOSED_MODEL, "Closed model"),
        ),
    )
    found = compare(base, new, LIMITS)
    assert found.caveats[0].startswith("All runs of one side are older than those of the other")
    assert found.caveats[1:] == ("B_0: Not steady: it fell apart",)
    in_turn = [replace(one, origin_s=100 + place) for place, one in enumerate(runs("B", QUIET))]
    assert compare(base, in_turn, LIMITS).caveats == ()


def test_warnings_of_the_plan_are_listed_once():
    note = "A stand-in takes the place of FOLIO: times say nothing about FOLIO."
    base, new = (
        [replace(one, warnings=(RunWarning(WarningCode.PLAN, note),)) for one in runs(name, QUIET)] for name in "AB"
    )
    assert compare(base, new, LIMITS).caveats == (note,)


@pytest.mark.parametrize(
    "code", [WarningCode.ABSENT_GENERATOR, WarningCode.SLOW_GENERATOR, WarningCode.FAILING_GENERATOR]
)
def test_an_outlying_generator_is_a_warning_of_the_comparison(code):
    base, new = ([run_result(name, total=total(), warnings=(RunWarning(code, "one was unlike"),))] for name in "AB")
    assert compare(base, new, LIMITS).caveats[1:] == ("A, B: one was unlike",)


STEADY_NOT, LITTLE = (
    RunWarning(WarningCode.NOT_STEADY, "Not steady: it rises by 30 %."),
    RunWarning(WarningCode.LITTLES_LAW, "The law is off."),
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
        CANNOT_TELL, ("B_3 is DOUBTFUL: not steady",), None,
    )  # fmt: skip
    assert {one.verdict for one in found.total.metrics} == {CANNOT_TELL}
    one = average(found)
    assert (one.delta_ratio, one.reason) == (pytest.approx(factor - 1), "not judged: a run is DOUBTFUL")
    assert "pass --anyway" in found.caveats[0]
    assert compare(new, base, LIMITS).verdict == CANNOT_TELL


def test_with_anyway_doubtful_runs_are_judged_and_a_warning_says_so():
    base, new = runs("A", QUIET), runs("B", [ms * 1.5 for ms in QUIET])
    base[0], new[3] = doubtful(base[0], STEADY_NOT), doubtful(new[3], STEADY_NOT, LITTLE)
    found = compare(base, new, LIMITS, anyway=True)
    assert found.verdict == REGRESSED
    assert found.caveats[0].startswith("Judged anyway, although A_0 is DOUBTFUL: not steady; B_3 is DOUBTFUL: not")
    assert "A_0, B_3: Not steady: it rises by 30 %." in found.caveats


def test_an_invalid_run_outranks_a_doubtful_one():
    broken = run_result("B", total=total(), verdict=Verdict("INVALID", ("JMeter ended with code 1",), (), ()))
    found = compare([doubtful(run_result("A", total=total()), STEADY_NOT)], [broken], LIMITS, anyway=False)
    assert found.verdict == INVALID


def test_every_warning_of_both_sides_is_listed_and_runs_that_share_one_share_a_line():
    stand_in = RunWarning(WarningCode.PLAN, "Times of a stand-in say nothing about FOLIO.")
    base, new = runs("A", QUIET), runs("B", QUIET)
    base = [
        replace(
            one,
            warnings=(
                RunWarning(WarningCode.CLOSED_MODEL, "Closed."),
                stand_in,
                RunWarning(WarningCode.PLAN, "Other."),
            ),
        )
        for one in base
    ]
    new = [
        replace(one, warnings=(stand_in, RunWarning(WarningCode.HOST_CPU, f"The cores were {91 + place} % busy.")))
        for place, one in enumerate(new)
    ]
    assert compare(base, new, LIMITS).caveats == (
        "Times of a stand-in say nothing about FOLIO.",
        "Other.",
        "B_0: The cores were 91 % busy. B_1, B_2, B_3, B_4: the same, with other numbers.",
    )


def test_warnings_that_make_a_run_doubtful_come_first():
    one = replace(
        run_result("A", total=total()),
        warnings=(RunWarning(WarningCode.HOST_CPU, "Busy."), RunWarning(WarningCode.FAST_WARM_UP, "Slower.")),
    )
    warned = [text for text in compare([one], [run_result("B", total=total())], LIMITS).caveats if text[:2] == "A:"]
    assert warned == ["A: Slower.", "A: Busy."]


def test_a_transaction_that_only_one_side_has_does_not_change_the_mix_of_total():
    visit = label_result("Visit", sample_count=5_000)
    base = run_result("A", label_result(), total=total(sample_count=10_000))
    apart = run_result("B", label_result(), replace(visit, is_transaction=True), total=total(sample_count=10_000))
    assert not any("TOTAL contains different requests" in text for text in compare([base], [apart], LIMITS).caveats)
    mixed = run_result("C", label_result(), visit, total=total(sample_count=10_000))
    assert any("TOTAL contains different requests" in text for text in compare([base], [mixed], LIMITS).caveats)


def test_two_warnings_of_one_kind_in_one_run_are_both_listed():
    busy = tuple(RunWarning(WarningCode.HOST_CPU, f"The cores of {name} were busy.") for name in ("gen1", "gen2"))
    base, new = run_result("A", total=total(), warnings=busy), run_result("B", total=total(), warnings=busy[:1])
    listed = [text for text in compare([base], [new], LIMITS).caveats if "cores" in text]
    assert listed == ["A, B: The cores of gen1 were busy.", "A: The cores of gen2 were busy."]


def test_of_two_runs_with_other_numbers_in_a_warning_both_are_quoted():
    base, new = (
        run_result(name, total=total(), warnings=(RunWarning(WarningCode.FAST_WARM_UP, f"Faster by {factor}."),))
        for name, factor in (("A", 2), ("B", 3))
    )
    listed = [text for text in compare([base], [new], LIMITS).caveats if "Faster" in text]
    assert listed == ["A: Faster by 2.", "B: Faster by 3."]


def test_a_profiled_side_against_one_that_is_not_has_a_warning_of_its_own():
    def side(name, *are_profiled):
        return [
            run_result(f"{name}_{place}", total=total(), run=record(name=f"{name}_{place}", is_profiled=is_profiled))
            for place, is_profiled in enumerate(are_profiled)
        ]

    def found(base, new):
        begin = WarningCode.ONE_SIDE_PROFILED.text.partition("{")[0]
        return [text for text in compare(base, new, LIMITS).caveats if text.startswith(begin)]

    (text,) = found(side("A", False, False), side("B", True, True))
    assert text.startswith("Only one side is profiled: B_0, B_1; not profiled: A_0, A_1. Recording takes CPU time")
    assert len(found(side("A", True), side("B", True, False))) == 1
    for alike in ((False,), (True,), (True, False)):
        assert found(side("A", *alike), side("B", *alike)) == []
    without_record = [replace(side("B", False)[0], run=None, kind=JTL)]
    assert found(side("A", True), without_record) == []
