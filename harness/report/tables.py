"""Markdown tables, such as the statistics of a group: plain cells, or padded as in the reports of 2015."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from harness.base.plain_text import one_line
from harness.metrics.figures import JOBS, LOAD, ONCE, SETUP, SUCCESSFUL, TEARDOWN, Group, LabelFigures
from harness.report.columns import AVERAGE, COUNT, DEFAULT, ERROR_COUNT, FIRST_BYTE_COLUMNS, Column, columns_of, in_two

GROUP_TITLES = {
    LOAD: "Load",
    ONCE: "Once per user",
    SETUP: "setUp",
    TEARDOWN: "tearDown",
    JOBS: "Requests of jobs",
    SUCCESSFUL: "Load, successful samples only",
}
_TRANSACTIONS = "transactions"
# The tables of transactions, by the name of their group and _TRANSACTIONS.
TRANSACTION_TITLES = {
    LOAD: "Transactions",
    ONCE: "Transactions once per user",
    SETUP: "Transactions in setUp",
    TEARDOWN: "Transactions in tearDown",
    JOBS: "Durations of jobs",
    SUCCESSFUL: "Transactions, successful ones only",
}
# The name of a table whose rows are the loads of a run with several.
LOADS = "loads"
_OF_TRANSACTIONS = {f"{name} {_TRANSACTIONS}": title for name, title in TRANSACTION_TITLES.items()}
_TITLES = {**GROUP_TITLES, **_OF_TRANSACTIONS, LOADS: "Loads"}
# A label of fewer samples has no percentiles in the tables beside the load.
_SAMPLES_LEAST = 20
# Characters that Markdown or GitHub reads as mark-up; & only at the start of an entity, _ only at the edge of a word.
_SPECIAL = re.compile(r"([\\`*~$\[\]<>|]|&(?=#?\w+;)|(?<![^\W_])_|_(?![^\W_]))")
# The minimum widths of the tables of 2015; their label column was as wide as "Stripe (Default) Payment Method".
_CLASSIC_WIDTHS = {
    "": 31, "#count": 6, "average": 7, "median": 6, "90%": 3, "min": 4, "max": 5, "errors": 8, "bandwidth": 9,
}  # fmt: skip

# A reader who adds up the rates of a table finds a larger difference than rounding.
_RATES_DIFFER_RATIO = 0.05
RATES_OF_LABELS = (
    "Each rate covers the time from the first start to the last end of its own row: they do not add up to TOTAL."
)


@dataclass(frozen=True)
class Shown:
    """The rows shown of a group; `total` is None when only a label was requested, and for transactions."""

    name: str
    labels: tuple[LabelFigures, ...]
    total: LabelFigures | None
    counts_transactions: bool


# Rows of statistics: labels, and TOTAL unless it is omitted.
Rows = Group | Shown


def title_of(group: Rows) -> str:
    """Return the title of a table."""
    return _TITLES[group.name]


def parts_of(group: Rows) -> tuple[Rows, ...]:
    """Return the tables of a group: requests with TOTAL, then the transactions that TOTAL leaves out.

    A group without transactions, or whose TOTAL counts them, is one table.
    """
    transactions = tuple(label for label in group.labels if label.is_transaction)
    if group.counts_transactions or not transactions:
        return (group,)
    requests = tuple(label for label in group.labels if not label.is_transaction)
    apart = Shown(f"{group.name} {_TRANSACTIONS}", transactions, None, counts_transactions=True)
    if not requests and group.total is None:
        return (apart,)
    return (Shown(group.name, requests, group.total, counts_transactions=False), apart)


def rates_add_up(group: Group) -> bool:
    """Return whether the rates of a group's rows add up to that of TOTAL; True without rates, and of few samples."""
    rates, total = [label.rate_per_s for label in group.counted], group.total.rate_per_s
    if not total or None in rates or group.total.sample_count < _SAMPLES_LEAST:
        return True
    return abs(sum(rate for rate in rates if rate) / total - 1) <= _RATES_DIFFER_RATIO


def rows_of(group: Rows) -> tuple[LabelFigures, ...]:
    """Return the rows of a table from top to bottom: the labels, then TOTAL."""
    return group.labels if group.total is None else (*group.labels, group.total)


def cell(text: str) -> str:
    """Return text that cannot break a table: one line, Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def code(text: str) -> str:
    """Return text as Markdown's code, whatever it contains."""
    line = one_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def in_comment(text: object) -> str:
    """Return text on one line that does not end the comment around it."""
    return re.sub(r"--(!?)>", r"-\1>", one_line(str(text)))


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a Markdown table without padding: text columns first, aligned left; all others aligned right."""
    rule = [*["---"] * text_columns, *["---:"] * (len(columns) - text_columns)]
    # Row by row: the cells of 100,000 labels together would take 100 MB.
    return "\n".join("| " + " | ".join(line) + " |" for line in chain((columns, rule), rows))


def group_table(group: Rows, columns: Sequence[Column] = columns_of(DEFAULT)) -> str:
    """Return the statistics of a group: a row per label, then TOTAL."""
    return table(("label", *(column.title for column in columns)), _cells(group, columns))


def page_tables(group: Rows, columns: Sequence[Column] = columns_of(DEFAULT)) -> str:
    """Return the statistics of a group in two tables that fit a page: times, then rates and bytes."""
    return "\n\n".join(group_table(group, some) for some in in_two(columns))


def first_byte_table(group: Group) -> str:
    """Return the times to the first byte of a group, and to connect; empty where first bytes do not come first."""
    rows = [one for one in (group.total, *group.labels) if one.is_streamed]
    return group_table(parts_of(group)[0], FIRST_BYTE_COLUMNS) if rows else ""


def side_tables(group: Rows) -> str:
    """Return the statistics of a group beside the load: of few samples there are no percentiles and rates."""
    is_small = all(label.sample_count < _SAMPLES_LEAST for label in group.labels)
    return group_table(group, (COUNT, AVERAGE, ERROR_COUNT)) if is_small else page_tables(group)


def classic_table(group: Rows, columns: Sequence[Column]) -> str:
    """Return the statistics of a group in the format of the 2015 reports: no title above the labels, all padded."""
    titles = ["", *(column.title for column in columns)]
    rows = list(_cells(group, columns))
    titled = zip(titles, *rows, strict=True)
    widths = [max(_CLASSIC_WIDTHS.get(title, 0), *map(len, (title, *cells))) for title, *cells in titled]
    lines = [titles, ["-" * width for width in widths], *rows]
    return "\n".join(f"| {' | '.join(map(str.rjust, line, widths))} |" for line in lines)


def _cells(group: Rows, columns: Sequence[Column]) -> Iterator[list[str]]:
    return ([cell(row.label), *(column.cell(row) for column in columns)] for row in rows_of(group))


def titled_tables(groups: Sequence[Rows], tables: Iterable[str]) -> str:
    """Return a table per group, separated by blank lines; several tables have the group's title above them."""
    titles = [f"**{title_of(group)}**\n\n" if len(groups) > 1 else "" for group in groups]
    return "\n\n".join(title + text for title, text in zip(titles, tables, strict=True)) + "\n"
