"""Makes the RunSummary of a run or of bare JTL files from the tally of the samples and the facts of the run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from harness.base.units import MS_PER_S
from harness.jtl.sample import TRANSACTION_MESSAGE
from harness.judge.account import account_lines, measured
from harness.judge.evidence import Evidence
from harness.judge.goals import MOSTLY_ERRORS_RATIO, RunGroups
from harness.judge.loads import LoadFigures, LoadTally, load_figures, load_of, mean_pause_s
from harness.judge.lost_cpu import average_ms, find_lost_cpu
from harness.judge.machines import apart_from, generator_stops
from harness.judge.outage import find_outage
from harness.judge.summary import FORMAT_VERSION, Observed, RunSummary, Thirds
from harness.judge.users_counted import groups_of, law_of
from harness.judge.verdict import judge
from harness.judge.warnings import find_warnings
from harness.metrics.coordinated_omission import CorrectedTimes, corrected_times
from harness.metrics.figures import GROUPS, LOAD, ONCE, PERCENTILES, ErrorKind, Group, driven_labels
from harness.metrics.full_load import Drive, full_load_s
from harness.metrics.gaps import Gap, find_gaps
from harness.metrics.generators import generator_figures, shared_work
from harness.metrics.interval import IntervalMs
from harness.metrics.littles_law import LittlesLaw
from harness.metrics.silences import Silences
from harness.metrics.tally import SampleTally
from harness.metrics.threads import NO_ROWS, ThreadEvidence
from harness.metrics.throttle import find_throttle
from harness.metrics.timeline import SecondFigures, SecondSeries, total
from harness.metrics.window import STEADY, Window, WindowSpec, find_window, parse_window, window_of_stages
from harness.plan.goal import Goal
from harness.plan.load import CLOSED, MIXED, OPEN
from harness.run.telemetry.clock_steps import ClockStep, find_clock_step

if TYPE_CHECKING:
    from harness.judge.jobs import FoundJob
    from harness.metrics.beside import BesideFigures
    from harness.metrics.wake_delays import GeneratorDelay
    from harness.run.record import RunRecord

ERROR_KINDS_MOST = 20
# The p90 of fewer samples is the greatest or the second greatest of them, and a line through such points is noise. Then
# a point covers more seconds, as long as there are enough points to show a trend.
_SAMPLES_PER_POINT = 10
_POINTS_LEAST = 20


@dataclass(frozen=True)
class SummaryOptions:
    """What a summary includes, and the measurement window.

    `counted` is the tally of the samples within `window`; None when the window excludes nothing. Without `window` the
    whole run is counted. `file_names` are the names of load generators that the files themselves do not name. `loads`
    are the samples of each load of a run with several. `silences` are those of the users, where a gap may be a pause.
    `jobs` are those of the run. `goal` is judged in place of the run's own. `beside` is what the agent counted.
    `ended` is the run of samples that are judged without it: only how it ended counts.
    """

    window: Window | None = None
    counted: SampleTally | None = None
    percentiles: Sequence[str] = PERCENTILES
    with_transactions: bool = False
    with_timeline: bool = True
    file_names: Sequence[str] = ()
    loads: Sequence[LoadTally] = ()
    silences: Silences | None = None
    jobs: Sequence[FoundJob] = ()
    goal: Goal | None = None
    beside: BesideFigures | None = None
    threads: ThreadEvidence = NO_ROWS
    ended: RunRecord | None = None


def origin_of(tally: SampleTally) -> int | None:
    """Return the second (since 1970) in which the load began; None without samples of the load."""
    span_ms, span_s = tally.span_ms(), tally.second_series.span_s
    if span_ms is None:
        return None
    first_s = span_ms.from_ms // MS_PER_S
    return min(first_s, span_s.first_s) if span_s else first_s


def window_of(tally: SampleTally, spec: WindowSpec, run: RunRecord | None) -> Window:
    """Return the measurement window; seconds count from the second in which the load began.

    No state of a run with stages or jobs is its steady one: all of it is measured, up to the end of the stages.
    """
    seconds = _seconds_of(tally)
    if not seconds:
        return find_window(spec, ())
    if run and run.is_staged and spec.kind == STEADY:
        return window_of_stages(seconds, None if run.jobs else run.load.duration_s)
    return find_window(spec, seconds, _drive_of(run))


def _seconds_of(tally: SampleTally) -> Sequence[SecondFigures]:
    """Return the seconds of the load from its first one on; empty without a load, or with a span beyond any run."""
    origin_s, span_s = origin_of(tally), tally.second_series.span_s
    return [] if origin_s is None or span_s is None else tally.second_series.by_second(origin_s, span_s.last_s)


def _drive_of(run: RunRecord | None) -> Drive:
    if run is None:
        return Drive()
    load, duration_s = run.load, run.load.duration_s
    if duration_s is not None and load.loads:
        duration_s = min(one.duration_s for one in load.loads)
    return Drive(load.users, load.model == CLOSED, load.ramp_s, duration_s)


def window_span_ms(tally: SampleTally, window: Window) -> IntervalMs | None:
    """Return the window as instants (ms since 1970, the second one excluded); None without samples of the load.

    The whole run lasts from the first start to the last end.
    """
    span_ms, origin_s = tally.span_ms(), origin_of(tally)
    if span_ms is None or origin_s is None or window.length_s == window.run_s:
        return span_ms
    return IntervalMs((origin_s + window.from_s) * MS_PER_S, (origin_s + window.to_s) * MS_PER_S)


def summarise(
    tally: SampleTally,
    source: str,
    run: RunRecord | None = None,
    observed: Observed | None = None,
    options: SummaryOptions | None = None,
) -> RunSummary:
    """Return the summary of a tally; `run` is the content of run.json, None for a bare JTL file named `source`."""
    observed, options = observed or Observed(), options or SummaryOptions()
    window = options.window or window_of(tally, parse_window("all"), run)
    groups = _groups(tally, window, run, options)
    errors = _errors_since_origin(tally)
    evidence = _evidence(tally, run, observed, groups, errors, options)
    account = measured(evidence)
    weakening = find_warnings(evidence, account)
    shown = shown_series(tally.second_series) if options.with_timeline else None
    others = tuple(group for group in groups.shown if group.name != LOAD)
    judged = RunGroups(groups.load, groups.whole, others) if groups.whole else None
    return RunSummary(
        format_version=FORMAT_VERSION,
        source=source,
        origin_s=origin_of(tally),
        run=run,
        verdict=judge(evidence, weakening.warnings, judged, errors, account, run or options.ended),
        window=window,
        groups=groups.shown,
        whole=groups.whole if options.counted is not None else None,
        codes=tally.code_counts(),
        errors=errors[:ERROR_KINDS_MOST],
        error_kinds_left_out=max(0, len(errors) - ERROR_KINDS_MOST),
        timeline=shown.timeline() if shown else None,
        littles_law=evidence.law,
        observed=observed,
        warnings=weakening.warnings,
        account=account_lines(account, weakening.causes),
        dropped_count=tally.dropped.count,
        dropped_first=tuple(tally.dropped.first),
        generators=evidence.generators,
        gaps=evidence.gaps,
        throttle=evidence.throttle,
        thirds=None if _has_once(tally, window) else _thirds(tally, window),
        corrected=_corrected(evidence),
        generator_delay=evidence.generator_delay,
        loads=groups.loads,
        jobs=tuple(job.run for job in options.jobs),
    )


class _Groups(NamedTuple):
    """The window and the groups: its load, that of the whole run, all groups of the report, several loads."""

    window: Window
    load: Group | None
    whole: Group | None
    shown: tuple[Group, ...]
    loads: tuple[LoadFigures, ...]


def _groups(tally: SampleTally, window: Window, run: RunRecord | None, options: SummaryOptions) -> _Groups:
    span_ms, how = window_span_ms(tally, window), (options.percentiles, options.with_transactions)
    for counted in (options.counted, *(one.counted for one in options.loads)):
        if counted is not None:
            _count_over(counted, span_ms, tally.span_ms((LOAD,)))
    groups, loads = tally.groups(*how), load_figures(options.loads, span_ms, *how, run)
    whole = load_of(groups)
    if options.counted is None:
        load = _with_beside(whole, options)
        return _Groups(window, load, load, tuple(load if load and one is whole else one for one in groups), loads)
    load = _with_beside(_in_order(load_of(options.counted.groups(*how)), whole), options)
    others = (group for group in groups if group.name != LOAD)
    return _Groups(window, load, whole, (*([load] if load else []), *others), loads)


def _with_beside(load: Group | None, options: SummaryOptions) -> Group | None:
    if load is None or options.beside is None:
        return load
    from harness.metrics.beside import with_beside  # here: no bare JTL has it

    return with_beside(load, options.beside)


def _evidence(
    tally: SampleTally,
    run: RunRecord | None,
    observed: Observed,
    groups: _Groups,
    errors: Sequence[ErrorKind],
    options: SummaryOptions,
) -> Evidence:
    window, whole = groups.window, groups.whole.total if groups.whole else None
    origin_s, seconds = origin_of(tally), _seconds_of(tally)
    driven = driven_labels((*groups.shown, *([groups.whole] if groups.whole else [])))
    longest_ms = max((group.total.max_ms for group in groups.shown), default=0)
    pause_s = mean_pause_s(run, groups.load, groups.loads)
    drive, throttle, lost_cpu = _drive_of(run), None, None
    by_file = options.file_names, options.with_transactions
    if seconds and not (run and run.is_staged):
        throttle = find_throttle(seconds, full_load_s(seconds, drive), drive.users_are_driven)
    if seconds and run and not run.is_merged:  # else several machines drove
        lost_cpu = find_lost_cpu(window, seconds, observed.usage_series, run.host.cpu_count)
    return Evidence(
        run=run,
        load=groups.load.total if groups.load else None,
        codes=tuple(code for code in tally.code_counts() if code.label in driven),
        law=_law(tally, window, run, groups.load, pause_s),
        pause_s=pause_s,
        loads=groups.loads,
        usages=observed.usages,
        dropped=tally.dropped,
        window=window,
        is_span_known=tally.span_ms() is None or tally.second_series.span_s is not None,
        generators=generator_figures(tally, options.counted, origin_s or 0, *by_file),
        shared_work=shared_work(tally, options.counted, *by_file),
        longest_ms=whole.max_ms if whole else None,
        gaps=apart_from(gaps_of(tally, options.silences), observed.stops),
        throttle=throttle,
        lost_cpu=lost_cpu,
        growths=observed.growths,
        stops=generator_stops(observed.stops),
        cloudwatch=observed.cloudwatch,
        profiles=observed.profiles,
        clock_step=_clock_step(run, tally, longest_ms),
        outage=find_outage(seconds, errors) if whole and whole.error_ratio > MOSTLY_ERRORS_RATIO else "",
        jobs=tuple(options.jobs),
        origin_s=origin_s,
        row_count=tally.row_count,
        sorted_by=tally.sorted_by,
        whole=groups.whole.total if groups.whole else None,
        seconds=seconds,
        cut=tally.cut,
        untimed=tally.untimed,
        closed=tally.closed,
        closed_waits=tally.closed_waits,
        beside=tuple(group for group in groups.shown if group.name != LOAD),
        labels=groups.load.counted if groups.load else (),
        whole_labels=groups.whole.counted if groups.whole else (),
        given_goal=options.goal,
        generator_delay=_generator_delay(run, window_span_ms(tally, window), groups.load, pause_s),
        threads=options.threads,
        sent=frozenset((*(key.label for key in tally.labels), *tally.cut, *tally.untimed, *tally.closed)),
    )


def _clock_step(run: RunRecord | None, tally: SampleTally, longest_ms: int) -> ClockStep | None:
    are_parents = bool(tally.cut or tally.transactions.seconds)
    return find_clock_step(run, tally.span_ms(GROUPS), tally.back_ms, longest_ms, has_transactions=are_parents)


def gaps_of(tally: SampleTally, silences: Silences | None = None) -> tuple[Gap, ...]:
    """Return the gaps of a run, without those that the users' `silences` explain as pauses of the plan."""
    origin_s, gaps = origin_of(tally), find_gaps(_seconds_of(tally))
    if silences is None or origin_s is None:
        return gaps

    def is_pause(gap: Gap) -> bool:
        from_ms, to_ms = (origin_s + gap.from_s) * MS_PER_S, (origin_s + gap.to_s) * MS_PER_S
        users = gap.user_count
        return users is not None and silences.explain(from_ms, to_ms, users, is_waited=gap.is_waited)

    return tuple(gap for gap in gaps if not is_pause(gap))


