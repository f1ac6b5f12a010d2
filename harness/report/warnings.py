"""Every doubt about a result: its code and its wording, which ends with what to do, in one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.base import units
from harness.jtl.csv import Dropped
from harness.metrics.figures import CodeCount, LabelFigures
from harness.metrics.gaps import Gap
from harness.metrics.generators import GeneratorFigures
from harness.metrics.littles_law import LittlesLaw
from harness.metrics.timeline import SPAN_MAX_S
from harness.metrics.window import Window
from harness.plan.load import OPEN
from harness.run.clock_steps import ClockStep
from harness.run.record import RunRecord
from harness.run.telemetry import GENERATOR, GENERATOR_PREFIX, HARNESS, HOST, Usage, process_at

LITTLES_LAW_TOLERANCE = 0.10
# Users are counted per second: over a shorter stretch the first and last second alone make the difference.
LITTLES_LAW_LEAST_S = 10.0
# Off by this factor it says something over any time; below a second users are not counted.
LITTLES_LAW_FACTOR = 1.5
LITTLES_LAW_FACTOR_LEAST_S = 1.0
# A closed load that stood still for so long, or for this share of the window, has too few slow samples.
STALL_LEAST_S = 3.0
STALL_RATIO = 0.05
# More of the run without a sample that ended, or waited, than this: its throughput is false.
GAP_INVALID_RATIO = 0.10
GENERATOR_CPU_RATIO = 0.80
HOST_CPU_RATIO = 0.90
# A run alone on its machine leaves about 1 % of the cores that no process of it accounts for.
OTHER_CPU_RATIO = 0.10
# Times are whole milliseconds: below this many one step of the clock is a fifth of the figure and more.
COARSE_CLOCK_MS = 5
# The 95 % interval of a p99 is 23 % of its value at 1,000 samples and 7 % at 20,000.
P95_LEAST_SAMPLES = 1_000
P99_LEAST_SAMPLES = 5_000
# With fewer samples the 95 % interval of a p90 reaches from the p84 to beyond the p95 (order statistics, binomial).
LEAST_SAMPLES = 100
# Without a goal for errors: above this share, times of failures are too much of every figure.
MANY_ERRORS_RATIO = 0.10
EXPECTED_SUCCESS_CODES = ("200", "201", "204")
ACCEPTED_CODE = "202"
# A warm-up is slower than what follows. One that was this much faster is the good time before a system slowed down.
FAST_WARM_UP_RATIO = 0.8
# Generators of one load differ by chance: an average of 200 samples as scattered as response times are by a seventh.
SLOW_GENERATOR_RATIO = 1.5
SLOW_GENERATOR_LEAST_SAMPLES = 200
# One sample that took half a minute makes an average, and no 90 % line.
SLOW_GENERATOR_P90_RATIO = 1.1
FAILING_GENERATOR_RATIO = 2.0
FAILING_GENERATOR_LEAST_RATIO = 0.01
FAILING_GENERATOR_LEAST_ERRORS = 10
# They start within a second or two of each other. So much of a run that one was not there for is no small thing.
ABSENT_LEAST_S = 5.0
ABSENT_RATIO = 0.02
# The course over time is of whole seconds: half of one puts every second sample into another than it was in.
CLOCKS_APART_MS = 500
_LABELS_NAMED = 5
_GAPS_NAMED = 3
# How JMeter names the first part of a sample: GET /-0 beside GET /.
_FIRST_SUB_SAMPLE = "-0"

(
    NOT_STEADY, FAST_WARM_UP, LONG_SPAN, DROPPED_ROWS, SUB_SAMPLES, ERRORS_IN_FIGURES, FEW_SAMPLES, COARSE_CLOCK,
    UNEXPECTED_CODE, PLAN, LITTLES_LAW, GENERATOR_CPU, HOST_CPU, OTHER_CPU, CLOSED_MODEL, ABSENT_GENERATOR,
    SLOW_GENERATOR, FAILING_GENERATOR, SEPARATE_CLOCKS, UNWATCHED_GENERATOR, CLOCKS_APART,
    TOO_FEW_SAMPLES, MANY_ERRORS, CLOCK_STEP, GAP, APPENDED, STALL, PAUSE, OTHER_RUN,
) = CODES = (
    "not-steady", "fast-warm-up", "long-span", "dropped-rows", "sub-samples", "errors-in-figures", "few-samples",
    "coarse-clock", "unexpected-success-code", "plan", "littles-law", "generator-cpu", "host-cpu",
    "other-cpu", "closed-model", "absent-generator", "slow-generator", "failing-generator", "separate-clocks",
    "unwatched-generator", "clocks-apart", "too-few-samples", "many-errors", "clock-step", "gap", "appended", "stall",
    "pause", "other-run",
)  # fmt: skip

# What makes a run DOUBTFUL, and its words in the verdict: the numbers may not be the system's. Every other caveat is a
# warning and leaves the run VALID. A machine that is busy (HOST_CPU) is no doubt: the system itself may fill it, and
# LITTLES_LAW and GENERATOR_CPU tell when the generator had too little of it.
DOUBTS: Mapping[str, str] = {
    LONG_SPAN: "the samples are of more than one time",
    CLOCK_STEP: "a clock was set during the run",
    GAP: "samples are missing for a while, or a clock was set",
    APPENDED: "the JTL contains several runs",
    STALL: "no sample ended for a while although users were active",
    NOT_STEADY: "not steady",
    FAST_WARM_UP: "the system slowed down after its warm-up",
    TOO_FEW_SAMPLES: "too few samples",
    MANY_ERRORS: "many errors, and no goal for them",
    LITTLES_LAW: "the load generator, not the system, may have been measured (Little's law)",
    GENERATOR_CPU: "the load generator used nearly all of the CPU",
    OTHER_CPU: "other processes used the CPU",
    OTHER_RUN: "another run was going on",
    ABSENT_GENERATOR: "a load generator was not there all the time",
    SLOW_GENERATOR: "one load generator was much slower than the others",
    FAILING_GENERATOR: "one load generator had many more errors than the others",
    CLOCKS_APART: "the clocks of the load generators differ",
}


@dataclass(frozen=True)
class Caveat:
    """A doubt: `code` for programs, `text` for people; `subject` is the response code it is about, where it is one."""

    code: str
    text: str
    subject: str = ""

    @property
    def is_doubt(self) -> bool:
        """Whether it makes the run DOUBTFUL."""
        return self.code in DOUBTS


@dataclass(frozen=True)
class Evidence:
    """What doubts are found in: of a run, or of a bare JTL (`run` is None).

    `load` is the TOTAL of the load in the window, and `law` and `usages` are of the window; `codes` are those of the
    labels that were driven, over all of the run. `warm_up_ms` is the
    average of the warm-up that was left out, and of what is counted. `is_span_known` is False where a clock was set.
    `longest_ms` is what the load's slowest sample took, in all of the run, and so are `gaps` and
    `clock_step`.
    """

    run: RunRecord | None
    load: LabelFigures | None
    codes: tuple[CodeCount, ...]
    law: LittlesLaw | None
    usages: tuple[Usage, ...]
    dropped: Dropped
    window: Window
    warm_up_ms: tuple[float, float] | None
    is_span_known: bool
    generators: tuple[GeneratorFigures, ...] = ()
    longest_ms: int | None = None
    gaps: tuple[Gap, ...] = ()
    clock_step: ClockStep | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests are sent at their time, however slow the answers are."""
        return self.run is not None and self.run.load.model == OPEN

    @property
    def holes(self) -> tuple[Gap, ...]:
        """The gaps that no waiting explains."""
        return tuple(gap for gap in self.gaps if not gap.is_waited)


