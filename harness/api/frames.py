"""Makes DataFrames of results: tables, time series, comparisons. They contain what the harness has counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy
import pandas
from pandas import DataFrame

from harness.api.export.rows import SECOND_COLUMNS, Value, second_rows
from harness.base.errors import UsageError
from harness.base.records import key_of
from harness.compare.comparison import Comparison, LabelComparison, MetricComparison
from harness.judge.summarise import origin_of, shown_series
from harness.metrics.figures import LOAD, PERCENTILES, TOTAL, LabelFigures
from harness.metrics.instruments import kind_of
from harness.metrics.interval import SecondSpan
from harness.metrics.label_seconds import SortedSeconds
from harness.metrics.metric import AVERAGE, percentile
from harness.metrics.tally import SampleTally
from harness.metrics.timeline import SPAN_MAX_S, SecondSeries
from harness.report.columns import COUNT, ERROR_COUNT, MAX, MIN, WIDE, columns_of
from harness.report.tables import Rows, rows_of

_INTEGER, _NULLABLE, _FLOAT = "int64", "Int64", "float64"
_TIME = "datetime64[s]"
_ROWS_PER_BATCH = 50_000
# The whole numbers of a second that may be unknown.
_MAY_LACK = ("active_users", "received_bytes", "sent_bytes")


def texts(values: Sequence[str]) -> pandas.Categorical:
    """Return texts as categories, in order of first appearance."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(values))}
    codes = numpy.fromiter(map(numbers.__getitem__, values), dtype=_INTEGER, count=len(values))
    return pandas.Categorical.from_codes(codes, categories=pandas.Index(list(numbers), dtype="str"))


def joined(parts: Iterable[DataFrame]) -> DataFrame:
    """Return the rows of all parts, of which there is one at least; categories in order of first appearance."""
    frames = list(parts)
    return DataFrame(
        {
            name: pandas.api.types.union_categoricals([part[name] for part in frames])
            if isinstance(frames[0][name].dtype, pandas.CategoricalDtype)
            else pandas.concat([part[name] for part in frames], ignore_index=True)
            for name in frames[0].columns
        }
    )


def table_frame(groups: Iterable[Rows], percentiles: Sequence[str]) -> DataFrame:
    """Return a row per label and TOTAL of each group, with these percentiles; others than usual are counted again."""
    rows = [(group.name, row, row is group.total) for group in groups for row in rows_of(group)]
    figures = [_with_percentiles(row, percentiles) for _, row, _ in rows]
    whole = {COUNT.key, ERROR_COUNT.key, MIN.key, MAX.key, *(percentile(text).key for text in percentiles)}
    return DataFrame(
        {
            "group": texts([name for name, _, _ in rows]),
            "label": texts([row.label for row in figures]),
            "is_total": numpy.array([is_total for _, _, is_total in rows], dtype=bool),
            "is_transaction": numpy.array([row.is_transaction for row in figures], dtype=bool),
            **{
                column.key: pandas.Series(
                    [column.figure(row) for row in figures], dtype=_INTEGER if column.key in whole else _FLOAT
                )
                for column in columns_of(WIDE, percentiles)
            },
        }
    )


def _with_percentiles(row: LabelFigures, percentiles: Sequence[str]) -> LabelFigures:
    if all(text in row.percentiles_ms for text in percentiles):
        return row
    return LabelFigures.of(row.label, row.is_transaction, row.counts, percentiles, row.batches)


def second_frame(tally: SampleTally) -> DataFrame:
    """Return a row per second of the load; none without a sample of it. UsageError for more than a month."""
    series, origin_s = tally.second_series, origin_of(tally)
    seconds = series.by_second(origin_s, _span_s(series).last_s) if origin_s is not None and series.seconds else []
    numbers = numpy.arange(len(seconds), dtype=_INTEGER)
    return DataFrame(
        {
            "second": numbers,
            "time": pandas.DatetimeIndex(((origin_s or 0) + numbers).astype(_TIME)).tz_localize("UTC"),
            "sample_count": numpy.array([one.sample_count for one in seconds], dtype=_INTEGER),
            "error_count": numpy.array([one.error_count for one in seconds], dtype=_INTEGER),
            AVERAGE.key: numpy.array(
                [one.elapsed_sum_ms / one.sample_count if one.sample_count else numpy.nan for one in seconds],
                dtype=_FLOAT,
            ),
            "active_users": pandas.array([one.active_users for one in seconds], dtype=_NULLABLE),
        }
    )


def label_second_frame(seconds: SortedSeconds, origin_s: int | None) -> DataFrame:
    """Return a row per second and label, in order of time; in each second TOTAL of the load comes last.

    Seconds count from `origin_s` (since 1970), without a load from the first one.
    """
    rows, parts = second_rows(seconds), []
    span_s = seconds.span_s
    first_s = origin_s if origin_s is not None else span_s.first_s if span_s else 0
    while batch := list(islice(rows, _ROWS_PER_BATCH)):
        parts.append(_label_seconds(batch, first_s))
    frame = joined(parts)
    # A label may be called TOTAL, too; the TOTAL of its second follows it.
    is_last = frame.second != frame.second.shift(-1)
    is_total = (frame.group == LOAD) & (frame.label == TOTAL) & ~frame.is_transaction & is_last
    frame.insert(frame.columns.get_loc("is_transaction"), "is_total", is_total)
    return frame