def _has_once(tally: SampleTally, window: Window) -> bool:
    """Return whether once-per-user steps ended in the window: its seconds have them, and its tables do not."""
    span_ms, once_ms = window_span_ms(tally, window), tally.span_ms((ONCE,))
    return span_ms is not None and once_ms is not None and once_ms.to_ms > span_ms.from_ms


def _thirds(tally: SampleTally, window: Window) -> Thirds | None:
    origin_s, length_s = origin_of(tally), window.length_s // 3
    if origin_s is None or tally.second_series.span_s is None or not length_s:
        return None
    begins = (origin_s + window.from_s, origin_s + window.to_s - length_s)
    first, last = (tally.second_series.by_second(begin_s, begin_s + length_s - 1) for begin_s in begins)
    rates = (total(third).sample_count / length_s for third in (first, last))
    return Thirds(length_s, average_ms(first), average_ms(last), *rates)


def _corrected(evidence: Evidence) -> CorrectedTimes | None:
    """Return the corrected response times of the window; None where users arrive or the system never stalled."""
    total, load = evidence.load, evidence.run.load if evidence.run else None
    if total is None or evidence.is_open or (load and (load.model == MIXED or load.is_paced)):
        return None
    return corrected_times(total.counts.histogram, evidence.long_stalls, evidence.pause_s, tuple(total.percentiles_ms))


