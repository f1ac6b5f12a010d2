"""`aggregate.py profile`: print the profile of a run, or what the system did in the slowest seconds of a label."""

from __future__ import annotations

import argparse
import gzip
import os
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import EXIT_OK, UsageError
from harness.base.toolchain import ROOT
from harness.base.units import MS_PER_S
from harness.jtl.sample import Dropped
from harness.metrics.figures import LOAD
from harness.metrics.files import read_samples
from harness.metrics.interval import IntervalMs
from harness.report.files import summary_of_run
from harness.report.own_metrics import own_metrics_text
from harness.report.profiles import database_text, profile_text, request_count
from harness.report.slices import differences, differences_text, seconds_of
from harness.report.slowest import slowest_table
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory, load_record
from harness.run.names import find_run
from harness.system.profile_events import read_events

_EPILOG = """\
examples:
  ./aggregate.py profile thruzero/run-07_1                   methods, locks, exceptions, pauses, threads, statements
  ./aggregate.py profile thruzero/run-07_1 --label home      what was more frequent while "home" was slow

--label compares the slowest tenth of the seconds, and others of at least twice the median, with the faster half. A
second is as slow as the samples of the label that were in progress in it, on average. It needs samples.jtl and
profile.tsv.gz of the run. docs/profile.md has more.

exit codes: 0 success; 2 wrong use, or a run that was not profiled.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `profile`."""
    parser.description = "Print the profile of a run that was profiled (make run PROFILE=1), as in its report."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("run", metavar="RUN", help="a run directory, its .json or .md, or a name such as killbill-stripe/run-01_1")
    option("--label", help="compare the slowest seconds of this label with its normal ones")
    option("--plan", help="plan of a run that is given without one, such as run-01_1")
    option("--reports", type=Path, default=ROOT / "reports", metavar="DIR", help="folder of the runs (reports/)")


def run(options: argparse.Namespace) -> int:
    """Print the profile and return the exit code."""
    directory = RunDirectory(find_run(options.run, options.plan, options.reports))
    summary = _summary(directory)
    if not summary.observed.profiles and not summary.observed.databases:
        raise UsageError(f"{options.run}: has no profile{_why(summary)}", "profile a run with make run PROFILE=1")
    if options.label is None:
        print(_text(summary, os.path.relpath(directory.path)))
        return EXIT_OK
    print(_comparison(directory, summary, options.label))
    return EXIT_OK


def _summary(directory: RunDirectory) -> RunSummary:
    """Return the summary as stored; without one, it is made of the samples."""
    path = directory.summary_json
    return load_record(RunSummary, path) if path.is_file() else summary_of_run(directory)


def _why(summary: RunSummary) -> str:
    unknown = summary.run.profile_unknown if summary.run else ()
    return f" ({'; '.join(f'{process}: {why}' for process, why in unknown)})" if unknown else ""


def _text(summary: RunSummary, folder: str) -> str:
    observed = summary.observed
    parts = [profile_text(profile, folder) for profile in observed.profiles]
    parts += [database_text(used, request_count(summary)) for used in observed.databases]
    if observed.slowest:
        parts.append(f"### Slowest samples\n\n{slowest_table(observed.slowest)}")
    parts += [f"## The system's own metrics\n\n{own_metrics_text(found)}" for found in observed.own_metrics]
    return "\n\n".join(parts)


def _comparison(directory: RunDirectory, summary: RunSummary, label: str) -> str:
    """Return the comparison of a label's slow and normal seconds; UsageError without the files that it needs."""
    for path in (directory.profile, *(directory.all_samples or (directory.samples,))):
        if not path.is_file():
            raise UsageError(f"{path}: is missing", "pull the run with all its files")
    load = summary.group(LOAD)
    names = [one.label for one in load.labels] if load else []
    if label not in names:
        raise UsageError(
            f"--label {label}: the load has no such label", f"{did_you_mean(label, names)}there are: {', '.join(names)}"
        )
    assert summary.origin_s is not None  # there is a load
    window = summary.window
    from_s, to_s = summary.origin_s + window.from_s, summary.origin_s + window.to_s
    window_ms = IntervalMs(from_s * MS_PER_S, to_s * MS_PER_S)
    samples = (sample for path in directory.all_samples for sample in read_samples(path, Dropped()))
    seconds = seconds_of(samples, label, window_ms)
    with gzip.open(directory.profile, "rt", encoding="utf-8", errors="replace") as lines:
        events = read_events(lines)
    found = differences(events, seconds) if seconds.is_slower else ()
    return f"## {label}\n\n{differences_text(seconds, found)}"
