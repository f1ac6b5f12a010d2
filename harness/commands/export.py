"""`lth export`: write the per-second series and histograms of a run for other programs."""

from __future__ import annotations

import argparse
import os

from harness.api.export.files import PARQUET, read_seconds, record_of, write
from harness.base import units
from harness.base.errors import EXIT_OK
from harness.base.install.python_packages import ensure_pyarrow
from harness.base.log import print_text
from harness.cli.options import take, take_argument
from harness.run.directory import RunDirectory
from harness.run.names import find_run

_EPILOG = """\
examples:
  lth export killbill-stripe/run-01_1                                     seconds.csv and histograms.csv
  lth export killbill-stripe/run-01_1 --format parquet                    the same tables, for pandas, DuckDB, Spark
  lth export killbill-stripe/run-01_1 --format openmetrics                openmetrics.txt, for Prometheus:
  promtool tsdb create-blocks-from openmetrics openmetrics.txt DATA-FOLDER

Every sample is counted, in the second in which it ended. seconds has a row per second and label, with percentiles as in
the report; histograms how many samples had each response time. openmetrics has the names and buckets of
lth run --metrics=1. lth help prometheus describes all columns.

The files are written into the folder export/ of the run, unless --into names another one.

exit codes: 0 success; 2 wrong use, or a run without samples.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `export`."""
    parser.description = "Write the per-second series and histograms of a finished run, per label, from its samples."
    parser.epilog = _EPILOG
    take_argument(parser, "run", "?")
    take(parser, "format/export into plan/filter reports")


def run(options: argparse.Namespace) -> int:
    """Write the files, print their names and return the exit code."""
    options.run = options.run or "-1"
    directory = RunDirectory(find_run(options.run, options.plan, options.reports, "name one: an export covers one run"))
    record = record_of(directory)
    if options.format == PARQUET:
        ensure_pyarrow()
    seconds = read_seconds(directory, record.once_labels)
    files = write(options.format, record, seconds, options.into or directory.path / "export")
    names = ", ".join(os.path.relpath(file) for file in files)
    print_text(f"{names}: {units.plural(seconds.sample_count, 'sample')} of {record.id}")
    return EXIT_OK
