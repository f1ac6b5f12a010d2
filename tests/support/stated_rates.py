"""Reads how often intervals contain the truth at least, from the table of answers in docs/benchmarks.md."""

from __future__ import annotations

from tests.support.paths import ROOT

# The last columns are the intervals, what is found, and what follows the last bar.
_COVERED = -3


def least_covered_text(page: str) -> str:
    """Return the least share of a page's intervals that contain the truth, such as `91 %`."""
    lines = (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
    [row] = [line.split("|") for line in lines if line.startswith(f"|{page}|")]
    return f"{float(row[_COVERED].partition('–')[0]):.0f} %"
