"""Reads the samples of a finished run and writes its seconds: OpenMetrics, CSV or Parquet files in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from harness.api.export.rows import HISTOGRAM_COLUMNS, SECOND_COLUMNS, Value, histogram_rows, second_rows
from harness.base import units
from harness.base.errors import UsageError
from harness.base.units import MS_PER_S
from harness.base.writable import writing_into
from harness.jtl.file_progress import ReadingProgress
from harness.jtl.inputs import Input
from harness.metrics import instruments
from harness.metrics.files import each_sample
from harness.metrics.instruments import BOUND_TEXTS, Instrument, cumulative_counts
from harness.metrics.interval import SecondSpan
from harness.metrics.label_seconds import LabelSecond, LabelSeconds, SortedSeconds
from harness.metrics.tally import LabelKey
from harness.metrics.timeline import SPAN_MAX_S
from harness.report.export import csv_lines
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord

OPENMETRICS, CSV, PARQUET = "openmetrics", "csv", "parquet"
FORMATS = (OPENMETRICS, CSV, PARQUET)
_ROWS_PER_BATCH, _ROWS_PER_TEXT = 50_000, 1_000
_Columns = Sequence[tuple[str, type]]
# Prometheus forgets a value after five minutes: a count that does not change is repeated.
_REPEAT_S = 60
_ESCAPES = str.maketrans({'"': r"\"", "\\": r"\\", "\n": r"\n"})
_SECTIONS: tuple[tuple[Instrument, Callable[[LabelSecond], int | None]], ...] = (
    (instruments.REQUESTS, lambda one: one.sample_count),
    (instruments.ERRORS, lambda one: one.error_count),
    (instruments.RECEIVED, lambda one: one.received_bytes),
    (instruments.SENT, lambda one: one.sent_bytes),
)


def record_of(directory: RunDirectory) -> RunRecord:
    """Return the record of a run with samples; UsageError without either of them."""
    if (run := directory.read_run()) is None:
        raise UsageError(f"{directory.path}: has no run.json", "name a run, such as killbill-stripe/run-01_1")
    if not directory.all_samples:
        raise UsageError(f"{directory.samples}: is missing", "pull the run with all its files")
    return run


def read_seconds(directory: RunDirectory, once_labels: Sequence[str]) -> SortedSeconds:
    """Return the seconds of all labels of a run; progress goes to standard error. UsageError without samples."""
    return seconds_of([Input(str(path), path) for path in directory.all_samples], once_labels)


def seconds_of(
    inputs: Sequence[Input], once_labels: Sequence[str], columns: Sequence[str] | None = None
) -> SortedSeconds:
    """Return the seconds of all labels of JTLs, as `read_seconds`; `columns` are for files without a header line."""
    counted, name = LabelSeconds(once_labels), inputs[0].name
    for file, sample in each_sample(inputs, columns):
        counted.add(sample, file)
    seconds = counted.sort()
    if (span_s := seconds.span_s) is None:
        raise UsageError(f"{name}: no samples", "name a run with samples")
    length_s = span_s.last_s - span_s.first_s
    if length_s > SPAN_MAX_S:
        what = f"{name}: its samples span {units.duration_text(length_s)}"
        raise UsageError(what, "a clock was set: remove the samples with wrong times")
    return seconds


def write(form: str, record: RunRecord, seconds: SortedSeconds, folder: Path) -> list[Path]:
    """Write the files of a format and return their paths; a reader sees whole files only."""
    with writing_into(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if form == OPENMETRICS:
        commit = (record.git_commit or "")[:12]
        about = {"run": record.id, "plan": record.plan, "env": record.profile, "commit": commit}
        return [_write_lines(folder / "openmetrics.txt", lines(about, seconds))]
    tables: Mapping[str, tuple[_Columns, Iterator[tuple[Value, ...]]]] = {
        "seconds": (SECOND_COLUMNS, second_rows(seconds)),
        "histograms": (HISTOGRAM_COLUMNS, histogram_rows(seconds)),
    }
    writer = _write_csv if form == CSV else _write_parquet
    return [writer(folder / f"{name}.{form}", columns, rows) for name, (columns, rows) in tables.items()]


def _write_lines(path: Path, texts: Iterable[str]) -> Path:
    draft, size_bytes = _draft(path), 0
    with (
        writing_into(path.parent),
        draft.open("w", encoding="utf-8", newline="\n") as out,
        ReadingProgress(None, path.name, verb="writing") as progress,
    ):
        for text in texts:
            size_bytes += out.write(text)
            progress.update(size_bytes)
    return draft.replace(path)


def _write_csv(path: Path, columns: _Columns, rows: Iterator[Sequence[Value]]) -> Path:
    head = csv_lines([[name for name, _ in columns]])
    batches = iter(lambda: list(islice(rows, _ROWS_PER_TEXT)), [])
    texts = (csv_lines([["" if cell is None else str(cell) for cell in row] for row in batch]) for batch in batches)
    return _write_lines(path, chain((head,), texts))


def _write_parquet(path: Path, columns: _Columns, rows: Iterator[Sequence[Value]]) -> Path:
    import pyarrow.parquet  # deferred: an optional package, which the command installs

    types = {int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.dictionary(pyarrow.int32(), pyarrow.string())}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in columns])
    draft, row_count = _draft(path), 0
    with (
        writing_into(path.parent),
        pyarrow.parquet.ParquetWriter(draft, schema, compression="zstd") as out,
        ReadingProgress(None, path.name, verb="writing") as progress,
    ):
        while batch := list(islice(rows, _ROWS_PER_BATCH)):
            columns_of_batch = zip(zip(*batch, strict=True), schema, strict=True)
            arrays = [pyarrow.array(values, type=field.type) for values, field in columns_of_batch]
            out.write_batch(pyarrow.RecordBatch.from_arrays(arrays, schema=schema))
            row_count += len(batch)
            progress.update(draft.stat().st_size, row_count)
    return draft.replace(path)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def lines(about: Mapping[str, str], seconds: SortedSeconds) -> Iterator[str]:
    """Yield the lines of a run, each with its line end; `about` are the labels of the run: run, plan, env, commit.

    A point is at the end of its second and has the counts up to then. The first one of each series is 0.
    """
    if span_s := seconds.span_s:
        yield from _head(instruments.INFO, "info")
        text = labels_text(about)
        yield from (f"{instruments.INFO.name}_info{{{text}}} 1 {at_s}\n" for at_s in _moments(span_s))
        yield from _users(about["run"], seconds, span_s)
        yield from _histograms(about["run"], seconds, span_s)
        for instrument, value in _SECTIONS:
            yield from _counters(instrument, about["run"], seconds, span_s, value)
    yield "# EOF\n"


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as OpenMetrics writes them, without the braces."""
    return ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())


