"""Warns that labels look alike in a table.

Seen: labels differ only in blanks.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base.plain_text import one_line
from harness.judge.evidence import LABELS_NAMED, Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind

_BLANKS = str.maketrans({" ": "␣", "\t": "⇥", "\n": "↵", "\u00a0": "⍽"})


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield the labels that differ only in blanks, with signs for these."""
    alike: dict[str, dict[str, None]] = {}
    for code in evidence.codes:
        alike.setdefault(one_line(code.label), {})[code.label] = None
    if several := [names for names in alike.values() if len(names) > 1]:
        named = [" and ".join(f"“{name.translate(_BLANKS)}”" for name in names) for names in several]
        yield {"labels": "; ".join(named[:LABELS_NAMED]) + ("; …" if len(named) > LABELS_NAMED else "")}


WARNING = WarningKind(
    code="alike-labels",
    since="1.2.0",
    concerns=(ReportPart.COUNT,),
    needs=("codes",),
    text="Labels differ only in blanks: {labels}. Tables show one blank for all of them: correct the samplers' names.",
    page=__doc__,
    found_in=found_in,
)
