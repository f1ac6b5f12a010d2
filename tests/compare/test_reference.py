"""The comparison of a run with a reference, as the report of the run stores it."""

from dataclasses import replace

import pytest

from harness.compare.comparison import CANNOT_TELL, REGRESSED
from harness.compare.reference import compared_run
from harness.judge.stored_comparisons import BETTER, ComparedRun, SettingChange
from harness.judge.verdict import INTERRUPTED, INVALID, Verdict
from harness.judge.warnings import RunWarning
from harness.report.reference_section import parts
from tests.support.comparisons import LIMITS, total
from tests.support.factories import closed_load, record
from tests.support.results import batched, label_result, run_result


def steady(least_ms):
    """Return TOTAL of 20 batches of 300 samples with an average of `least_ms` + 49.5 + 0.95 ms."""
    return batched([[least_ms + batch % 3 + index * 37 % 100 for index in range(300)] for batch in range(20)])


def compared(base, new, **changes):
    before = run_result("run-01_1", total=base, run=record(name="run-01_1"))
    after = run_result("run-01_2", total=new, run=record(name="run-01_2", **changes))
    return compared_run(before, after, LIMITS, "previous run", "run-01_1.md")


@pytest.mark.parametrize(
    ("least_ms", "verdict", "word"),
    [(200, CANNOT_TELL, CANNOT_TELL), (400, REGRESSED, REGRESSED), (50, CANNOT_TELL, BETTER)],
)
def test_the_verdicts_and_changes_are_those_of_compare(least_ms, verdict, word):
    # Equal throughput is no proof: how much runs scatter is only assumed.
    found = compared(steady(200), steady(least_ms))
    assert (found.name, found.role, found.link) == ("run-01_1", "previous run", "run-01_1.md")
    assert (found.verdict, found.problem) == (verdict, "")
    assert found.headline.startswith(verdict)
    index = found.metrics.index("average")
    assert found.threshold_ratios[index] == 0.05
    assert (found.total.base[index], found.total.new[index]) == pytest.approx((250.45, least_ms + 50.45))
    assert found.total.change_ratio[index] == pytest.approx((least_ms - 200) / 250.45)
    assert found.total.verdicts[index] == word


def test_the_change_of_errors_is_a_difference_also_from_zero():
    found = compared(total(error_ratio=0.0), total(error_ratio=0.004))
    assert found.total.change_ratio[found.metrics.index("errors")] == pytest.approx(0.004)


def test_a_metric_that_neither_run_has_is_no_column_and_one_that_a_side_lacks_is_none():
    found = compared(total(), replace(total(), percentiles_ms={}, rate_per_s=None))
    assert found.metrics == ("average", "50", "75", "90", "95", "99", "throughput", "errors")
    index = found.metrics.index("throughput")
    assert (found.total.new[index], found.total.change_ratio[index]) == (None, None)
    assert found.total.verdicts[index] == CANNOT_TELL
    assert "90" not in compared(*[replace(total(), percentiles_ms={})] * 2).metrics


@pytest.mark.parametrize("streamed", [("Pay",), ("TOTAL",), ("Pay", "TOTAL"), ("Pay", "Old", "TOTAL")])
def test_a_metric_that_only_some_labels_have_is_none_of_the_others(streamed):
    first_bytes = {"50": 10, "90": 20, "95": 30, "99": 40}

    def of(label):
        return label_result(label, first_byte_percentiles_ms=first_bytes if label in streamed else {})

    sides = (
        run_result(name, of("Old"), of("Pay"), total=of("TOTAL"), run=record(name=name)) for name in ("run-1", "run-2")
    )
    found = compared_run(*sides, LIMITS, "previous run", "")
    index = next(at for at, metric in enumerate(found.metrics) if metric.startswith("first"))
    assert found.total
    for label in (found.total, *found.labels):
        assert {len(label.base), len(label.new), len(label.change_ratio), len(label.verdicts)} == {len(found.metrics)}
        assert label.base[index] == (10 if label.label in streamed else None)
    [part] = parts([found], "run-2")
    assert ("first byte p50" in part.total_table) is ("TOTAL" in streamed)
    assert part.label_tables[0].count("first byte p50") == len({"Pay", "Old"} & {*streamed})


def test_settings_labels_and_warnings_of_both_runs_are_stored():
    busy, slow = RunWarning("host-cpu", "Busy."), RunWarning("read-counted", "Slower.")
    plan = RunWarning("plan", "A stand-in.")
    sides = (
        run_result(name, *map(label_result, labels), total=total(), warnings=found, run=record(name=name, **changes))
        for name, labels, found, changes in (
            ("A", ("Pay", "Old"), (plan, busy), {}),
            ("B", ("Pay", "New"), (slow,), {"system_settings": {"heap_mb": 256}}),
        )
    )
    found = compared_run(*sides, LIMITS, "BASE", "")
    assert found.settings == (SettingChange("tiny: heap_mb", "512", "256"),)
    assert [label.label for label in found.labels] == ["Pay"]
    assert (found.only_base, found.only_new) == (("Old",), ("New",))
    assert found.warnings[-3:] == ("A stand-in.", "B: Slower.", "A: Busy.")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"run": record(load=closed_load(users=9))},
            "the runs are not alike: users: 9 in the baseline, 2 in the contender",
        ),
        (
            {"verdict": Verdict(INVALID, ("JMeter ended with code 1",), (), ())},
            "A is INVALID: JMeter ended with code 1",
        ),
        ({"verdict": Verdict(INTERRUPTED, ("stopped",), (), ())}, "the runs are not alike: A was interrupted"),
    ],
)
def test_a_run_that_cannot_be_compared_is_a_problem_without_figures(changes, problem):
    base = run_result("A", total=total(), **changes)
    found = compared_run(base, run_result("B", total=total()), LIMITS, "pinned as baseline", "A.md")
    assert found == ComparedRun("A", "pinned as baseline", problem=problem)
