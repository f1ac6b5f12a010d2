"""Every warning about a result: its code, severity, text, and the parts of a report that it concerns.

To add a warning, write the function that yields the values for its text in `evidence`, `generator_evidence`,
`growth` or `consumer_lag`. Name it as the `found_in` of a new member of WarningCode, and add a row to the table in
docs/format.md; one that makes a run DOUBTFUL also needs a section in docs/doubtful.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum, auto
from functools import partial

from harness.judge import account as of_account
from harness.judge import consumer_lag as of_consumers
from harness.judge import evidence as of
from harness.judge import generator_evidence as of_generators
from harness.judge import growth as of_growth
from harness.judge.evidence import Evidence, Values


class ReportPart(IntEnum):
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
    concerns: tuple[ReportPart, ...]
    brief: str = ""
    text: str
    found_in: Callable[[Evidence], Iterable[Values]]


_doubtful = partial(_Definition, severity=Severity.DOUBTFUL)


class WarningCode(StrEnum):
    """A warning. Its value is its code in JSON files.

    Members are ordered by weight, as a run's warnings are: what makes the numbers most wrong is first. `concerns` are
    parts of a report; a warning about the run as a whole concerns the verdict, too, and the report's summary prints
    its text. `brief` is the cause with its numbers, at most 15 words: in the verdict of a DOUBTFUL run, and at a level
    of a sweep. `text` begins with it and ends with the remedy; `found_in` yields the values for the names in braces,
    once per case.
    """

    severity: Severity
    concerns: tuple[ReportPart, ...]
    brief: str
    text: str
    found_in: Callable[[Evidence], Iterable[Values]]

    def __new__(cls, definition: _Definition) -> WarningCode:
        member = str.__new__(cls, definition.code)
        member._value_ = definition.code
        member.severity, member.concerns = definition.severity, definition.concerns
        member.brief, member.found_in = definition.brief, definition.found_in
        member.text = f"{member.brief}. {definition.text}" if member.brief else definition.text
        return member

    # The load did not run as requested.
    STOPPED_EARLY = _doubtful(
        code="stopped-early",
        concerns=(ReportPart.VERDICT,),
        brief="Stopped early: {why}",
        text="The numbers cover only the time before the stop. Look at what failed or was slow then; STOP=none runs to "
        "the end.",
        found_in=of.stopped_early,
    )
    # Rows or their times are wrong.
    CLOCK_STEP = _doubtful(
        code="clock-step",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="{brief}",
        text="{what}, so throughput and all times of the run may be wrong. {advice}",
        found_in=of_account.clock_step,
    )
    GAP = _doubtful(
        code="gap",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="{brief}",
        text="{why} Run again, or count one part: ./aggregate.py table FILE --window FROM..TO.",
        found_in=of_account.hole,
    )
    APPENDED = _doubtful(
        code="appended",
        concerns=(ReportPart.VERDICT, ReportPart.COUNT),
        brief="The JTL contains {count} runs, one after the other",
        text="A header is repeated in line {lines}. Split the file there, or count one run: "
        "./aggregate.py table FILE --window FROM..TO.",
        found_in=of.appended,
    )
    LONG_SPAN = _doubtful(
        code="long-span",
        concerns=(ReportPart.VERDICT,),
        brief="The samples are more than {days} days apart",
        text="A clock was set, or the file contains several runs: rates are wrong, and there are no charts over time. "
        "Split the file, or drop the samples of the wrong time.",
        found_in=of.long_span,
    )
    DROPPED_ROWS = _Definition(
        code="dropped-rows",
        concerns=(ReportPart.VERDICT, ReportPart.COUNT),
        brief="{records} of the JTL could not be used",
        text="No metric includes them ({first}). Look at these lines: a full disk or a killed JMeter leaves torn ones.",
        found_in=of.dropped_rows,
    )
    NOT_IN_FILE = _Definition(
        code="not-in-file",
        concerns=(ReportPart.VERDICT, ReportPart.ERRORS),
        text="{what}.",
        found_in=of.unknown_in_file,
    )
    # The load generators were not what they seem.
    HEAP_DUMP = _Definition(
        code="heap-dump",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATOR),
        text="JMeter wrote a heap dump of {size}, which may contain secrets: {path}. Remove it after you have read it.",
        found_in=of_account.heap_dumps,
    )
    GENERATOR_STOPPED = _doubtful(
        code="generator-stopped",
        concerns=(ReportPart.VERDICT, ReportPart.TAIL),
        brief="The load generator was stopped for {length} ({when})",
        text="A signal such as SIGSTOP or a debugger stopped {process}: it sent nothing, and samples of that time seem "
        "longer. Run again.",
        found_in=of_generators.stopped_generators,
    )
    GENERATOR_CPU = _doubtful(
        code="generator-cpu",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATOR),
        brief="The load generator{plural} used {percent} % of the {cores}",
        text="It may be the bottleneck, not the system. Drive fewer users, or from more or larger machines.",
        found_in=of_generators.busy_generators,
    )
    LEFT_OUT_ARRIVALS = _doubtful(
        code="left-out-arrivals",
        concerns=(ReportPart.VERDICT, ReportPart.LOAD),
        brief="{arrivals} not made: {most} users were waiting",
        text="The system was slower than the rate. Each waiting user takes memory of the load generator, whose heap of "
        "{heap} MB has room for {most}. Look at the errors and the p99; drive a lower rate, or raise heap_mb in "
        "[generator] of the profile.",
        found_in=of_generators.left_out_arrivals,
    )
    FEW_PARTS = _doubtful(
        code="few-parts",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
        brief="{parts} too few: {busy} above {limit} % CPU; {enough} would do",
        text="These may be the bottleneck, not the system: {machines}. Drive with that many parts, or fewer users.",
        found_in=of_generators.few_parts,
    )
    LITTLES_LAW = _doubtful(
        code="littles-law",
        concerns=(ReportPart.VERDICT, ReportPart.LAW),
        brief="The load generator may be the bottleneck: {active} users{of} active, {busy} busy",
        text="Users ÷ throughput is {round_ms} ms, mean response and think time {accounted_ms} ms (Little's law). "
        "Look at the generator's CPU and at pauses that the plan's think_time_s does not include, or drive from a "
        "machine of its own.",
        found_in=of_generators.broken_law,
    )
    ABSENT_GENERATOR = _doubtful(
        code="absent-generator",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
        brief="Load generator {names} was absent for part of the load",
        text="The load lasted from {first} s to {last} s, but generators {when}. Look into their logs, and run again.",
        found_in=of_generators.absent_generators,
    )
    SLOW_GENERATOR = _doubtful(
        code="slow-generator",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
        brief="Load generator {names} was at least {factor} times as slow as the others",
        text="It or its network, not the system, may have been measured. Look at its CPU, or drive without it.",
        found_in=of_generators.slow_generators,
    )
    FAILING_GENERATOR = _doubtful(
        code="failing-generator",
        concerns=(ReportPart.VERDICT, ReportPart.GENERATORS),
        brief="Load generator {names} failed at least {factor} times as often as the others",
        text="It may not reach the system, or lack data or ports. Look into its log, or drive without it.",
        found_in=of_generators.failing_generators,
    )
    CLOCKS_APART = _doubtful(
        code="clocks-apart",
        concerns=(ReportPart.GENERATORS,),
        brief="The clocks of the load generators differ by {most}",
        text="Users, rates and the measurement window are computed from them. Have NTP set these clocks, and run "
        "again. Ahead of the clock of this machine (negative: behind it): {clocks}.",
        found_in=of_generators.clocks_apart,
    )
    UNWATCHED_GENERATOR = _Definition(
        code="unwatched-generator",
        concerns=(ReportPart.GENERATOR,),
        brief="The CPU of load generators on other machines was not watched",
        text="Whether {names} limited the load is not known. Watch CPU and memory there, or drive from more generators "
        "and see whether the times stay.",
        found_in=of_generators.unwatched_generators,
    )
    SEPARATE_CLOCKS = _Definition(
        code="separate-clocks",
        concerns=(ReportPart.GENERATORS,),
        text="The {count} merged runs have their seconds from the clocks of different machines. By these clocks all "
        "drove together for {together} of {whole} s. Have NTP set the clocks: charts over time and the measurement "
        "window depend on them.",
        found_in=of_generators.separate_clocks,
    )
    # The machine did other work as well.
    OTHER_RUN = _doubtful(
        code="other-run",
        concerns=(ReportPart.VERDICT, ReportPart.HOST),
        brief="{tests} ran on this machine at the same time",
        text="They share its cores and memory: {runs}. Run one after the other.",
        found_in=of_generators.other_runs,
    )
    STOLEN_CPU = _doubtful(
        code="stolen-cpu",
        concerns=(ReportPart.VERDICT, ReportPart.HOST),
        brief="The hypervisor gave {percent} % of the {cores} to other virtual machines",
        text="Response times include waiting for the CPU (steal). Run again later, or on a machine with cores of its "
        "own.",
        found_in=of_generators.stolen_cpu,
    )
    OTHER_CPU = _doubtful(
        code="other-cpu",
        concerns=(ReportPart.VERDICT, ReportPart.HOST),
        brief="Other programs used {percent} % of {machine} during the measurement",
        text="Run again when the machine is idle; top lists what is running.",
        found_in=of_generators.shared_machines,
    )
    # Not DOUBTFUL: the system itself may fill its machine. LITTLES_LAW and GENERATOR_CPU report a generator that had
    # too little of it.
    HOST_CPU = _Definition(
        code="host-cpu",
        concerns=(ReportPart.VERDICT, ReportPart.HOST),
        brief="The {cores} were {percent} % busy",
        text="Response times include waiting for a core. {advice}",
        found_in=of_generators.busy_machines,
    )
    CPU_QUOTA = _Definition(
        code="cpu-quota",
        concerns=(ReportPart.VERDICT, ReportPart.HOST),
        brief="A CPU quota was used up in part of its periods: {shares}",
        text="These processes wait until the next period, usually 100 ms, and response times include that. Raise the "
        "quota (cpu.max, --cpus), or drive fewer users.",
        found_in=of_generators.used_up_quotas,
    )
    # Failures count as answers, or the system did not stay the same.
    MANY_ERRORS = _doubtful(
        code="many-errors",
        concerns=(ReportPart.VERDICT, ReportPart.ERRORS),
        brief="{percent} % of the samples failed, and no goal limits errors",
        text="Times of failures are not times of work. Read the errors first; set ERRORS=1% or error_ratio in the "
        "plan's [goal].",
        found_in=of.many_errors,
    )
    ERRORS_IN_FIGURES = _Definition(
        code="errors-in-figures",
        concerns=(ReportPart.ERRORS,),
        text="All metrics include {samples}: times of failures are not times of work. Read the errors before the "
        "times; ./aggregate.py table --layout wide shows successful req/s.",
        found_in=of.failed_samples,
    )
    STALL = _doubtful(
        code="stall",
        concerns=(ReportPart.VERDICT, ReportPart.TAIL),
        brief="The system stalled: no sample ended for {length}{users}",
        text="Users of a closed load send nothing meanwhile, so percentiles hide it ({gaps}): read the corrected "
        "times. Look at the system's logs at that time, or drive with RATE=….",
        found_in=of.stall,
    )
    PAUSE = _Definition(
        code="pause",
        concerns=(ReportPart.WINDOW,),
        text="The system stalled: no sample ended for {length}{users} ({gaps}). Look at its logs and garbage "
        "collections at that time.",
        found_in=of.pause,
    )
    LOAD_PAUSED = _Definition(
        code="load-paused",
        concerns=(ReportPart.WINDOW,),
        text="The load paused: no sample ended for {length} ({gaps}), few requests waited, and no row is missing. Look "
        "at the timers and the schedule of the plan.",
        found_in=of_account.paused,
    )
    THROTTLED = _doubtful(
        code="throttled",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="Throttled? The throughput fell to {percent} % at {at}",
        text="It stayed there: {before} req/s fell to {after} req/s{during}{users}, and {times}{failed}.{balances} "
        "Look at CPU credits, disk budgets, CPU quotas and steal at that time; count both parts alone: "
        "./aggregate.py table FILE --window ..{began_s} and {constant_s}..",
        found_in=of_generators.throttled,
    )
    NOT_STEADY = _doubtful(
        code="not-steady",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="Not steady: {why}",
        text="{lost}Averages and percentiles mix several states. Run longer, or count one interval: "
        "./aggregate.py table FILE --window FROM..TO.",
        found_in=of.unsteady,
    )
    FAST_WARM_UP = _doubtful(
        code="fast-warm-up",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="The system became slower within the {seconds} s that are excluded as warm-up",
        text="In these seconds {why}. Look at its CPU, memory and heap at that time.",
        found_in=of.fast_warm_up,
    )
    GROWTH = _Definition(
        code="growth",
        concerns=(ReportPart.VERDICT,),
        text="Growth under a constant load: {what}. Growth that does not end is a leak: run longer, or make soak, "
        "whose report lists the classes that grew.",
        found_in=of_growth.growing,
    )
    CONSUMER_LAG = _Definition(
        code="consumer-lag",
        concerns=(ReportPart.VERDICT,),
        text="Consumers do not keep up: {consumers}. Their work is not done when the requests are: look at these "
        "services and their database, then at the number of partitions.",
        found_in=of_consumers.lagging,
    )
    # There is too little of everything.
    TOO_SHORT = _doubtful(
        code="too-short",
        concerns=(ReportPart.VERDICT, ReportPart.WINDOW),
        brief="Too short to judge: {length} measured, {least} needed",
        text="{remedy}",
        found_in=of.too_short,
    )
    TOO_FEW_SAMPLES = _doubtful(
        code="too-few-samples",
        concerns=(ReportPart.VERDICT, ReportPart.COUNT),
        brief="Too few samples: {count} measured, {least} needed",
        text="Averages and percentiles of so few depend on chance. {remedy}",
        found_in=of.too_few_samples,
    )
    FEW_SAMPLES = _Definition(
        code="few-samples",
        concerns=(ReportPart.TAIL,),
        text="{samples}: too few for a {least}. Run longer before you compare these percentiles.",
        found_in=of.few_samples,
    )
    COARSE_CLOCK = _Definition(
        code="coarse-clock",
        concerns=(ReportPart.MEDIAN,),
        text="The median is {median} ms: response times are near the 1 ms clock resolution. Compare averages and req/s "
        "instead of percentiles.",
        found_in=of.coarse_clock,
    )
    SUB_SAMPLES = _Definition(
        code="sub-samples",
        concerns=(ReportPart.COUNT,),
        text="Redirects and embedded resources have rows of their own beside their request ({labels}): TOTAL counts "
        "both. jmeter.save.saveservice.subresults=false writes the requests alone.",
        found_in=of.sub_samples,
    )
    UNEXPECTED_CODE = _Definition(
        code="unexpected-success-code",
        concerns=(ReportPart.CODE,),
        text="{what} counts as success ({labels}): {advice}",
        found_in=of.unexpected_codes,
    )
    PLAN = _Definition(code="plan", concerns=(ReportPart.SYSTEM,), text="{note}", found_in=of.plan_notes)
    ONE_SIDE_PROFILED = _Definition(
        code="one-side-profiled",
        concerns=(ReportPart.VERDICT,),
        text="Only one side is profiled: {profiled}; not profiled: {others}. Recording takes CPU time of the system: "
        "the profiled side can be slower by that alone. Compare profiled runs with profiled ones.",
        found_in=of.comparisons_only,
    )
    CLOSED_MODEL = _Definition(
        code="closed-model",
        severity=Severity.NOTE,
        concerns=(ReportPart.LOAD,),
        text="Closed model: a user waits for an answer before the next request, so a slow system is asked less often "
        "and waiting is hidden. RATE=… drives at a fixed arrival rate.",
        found_in=of.closed_model,
    )
