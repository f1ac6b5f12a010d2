"""Samples and the facts of a run become one RunSummary: every figure of the report, and nothing that is not in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from harness.base.records import read
from harness.base.units import MS_PER_S, ms_text
from harness.cloudwatch.points import CloudMetrics
from harness.jtl.csv import TRANSACTION_MESSAGE, Dropped
from harness.metrics.coordinated_omission import CorrectedTimes, corrected_times
from harness.metrics.figures import LOAD, PERCENTILES, CodeCount, ErrorKind, Group, LabelFigures, driven_labels
from harness.metrics.gaps import Gap, find_gaps
from harness.metrics.generators import GeneratorFigures, generator_figures
from harness.metrics.littles_law import LittlesLaw, littles_law
from harness.metrics.tally import SampleTally
from harness.metrics.timeline import SecondSeries, Timeline
from harness.metrics.window import Window, WindowSpec, find_window, parse_window
from harness.plan.load import OPEN
from harness.report.evidence import Evidence, false_time
from harness.report.verdict import Verdict, judge
from harness.report.warnings import RunWarning, find_warnings
from harness.run.clock_steps import find_clock_step
from harness.run.record import RunRecord
from harness.run.telemetry import Usage, UsageSeries
from harness.system.exceptions import ExceptionCount
from harness.system.heap import HeapSeries, HeapUse

FORMAT_VERSION = 3
ERROR_KINDS_KEPT = 20
# A 90 % line of fewer samples is the greatest or last but one of them, and a line through such points is noise: then
# points are made of more seconds, as long as there are enough of them to show a course.
_SAMPLES_PER_POINT = 10
_POINTS_LEAST = 20


@dataclass(frozen=True)
class Observed:
    """What was seen beside the samples: use of the machine, the heap of JVMs, exceptions in logs; all may be empty.

    Uses are those within the window, series those of the whole run; exceptions are of the whole life of the system, of
    one that is kept up over several runs those of the run.
    `missing_logs` should have been read for exceptions and were not there. `cloudwatch` is None where nothing was
    fetched.
    """

    usages: tuple[Usage, ...] = ()
    usage_series: tuple[UsageSeries, ...] = ()
    heap_uses: tuple[HeapUse, ...] = ()
    heap_series: tuple[HeapSeries, ...] = ()
    exceptions: tuple[ExceptionCount, ...] = ()
    exception_kinds_left_out: int = 0
    missing_logs: tuple[str, ...] = ()
    cloudwatch: CloudMetrics | None = None


@dataclass(frozen=True)
class Thirds:
    """The load in the first and in the last third of the window, each of `length_s` whole seconds; None: no sample."""

    length_s: int
    first_ms: float | None
    last_ms: float | None
    first_per_s: float
    last_per_s: float

    @property
    def text(self) -> str:
        """One line for people."""
        parts = ((self.first_ms, self.first_per_s), (self.last_ms, self.last_per_s))
        first, last = (
            f"{'no sample' if average_ms is None else f'{ms_text(average_ms)} ms'}, {rate_per_s:.1f} req/s"
            for average_ms, rate_per_s in parts
        )
        return f"First third of the window: {first}; last third: {last}."


@dataclass(frozen=True)
class RunSummary:
    """The canonical result of one run or one JTL; written as run-<series>_<n>.json.

    `origin_s` (s since 1970) is the second in which the load began: the 0 of every other time, None without a load.
    Of `groups` the load is counted over the window; `whole` is the load over all of the run where the window left
    something out. Codes, errors and the timeline are always of all samples, Little's law is of the window. `generators`
    is empty where one made all samples. `gaps` are those of the whole run, `thirds` of the window; `corrected` are the
    response times of the window where a closed load stood still.
    """

    format_version: int
    source: str
    origin_s: int | None
    run: RunRecord | None
    verdict: Verdict
    window: Window
    groups: tuple[Group, ...]
    whole: Group | None
    codes: tuple[CodeCount, ...]
    errors: tuple[ErrorKind, ...]
    error_kinds_left_out: int
    timeline: Timeline | None
    littles_law: LittlesLaw | None
    observed: Observed
    caveats: tuple[RunWarning, ...]
    dropped_count: int
    dropped_first: tuple[tuple[int, str], ...]
    generators: tuple[GeneratorFigures, ...] = ()
    gaps: tuple[Gap, ...] = ()
    thirds: Thirds | None = None
    corrected: CorrectedTimes | None = None

    def group(self, name: str) -> Group | None:
        """The group of that name; None when it has no samples."""
        return next((group for group in self.groups if group.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain data, keys in the order of the fields."""
        plain = asdict(replace(self, groups=(), whole=None))
        plain["run"] = self.run.to_json() if self.run else None
        return {
            **plain,
            "groups": [group.to_json() for group in self.groups],
            "whole": self.whole.to_json() if self.whole else None,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "") -> RunSummary:
        """Return the summary that `to_json` wrote; UsageError when it is none. `where` is what errors call the file."""
        return read(cls, data, where or str(data.get("source")), "the JSON of a summary")


