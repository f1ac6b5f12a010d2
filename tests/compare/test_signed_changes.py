"""CANNOT TELL has no signed change on any page, and no difference has more digits than it has."""

from __future__ import annotations

import math
import re
from random import Random

import pytest

from harness.compare.answer import rows_of
from harness.compare.comparison import BETTER, CANNOT_TELL, OK, REGRESSED, Comparison
from harness.compare.decision import compare
from harness.compare.interval_chart import interval_chart
from harness.compare.reference import compared_run
from harness.compare.render import Compared, change_table, report, terminal_text
from harness.kinds.ab.message import ab_message
from harness.kinds.ab.outcome import AbOutcome, change_text, headline
from harness.kinds.ab.pairs import Pair
from harness.kinds.ab.render import ab_report
from harness.kinds.ab.rule import PairSeries, judge, verdict_of
from harness.metrics.metric import AVERAGE, ERRORS, THROUGHPUT
from harness.plan.thresholds import Thresholds
from harness.release.changes import label_tables, total_tables
from harness.release.summary import result_of, summary_lines
from harness.report.change_text import decimals_of, interval_text, signed_text
from harness.report.reference_section import parts
from harness.report.run_result import RunResult
from harness.site.files import comparison_json
from tests.support.ab_tests import finished_record
from tests.support.comparisons import LIMITS, QUIET, runs
from tests.support.releases import release_of_results
from tests.support.results import batched, label_result, run_result

# A signed number with a unit of a change, or in a cell of its own: -21.5 %, +0.50 points, (+5.2).
SIGNED = re.compile(r"(?<![\d±])[+\u2212-]\d+(?:\.\d+)?(?= (?:%|points|pt)| \||\)| to )")


def comparisons() -> list[Comparison]:
    """Return comparisons of runs with changes of all sizes and scatters."""
    rng = Random(7)
    found = []
    for change in (0.7, 0.85, 0.96, 1.0, 1.04, 1.07, 1.15, 26.0):
        for scatter in (0.0, 0.02, 0.1, 0.4):
            new = [ms * change * (1 + rng.gauss(0, scatter)) for ms in QUIET]
            found.append(compare(runs("A", QUIET), runs("B", new), LIMITS))
    return found


def signed_rows(text: str) -> list[str]:
    """Return the lines with CANNOT TELL that have a signed change."""
    parts = [part for line in text.splitlines() for part in re.split(r"; |(?<=[A-Z])\. ", line)]
    return [part for part in parts if CANNOT_TELL in part and SIGNED.search(part)]


def test_a_signed_change_is_recognised():
    assert signed_rows("CANNOT TELL: noise. Seen: average \u221221.5 %") and signed_rows(
        "|TOTAL|p95 ms|9|10| +11 |CANNOT TELL|"
    )
    assert not signed_rows("REGRESSED +21.5 %\nCANNOT TELL. Seen: average within ±21.5 %; run-07_1, folio-2")


@pytest.mark.real
def test_no_text_of_a_comparison_has_a_signed_change_with_cannot_tell():
    words = set()
    for found in comparisons():
        page = report(Compared("./x", found, (), (), (), LIMITS), "")
        rows = rows_of([found.total] if found.total else [])
        texts = [page, terminal_text(found, 200), change_table(rows), interval_chart(rows).replace("</text>", "\n")]
        texts += [found.verdict + " " + reason for reason in found.reasons]
        words |= {row.metric.word for row in rows}
        for text in texts:
            assert signed_rows(text) == []
    assert {CANNOT_TELL, OK, REGRESSED, BETTER} <= words


def test_the_bar_of_a_change_that_cannot_be_told_has_no_side():
    for found in comparisons():
        rows = [row for row in rows_of([found.total] if found.total else []) if row.metric.word == CANNOT_TELL]
        for row in rows:
            svg = interval_chart([row])
            assert "<circle" not in svg
            for x, width in re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)" height="3"', svg):
                assert float(x) + float(width) / 2 == pytest.approx(280, abs=0.2), svg


def test_the_comparison_in_the_report_of_a_run_has_no_signed_change_with_cannot_tell():
    rng, seen = Random(3), 0
    for change in (0.8, 0.95, 1.0, 1.03, 1.2, 1.6):
        pairs = [[(max(1, rng.gauss(ms, 9)), ms + 40) for _ in range(20)] for ms in (80, 80 * change)]
        base, new = (run_result(name, total=batched(one)) for name, one in zip("AB", pairs, strict=True))
        stored = compared_run(base, new, Thresholds(), "previous run", "")
        for part in parts([stored], "B"):
            text = "\n".join((part.headline, part.total_table, *part.label_tables))
            seen += text.count(CANNOT_TELL)
            assert signed_rows(text) == []
        marks = comparison_json(base, new, Thresholds())["marks"].get("TOTAL", {})
        comparison = compare([base], [new], Thresholds())
        assert comparison.total
        told = {one.metric.id for one in comparison.total.metrics if one.word != CANNOT_TELL}
        assert set(marks) == told, "the site shows the change of metrics with a mark"
    assert seen > 3


