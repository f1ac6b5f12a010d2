"""What a front door prints at its end: the verdict first, then the load's table."""

from __future__ import annotations

from harness.figures import LOAD
from harness.render.tables import group_table
from harness.summary import RunSummary
from harness.verdict import headline


def closing_text(summary: RunSummary, report_path: str) -> str:
    """Return the last lines of a run: verdict, the load's figures, caveats but for the standing one, the report."""
    load = summary.group(LOAD)
    lines = ["", f"{summary.source}: {headline(summary.verdict)}"]
    if load:
        lines += ["", group_table(load)]
    doubts = [caveat.text for caveat in summary.caveats if caveat.code != "closed-model"]
    if doubts:
        lines += ["", *(f"caveat: {text}" for text in doubts)]
    return "\n".join([*lines, "", f"report: {report_path}"])
