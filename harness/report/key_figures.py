"""What a reader of a result needs first: the key columns, the labels that matter most, warnings by importance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from harness.base import units
from harness.judge.loads import rows_by_load
from harness.judge.result import KeyFigure, Result
from harness.judge.summary import RunSummary
from harness.judge.verdict import Verdict, answer, goals_sentence
from harness.judge.warnings import ReportPart, RunWarning, Severity
from harness.metrics.figures import LOAD, Group
from harness.metrics.metric import ERRORS, MEDIAN, METRICS, P95, THROUGHPUT, Measured, Metric
from harness.report.columns import COUNT, ERROR_RATIO, MAX, RATE, metric_column
from harness.report.next_steps import next_steps
from harness.report.setup import users_text
from harness.report.tables import LOADS, Rows, Shown, parts_of
from harness.run.record import RunRecord

# So many labels, TOTAL, the goals and some warnings fit on a screen of 40 lines.
LABELS_MOST = 10
# So many warnings are on the first screen.
WARNINGS_MOST = 4
# The first chart of a run; a test compares it with the table of charts.
FIRST_CHART = "response-time"
# The percentiles that are key figures.
_PERCENTILES = ("50", "95", "99")

KEY_COLUMNS = (COUNT, RATE, metric_column(MEDIAN), metric_column(P95), MAX, ERROR_RATIO)
# The parts of the report that a reader sees first.
_KEY_PARTS = frozenset({ReportPart.VERDICT, ReportPart.WINDOW, ReportPart.COUNT, ReportPart.MEDIAN, ReportPart.ERRORS})
# What errors of JMeter do not say, by words of code and message; findings/ has a script of each.
_CHECKED = "--properties=httpclient4.validate_after_inactivity=500 lets JMeter connect again, as a browser does."
_MEANINGS = (
    (
        ("NoHttpResponseException",),
        "The server closed the connection without a response. If it closes idle connections while users pause, "
        f"{_CHECKED}",
    ),
    (
        ("SocketException", "Broken pipe"),
        "The server closed the connection before it had the whole request. It may have refused it, such as with 413 "
        "or 401: JMeter does not read that response, the server's log has it. Or it had closed an idle connection: "
        f"{_CHECKED}",
    ),
    (
        ("Response was null",),
        "The assertion found no body. A parent transaction (Generate parent sample) never has one: move the assertion "
        "below its requests.",
    ),
)


def key_rows(summary: RunSummary) -> tuple[Shown, ...]:
    """Return the tables of the load: requests with TOTAL, transactions, and of several loads a row for each.

    Together they have at most LABELS_MOST rows, in their order: those with the most errors, then the slowest by p95.
    Without a sample of the load there is no table.
    """
    return _most_important(_parts(summary))


def _parts(summary: RunSummary) -> tuple[Rows, ...]:
    load = summary.group(LOAD)
    if load is None:
        return ()
    by_load = Shown(LOADS, rows_by_load(summary.loads, load).labels, None, counts_transactions=True)
    return (*parts_of(load), *((by_load,) if by_load.labels else ()))


def key_rows_of(load: Group) -> tuple[Shown, ...]:
    """Return the tables of one load as in `key_rows`: requests with TOTAL, and transactions."""
    return _most_important(parts_of(load))


def _most_important(groups: Sequence[Rows]) -> tuple[Shown, ...]:
    rest, shown = LABELS_MOST, []
    for number, group in enumerate(groups):
        later = groups[number + 1 :]
        reserved = min(sum(len(one.labels) for one in later), rest * len(later) // (len(later) + 1))
        ranked = sorted(enumerate(group.labels), key=lambda one: (-one[1].error_count, -(P95.of(one[1]) or 0)))
        labels = tuple(label for _, label in sorted(ranked[: rest - reserved], key=lambda one: one[0]))
        rest -= len(labels)
        shown.append(Shown(group.name, labels, group.total, group.counts_transactions))
    return tuple(shown)


def left_out_text(summary: RunSummary) -> str:
    """Return how many labels `key_rows` leaves out, as text; empty when it shows all."""
    parts = _parts(summary)
    count = sum(len(part.labels) for part in parts) - sum(len(part.labels) for part in _most_important(parts))
    return f"{units.plural(count, 'more label')} with fewer errors or a lower p95" if count > 0 else ""


def by_importance(warnings: Iterable[RunWarning]) -> list[RunWarning]:
    """Return the warnings without notes: first those that make a run DOUBTFUL, then those about the whole run."""
    shown = [warning for warning in warnings if warning.severity is not Severity.NOTE]
    return sorted(
        shown, key=lambda one: (one.severity is not Severity.DOUBTFUL, ReportPart.VERDICT not in one.concerns)
    )


def key_warnings(summary: RunSummary) -> list[RunWarning]:
    """Return the warnings that concern the verdict, the window or a key column, the most important first."""
    load = summary.group(LOAD)
    parts = _KEY_PARTS | {ReportPart.TAIL} if load and is_tail(P95, load.total.sample_count) else _KEY_PARTS
    found = by_importance(summary.warnings)
    return [one for one in found if one.severity is Severity.DOUBTFUL or parts & set(one.concerns)]


def is_tail(metric: Metric, sample_count: int) -> bool:
    """Return whether a warning about slow samples concerns a percentile: p99 and up, with few samples p95 and up."""
    least = 0.95 if sample_count < metric.samples_least else 0.99
    return metric.percentile is not None and metric.ratio >= least


def first_error(summary: RunSummary) -> str:
    """Return the most frequent kind of error, of equal ones that of the load; empty without errors.

    A second sentence has what JMeter does not say of it.
    """
    if not summary.errors:
        return ""
    load = summary.group(LOAD)
    labels = {label.label for label in load.labels} if load else set()
    kind = max(summary.errors, key=lambda kind: (kind.count, kind.label in labels))
    what = " ".join(filter(None, (kind.code, kind.cause)))
    meaning = next((text for words, text in _MEANINGS if all(word in what for word in words)), "")
    return f"Most frequent error: {kind.label}: {what} ({units.plural(kind.count, 'time')}). {meaning}".rstrip()


class Total(Measured, Protocol):
    """The metrics of all labels of a run together; those that a source lacks are None."""

    @property
    def sample_count(self) -> int | None:
        """How many samples there are."""

    @property
    def max_ms(self) -> float | None:
        """The slowest sample."""


def result_of(summary: RunSummary, first_chart: str = "") -> Result:
    """Return the result of a summary, as its JSON has it."""
    load = summary.group(LOAD)
    facts = (summary.source, summary.run, summary.verdict, load.total if load else None, summary.warnings)
    return run_result(*facts, first_chart)


def run_result(
    name: str,
    run: RunRecord | None,
    verdict: Verdict | None,
    total: Total | None,
    warnings: Iterable[RunWarning],
    first_chart: str = "",
) -> Result:
    """Return the result of a run, as its JSON has it; `total` is the load in the measurement window."""
    kind, listed_warnings = ("soak" if run and run.is_soak else "run"), list(warnings)
    figures = tuple(_run_figures(run, total, listed_warnings))
    if verdict is None:
        return Result(kind, name, key_figures=figures, first_chart=first_chart)
    return Result(
        kind=kind,
        title=name,
        verdict=verdict.state,
        headline=answer(verdict, total),
        key_figures=figures,
        first_chart=first_chart,
        goals=goals_sentence(verdict),
        is_missed=bool(verdict.goals_missed),
        next_steps=next_steps(run, verdict, listed_warnings, has_failures=bool(total and ERRORS.of(total))),
    )


def _run_figures(run: RunRecord | None, total: Total | None, warnings: Sequence[RunWarning]) -> Iterator[KeyFigure]:
    """Yield the key metrics of the load; those that are not known are left out."""
    if total is None:
        return

    def figure(name: str, value: str, unit: str, *parts: ReportPart) -> KeyFigure:
        questioning = [warning for warning in by_importance(warnings) if set(parts) & set(warning.concerns)]
        return KeyFigure(name, value, unit, len(questioning))

    count = total.sample_count
    if run:
        yield figure("users", users_text(run.load), "", ReportPart.LOAD)
    if count is not None:
        yield figure("samples", str(count), "", ReportPart.COUNT)
    for metric in (THROUGHPUT, *(metric for metric in METRICS if metric.percentile in _PERCENTILES), ERRORS):
        value = metric.of(total)
        if value is not None:
            name = "errors" if metric == ERRORS else metric.phrase
            yield figure(name, metric.text(value), metric.unit, *_parts_of(metric, count or 0))
    if total.max_ms is not None:
        yield figure("max", units.ms_text(total.max_ms), "ms")


def _parts_of(metric: Metric, sample_count: int) -> list[ReportPart]:
    """Return the parts of a report whose warnings question a metric."""
    if metric == ERRORS:
        return [ReportPart.ERRORS]
    if metric == THROUGHPUT:
        return [ReportPart.COUNT]
    return (
        [ReportPart.MEDIAN] if metric.percentile == "50" else [ReportPart.TAIL] if is_tail(metric, sample_count) else []
    )
