"""Finds sweeps by name, and writes the reports of sweeps with their charts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.errors import HarnessError, UsageError
from harness.base.regular import regular
from harness.compare.sources import read_result
from harness.experiment.files import find_experiment
from harness.experiment.record import FINISHED
from harness.plan.goal import Goal
from harness.report.charts.chart import Chart, write_charts
from harness.report.notes import notes_of
from harness.report.pages import write_page
from harness.report.results import chart_path, store_result, write_result
from harness.run import kinds
from harness.run.directory import load_record
from harness.run.names import find_paths
from harness.sweep.analysis import SweepAnalysis, analyse
from harness.sweep.answer import result_of
from harness.sweep.charts import FILE_NAME, overlay_charts, sweep_charts
from harness.sweep.export import sweeps_data
from harness.sweep.levels import LevelKey, LevelRun, Sweep, level_run, levels_of
from harness.sweep.overlay import several_sweeps_report
from harness.sweep.pairs import SweepComparison
from harness.sweep.published import parse_csv, parse_markdown
from harness.sweep.record import SWEEP, SweepRecord
from harness.sweep.render import SweepPage, printed_sweep, sweep_report
from harness.sweep.usage_charts import heap_charts, recorded_charts, usage_charts

_NUMBERED = re.compile(r"(.+)#(\d+)")
_TEXTS = (".md", ".txt")


@dataclass(frozen=True)
class FoundSweep:
    """A sweep, the path of its report (None for runs or data without a sweep), and the reports of its runs by name."""

    sweep: Sweep
    report: Path | None
    run_reports: Mapping[str, Path]


def are_sweeps(names: Sequence[str]) -> bool:
    """Return whether two names are sweeps; UsageError when a sweep is mixed with anything else."""
    is_sweep = kinds.SWEEP.numbered.fullmatch
    sweeps = [name for name in names if is_sweep(Path(name).name.removesuffix(".json").removesuffix(".md"))]
    if sweeps and (len(sweeps) != 2 or len(names) != 2):
        raise UsageError(f"compare: {sweeps[0]} is a sweep", "compare it with one other sweep, level by level")
    return bool(sweeps)


def find_sweeps(names: Sequence[str], reports_dir: Path) -> list[FoundSweep]:
    """Return the sweeps with these names, in order.

    UsageError for a name without levels, and for several sweeps that are not over the same setting, or over users.

    A name is one of:

    - a sweep, such as killbill-stripe/sweep-07, its .json or .md, or sweep-07 when only one plan has it
    - a run or a pattern of runs; the users of the runs are the levels
    - a CSV of levels
    - a Markdown file with a table of levels; FILE#2 is its second table

    TITLE=NAME gives the sweep a title.
    """
    named_sweeps: list[FoundSweep] = []
    for text in names:
        title, _, name = text.partition("=")
        title = title.strip()
        if not title or not name or any((base / text).exists() for base in (Path(), reports_dir)):
            named_sweeps += _sweeps_named(text, reports_dir)
            continue
        sweeps = _sweeps_named(name, reports_dir)
        for one in sweeps:
            own = f"{title} {one.sweep.name}" if len(sweeps) > 1 else title
            named_sweeps.append(replace(one, sweep=replace(one.sweep, name=own)))
    different = next((one.sweep for one in named_sweeps if one.sweep.setting != named_sweeps[0].sweep.setting), None)
    if different:
        overs = [f"{one.name} is a sweep over {one.setting or 'users'}" for one in (named_sweeps[0].sweep, different)]
        raise UsageError(", ".join(overs), "give sweeps over the same, or one alone")
    return named_sweeps


def _sweeps_named(name: str, reports_dir: Path) -> list[FoundSweep]:
    numbered = _NUMBERED.fullmatch(name)
    path = Path(numbered[1] if numbered else name)
    path = path if path.is_file() or not (reports_dir / path).is_file() else reports_dir / path
    if path.suffix in _TEXTS and path.is_file() and (numbered or not path.with_suffix(".json").is_file()):
        sweeps = parse_markdown(_text(path), path.name, int(numbered[2]) if numbered else None)
        return [FoundSweep(_short(sweep), None, {}) for sweep in sweeps]
    if path.suffix == ".csv" and path.is_file() and _has_users(text := _text(path)):
        return [FoundSweep(_short(sweep), None, {}) for sweep in parse_csv(text, path.name)]
    if kinds.SWEEP.numbered.fullmatch(Path(name).stem):
        return [read_sweep(find_experiment(kinds.SWEEP, reports_dir, name).record)]
    return [_set_of_runs(name, reports_dir)]


def _short(sweep: Sweep) -> Sweep:
    """Return the sweep; when it is named after a file, its name loses the file's suffix."""
    return replace(sweep, name=re.sub(r"\.(csv|md|txt)$", "", sweep.name))


