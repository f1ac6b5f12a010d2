"""Compares two sweeps, level by level: `aggregate.py compare sweep-01 sweep-02`."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.base import units
from harness.base.errors import EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, UsageError
from harness.compare.comparable import warnings_of
from harness.compare.compare import compare
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED
from harness.compare.result import RunResult
from harness.compare.sources import read_result
from harness.plan.thresholds import Thresholds
from harness.run.directory import SWEEP_NAME
from harness.sweep.analysis import analyse
from harness.sweep.export import sweeps_json
from harness.sweep.pairs import LevelVerdict, SweepComparison, compare_sweeps, sentence
from harness.sweep.sources import FoundSweep, find_sweeps, printed_sweeps, write_sweeps
from harness.sweep.text import users_text
from harness.sweep.verdict import sweep_verdict


def are_sweeps(names: Sequence[str]) -> bool:
    """Return whether both of two names are those of sweeps; UsageError when a sweep stands beside something else."""
    sweeps = [name for name in names if SWEEP_NAME.fullmatch(Path(name).name.removesuffix(".json").removesuffix(".md"))]
    if sweeps and (len(sweeps) != 2 or len(names) != 2):
        raise UsageError(f"compare: {sweeps[0]} is a sweep", "compare it with one other sweep, level by level")
    return bool(sweeps)


def compare_two_sweeps(
    options: argparse.Namespace, names: Sequence[str], thresholds_of: Callable[[str], Thresholds]
) -> int:
    """Print or write the comparison of two sweeps; return the exit code. `thresholds_of` takes the plan's name."""
    found = find_sweeps(names, options.reports)
    base, new = found
    comparison = compare_sweeps(base.sweep, new.sweep)
    if not {level.users for level in base.sweep.levels} & {level.users for level in new.sweep.levels}:
        levels = " against ".join(users_text(level.users for level in one.sweep.levels) for one in found)
        raise UsageError(
            f"{base.sweep.name} and {new.sweep.name} have no level in common ({levels})",
            "compare sweeps over some of the same USERS",
        )
    plan = new.sweep.record.plan if new.sweep.record else ""
    thresholds = thresholds_of(plan)
    old, young = _results(base), _results(new)
    comparison = replace(
        comparison,
        verdicts=_verdicts(old, young, thresholds, options.anyway),
        caveats=tuple(warnings_of([run for side in (old, young) for runs in side.values() for run in runs])),
    )
    verdict, reason = sweep_verdict(comparison, thresholds)
    comparison = replace(comparison, verdict=verdict, reason=reason)
    analyses = [analyse(one.sweep.levels, one.sweep.goal) for one in found]
    command = shlex.join(["./aggregate.py", "compare", base.sweep.name, new.sweep.name, *judging_words(options)])
    output: Path | None = options.output
    if output is None and options.save and new.report is not None:
        output = new.report.with_name(f"compare-{_short(base, new)}-{new.report.stem}.md")
    if options.format == "json":
        print(sweeps_json([one.sweep for one in found], analyses, [comparison]), end="")
    elif output is None:
        print(printed_sweeps(found, analyses, [comparison], command), end="")
    else:
        write_sweeps(found, analyses, [comparison], output, command)
        print("\n".join([*_lines(comparison), os.path.relpath(output)]))
    if comparison.verdict == INVALID:
        return EXIT_INVALID
    is_bad = comparison.verdict == REGRESSED or (options.sure and comparison.verdict == CANNOT_TELL)
    return EXIT_REGRESSED if is_bad else EXIT_OK


def judging_words(options: argparse.Namespace) -> list[str]:
    """Return the options that say how it is judged, as they stand in the command that makes the same again."""
    words = ["--anyway"] * options.anyway
    for text in options.threshold:
        words += ["--threshold", text]
    return words + (["--alpha", options.alpha] if options.alpha is not None else [])


def _verdicts(
    old: Mapping[int, Sequence[RunResult]],
    young: Mapping[int, Sequence[RunResult]],
    thresholds: Thresholds,
    anyway: bool,
) -> tuple[LevelVerdict, ...]:
    """Return the verdict on the runs of each level that both sweeps have."""
    found = []
    for users in sorted(old.keys() & young.keys()):
        comparison = compare(old[users], young[users], thresholds, anyway)
        is_repeated = min(len(old[users]), len(young[users])) > 1
        is_doubtful = not anyway and any(run.is_doubtful for run in (*old[users], *young[users]))
        reason = "; ".join(comparison.reasons)
        found.append(LevelVerdict(users, comparison.verdict, reason, is_repeated, is_doubtful))
    return tuple(found)


def _results(found: FoundSweep) -> dict[int, list[RunResult]]:
    """Return the results of a sweep's runs by users; of those that could not be read none."""
    results: dict[int, list[RunResult]] = {}
    for level in found.sweep.levels:
        results[level.users] = [read_result(found.run_reports[run.name].with_suffix("")) for run in level.runs]
    return results


def _short(base: FoundSweep, new: FoundSweep) -> str:
    """Return the baseline's name as part of a file's name, with its plan where that is another."""
    assert base.report is not None and new.report is not None
    folder = base.report.parent
    return base.report.stem if folder == new.report.parent else f"{folder.name}-{base.report.stem}"


def _lines(comparison: SweepComparison) -> list[str]:
    lines = [sentence(comparison, figure) for figure in comparison.figures if figure.figure in ("average_ms", "p90_ms")]
    levels = (f"{units.plural(level.users, 'user')}: {level.verdict}" for level in comparison.verdicts)
    return [f"{comparison.verdict}: {comparison.reason}", *lines, *levels]
