"""How much the earlier runs of a load scatter, for a comparison of two single runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.compare.conditions import Conditions
from harness.compare.run_scatter import RunScatter, scatter_of
from harness.history.catalogue import Entry
from harness.report.run_result import RunResult

# So many of the latest runs of a plan are looked at.
LOOKED_AT_MOST = 60


def earlier_scatter(entries: Iterable[Entry], compared: Sequence[RunResult]) -> RunScatter | None:
    """Return the scatter of the valid runs under the conditions of the compared ones, without these; None for too few.

    Runs before the last compared one count, which is one of the entries: later ones do not change its report.
    """
    records = [result.run for result in compared if result.run]
    conditions = {Conditions.of(run) for run in records}
    if len(records) < len(compared) or len(conditions) != 1:
        return None
    ids, ordered = {run.id for run in records}, sorted(entries, key=lambda entry: entry.order_key)
    ends = [at for at, entry in enumerate(ordered) if entry.run and entry.run.id in ids]
    alike = [
        entry
        for entry in ordered[: max(ends, default=0)]
        if entry.run
        and entry.result
        and entry.result.is_valid
        and entry.run.id not in ids
        and Conditions.of(entry.run) in conditions
    ]
    return scatter_of([entry.result for entry in alike if entry.result])