def test_no_text_of_an_ab_test_has_a_signed_change_with_cannot_tell():
    record, rng, seen = finished_record(seed=1), Random(5), 0
    for change in (-0.2, -0.06, 0.04, 0.06, 0.2, 1.5):
        for count in (4, 6, 10):
            series = [
                PairSeries(metric, tuple(change * sign + rng.gauss(0, 0.05) for _ in range(count)), 100.0, 100.0)
                for metric, sign in ((AVERAGE, 1), (THROUGHPUT, -1), (ERRORS, 0.01))
            ]
            metrics = judge(series, Thresholds())
            sides = [run_result(name, total=batched([(80 + at, 120)] * 20)) for at, name in enumerate(("A", "B"))]
            pair = Pair(1, *sides, "", is_invalid=False, b_is_first=False)
            outcome = AbOutcome(record, (pair,), metrics, verdict_of(metrics))
            undecided = [one for one in metrics if one.word == CANNOT_TELL]
            seen += len(undecided)
            texts = [ab_report(outcome, (), ""), *(f"{CANNOT_TELL} {change_text(one)}" for one in undecided)]
            if outcome.verdict == CANNOT_TELL:
                texts += [headline(outcome), ab_message(outcome, "").title]
            for text in texts:
                assert signed_rows(text) == []
    assert seen > 9


@pytest.mark.real
def test_no_text_of_a_release_has_a_signed_change_with_cannot_tell():
    rng, seen = Random(11), set()
    for repeat in (1, 3):
        for scatter in (0.005, 0.03, 0.2):
            for change in (0.7, 0.94, 1.0, 1.06, 1.5):
                sides = [
                    {
                        users: [_run(rng, f"{name}{users}-{at}", users * by, scatter) for at in range(repeat)]
                        for users in (1, 5, 20)
                    }
                    for name, by in (("A", 1.0), ("B", change))
                ]
                release = release_of_results(*sides)
                tables = "\n".join(one.table for one in (*total_tables(release), *label_tables(release)))
                result = result_of(release)
                lines = "\n".join(summary_lines(release))
                if result.verdict == CANNOT_TELL:  # the lines over all levels have no word of their own
                    lines = "\n".join(f"{CANNOT_TELL} {line}" for line in lines.splitlines() if " against " in line)
                seen.add(result.verdict)
                for text in (tables, lines, result.headline):
                    assert signed_rows(text.replace("|", " | ")) == []
    assert {CANNOT_TELL, REGRESSED, OK} <= seen


def _run(rng: Random, name: str, users: float, scatter: float) -> RunResult:
    total, label = (label_result(of, 100 * users * rng.gauss(1, scatter)) for of in ("TOTAL", "Pay"))
    return run_result(name, label, total=total)


@pytest.mark.parametrize(
    ("low", "high", "step", "text"),
    [
        (0.051, 0.054, 0.0, "+5.2"),  # half of the interval is 0.15 %
        (0.02, 0.08, 0.0, "+5.2"),  # 3 %: tenths
        (-0.1, 0.2, 0.0, "+5"),  # 15 %: whole percent
        (0.051, 0.054, 1 / 9, "+5"),  # 9 or 10 ms: whole percent
        (0.051, 0.054, 1 / 914, "+5.2"),  # 914 or 915 ms: tenths
        (None, None, 0.0, "+5.2"),
    ],
)
def test_a_difference_has_no_more_digits_than_its_interval_and_its_clock(low, high, step, text):
    assert signed_text(0.0525, OK, decimals_of(low, high, step)) == text


def test_the_interval_of_a_change_that_cannot_be_told_is_its_largest_end_either_way():
    assert interval_text(-0.031, 0.124, CANNOT_TELL, 1) == "within ±12.4"
    assert interval_text(-0.224, 0.124, CANNOT_TELL, 1) == "within ±22.4"
    assert interval_text(-0.031, 0.124, OK, 1) == "-3.1 to +12.4"
    assert interval_text(-0.031, 25.0, CANNOT_TELL, 1) == ""
    assert interval_text(8.5, 25.0, REGRESSED, 0) == "+850 to >+1000"
    assert interval_text(17.35, 19.95, REGRESSED, 0) == "+1735 to +1995"
    assert interval_text(17.35, math.inf, REGRESSED, 0) == "+1735 to >+1735"
