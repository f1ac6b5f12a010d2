"""Write docs/real-plans.md: what `make init` makes of the test plans of a folder, from measured results only.

usage: .venv/bin/python -m bench.real_plans FOLDER [CHECKS.jsonl] > docs/real-plans.md

FOLDER contains the JMX files; nothing of it is stored in the project. CHECKS.jsonl has one JSON object per run of a
fixed plan: plan (path in FOLDER), kind ("pass": one user, one pass; "load": 2 users, 30 s), samples, failed, state
("refused", or that of the verdict).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.groups import needs_tables
from harness.plan.lint import lint
from harness.plan.plan import load_plan
from harness.report.verdict import DOUBTFUL, VALID

_HEAD = """\
# Real test plans

`make init FIX=1` was run on test plans of public repositories, in their newest versions as far as they were at hand.
None of them is part of this project. The first two parts of a path are the repository.

"Findings" are those of the lint, before and after the fixes; "left" is what no fix maps. "One pass" is one user who
runs a fixed plan once, for at most a minute, against a server on 127.0.0.1 that answers as the plan expects: samples,
and how many of them failed. "Load" is 2 users for 30 s. An empty cell was not run. INTERRUPTED is a plan that had not
ended after a minute; "refused" is one that `make run` does not start. The last run of a plan counts; some runs are of
fixed plans that a little older version wrote. Failed samples were not looked into: the server may have caused them.
`bench/real_plans.py` writes this page.

{summary}

| plan | load groups | findings before | after | left | one pass | load |
| --- | --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Row:
    """A plan: its load groups, lint findings before and after the fixes, and what is left; `error` instead of them."""

    plan: str
    groups: int = 0
    before: int = 0
    after: int = 0
    left: int = 0
    error: str = ""


def measure(folder: Path, work: Path) -> list[Row]:
    """Return a row for each JMX below `folder`; fixed plans are written to `work`."""
    rows = []
    for number, jmx in enumerate(sorted(folder.rglob("*.jmx"))):
        plan, name = str(jmx.relative_to(folder)), f"plan-{number}"
        try:
            before = len(lint(jmx))
            adoption = adopt(jmx, name, work)
            write_adopted(work, name, adoption, jmx.name)
            sizes = adoption.found.sizes
            after = len(lint(work / f"{name}.jmx", has_loads=needs_tables(sizes)))
            load_plan(work, name)
            rows.append(Row(plan, len(sizes), before, after, len(adoption.left)))
        except UsageError as error:
            rows.append(Row(plan, error=error.what.partition(": ")[2]))
    return rows


def page(rows: list[Row], runs: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    """Return the page with one line per plan, and counts above the table."""
    read = [row for row in rows if not row.error]
    clean = sum(not row.after for row in read)
    lines = [
        f"- plans: {len(rows)}; well-formed test plans: {len(read)}",
        f"- without findings before: {_clean(read)}; after the fixes: {clean}",
    ]
    for kind, what in (("pass", "one pass"), ("load", "30 s of load")):
        done = [run for (_, run_kind), run in runs.items() if run_kind == kind]
        ended = [run for run in done if run["state"] in (VALID, DOUBTFUL)]
        good = sum(bool(run["samples"]) and not run["failed"] for run in ended)
        lines.append(
            f"- {what}: {len(done)} plans tried, {len(ended)} VALID or DOUBTFUL, {good} without a failed sample"
        )
    table = "\n".join(_line(row, runs) for row in rows)
    return _HEAD.format(summary="\n".join(lines)) + table + "\n"


def _clean(rows: list[Row]) -> int:
    return sum(not row.before for row in rows)


def _line(row: Row, runs: Mapping[tuple[str, str], Mapping[str, Any]]) -> str:
    if row.error:
        return f"| {row.plan} | {row.error.replace('|', '/')} | | | | | |"
    cells = [_run(runs.get((row.plan, kind))) for kind in ("pass", "load")]
    return f"| {row.plan} | {row.groups} | {row.before} | {row.after} | {row.left} | {cells[0]} | {cells[1]} |"


def _run(run: Mapping[str, Any] | None) -> str:
    if run is None:
        return ""
    if run["state"] in (VALID, DOUBTFUL):
        return f"{run['samples']}, {run['failed']} failed"
    return run["state"] if not run["samples"] else f"{run['samples']}, {run['failed']} failed, {run['state']}"


def main(arguments: list[str]) -> None:
    """Print the page."""
    folder = Path(arguments[0])
    lines = Path(arguments[1]).read_text(encoding="utf-8").splitlines() if len(arguments) > 1 else []
    runs = {(run["plan"], run["kind"]): run for run in map(json.loads, lines)}
    with tempfile.TemporaryDirectory() as work:
        print(page(measure(folder, Path(work)), runs), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
