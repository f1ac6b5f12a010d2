"""Runs and sweeps whose response times are spread evenly, for comparisons."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.report.files import summary_of_run
from harness.run.directory import json_text
from tests.support.report_folder import START_MS, run_folder
from tests.support.sweeps import SWEEP_RECORD, measured_level

# Without allThreads it is unknown that so few samples are not those of busy users, which would be a warning.
_HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes"


@dataclass(frozen=True)
class _Load:
    """15 samples a second for 100 s, from `least_ms` to 100 ms more in equal shares."""

    least_ms: int = 50
    label: str = "Pay"
    is_success: bool = True
    users: int = 2
    is_doubtful: bool = False

    def jtl(self) -> str:
        """Return the samples as JMeter writes them."""
        outcome = "200,OK,Users 1-1,true" if self.is_success else "500,no,Users 1-1,false"
        threads = f",{self.users}" if self.is_doubtful else ""
        rows = [
            f"{START_MS + 100_000 * number // 1500},{self.least_ms + number * 37 % 101},{self.label},{outcome},"
            f"300,100{threads}"
            for number in range(1500)
        ]
        return "\n".join([_HEAD + ",allThreads" * self.is_doubtful, *rows, ""])


def make_run(reports: Path, run: str, least_ms: int = 50, **changes: Any) -> None:
    """Write the JSON of a run; `changes` are those of its load."""
    load = _Load(least_ms, **changes)
    directory = run_folder(reports, run, users=load.users, duration_s=100.0)
    directory.samples.write_text(load.jtl(), encoding="utf-8")
    directory.summary_json.write_text(json_text(summary_of_run(directory)), encoding="utf-8")
    directory.report.write_text("# a report\n", encoding="utf-8")


def make_sweep(reports: Path, series: str, least_ms_of: Mapping[int | str, int]) -> None:
    """Write a sweep with a run per level; a level is a number of users, or of 4 users a value such as delay_ms=10."""
    runs = []
    for number, (level, least_ms) in enumerate(least_ms_of.items(), start=1):
        users, setting = (level, "") if isinstance(level, int) else (4, level)
        make_run(reports, f"tiny/run-{series}_{number}", least_ms, users=users)
        shutil.rmtree(reports / "tiny" / f"run-{series}_{number}")
        runs.append(measured_level(users, 1, f"run-{series}_{number}", setting))
    users = tuple(dict.fromkeys(run.users for run in runs))
    values = tuple(run.setting for run in runs if run.setting)
    record = replace(SWEEP_RECORD, name=f"sweep-{series}", users=users, values=values, runs=tuple(runs))
    (reports / "tiny" / f"sweep-{series}.json").write_text(json_text(record), encoding="utf-8")