def _label_seconds(rows: Sequence[Sequence[Value]], first_s: int) -> DataFrame:
    columns = [name for name, _ in SECOND_COLUMNS]
    values = dict(zip(columns, zip(*rows, strict=True), strict=True))
    time_s = numpy.array(values.pop("time_s"), dtype=_INTEGER)
    group, label, kind = (values.pop(name) for name in ("group", "label", "kind"))
    types = {
        name: _NULLABLE if name in _MAY_LACK else _FLOAT if kind is float else _INTEGER for name, kind in SECOND_COLUMNS
    }
    return DataFrame(
        {
            "second": time_s - first_s,
            "time": pandas.DatetimeIndex(time_s.astype(_TIME)).tz_localize("UTC"),
            "group": texts(group),
            "label": texts(label),
            "is_transaction": numpy.array([one == kind_of(is_transaction=True) for one in kind], dtype=bool),
            **{name: pandas.Series(column, dtype=types[name]) for name, column in values.items()},
        }
    )


def timeline_frame(tally: SampleTally) -> DataFrame:
    """Return a row per interval of the load's time series; none without a sample of it."""
    origin_s, ratios = origin_of(tally), [float(text) / 100 for text in PERCENTILES]
    if tally.second_series.seconds:
        _span_s(tally.second_series)
    series = shown_series(tally.second_series) or SecondSeries()
    timeline = series.timeline()
    count = len(timeline.sample_count) if timeline else 0
    first = timeline.start_s // timeline.bucket_s if timeline else 0
    found = [series.buckets.get(number) for number in range(first, first + count)]
    unknown: list[int | None] = [None] * len(PERCENTILES)
    times = [one.quantiles_ms(ratios) if one and one.counts else unknown for one in found]
    starts = numpy.arange(first, first + count, dtype=_INTEGER) * series.bucket_s
    return DataFrame(
        {
            "second": starts - (origin_s or 0),
            "length_s": numpy.full(count, series.bucket_s, dtype=_INTEGER),
            "sample_count": numpy.array(timeline.sample_count if timeline else (), dtype=_INTEGER),
            "error_count": numpy.array(timeline.error_count if timeline else (), dtype=_INTEGER),
            AVERAGE.key: pandas.Series(timeline.times_ms[AVERAGE.key] if timeline else (), dtype=_FLOAT),
            **{
                percentile(text).key: pandas.array([one[index] for one in times], dtype=_NULLABLE)
                for index, text in enumerate(PERCENTILES)
            },
            "active_users": pandas.array(timeline.active_users if timeline else (), dtype=_NULLABLE),
        }
    )


def _span_s(series: SecondSeries) -> SecondSpan:
    """Return the span of the seconds; UsageError when it is longer than any run."""
    if (span_s := series.span_s) is None:
        days = SPAN_MAX_S // (24 * 3600)
        raise UsageError(
            f"the first and the last sample are more than {days} days apart",
            "a clock was set, or the JTL contains several runs: split it",
        )
    return span_s


def comparison_frame(comparison: Comparison) -> DataFrame:
    """Return a row per label and metric, those of TOTAL first; columns have the names of the JSON of a comparison."""
    labels = [*([comparison.total] if comparison.total else []), *comparison.labels]
    rows = [(label, metric) for label in labels for metric in label.metrics]
    metrics = [metric for _, metric in rows]
    values = {
        "label": texts([label.label for label, _ in rows]),
        "is_total": numpy.array([label is comparison.total for label, _ in rows], dtype=bool),
        "is_transaction": numpy.array([label.is_transaction for label, _ in rows], dtype=bool),
        "metric": texts([metric.metric.key for metric in metrics]),
    }
    for name, kind in _COMPARED.items():
        column = [getattr(metric, name) for metric in metrics]
        key = key_of(MetricComparison, name)
        values[key] = texts(column) if kind == "category" else pandas.Series(column, dtype=kind)
    for name in ("baseline_sample_count", "contender_sample_count"):
        counts = [getattr(label, name) for label, _ in rows]
        values[key_of(LabelComparison, name)] = pandas.array(counts, dtype=_NULLABLE)
    return DataFrame(values)


# The columns of a metric and their types.
_RATIOS = ("delta_ratio", "low_ratio", "high_ratio", "p_value", "adjusted_p_value", "threshold_ratio")
_COMPARED = {
    **dict.fromkeys(("baseline", "contender", *_RATIOS), _FLOAT),
    **dict.fromkeys(("verdict", "reason"), "category"),
    "decides": "bool",
    "least_ratio": _FLOAT,
    "further_runs": _NULLABLE,
    **dict.fromkeys(("baseline_n", "contender_n"), _INTEGER),
    "unit": "category",
}