def find_caveats(evidence: Evidence) -> tuple[Caveat, ...]:
    """Return all doubts, those about the run as a whole first."""
    return tuple(
        caveat
        for find in (
            _of_time,
            _of_window,
            _of_file,
            _of_figures,
            _of_codes,
            _of_run,
            _of_generators,
            _of_driven,
            _of_machine,
            _of_model,
        )
        for caveat in find(evidence)
    )


def stalls_of(gaps: Iterable[Gap], window: Window) -> tuple[Gap, ...]:
    """Return the gaps within the window in which the system stood still, where they are long enough for a doubt."""
    stalls = tuple(gap for gap in gaps if gap.is_waited and gap.from_s < window.to_s and gap.to_s > window.from_s)
    total_s = sum(gap.length_s for gap in stalls)
    longest_s = max((gap.length_s for gap in stalls), default=0.0)
    return stalls if longest_s >= STALL_LEAST_S or total_s > STALL_RATIO * window.length_s else ()


def false_time(evidence: Evidence) -> list[str]:
    """Return why the run is INVALID: its time stamps do not cover the time that it took, or rows are missing."""
    if evidence.run is None:
        return []
    step, holes = evidence.clock_step, evidence.holes
    if step and step.is_large:
        return [f"a clock was set by about {_signed(step.step_s)} during the run ({step.evidence}): rates are false"]
    hole_s = sum(gap.length_s for gap in holes)
    if holes and evidence.dropped.count:
        return [f"samples of about {units.duration_text(hole_s)} are missing from the JTL: {_gaps_text(holes)}"]
    if holes and hole_s > GAP_INVALID_RATIO * evidence.window.run_s:
        what = f"no sample ended for {units.duration_text(hole_s)} of {units.duration_text(evidence.window.run_s)}"
        return [f"{what}, and no sample waited: rows are missing, or a clock was set"]
    return []


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '−'}{units.duration_text(abs(seconds))}"


