"""Finds the runs and files that arguments name, without reading them."""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.paths import GLOB_CHARACTERS
from harness.base.project import current_project
from harness.base.s3_address import SCHEME
from harness.jtl.inputs import STANDARD_INPUT
from harness.run.kinds import RUN_NAME, full_names
from harness.run.newest_files import newest_run

_SUFFIXES = (".json", ".md")
_NAMES_SHOWN = 10
_CHOICE = re.compile(r"(.+\.md)([#:].+)")
# -1 is the newest run, and shop/-2 the one before the newest of a plan.
_NEWEST = re.compile(r"(?:(.+)/)?-(\d{1,6})")


class ChosenTable(NamedTuple):
    """A file, and the choice of one of its tables, such as #2; empty without one."""

    file: Path
    choice: str


def find_paths(names: Iterable[str], reports_dir: Path) -> list[Path]:
    """Return the paths of the named results: a run's folder, even if only its report exists, or a file.

    A name is a path of a run's folder, of its .json or .md, or of a JTL or Markdown file, also with the choice of a
    table (`split_choice`); or a run in `reports_dir`, such as killbill-stripe/run-07_1, or run-07_1 when only one plan,
    or the project's, has it; or -1 for the newest run, -2 for the one before; or a pattern. The id at the end of a name
    may be left out (`full_path`). Raise UsageError when a name matches nothing, or runs of several plans.
    """
    return [path for name in names for path in _paths_named(name, reports_dir)]


def find_run(name: str, plan: str | None, reports_dir: Path, only_one: str = "name one") -> Path:
    """Return the absolute path of the only run of a name; `only_one` is the advice for a name of several runs."""
    path, *others = find_paths(in_plan([name], plan), reports_dir)
    if others:
        raise UsageError(f"{name}: {1 + len(others)} runs", only_one)
    return path.resolve()


def as_samples(name: str, reports_dir: Path | None = None) -> list[str]:
    """Return the paths of the samples that a name means, for a reader of files; `reports_dir` is the project's.

    An existing file, a pattern of some, standard input and an S3 object stay as they are. Any other name is that of a
    run, or a pattern of runs, as for `find_paths`: its folder is returned. What is neither stays as it is, too, unless
    it looks like a run; the reader says what is wrong with it. UsageError for a run without a folder.
    """
    is_file = Path(name).exists() or Path(name).is_symlink()
    if GLOB_CHARACTERS & set(name):
        is_file |= any(glob.iglob(name, recursive=True))  # noqa: PTH207 - Path.glob accepts no absolute patterns
    if is_file or name == STANDARD_INPUT or name.startswith(SCHEME):
        return [name]
    try:
        paths = find_paths([name], reports_dir or current_project().reports)  # no file needs a project
    except UsageError:
        if _NEWEST.fullmatch(name) or Path(name).name.startswith("run-"):
            raise
        return [name]
    if gone := next((path for path in paths if not path.exists()), None):
        what = f"{gone.parent.name}/{gone.name}: its samples are not on this machine"
        raise UsageError(what, "lth pull fetches samples")
    here = Path.cwd()
    return [str(path.relative_to(here) if path.is_relative_to(here) else path) for path in paths]


def in_plan(names: Iterable[str], plan: str | None) -> list[str]:
    """Return the names, with `plan/` in front of bare run names that are not existing paths."""
    return [f"{plan}/{name}" if plan and "/" not in name and not is_there(Path(name)) else name for name in names]


def split_choice(path: Path) -> ChosenTable:
    """Return a Markdown file and the choice of a table in its name: old.md#2, old.md:72 or old.md#Reference run.

    The choice begins with # or : then. It is empty for other names, and for a file that has such a name.
    """
    match = _CHOICE.fullmatch(path.name)
    if not match or path.exists():
        return ChosenTable(path, "")
    return ChosenTable(path.with_name(match[1]), match[2])


def is_there(path: Path) -> bool:
    """Return whether a path is a file, a folder, or a run of which only the JSON or the report exists."""
    is_beside = any(path.with_name(path.name + suffix).is_file() for suffix in _SUFFIXES if path.name)
    return is_beside or split_choice(path).file.exists()


def full_path(path: Path) -> Path:
    """Return the path of a run or a report whose name lacks its id: run-07_1-4f2a for run-07_1, also with a suffix.

    Other paths are returned unchanged. UsageError when several runs or reports in the folder have the name.
    """
    if is_there(path):
        return path
    file, choice = split_choice(path)
    suffix = file.suffix if file.suffix in _SUFFIXES else ""
    with contextlib.suppress(OSError):  # no such folder
        matches = full_names(
            file.name.removesuffix(suffix),
            (one.stem if one.suffix in _SUFFIXES else one.name for one in file.parent.iterdir()),
        )
        if len(matches) > 1:
            raise ambiguous(file.name, [file.with_name(one) for one in matches])
        return file.with_name(matches[0] + suffix + choice) if matches else path
    return path


