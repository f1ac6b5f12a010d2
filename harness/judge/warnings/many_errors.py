"""Warns that many samples failed although no goal limits errors.

Seen: More than 10 % of the samples failed, and no goal says how many may.

Why it matters: A failure can be much faster or slower than an answer. Average and percentiles mix both.

What to do: Read the errors in the report first, and correct their cause. If so many are expected, say so:
`--goal="errors<20%"`, or `error_ratio` in the plan's `[goal]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind

# Without a goal for errors: above this share, times of failures are too much of every figure.
MANY_ERRORS_RATIO = 0.10


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the share of failed samples where it is large and no goal limits it."""
    load, goal = evidence.load, evidence.goal.error_ratio
    if load and goal is None and load.error_ratio > MANY_ERRORS_RATIO:
        yield {"percent": units.percent_text(load.error_ratio)}


WARNING = WarningKind(
    code="many-errors",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.ERRORS),
    needs=("load",),
    hides=("errors-in-figures",),
    is_of_answers=True,
    brief="{percent} % of the samples failed, and no goal limits errors",
    text="Times of failures are not times of work. Read the errors first; set --errors=1% or error_ratio in the "
    "plan's [goal].",
    page=__doc__,
    found_in=found_in,
)
