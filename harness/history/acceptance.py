"""Intended changes: each one restarts a history on its date. They are stored in a CSV file, one row each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.base.units import parse_date
from harness.compare.conditions import Conditions
from harness.metrics.metric import Metric, parse_metric
from harness.run.directory import write_whole

_COLUMNS = ("since", "plan", "users", "env", "label", "metric", "reason")
# Path in the project's folder.
ACCEPTED = "env/nightly-accepted.csv"


@dataclass(frozen=True)
class Acceptance:
    """An intended change, effective from the date `since` (2026-11-20).

    It applies to one plan. `users`, `profile`, `label` and `metric` restrict it; None means all of them.
    """

    since: str
    plan: str
    users: int | None
    profile: str | None
    label: str | None
    metric: Metric | None
    reason: str

    def covers(self, plan: str, conditions: Conditions, label: str, metric: Metric) -> bool:
        """Return whether it applies to a metric of a label; `label` may be TOTAL."""
        return self.covers_label(plan, conditions, label) and self.metric in (None, metric)

    def covers_label(self, plan: str, conditions: Conditions, label: str) -> bool:
        """Return whether it applies to some metric of a label, or to all."""
        return (
            self.plan == plan
            and self.users in (None, conditions.load.users)
            and self.profile in (None, conditions.profile)
            and self.label in (None, label)
        )

    @property
    def what(self) -> tuple[str, ...]:
        """The cells of its row without the reason; also the sort key of the file."""
        users = "" if self.users is None else str(self.users)
        metric = self.metric.name if self.metric else ""
        return self.since, self.plan, users, self.profile or "", self.label or "", metric

    @property
    def text(self) -> str:
        """What is accepted, as text."""
        _, _, users, profile, label, metric = self.what
        parts = (self.plan, users and f"{users} users", profile and f"profile {profile}", label, metric)
        return f"{', '.join(part for part in parts if part)} since {self.since}"


def parse_acceptances(text: str, where: str) -> tuple[Acceptance, ...]:
    """Return the rows of the CSV file; UsageError names an invalid line."""
    rows = csv.reader(io.StringIO(text, newline=""))
    head = next(rows, list(_COLUMNS))
    if tuple(head) != _COLUMNS:
        raise UsageError(f"{where}:1: its columns are {','.join(head)}", f"they must be {','.join(_COLUMNS)}")
    return tuple(_parsed(row, f"{where}:{line}:") for line, row in enumerate(rows, start=2) if row)


def _parsed(row: list[str], where: str) -> Acceptance:
    if len(row) != len(_COLUMNS) or not row[1] or (row[2] and not row[2].isdecimal()):
        raise UsageError(f"{where} not a valid row of {','.join(_COLUMNS)}", "see lth accept --help")
    since, plan, users, profile, label, metric, reason = row
    return Acceptance(
        since=parse_date(since, where),
        plan=plan,
        users=int(users) if users else None,
        profile=profile or None,
        label=label or None,
        metric=parse_metric(metric, where) if metric else None,
        reason=reason,
    )


def acceptances_csv(acceptances: Iterable[Acceptance]) -> str:
    """Return the CSV file, sorted for readable diffs; UTF-8, LF, quoted according to RFC 4180."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows((*one.what, one.reason) for one in sorted(acceptances, key=lambda one: one.what))
    return text.getvalue()


def with_one_more(acceptances: Sequence[Acceptance], new: Acceptance) -> tuple[Acceptance, ...]:
    """Return the accepted changes with a new one; UsageError when it exists already."""
    if any(one.what == new.what for one in acceptances):
        raise UsageError(f"{new.text} is accepted already", "--list prints the accepted changes")
    return (*acceptances, new)


def without(acceptances: Sequence[Acceptance], what: tuple[str, ...]) -> tuple[Acceptance, ...]:
    """Return the accepted changes without the one with these cells; UsageError when there is none."""
    left = tuple(one for one in acceptances if one.what != what)
    if len(left) == len(acceptances):
        known = "; ".join(one.text for one in acceptances)
        raise UsageError("no such change is accepted", f"accepted: {known}" if known else "nothing is accepted yet")
    return left


def read_acceptances(path: Path) -> tuple[Acceptance, ...]:
    """Return the rows of the file, none without a file; UsageError names an invalid line."""
    if not path.exists():
        return ()
    where = f"{path.parent.name}/{path.name}"
    try:
        return parse_acceptances(regular(path).read_text(encoding="utf-8"), where)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read ({error})", "correct the file") from None


def write_acceptances(path: Path, acceptances: Sequence[Acceptance]) -> None:
    """Write the file."""
    write_whole(path, acceptances_csv(acceptances))
