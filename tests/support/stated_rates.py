"""Reads how often pages are wrong at most and intervals right at least, from the answers in docs/benchmarks.md."""

from __future__ import annotations

from tests.support.paths import ROOT

# The columns after the name are the kinds of scatter, the intervals, what is found, and what follows the last bar.
_FALSE, _COVERED = slice(2, -3), -3


def least_covered_text(page: str) -> str:
    """Return the least share of a page's intervals that contain the truth, such as `91 %`."""
    return f"{least_covered(page):.0f} %"


def most_false_text(page: str) -> str:
    """Return the greatest share of a page's answers that claim a change without one, such as `2.5 %`."""
    return f"{most_false(page):.1f} %"


def pages() -> list[str]:
    """Return the names of all pages of the table."""
    return list(_rows())


def least_covered(page: str) -> float | None:
    """Return the least share (%) of a page's intervals that contain the truth; None for a page without intervals."""
    text = _row(page)[_COVERED].partition("–")[0]
    return float(text) if text else None


def most_false(page: str) -> float:
    """Return the greatest share (%) of a page's answers that claim a change without one."""
    return max(float(share) for share in _row(page)[_FALSE] if share)


def _row(page: str) -> list[str]:
    return _rows()[page]


def _rows() -> dict[str, list[str]]:
    lines = (ROOT / "docs" / "benchmarks.md").read_text().splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("|false claims, % of pages|"))
    rows = [line.split("|") for line in lines[begin + 2 : lines.index("", begin)]]
    return {row[1]: row for row in rows}
