"""The first screen of a report in Markdown: its parts in their order, and the words of its answer."""

import re

# What each part of a first screen begins with, in the order of the parts.
_PARTS = {
    "answer": r"(?:(?:✅|⚠️|❌) )?\*\*[A-Z]{2}",
    "goals": "Goal|All goals",
    "chart": r"!\[",
    "table": r"\||Baseline: |\d+ more levels",
    "doubts": r"\*\*What weakens it:\*\*",
    "steps": r"\*\*What to do next:\*\*",
}


def screen_of(page: str) -> str:
    """Return the first screen of a page: what is between its title and its first section, folded part or quotation."""
    body = page.split("\n# ", 1)[1].split("\n\n", 1)[1]
    return re.split(r"^(?:## |<details>|> )", body, flags=re.MULTILINE)[0]


def assert_first_screen(page: str, *wanted: str) -> None:
    """Check that a page begins with these parts, an answer of at most 20 words first, and a small table."""
    screen = screen_of(page)
    blocks = [block for block in screen.strip().split("\n\n") if not block.startswith("- ")]
    found = [next((part for part, start in _PARTS.items() if re.match(start, block)), block) for block in blocks]
    assert list(dict.fromkeys(found)) == [part for part in _PARTS if part in wanted], found
    [answer] = re.findall(r"^(?:(?:✅|⚠️|❌) )?\*\*(.*)\*\*$", screen, re.MULTILINE)[:1]
    assert len(answer.split()) <= 20, answer
    rows = re.findall(r"^\|.*\|$", screen, re.MULTILINE)
    assert bool(rows) == ("table" in wanted)
    assert not rows or (rows[0].count(" | ") < 8 and len(rows) - 2 <= 12), rows
