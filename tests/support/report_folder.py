"""Puts runs into a reports folder as scripts/run leaves them: run.json and samples, and the report made of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.report.files import write_report
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, record

START_MS = 1_700_000_000_000
# Without allThreads nobody can tell whether so few and short samples are those of two busy users.
HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes"


def run_folder(reports: Path, run: str, **changes: Any) -> RunDirectory:
    """Return the folder of a run such as tiny/run-07_1 with its run.json, and nothing else in it."""
    plan, name = run.split("/")
    directory = RunDirectory(reports / plan / name)
    directory.path.mkdir(parents=True)
    users, duration_s = changes.pop("users", 2), changes.pop("duration_s", 120.0)
    values = {"load": closed_load(users=users, duration_s=duration_s), "once_labels": (), "took_s": 125.0, **changes}
    directory.write_run(record(plan=plan, name=name, **values))
    return directory


def add_run(
    reports: Path,
    run: str,
    *,
    elapsed_ms: int = 100,
    label: str = "Pay",
    samples: int = 120,
    failures: int = 0,
    seconds: int | None = None,
    all_threads: int | None = None,
    began_ms: int = START_MS,
    **changes: Any,
) -> RunDirectory:
    """Write a run of `samples` requests of one length, one a second, the first `failures` failed; VALID by default."""
    directory = run_folder(reports, run, **{"took_s": (seconds or samples) + 5.0, **changes})
    quoted = '"' + label.replace('"', '""') + '"'
    users = "" if all_threads is None else f",{all_threads}"
    rows = [HEAD + ",allThreads" * bool(users)]
    for place in range(samples):
        start_ms = began_ms + 1000 * place * (seconds or samples) // samples
        outcome = "500,no,Users 1-1,false,no card" if place < failures else "200,OK,Users 1-1,true,"
        rows.append(f"{start_ms},{elapsed_ms + place % 3},{quoted},{outcome},300,100{users}")
    directory.samples.write_text("\n".join(rows) + "\n", encoding="utf-8")
    write_report(directory)
    return directory
