"""Finds the earlier run with which a new run can be compared."""

from __future__ import annotations

from collections.abc import Iterable

from harness.compare.conditions import Conditions
from harness.compare.preconditions import invalid_reasons, mismatches
from harness.history.catalogue import Entry, runs_of


def previous_run(entries: Iterable[Entry], identity: str) -> Entry | None:
    """Return the newest earlier run that is comparable with a run, such as shop/run-01_2; None when there is none.

    Both have the same plan, load, window, profile, machine and target, and neither is INVALID or INTERRUPTED. A VALID
    run is preferred: `compare` does not judge DOUBTFUL ones.
    """
    entries = tuple(entries)
    new = next((entry for entry in entries if entry.id == identity), None)
    if new is None:
        return None
    earlier = (entry for entry in runs_of(entries, new.plan) if entry.order_key < new.order_key)
    known = [entry for entry in earlier if _are_comparable(entry, new)]
    valid = [entry for entry in known if entry.result and entry.result.is_valid]
    return next(reversed(valid or known), None)


def _are_comparable(base: Entry, new: Entry) -> bool:
    before, after = base.result, new.result
    if before is None or after is None or base.run is None or new.run is None:
        return False
    return (
        before.total is not None
        and after.total is not None
        and Conditions.of(base.run) == Conditions.of(new.run)
        and base.run.kept_up == new.run.kept_up  # a level of a sweep began with a warm system
        and not mismatches([before], [after])
        and not invalid_reasons([before], [after])
    )
