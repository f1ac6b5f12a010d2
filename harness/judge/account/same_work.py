"""Compares the work of both sides of a comparison: their labels, the shares of these, and the loads.

Seen: A label is on one side only, shares of labels differ by more than 1 % of the samples, or the loads differ.

Why it matters: Then the difference of the sides is in part one of their work, most of all that of TOTAL.

What to do: Compare label by label. Run both sides with the same plan, data and load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides, judged
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart

# A smaller share of other requests changes TOTAL by less than any threshold.
DOUBT_RATIO = 0.01
_LABELS_NAMED = 3


@dataclass(frozen=True)
class Work:
    """The work of one side: the samples of each label, and its load as text; empty where it is not known."""

    sample_counts: Mapping[str, int]
    load: str

    @property
    def sample_count(self) -> int:
        """The samples of all labels."""
        return sum(self.sample_counts.values())

    def share(self, label: str) -> float:
        """Return the share of a label among the samples, 0-1."""
        return self.sample_counts.get(label, 0) / max(1, self.sample_count)


def sides_of(baseline: Work, contender: Work) -> Sides:
    """Return the work of both sides; their difference is the share of samples that have no counterpart."""
    if not baseline.sample_count or not contender.sample_count:
        return Sides()
    left, right = (_text(work) for work in (baseline, contender))
    labels = {*baseline.sample_counts, *contender.sample_counts}
    moved = sum(abs(baseline.share(label) - contender.share(label)) for label in labels) / 2
    has_other_load = bool(baseline.load and contender.load and baseline.load != contender.load)
    balance = Balance.DOUBT if has_other_load else judged(moved, DOUBT_RATIO)
    if balance is Balance.BALANCED:
        return Sides(left, right, moved, balance)
    lone = [
        f"{label} is only in the {name}"
        for name, own, other in (("baseline", baseline, contender), ("contender", contender, baseline))
        for label in own.sample_counts
        if not other.sample_counts.get(label)
    ]
    more = [f"{len(lone) - _LABELS_NAMED} more"] if len(lone) > _LABELS_NAMED else []
    reasons = [*lone[:_LABELS_NAMED], *more]
    if moved > DOUBT_RATIO and not lone:
        reasons.append(f"the labels have other shares: {units.percent_text(moved)} % of the samples")
    if has_other_load:
        reasons.append("the loads differ")
    return Sides(left, right, moved, balance, "; ".join(reasons), "Compare label by label.")


def _text(work: Work) -> str:
    labels = units.plural(len(work.sample_counts), "label")
    return ", ".join(filter(None, (f"{work.sample_count} samples of {labels}", work.load)))


def _of_one_run(_evidence: Evidence) -> Sides:
    """Return that a single run has nothing to be compared with."""
    return Sides()


LINE = LineKind(
    code="same-work",
    since="1.2.0",
    title="both sides = the same work",
    concerns=(ReportPart.VERDICT,),
    page=__doc__,
    measure=_of_one_run,
)
