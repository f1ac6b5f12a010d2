"""Reads a run directory or a JTL and writes what is made of it: the JSON and the Markdown beside the directory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from harness.errors import UsageError
from harness.io.rundir import RunDirectory, json_text, read_json, write_whole
from harness.jtl import Dropped, Sample, parse
from harness.record import RunRecord
from harness.render.markdown import notes_of, report
from harness.summary import RunSummary, summarise
from harness.tally import tally_of
from harness.telemetry import Usage, usages
from harness.units import mb_text

_PROGRESS_PERIOD_S = 2.0
_ROWS_PER_LOOK = 20_000


def read_samples(path: Path, dropped: Dropped) -> Iterator[Sample]:
    """Yield the samples of a CSV JTL, noting in `dropped` what was left out; says on stderr how far it is.

    UsageError when the file cannot be read or is no CSV JTL.
    """
    next_look_s = time.monotonic() + _PROGRESS_PERIOD_S
    try:
        with path.open("rb") as stream:
            size = path.stat().st_size
            for number, sample in enumerate(parse(stream, path.name, dropped)):
                if number % _ROWS_PER_LOOK == 0 and time.monotonic() > next_look_s:
                    next_look_s += _PROGRESS_PERIOD_S
                    print(f"reading {path.name}: {mb_text(stream.tell())} of {mb_text(size)} MB", file=sys.stderr)
                yield sample
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", "name a JTL file") from None


def summary_of_jtl(path: Path) -> RunSummary:
    """Return the summary of one bare JTL; UsageError when it has no samples."""
    dropped = Dropped()
    tally = tally_of(read_samples(path, dropped))
    if tally.first_ms is None:
        line, reason = dropped.first[0] if dropped.first else (0, "")
        why = f" ({dropped.count} records dropped; line {line}: {reason})" if line else ""
        raise UsageError(f"{path}: no samples{why}", "name a JTL that JMeter has written samples to")
    return summarise(tally, dropped, path.name)


def summary_of_run(directory: RunDirectory) -> RunSummary:
    """Return the summary of a run: from its samples, or from its JSON when the samples are not here (any more)."""
    data = directory.read_run()
    if data is None or not directory.samples.is_file():
        if directory.summary_json.is_file():
            return RunSummary.from_json(read_json(directory.summary_json))
        if data is None:
            raise UsageError(
                f"{directory.path}: not a run: neither run.json nor a JSON beside it", "name a run's folder"
            )
    run = RunRecord.from_json(data, str(directory.run_json))
    dropped = Dropped()
    tally = tally_of(read_samples(directory.samples, dropped) if directory.samples.is_file() else (), run.once_labels)
    span = tally.span_ms()
    usage: tuple[Usage, ...] = ()
    if span and directory.telemetry.is_file():
        with directory.telemetry.open(encoding="utf-8", errors="replace") as lines:
            usage = usages(lines, *span)
    return summarise(tally, dropped, run.id, run, usage)


def write_report(directory: RunDirectory) -> RunSummary:
    """Write the run's JSON and Markdown and return the summary; the same samples give the same bytes.

    The notes block of a report that is already there is kept.
    """
    summary = summary_of_run(directory)
    notes = notes_of(directory.report.read_text(encoding="utf-8")) if directory.report.is_file() else None
    if notes is None:
        notes = summary.run.note if summary.run else ""
    write_whole(directory.summary_json, json_text(summary.to_json()))
    write_whole(directory.report, report(summary, notes))
    return summary
