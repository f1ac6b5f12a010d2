"""Selects and orders the rows of a summary, and explains how the selection and the window change TOTAL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.base import units
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.plain_text import one_line
from harness.metrics.figures import LOAD, SUCCESSFUL, TOTAL, Group, LabelFigures
from harness.metrics.window import ALL, describe
from harness.report.columns import SortOrder
from harness.report.tables import RATES_OF_LABELS, Rows, Shown, rates_add_up

if TYPE_CHECKING:
    from harness.judge.summary import RunSummary

_LABELS_NAMED = 20


@dataclass(frozen=True)
class View:
    """The shown part of a summary, with the name of its file or files; `whole` is the load of the whole run."""

    source: str
    summary: RunSummary
    groups: tuple[Shown, ...]
    whole: Shown | None
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """The requested rows: labels that match a pattern, one single row (a label, or TOTAL), and their order."""

    pattern: re.Pattern[str] | None = None
    only: str | None = None
    order: SortOrder | None = None

    def view(self, summary: RunSummary, source: str) -> View:
        """Return the shown part of a summary; UsageError when no row is left."""
        if summary.whole and not summary.group(LOAD):
            raise UsageError(f"{source}: no sample of the load ended within --window", "give a window with samples")
        groups = self._matching(summary.groups, source)
        whole = self._matching((summary.whole,), source) if summary.whole else ()
        shown, shown_whole = self._only(groups, source), self._only(whole, source)
        remarks = (*self._remarks(summary, groups), *_window_remarks(summary, groups, whole))
        return View(source, summary, shown, next(iter(shown_whole), None), remarks)

    def _matching(self, groups: Sequence[Group], source: str) -> tuple[Shown, ...]:
        """Return the groups with the labels that match the pattern, and the TOTAL of these labels."""
        if self.pattern is None:
            return tuple(Shown(group.name, group.labels, group.total, group.counts_transactions) for group in groups)
        matching = []
        for group in groups:
            if labels := tuple(label for label in group.labels if self.pattern.search(label.label)):
                # A TOTAL of transactions alone would be of other samples than that of the whole group.
                has_total = group.counts_transactions or any(not label.is_transaction for label in labels)
                total = Group.of(group.name, labels, group.counts_transactions).total if has_total else None
                matching.append(Shown(group.name, labels, total, group.counts_transactions))
        if not matching:
            raise UsageError(f"{source}: no label matches --label {self.pattern.pattern}", _there_are(groups))
        return tuple(matching)

    def _only(self, groups: Sequence[Shown], source: str) -> tuple[Shown, ...]:
        if self.only is None:
            order = self.order.sorted if self.order else tuple
            return tuple(replace(group, labels=order(group.labels)) for group in groups)
        if self.only == TOTAL:
            # The load is the first group: its TOTAL is the result of the run.
            if groups and groups[0].total is None and self.pattern is not None:
                what = f"--label {self.pattern.pattern} matches Transaction Controllers only"
                raise UsageError(f"{source}: {what}, and TOTAL is of requests", "omit --only")
            shown = [*groups[:1], *(group for group in groups[1:] if group.name == SUCCESSFUL)]
            return tuple(replace(group, labels=()) for group in shown)
        rows = [tuple(label for label in group.labels if label.label == self.only) for group in groups]
        chosen = [replace(group, labels=own, total=None) for group, own in zip(groups, rows, strict=True) if own]
        if groups and not chosen:
            near = did_you_mean(self.only, (TOTAL, *_names(groups)))
            raise UsageError(f"{source}: --only {self.only}: no such label", f"{near}{_there_are(groups)}, {TOTAL}")
        return tuple(chosen)

    def _remarks(self, summary: RunSummary, groups: Sequence[Shown]) -> list[str]:
        """Return the verdict, unless it is VALID, and what TOTAL includes."""
        from harness.judge.verdict import VALID, headline  # loaded while a large file is counted

        remarks = [] if summary.verdict.state == VALID else [headline(summary.verdict)]
        if self.pattern is not None and self.only in (None, TOTAL) and any(group.total for group in groups):
            shown, there = (sum(len(group.labels) for group in some) for some in (groups, summary.groups))
            if shown < there:
                which = f"{shown} of {units.plural(there, 'label')}: those that match --label {self.pattern.pattern}"
                remarks.append(f"TOTAL includes {which}. Warnings apply to all.")
        transactions = {label.label for group in groups for label in group.labels if label.is_transaction}
        apart = [group for group in groups if any(not label.is_transaction for label in group.labels)]
        if transactions and self.only in (None, TOTAL):
            number = units.plural(len(transactions), "Transaction Controller")
            if not apart and any(group.total for group in groups):
                remarks.append(f"TOTAL is of {number}: their samplers have no rows.")
            elif not apart:
                remarks.append("There is no TOTAL: it is of requests, and only Transaction Controllers match --label.")
            elif any(group.counts_transactions for group in apart):
                remarks.append(f"TOTAL includes the rows of {number} and those of their samplers.")
            else:
                what = f"TOTAL excludes the rows of {number}; it includes those of their samplers, if any."
                remarks.append(f"{what} See --transactions.")
        if self.pattern is None and self.only is None and not all(map(rates_add_up, summary.groups[:1])):
            remarks.append(RATES_OF_LABELS)
        return remarks


def parse_pattern(text: str) -> re.Pattern[str]:
    """Return the regular expression; UsageError when it is none."""
    try:
        return re.compile(text)
    except re.error as error:
        what = f"--label {text}: not a regular expression ({error})"
        raise UsageError(what, r"write \( to match a bracket") from None


def change_text(before: LabelFigures, after: LabelFigures) -> str:
    """Return how excluding samples changed the TOTAL of the load."""
    return (
        f"Whole run → measured window: average {units.average_text(before.average_ms)} → "
        f"{units.average_text(after.average_ms)} ms, p90 {before.p90_ms} → {after.p90_ms} ms, "
        f"{units.rate_text(before.rate_per_s)} → {units.rate_text(after.rate_per_s)} req/s, "
        f"{before.sample_count} → {after.sample_count} samples."
    )


def _window_remarks(summary: RunSummary, groups: Sequence[Shown], whole: Sequence[Shown]) -> list[str]:
    """Return the measured window and, if it excludes samples, the load's TOTAL before and after."""
    if summary.window.kind == ALL and not summary.window.tail_cut_s:
        return []
    remarks = [describe(summary.window)]
    before, after = (next((group.total for group in some if group.name == LOAD), None) for some in (whole, groups))
    if before and after:
        remarks.append(change_text(before, after))
    return remarks


def _names(groups: Iterable[Rows]) -> list[str]:
    return list(dict.fromkeys(label.label for group in groups for label in group.labels))


def _there_are(groups: Iterable[Rows]) -> str:
    names = [one_line(name) for name in _names(groups)]
    more = f" and {len(names) - _LABELS_NAMED} more" if len(names) > _LABELS_NAMED else ""
    return f"there are: {', '.join(names[:_LABELS_NAMED])}{more}"