def _text(path: Path) -> str:
    try:
        return regular(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as text ({error})", "give a CSV or Markdown file in UTF-8") from None


def _has_users(text: str) -> bool:
    """Return whether a CSV contains levels; a JTL file may also end in .csv."""
    heads = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    return "users" in [head.strip() for head in heads.split(",")] or "timeStamp" not in heads


def read_sweep(path: Path) -> FoundSweep:
    """Return the sweep of a sweep-NN.json with its readable runs."""
    record = load_record(SweepRecord, path)
    runs: list[tuple[int, LevelRun]] = []
    remarks = []
    for run in record.measured:
        try:
            found = level_run(read_result(path.with_name(run.name)))
            runs.append((run.users, replace(found, setting=run.setting)))
        except HarnessError as error:
            remarks.append(f"{run.run} ({run.text}) is not included: {error.what}.")
    levels = levels_of(runs)
    left = {LevelKey(step.users, step.setting) for step in record.steps_left} if record.kind == SWEEP else set()
    missing = (left | {LevelKey(run.users, run.setting) for run in record.measured}) - {level.key for level in levels}
    sweep = Sweep(
        record.id,
        levels,
        record,
        tuple(sorted(level.users for level in missing if not level.setting)),
        tuple(remarks),
        missing_settings=tuple(value for value in record.values if any(value == level.setting for level in missing)),
    )
    reports = {run.name: path.with_name(f"{Path(run.name).name}.md") for run in sweep.runs}
    return FoundSweep(sweep, path.with_suffix(".md"), reports)


def _set_of_runs(name: str, reports_dir: Path) -> FoundSweep:
    runs: list[tuple[int, LevelRun]] = []
    reports: dict[str, Path] = {}
    for path in find_paths([name], reports_dir):
        result = read_result(path)
        users = result.run.load.users if result.run else None
        if users is None:
            todo = "give runs with a fixed number of users, a sweep, a CSV of levels, or a table with a column of users"
            raise UsageError(f"{result.name}: its number of users is unknown", todo)
        runs.append((users, level_run(result)))
        reports[result.name] = path.with_name(f"{path.name}.md")
    return FoundSweep(Sweep(name, levels_of(runs)), None, reports)


def write_sweep_report(path: Path, command: str | None = None, goal: Goal | None = None) -> str:
    """Write sweep-NN.md and its charts next to the sweep-NN.json at `path`; return its first screen for a terminal.

    `goal` replaces the sweep's own goal; `command` is then the command that writes the same report. The notes block of
    an existing report is preserved.
    """
    stored_sweep = read_sweep(path.with_suffix(".json"))
    assert stored_sweep.report is not None and stored_sweep.sweep.record is not None
    analysis = analyse(stored_sweep.sweep.levels, goal or stored_sweep.sweep.goal)
    charts = _charts([stored_sweep], [analysis])
    result = result_of(stored_sweep.sweep, analysis, chart_path(stored_sweep.report.stem, charts))
    links = _links(stored_sweep, stored_sweep.report.parent)
    command = command or f"lth sweeps {stored_sweep.sweep.name}"
    name = stored_sweep.report.stem
    write_page(
        stored_sweep.report,
        lambda notes: sweep_report(stored_sweep.sweep, analysis, SweepPage(charts, notes, name, command), links),
        stored_sweep.sweep.record.note,
    )
    write_charts(stored_sweep.report.with_suffix(""), charts, FILE_NAME)
    if stored_sweep.sweep.record.state == FINISHED:  # else it belongs to the process that runs or resumes the sweep
        store_result(stored_sweep.report, result)
    return printed_sweep(stored_sweep.sweep, analysis)


def write_sweeps(
    sweeps: Sequence[FoundSweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    output: Path,
    command: str,
) -> None:
    """Write the report of one or several sweeps to `output`, its JSON beside it, and the charts into its folder."""
    output.parent.mkdir(parents=True, exist_ok=True)
    charts = _charts(sweeps, analyses)
    write_page(
        output,
        lambda notes: _report(
            sweeps, analyses, comparisons, SweepPage(charts, notes, output.stem, command), output.parent
        ),
    )
    write_charts(output.with_suffix(""), charts, FILE_NAME)
    bare, first_chart = [found.sweep for found in sweeps], chart_path(output.stem, charts)
    write_result(output, {**sweeps_data(bare, analyses, comparisons, first_chart), "command": command})


def printed_sweeps(
    sweeps: Sequence[FoundSweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    command: str,
) -> str:
    """Return the report of one or several sweeps without charts; links are relative to the current folder."""
    report = sweeps[0].report if len(sweeps) == 1 else None
    has_notes = report is not None and report.is_file()
    notes = notes_of(report.read_text(encoding="utf-8", errors="replace")) if report and has_notes else None
    return _report(sweeps, analyses, comparisons, SweepPage((), notes or "", "printed", command), Path())


def _charts(sweeps: Sequence[FoundSweep], analyses: Sequence[SweepAnalysis]) -> tuple[Chart, ...]:
    if len(sweeps) == 1:
        sweep = sweeps[0].sweep
        of_jvms = (*heap_charts(sweep.levels), *recorded_charts(sweep.levels))
        return (*sweep_charts(sweep, analyses[0]), *usage_charts(sweep.levels), *of_jvms)
    return overlay_charts([found.sweep for found in sweeps], analyses)


def _report(
    sweeps: Sequence[FoundSweep],
    analyses: Sequence[SweepAnalysis],
    comparisons: Sequence[SweepComparison],
    page: SweepPage,
    folder: Path,
) -> str:
    if len(sweeps) == 1:
        return sweep_report(sweeps[0].sweep, analyses[0], page, _links(sweeps[0], folder))
    reports = [_link(found.report, folder) if found.report else "" for found in sweeps]
    bare = [found.sweep for found in sweeps]
    return several_sweeps_report(bare, analyses, comparisons, page, reports)


def _links(found: FoundSweep, folder: Path) -> dict[str, str]:
    """Return the links to existing reports of runs, relative to `folder`."""
    return {name: _link(path, folder) for name, path in found.run_reports.items() if path.is_file()}


def _link(path: Path, folder: Path) -> str:
    return Path(os.path.relpath(path, folder)).as_posix()
