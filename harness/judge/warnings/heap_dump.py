"""Warns that JMeter wrote a heap dump, which may contain secrets.

Seen: JMeter wrote one, because `jvm_args` asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.judge.evidence import Evidence, Values
from harness.judge.warning_kind import ReportPart, WarningKind


def found_in(evidence: Evidence) -> Iterator[Values]:
    """Yield each heap dump of JMeter in the run directory, with its size."""
    run = evidence.run
    for name, size in (run.heap_dumps if run else {}).items():
        yield {"path": f"{run.name if run else ''}/{name}", "size": f"{units.mb_text(size)} MB"}


WARNING = WarningKind(
    code="heap-dump",
    since="1.2.0",
    concerns=(ReportPart.VERDICT, ReportPart.GENERATOR),
    needs=("run",),
    text="JMeter wrote a heap dump of {size}, which may contain secrets: {path}. Remove it after you have read it.",
    page=__doc__,
    found_in=found_in,
)
