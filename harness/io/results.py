"""Reads a run directory or a JTL and writes what is made of it: the JSON and the Markdown beside the directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UsageError
from harness.figures import PERCENTILES
from harness.io.rundir import RunDirectory, json_text, read_json, write_whole
from harness.io.tallies import read_tally
from harness.record import RunRecord
from harness.render.markdown import notes_of, report
from harness.summary import FORMAT_VERSION as SUMMARY_VERSION
from harness.summary import RunSummary, summarise, window_of, window_span_ms
from harness.tally import SampleTally
from harness.telemetry import Usage, usages
from harness.window import Window, WindowSpec, parse_window

WHOLE, STEADY_WINDOW = parse_window("all"), parse_window("steady")


@dataclass(frozen=True)
class Counting:
    """How bare JTLs are read and counted; `columns` are those of files without a header line."""

    window: WindowSpec = WHOLE
    percentiles: tuple[str, ...] = PERCENTILES
    with_transactions: bool = False
    columns: tuple[str, ...] | None = None
    strict: bool = False


def summary_of_jtls(paths: Sequence[Path], counting: Counting | None = None) -> RunSummary:
    """Return the summary of bare JTLs as of one run; UsageError when they have no samples."""
    counting = counting or Counting()
    tally, dropped = read_tally(paths)
    name = " + ".join(path.name for path in paths)
    if tally.first_ms is None:
        line, reason = dropped.first[0] if dropped.first else (0, "")
        why = f" ({dropped.count} records dropped; line {line}: {reason})" if line else ""
        raise UsageError(f"{name}: no samples{why}", "name a JTL that JMeter has written samples to")
    window = window_of(tally, counting.window, None)
    counted = _counted(paths, tally, window, ())
    return summarise(tally, dropped, name, None, (), window, counted, counting.percentiles, counting.with_transactions)


def _counted(
    paths: Sequence[Path], tally: SampleTally, window: Window, once_labels: Sequence[str]
) -> SampleTally | None:
    """Return the tally of the samples within the window; None when it leaves nothing out."""
    span_ms = window_span_ms(tally, window)
    if span_ms is None or window.length_s == window.run_s:
        return None
    return read_tally(paths, once_labels, span_ms)[0]


def summary_of_run(directory: RunDirectory) -> RunSummary:
    """Return the summary of a run: from its samples, or from its JSON when the samples are not here (any more)."""
    data = directory.read_run()
    if data is None or not directory.samples.is_file():
        if directory.summary_json.is_file():
            return RunSummary.from_json(read_json(directory.summary_json, SUMMARY_VERSION))
        if data is None:
            raise UsageError(
                f"{directory.path}: not a run: neither run.json nor a JSON beside it", "name a run's folder"
            )
    run = RunRecord.from_json(data, str(directory.run_json))
    paths = [directory.samples] if directory.samples.is_file() else []
    tally, dropped = read_tally(paths, run.once_labels)
    window = window_of(tally, STEADY_WINDOW, run)
    counted = _counted(paths, tally, window, run.once_labels)
    span = window_span_ms(tally, window)
    usage: tuple[Usage, ...] = ()
    if span and directory.telemetry.is_file():
        with directory.telemetry.open(encoding="utf-8", errors="replace") as lines:
            usage = usages(lines, *span)
    return summarise(tally, dropped, run.id, run, usage, window, counted)


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
