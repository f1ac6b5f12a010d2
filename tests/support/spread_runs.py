"""Runs whose response times are spread evenly, for comparisons."""

from __future__ import annotations

from pathlib import Path

from harness.report.files import summary_of_run
from harness.run.directory import json_text
from tests.support.report_folder import START_MS, run_folder

# Without allThreads nobody can tell that so few samples are not those of busy users, which would be a doubt.
_HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,sentBytes"


def make_run(
    reports: Path,
    run: str,
    least_ms: int = 50,
    *,
    label: str = "Pay",
    is_success: bool = True,
    users: int = 2,
    is_doubtful: bool = False,
) -> None:
    """Write the JSON of a run of 100 s: 15 samples a second, from `least_ms` to 100 ms more in equal shares."""
    directory = run_folder(reports, run, users=users)
    outcome = "200,OK,Users 1-1,true" if is_success else "500,no,Users 1-1,false"
    threads = f",{users}" if is_doubtful else ""
    rows = [
        f"{START_MS + 100_000 * place // 1500},{least_ms + place * 37 % 101},{label},{outcome},300,100{threads}"
        for place in range(1500)
    ]
    directory.samples.write_text("\n".join([_HEAD + ",allThreads" * is_doubtful, *rows, ""]), encoding="utf-8")
    directory.summary_json.write_text(json_text(summary_of_run(directory).to_json()), encoding="utf-8")
    directory.report.write_text("# a report\n", encoding="utf-8")
