"""The first screen of every report in Markdown: the same parts in the same order, and what is folded behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.report.results import Result, headline_line
from harness.report.tables import cell


def first_screen(
    result: Result, *, goals: str = "", chart: str = "", table: str = "", weakened_by: Sequence[str] = ()
) -> str:
    """Return mark and verdict with the answer, goals, chart, key table, what weakens it, and what to do next.

    `goals`, `chart`, `table` and the lines of `weakened_by` are Markdown. Without `goals`, the sentence of the result
    is printed. Parts without content are left out.
    """
    steps = [f"{cell(step.text)}{f': `{step.command}`' if step.command else ''}" for step in result.next_steps]
    parts = (
        headline_line(result),
        goals or cell(result.goals),
        chart,
        table,
        _list("What weakens it", weakened_by),
        _list("What to do next", steps),
    )
    return "\n\n".join(filter(None, parts))


def _list(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"**{title}:**", "", *(f"- {line}" for line in lines))) if lines else ""


def folded(title: str, caller: Callable[[], str]) -> str:
    """Return the block of a template as Markdown that GitHub and the HTML pages fold; the title is plain text.

    In a template: `{% call folded("Set-up") %}`, the content, `{% endcall %}`. An empty block gives nothing.
    """
    content = caller().strip("\n")
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>\n\n" if content.strip() else ""
