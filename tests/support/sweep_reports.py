"""Sweeps of the plan `tiny` that are saved in a folder of reports, and their reports."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness.cli.verbs import main
from harness.judge.summarise import summarise
from harness.plan.goal import Goal
from harness.run.directory import json_text
from harness.sweep.analysis import analyse
from harness.sweep.charts import sweep_charts
from harness.sweep.levels import Sweep
from harness.sweep.record import SweepRecord
from harness.sweep.sources import write_sweep_report
from tests.support.factories import closed_load, failed, record, sample, tally_of
from tests.support.sweeps import SWEEP_RECORD, levels

SVG = "{http://www.w3.org/2000/svg}"
# The line before the table of all columns in a report.
LEVELS = "<details><summary>Levels, all columns</summary>"


GOAL = Goal(p90_ms=1000, error_ratio=0.01)


def save_run(folder: Path, name: str, users: int, elapsed_ms: int, is_broken: bool = False, **changes: Any) -> None:
    """Write the JSON of a run of 40 samples, so many at once as there are users, and its report."""
    make = failed if is_broken else sample
    samples = [
        make(
            elapsed_ms=elapsed_ms,
            start_ms=1_000_000 + iteration * elapsed_ms,
            all_threads=users,
            thread_name=f"U 1-{user}",
        )
        for iteration in range(40 // users)
        for user in range(users)
    ]
    run = record(name=name, load=closed_load(users), goal=GOAL, **changes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json_text(summarise(tally_of(samples), run.id, run)))
    (folder / f"{name}.md").write_text("# a run\n")


def save_record(reports: Path, sweep: SweepRecord) -> Path:
    path = reports / sweep.plan / f"{sweep.name}.json"
    path.write_text(json_text(sweep))
    return path


def written(reports: Path, sweep: SweepRecord = SWEEP_RECORD) -> str:
    write_sweep_report(save_record(reports, sweep))
    return (reports / "tiny" / "sweep-07.md").read_text()


def run(capsys, *arguments):
    code = main(["sweep", *arguments], "aggregate.py")
    return code, capsys.readouterr().out


def charts_of(rates, **changes):
    sweep = Sweep("x", levels(rates))
    goal = changes.pop("goal", None)
    return {chart.name: ElementTree.fromstring(chart.svg) for chart in sweep_charts(sweep, analyse(sweep.levels, goal))}


def texts_of(chart):
    return ["".join(element.itertext()) for element in chart.iter(f"{SVG}text")]
