"""The page that explains why a run is DOUBTFUL, for the terminal: `lth help doubtful`, `lth help too-short`.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import re
import textwrap

from harness.base.log import spelled
from harness.base.project import SHIPPED

TOPIC = "doubtful"
_WIDTH = 80


def topic_text(topic: str) -> str:
    """Return the page, or its section about one code, wrapped to 80 columns; empty for any other topic.

    Commands are as the user types them.
    """
    text = (SHIPPED / "docs" / "doubtful.md").read_text(encoding="utf-8")
    text = spelled(text.partition("-->\n")[2])  # without the comment: it is generated
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    if topic != TOPIC and topic not in sections:
        return ""
    plain = re.sub(r"\[([^\]]+)\]\([^)]+\)|\*\*|^#+ ", r"\1", text if topic == TOPIC else sections[topic], flags=re.M)
    parts = plain.strip().split("\n\n")
    return "\n\n".join(textwrap.fill(part, _WIDTH, break_on_hyphens=False) for part in parts)
