"""Reads the samples of a finished run and writes its seconds: OpenMetrics, CSV or Parquet files in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base import units
from harness.base.errors import UsageError
from harness.base.writable import writing_into
from harness.export.openmetrics import lines
from harness.export.rows import HISTOGRAM_COLUMNS, SECOND_COLUMNS, Value, histogram_rows, second_rows
from harness.jtl.inputs import Input
from harness.jtl.progress import ReadingProgress
from harness.metrics.files import each_sample
from harness.metrics.label_seconds import LabelSeconds, SortedSeconds
from harness.metrics.timeline import SPAN_MAX_S
from harness.report.export import csv_lines
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord

if TYPE_CHECKING:
    import pyarrow

OPENMETRICS, CSV, PARQUET = "openmetrics", "csv", "parquet"
FORMATS = (OPENMETRICS, CSV, PARQUET)
_ROWS_PER_BATCH, _ROWS_PER_TEXT = 50_000, 1_000
_Columns = Sequence[tuple[str, type]]


def record_of(directory: RunDirectory) -> RunRecord:
    """Return the record of a run with samples; UsageError without either of them."""
    run = directory.read_run()
    if run is None:
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
    span_s = seconds.span_s
    if span_s is None:
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
        about = {
            "run": record.id,
            "plan": record.plan,
            "env": record.profile,
            "commit": (record.git_commit or "")[:12],
        }
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
    return _write_lines(path, _csv_texts(columns, rows))


def _csv_texts(columns: _Columns, rows: Iterator[Sequence[Value]]) -> Iterator[str]:
    yield csv_lines([[name for name, _ in columns]])
    while batch := list(islice(rows, _ROWS_PER_TEXT)):
        yield csv_lines([["" if cell is None else str(cell) for cell in row] for row in batch])


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
            out.write_batch(_batch(schema, batch))
            row_count += len(batch)
            progress.update(draft.stat().st_size, row_count)
    return draft.replace(path)


def _batch(schema: pyarrow.Schema, rows: Sequence[Sequence[Value]]) -> pyarrow.RecordBatch:
    import pyarrow  # deferred, as above

    columns = zip(*rows, strict=True)
    arrays = [pyarrow.array(values, type=field.type) for values, field in zip(columns, schema, strict=True)]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _draft(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")
