"""The metrics of a label: one list, which every table, comparison, goal and export reads.

To add a metric, add an entry to METRICS and a line to docs/format.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple, Protocol

from harness.base import units
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.metrics.histogram import Histogram

# The resolution of times: they are whole milliseconds.
CLOCK_STEP_MS = 1.0


class Table(Enum):
    """A table or page with some of the metrics. The wide table, its CSV and JSON and the JSON of a run have all."""

    DEFAULT = auto()  # every table of figures per label
    REPORT = auto()  # the main load in the report of a run
    RUNS = auto()  # lists of runs: SUMMARY.md, the index of the site
    HISTORY = auto()
    SWEEP = auto()  # the levels of a sweep: report, CSV and JSON, and two sweeps compared
    OVERLAY = auto()  # several sweeps side by side, a table for each metric
    BRIEF = auto()  # the most important metrics: nightly runs, levels of a sweep, load generators, progress, site


class Measured(Protocol):
    """What a metric is read from: the statistics of a label or of TOTAL."""

    @property
    def percentiles_ms(self) -> Mapping[str, float]:
        """The percentiles by their text: 90, 99.9."""


class Beside(Enum):
    """How a metric that is known beside response times is made of what was counted, and of the sum of that."""

    RATE = auto()  # the sum per second of the window
    MEAN = auto()  # the sum per counted one


class PartPercentile(NamedTuple):
    """A percentile of a part of the response time: the mapping of LabelFigures that has it, and its text."""

    mapping: str
    text: str


@dataclass(frozen=True)
class Metric:
    """A metric of a label.

    `key` is its name in JSON, CSV and TOML goals (p90_ms), `name` that on the command line and in thresholds (p90),
    `title` the head of its column (p90 ms) and `phrase` its name in a sentence (p90). `text` formats a value.
    `tables` are those that have a column of it. `threshold` is the least change that matters unless a plan says
    otherwise: a ratio, of a share a difference; None: runs are not compared by it. `samples_least` is how many samples
    a comparison needs on each side. With `is_goal` a limit of it has an option of its own; any metric can have a goal.
    `percentile` is that of the response time, `part` that of the time to the first byte or to connect. `beside` is set
    for what is known of some labels only: messages, rows, sessions, events of streams, parts of the response time.
    """

    key: str
    name: str
    title: str
    phrase: str
    unit: str
    text: Callable[[float | None], str]
    tables: frozenset[Table]
    threshold: float | None = None
    samples_least: int = 0
    is_goal: bool = False
    percentile: str | None = None
    part: PartPercentile | None = None
    beside: Beside | None = None
    more_is_better: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """What the JSON of comparisons, histories and nightly runs calls it: 90, average, throughput, errors."""
        return self.percentile or self.name

    def to_plain(self) -> str:
        """Return its id: what is written of it."""
        return self.id

    @property
    def is_time(self) -> bool:
        """Whether it is a response time."""
        return self.unit == "ms"

    @property
    def is_share(self) -> bool:
        """Whether it is a share of the samples (0-1): its changes are differences, in percentage points."""
        return self.unit == "%"

    @property
    def change_unit(self) -> str:
        """The unit of its changes: % of the baseline's value, of a share percentage points."""
        return "points" if self.is_share else "%"

    @property
    def short_title(self) -> str:
        """Its title without the unit: p90, average, req/s, errors."""
        return self.title.removesuffix(f" {self.unit}")

    @property
    def is_of_all(self) -> bool:
        """Whether each label has it; comparisons leave the others out where no side has them."""
        return self.part is None and self.beside is None

    @property
    def is_percentile(self) -> bool:
        """Whether it is a percentile of a time: a whole number of milliseconds."""
        return self.percentile is not None or self.part is not None

    @property
    def ratio(self) -> float:
        """The share of samples (0-1) up to a percentile."""
        text = self.part.text if self.part else self.percentile
        assert text is not None
        return float(text) / 100

    def of(self, figures: Measured) -> float | None:
        """Return the metric of a label: ms, 1/s or a share (0-1); None when it is not known."""
        if self.percentile is not None:
            return figures.percentiles_ms.get(self.percentile)
        if self.part is not None:
            of_part: Mapping[str, float] = getattr(figures, self.part.mapping)
            return of_part.get(self.part.text)
        if self.beside is not None:
            beside: Mapping[str, float] = getattr(figures, BESIDE)
            return beside.get(self.key)
        value: float | None = getattr(figures, self.key)
        return value

    def of_elapsed(self, histogram: Histogram) -> float | None:
        """Return the average or a percentile (ms) of elapsed times; None without any."""
        return histogram.mean_ms if self.percentile is None else histogram.quantile_ms(self.ratio)

    def mean_text(self, value: float | None) -> str:
        """Format a value that was calculated of several, such as a median: of times with decimals below 10 ms."""
        return units.average_text(value) if self.is_time else self.text(value)


