"""Every doubt about a result: its code and its wording, which ends with what to do, in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness import units
from harness.figures import CodeCount, LabelFigures
from harness.jtl import Dropped
from harness.littles_law import LittlesLaw
from harness.record import OPEN, RunRecord
from harness.telemetry import GENERATOR, HOST, Usage
from harness.timeline import SPAN_MAX_S
from harness.window import Window

LITTLES_LAW_TOLERANCE = 0.10
# Users are counted per second: over a shorter stretch the first and last second alone make the difference.
LITTLES_LAW_LEAST_S = 10.0
GENERATOR_CPU_RATIO = 0.80
HOST_CPU_RATIO = 0.90
# A run alone on its machine leaves about 1 % of the cores that no process of it accounts for.
OTHER_CPU_RATIO = 0.10
# Times are whole milliseconds: below this many one step of the clock is a fifth of the figure and more.
COARSE_CLOCK_MS = 5
# The 95 % interval of a p99 is 23 % of its value at 1,000 samples and 7 % at 20,000.
P95_LEAST_SAMPLES = 1_000
P99_LEAST_SAMPLES = 5_000
EXPECTED_SUCCESS_CODES = ("200", "201", "204")
ACCEPTED_CODE = "202"
# A warm-up is slower than what follows. One that was this much faster is the good time before a system slowed down.
FAST_WARM_UP_RATIO = 0.8
_LABELS_NAMED = 5
# How JMeter names the first part of a sample: GET /-0 beside GET /.
_FIRST_SUB_SAMPLE = "-0"

(
    NOT_STEADY, FAST_WARM_UP, LONG_SPAN, DROPPED_ROWS, SUB_SAMPLES, ERRORS_IN_FIGURES, FEW_SAMPLES, COARSE_CLOCK,
    UNEXPECTED_CODE, PLAN, LITTLES_LAW, FEWER_USERS, GENERATOR_CPU, HOST_CPU, OTHER_CPU, CLOSED_MODEL,
) = CODES = (
    "not-steady", "fast-warm-up", "long-span", "dropped-rows", "sub-samples", "errors-in-figures", "few-samples",
    "coarse-clock", "unexpected-success-code", "plan", "littles-law", "fewer-users", "generator-cpu", "host-cpu",
    "other-cpu", "closed-model",
)  # fmt: skip


@dataclass(frozen=True)
class Caveat:
    """A doubt: `code` for programs, `text` for people; `subject` is the response code it is about, where it is one."""

    code: str
    text: str
    subject: str = ""


@dataclass(frozen=True)
class Evidence:
    """What doubts are found in: of a run, or of a bare JTL (`run` is None).

    `load` is the TOTAL of the load in the window, and `law` and `usages` are of the window; `codes` are those of the
    labels that were driven, `peak_users` the most users ever active, both over all of the run. `warm_up_ms` is the
    average of the warm-up that was left out, and of what is counted. `is_span_known` is False where a clock was set.
    """

    run: RunRecord | None
    load: LabelFigures | None
    codes: tuple[CodeCount, ...]
    law: LittlesLaw | None
    peak_users: int | None
    usages: tuple[Usage, ...]
    dropped: Dropped
    window: Window
    warm_up_ms: tuple[float, float] | None
    is_span_known: bool


def find_caveats(evidence: Evidence) -> tuple[Caveat, ...]:
    """Return all doubts, those about the run as a whole first."""
    return tuple(
        caveat
        for find in (_of_window, _of_file, _of_figures, _of_codes, _of_run, _of_machine, _of_model)
        for caveat in find(evidence)
    )


def _of_window(evidence: Evidence) -> Iterator[Caveat]:
    if not evidence.is_span_known:
        yield Caveat(
            LONG_SPAN,
            f"Between the first and the last sample lie more than {SPAN_MAX_S // (24 * 3600)} days: a clock was set, "
            "or the file holds several runs. Rates are worth nothing then, and there is no course over time: split "
            "the file, or drop the samples of the wrong time.",
        )
    elif evidence.window.reason:
        yield Caveat(
            NOT_STEADY,
            f"Not steady: {evidence.window.reason}. Averages and percentiles are of no one state: run longer, or "
            "count one stretch with ./aggregate.py table --window FROM..TO.",
        )
    if evidence.warm_up_ms and evidence.warm_up_ms[0] < FAST_WARM_UP_RATIO * evidence.warm_up_ms[1]:
        before, counted = (units.ms_text(average) for average in evidence.warm_up_ms)
        yield Caveat(
            FAST_WARM_UP,
            f"The {evidence.window.warm_up_cut_s} s left out as warm-up were faster, {before} ms on average against "
            f"{counted} ms of what is counted: a system that slows down under load looks like this. Look at the "
            "response times over time, and at CPU, memory and heap where they rise.",
        )


def _of_file(evidence: Evidence) -> Iterator[Caveat]:
    dropped = evidence.dropped
    if dropped.count:
        more = " and more" if dropped.count > len(dropped.first) else ""
        yield Caveat(
            DROPPED_ROWS,
            f"Of the JTL {units.plural(dropped.count, 'record')} could not be used ({dropped.first_text}{more}), and "
            "no figure has them in. Look at these lines: a disk that was full or a JMeter that was killed tears them.",
        )
    labels = dict.fromkeys(code.label for code in evidence.codes)
    doubled = [label for label in labels if f"{label}{_FIRST_SUB_SAMPLE}" in labels]
    if doubled:
        named = ", ".join(doubled[:_LABELS_NAMED]) + (", …" if len(doubled) > _LABELS_NAMED else "")
        yield Caveat(
            SUB_SAMPLES,
            f"Redirects and embedded resources have rows of their own beside the request that they are part of "
            f"({named}): TOTAL counts both. jmeter.save.saveservice.subresults=false writes the requests alone.",
        )


def _of_figures(evidence: Evidence) -> Iterator[Caveat]:
    load = evidence.load
    if load is None:
        return
    if load.error_count:
        yield Caveat(
            ERRORS_IN_FIGURES,
            f"All figures include {units.plural(load.error_count, 'failed sample')}: times of failures are not times "
            "of work. Read the errors before the times; successful req/s stands in ./aggregate.py table --layout wide.",
        )
    if load.sample_count < P99_LEAST_SAMPLES:
        least = f"a 99 % line ({P99_LEAST_SAMPLES})"
        if load.sample_count < P95_LEAST_SAMPLES:
            least = f"a 95 % line ({P95_LEAST_SAMPLES}) or {least}"
        number = units.plural(load.sample_count, "sample")
        yield Caveat(FEW_SAMPLES, f"{number}: too few for {least}. Run longer before you compare these lines.")
    if load.median_ms < COARSE_CLOCK_MS:
        yield Caveat(
            COARSE_CLOCK,
            f"The median is {load.median_ms} ms and times are whole milliseconds: a step of the clock is much of it. "
            "Compare averages and req/s rather than percentiles.",
        )


def _of_codes(evidence: Evidence) -> Iterator[Caveat]:
    by_code: dict[str, list[CodeCount]] = {}
    for code in evidence.codes:
        if code.sample_count > code.error_count and code.code not in EXPECTED_SUCCESS_CODES:
            by_code.setdefault(code.code, []).append(code)
    for name, codes in by_code.items():
        named = ", ".join(
            f"{code.label}: {units.plural(code.sample_count - code.error_count, 'sample')}"
            for code in codes[:_LABELS_NAMED]
        )
        more = f" and {units.plural(len(codes) - _LABELS_NAMED, 'more label')}" if len(codes) > _LABELS_NAMED else ""
        doubt = (
            "what it began may not have been done when the answer came. Let the plan wait for its end, or assert on it."
            if name == ACCEPTED_CODE
            else "nobody checked that it is the answer that was wanted. Assert on the code in the plan."
        )
        what = f"Code {name}" if name else "No code"
        yield Caveat(UNEXPECTED_CODE, f"{what} counts as success ({named}{more}): {doubt}", name)


def _is_off(law: LittlesLaw, load: LabelFigures) -> bool:
    """Return whether the law is off by more than what the two ends of the window can make of it.

    A sample counts where it ends: one in flight at the window's beginning counts whole, one at its end not at all.
    """
    at_the_ends = load.average_ms / units.MS_PER_S / law.over_s
    return law.over_s >= LITTLES_LAW_LEAST_S and abs(law.ratio - 1) > LITTLES_LAW_TOLERANCE + at_the_ends


def _of_run(evidence: Evidence) -> Iterator[Caveat]:
    run, law = evidence.run, evidence.law
    if run is None:
        return
    yield from (Caveat(PLAN, text) for text in run.plan_notes)
    if run.load.model == OPEN:
        return  # users come and go within a second: how many were active cannot be read off the samples
    if law and evidence.load and _is_off(law, evidence.load):
        accounted_ms = evidence.load.average_ms + run.load.think_time_s * units.MS_PER_S
        round_ms = law.active_users * law.over_s / evidence.load.sample_count * units.MS_PER_S
        yield Caveat(
            LITTLES_LAW,
            f"Little's law is off in the seconds that are counted: {law.active_users:.1f} users were active on "
            f"average, the samples account for {law.busy_users:.1f}. Users ÷ throughput is "
            f"{units.ms_text(round_ms)} ms, mean response and think time {units.ms_text(accounted_ms)} "
            "ms: the generator, not the system, may have been measured. Look at its CPU, at pauses in the plan that "
            "its think_time_s does not tell of, or drive from a machine of its own.",
        )
    if run.load.users and evidence.peak_users is not None and evidence.peak_users < run.load.users:
        yield Caveat(
            FEWER_USERS,
            f"Only {evidence.peak_users} of {run.load.users} users were ever active at once. Let the run last longer "
            "than its ramp; threads that ended early stand in jmeter.log.",
        )


def _of_machine(evidence: Evidence) -> Iterator[Caveat]:
    if evidence.run is None:
        return
    cores = evidence.run.host.cpu_count
    for usage in evidence.usages:
        share = usage.cpu_cores_mean / cores
        percent = units.percent_text(share, 0)
        if usage.process == GENERATOR and share > GENERATOR_CPU_RATIO:
            yield Caveat(
                GENERATOR_CPU,
                f"The generator used {percent} % of the {units.plural(cores, 'core')} in the seconds that are "
                "counted: it may be the bottleneck. Drive fewer users, or from more or larger machines.",
            )
        if usage.process == HOST and share > HOST_CPU_RATIO:
            shared, apart = (
                (" that generator and system share", "Give the system a machine of its own (TARGET=…), or fewer users.")
                if evidence.run.is_embedded
                else ("", "Drive fewer users, or from a larger machine.")
            )
            yield Caveat(
                HOST_CPU,
                f"The {units.plural(cores, 'core')}{shared} were {percent} % busy in the seconds that are counted: "
                f"response times include waiting for a core. {apart}",
            )
    by_process = {usage.process: usage.cpu_cores_mean for usage in evidence.usages}
    other_share = (2 * by_process.get(HOST, 0.0) - sum(by_process.values())) / cores
    if other_share > OTHER_CPU_RATIO:
        yield Caveat(
            OTHER_CPU,
            f"Processes that are not listed used {units.percent_text(other_share, 0)} % of the "
            f"{units.plural(cores, 'core')} in the seconds that are counted: the machine was not the run's alone. Run "
            "again when nothing else goes on there.",
        )


def _of_model(evidence: Evidence) -> Iterator[Caveat]:
    if evidence.run and evidence.run.load.model != OPEN:
        yield Caveat(
            CLOSED_MODEL,
            "Closed model: a user waits for an answer before the next request, so a slow system is asked less often "
            "and waiting is hidden. RATE=… drives at a fixed arrival rate.",
        )
