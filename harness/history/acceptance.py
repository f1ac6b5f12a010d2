"""Changes that were intended: from such a night on a history begins anew. They stand in a CSV file, a row for each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from harness.base.errors import UsageError
from harness.base.units import parse_date
from harness.compare.conditions import Conditions
from harness.metrics.metric import Metric, parse_metric

_COLUMNS = ("since", "plan", "users", "env", "label", "metric", "reason")


@dataclass(frozen=True)
class Acceptance:
    """A change that was intended, from the night `since` (a date, 2026-11-20) on.

    It is of one plan; `users`, `profile`, `label` and `metric` narrow it down, None is all of them.
    """

    since: str
    plan: str
    users: int | None
    profile: str | None
    label: str | None
    metric: Metric | None
    reason: str

    def covers(self, plan: str, conditions: Conditions, label: str, metric: Metric) -> bool:
        """Return whether it is of that figure; `label` may be TOTAL."""
        return (
            self.plan == plan
            and self.users in (None, conditions.load.users)
            and self.profile in (None, conditions.profile)
            and self.label in (None, label)
            and self.metric in (None, metric)
        )

    @property
    def what(self) -> tuple[str, ...]:
        """What is accepted, as the cells of its row without the reason: the order of the file."""
        users = "" if self.users is None else str(self.users)
        metric = self.metric.name if self.metric else ""
        return self.since, self.plan, users, self.profile or "", self.label or "", metric

    @property
    def text(self) -> str:
        """What is accepted, in words."""
        _, _, users, profile, label, metric = self.what
        parts = (self.plan, users and f"{users} users", profile and f"profile {profile}", label, metric)
        return f"{', '.join(part for part in parts if part)} since {self.since}"


def parse_acceptances(text: str, where: str) -> tuple[Acceptance, ...]:
    """Return the rows of the CSV file; UsageError names the line that is wrong."""
    rows = csv.reader(io.StringIO(text, newline=""))
    head = next(rows, list(_COLUMNS))
    if tuple(head) != _COLUMNS:
        raise UsageError(f"{where}:1: its columns are {','.join(head)}", f"they must be {','.join(_COLUMNS)}")
    return tuple(_parsed(rows, where))


def _parsed(rows: Iterator[list[str]], where: str) -> Iterator[Acceptance]:
    for line, row in enumerate(rows, start=2):
        if not row:
            continue
        here = f"{where}:{line}:"
        if len(row) != len(_COLUMNS) or not row[1] or (row[2] and not row[2].isdecimal()):
            raise UsageError(f"{here} not a row of {','.join(_COLUMNS)}", "correct it, or ./aggregate.py accept --help")
        since, plan, users, profile, label, metric, reason = row
        yield Acceptance(
            since=parse_date(since, here),
            plan=plan,
            users=int(users) if users else None,
            profile=profile or None,
            label=label or None,
            metric=parse_metric(metric, here) if metric else None,
            reason=reason,
        )


def acceptances_csv(acceptances: Iterable[Acceptance]) -> str:
    """Return the CSV file: sorted, so that it diffs well; UTF-8, LF, quoted as RFC 4180 says."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows((*one.what, one.reason) for one in sorted(acceptances, key=lambda one: one.what))
    return text.getvalue()


def with_one_more(acceptances: Sequence[Acceptance], new: Acceptance) -> tuple[Acceptance, ...]:
    """Return them with a new one; UsageError when that is there already."""
    if any(one.what == new.what for one in acceptances):
        raise UsageError(f"{new.text} is accepted already", "--list shows what is")
    return (*acceptances, new)


def without(acceptances: Sequence[Acceptance], what: tuple[str, ...]) -> tuple[Acceptance, ...]:
    """Return them without the one of that row; UsageError when it is not there."""
    left = tuple(one for one in acceptances if one.what != what)
    if len(left) == len(acceptances):
        there = "; ".join(one.text for one in acceptances)
        raise UsageError("nothing like that is accepted", f"there are: {there}" if there else "there is none at all")
    return left