def origin_of(tally: SampleTally) -> int | None:
    """Return the second (since 1970) in which the load began; None without samples of the load."""
    span_ms, span_s = tally.span_ms(), tally.second_series.span_s
    if span_ms is None:
        return None
    first_s = span_ms[0] // MS_PER_S
    return min(first_s, span_s[0]) if span_s else first_s


def window_of(tally: SampleTally, spec: WindowSpec, run: RunRecord | None) -> Window:
    """Return the window in which the load is counted; seconds count from the one in which it began."""
    origin_s, span_s = origin_of(tally), tally.second_series.span_s
    if origin_s is None or span_s is None:
        return find_window(spec, ())
    seconds = tally.second_series.by_second(origin_s, span_s[1])
    if run is None:
        return find_window(spec, seconds)
    load = run.load
    return find_window(spec, seconds, load.users, load.model != OPEN, load.ramp_s, load.duration_s)


def window_span_ms(tally: SampleTally, window: Window) -> tuple[int, int] | None:
    """Return the window as instants (ms since 1970, the second one excluded); None without samples of the load.

    All of the run is from the first start to the last end.
    """
    span_ms, origin_s = tally.span_ms(), origin_of(tally)
    if span_ms is None or origin_s is None or window.length_s == window.run_s:
        return span_ms
    return (origin_s + window.from_s) * MS_PER_S, (origin_s + window.to_s) * MS_PER_S


def summarise(
    tally: SampleTally,
    dropped: Dropped,
    source: str,
    run: RunRecord | None = None,
    observed: Observed | None = None,
    window: Window | None = None,
    counted: SampleTally | None = None,
    percentiles: Sequence[str] = PERCENTILES,
    with_transactions: bool = False,
    with_timeline: bool = True,
    file_names: Sequence[str] = (),
) -> RunSummary:
    """Return the summary of a tally; `run` is its run.json, None for a bare JTL named `source`.

    `counted` is the tally of the samples within `window`; None when the window leaves nothing out. `file_names` are
    what generators are called that the files themselves do not name.
    """
    window = window or window_of(tally, parse_window("all"), run)
    observed = observed or Observed()
    groups = tally.groups(percentiles, with_transactions)
    whole = load = _load_of(groups)
    if counted is not None:
        _count_over(counted, window_span_ms(tally, window), tally.span_ms())
        load = _in_order(_load_of(counted.groups(percentiles, with_transactions)), whole)
        groups = tuple(group for group in (load, *groups) if group and (group is load or group.name != LOAD))
    codes, errors = tally.code_counts(), _errors_since_origin(tally)
    driven = driven_labels((*groups, *([whole] if whole else [])))
    law = _law(tally, window, run)
    generators = generator_figures(tally, counted, origin_of(tally) or 0, file_names, with_transactions)
    evidence = Evidence(
        run=run,
        load=load.total if load else None,
        codes=tuple(code for code in codes if code.label in driven),
        law=law,
        usages=observed.usages,
        dropped=dropped,
        window=window,
        warm_up_ms=_warm_up_ms(tally, window),
        is_span_known=tally.span_ms() is None or tally.second_series.span_s is not None,
        generators=generators,
        longest_ms=whole.total.max_ms if whole else None,
        gaps=_gaps(tally),
        clock_step=find_clock_step(
            run, tally.whole_span_ms(), tally.back_ms, max((group.total.max_ms for group in groups), default=0)
        ),
    )
    warnings = find_warnings(evidence)
    return RunSummary(
        format_version=FORMAT_VERSION,
        source=source,
        origin_s=origin_of(tally),
        run=run,
        verdict=judge(
            whole.total if whole else None,
            run,
            errors,
            load.total if load else None,
            load.labels if load else (),
            warnings,
            _peak_users(tally.second_series),
            false_time(evidence),
        ),
        window=window,
        groups=groups,
        whole=whole if counted is not None else None,
        codes=codes,
        errors=errors[:ERROR_KINDS_KEPT],
        error_kinds_left_out=max(0, len(errors) - ERROR_KINDS_KEPT),
        timeline=_timeline(tally.second_series) if with_timeline else None,
        littles_law=law,
        observed=observed,
        caveats=warnings,
        dropped_count=dropped.count,
        dropped_first=tuple(dropped.first),
        generators=generators,
        gaps=evidence.gaps,
        thirds=_thirds(tally, window),
        corrected=_corrected(evidence, load.total) if load else None,
    )


def _gaps(tally: SampleTally) -> tuple[Gap, ...]:
    origin_s, span_s = origin_of(tally), tally.second_series.span_s
    return () if origin_s is None or span_s is None else find_gaps(tally.second_series.by_second(origin_s, span_s[1]))


