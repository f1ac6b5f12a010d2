"""A nightly run with doubtful runs: it reports them and judges the others."""

import re

import pytest
from junitparser import JUnitXml, Skipped

from harness.judge.verdict import DOUBTFUL, INVALID, VALID, Verdict
from harness.kinds.nightly.answer import headline
from harness.kinds.nightly.report_files import nightly_xml
from tests.support.nightly_runs import STEADY, ended, entries, entry, nightly_record, page_of, result_of

NOT_STEADY = Verdict(DOUBTFUL, ("not steady",), (), ())


def test_a_doubtful_run_is_reported_with_its_reason_and_not_judged():
    # 300 ms against 100 would be a regression, were they the system's.
    result = result_of(nightly_record(ended()), *entries(*STEADY), entry(average_ms=300.0, verdict=NOT_STEADY))
    assert (result.verdict, result.exit_code_if(sure=False), result.exit_code_if(sure=True)) == ("DOUBTFUL", 0, 3)
    assert headline(result) == "DOUBTFUL: 1 of 1 run DOUBTFUL. 1 load not judged: no run is VALID."
    text = page_of(result)
    assert "- DOUBTFUL: [run-261121\\_1](tiny/run-261121_1.md) of tiny, 2 users: not steady\n" in text.replace(
        "[run-261121_1]", "[run-261121\\_1]"
    )
    assert [check.state for check in result.checks] == ["NO VALUE"]


def test_a_doubtful_nightly_run_is_not_part_of_the_baseline():
    doubtful = [entry(f"2611{day}", average_ms=900.0, verdict=NOT_STEADY) for day in range(10, 21)]
    calm = [entry(f"2611{day:02d}", average_ms=value) for day, value in zip(range(1, 10), STEADY, strict=False)]
    result = result_of(nightly_record(ended()), *calm, *doubtful, entry(average_ms=130.0))
    (check,) = result.checks
    assert (check.state, check.earlier_count, check.baseline) == ("WARNED", len(calm), pytest.approx(100, abs=3))


def test_a_load_is_judged_by_its_other_rounds_and_the_nightly_run_stays_doubtful():
    runs = [ended(), ended(2, round_number=2)]
    found = [*entries(*STEADY, 100.0), entry(number=2, average_ms=300.0, verdict=NOT_STEADY)]
    result = result_of(nightly_record(*runs), *found)
    assert headline(result) == "DOUBTFUL: 1 of 2 runs DOUBTFUL."
    assert [(check.state, check.value) for check in result.checks] == [("OK", 100.0)]


@pytest.mark.parametrize(
    ("before", "other", "state", "sure_code"),
    [
        ((130.0, 131.0), {}, "REGRESSED", 1),
        ((130.0,), {}, "WARNED", 3),
        ((100.0,), {"verdict": Verdict(INVALID, ("web died",), (), ())}, "INVALID", 3),
        ((100.0,), {"verdict": Verdict(VALID, (), (), ("p90 2 ms, goal 1 ms",))}, "GOAL MISSED", 1),
    ],
)
def test_doubtful_ranks_below_every_other_problem(before, other, state, sure_code):
    runs = [ended(), ended(2, round_number=2), ended(3, round_number=3)]
    found = [*entries(*STEADY, *before), entry(number=2, average_ms=before[-1], **other)]
    result = result_of(nightly_record(*runs), *found, entry(number=3, verdict=NOT_STEADY))
    assert (result.verdict, result.exit_code_if(sure=True)) == (state, sure_code)
    assert re.search(r"\b1 (of 3 runs )?DOUBTFUL", headline(result))


def test_a_doubtful_run_can_miss_a_goal():
    verdict = Verdict(DOUBTFUL, ("not steady",), (), ("p90 2 ms, goal 1 ms",))
    result = result_of(nightly_record(ended()), *entries(*STEADY), entry(verdict=verdict))
    assert (result.verdict, result.exit_code_if(sure=False)) == ("GOAL MISSED", 1)
    assert "p90 2 ms, goal 1 ms; DOUBTFUL: not steady\n" in page_of(result)


def test_junit_of_a_doubtful_run_is_neither_passed_nor_failed():
    text = nightly_xml(result_of(nightly_record(ended()), *entries(*STEADY), entry(verdict=NOT_STEADY)))
    ran, gate = JUnitXml.fromstring(text.encode())
    assert (ran.tests, ran.failures, ran.errors, ran.skipped) == (1, 0, 0, 1)
    assert [case.result[0].message for case in ran] == ["DOUBTFUL: not steady"]
    assert [type(case.result[0]) for case in gate] == [Skipped]
