"""Writes the page of `trust --all`: how much the runs of each plan scatter, why, and since when."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev

from harness.base import units
from harness.base.errors import EXIT_OK
from harness.base.log import log
from harness.base.paths import shown
from harness.history.catalogue import Entry
from harness.history.files import read_catalogue
from harness.history.series import HistoryLine, history
from harness.judge.account import one_state
from harness.judge.warnings import other_cpu, pause, stall, stolen_cpu
from harness.kinds.trust.power import least_change
from harness.metrics.figures import TOTAL
from harness.metrics.metric import AVERAGE
from harness.report.pages import write_page
from harness.report.tables import cell, table
from harness.run import kinds

PAGE_NAME = "TRUST.md"
_RUNS_LEAST, _RUNS_MOST = 6, 20
# A plan of which eight pairs see only changes above this is noisy.
_NOISY = 0.10
# The causes of scatter that runs record.
_CAUSES = {
    other_cpu.WARNING.code: "CPU of other processes",
    stolen_cpu.WARNING.code: "CPU stolen by the hypervisor",
    pause.WARNING.code: "garbage collection",
    one_state.LINE.code: "not steady after the start",
    stall.WARNING.code: "stalls",
}
_HEADS = ("plan", "runs", "scatter %", "8 pairs see %", "recorded causes", "noisy since", "newest trust test")


@dataclass(frozen=True)
class PlanNoise:
    """The scatter of a plan's newest runs under the same conditions, and how small a change eight pairs see."""

    plan: str
    run_count: int
    scatter: float
    causes: tuple[str, ...]
    since: str

    @property
    def least_ratio(self) -> float:
        """The smallest change that eight pairs see."""
        return least_change(self.scatter**2, 8) or 0.0


def write_overview(reports: Path) -> int:
    """Write reports/TRUST.md over all plans with a history, print its first line and return the exit code."""
    nightly = kinds.NIGHTLY.folder_in(reports)
    catalogues = [read_catalogue(folder) for folder in (reports, nightly) if folder == reports or folder.is_dir()]
    entries = [entry for catalogue in catalogues for entry in catalogue.entries]
    plans = sorted({entry.plan for entry in entries})
    noises = [noise for plan in plans if (noise := noise_of([one for one in entries if one.plan == plan], plan))]
    tests = {
        Path(document.folder).name: f"[{cell(document.result.headline)}]({document.path})"
        for document in catalogues[0].documents
        if document.kind == kinds.TRUST.key
    }
    page = reports / PAGE_NAME
    text = overview(noises, tests)
    write_page(page, lambda _: text)
    log(f"{shown(page)}: {_headline(noises)}")
    return EXIT_OK


def noise_of(entries: Sequence[Entry], plan: str) -> PlanNoise | None:
    """Return the scatter of the newest runs of a plan; None for fewer than six valid runs under the same conditions."""
    lines = [line for line in history(entries, plan, TOTAL, AVERAGE).lines if len(_recent(line)) >= _RUNS_LEAST]
    if not lines:
        return None
    recent = _recent(lines[0])
    # A run that was disturbed is DOUBTFUL, so it is not one of those that scatter, but it shows what disturbs them.
    names = {point.run for point in lines[0].points if point.date >= recent[0][1]}
    codes = [{one.code for one in entry.result.warnings} for entry in entries if entry.name in names and entry.result]
    counts = {text: sum(code in one for one in codes) for code, text in _CAUSES.items()}
    causes = tuple(f"{text}: {count} of {units.plural(len(codes), 'run')}" for text, count in counts.items() if count)
    scatter = stdev(level for _, _, level in recent)
    return PlanNoise(plan, len(recent), scatter, causes, _since(recent))


def overview(found: Sequence[PlanNoise], tests: Mapping[str, str]) -> str:
    """Return the page as Markdown, the noisiest plan first; `tests` are links to the newest trust test of a plan."""
    rows = [
        [
            cell(noise.plan),
            str(noise.run_count),
            units.percent_text(noise.scatter, 1),
            units.percent_text(noise.least_ratio, 1),
            "; ".join(noise.causes) or "unknown",
            noise.since or "not noisy",
            tests.get(noise.plan, "none"),
        ]
        for noise in sorted(found, key=lambda noise: -noise.scatter)
    ]
    body = f"\n{table(_HEADS, rows)}\n" if rows else ""
    about = (
        f"The scatter is the standard deviation of the average over the newest runs ({_RUNS_LEAST} to {_RUNS_MOST}) "
        "under the same conditions since its last change."
    )
    command = "<!-- command: lth trust --all -->"
    return f"{command}\n# What the benchmarks see\n\n**{_headline(found)}**\n{body}\n{about}\n"


def _headline(found: Sequence[PlanNoise]) -> str:
    noisy = [one.plan for one in sorted(found, key=lambda one: -one.scatter) if one.since]
    if not found:
        return f"No plan has a history: {_RUNS_LEAST} valid runs under the same conditions."
    names = f": {', '.join(noisy[:3])}{' and others' if len(noisy) > 3 else ''}" if noisy else ""
    verb = "is" if len(noisy) == 1 else "are"
    return f"{len(noisy)} of {units.plural(len(found), 'plan')} with a history {verb} noisy{names}."


def _recent(line: HistoryLine) -> list[tuple[str, str, float]]:
    """Return name, date and level of the newest valid runs since the last change of the average."""
    since = line.changes[-1].index if line.changes else 0
    valid = [point for point in line.valid[since:] if point.value]
    return [(point.run, point.date, math.log(point.value)) for point in valid[-_RUNS_MOST:] if point.value]


def _since(recent: Sequence[tuple[str, str, float]]) -> str:
    """Return the date since which all series of six neighbours are noisy; empty when the newest are not."""
    noisy = ""
    for date, levels in reversed(list(_windows(recent))):
        if (least_change(stdev(levels) ** 2, 8) or 0.0) <= _NOISY:
            break
        noisy = date
    return noisy


def _windows(recent: Sequence[tuple[str, str, float]]) -> Iterator[tuple[str, list[float]]]:
    for index in range(len(recent) - _RUNS_LEAST + 1):
        yield recent[index][1], [level for _, _, level in recent[index : index + _RUNS_LEAST]]
