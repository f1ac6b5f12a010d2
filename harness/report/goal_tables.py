"""Prints the goals of a run as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence

from harness.judge.goals import GoalResult
from harness.judge.verdict import Verdict
from harness.report.tables import cell, table

GOAL_HEADS = ("goal", "measured", "result")


def goal_rows(goals: Sequence[GoalResult]) -> list[list[str]]:
    """Return the rows of a table of goals: each goal, what was measured, and whether it is met."""
    return [[cell(one.goal_text), cell(one.measured_text), "met" if one.is_met else "**missed**"] for one in goals]


def goal_table(verdict: Verdict) -> str:
    """Return the table of goals; empty without goals.

    The first rows are goals of which only the text is known: a stop of the run, and all goals of older files.
    """
    known = {one.text for one in verdict.goals}
    texts = (*((text, "**missed**") for text in verdict.goals_missed), *((text, "met") for text in verdict.goals_met))
    rows = [[cell(text), "", result] for text, result in texts if text not in known] + goal_rows(verdict.goals)
    return table(GOAL_HEADS, rows, text_columns=len(GOAL_HEADS)) if rows else ""
