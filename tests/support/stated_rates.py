"""Reads how often pages are wrong at most and intervals right at least, from the answers in docs/benchmarks.md."""

from __future__ import annotations

from tests.support.paths import ROOT

# The columns after the name are the kinds of scatter, the intervals, what is found, and what follows the last bar.
_FALSE, _COVERED = slice(2, -3), -3


def least_covered_text(page: str) -> str:
    """Return the least share of a page's intervals that contain the truth, such as `91 %`."""
    return f"{float(_row(page)[_COVERED].partition('–')[0]):.0f} %"


def most_false_text(page: str) -> str:
    """Return the greatest share of a page's answers that claim a change without one, such as `2.5 %`."""
    return f"{max(float(share) for share in _row(page)[_FALSE] if share):.1f} %"


def _row(page: str) -> list[str]:
    lines = (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
    [row] = [line.split("|") for line in lines if line.startswith(f"|{page}|")]
    return row