def _head(instrument: Instrument, kind: str) -> Iterator[str]:
    yield f"# TYPE {instrument.name} {kind}\n"
    yield f"# HELP {instrument.name} {instrument.help}\n"


def _moments(span_s: SecondSpan) -> Iterator[int]:
    """Yield the beginning of the first second, then each _REPEAT_S, and the end of the last second."""
    return chain(range(span_s.first_s, span_s.last_s + 1, _REPEAT_S), (span_s.last_s + 1,))


def _users(run: str, seconds: SortedSeconds, span_s: SecondSpan) -> Iterator[str]:
    text = labels_text({"run": run})
    yield from _head(instruments.USERS, "gauge")
    for second, users in enumerate(seconds.active_users(), span_s.first_s):
        if users is not None:
            yield f"{instruments.USERS.name}{{{text}}} {users} {second + 1}\n"


def _of_label(run: str, key: LabelKey) -> str:
    kind = instruments.kind_of(is_transaction=key.is_transaction)
    return labels_text({"run": run, "label": key.label, "group": key.group, "kind": kind})


class _Moment(NamedTuple):
    """The time of a point (s since 1970), and the samples of the second that ends then; None without samples."""

    at_s: int
    samples: LabelSecond | None = None


def _with_moments(points: Iterator[LabelSecond], last_s: int) -> Iterator[_Moment]:
    """Yield the end of each second with its samples; before the first, and in long gaps, moments without samples."""
    at_s: int | None = None
    for point in points:
        if at_s is None:
            at_s = point.second
            yield _Moment(at_s)
        yield from (_Moment(moment_s) for moment_s in range(at_s + _REPEAT_S, point.second + 1, _REPEAT_S))
        at_s = point.second + 1
        yield _Moment(at_s, point)
    if at_s is not None:
        yield from (_Moment(moment_s) for moment_s in range(at_s + _REPEAT_S, last_s + 1, _REPEAT_S))
        if at_s < last_s + 1:
            yield _Moment(last_s + 1)


def _histograms(run: str, seconds: SortedSeconds, span_s: SecondSpan) -> Iterator[str]:
    name = instruments.RESPONSE_TIME.name
    yield from _head(instruments.RESPONSE_TIME, "histogram")
    for key in seconds.keys:
        text = _of_label(run, key)
        buckets = [f'{name}_bucket{{{text},le="{bound}"}} ' for bound in BOUND_TEXTS]
        so_far, sum_ms = [0] * len(buckets), 0
        for moment in _with_moments(seconds.by_label(key), span_s.last_s):
            at_s, samples = moment.at_s, moment.samples
            if samples:
                so_far = [sum(pair) for pair in zip(so_far, cumulative_counts(samples.histogram()), strict=True)]
                sum_ms += samples.elapsed_sum_ms
            yield "".join(f"{bucket}{count} {at_s}\n" for bucket, count in zip(buckets, so_far, strict=True))
            yield f"{name}_count{{{text}}} {so_far[-1]} {at_s}\n{name}_sum{{{text}}} {sum_ms / MS_PER_S} {at_s}\n"


def _counters(
    instrument: Instrument,
    run: str,
    seconds: SortedSeconds,
    span_s: SecondSpan,
    value: Callable[[LabelSecond], int | None],
) -> Iterator[str]:
    yield from _head(instrument, "counter")
    for key in seconds.keys:
        text, total = _of_label(run, key), 0
        if value(next(seconds.by_label(key))) is None:
            continue  # the JTL has no such column
        for moment in _with_moments(seconds.by_label(key), span_s.last_s):
            total += (value(moment.samples) or 0) if moment.samples else 0
            yield f"{instrument.name}_total{{{text}}} {total} {moment.at_s}\n"
