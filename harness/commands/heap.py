"""`lth heap`: print heap, pauses and CPU of a flight recording, or attach it to runs."""

from __future__ import annotations

import argparse
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import print_text
from harness.base.paths import shown
from harness.base.units import MS_PER_S, duration_text
from harness.cli.options import take, take_argument
from harness.report.files import write_report
from harness.report.machine import heap_table, recorded_table
from harness.run.directory import RunDirectory
from harness.run.names import find_paths, in_plan
from harness.run.telemetry.recording import attach, process_of
from harness.sweep.files import sweeps_with
from harness.sweep.sources import write_sweep_report
from harness.system.flight_recording import RecordedEvent, recorded_uses
from harness.system.heap import heap_uses
from harness.system.jfr import read_recording

_EPILOG = """\
examples:
  lth heap balancer.jfr                                           prints heap, pauses and CPU of the whole recording
  lth heap balancer.jfr --run lb-gwlb/run-03_1                    adds them to the report of a run of that system
  lth heap balancer.jfr --run 'lb-gwlb/run-03_*'                  to each run, its own part of the recording
  lth heap balancer.jfr --run lb-gwlb/run-03_1 --name gateway               with another name than the file's

A JVM records with java -XX:StartFlightRecording=filename=balancer.jfr,dumponexit=true, or jcmd PID JFR.start and
JFR.dump filename=…. Every setting of the JDK (default, profile) has the events. A run gets what was recorded during it,
by the clocks of both machines. lth run --target=… --jfr=balancer.jfr does the same when the load has ended.

exit codes: 0 success; 2 wrong use, a recording that cannot be read, or none of it during a run.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `heap`."""
    parser.description = "Print heap, pauses and CPU of the flight recording of any JVM, or add them to runs."
    parser.epilog = _EPILOG
    take_argument(parser, "recording")
    take(parser, "run name plan/filter reports")


def run(options: argparse.Namespace) -> int:
    """Print the recording or write the reports, and return the exit code."""
    recording = options.recording
    if not recording.is_file():
        raise UsageError(f"{recording}: there is no such file", "give the flight recording of a JVM")
    process = process_of(Path(f"{options.name}.jfr") if options.name else recording)
    if options.run:
        paths = find_paths(in_plan([options.run], options.plan), options.reports)
        directories = [RunDirectory(path.resolve()) for path in paths]
        for directory in directories:
            _attach(directory, recording, process)
        for files in sweeps_with(directories):
            write_sweep_report(files.record)
            print_text(os.path.relpath(files.report))
        return EXIT_OK
    with tempfile.TemporaryDirectory(prefix="recording-") as folder:
        read = read_recording(recording.resolve(), {}, Path(folder))
    if not read.events:
        raise UsageError(f"{recording}: {read.problem}", "give a recording with the JDK's setting default or profile")
    print_text(_text(process, read.events))
    if read.problem:
        print_text(f"\nKnown in part: {read.problem}.")
    return EXIT_OK


def _attach(directory: RunDirectory, recording: Path, process: str) -> None:
    if not directory.run_json.is_file():
        raise UsageError(f"{shown(directory.path)}: has no run.json", "name the folder of a run that was measured here")
    why = attach(directory, recording, process, {})
    write_report(directory)
    if why.startswith("not known"):
        raise UsageError(f"{shown(directory.path)}: {process} is {why}", "its report says so, too")
    print_text(os.path.relpath(directory.report) + (f": {process} is {why}" if why else ""))


def _text(process: str, events: tuple[RecordedEvent, ...]) -> str:
    """Return the tables of the whole recording."""
    first_ms, last_ms = events[0].time_ms, events[-1].time_ms
    began = datetime.fromtimestamp(first_ms / MS_PER_S, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    heaps = {process: tuple(event.point for event in events if event.point)}
    length = duration_text((last_ms - first_ms) / MS_PER_S)
    parts = [f"# {process}: {length} from {began}", heap_table(heap_uses(heaps, first_ms, last_ms))]
    parts.append(recorded_table(recorded_uses({process: events}, first_ms, last_ms)))
    parts.append("CPU is % of all CPUs of the machine; collections and pauses are those of the whole recording.")
    return "\n\n".join(parts)