def _gaps_text(gaps: Sequence[Gap]) -> str:
    named = ", ".join(f"{gap.from_s} s to {gap.to_s} s" for gap in gaps[:_GAPS_NAMED])
    return f"{named} and {units.plural(len(gaps) - _GAPS_NAMED, 'more')}" if len(gaps) > _GAPS_NAMED else named


def _of_time(evidence: Evidence) -> Iterator[Caveat]:
    step, holes = evidence.clock_step, evidence.holes
    if step:
        yield Caveat(
            CLOCK_STEP,
            f"A clock was set by about {_signed(step.step_s)} during the run: {step.evidence}. Throughput, seconds and "
            "Little's law are wrong by that. Have NTP slew the clock instead of setting it, and run again."
            if evidence.run
            else f"In the JTL {step.evidence}: a clock was set, or several files were put together. Throughput may be "
            "wrong. Give the files one by one: ./aggregate.py table FILE FILE adds them up.",
        )
    if holes:
        hole_s = sum(gap.length_s for gap in holes)
        load, rest = evidence.load, ""
        if load and load.rate_per_s and evidence.window.length_s == evidence.window.run_s:
            rest_s = load.sample_count / load.rate_per_s - hole_s
            rest = f" Without it the throughput is {load.sample_count / rest_s:.1f} req/s." if rest_s >= 1 else ""
        yield Caveat(
            GAP,
            f"No sample ended for {units.duration_text(hole_s)} ({_gaps_text(holes)}), and the samples after it did "
            f"not wait: rows are missing, a clock was set, or the file contains several runs.{rest} Count one part "
            "with ./aggregate.py table --window FROM..TO, or split the file.",
        )
    headers = evidence.dropped.header_lines
    if headers:
        lines = ", ".join(map(str, headers))
        yield Caveat(
            APPENDED,
            f"The JTL contains another header line (line {lines}): several runs were appended to one file. Split the "
            "file there, or count one run with ./aggregate.py table --window FROM..TO.",
        )
    stalls = tuple(gap for gap in evidence.gaps if gap.is_waited)
    if not stalls:
        return
    longest = max(stalls, key=lambda gap: gap.length_s)
    users = "" if longest.user_count is None else f" while {units.plural(longest.user_count, 'user')} were active"
    what = f"No sample ended for {units.duration_text(longest.length_s)}{users} ({_gaps_text(stalls)})"
    if evidence.is_open or not stalls_of(stalls, evidence.window):
        yield Caveat(PAUSE, f"{what}: the system stood still. Look at its logs and garbage collections at that time.")
    else:
        yield Caveat(
            STALL,
            f"{what}: the system stood still. A closed load sends nothing meanwhile, so percentiles hide it: read the "
            "corrected figures, look at the system's logs at that time, or drive with RATE=….",
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
        before, counted = (units.average_text(average) for average in evidence.warm_up_ms)
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
        goal = evidence.run.goal.error_ratio if evidence.run else None
        if goal is None and load.error_ratio > MANY_ERRORS_RATIO:
            yield Caveat(
                MANY_ERRORS,
                f"{units.percent_text(load.error_ratio)} % of the samples failed, and no goal says how many may. Read "
                "the errors first; set ERRORS=1% or error_ratio in the plan's [goal].",
            )
    if load.sample_count < LEAST_SAMPLES:
        yield Caveat(
            TOO_FEW_SAMPLES,
            f"Only {units.plural(load.sample_count, 'sample')} in the counted seconds: averages and percentiles of "
            f"fewer than {LEAST_SAMPLES} depend on chance. Run longer.",
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
    if law.over_s >= LITTLES_LAW_LEAST_S and abs(law.ratio - 1) > LITTLES_LAW_TOLERANCE + at_the_ends:
        return True
    if law.over_s < LITTLES_LAW_FACTOR_LEAST_S:
        return False
    return law.ratio + at_the_ends < 1 / LITTLES_LAW_FACTOR or law.ratio - at_the_ends > LITTLES_LAW_FACTOR


def _of_run(evidence: Evidence) -> Iterator[Caveat]:
    run, law = evidence.run, evidence.law
    if run is None:
        return
    yield from (Caveat(PLAN, text) for text in run.plan_notes)
    if run.load.model == OPEN:
        return  # users come and go within a second: how many were active cannot be read off the samples
    is_time_known = not evidence.clock_step and not evidence.holes  # else it is the time that is wrong
    if law and evidence.load and is_time_known and _is_off(law, evidence.load):
        accounted_ms = evidence.load.average_ms + run.load.think_time_s * units.MS_PER_S
        round_ms = law.active_users * law.over_s / evidence.load.sample_count * units.MS_PER_S
        yield Caveat(
            LITTLES_LAW,
            f"Little's law is off in the seconds that are counted: {law.active_users:.1f} users were active on "
            f"average, the samples account for {law.busy_users:.1f}. Users ÷ throughput is "
            f"{units.average_text(round_ms)} ms, mean response and think time {units.average_text(accounted_ms)} "
            "ms: the generator, not the system, may have been measured. Look at its CPU, at pauses in the plan that "
            "its think_time_s does not tell of, or drive from a machine of its own.",
        )


def _of_generators(evidence: Evidence) -> Iterator[Caveat]:
    generators = evidence.generators
    if not generators:
        return
    first_s, last_s = min(one.first_s for one in generators), max(one.last_s for one in generators)
    if evidence.run and evidence.run.is_merged:
        together_s = min(one.last_s for one in generators) - max(one.first_s for one in generators)
        yield Caveat(
            SEPARATE_CLOCKS,
            f"Merged of {len(generators)} runs whose seconds are those of each machine's own clock, and how far apart "
            f"the clocks are is not known. By them all generators drove together for {max(0.0, together_s):.0f} of "
            f"{last_s - first_s:.0f} s. Have NTP set the clocks; the course over time and the seconds that are counted "
            "depend on it.",
        )
    least_s = max(ABSENT_LEAST_S, ABSENT_RATIO * (last_s - first_s))
    longest_s = (evidence.longest_ms or 0) / units.MS_PER_S
    late = [f"{one.name} {one.first_s:.0f} s" for one in generators if one.first_s - first_s > least_s]
    # A sample that takes long ends late: without one a generator may seem to have stopped before the others.
    early = [f"{one.name} {one.last_s:.0f} s" for one in generators if last_s - one.last_s > least_s + longest_s]
    if late or early:
        when = [f"began late ({', '.join(late)})"] * bool(late) + [f"ended early ({', '.join(early)})"] * bool(early)
        yield Caveat(
            ABSENT_GENERATOR,
            f"Generators {' or '.join(when)}, where the load went on from {first_s:.0f} s to {last_s:.0f} s: without "
            "them it was not the load that was asked for. Look into their logs, and run again.",
        )
    slow = [one for one in generators if _is_slow(one, generators)]
    if slow:
        yield Caveat(
            SLOW_GENERATOR,
            f"The samples of {_named(slow)} took {SLOW_GENERATOR_RATIO:g} times as long as those of the others and "
            "longer: that generator or its network, not the system, may have been measured. Look at its CPU, or drive "
            "without it.",
        )
    failing = [one for one in generators if _is_failing(one, generators)]
    if failing:
        yield Caveat(
            FAILING_GENERATOR,
            f"Of the samples of {_named(failing)} {FAILING_GENERATOR_RATIO:g} times as many failed as of the others' "
            "and more: it may not reach the system, or lack data or ports. Look into its log, or drive without it.",
        )


def _of_driven(evidence: Evidence) -> Iterator[Caveat]:
    """Yield what is in doubt of generators that this machine's JMeter controlled."""
    driven = [one for one in evidence.run.generators if one.host is None] if evidence.run else []
    unwatched = [one.name for one in driven if not one.is_local]
    if unwatched:
        yield Caveat(
            UNWATCHED_GENERATOR,
            f"The CPU and memory of {', '.join(unwatched)} were not watched: whether the generators themselves were "
            "the bottleneck is not known. Watch them there, or drive from more of them and see whether the times stay.",
        )
    apart = [one for one in driven if abs(one.clock_ahead_ms or 0) >= CLOCKS_APART_MS]
    if apart:
        clocks = ", ".join(f"{one.name} {units.ms_text(one.clock_ahead_ms)} ms" for one in apart)
        yield Caveat(
            CLOCKS_APART,
            f"Before the run clocks of generators were ahead of the controller's (behind it where negative): {clocks}. "
            "Users, rates and the seconds that are counted are put together by these clocks: have NTP set them.",
        )


def _named(generators: list[GeneratorFigures]) -> str:
    return ", ".join(one.name for one in generators)


def _others(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> tuple[int, float, int]:
    """Return samples, average (ms) and errors of all generators but one together."""
    others = [one for one in generators if one is not generator]
    sample_count = sum(one.sample_count for one in others)
    elapsed_sum_ms = sum((one.average_ms or 0.0) * one.sample_count for one in others)
    return sample_count, elapsed_sum_ms / max(1, sample_count), sum(one.error_count for one in others)


def _is_slow(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> bool:
    sample_count, average_ms, _ = _others(generator, generators)
    return (
        generator.average_ms is not None
        and min(generator.sample_count, sample_count) >= SLOW_GENERATOR_LEAST_SAMPLES
        and generator.average_ms >= max(SLOW_GENERATOR_RATIO * average_ms, average_ms + COARSE_CLOCK_MS)
        and (generator.p90_ms or 0)
        >= SLOW_GENERATOR_P90_RATIO * max((one.p90_ms or 0) for one in generators if one is not generator)
    )


def _is_failing(generator: GeneratorFigures, generators: tuple[GeneratorFigures, ...]) -> bool:
    sample_count, _, error_count = _others(generator, generators)
    ratio = error_count / max(1, sample_count)
    return (
        generator.error_ratio is not None
        and generator.error_count >= FAILING_GENERATOR_LEAST_ERRORS
        and generator.error_ratio >= max(FAILING_GENERATOR_RATIO * ratio, ratio + FAILING_GENERATOR_LEAST_RATIO)
    )


def _machines(run: RunRecord, usages: tuple[Usage, ...]) -> Iterator[tuple[str, int, Mapping[str, float]]]:
    """Yield the machines of which there is telemetry: its words in a sentence, cores, and cores used by process."""
    by_process = {usage.process: usage.cpu_cores_mean for usage in usages}
    if not run.is_merged:
        yield "", run.host.cpu_count, by_process
    for generator in run.generators:
        if generator.host:
            names = {process_at(process, generator.name): process for process in (GENERATOR, HARNESS, HOST)}
            used = {names[process]: cores for process, cores in by_process.items() if process in names}
            yield f" of {generator.name}", generator.host.cpu_count, used


def _of_machine(evidence: Evidence) -> Iterator[Caveat]:
    if evidence.run is None:
        return
    if evidence.run.other_runs:
        yield Caveat(
            OTHER_RUN,
            f"Another run's load was on at the same time on this machine: {'; '.join(evidence.run.other_runs)}. They "
            "share its cores and memory, so neither measured its system alone. Run one after the other.",
        )
    for words, core_count, used in _machines(evidence.run, evidence.usages):
        cores = units.plural(core_count, "core") + words
        # Where generators are driven here, they and the controller that takes their samples.
        driving = [value for name, value in used.items() if name == GENERATOR or name.startswith(GENERATOR_PREFIX)]
        share = sum(driving) / core_count
        if share > GENERATOR_CPU_RATIO:
            yield Caveat(
                GENERATOR_CPU,
                f"The generator{'s' if len(driving) > 1 else ''} used {units.percent_text(share, 0)} % of the {cores} "
                "in the seconds that are counted: it may be the bottleneck. Drive fewer users, or from more or larger "
                "machines.",
            )
        share = used.get(HOST, 0.0) / core_count
        if share > HOST_CPU_RATIO:
            shared, apart = (
                (" that generator and system share", "Give the system a machine of its own (TARGET=…), or fewer users.")
                if evidence.run.is_embedded
                else ("", "Drive fewer users, or from a larger machine.")
            )
            yield Caveat(
                HOST_CPU,
                f"The {cores}{shared} were {units.percent_text(share, 0)} % busy in the seconds that are counted: "
                f"response times include waiting for a core. {apart}",
            )
        other_share = (2 * used.get(HOST, 0.0) - sum(used.values())) / core_count
        if other_share > OTHER_CPU_RATIO:
            yield Caveat(
                OTHER_CPU,
                f"Processes that are not listed used {units.percent_text(other_share, 0)} % of the {cores} in the "
                "seconds that are counted: the machine was not the run's alone. Run again when nothing else goes on "
                "there.",
            )


def _of_model(evidence: Evidence) -> Iterator[Caveat]:
    if evidence.run and evidence.run.load.model != OPEN:
        yield Caveat(
            CLOSED_MODEL,
            "Closed model: a user waits for an answer before the next request, so a slow system is asked less often "
            "and waiting is hidden. RATE=… drives at a fixed arrival rate.",
        )
