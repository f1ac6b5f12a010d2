"""The files of a designed experiment: unique names, atomic writes of its record, one harness at a time."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from harness.ab.equal_runs import first_guess_s
from harness.ab.files import SeriesFiles
from harness.ab.files import locked as folder_locked
from harness.base.errors import UsageError
from harness.run import kinds
from harness.run.directory import json_text, load_record, reserve_folder, write_whole
from harness.run.recorded import find_recorded, recorded_in
from harness.tune.export import to_json
from harness.tune.outcome import Outcome
from harness.tune.record import TuneRecord


class TuneFiles(SeriesFiles):
    """The files of one experiment: `folder` is reports/tune/<plan>/tune-<n>, with charts and the output of its runs."""

    def log(self, index: int) -> Path:
        """Return the file of a run's output; `index` counts from 0."""
        return self.folder / f"{index + 1:02d}.log"

    def read(self) -> TuneRecord:
        """Return the record; UsageError when it is invalid."""
        return load_record(TuneRecord, self.record)

    def store(self, outcome: Outcome) -> None:
        """Write the record with its results atomically."""
        write_whole(self.record, json_text(to_json(outcome)))


def reserve_tune(reports: Path, plan: str) -> TuneFiles:
    """Return the files of a new experiment; creating its folder reserves the name."""

    def next_name() -> str:
        numbered = kinds.EXPERIMENT.numbered
        found = (numbered.fullmatch(path.stem) for path in (reports / plan).glob(kinds.EXPERIMENT.named("*")))
        return kinds.EXPERIMENT.named(f"{1 + max((int(match[1]) for match in found if match), default=0):02d}")

    return TuneFiles(reserve_folder(reports / plan, next_name, "delete or move old experiments"))


def last_tune(reports: Path, plan: str) -> TuneFiles:
    """Return the plan's last experiment; UsageError when there is none."""
    found = recorded_in(reports / plan, kinds.EXPERIMENT.numbered)
    if not found:
        raise UsageError(f"--resume: there is no experiment of {plan} yet", "leave it out")
    return TuneFiles(found[-1])


def tune_guess_s(reports: Path, plan: str, unknown_s: float) -> float:
    """Return the seconds that a run takes beside its load, from the plan's earlier experiments, else `unknown_s`."""
    return first_guess_s(
        [TuneFiles(path) for path in recorded_in(reports / plan, kinds.EXPERIMENT.numbered)], unknown_s
    )


def find_tune(reports: Path, name: str) -> TuneFiles:
    """Return the files of an experiment by its name, such as thruzero/tune-01, or by a path of one of its files."""
    return TuneFiles(find_recorded(reports, name, kinds.EXPERIMENT))


def locked(reports: Path) -> AbstractContextManager[None]:
    """Lock a folder of experiments; UsageError when another harness uses it."""
    return folder_locked(reports, "an experiment")