def percentile(
    text: str,
    tables: Iterable[Table] = (),
    threshold: float | None = None,
    samples_least: int = 0,
    is_goal: bool = False,
) -> Metric:
    """Return the metric of a percentile, by its text: 90, 99.9."""
    return Metric(
        key=f"p{text}_ms",
        name=f"p{text}",
        title=f"p{text} ms",
        phrase=f"p{text}",
        unit="ms",
        text=units.ms_text,
        tables=frozenset(tables),
        threshold=threshold,
        samples_least=samples_least,
        is_goal=is_goal,
        percentile=text,
        aliases=("median",) if text == "50" else (),
    )


def _of_part(mapping: str, name: str, text: str) -> Metric:
    """Return the metric of a percentile of a part of the response time: `first byte p95`, first_byte_p95_ms.

    Of the first byte, the p50 and the p95 are compared, by the thresholds of the response time's.
    """
    whole = percentile(text)
    least = {"50": (0.05, 100), "95": (0.10, 1_000)}.get(text) if mapping == FIRST_BYTES else None
    return replace(
        whole,
        key=f"{name.replace(' ', '_')}_{whole.key}",
        name=f"{name} {whole.name}",
        title=f"{name} {whole.title}",
        phrase=f"{name} {whole.phrase}",
        threshold=least[0] if least else None,
        samples_least=least[1] if least else 0,
        percentile=None,
        part=PartPercentile(mapping, text),
        aliases=(),
    )


AVERAGE = Metric(
    "average_ms", "average", "average ms", "average", "ms", units.average_text, frozenset(Table), 0.05, 100,
    is_goal=True,
)  # fmt: skip
THROUGHPUT = Metric(
    "rate_per_s", "throughput", "req/s", "throughput", "req/s", units.rate_text, frozenset(Table), 0.05, 100,
    more_is_better=True, aliases=("rate",),
)  # fmt: skip
ERRORS = Metric(
    "error_ratio", "errors", "errors %", "share of errors", "%", units.percent_text, frozenset(Table), 0.005, 100,
    is_goal=True,
)  # fmt: skip

# At least 50 samples of each side are beyond a percentile that is compared.
MEDIAN = percentile("50", {Table.DEFAULT, Table.REPORT, Table.RUNS, Table.HISTORY, Table.SWEEP}, 0.05, 100)
P75 = percentile("75", {Table.SWEEP, Table.OVERLAY}, 0.05, 200)
P90 = percentile("90", Table, 0.10, 500, is_goal=True)
P95 = percentile("95", {Table.REPORT, Table.HISTORY, Table.SWEEP, Table.OVERLAY}, 0.10, 1_000)
# The 95 % interval of a p99 is 23 % of its value at 1,000 samples and 7 % at 20,000.
P99 = percentile("99", {Table.REPORT}, 0.10, 5_000)
P99_9 = percentile("99.9")

# The parts of the response time, as in JMeter: Latency up to the first byte, which includes Connect.
FIRST_BYTES, CONNECTS = "first_byte_percentiles_ms", "connect_percentiles_ms"
# Few requests open a connection: the others took 0 ms for that.
FIRST_BYTE = tuple(_of_part(FIRST_BYTES, "first byte", text) for text in ("50", "90", "95", "99"))
CONNECT = tuple(_of_part(CONNECTS, "connect", text) for text in ("95", "99"))

# The mapping of LabelFigures that has the metrics of some labels only, by key.
BESIDE = "beside"


def _rate_of(what: str) -> Metric:
    """Return the metric of things per second: messages, messages/s, messages_per_s."""
    unit = f"{what}/s"
    return Metric(
        f"{what.replace(' ', '_')}_per_s", what, unit, unit, unit, units.rate_text, frozenset(), 0.05, 100,
        beside=Beside.RATE, more_is_better=True,
    )  # fmt: skip


def _mean_of(name: str, threshold: float | None = None) -> Metric:
    """Return the metric of an average time: receiving, receiving_ms."""
    return Metric(
        f"{name.replace(' ', '_')}_ms", name, f"{name} ms", name, "ms", units.average_text, frozenset(), threshold, 100,
        beside=Beside.MEAN,
    )  # fmt: skip


