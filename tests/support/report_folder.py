"""Puts runs into a reports folder as scripts/run leaves them: run.json and samples, and the report made of both."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from harness.report.files import write_report
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, record

START_MS = 1_700_000_000_000
# Without allThreads it is unknown whether so few and short samples are those of two busy users.
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


@dataclass(frozen=True)
class _Load:
    """Requests of about one length, evenly over `seconds` (None: one a second); the first `failures` of them fail."""

    elapsed_ms: int = 100
    label: str = "Pay"
    samples: int = 120
    failures: int = 0
    seconds: int | None = None
    all_threads: int | None = None
    began_ms: int = START_MS

    @property
    def length_s(self) -> int:
        """The seconds from the first start to the last one, and one more."""
        return self.seconds or self.samples

    def jtl(self) -> str:
        """Return the samples as JMeter writes them."""
        quoted = '"' + self.label.replace('"', '""') + '"'
        users = "" if self.all_threads is None else f",{self.all_threads}"
        rows = [HEAD + ",allThreads" * bool(users)]
        for number in range(self.samples):
            start_ms = self.began_ms + 1000 * number * self.length_s // self.samples
            outcome = "500,no,Users 1-1,false,no card" if number < self.failures else "200,OK,Users 1-1,true,"
            rows.append(f"{start_ms},{self.elapsed_ms + number % 3},{quoted},{outcome},300,100{users}")
        return "\n".join(rows) + "\n"


def add_run(reports: Path, run: str, **changes: Any) -> RunDirectory:
    """Write a run with its report, VALID by default; `changes` are those of its load, and else of its record."""
    directory = add_samples(reports, run, **changes)
    write_report(directory)
    return directory


def add_samples(reports: Path, run: str, **changes: Any) -> RunDirectory:
    """Write a run as `add_run` does, without its report."""
    load = _Load(**{one.name: changes.pop(one.name) for one in fields(_Load) if one.name in changes})
    directory = run_folder(reports, run, **{"took_s": load.length_s + 5.0, **changes})
    directory.samples.write_text(load.jtl(), encoding="utf-8")
    return directory
