"""The message about an A/B test, and whether it is due."""

from __future__ import annotations

from harness.base import units
from harness.compare.comparison import BETTER, CANNOT_TELL, OK
from harness.experiment.record import FINISHED
from harness.kinds.ab.outcome import AbOutcome
from harness.notify.message import Message
from harness.notify.settings import ALWAYS, CHANGED
from harness.report.setup import load_text


def is_due(when: str, outcome: AbOutcome) -> bool:
    """Return whether the end of an A/B test is worth a message; the interruption of one, which can be resumed, is not.

    always; worse: everything but OK and IMPROVED; changed: everything but OK and CANNOT TELL.
    """
    if outcome.record.state != FINISHED:
        return False
    return when == ALWAYS or outcome.verdict not in ((OK, CANNOT_TELL) if when == CHANGED else (OK, BETTER))


def ab_message(outcome: AbOutcome, link: str) -> Message:
    """Return the message about an A/B test: its headline, its sides, key metrics, runs and commits."""
    record = outcome.record
    sides = f"A: {record.a.text}; B: {record.b.text}; {load_text(record.load)}"
    figures = [f"{one.name} {one.value} {one.unit}" for one in outcome.result.key_figures]
    runs = f"{units.plural(len(record.runs), 'run')} in {units.duration_text(record.spent_s)}"
    own = record.git_commit[:12] if record.git_commit else "unknown"
    own += " with changes" if record.git_changed else ""  # the working copy is the harness's
    a, b = (side.commit[:12] if side.commit else own for side in (record.a, record.b))
    commits = f"commit {a}" if a == b else f"commits A {a}, B {b}"
    lines = (sides, ", ".join(figures), f"{runs}; {commits}")
    return Message(f"A/B test {record.id}: {outcome.result.headline}", lines, link)
