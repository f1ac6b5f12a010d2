"""Runs that tests store in S3."""

from __future__ import annotations

import random
from pathlib import Path

from harness.report.files import write_report
from harness.run.directory import RunDirectory
from harness.run.jmeter.exchanges import exchanges_text
from tests.support.exchanges import ONE
from tests.support.report_folder import add_run

RUN_ID = "run-07_1-1a2b3c4d"


FOLDER = f"load/runs/plan=tiny/env=local/date=2026-01-01/run={RUN_ID}"


# Does not get smaller by packing: two parts of 8 MB and some more.
LARGE = random.Random(1).randbytes(17 * 1024 * 1024)


def a_run(reports: Path, run_id: str = RUN_ID, **changes: object) -> RunDirectory:
    """Write a run with every file that is uploaded and some that are not, and its report."""
    values = {"properties": {"run_id": run_id}, "exception_logs": ("web.log",), **changes}
    directory = add_run(reports, f"tiny/{run_id.rpartition('-')[0]}", **values)
    directory.system_logs.mkdir()
    (directory.system_logs / "web.log").write_text("java.lang.IllegalStateException: no\n\tat a.B.c(B.java:1)\n")
    (directory.path / "jmeter.log").write_text("not kept")
    directory.failures.write_text(exchanges_text([ONE]))
    write_report(directory)
    return directory


def large_run(reports: Path) -> RunDirectory:
    """Write a run whose samples go up in parts; its report was made of others, which no push looks at."""
    directory = a_run(reports)
    directory.samples.write_bytes(LARGE)
    return directory


def contents(reports: Path) -> dict[str, bytes]:
    return {path.relative_to(reports).as_posix(): path.read_bytes() for path in reports.rglob("*") if path.is_file()}


def print_text(text: str) -> None:
    print(text)
