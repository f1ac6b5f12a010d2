"""Compares the work of both sides of a comparison: their labels, the shares of these, and the loads.

Seen: A label is on one side only, shares of labels differ by more than 1 % of the samples and by more than chance, the
loads or the codes of successes differ, or one side leaves out more of its rows.

Why it matters: Then the difference of the sides is in part one of their work, most of all that of TOTAL.

What to do: Compare label by label. Run both sides with the same plan, data and load.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.base import units
from harness.judge.account.line import Balance, LineKind, Sides, judged
from harness.judge.evidence import Evidence
from harness.judge.warning_kind import ReportPart

# A smaller share of other requests changes TOTAL by less than any threshold.
DOUBT_RATIO = 0.01
# A label of which so many samples are expected is missing by chance in fewer than one of ten thousand runs.
_EXPECTED_LEAST = 10.0
_LABELS_NAMED = 3


@dataclass(frozen=True)
class Work:
    """The work of one side: the samples of each label, and its load as text; empty where it is not known."""

    sample_counts: Mapping[str, int]
    load: str = ""

    @property
    def sample_count(self) -> int:
        """The samples of all labels."""
        return sum(self.sample_counts.values())

    def share(self, label: str) -> float:
        """Return the share of a label among the samples, 0-1."""
        return self.sample_counts.get(label, 0) / max(1, self.sample_count)


def lone_labels(own: Work, other: Work) -> list[str]:
    """Return the labels of a side that the other one lacks, not by chance; the most frequent first."""
    scale = other.sample_count / own.sample_count
    counts = own.sample_counts
    found = [one for one in counts if not other.sample_counts.get(one) and counts[one] * scale >= _EXPECTED_LEAST]
    return sorted(found, key=lambda label: -counts[label])


def moved_ratio(baseline: Work, contender: Work) -> float:
    """Return the share of samples that have no counterpart, beyond chance: half of the sum of the shares' differences.

    Two draws from one mix differ by less on average, and half as far again when requests come in groups.
    """
    labels = {*baseline.sample_counts, *contender.sample_counts}
    moved = sum(abs(baseline.share(label) - contender.share(label)) for label in labels) / 2
    by_chance = 1.5 * math.sqrt(len(labels) * sum(1 / work.sample_count for work in (baseline, contender))) / 2
    return max(0.0, moved - by_chance)


def sides_of(baseline: Work, contender: Work, others: Sequence[str] = ()) -> Sides:
    """Return the work of both sides; their difference is the share of samples that have no counterpart.

    `others` are further texts of how the sides differ.
    """
    if not baseline.sample_count or not contender.sample_count:
        return Sides()
    left, right = (_text(work) for work in (baseline, contender))
    lone = {"baseline": lone_labels(baseline, contender), "contender": lone_labels(contender, baseline)}
    lone_ratio = max(
        sum(work.share(label) for label in labels)
        for work, labels in zip((baseline, contender), lone.values(), strict=True)
    )
    moved = max(lone_ratio, moved_ratio(baseline, contender))
    if baseline.load and contender.load and baseline.load != contender.load:
        others = ("the loads differ", *others)
    balance = judged(moved, DOUBT_RATIO)
    if balance is Balance.BALANCED and not others:
        return Sides(left, right, moved, balance)
    reasons: list[str] = []
    if balance is not Balance.BALANCED:
        named = [f"{label} is only in the {name}" for name, labels in lone.items() for label in labels]
        more = [f"{len(named) - _LABELS_NAMED} more"] if len(named) > _LABELS_NAMED else []
        shares = f"the labels have other shares: {units.percent_text(moved, 0)} % of the samples"
        reasons = [*named[:_LABELS_NAMED], *more] or [shares]
    return Sides(left, right, moved, Balance.DOUBT, "; ".join([*reasons, *others]), "Compare label by label.")


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