def ambiguous(name: str, paths: Sequence[Path]) -> UsageError:
    """Return the error for a name that several runs or reports have."""
    plans = {path.parent.name for path in paths}
    several = f"{len(plans)} plans have it" if len(plans) > 1 else f"{len(paths)} of {plans.pop()} have this short name"
    ids = (f"{path.parent.name}/{path.name}" for path in paths)
    return UsageError(f"{name}: {several}", f"choose one: {', '.join(ids)}")


def is_run(path: Path) -> bool:
    """Return whether a path is the folder of a run, by its name or its content."""
    return bool(RUN_NAME.fullmatch(path.name)) or (path / "run.json").is_file()


def refuse_stored(name: str) -> None:
    """Raise UsageError for a run in S3: only `table` reads from S3."""
    if name.startswith(SCHEME):
        url = name.partition("/runs/")[0]
        raise UsageError(f"{name}: is in S3", f"pull it first: lth pull {url}")


def _paths_named(name: str, reports_dir: Path) -> list[Path]:
    refuse_stored(name)
    path = full_path(Path(name))
    if is_there(path):
        return [_run_or_file(path)]
    if newest := _NEWEST.fullmatch(name):
        return [newest_run(reports_dir, int(newest[2]), newest[1] or "", current_project().plan)]
    # make and reports print paths relative to the reports folder or to its parent.
    bases = [reports_dir, reports_dir.parent]
    if GLOB_CHARACTERS & set(name):
        matches = _matches(Path(), name) or next((found for base in bases if (found := _matches(base, name))), [])
        return matches or _of_one_plan(_matches(reports_dir, f"*/{name}"), name, reports_dir)
    for base in bases:
        if is_there(path := full_path(base / name)):
            return [_run_or_file(path)]
    plans = sorted(path for path in reports_dir.glob("*") if path.is_dir())
    paths = (full_path(plan / name) for plan in plans)
    return _of_one_plan([_run_or_file(path) for path in paths if is_there(path)], name, reports_dir)


def _run_or_file(path: Path) -> Path:
    """Return the folder of the run that a path belongs to; otherwise the path itself."""
    folder = path.with_suffix("") if path.suffix in _SUFFIXES else path
    return folder if RUN_NAME.fullmatch(folder.name) or (path.is_dir() and (path / "run.json").is_file()) else path


def _matches(base: Path, pattern: str) -> list[Path]:
    """Return the matches of a pattern in a folder: files and runs, each run once, sorted by number."""
    if Path(pattern).is_absolute():
        base, pattern = Path(Path(pattern).anchor), str(Path(pattern).relative_to(Path(pattern).anchor))
    patterns = [pattern, *(pattern + suffix for suffix in _SUFFIXES)]  # runs from git have reports but no folder
    try:
        paths = [path for one in patterns for path in base.glob(one) if not path.name.startswith(".")]
    except ValueError as error:
        raise UsageError(f"{pattern}: not a pattern ({error})", "give one such as run-07_*") from None
    found = {_run_or_file(path) for path in paths}
    return sorted((path for path in found if is_run(path) or path.is_file()), key=_order)


def _of_one_plan(paths: Sequence[Path], name: str, reports_dir: Path) -> list[Path]:
    plans = sorted({path.parent.name for path in paths})
    if not plans:
        raise _unknown(name, reports_dir)
    if len(plans) > 1 and (own := current_project().plan) in plans:
        return [path for path in paths if path.parent.name == own]
    if len(plans) > 1:
        raise UsageError(
            f"{name}: {len(plans)} plans have it",
            f"choose one: {', '.join(f'{p}/{name}' for p in plans)}, or pass --plan",
        )
    return list(paths)


def _unknown(name: str, reports_dir: Path) -> UsageError:
    runs = sorted({_run_or_file(path) for path in reports_dir.glob("*/run-*")}, key=_order)
    ids = [f"{path.parent.name}/{path.name}" for path in runs if is_run(path)]
    names = ids if "/" in name else [path.name for path in runs]
    dots = "…, " if len(ids) > _NAMES_SHOWN else ""
    known = f"there are: {dots}{', '.join(ids[-_NAMES_SHOWN:])}" if ids else "there are no runs yet"
    return UsageError(f"{name}: neither a file nor a run in {reports_dir.name}/", f"{did_you_mean(name, names)}{known}")


def _order(path: Path) -> tuple[str, int, int, str]:
    match = RUN_NAME.fullmatch(path.name)
    return path.parent.name, int(match[1]) if match else 0, int(match[2]) if match else 0, path.name
