"""Compares what `aggregate.py compare` was asked to compare."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, UsageError
from harness.base.units import parse_number
from harness.compare import render as rendered
from harness.compare.command import JSON, MARKDOWN
from harness.compare.compare import compare
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED
from harness.compare.render import Compared, Side
from harness.compare.result import RunResult
from harness.compare.setup_diff import setup_differences
from harness.compare.sources import find_paths, in_plan, read_result
from harness.compare.sweeps_command import are_sweeps, compare_two_sweeps, judging_words
from harness.metrics.histogram import Histogram
from harness.plan.plan import load_plan
from harness.plan.thresholds import Thresholds
from harness.report.charts.distribution import overlaid_chart
from harness.report.charts.gallery import Picture
from harness.report.pages import write_page
from harness.report.selection import parse_pattern
from harness.run.directory import RUN_NAME, RunDirectory, write_whole

_TWO_SIDES = "give a baseline and a contender: compare run-07_1 run-07_2, or --base … --new …"


@dataclass(frozen=True)
class _Found:
    """A result and where it was found; `path` is a run's folder, there or not."""

    path: Path
    result: RunResult


def compare_runs(options: argparse.Namespace) -> int:
    """Print or write the comparison that the options ask for; return the exit code."""
    base_names, new_names = (in_plan(names, options.plan) for names in _sides(options))
    if are_sweeps([*base_names, *new_names]):
        return compare_two_sweeps(options, [*base_names, *new_names], lambda plan: _thresholds(options, [plan]))
    base, new = (_read(names, options.reports) for names in (base_names, new_names))
    _refuse_doubles(base, new)
    plans = [found.result.run.plan if found.result.run else found.path.parent.name for found in (*new, *base)]
    thresholds = _thresholds(options, plans)
    if options.label is not None:
        base, new = _with_labels(options.label, base, new)
    before, after = ([found.result for found in side] for side in (base, new))
    comparison = compare(before, after, thresholds, options.anyway)
    output = _output(options, base, new)
    compared = Compared(
        command=_command(options, base, new),
        comparison=comparison,
        base=tuple(_side(found, output) for found in base),
        new=tuple(_side(found, output) for found in new),
        settings=setup_differences(before, after),
        thresholds=thresholds,
        remarks=(f"Only labels in which {options.label} is found are compared; TOTAL is that of all.",)
        if options.label is not None
        else (),
    )
    _write(compared, options, output, _picture(base, new, output) if output else None)
    if comparison.verdict == INVALID:
        return EXIT_INVALID
    is_bad = comparison.verdict == REGRESSED or (options.sure and comparison.verdict == CANNOT_TELL)
    return EXIT_REGRESSED if is_bad else EXIT_OK


