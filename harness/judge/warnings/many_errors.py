"""Warns that many samples failed, or most of a label, although no goal limits their errors.

Seen: More than 10 % of the samples failed, or most of a label, and no goal allows it.

Why it matters: A failure can be much faster or slower than an answer. Average and percentiles mix both.

What to do: Correct the errors' cause. If so many are expected, say so: `--goal="errors<20%"`,
`--goal="Pay: errors<100%"`, or `error_ratio` in the plan's `[goal]`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.goals import MOSTLY_ERRORS_RATIO
from harness.judge.ignored import named
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.figures import LabelFigures
from harness.metrics.metric import ERRORS

# Without a goal for errors: above this share, times of failures are too much of every figure.
MANY_ERRORS_RATIO = 0.10
# So many failures of a label are no single mishap.
_LABEL_ERRORS_LEAST = 5


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the share of failed samples where it is large and no goal limits it, else the labels that mostly failed."""
    load, goal = evidence.load, evidence.goal.error_ratio
    if load is None:
        return
    if goal is None and load.error_ratio > MANY_ERRORS_RATIO:
        share = f"{units.percent_text(load.error_ratio)} % of the samples"
        yield {"share": share, "does": "limits errors", "advice": "set --errors=1% or error_ratio in the plan's [goal]"}
    elif failing := _failing(evidence):
        first = failing[0]
        share = f"Most samples of {units.plural(len(failing), 'label')} ({named([one.label for one in failing])})"
        if len(failing) == 1:
            share = f"{first.error_count:,} of {units.plural(first.sample_count, 'sample')} of {first.label}"
        advice = "if they are meant, give a goal such as --goal='LABEL: errors<100%'"
        yield {"share": share, "does": "tells it", "advice": advice}


def _failing(evidence: Evidence) -> list[LabelFigures]:
    """Return the labels of which most samples failed, most failures first, where no goal tells it.

    A goal of TOTAL tells it when it is missed, or when it allows that most fail.
    """
    limit, whole = evidence.goal.error_ratio, evidence.whole or evidence.load
    if limit is not None and (limit >= MOSTLY_ERRORS_RATIO or (whole and whole.error_ratio > limit)):
        return []
    goals = (evidence.goal, *(evidence.run.load_goals.values() if evidence.run else ()))
    rules = [rule for goal in goals for rule in goal.rules if rule.metric == ERRORS.key]
    failing = (
        label
        for label in evidence.labels
        if label.error_count >= _LABEL_ERRORS_LEAST
        and label.error_ratio > MOSTLY_ERRORS_RATIO
        and not any(rule.matches(label.label) for rule in rules)
    )
    return sorted(failing, key=lambda label: -label.error_count)


WARNING = WarningKind(
    code="many-errors",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.ERRORS),
    needs=("load",),
    hides=("errors-in-figures",),
    is_of_answers=True,
    brief="{share} failed, and no goal {does}",
    text="Times of failures are not times of work. Read the errors first; {advice}.",
    page=__doc__,
    found_in=found_in,
)