def _generator_delay(
    run: RunRecord | None, span_ms: IntervalMs | None, load: Group | None, pause_s: float
) -> GeneratorDelay | None:
    """Return what the generator added in the window; None where JMeter did not measure it."""
    late = run.wake_delays if run else None
    if run is None or late is None or span_ms is None or load is None or load.total.average_ms is None:
        return None
    from harness.metrics.wake_delays import generator_delay  # here, as above: no bare JTL has it

    cycle_ms = math.inf if run.load.model == OPEN else load.total.average_ms + pause_s * MS_PER_S
    return generator_delay(load.total.counts.histogram, late.between(span_ms.from_ms, span_ms.to_ms), cycle_ms)


def _in_order(load: Group | None, whole: Group | None) -> Group | None:
    """Return the load of the window with its labels in the order in which they appeared in the whole run."""
    if load is None or whole is None:
        return load
    indexes = {(label.label, label.is_transaction): index for index, label in enumerate(whole.labels)}
    ordered = sorted(load.labels, key=lambda label: indexes[label.label, label.is_transaction])
    return replace(load, labels=tuple(ordered))


def _count_over(counted: SampleTally, window_ms: IntervalMs | None, run_ms: IntervalMs | None) -> None:
    """Set the span of every label of the window to the window, so that its rates are samples ÷ the window's length.

    The span from first start to last end is longer when samples began long before the window, and shorter when no
    sample ended for a while before the window's end. Where the load began within the window, after once-per-user
    steps, its rates count from then on, as those of the whole run do.
    """
    if window_ms and run_ms:
        for counts in (counts for by_source in counted.labels.values() for counts in by_source.values()):
            counts.first_ms = max(window_ms.from_ms, run_ms.from_ms)
            counts.last_ms = min(window_ms.to_ms, run_ms.to_ms)


