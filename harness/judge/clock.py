"""Says by how much a clock was set during a run."""

from __future__ import annotations

from harness.base import units
from harness.judge.evidence import Evidence
from harness.run.telemetry.clock_steps import ClockStep


def clock_set_text(step: ClockStep) -> str:
    """Return that a clock was set, and by how much."""
    sign = "+" if step.step_s > 0 else "−"
    return f"A clock was set by about {sign}{units.duration_text(abs(step.step_s))} during the run"


def false_clock(evidence: Evidence) -> list[str]:
    """Return why the run is INVALID: its time stamps do not cover the time that it took."""
    step = evidence.clock_step
    return [clock_set_text(step)] if evidence.run and step and step.is_large else []
