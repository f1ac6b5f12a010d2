"""Print what `make init` makes of the test plans of a folder, from measured results only.

usage: .venv/bin/python -m bench.plans.real_plans FOLDER [RESULTS.jsonl] > PAGE.md

docs/real-plans.md sums it up. FOLDER contains the JMX files; nothing of it is stored in the project. RESULTS.jsonl is
what bench.plans.real_runs writes: one JSON object per run of a fixed plan. The last run of a plan and a kind counts.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bench.plans.real_runs import LOAD, PASS, PASSED, Result
from harness.base.errors import UsageError
from harness.judge.verdict import DOUBTFUL, VALID
from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.files import write_adopted
from harness.plan.adopt.groups import needs_tables
from harness.plan.checks.lint import lint
from harness.plan.plan import load_plan

_HEAD = """\
# Real test plans

`make init FIX=1` was run on test plans of public repositories, in the newest versions that were available.
None of them is part of this project. The first two parts of a path are the repository.

"Findings" are those of the lint, before and after the fixes; "left" are those without a fix. "Check" is `make check`
of the fixed plan: one user, one pass. "Load" is `make run` with 2 users, or one per load of a plan with several, for
30 s. A cell has the number of samples; then the number of failed ones, if any, and the verdict unless the run is VALID
or DOUBTFUL. An empty cell was not run. The last run of a plan counts; some runs are of fixed plans that a slightly
older version of the harness wrote. A check was stopped after four to five minutes (INTERRUPTED).

`make check` shortens pauses: there is no think time, and the pauses of Flow Control Actions last a second at most. Some
plans wait for minutes until the system has finished a job. The stand-in has always finished it; a real system may not.

The server is a stand-in on 127.0.0.1 (`bench/plans/plan_server.py`) that gives plausible answers to all requests: it
reads in the plan what extractors, assertions, loops and scripts expect of a response. It shows that the harness runs a
plan, not that the plan suits its system. Data files that a repository lacks have the sample values of `make init`. Some
repositories have files and properties with placeholders such as `[tenant]`; where these made an address invalid, the
file was removed and the property got a value. A plan that takes addresses from responses got the stand-in's as `hosts`.
All runs shared two cores with other programs, several at once, so many loads are DOUBTFUL and some INVALID for that
reason.
`bench/plans/real_runs.py` ran the plans, and `bench/plans/real_plans.py` wrote this page.

{summary}

| plan | load groups | findings before | after | left | check | load |
| --- | --- | --- | --- | --- | --- | --- |
{table}

## Runs that did not pass

The reason is the first failed sample, or the message of the harness.

| plan | run | reason |
| --- | --- | --- |
{reasons}
"""
_GOOD = (PASSED, VALID, DOUBTFUL)
_NAMES = {PASS: "`make check`", LOAD: "30 s of load"}


@dataclass(frozen=True)
class Row:
    """A plan: its load groups, lint findings before and after the fixes, and what is left; `error` instead of them."""

    plan: str
    groups: int = 0
    before: int = 0
    after: int = 0
    left: int = 0
    error: str = ""

    @property
    def repository(self) -> str:
        """Return the first two parts of the path."""
        return "/".join(self.plan.split("/")[:2])


class RunKey(NamedTuple):
    """The plan of a run, and its kind: PASS or LOAD."""

    plan: str
    kind: str


def measure(folder: Path, work: Path) -> list[Row]:
    """Return a row for each JMX below `folder`; fixed plans are written to `work`."""
    rows = []
    for number, jmx in enumerate(sorted(folder.rglob("*.jmx"))):
        plan, name = str(jmx.relative_to(folder)), f"plan-{number}"
        try:
            before = len(lint(jmx))
            adoption = adopt(jmx, name, work)
            write_adopted(work, name, adoption, jmx.name)
            sizes = adoption.contents.sizes
            after = len(lint(work / f"{name}.jmx", has_loads=needs_tables(sizes)))
            load_plan(work, name)
            rows.append(Row(plan, len(sizes), before, after, len(adoption.left)))
        except UsageError as error:
            rows.append(Row(plan, error=error.what.partition(": ")[2]))
    return rows


def page(rows: list[Row], runs: Mapping[RunKey, Result]) -> str:
    """Return the page with counts of each repository with many plans, one line per plan, and the reasons."""
    repositories = sorted({row.repository for row in rows})
    summary = list(_counts("all", rows, runs))
    for repository in repositories:
        of_it = [row for row in rows if row.repository == repository]
        if len(of_it) > len(rows) / 2 and len(repositories) > 1:
            summary += _counts(repository, of_it, runs)
    table = [_line(row, runs) for row in rows]
    reasons = [
        f"| {run.plan} | {_NAMES[run.kind]} | {_reason(run)} |"
        for run in sorted(runs.values(), key=lambda run: (run.plan, run.kind))
        if not is_good(run)
    ]
    return _HEAD.format(summary="\n".join(summary), table="\n".join(table), reasons="\n".join(reasons))


def is_good(run: Result) -> bool:
    """Return whether a run ended as it should, with samples, and none of them failed."""
    return run.state in _GOOD and run.samples > 0 and not run.failed


def _counts(name: str, rows: list[Row], runs: Mapping[RunKey, Result]) -> Iterable[str]:
    """Yield what became of the plans, in a list."""
    read = [row for row in rows if not row.error]
    yield f"- {name}: {len(rows)} plans, {len(read)} of them well-formed"
    clean_before, clean_after = sum(not row.before for row in read), sum(not row.after for row in read)
    yield f"  - without findings: {clean_before} before, {clean_after} after the fixes"
    for kind, title in _NAMES.items():
        done = [run for row in read if (run := runs.get(RunKey(row.plan, kind)))]
        ended = sum(run.state in _GOOD for run in done)
        good = sum(is_good(run) for run in done)
        reported = f"{ended} VALID or DOUBTFUL, " if kind == LOAD else ""
        yield f"  - {title}: {len(done)} plans tried, {reported}{good} without a failed sample"


def _line(row: Row, runs: Mapping[RunKey, Result]) -> str:
    if row.error:
        return f"| {row.plan} | {_cell(row.error)} | | | | | |"
    checked, loaded = (_run(runs.get(RunKey(row.plan, kind))) for kind in (PASS, LOAD))
    return f"| {row.plan} | {row.groups} | {row.before} | {row.after} | {row.left} | {checked} | {loaded} |"


def _run(run: Result | None) -> str:
    if run is None:
        return ""
    parts = [str(run.samples)] if run.samples else []
    parts += [f"{run.failed} failed"] if run.failed else []
    return ", ".join(parts if run.state in (*_GOOD, "FAILED") and parts else [*parts, run.state])


def _reason(run: Result) -> str:
    if run.kind == LOAD and run.state in _GOOD:
        return f"{run.failed} of {run.samples} samples failed"
    return _cell(run.why) or run.state


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("\n", " ")


def main(arguments: list[str]) -> None:
    """Print the page."""
    folder = Path(arguments[0])
    lines = Path(arguments[1]).read_text(encoding="utf-8").splitlines() if len(arguments) > 1 else []
    runs = {RunKey(run.plan, run.kind): run for run in (Result(**json.loads(line)) for line in lines)}
    with tempfile.TemporaryDirectory() as work:
        print(page(measure(folder, Path(work)), runs), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
