"""The first screen of every report: the same parts in the same order, and in Markdown what is folded behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.base.plain_text import one_line, without_control
from harness.judge.result import Result, Tone
from harness.judge.verdict import WORDS_MOST
from harness.report.results import headline_line
from harness.report.tables import cell, code

# The marks of verdicts in a terminal: as wide as a letter, which those of Markdown are not.
SHAPES = {Tone.GOOD: "\u2714", Tone.DOUBT: "!", Tone.BAD: "\u2718", Tone.NONE: ""}
# A first screen has so many rows in its table and lines of what weakens it.
ROWS_MOST, WEAKENED_MOST = 12, 4


def brief(*sentences: str) -> str:
    """Return an answer of at most 20 words: as many of the sentences as fit; the first one is cut if it must be."""
    words = one_line(sentences[0]).split()
    if len(words) > WORDS_MOST:
        return f"{' '.join(words[:WORDS_MOST]).rstrip('.,:;')}…"
    for sentence in sentences[1:]:
        if len(words) + len(sentence.split()) <= WORDS_MOST:
            words += sentence.split()
    return " ".join(words)


def first_screen(
    result: Result, *, goals: str = "", chart: str = "", table: str = "", weakened_by: Sequence[str] = ()
) -> str:
    """Return mark and verdict with the answer, goals, chart, key table, what weakens it, and what to do next.

    `goals`, `chart`, `table` and the lines of `weakened_by` are Markdown. Without `goals`, the sentence of the result
    is printed. Parts without content are left out.
    """
    steps = [f"{cell(step.text)}{f': {code(step.command)}' if step.command else ''}" for step in result.next_steps]
    parts = (
        headline_line(result),
        goals or cell(result.goals),
        chart,
        table,
        _list("What weakens it", weakened_by),
        _list("What to do next", steps),
    )
    return "\n\n".join(filter(None, parts))


def printed_screen(result: Result, *, table: str = "", weakened_by: Sequence[str] = ()) -> str:
    """Return the first screen as plain text for a terminal; `table` and the lines of `weakened_by` are plain text."""
    steps = [": ".join(filter(None, (step.text, step.command))) for step in result.next_steps]
    parts = (
        "\n".join(filter(None, (f"{SHAPES[result.tone]} {result.headline}".lstrip(), result.goals))),
        table,
        "\n".join(["What weakens it:", *(f"- {line}" for line in weakened_by)]) if weakened_by else "",
        "\n".join(["What to do next:", *(f"- {step}" for step in steps)]) if steps else "",
    )
    return without_control("\n\n".join(filter(None, parts)))


def shortest(*answers: str) -> str:
    """Return the first of some answers that has at most WORDS_MOST words, else as much of the last one."""
    return next((answer for answer in answers if len(answer.split()) <= WORDS_MOST), brief(answers[-1]))


def _list(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"**{title}:**", "", *(f"- {line}" for line in lines))) if lines else ""


def folded(title: str, caller: Callable[[], str]) -> str:
    """Return the block of a template as Markdown that GitHub and the HTML pages fold; the title is plain text.

    In a template: `{% call folded("Set-up") %}`, the content, `{% endcall %}`. An empty block gives nothing.
    """
    content = caller().strip("\n")
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>\n\n" if content.strip() else ""