def _errors_since_origin(tally: SampleTally) -> tuple[ErrorKind, ...]:
    """Return the kinds of error in seconds since the load began; errors of setUp have negative seconds.

    A Transaction Controller that fails because of its samples has no cause of its own: only its samples are listed.
    """
    origin_s, first_ms, kinds = origin_of(tally), tally.first_ms, tally.error_kinds()
    kinds = tuple(kind for kind in kinds if not kind.cause.startswith(TRANSACTION_MESSAGE)) or kinds
    if origin_s is None or first_ms is None:
        return kinds
    shift_s = first_ms / MS_PER_S - origin_s
    return tuple(
        replace(kind, first_s=round(kind.first_s + shift_s, 3), last_s=round(kind.last_s + shift_s, 3))
        for kind in kinds
    )


def shown_series(second_series: SecondSeries) -> SecondSeries | None:
    """Return the series of the timeline, with longer buckets if few samples end per second.

    None when the span is beyond any run.
    """
    span_s = second_series.span_s
    if span_s is None:
        return None
    passed_s, sample_count = span_s.last_s - span_s.first_s + 1, second_series.seconds.sample_count
    bucket_s = second_series.bucket_s
    while sample_count * bucket_s < _SAMPLES_PER_POINT * passed_s and passed_s >= _POINTS_LEAST * 2 * bucket_s:
        bucket_s *= 2
    if bucket_s == second_series.bucket_s:
        return second_series
    wide = SecondSeries(bucket_s=bucket_s)
    wide.merge(second_series)
    return wide


def _law(
    tally: SampleTally, window: Window, run: RunRecord | None, load: Group | None, pause_s: float
) -> LittlesLaw | None:
    """Return Little's law of the window; None where it is not known for how long users paused."""
    span_ms, counted = window_span_ms(tally, window), groups_of(run)
    if run is None or load is None or span_ms is None or (run.load.is_paced and not counted):
        return None
    return law_of(tally.second_series, span_ms, load.labels, counted, pause_s)
