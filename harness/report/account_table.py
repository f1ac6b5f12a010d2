"""Prints the account of a run: as a Markdown table, and as one line for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.base import units
from harness.judge.account import same_work
from harness.judge.account.line import AccountLine, Balance
from harness.report.tables import cell, table

HEADS = ("account", "one side", "the other", "difference", "result")
TITLE = "The account"


def account_table(lines: Sequence[AccountLine]) -> str:
    """Return the account as a Markdown table; empty for a summary of an earlier version."""
    return table(HEADS, [[cell(text) for text in _row(line)] for line in lines], len(HEADS)) if lines else ""


def accounts_table(accounts: Mapping[str, Sequence[AccountLine]], title: str) -> str:
    """Return the accounts of several runs as a Markdown table: a row per run, whose names are below `title`.

    Runs without an account are left out; empty where none has one.
    """
    known = {name: lines for name, lines in accounts.items() if lines}
    if not known:
        return ""
    titles = {line.code: line.title for lines in known.values() for line in lines}
    rows = []
    for name, lines in known.items():
        results = {line.code: _result(line) for line in lines}
        rows.append([cell(name), *(cell(results.get(code, "")) for code in titles)])
    return table((title, *titles.values()), rows, len(titles) + 1)


def accounts_line(accounts: Mapping[str, Sequence[AccountLine]]) -> str:
    """Return the accounts of several runs in one line: which lines of which runs do not balance; empty without any.

    Of the work of both sides it says why, at the first level of a sweep.
    """
    known = {name: lines for name, lines in accounts.items() if lines}
    off: dict[str, list[str]] = {}
    why = ""
    for name, lines in known.items():
        for line in lines:
            if line.balance in (Balance.DOUBT, Balance.INVALID):
                is_of_sides = line.code == same_work.LINE.code
                why = why or (f": {line.text}" if is_of_sides else "")
                key = f"{line.title}: {line.balance.value}{why if is_of_sides else ''}"
                off.setdefault(key, []).extend([] if is_of_sides else [name])
    if not known:
        return ""
    found = "; ".join(f"{what} of {', '.join(names)}" if names else what for what, names in off.items())
    return f"{TITLE}. {found or 'All that is known balances'}."


def _result(line: AccountLine) -> str:
    return ": ".join(filter(None, (line.balance.value, line.text)))


def _row(line: AccountLine) -> tuple[str, ...]:
    causes = f" (see {', '.join(line.causes)})" if line.causes else ""
    return (line.title, line.left, line.right, _difference(line), f"{_result(line)}{causes}")


def _difference(line: AccountLine) -> str:
    return "" if line.difference_ratio is None else f"{units.percent_text(line.difference_ratio, 1)} %"


def account_line(lines: Sequence[AccountLine]) -> str:
    """Return the account in one line for a terminal: what balances, what does not, what is not known; empty without."""
    by_balance = {balance: [line.title for line in lines if line.balance is balance] for balance in Balance}
    parts = [f"{balance.value}: {', '.join(titles)}" for balance, titles in by_balance.items() if titles]
    return f"{TITLE}. {'. '.join(part[:1].upper() + part[1:] for part in parts)}." if parts else ""
