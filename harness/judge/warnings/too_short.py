"""Warns that the load was too short to judge.

Seen: Less than 50 s are left between ramp-up and the end of the load.

Why it matters: In so short a time a warm-up cannot be told from the steady state. The numbers may be those of cold
caches and an unfinished JIT compiler.

What to do: Run again with the duration that the message names, such as `--duration=1m`. For a try-out ignore it: `lth
check` needs no load.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.judge.evidence import Evidence, Values, longer, of_least_samples_s
from harness.judge.warning_kind import ReportPart, Severity, WarningKind
from harness.metrics.window import LEAST_SAMPLES, STEADY_LEAST_S


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield how long the load was between ramp-up and tail, how long it must be, and what to do."""
    window = evidence.window
    if evidence.is_span_known and window.is_too_short:
        needed_s, why = STEADY_LEAST_S, ""
        if (samples_s := of_least_samples_s(evidence)) > needed_s:
            needed_s, why = samples_s, f"{LEAST_SAMPLES} samples take so long. "
        remedy = f"{why}{longer(evidence, needed_s)}"
        yield {"length": f"{window.length_s} s", "least": f"{needed_s} s", "remedy": remedy}


WARNING = WarningKind(
    code="too-short",
    since="1.0.0",
    severity=Severity.DOUBTFUL,
    concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
    needs=("window",),
    hides=("one-state", "too-few-samples", "few-samples"),
    is_of_answers=True,
    brief="Too short to judge: {length} measured, {least} needed",
    text="{remedy}",
    page=__doc__,
    found_in=found_in,
)
