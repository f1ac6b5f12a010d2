"""Finds the newest runs by the start in their files, of which nothing else is read: 2,000 runs take 0.2 s."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

from harness.base.errors import UsageError
from harness.run.kinds import RUN_NAME

_SUFFIXES = (".json", ".md")
_STARTED = re.compile(rb'"started_at": "([^"]*)"')
# run.json and the JSON of a report begin with the facts of the run.
_HEAD_BYTES = 65_536


def newest_runs(reports_dir: Path, plan: str | None = None) -> list[Path]:
    """Return the folders of the runs of a plan, or of all plans, newest first; a folder may be absent, as from git."""
    folders = {_run_of(path) for path in reports_dir.glob(f"{plan or '*'}/run-*")}
    runs = (path for path in folders if RUN_NAME.fullmatch(path.name) and _is_run(path))
    return sorted(runs, key=_order, reverse=True)


def newest_run(reports_dir: Path, number: int, plan: str, own: str) -> Path:
    """Return the newest run for 1, the one before for 2, …: those of `plan`.

    Without a plan they are those of the project's `own` if it has runs, else of the plan of the newest run. UsageError
    when there are not so many.
    """
    every = newest_runs(reports_dir)
    plans = {run.parent.name for run in every}
    plan = plan or (own if own in plans else next((run.parent.name for run in every), ""))
    runs = [run for run in every if run.parent.name == plan]
    if not 1 <= number <= len(runs):
        has = f"{plan} has {len(runs) or 'no'} run{'s' * (len(runs) != 1)}" if plan else "there are no runs yet"
        raise UsageError(
            f"-{number}: {has}",
            "lth run makes another" if len(runs) == 1 else "lth list lists all" if every else "lth run makes one",
        )
    return runs[number - 1]


def _run_of(path: Path) -> Path:
    return path.with_suffix("") if path.suffix in _SUFFIXES else path


def _is_run(path: Path) -> bool:
    return (path / "run.json").is_file() or any(path.with_name(path.name + suffix).is_file() for suffix in _SUFFIXES)


def _order(path: Path) -> tuple[bytes, int, int, str]:
    match = RUN_NAME.fullmatch(path.name)
    assert match
    return _started(path), int(match[1]), int(match[2]), path.as_posix()


def _started(path: Path) -> bytes:
    """Return the start in a run's files as they spell it; empty when unknown, as in a report in Markdown."""
    for file in (path / "run.json", path.with_name(f"{path.name}.json")):
        with contextlib.suppress(OSError), file.open("rb") as stream:
            if match := _STARTED.search(stream.read(_HEAD_BYTES)):
                return match[1]
    return b""
