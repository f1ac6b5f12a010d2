"""The warnings of a comparison."""

from dataclasses import replace

import pytest

from harness.compare.comparison import OK
from harness.compare.decision import compare
from harness.judge.warnings import RunWarning, one_side_profiled
from harness.report.run_result import JTL
from tests.support.comparisons import LIMITS, QUIET, runs, total
from tests.support.factories import record
from tests.support.results import label_result, run_result


def test_labels_on_one_side_only_change_the_mix_in_total():
    pay, read = label_result("Pay", sample_count=60), label_result("Read", sample_count=40)
    both = [run_result("A", pay, read, total=total(sample_count=100))]
    found = compare(both, [run_result("B", pay, total=total(sample_count=60))], LIMITS)
    assert found.only_baseline == ("Read",)
    assert found.warnings[0].startswith(
        "TOTAL contains different requests: labels of one side only are 40.00 % of the baseline's samples and "
        "0.00 % of the contender's."
    )
    # One request in a hundred changes nothing.
    rare = run_result("C", label_result("Pay", sample_count=99), label_result("Odd", sample_count=1),
                      total=total(sample_count=100))  # fmt: skip
    found = compare([rare], [run_result("B", pay, total=total(sample_count=60))], LIMITS)
    assert not any(warning.startswith("TOTAL is not") for warning in found.warnings)


def test_jtls_without_a_record_are_compared_and_unknown_settings_are_reported():
    jtls = [replace(one, run=None, kind=JTL) for one in runs("A", QUIET)]
    found = compare(jtls, runs("B", QUIET), LIMITS)
    assert found.verdict == OK
    assert "no run.json, so users, duration and system cannot be compared" in found.warnings[0]


def test_there_are_warnings_about_single_runs_and_their_order():
    base = [replace(one, origin_s=100 + index) for index, one in enumerate(runs("A", QUIET))]
    new = [replace(one, origin_s=200 + index) for index, one in enumerate(runs("B", QUIET))]
    new[0] = replace(
        new[0],
        warnings=(
            RunWarning("one-state", "Not steady: it fell apart"),
            RunWarning("closed-model", "Closed model"),
        ),
    )
    found = compare(base, new, LIMITS)
    assert found.warnings[0].startswith("All runs of one side are older than those of the other")
    assert found.warnings[1:] == ("B_0: Not steady: it fell apart",)
    alternating = [replace(one, origin_s=100 + index) for index, one in enumerate(runs("B", QUIET))]
    assert compare(base, alternating, LIMITS).warnings == ()


def test_warnings_of_the_plan_are_listed_once():
    note = "A stand-in takes the place of FOLIO: times say nothing about FOLIO."
    base, new = ([replace(one, warnings=(RunWarning("plan", note),)) for one in runs(name, QUIET)] for name in "AB")
    assert compare(base, new, LIMITS).warnings == (note,)


@pytest.mark.parametrize("code", ["asked-offered", "slow-generator", "failing-generator"])
def test_an_outlying_generator_is_a_warning_of_the_comparison(code):
    base, new = ([run_result(name, total=total(), warnings=(RunWarning(code, "one was unlike"),))] for name in "AB")
    assert compare(base, new, LIMITS).warnings[1:] == ("A, B: one was unlike",)


def test_every_warning_of_both_sides_is_listed_and_runs_that_share_one_share_a_line():
    stand_in = RunWarning("plan", "Times of a stand-in say nothing about FOLIO.")
    base, new = runs("A", QUIET), runs("B", QUIET)
    base = [
        replace(
            one,
            warnings=(
                RunWarning("closed-model", "Closed."),
                stand_in,
                RunWarning("plan", "Other."),
            ),
        )
        for one in base
    ]
    new = [
        replace(one, warnings=(stand_in, RunWarning("host-cpu", f"The cores were {91 + index} % busy.")))
        for index, one in enumerate(new)
    ]
    assert compare(base, new, LIMITS).warnings == (
        "Times of a stand-in say nothing about FOLIO.",
        "Other.",
        "B_0: The cores were 91 % busy. B_1, B_2, B_3, B_4: the same, with other numbers.",
    )


def test_warnings_that_make_a_run_doubtful_come_first():
    one = replace(
        run_result("A", total=total()),
        warnings=(RunWarning("host-cpu", "Busy."), RunWarning("read-counted", "Slower.")),
    )
    warned = [text for text in compare([one], [run_result("B", total=total())], LIMITS).warnings if text[:2] == "A:"]
    assert warned == ["A: Slower.", "A: Busy."]


def test_a_transaction_that_only_one_side_has_does_not_change_the_mix_of_total():
    visit = label_result("Visit", sample_count=5_000)
    base = run_result("A", label_result(), total=total(sample_count=10_000))
    apart = run_result("B", label_result(), replace(visit, is_transaction=True), total=total(sample_count=10_000))
    assert not any("TOTAL contains different requests" in text for text in compare([base], [apart], LIMITS).warnings)
    mixed = run_result("C", label_result(), visit, total=total(sample_count=10_000))
    assert any("TOTAL contains different requests" in text for text in compare([base], [mixed], LIMITS).warnings)


def test_two_warnings_of_one_kind_in_one_run_are_both_listed():
    busy = tuple(RunWarning("host-cpu", f"The cores of {name} were busy.") for name in ("gen1", "gen2"))
    base, new = run_result("A", total=total(), warnings=busy), run_result("B", total=total(), warnings=busy[:1])
    listed = [text for text in compare([base], [new], LIMITS).warnings if "cores" in text]
    assert listed == ["A, B: The cores of gen1 were busy.", "A: The cores of gen2 were busy."]


def test_of_two_runs_with_other_numbers_in_a_warning_both_are_quoted():
    base, new = (
        run_result(name, total=total(), warnings=(RunWarning("read-counted", f"Faster by {factor}."),))
        for name, factor in (("A", 2), ("B", 3))
    )
    listed = [text for text in compare([base], [new], LIMITS).warnings if "Faster" in text]
    assert listed == ["A: Faster by 2.", "B: Faster by 3."]


def test_a_profiled_side_against_one_that_is_not_has_a_warning_of_its_own():
    def side(name, *are_profiled):
        return [
            run_result(f"{name}_{index}", total=total(), run=record(name=f"{name}_{index}", is_profiled=is_profiled))
            for index, is_profiled in enumerate(are_profiled)
        ]

    def found(base, new):
        begin = one_side_profiled.WARNING.full_text.partition("{")[0]
        return [text for text in compare(base, new, LIMITS).warnings if text.startswith(begin)]

    (text,) = found(side("A", False, False), side("B", True, True))
    assert text.startswith("Only one side is profiled: B_0, B_1; not profiled: A_0, A_1. Recording takes CPU time")
    assert len(found(side("A", True), side("B", True, False))) == 1
    for alike in ((False,), (True,), (True, False)):
        assert found(side("A", *alike), side("B", *alike)) == []
    without_record = [replace(side("B", False)[0], run=None, kind=JTL)]
    assert found(side("A", True), without_record) == []