# Averages of what first bytes leave: from connecting to the first byte, and from there to the last one.
WAITING, RECEIVING = _mean_of("waiting"), _mean_of("receiving", 0.10)
MESSAGES, MESSAGES_SENT, ROWS, SESSIONS = map(_rate_of, ("messages", "messages sent", "rows", "sessions"))
SESSION = _mean_of("session", 0.10)
# Parts of connecting: names that a server was asked for, and TLS. Then the request is written.
LOOKUP, HANDSHAKE, SENDING = _mean_of("lookup"), _mean_of("handshake"), _mean_of("sending")
# Averages of answers that are streams.
EVENTS, LONGEST_GAP = replace(_rate_of("events"), beside=Beside.MEAN), _mean_of("longest gap", 0.10)

METRICS: tuple[Metric, ...] = (
    AVERAGE, MEDIAN, P75, P90, P95, P99, P99_9, THROUGHPUT, ERRORS, *FIRST_BYTE, *CONNECT, WAITING, RECEIVING,
    LOOKUP, HANDSHAKE, SENDING, MESSAGES, MESSAGES_SENT, ROWS, SESSIONS, SESSION, EVENTS, LONGEST_GAP,
)  # fmt: skip


def percentiles(table: Table | None = None) -> tuple[str, ...]:
    """Return the percentiles that a table shows, or all of them, by their text."""
    shown = METRICS if table is None else metrics_of(table)
    return tuple(metric.percentile for metric in shown if metric.percentile is not None)


def metrics_of(table: Table) -> tuple[Metric, ...]:
    """Return the metrics that a table shows."""
    return tuple(metric for metric in METRICS if table in metric.tables)


def times_of(table: Table) -> tuple[Metric, ...]:
    """Return the response times that a table shows."""
    return tuple(metric for metric in metrics_of(table) if metric.is_time)


TIME_KEYS = frozenset(metric.key for metric in METRICS if metric.is_time)


def elapsed_metrics() -> tuple[Metric, ...]:
    """Return the response times over time, of load generators and of progress: those of elapsed times in BRIEF."""
    return tuple(metric for metric in metrics_of(Table.BRIEF) if metric == AVERAGE or metric.percentile is not None)


def columns_of_runs(table: Table) -> tuple[Metric, ...]:
    """Return the metrics that a table of runs shows, in the order of its columns: throughput first, errors last."""
    return (THROUGHPUT, *(metric for metric in metrics_of(table) if metric not in (THROUGHPUT, ERRORS)), ERRORS)


def compared_metrics() -> tuple[Metric, ...]:
    """Return the metrics that runs are compared by."""
    return tuple(metric for metric in METRICS if metric.threshold is not None)


def all_metrics() -> tuple[Metric, ...]:
    """Return the list of metrics: each can have a goal."""
    return METRICS


def stop_metrics() -> tuple[Metric, ...]:
    """Return the metrics that can end a run early: those that are known of each second of the load."""
    return tuple(metric for metric in METRICS if metric.is_of_all)


def goal_metrics() -> tuple[Metric, ...]:
    """Return the metrics whose limits have an option of their own on the command line."""
    return tuple(metric for metric in METRICS if metric.is_goal)


def metric_of(text: str) -> Metric:
    """Return the metric of a name, an id, a key or an alias: p90, 90, p90_ms, median; KeyError when there is none."""
    for metric in METRICS:
        if text in (metric.name, metric.id, metric.key, *metric.aliases):
            return metric
    raise KeyError(text)


def check_metrics(*names: str) -> None:
    """Raise ValueError for a text that names no metric."""
    for name in names:
        try:
            metric_of(name)
        except KeyError:
            raise ValueError(f"{name!r} is no metric") from None


def parse_metric(text: str, where: str, among: Sequence[Metric] | None = None) -> Metric:
    """Return the metric that a person named, by default a compared one; UsageError lists those that there are."""
    known = compared_metrics() if among is None else among
    metric = next((one for one in known if text in (one.name, one.id, one.key, *one.aliases)), None)
    if metric is None:
        names = [one.name for one in known]
        near = did_you_mean(text, [*names, *(alias for one in known for alias in one.aliases)])
        raise UsageError(f"{where} {text}: no such metric", f"{near}there are: {', '.join(names)}")
    return metric


def is_better(metric: Metric, delta_ratio: float) -> bool:
    """Return whether a change of the metric is one for the better."""
    return (delta_ratio > 0) == metric.more_is_better
