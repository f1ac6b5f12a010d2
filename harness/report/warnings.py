"""Every warning about a result: its code, severity, text, and the parts of a report that it concerns.

To add a warning, write the function that yields the values for its text in `evidence`, `generator_evidence` or
`growth`. Name it as the `found_in` of a new member of WarningCode, and add a row to the table in
docs/format.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto
from functools import partial

from harness.base.option_names import spelled
from harness.report import evidence as of
from harness.report import generator_evidence as of_generators
from harness.report import growth as of_growth
from harness.report.evidence import Evidence, Values


class Part(IntEnum):
    """A part of a report, in the order of the report.

    Warnings about the verdict and the measured window are printed below them; other parts have footnote marks.
    """

    VERDICT = auto()
    WINDOW = auto()
    COUNT = auto()
    MEDIAN = auto()
    TAIL = auto()
    ERRORS = auto()
    LAW = auto()
    GENERATORS = auto()
    CODE = auto()
    HOST = auto()
    GENERATOR = auto()
    LOAD = auto()
    SYSTEM = auto()


class Severity(Enum):
    """What a warning means for its run."""

    # True of most runs, and does not question the metrics: only the run's own report shows it.
    NOTE = "note"
    # The run stays VALID.
    WARNING = "warning"
    # The run is DOUBTFUL: its numbers may not be the system's.
    DOUBTFUL = "DOUBTFUL"


@dataclass(frozen=True, kw_only=True)
class _Definition:
    """What makes up a member of WarningCode, which describes the fields."""

    code: str
    severity: Severity = Severity.WARNING
    concerns: tuple[Part, ...]
    brief: str = ""
    text: str
    found_in: Callable[[Evidence], Iterable[Values]]


_doubtful = partial(_Definition, severity=Severity.DOUBTFUL)


class WarningCode(StrEnum):
    """A warning. Its value is its code in JSON files; members are in the order in which a run's warnings are listed.

    `concerns` are parts of a report; a warning about the run as a whole concerns the verdict, too, and the report's
    summary prints its text. `brief` is the warning in short: in the verdict of a DOUBTFUL run, and at a level
    of a sweep. `text` also names the remedy; `found_in` yields the values for its names in braces, once per case.
    """

    severity: Severity
    concerns: tuple[Part, ...]
    brief: str
    text: str
    found_in: Callable[[Evidence], Iterable[Values]]

    def __new__(cls, definition: _Definition) -> WarningCode:
        member = str.__new__(cls, definition.code)
        member._value_ = definition.code
        member.severity, member.concerns = definition.severity, definition.concerns
        member.brief, member.text, member.found_in = definition.brief, definition.text, definition.found_in
        return member

    CLOCK_STEP = _doubtful(
        code="clock-step",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="a clock was set during the run",
        text="{where}. {advice}",
        found_in=of.clock_step,
    )
    GAP = _doubtful(
        code="gap",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="samples are missing for a while, or a clock was set",
        text="No sample ended for at least {length} ({gaps}), and too few samples waited meanwhile for a stall: rows "
        "are missing, a clock was set, or the file contains several runs.{rest} Count one part with ./aggregate.py "
        "table --window FROM..TO, or split the file.",
        found_in=of.hole,
    )
    APPENDED = _doubtful(
        code="appended",
        concerns=(Part.VERDICT, Part.COUNT),
        brief="the JTL contains several runs",
        text="The JTL contains another header line (line {lines}): several runs were appended to one file. Split the "
        "file there, or count one run with ./aggregate.py table --window FROM..TO.",
        found_in=of.appended,
    )
    STALL = _doubtful(
        code="stall",
        concerns=(Part.VERDICT, Part.TAIL),
        brief="no sample ended for a while although users were active",
        text="No sample ended for {length}{users} ({gaps}): the system stalled. A closed load sends nothing "
        "meanwhile, so percentiles hide it: read the corrected figures, look at the system's logs at that time, or "
        "drive with RATE=….",
        found_in=of.stall,
    )
    PAUSE = _Definition(
        code="pause",
        concerns=(Part.WINDOW,),
        text="No sample ended for {length}{users} ({gaps}): the system stalled. Look at its logs and garbage "
        "collections at that time.",
        found_in=of.pause,
    )
    GENERATOR_STOPPED = _doubtful(
        code="generator-stopped",
        concerns=(Part.VERDICT, Part.TAIL),
        brief="the load generator was stopped for a while",
        text="The load generator ({process}) was stopped for {length} ({when}), by a signal such as SIGSTOP or a "
        "debugger: it sent nothing, and the samples of that time seem longer by that. Run again.",
        found_in=of_generators.stopped_generators,
    )
    LONG_SPAN = _doubtful(
        code="long-span",
        concerns=(Part.VERDICT,),
        brief="the samples are of more than one time",
        text="The first and the last sample are more than {days} days apart: a clock was set, or the file contains "
        "several runs. Rates are wrong then, and there are no charts over time. Split the file, or drop the samples of "
        "the wrong time.",
        found_in=of.long_span,
    )
    TOO_SHORT = _doubtful(
        code="too-short",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="too short to judge",
        text="Too short to judge: {length} between ramp-up and tail were measured, at least {least} are needed. "
        "{remedy}",
        found_in=of.too_short,
    )
    NOT_STEADY = _doubtful(
        code="not-steady",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="not steady",
        text="Not steady: {why}.{lost} Averages and percentiles mix several states: run longer, or count one interval "
        "with ./aggregate.py table --window FROM..TO.",
        found_in=of.unsteady,
    )
    THROTTLED = _doubtful(
        code="throttled",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="the throughput fell to a constant fraction: CPU credits?",
        text="From {at} on the machine delivered {percent} % of its earlier rate: CPU credits? {before} req/s fell to "
        "{after} req/s{during}{users}, and {times}{failed}.{balances} A used-up CPU or disk budget and a CPU quota "
        "look like this. Look at steal, cgroup throttling and credit balances at that time; count both parts alone "
        "with ./aggregate.py table --window ..{began_s} and {constant_s}..",
        found_in=of_generators.throttled,
    )
    FAST_WARM_UP = _doubtful(
        code="fast-warm-up",
        concerns=(Part.VERDICT, Part.WINDOW),
        brief="the system slowed down after its warm-up",
        text="The system became slower within the {seconds} s that are excluded as warm-up: {why}. Look at its CPU, "
        "memory and heap at that time.",
        found_in=of.fast_warm_up,
    )
    DROPPED_ROWS = _Definition(
        code="dropped-rows",
        concerns=(Part.VERDICT, Part.COUNT),
        brief="records of the JTL could not be used",
        text="{records} of the JTL could not be used ({first}), and no figure includes them. Look at these lines: a "
        "full disk or a killed JMeter leaves torn ones.",
        found_in=of.dropped_rows,
    )
    SUB_SAMPLES = _Definition(
        code="sub-samples",
        concerns=(Part.COUNT,),
        text="Redirects and embedded resources have rows of their own beside their request ({labels}): TOTAL counts "
        "both. jmeter.save.saveservice.subresults=false writes the requests alone.",
        found_in=of.sub_samples,
    )
    ERRORS_IN_FIGURES = _Definition(
        code="errors-in-figures",
        concerns=(Part.ERRORS,),
        text="All figures include {samples}: times of failures are not times of work. Read the errors before the "
        "times; ./aggregate.py table --layout wide shows successful req/s.",
        found_in=of.failed_samples,
    )
    MANY_ERRORS = _doubtful(
        code="many-errors",
        concerns=(Part.VERDICT, Part.ERRORS),
        brief="many errors, and no goal for them",
        text="{percent} % of the samples failed, and no goal says how many may. Read the errors first; set ERRORS=1% "
        "or error_ratio in the plan's [goal].",
        found_in=of.many_errors,
    )
    TOO_FEW_SAMPLES = _doubtful(
        code="too-few-samples",
        concerns=(Part.VERDICT, Part.COUNT),
        brief="too few samples",
        text="Only {samples} in the measurement window: averages and percentiles of fewer than {least} depend on "
        "chance. Run longer.",
        found_in=of.too_few_samples,
    )
    FEW_SAMPLES = _Definition(
        code="few-samples",
        concerns=(Part.TAIL,),
        text="{samples}: too few for a {least}. Run longer before you compare these percentiles.",
        found_in=of.few_samples,
    )
    COARSE_CLOCK = _Definition(
        code="coarse-clock",
        concerns=(Part.MEDIAN,),
        text="The median is {median} ms: response times are near the 1 ms clock resolution. Compare averages and req/s "
        "instead of percentiles.",
        found_in=of.coarse_clock,
    )
    UNEXPECTED_CODE = _Definition(
        code="unexpected-success-code",
        concerns=(Part.CODE,),
        text="{what} counts as success ({labels}): {advice}",
        found_in=of.unexpected_codes,
    )
    PLAN = _Definition(code="plan", concerns=(Part.SYSTEM,), text="{note}", found_in=of.plan_notes)
    LITTLES_LAW = _doubtful(
        code="littles-law",
        concerns=(Part.VERDICT, Part.LAW),
        brief="the load generator, not the system, may have been measured (Little's law)",
        text="Little's law is off in the measurement window: {active} users{of} were active on average, the samples "
        "account for {busy}. Users ÷ throughput is {round_ms} ms, mean response and think time {accounted_ms} ms: the "
        "generator, not the system, may have been measured. Look at its CPU, at pauses in the plan that its "
        "think_time_s does not include, or drive from a machine of its own.",
        found_in=of.broken_law,
    )
    SEPARATE_CLOCKS = _Definition(
        code="separate-clocks",
        concerns=(Part.GENERATORS,),
        text="Merged from {count} runs, each with the seconds of its machine's own clock. How far apart the clocks are "
        "is not known. By these clocks all generators drove together for {together} of {whole} s. Have NTP set the "
        "clocks; charts over time and the measurement window depend on it.",
        found_in=of_generators.separate_clocks,
    )
    ABSENT_GENERATOR = _doubtful(
        code="absent-generator",
        concerns=(Part.VERDICT, Part.GENERATORS),
        brief="a load generator was absent for part of the load",
        text="Generators {when}, while the load lasted from {first} s to {last} s: without them it was not the "
        "requested load. Look into their logs, and run again.",
        found_in=of_generators.absent_generators,
    )
    SLOW_GENERATOR = _doubtful(
        code="slow-generator",
        concerns=(Part.VERDICT, Part.GENERATORS),
        brief="one load generator was much slower than the others",
        text="The samples of {names} took at least {factor} times as long as those of the other generators: that "
        "generator or its network, not the system, may have been measured. Look at its CPU, or drive without it.",
        found_in=of_generators.slow_generators,
    )
    FAILING_GENERATOR = _doubtful(
        code="failing-generator",
        concerns=(Part.VERDICT, Part.GENERATORS),
        brief="one load generator had many more errors than the others",
        text="{names} failed at least {factor} times as often as the other generators: it may not reach the system, or "
        "lack data or ports. Look into its log, or drive without it.",
        found_in=of_generators.failing_generators,
    )
    UNWATCHED_GENERATOR = _Definition(
        code="unwatched-generator",
        concerns=(Part.GENERATOR,),
        brief="the CPU of remote generators was not watched: they may have been the bottleneck",
        text="The CPU and memory of {names} were not watched: whether the generators themselves were the bottleneck is "
        "not known. Watch them there, or drive from more of them and see whether the times stay.",
        found_in=of_generators.unwatched_generators,
    )
    CLOCKS_APART = _doubtful(
        code="clocks-apart",
        concerns=(Part.GENERATORS,),
        brief="the clocks of the load generators differ",
        text="Before the run clocks of generators were ahead of the controller's (negative: behind it): {clocks}. "
        "Users, rates and the measurement window are computed from these clocks: have NTP set them.",
        found_in=of_generators.clocks_apart,
    )
    OTHER_RUN = _doubtful(
        code="other-run",
        concerns=(Part.VERDICT, Part.HOST),
        brief="another run was going on",
        text="Another run's load was on at the same time on this machine: {runs}. They share its cores and memory, so "
        "neither measured its system alone. Run one after the other.",
        found_in=of_generators.other_runs,
    )
    GENERATOR_CPU = _doubtful(
        code="generator-cpu",
        concerns=(Part.VERDICT, Part.GENERATOR),
        brief="the load generator used nearly all of the CPU",
        text="The generator{plural} used {percent} % of the {cores} in the measurement window: it may be the "
        "bottleneck. Drive fewer users, or from more or larger machines.",
        found_in=of_generators.busy_generators,
    )
    # Not DOUBTFUL: the system itself may fill its machine. LITTLES_LAW and GENERATOR_CPU report a generator that had
    # too little of it.
    HOST_CPU = _Definition(
        code="host-cpu",
        concerns=(Part.VERDICT, Part.HOST),
        brief="the machine was nearly fully busy: response times include waiting for a core",
        text="The {cores} were {percent} % busy in the measurement window: response times include waiting for a core. "
        "{advice}",
        found_in=of_generators.busy_machines,
    )
    OTHER_CPU = _doubtful(
        code="other-cpu",
        concerns=(Part.VERDICT, Part.HOST),
        brief="other processes used the CPU",
        text="Processes that are not listed used {percent} % of the {cores} in the measurement window: the run did not "
        "have the machine to itself. Run again when it is idle.",
        found_in=of_generators.shared_machines,
    )
    STOLEN_CPU = _doubtful(
        code="stolen-cpu",
        concerns=(Part.VERDICT, Part.HOST),
        brief="the hypervisor gave the CPU to other virtual machines",
        text="The hypervisor took {percent} % of the time of the {cores} for other virtual machines (steal): response "
        "times include waiting for it. Run again later, or on a machine with cores of its own.",
        found_in=of_generators.stolen_cpu,
    )
    CPU_QUOTA = _Definition(
        code="cpu-quota",
        concerns=(Part.VERDICT, Part.HOST),
        brief="a CPU quota was used up",
        text="A CPU quota (cgroup) was used up in part of its periods in the measurement window: {shares}. Until the "
        "next period, usually 100 ms, these processes wait, and response times include that. Raise the quota (cpu.max, "
        "--cpus), or drive fewer users.",
        found_in=of_generators.used_up_quotas,
    )
    GROWTH = _Definition(
        code="growth",
        concerns=(Part.VERDICT,),
        text="Growth under a constant load: {what}. Growth that does not end is a leak: run longer, or make soak, "
        "whose report lists the classes that grew.",
        found_in=of_growth.growing,
    )
    ONE_SIDE_PROFILED = _Definition(
        code="one-side-profiled",
        concerns=(Part.VERDICT,),
        text="Only one side is profiled: {profiled}; not profiled: {others}. Recording takes CPU time of the system: "
        "the profiled side can be slower by that alone. Compare profiled runs with profiled ones.",
        found_in=of.comparisons_only,
    )
    CLOSED_MODEL = _Definition(
        code="closed-model",
        severity=Severity.NOTE,
        concerns=(Part.LOAD,),
        text="Closed model: a user waits for an answer before the next request, so a slow system is asked less often "
        "and waiting is hidden. RATE=… drives at a fixed arrival rate.",
        found_in=of.closed_model,
    )


_BY_CODE = {str(code): code for code in WarningCode}


@dataclass(frozen=True)
class RunWarning:
    """A warning of a run: `code` for programs, `text` for people.

    `subject` is the response code that it concerns, else empty. `code` is that of a member of WarningCode, except in
    files of versions with other warnings: such a one is a plain warning at the verdict.
    """

    code: str
    text: str
    subject: str = ""

    @property
    def severity(self) -> Severity:
        """What it means for the run."""
        return _BY_CODE[self.code].severity if self.code in _BY_CODE else Severity.WARNING

    @property
    def concerns(self) -> tuple[Part, ...]:
        """The parts of the report that it concerns."""
        return _BY_CODE[self.code].concerns if self.code in _BY_CODE else (Part.VERDICT,)

    @property
    def brief(self) -> str:
        """The warning in short; empty where WarningCode has none."""
        return _BY_CODE[self.code].brief if self.code in _BY_CODE else ""


# What follows from requests that fail: a run that mostly failed has none of these.
_OF_ANSWERS = frozenset(
    {
        WarningCode.STALL, WarningCode.PAUSE, WarningCode.TOO_SHORT, WarningCode.NOT_STEADY, WarningCode.THROTTLED,
        WarningCode.FAST_WARM_UP, WarningCode.ERRORS_IN_FIGURES, WarningCode.MANY_ERRORS, WarningCode.TOO_FEW_SAMPLES,
        WarningCode.FEW_SAMPLES, WarningCode.COARSE_CLOCK, WarningCode.LITTLES_LAW, WarningCode.HOST_CPU,
        WarningCode.GENERATOR_CPU,
    }
)  # fmt: skip


def find_warnings(evidence: Evidence) -> tuple[RunWarning, ...]:
    """Return all warnings of a run, in the order of WarningCode; of failures only those that are no consequence.

    They name options as the command of the run does: --duration=60s in a project, DURATION=60s in a clone.
    """
    caller = "lth" if evidence.run and evidence.run.command.startswith("lth ") else ""
    return tuple(
        RunWarning(str(code), spelled(code.text.format(**values), caller), values.get("subject", ""))
        for code in WarningCode
        if not (evidence.is_failed and code in _OF_ANSWERS)
        for values in code.found_in(evidence)
    )