def _sides(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    if options.base or options.new:
        if options.runs or not (options.base and options.new):
            raise UsageError("compare: --base and --new go together, without other runs", _TWO_SIDES)
        return options.base, options.new
    if len(options.runs) != 2:
        raise UsageError(f"compare: {len(options.runs)} arguments instead of two", _TWO_SIDES)
    return [options.runs[0]], [options.runs[1]]


def _read(names: Sequence[str], reports: Path) -> list[_Found]:
    return [_Found(path, read_result(path)) for path in find_paths(names, reports)]


def _refuse_doubles(base: Sequence[_Found], new: Sequence[_Found]) -> None:
    seen: set[Path] = set()
    for found in (*base, *new):
        path = found.path.resolve()
        if path in seen:
            raise UsageError(
                f"{found.result.name}: given twice", "a run can be compared with others only: leave one out"
            )
        seen.add(path)


def _thresholds(options: argparse.Namespace, plans: Sequence[str]) -> Thresholds:
    """Return the changes that matter: those of the first plan that is there, then what the options say."""
    thresholds = Thresholds()
    for plan in plans:
        if (options.home / "plans" / f"{plan}.toml").is_file():
            thresholds = load_plan(options.home / "plans", plan).thresholds
            break
    for text in options.threshold:
        thresholds = thresholds.with_option(text)
    if options.alpha is not None:
        thresholds = replace(thresholds, alpha=parse_number(options.alpha, "--alpha", 0.0, 1.0))
    return thresholds


def _with_labels(text: str, base: Sequence[_Found], new: Sequence[_Found]) -> tuple[list[_Found], list[_Found]]:
    """Return the sides with those of their labels alone that a pattern is found in."""
    pattern = parse_pattern(text)
    there = dict.fromkeys(label.label for found in (*base, *new) for label in found.result.labels)
    if not any(pattern.search(label) for label in there):
        raise UsageError(f"--label {text} is found in no label", f"there are: {', '.join(there) or 'none'}")

    def kept(found: _Found) -> _Found:
        labels = tuple(label for label in found.result.labels if pattern.search(label.label))
        return replace(found, result=replace(found.result, labels=labels))

    return [kept(found) for found in base], [kept(found) for found in new]


def _output(options: argparse.Namespace, base: Sequence[_Found], new: Sequence[_Found]) -> Path | None:
    """Return the file to write; None to print, as what has no run in the reports folder is.

    What is saved stands with the contender's plan, or else the baseline's.
    """
    if options.output is not None:
        output: Path = options.output
        if not output.parent.is_dir():
            raise UsageError(f"{output}: its folder is not there", "make it, or name another")
        return output
    plan = next((found.path.parent for found in (*new, *base) if _is_in(found.path, options.reports)), None)
    if plan is None or not options.save:
        return None
    return plan / f"compare-{_short_names(base, plan)}-{_short_names(new, plan)}.md"


def _is_in(path: Path, reports: Path) -> bool:
    return path.resolve().parent.parent == reports.resolve()


def _short_names(side: Sequence[_Found], plan: Path) -> str:
    """Return the names of a side's runs as part of a file's name: run-07_1+2+3, other plans' with the plan's name."""
    words: list[str] = []
    last = ""
    for found in side:
        name = found.path.name if RUN_NAME.fullmatch(found.path.name) else found.path.name.split(".")[0]
        if found.path.resolve().parent != plan.resolve():
            name = f"{found.path.resolve().parent.name}-{name}"
        head, _, number = name.rpartition("_")
        words.append(number if head and head == last else name)
        last = head
    return "+".join(words)


def _side(found: _Found, output: Path | None) -> Side:
    report = RunDirectory(found.path).report if RUN_NAME.fullmatch(found.path.name) else found.path
    is_linked = output is not None and report.suffix == ".md" and report.is_file()
    link = os.path.relpath(report, output.parent) if output is not None and is_linked else ""
    return Side(found.result.name, found.result.kind, found.result.remarks, link)


def _command(options: argparse.Namespace, base: Sequence[_Found], new: Sequence[_Found]) -> str:
    """Return the command that makes the same again."""
    names = [[_name(found, options.reports) for found in side] for side in (base, new)]
    is_pair = len(base) == len(new) == 1
    words = [*names[0], *names[1]] if is_pair else ["--base", *names[0], "--new", *names[1]]
    words += judging_words(options)
    if options.label is not None:
        words += ["--label", options.label]
    return shlex.join(["./aggregate.py", "compare", *words])


def _name(found: _Found, reports: Path) -> str:
    is_in_reports = _is_in(found.path, reports)
    return "/".join(found.path.resolve().parts[-2:]) if is_in_reports else os.path.relpath(found.path)


def _picture(base: Sequence[_Found], new: Sequence[_Found], output: Path) -> Picture | None:
    """Return the chart of how the response times of both sides are distributed; None where a side has no samples."""
    names, sides = [], []
    for side, role in ((base, "baseline"), (new, "contender")):
        totals = [found.result.total for found in side]
        histograms = [total.histogram for total in totals if total and total.histogram]
        if not histograms or len(histograms) < len(side):
            return None
        together = Histogram()
        for histogram in histograms:
            together.merge(histogram.counts)
        names.append(f"{role}: {side[0].result.name}" + (f" and {len(side) - 1} more" if len(side) > 1 else ""))
        sides.append(together.counts)
    title = "Distribution of response times"
    chart = overlaid_chart(title, (names[0], sides[0]), (names[1], sides[1]))
    return Picture(output.with_suffix(".svg").name, chart)


def _write(compared: Compared, options: argparse.Namespace, output: Path | None, picture: Picture | None) -> None:
    data = json.dumps(rendered.to_json(compared), indent=1, ensure_ascii=False) + "\n"
    if output is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        print(data if options.format == JSON else rendered.report(compared, ""), end="")
        return
    if options.format == MARKDOWN:
        chart = output.with_suffix(".svg")
        if picture:
            write_whole(chart, picture.svg)
        else:
            chart.unlink(missing_ok=True)  # of an earlier comparison
        write_page(output, lambda notes: rendered.report(compared, notes, picture))
    if options.format == JSON or options.save:
        write_whole(output.with_suffix(".json") if options.save else output, data)
    print(f"{rendered.terminal_text(compared.comparison, shutil.get_terminal_size().columns)}{os.path.relpath(output)}")
