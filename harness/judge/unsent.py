"""Finds steps of the plan of which no sample is in the results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from harness.judge.evidence import Evidence

_NAMED_MOST = 3


class Unsent(NamedTuple):
    """Labels that were never sent: of steps that every user must send, and of steps that the plan's logic may skip."""

    certain: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


def unsent_steps(evidence: Evidence) -> Unsent:
    """Return the steps that were never sent; none where rows are missing, or where something ended the load early."""
    run = evidence.run
    if run is None or evidence.was_ended or evidence.missing_row_count or evidence.dropped.count:
        return Unsent()
    sent = {_plain(label) for label in evidence.sent}
    unsent = [step for step in run.steps if _plain(step.label) not in sent]
    certain, skipped = (tuple(one.label for one in unsent if one.may_be_skipped is may) for may in (False, True))
    return Unsent(certain, skipped)


def named(labels: Sequence[str]) -> str:
    """Return the first labels of several."""
    more = len(labels) - _NAMED_MOST
    return ", ".join(labels[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")


def _plain(label: str) -> str:
    """Return a label as it is compared: writers of results may change its blanks."""
    return " ".join(label.split())