def _thirds(tally: SampleTally, window: Window) -> Thirds | None:
    origin_s, length_s = origin_of(tally), window.length_s // 3
    if origin_s is None or tally.second_series.span_s is None or not length_s:
        return None
    averages, rates = [], []
    for begin_s in (origin_s + window.from_s, origin_s + window.to_s - length_s):
        seconds = tally.second_series.by_second(begin_s, begin_s + length_s - 1)
        sample_count = sum(second.sample_count for second in seconds)
        averages.append(sum(second.elapsed_sum_ms for second in seconds) / sample_count if sample_count else None)
        rates.append(sample_count / length_s)
    return Thirds(length_s, averages[0], averages[1], rates[0], rates[1])


def _corrected(evidence: Evidence, total: LabelFigures) -> CorrectedTimes | None:
    """Return the corrected response times of the window; None where the load is open or did not stand still."""
    if evidence.is_open:
        return None
    think_time_s = evidence.run.load.think_time_s if evidence.run else 0.0
    return corrected_times(total.counts.histogram, evidence.long_stalls, think_time_s, tuple(total.percentiles_ms))


def _load_of(groups: Sequence[Group]) -> Group | None:
    return next((group for group in groups if group.name == LOAD), None)


def _in_order(load: Group | None, whole: Group | None) -> Group | None:
    """Return the load of the window with its labels in the order in which they appeared in the whole run."""
    if load is None or whole is None:
        return load
    places = {(label.label, label.is_transaction): place for place, label in enumerate(whole.labels)}
    ordered = sorted(load.labels, key=lambda label: places[label.label, label.is_transaction])
    return replace(load, labels=tuple(ordered))


def _count_over(counted: SampleTally, window_ms: tuple[int, int] | None, run_ms: tuple[int, int] | None) -> None:
    """Let every label of the window be counted over the window, so that its rates are samples ÷ the window's length.

    From first start to last end would be longer, as samples that ended within the window may have begun long before it;
    and shorter, where no sample ended for a while before its end.
    """
    if window_ms and run_ms:
        for counts in (counts for by_source in counted.labels.values() for counts in by_source.values()):
            counts.first_ms, counts.last_ms = max(window_ms[0], run_ms[0]), min(window_ms[1], run_ms[1])


def _errors_since_origin(tally: SampleTally) -> tuple[ErrorKind, ...]:
    """Return the kinds of error with the load's start as their 0, as everywhere; those of setUp come before it.

    A Transaction Controller that fails because its samples do names no cause: theirs are listed, not its own.
    """
    origin_s, first_ms = origin_of(tally), tally.first_ms
    kinds = tally.error_kinds()
    own = tuple(kind for kind in kinds if not kind.cause.startswith(TRANSACTION_MESSAGE))
    kinds = own or kinds
    if origin_s is None or first_ms is None:
        return kinds
    shift_s = first_ms / MS_PER_S - origin_s
    return tuple(
        replace(kind, first_s=round(kind.first_s + shift_s, 3), last_s=round(kind.last_s + shift_s, 3))
        for kind in kinds
    )


def _peak_users(second_series: SecondSeries) -> int | None:
    """Return the most users that were active in a second; None when none were seen, or the span is beyond any run."""
    span_s = second_series.span_s
    if span_s is None:
        return None
    return max((users for users in second_series.active_users(*span_s) if users is not None), default=None)


def _timeline(second_series: SecondSeries) -> Timeline | None:
    """Return the timeline, of longer buckets where few samples end per second; None when the span is beyond any run."""
    span_s = second_series.span_s
    if span_s is None:
        return None
    passed_s = span_s[1] - span_s[0] + 1
    sample_count = sum(samples for samples, _, _ in second_series.seconds.values())
    bucket_s = second_series.bucket_s
    while sample_count * bucket_s < _SAMPLES_PER_POINT * passed_s and passed_s >= _POINTS_LEAST * 2 * bucket_s:
        bucket_s *= 2
    wide = SecondSeries(bucket_s=bucket_s)
    wide.merge(second_series)
    return wide.timeline()


def _warm_up_ms(tally: SampleTally, window: Window) -> tuple[float, float] | None:
    """Return the average response times of the warm-up that is left out and of what is counted; None without both."""
    origin_s = origin_of(tally)
    if origin_s is None or not window.warm_up_cut_s:
        return None
    averages = []
    for from_s, to_s in ((window.from_s - window.warm_up_cut_s, window.from_s), (window.from_s, window.to_s)):
        seconds = tally.second_series.by_second(origin_s + from_s, origin_s + to_s - 1)
        sample_count = sum(second.sample_count for second in seconds)
        if not sample_count:
            return None
        averages.append(sum(second.elapsed_sum_ms for second in seconds) / sample_count)
    return averages[0], averages[1]


def _law(tally: SampleTally, window: Window, run: RunRecord | None) -> LittlesLaw | None:
    span_ms = window_span_ms(tally, window)
    if span_ms is None or tally.second_series.span_s is None:
        return None
    # The window ends before its second instant; the whole run with it, in a second that may be one of its own.
    last_ms = span_ms[1] if window.length_s == window.run_s else span_ms[1] - 1
    seconds = tally.second_series.by_second(span_ms[0] // MS_PER_S, last_ms // MS_PER_S)
    return littles_law(seconds, span_ms[1] - span_ms[0], run.load.think_time_s if run else 0.0)
