"""Every doubt about a result: its code and its wording, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness import units
from harness.figures import CodeCount, LabelFigures
from harness.jtl import Dropped
from harness.littles_law import LittlesLaw
from harness.record import OPEN, RunRecord
from harness.telemetry import GENERATOR, HOST, Usage
from harness.window import Window

LITTLES_LAW_TOLERANCE = 0.10
# Users are counted per second: over a shorter stretch the first and last second alone make the difference.
LITTLES_LAW_LEAST_S = 10.0
GENERATOR_CPU_RATIO = 0.80
HOST_CPU_RATIO = 0.90
# Times are whole milliseconds: below this many one step of the clock is a fifth of the figure and more.
COARSE_CLOCK_MS = 5
# The 95 % interval of a p99 is 23 % of its value at 1,000 samples and 7 % at 20,000.
P95_LEAST_SAMPLES = 1_000
P99_LEAST_SAMPLES = 5_000
EXPECTED_SUCCESS_CODES = ("200", "201", "204")


@dataclass(frozen=True)
class Caveat:
    """A doubt: `code` for programs, `text` for people."""

    code: str
    text: str


def find_caveats(
    run: RunRecord | None,
    load: LabelFigures | None,
    codes: Sequence[CodeCount],
    law: LittlesLaw | None,
    usages: Sequence[Usage],
    dropped: Dropped,
    window: Window,
) -> tuple[Caveat, ...]:
    """Return all doubts about a run or a bare JTL (`run` is None).

    `load` is the TOTAL of the load in the window; `codes` are those of the load's labels.
    """
    found = []
    if window.reason:
        found.append(Caveat("not-steady", f"Not steady: {window.reason}."))
    if dropped.count:
        lines = "; ".join(f"line {line}: {reason}" for line, reason in dropped.first)
        number = units.plural(dropped.count, "record")
        found.append(Caveat("dropped-rows", f"Of the JTL {number} could not be used ({lines})."))
    if load and load.error_count:
        number = units.plural(load.error_count, "failed sample")
        text = f"All figures include {number}: times of failures are not times of work."
        found.append(Caveat("errors-in-figures", text))
    if load:
        found += _of_figures(load)
    for code in codes:
        if code.sample_count > code.error_count and code.code not in EXPECTED_SUCCESS_CODES:
            number = units.plural(code.sample_count - code.error_count, "sample")
            text = f"{code.label}: {number} with code {code.code or '(none)'} count as success."
            found.append(Caveat("unexpected-success-code", text))
    if run:
        found += _of_run(run, law, usages)
    return tuple(found)


def _of_figures(load: LabelFigures) -> list[Caveat]:
    found = []
    number = units.plural(load.sample_count, "sample")
    if load.sample_count < P95_LEAST_SAMPLES:
        text = f"{number}: too few for a 95 % line ({P95_LEAST_SAMPLES}) or a 99 % line ({P99_LEAST_SAMPLES})."
        found.append(Caveat("few-samples", text))
    elif load.sample_count < P99_LEAST_SAMPLES:
        text = f"{number}: too few for a 99 % line ({P99_LEAST_SAMPLES})."
        found.append(Caveat("few-samples", text))
    if load.median_ms < COARSE_CLOCK_MS:
        text = f"The median is {load.median_ms} ms and times are whole milliseconds: a step of the clock is much of it."
        found.append(Caveat("coarse-clock", text))
    return found


def _of_run(run: RunRecord, law: LittlesLaw | None, usages: Sequence[Usage]) -> list[Caveat]:
    found = [Caveat("plan", text) for text in run.plan_notes]
    load = run.load
    is_open = load.model == OPEN
    if law and not is_open:
        if law.over_s >= LITTLES_LAW_LEAST_S and abs(law.ratio - 1) > LITTLES_LAW_TOLERANCE:
            found.append(
                Caveat(
                    "littles-law",
                    f"Little's law is off: {law.active_users:.1f} users were active on average, the samples account "
                    f"for {law.busy_users:.1f}. The generator, not the system, may have been measured.",
                )
            )
        if load.users and law.peak_users < load.users:
            text = f"Only {law.peak_users} of {load.users} users were ever active at once."
            found.append(Caveat("fewer-users", text))
    cores = run.host.cpu_count
    for usage in usages:
        share = usage.cpu_cores_mean / cores
        percent = units.percent_text(share, 0)
        if usage.process == GENERATOR and share > GENERATOR_CPU_RATIO:
            text = f"The generator used {percent} % of the {cores} cores: it may be the bottleneck."
            found.append(Caveat("generator-cpu", text))
        if usage.process == HOST and share > HOST_CPU_RATIO:
            shared = " that generator and system share" if run.is_embedded else ""
            text = f"The {cores} cores{shared} were {percent} % busy: response times include waiting for a core."
            found.append(Caveat("host-cpu", text))
    if not is_open:
        found.append(
            Caveat(
                "closed-model",
                "Closed model: a user waits for an answer before the next request, so a slow system is asked less "
                "often and waiting is hidden. RATE=… drives at a fixed arrival rate.",
            )
        )
    return found
