"""Warns that the system became slower within the excluded warm-up.

Seen: The system was fast at first and became slower while the harness still excluded seconds as warm-up.

Why it matters: A warm-up gets faster. This one got slower: caches or pools filled, a heap grew, or a limit began to
act. The fast part is not in the numbers.

What to do: Look at CPU, memory, heap and connection pools at that time, and run longer to see whether it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, Severity, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how the system became slower within the excluded warm-up."""
    if evidence.window.slow_down:
        yield {"seconds": str(evidence.window.warm_up_cut_s), "why": evidence.window.slow_down}


WARNING = WarningKind(
    code="fast-warm-up",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    needs=("window",),
    is_of_answers=True,
    brief="The system became slower within the {seconds} s that are excluded as warm-up",
    text="In these seconds {why}. Look at its CPU, memory and heap at that time.",
    page=__doc__,
    found_in=found_in,
)
