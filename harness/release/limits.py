"""What the page of a release cannot tell, and why: too few runs, what was not watched, what else differs."""

from __future__ import annotations

from collections.abc import Iterator

from harness.base import units
from harness.kinds.trust.outcome import sees_text
from harness.metrics.metric import AVERAGE, P95, Metric
from harness.release.cells import ReleaseCell, Runs, all_cells, cells_text
from harness.release.databases import sql_changes
from harness.release.lag import consumers
from harness.release.release import Release
from harness.release.summary import settings_of
from harness.report.services import missing_text

RUNS_ASKED = 3
_REPEATS = {1: "One run per cell", 2: "Two runs per cell"}


def limits(release: Release) -> list[str]:
    """Return what the page cannot tell, a sentence or two per line; what concerns its verdict first."""
    return [*repeats(release), *_one_sided(release), *_days(release), *_missing(release), *_tests(release)]


def repeats(release: Release) -> Iterator[str]:
    """Yield for each workload with less than three runs in a cell which change such runs can see, by its trust test."""
    for plan in release.plans:
        counts = {
            one: min(sum(not run.is_invalid for run in side[one]) for side in release.results[:2])
            for one in release.levels[0]
            if one.workload in ("", plan)
        }
        fewest = min(filter(None, counts.values()), default=RUNS_ASKED)
        if fewest < RUNS_ASKED:
            few = [one for one, count in counts.items() if count == fewest]
            of_plan = f"{plan}: " if len(release.plans) > 1 else ""
            where = "" if len(few) == len(counts) else f" at {cells_text(few)}"
            sees = _sees(release, plan, fewest)
            more = f"Measure {RUNS_ASKED} runs of each (--repeat={RUNS_ASKED})."
            yield f"{of_plan}{_REPEATS[fewest]}{where}: {sees} {more}"


def _sees(release: Release, plan: str, run_count: int) -> str:
    known, record = release.known.get(plan), next(iter(release.new.sweeps[plan].sweep.records), None)
    length_s = record.load.duration_s if record else None
    if known is None or length_s is None:
        return f"which change they can see is not known, lth trust {plan} measures it."

    def text(metric: Metric) -> str:
        ratio = known.sees_ratio(metric, length_s, run_count)
        return "" if ratio is None else f"of {metric.phrase} below {sees_text(ratio)}"

    seen = " and ".join(filter(None, map(text, (AVERAGE, P95))))
    return f"no change {seen} can be seen ({known.test})." if seen else f"lth trust {plan} does not know what they see."


def _one_sided(release: Release) -> Iterator[str]:
    new, *bases = release.results
    for edition, base in zip(release.bases, bases, strict=True):
        for name, side, other in ((release.new.name, new, base), (edition.name, base, new)):
            if only := [one for one in all_cells([side]) if one not in other]:
                yield f"Only {name} has {cells_text(only)}: not compared with {_other(release, edition.name, name)}."


def _other(release: Release, base: str, name: str) -> str:
    return base if name == release.new.name else release.new.name


def _days(release: Release) -> Iterator[str]:
    """Yield that the releases were measured on different days, and which settings differ."""
    days = [sorted({run.record.started_at[:10] for run in one.runs if run.record}) for one in release.editions[:2]]
    if all(days) and not set(days[0]) & set(days[1]):
        spans = [one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" for one in days]
        what = f"{release.names[0]} was measured on {spans[0]}, {release.names[1]} on {spans[1]}"
        yield f"{what}: what else changed in between looks like a change of the release. Alternate the releases."
    if found := settings_of(release):
        names = ", ".join(one.name for one in found)
        yield f"The set-up differs in {names}: the page cannot separate its effect from that of the release."


def _missing(release: Release) -> Iterator[str]:
    """Yield what was not gathered: all of it, or a source with the reason and the right that it needs."""
    lacks: dict[str, list[str]] = {}
    for name, side in zip(release.names[:2], release.results, strict=False):
        for text, cells in _lacks(side).items():
            lacks.setdefault(text, []).append(name if len(cells) == len(side) else f"{name} at {cells_text(cells)}")
    for text, where in lacks.items():
        yield f"{text} ({', '.join(where)})."


def _lacks(side: Runs) -> dict[str, dict[ReleaseCell, None]]:
    """Return what the runs of a release lack, each with the cells."""
    lacks: dict[str, dict[ReleaseCell, None]] = {}
    for load, run in ((one, run) for one, runs in side.items() for run in runs):
        missing = [f"Missing: {missing_text(gap)}" for gap in (run.services.missing if run.services else ())]
        if not (run.cloudwatch or run.usages):
            missing.append("No services were watched, so CPU and memory are unknown: lth help cloudwatch")
        if not (run.databases or (run.services and run.services.databases)):
            missing.append("The statements of databases are unknown")
        for text in missing:
            lacks.setdefault(text, {})[load] = None
    return lacks


def _tests(release: Release) -> Iterator[str]:
    """Yield how often statements and consumer groups are named by chance, if any were tested."""
    alpha = units.percent_text(release.thresholds.alpha, 0)
    statements = sum(one.change.low is not None for one in sql_changes(release))
    counts = ((statements, "statement"), (len(consumers(release)), "consumer group"))
    for tested in (units.plural(count, noun) for count, noun in counts if count):
        yield f"Of {tested} tested, one is named without a change on at most {alpha} % of pages."
    if statements:
        yield "Statements that a run does not list are not compared."
