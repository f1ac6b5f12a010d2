"""Measures whether both sides of a comparison did the same work: the last line of the account."""

from __future__ import annotations

from collections.abc import Sequence

from harness.compare.findings import figures_of, label_names, sample_count
from harness.judge.account import AccountLine, line_of, same_work
from harness.judge.account.same_work import Work, sides_of
from harness.report.run_result import RunResult
from harness.report.setup import load_text


def same_work_line(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> AccountLine:
    """Return the line of the account that compares the labels, their shares and the loads of both sides."""
    return line_of(same_work.LINE, sides_of(_work(baseline), _work(contender)))


def _work(side: Sequence[RunResult]) -> Work:
    counts = {}
    for label in label_names(side):
        requests = [one for one in figures_of(side, label) if not one.is_transaction and not one.is_job]
        if count := sample_count(requests):
            counts[label] = count
    loads = dict.fromkeys(load_text(result.run.load) for result in side if result.run)
    return Work(counts, "; ".join(loads))
