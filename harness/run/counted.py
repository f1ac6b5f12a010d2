"""Counts the samples of a run: the first step of its report, with few imports, so that it begins early."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.units import MS_PER_S
from harness.jtl.inputs import Input
from harness.metrics.files import read_tally
from harness.metrics.tally import SampleTally, Scope
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord


@dataclass(frozen=True)
class CountedRun:
    """The record of a run, its JTLs (the name of the writer of each, and the file), and the counts of their samples."""

    run: RunRecord
    jtls: tuple[tuple[str, Path], ...]
    scope: Scope
    tally: SampleTally

    @property
    def inputs(self) -> list[Input]:
        """The JTLs as inputs of a reader."""
        return _inputs(self.run, self.jtls)


def count_run(directory: RunDirectory) -> CountedRun | None:
    """Return the counts of a run; None without run.json, and when only its JSON remains of its samples."""
    run = directory.read_run()
    if run is None or (not directory.samples.is_file() and directory.summary_json.is_file()):
        return None
    jtls = jtls_of(directory, run)
    groups = tuple(load.thread_names for load in run.load.loads or ())
    scope = Scope(
        run.once_labels, thread_groups=groups, then_window=True, closes_ms=closes_ms(run), cut_labels=run.cut_labels
    )
    has_parts = any(one.machine for one in run.generators)  # whether one has the rows of another, their launcher knows
    inputs = _inputs(run, jtls)
    return CountedRun(run, jtls, scope, read_tally(inputs, scope, may_be_alike=has_parts or len(inputs) == 1))


def closes_ms(run: RunRecord) -> int | None:
    """Return when JMeter began to close the requests of open loads (ms since 1970); None where it closed none."""
    closing = [group for group in run.groups if group.closed and any(group.arrivals or ())]
    # The last arrivals come within the last second of the load.
    lasts = [max(at for at, made in enumerate(group.arrivals or ()) if made) for group in closing]
    ends_s = [group.from_s + group.step_s * last for group, last in zip(closing, lasts, strict=True)]
    return min(ends_s) * MS_PER_S if ends_s else None


def jtls_of(directory: RunDirectory, run: RunRecord) -> tuple[tuple[str, Path], ...]:
    """Return the run's JTLs that have samples, each with the name of its writer: the generators of a merged run."""
    names = [generator.name for generator in run.generators] if run.is_merged else [run.id]
    files = directory.all_samples
    if files and len(files) < len(names):
        what = f"{directory.path}: the samples of only {len(files)} of {len(names)} generators exist"
        raise UsageError(what, "merge their runs again, or pull the run with all its files")
    # A JMeter that cannot start leaves an empty file.
    return tuple((name, path) for name, path in zip(names, files, strict=False) if path.stat().st_size)


def _inputs(run: RunRecord, jtls: tuple[tuple[str, Path], ...]) -> list[Input]:
    return [Input(run.id if name == run.id else f"{run.id} {name}", path) for name, path in jtls]
