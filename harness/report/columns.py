"""The columns of tables: title, format and JSON key of each, and the columns of each layout."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from harness.base import units
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.metrics import metric
from harness.metrics.figures import PERCENTILES, LabelFigures
from harness.metrics.metric import Metric, Table

DEFAULT, CLASSIC, WIDE = "default", "classic", "wide"
LAYOUTS = (DEFAULT, CLASSIC, WIDE)
Figure = float | None


@dataclass(frozen=True)
class Column:
    """A column of statistics: its title, its JSON key, the value in full precision, and the formatted value.

    `is_time` marks the columns in which the greatest value is the slowest.
    """

    title: str
    key: str
    figure: Callable[[LabelFigures], Figure]
    text: Callable[[Figure], str]
    is_time: bool = False

    def cell(self, figures: LabelFigures) -> str:
        """Return the formatted value; empty when it is not known."""
        return self.text(self.figure(figures))


def _known(text: Callable[[float], str]) -> Callable[[Figure], str]:
    """Return the format of values that may be unknown: then the text is empty."""
    return lambda value: "" if value is None else text(value)


def metric_column(shown: Metric) -> Column:
    """Return the column of a metric; the slowest value is marked for the average and for p90 and up."""
    is_time = shown.is_time and (not shown.is_percentile or shown.ratio >= 0.9)
    return Column(shown.title, shown.key, shown.of, shown.text, is_time)


whole_text, tenths_text = _known(str), _known("{:.1f}".format)
COUNT = Column("count", "sample_count", lambda label: label.sample_count, whole_text)
AVERAGE = metric_column(metric.AVERAGE)
STDDEV = Column("stddev ms", "stddev_ms", lambda label: label.stddev_ms, units.average_text)
MIN = Column("min ms", "min_ms", lambda label: label.min_ms, units.ms_text)
MAX = Column("max ms", "max_ms", lambda label: label.max_ms, units.ms_text)
ERROR_RATIO = metric_column(metric.ERRORS)
ERROR_COUNT = Column("errors", "error_count", lambda label: label.error_count, whole_text)
RATE = metric_column(metric.THROUGHPUT)
SUCCESS_RATE = Column("successful req/s", "success_rate_per_s", lambda label: label.success_rate_per_s, units.rate_text)
RECEIVED = Column("KB/s received", "received_bytes_per_s", lambda label: label.received_bytes_per_s, units.kb_text)
SENT = Column("KB/s sent", "sent_bytes_per_s", lambda label: label.sent_bytes_per_s, units.kb_text)
BYTES_MEAN = Column("average bytes", "received_bytes_mean", lambda label: label.received_bytes_mean, tenths_text)
LATENCY = Column("latency ms", "latency_ms", lambda label: label.latency_ms, units.average_text)
CONNECT = Column("connect ms", "connect_ms", lambda label: label.connect_ms, units.average_text)
FIRST_BYTE = tuple(map(metric_column, metric.FIRST_BYTE))
CONNECT_PERCENTILES = tuple(map(metric_column, metric.CONNECT))
# Averages, as that of connecting.
PARTS = (metric_column(metric.WAITING), metric_column(metric.RECEIVING))
# The table of what came before the last byte.
FIRST_BYTE_COLUMNS = (COUNT, *FIRST_BYTE, CONNECT, *CONNECT_PERCENTILES, *PARTS)
# Every layout has these percentiles, in addition to the requested ones.
ALWAYS_SHOWN = metric.percentiles(Table.DEFAULT)
# Columns that are dropped in a narrow window, in this order; columns that are not listed stay.
LEAST_USE = (
    *(one.key for one in (*PARTS, *CONNECT_PERCENTILES, *FIRST_BYTE)), CONNECT.key, LATENCY.key, BYTES_MEAN.key,
    SENT.key, RECEIVED.key, STDDEV.key, SUCCESS_RATE.key, MIN.key, ERROR_COUNT.key, metric.P75.key, MAX.key,
    metric.P99_9.key, metric.P95.key, metric.P99.key, RATE.key, metric.MEDIAN.key,
)  # fmt: skip


def rising(percentiles: Iterable[str]) -> tuple[str, ...]:
    """Return percentiles without duplicates, in ascending order."""
    return tuple(sorted(set(percentiles), key=float))


def columns_of(layout: str, requested: Sequence[str] | None = None) -> tuple[Column, ...]:
    """Return the columns of a layout after the label; `requested` are percentiles that replace the layout's own.

    The median and the p90 are always included.
    """
    own = PERCENTILES if layout == WIDE else ()
    percentiles = rising((*ALWAYS_SHOWN, *(own if requested is None else requested)))
    times = (AVERAGE, *(metric_column(metric.percentile(text)) for text in percentiles), MIN, MAX)
    if layout == CLASSIC:
        titles = ["average", *map(jmeter_title, percentiles), "min", "max"]
        return (
            replace(COUNT, title="#count"),
            *(replace(one, title=title, text=units.ms_text) for one, title in zip(times, titles, strict=True)),
            replace(ERROR_RATIO, title="errors", text=_known(lambda ratio: f"{units.percent_text(ratio, 5)}%")),
            replace(RECEIVED, title="bandwidth", text=_known(lambda rate: f"{units.kb_text(rate)} KB/s")),
        )
    if layout == DEFAULT:
        return (COUNT, *times, ERROR_RATIO, ERROR_COUNT, RATE, RECEIVED, SENT)
    return (
        COUNT, *times, STDDEV, ERROR_RATIO, ERROR_COUNT, RATE, SUCCESS_RATE, RECEIVED, SENT, BYTES_MEAN, LATENCY,
        *FIRST_BYTE, CONNECT, *CONNECT_PERCENTILES, *PARTS,
    )  # fmt: skip


def in_two(columns: Sequence[Column]) -> list[list[Column]]:
    """Return the columns of two tables that are narrow enough for a page: counts and times, and all others."""
    times = [column for column in columns if column.key == COUNT.key or column.key.endswith("_ms")]
    return [times, [column for column in columns if column not in times]]


def jmeter_title(percentile: str) -> str:
    """Return the title of a percentile in the classic layout, as in JMeter: median, 90%."""
    return "median" if percentile == "50" else f"{percentile}%"


def parse_percentiles(text: str) -> tuple[str, ...]:
    """Return the percentiles of `50,90,99.9` as texts in their shortest form; UsageError for anything else."""
    percentiles: list[str] = []
    for part in text.split(","):
        percentile = units.number_text(units.parse_number(part.strip(), "--percentiles", 0, 100))
        if percentile in percentiles:
            raise UsageError(f"--percentiles {text}: {percentile} is listed twice", "list each once")
        percentiles.append(percentile)
    return tuple(percentiles)


@dataclass(frozen=True)
class SortOrder:
    """The sort order of the labels of a table; without a column they are sorted by label."""

    column: Column | None
    greatest_first: bool

    def sorted(self, labels: Iterable[LabelFigures]) -> tuple[LabelFigures, ...]:
        """Return the sorted labels: equal ones in their original order, those without a value last."""
        if self.column is None:
            return tuple(sorted(labels, key=lambda label: label.label, reverse=self.greatest_first))
        figure, labels = self.column.figure, tuple(labels)
        known = [(value, label) for label in labels if (value := figure(label)) is not None]
        known.sort(key=lambda pair: pair[0], reverse=self.greatest_first)
        return (*(label for _, label in known), *(label for label in labels if figure(label) is None))


def parse_sort(text: str, requested: Sequence[str] | None = None) -> SortOrder:
    """Return the order for a column's title or JSON key; UsageError lists the known columns.

    Values are sorted in descending order, labels alphabetically; a `-` before the name reverses the order.
    """
    name = text.strip()
    is_reversed = name.startswith("-")
    wanted = _plain(name.removeprefix("-"))
    if wanted == "label":
        return SortOrder(None, is_reversed)
    columns = columns_of(WIDE, (*PERCENTILES, *(requested or ())))
    if found := next((column for column in columns if wanted in _names(column)), None):
        return SortOrder(found, not is_reversed)
    titles = ["label", *(column.title for column in columns)]
    near = did_you_mean(name.removeprefix("-"), [*titles, *(column.key for column in columns)])
    raise UsageError(f"--sort {text}: no such column", f"{near}there are: {', '.join(titles)}")


def _names(column: Column) -> set[str]:
    """Return all names of a column in plain form: its title and its JSON key, with and without ms, and JMeter's."""
    names = [column.title, column.key]
    if column.title.startswith("p"):
        text = column.title.removeprefix("p").removesuffix(" ms")
        names += [f"{jmeter_title(text)} ms", f"{text} % ms"]
    return {_plain(name) for name in (*names, *(name.removesuffix("_ms").removesuffix(" ms") for name in names))}


def _plain(name: str) -> str:
    return name.casefold().replace(" ", "").replace("_", "")
