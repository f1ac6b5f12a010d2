"""Single labels of a sweep's runs: a sweep of one label instead of TOTAL, and the transactions of each level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.report.run_result import LabelResult
from harness.report.selection import parse_pattern
from harness.sweep.levels import Figures, Level, LevelRun, Sweep, figures_of, levels_of, middle


@dataclass(frozen=True)
class TransactionLevel:
    """The metrics of a transaction at a level."""

    name: str
    level: Level
    figures: Figures


def of_label(sweep: Sweep, label: str) -> Sweep:
    """Return the sweep with the metrics of one request or transaction instead of those of TOTAL.

    `label` is a label, or a pattern that matches one of them; a transaction with the name of a request is called
    "<name> (transaction)". UsageError when it names none or several, or the runs have no labels.
    """
    known = list(dict.fromkeys(one.label for run in sweep.runs for one in run.labels))
    pattern = parse_pattern(label)
    matches = [label] if label in known else [name for name in known if pattern.search(name)]
    if len(matches) != 1:
        there = f"there are: {', '.join(matches or known) or 'none'}"
        what = "matches several labels" if matches else "matches no label"
        near = "" if matches else did_you_mean(label, known)
        raise UsageError(f"{sweep.name}: --label {label} {what}", f"{near}{there}")
    runs = ((level.users, _run_of_label(run, matches[0])) for level in sweep.levels for run in level.runs)
    return replace(sweep, name=f"{sweep.name}: {matches[0]}", levels=levels_of(runs), label=matches[0])


def label_of(labels: Sequence[LabelResult], name: str) -> LabelResult | None:
    """Return the metrics of a label; None when a run does not have it."""
    return next((one for one in labels if one.label == name), None)


def _run_of_label(run: LevelRun, name: str) -> LevelRun:
    total = label_of(run.labels, name)
    figures = replace(
        figures_of(total, total) if total else Figures(),
        generator_cpu_cores=run.figures.generator_cpu_cores,
        system_cpu_cores=run.figures.system_cpu_cores,
    )
    return replace(run, total=total, figures=figures, labels=())


def transactions_of(levels: Sequence[Level]) -> Iterator[TransactionLevel]:
    """Yield each transaction at each level, by transaction; repeats are combined as in a level's own figures."""
    names = dict.fromkeys(
        one.label for level in levels for run in level.counted for one in run.labels if one.is_transaction
    )
    for name in names:
        for level in levels:
            found = [total for run in level.counted if (total := label_of(run.labels, name))]
            if found:
                yield TransactionLevel(name, level, middle([figures_of(total, total) for total in found]))
