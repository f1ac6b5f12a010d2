"""The account of a run: what was asked, offered, read and counted, line by line; VALID means that all of it balances.

Each module of this package is one line: its code, title, page, and the function that measures both sides. A new one is
a new module and an entry here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from harness.judge.account import asked_offered, offered_read, one_state, read_counted, same_work, users_time
from harness.judge.account.line import AccountLine, Balance, LineKind, Sides
from harness.judge.evidence import Evidence

__all__ = [
    "ALL_LINES",
    "LINES",
    "AccountLine",
    "Balance",
    "LineKind",
    "Sides",
    "account_lines",
    "invalid_reasons",
    "line_of",
    "measured",
]

# In the order of a report.
LINES: tuple[LineKind, ...] = (
    asked_offered.LINE,
    offered_read.LINE,
    read_counted.LINE,
    one_state.LINE,
    users_time.LINE,
)
# With the line that only a comparison has.
ALL_LINES = (*LINES, same_work.LINE)


def measured(evidence: Evidence) -> dict[str, Sides]:
    """Return both sides of each line by its code."""
    return {line.code: line.measured(evidence) for line in LINES}


def invalid_reasons(found: Mapping[str, Sides]) -> list[str]:
    """Return why a run is INVALID: what lines say that are out by far."""
    return [one.brief for one in found.values() if one.balance is Balance.INVALID]


def account_lines(found: Mapping[str, Sides], causes: Mapping[str, Sequence[str]]) -> tuple[AccountLine, ...]:
    """Return the lines as a report has them; `causes` are the codes of warnings that explain a line, by its code."""
    return tuple(line_of(line, found[line.code], causes.get(line.code, ())) for line in LINES)


def line_of(line: LineKind, one: Sides, causes: Iterable[str] = ()) -> AccountLine:
    """Return a line as a report has it."""
    return AccountLine(
        code=line.code,
        title=line.title,
        left=one.left,
        right=one.right,
        difference_ratio=None if one.difference_ratio is None else round(one.difference_ratio, 5),
        balance=one.balance,
        text=one.brief if one.is_off else "",
        causes=tuple(causes) if one.is_off else (),
    )
