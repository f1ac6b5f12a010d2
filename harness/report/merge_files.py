"""Merges the samples and the telemetry of independent load generators into one run directory, and writes its report."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from harness.base.errors import UsageError
from harness.jtl.inputs import Input, opened
from harness.jtl.sample import samples_name
from harness.judge.summary import RunSummary
from harness.metrics.generators import short_names
from harness.metrics.window import STEADY_WINDOW
from harness.plan.goal import Goal
from harness.report.files import stored_exchanges, write_report, write_summary
from harness.report.jtls import Counting, summary_of_jtls
from harness.report.merge import MergedPart, check_parts, merged_record
from harness.run.directory import RunDirectory, reserve
from harness.run.jmeter.exchanges import joined_exchanges
from harness.run.kinds import RUN_NAME, short_name
from harness.run.names import find_paths
from harness.run.record import RunRecord
from harness.run.telemetry.table import COLUMNS, FILE_NAME, rows_at

_COPY_BYTES = 1024 * 1024
_PACKED = ("", ".zst", ".gz")
_Named = tuple[str, Path]  # the name of a generator, and its run or JTL


class MergedRun(NamedTuple):
    """The directory and the summary of a merged run."""

    directory: RunDirectory
    summary: RunSummary


def merge(given: Sequence[str], reports: Path, into: Path | None, goal: Goal | None = None) -> MergedRun:
    """Merge several runs into one, or make a run of one file with samples; write its report and return it.

    Each of `given` is a run's folder or a JTL, as path or as name=path. `into` is the folder of the new run; without it
    the next free name in `reports` is used. `goal` is that of JTLs; runs have their own. UsageError when they cannot be
    one run; then nothing is written.
    """
    named = _named(given, reports)
    if len(named) < 2 and (into is None or named[0][1].is_dir()):
        raise UsageError("--merge needs at least two runs", "name several runs, each of one generator")
    are_runs = {path.is_dir() for _, path in named}
    if len(are_runs) > 1:
        raise UsageError("run folders and JTL files cannot be merged together", "name only folders, or only JTLs")
    return _merged_runs(named, given, reports, into) if are_runs == {True} else _merged_jtls(named, into, goal)


def _named(given: Sequence[str], reports: Path) -> list[_Named]:
    """Return name and path of each part; the default name is the part of the path that differs."""
    pairs: list[_Named] = []
    for text in given:
        name, equals, path = text.partition("=")
        has_name = bool(equals) and bool(name) and "/" not in name and not Path(text).exists()
        wanted = Path(path if has_name else text)
        part_path, *others = find_paths([path if has_name else text], reports)
        if others:
            raise UsageError(f"{wanted}: {1 + len(others)} runs", "name each of them")
        pairs.append((name if has_name else "", part_path))
    paths = [Path(os.path.normpath(path)) for _, path in pairs]
    bare = {path.with_name(short_name(path.name)): None for path in paths}
    short = short_names([str(path) for path in (bare if len(bare) == len(paths) else paths)])
    return [(name or other, path) for (name, path), other in zip(pairs, short, strict=True)]


def _merged_runs(named: Sequence[_Named], given: Sequence[str], reports: Path, into: Path | None) -> MergedRun:
    parts = [MergedPart(name, _record(path)) for name, path in named]
    samples = [_samples(path) for _, path in named]
    check_parts(parts)
    with _new_directory(reports, parts[0].run.plan, into) as directory:
        _put_samples(samples, directory)
        _put_telemetry(named, directory)
        _put_failures(named, directory)
        arguments = [text if not Path(text).is_absolute() else "/".join(Path(text).parts[-2:]) for text in given]
        command = f"lth report --merge {' '.join(arguments)}"
        run_id = f"{directory.name}-{uuid4().hex[:8]}"
        directory.write_run(merged_record(parts, directory.name, command, run_id))
        return MergedRun(directory, write_report(directory))


def _merged_jtls(named: Sequence[_Named], into: Path | None, goal: Goal | None) -> MergedRun:
    if into is None:
        raise UsageError("JTL files have no plan", "name the new run: --into reports/<plan>/run-01_1")
    if len({name for name, _ in named}) < len(named):
        raise UsageError("two generators have the same name", "name them: gen1=a.jtl gen2=b.jtl")
    with _new_directory(into.parent, "", into) as directory:
        _put_samples([path for _, path in named], directory)
        inputs = [Input(name, path) for (name, _), path in zip(named, directory.all_samples, strict=True)]
        summary = summary_of_jtls(inputs, Counting(window=STEADY_WINDOW, goal=goal))
        summary = replace(summary, source=f"{directory.plan}/{directory.name}")
        return MergedRun(directory, write_summary(directory, summary))


def _record(path: Path) -> RunRecord:
    if run := RunDirectory(path).read_run():
        return run
    raise UsageError(f"{path}: not a run: there is no run.json", "name the folder of a run, or its JTL")


def _samples(path: Path) -> Path:
    samples = RunDirectory(path).samples
    for packed in _PACKED:
        packed_path = samples.with_name(samples.name + packed)
        if packed_path.is_file():
            return packed_path
    raise UsageError(f"{path}: its {samples.name} is missing", "merge where the samples are")


@contextmanager
def _new_directory(reports: Path, plan: str, into: Path | None) -> Iterator[RunDirectory]:
    """Yield the directory of a new run; on an error or an interrupt it is removed."""
    if into is None:
        directory = reserve(reports, plan, None)
    else:
        directory = RunDirectory(into.resolve())
        if not RUN_NAME.fullmatch(directory.name):
            raise UsageError(f"--into {into}: not the name of a run", "end it with run-<series>_<number>: run-01_1")
        if directory.is_there:
            raise UsageError(f"--into {into}: this run already exists", "give another number")
        try:
            directory.path.mkdir(parents=True)
        except OSError as error:
            raise UsageError(f"--into {into}: {error.strerror}", "name a new folder that you can write") from None
    try:
        yield directory
    except BaseException:  # after any error no partial run remains
        for path in (directory.summary_json, directory.report):
            path.unlink(missing_ok=True)
        directory.discard()
        raise


def _put_samples(samples: Sequence[Path], directory: RunDirectory) -> None:
    """Add the JTLs to the run: as hard links on the same disk, so that no gigabytes are copied."""
    for number, source in enumerate(samples, start=1):
        target = directory.path / samples_name(number)
        with opened(Input(str(source), source)) as file:
            if file.is_plain:
                with contextlib.suppress(OSError):  # another disk, or one without hard links
                    os.link(source.resolve(), target)
                    continue
            with target.open("wb") as copy:
                shutil.copyfileobj(file.stream, copy, _COPY_BYTES)
        if file.truncated:  # what is missing shows in the packed file only
            shutil.copyfile(source, target)


def _put_failures(named: Sequence[_Named], directory: RunDirectory) -> None:
    """Write the first failed requests of each cause of all generators together; their threads are named with them."""
    if text := joined_exchanges((name, stored_exchanges(RunDirectory(path))) for name, path in named):
        directory.failures.write_text(text, encoding="utf-8")


def _put_telemetry(named: Sequence[_Named], directory: RunDirectory) -> None:
    """Write the telemetry of all generators' machines, each process named with its generator."""
    with (directory.path / FILE_NAME).open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        stored = ((name, path / FILE_NAME) for name, path in named)
        for name, telemetry in ((name, path) for name, path in stored if path.is_file()):
            with telemetry.open(encoding="utf-8", errors="replace", newline="") as lines:
                writer.writerows(rows_at(lines, name))
