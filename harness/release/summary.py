"""Sums up a release in sentences: the headline, the summary, and the recommendations that follow from the findings.

A change is called slower or faster only when the comparison decides so; otherwise the sentence has CANNOT TELL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from harness.base import units
from harness.compare.causes import causes
from harness.compare.comparison import BETTER, CANNOT_TELL, INVALID, REGRESSED, Comparison
from harness.compare.setup_diff import Difference, setup_differences
from harness.judge.growth import growth_text
from harness.judge.result import KeyFigure, NextStep, Result
from harness.judge.verdict import DOUBTFUL
from harness.metrics.metric import metric_of
from harness.metrics.resource_growth import GROWS
from harness.release.around import grown
from harness.release.cells import ReleaseCell, Runs, cells_text
from harness.release.changes import OF_LABELS, known_changes, labels_with
from harness.release.databases import slower_sql
from harness.release.infrastructure import changed_facts
from harness.release.jobs import duration_changes, not_done
from harness.release.lag import lagging
from harness.release.memory import long_trend, trends
from harness.release.release import Release, source_name
from harness.release.repeats import RepeatedChange
from harness.release.resources import overcommitted
from harness.release.tables import missed_goals, new_errors
from harness.report.first_screen import shortest
from harness.report.results import worst
from harness.sweep.answer import result_of as sweep_result
from harness.sweep.growth import growth_per_run, memory_of_runs
from harness.sweep.pairs import FigureComparison, headline, range_text
from harness.sweep.text import users_text

_NAMED = 5
# So many recommendations are on the first screen.
STEPS_MOST = 4


def result_of(release: Release, first_chart: str = "") -> Result:
    """Return what the page says, for those who show it."""
    new, base = release.names[:2]
    counts = Counter(found.verdict for found in release.levels[0].values())
    fresh = _fresh_misses(release)
    has_goals = any(run.verdict and run.verdict.goals for runs in release.results[0].values() for run in runs)
    missed = "; ".join(f"{goal} at {cells_text(cells)}" for goal, cells in fresh.items())
    goals = f"Goal missed that {base} meets: {missed}." if fresh else f"Every goal that {base} meets is met."
    verdict, text = _answer(release)
    return Result(
        kind="release",
        title=f"{', '.join(release.plans)}: {new} against {base}",
        verdict=verdict,
        headline=text,
        key_figures=tuple(KeyFigure(f"levels {verdict}", str(count)) for verdict, count in counts.items()),
        first_chart=first_chart,
        goals=goals if has_goals else "",
        is_missed=bool(fresh),
        next_steps=tuple(NextStep(text) for text in recommendations(release)[:STEPS_MOST]),
    )


class _Answer(NamedTuple):
    """The verdict of a page and its headline."""

    verdict: str
    headline: str


def _answer(release: Release) -> _Answer:
    """Return the verdict, the worst of all workloads and jobs, and the headline."""
    wholes = release.wholes
    slower = [one for one in duration_changes(release) if one.change.verdict == REGRESSED]
    verdict = worst([*(whole.verdict for whole in wholes.values()), *(one.change.verdict for one in slower)])
    plan, whole = next(((plan, one) for plan, one in wholes.items() if one.verdict == verdict), ("", None))
    if whole is None or (verdict == REGRESSED and slower and not labels_with(release.levels[0], REGRESSED)):
        low, high = (units.signed_percent(end, 1) for end in (slower[0].change.low, slower[0].change.high))
        text = f"{verdict}: job {slower[0].key.text}, duration {low} to {high} %."
        return _Answer(verdict, shortest(text, f"{verdict}: jobs."))
    text = headline(whole)
    if len(wholes) > 1:
        text = shortest(text.replace(f"{verdict}: ", f"{verdict}: {plan}: ", 1), f"{verdict}: {plan}.")
    return _Answer(verdict, text)


def _range(release: Release, plan: str, figure: FigureComparison) -> str:
    """Return the changes at all levels: average of GR against FF: +5.8 to +14.6 % over 4 levels."""
    new, base = release.names[:2]
    levels = units.plural(figure.level_count, "level")
    what = metric_of(figure.figure).phrase.capitalize()
    of_plan = f"{plan}: " if len(release.plans) > 1 else ""
    return f"{of_plan}{what} of {new} against {base}: {range_text(figure, release.wholes[plan].verdict)} over {levels}."


def summary_lines(release: Release) -> list[str]:
    """Return the summary: changes over all levels, in each cell, per label, of jobs, goals and errors."""
    keys = [metric.key for metric in OF_LABELS]
    wholes = release.wholes
    figures = ((plan, figure) for plan, whole in wholes.items() for figure in whole.figures if figure.figure in keys)
    lines = [_range(release, plan, figure) for plan, figure in figures]
    lines += [_level_line(one, found) for one, found in release.levels[0].items()]
    lines += _changed_lines(release)
    jobs = (one for one in duration_changes(release) if one.change.ratio is not None)
    lines += [f"Job {one.key.text}: {_change_words(one.change)}." for one in jobs]
    sweeps = [one for edition in release.editions for one in release.named(edition)]
    lines += [f"{one.name}: {sweep_result(one.sweep, one.analysis).headline}" for one in sweeps]
    lines += [f"{name}: {_failures(side)}." for name, side in zip(release.names, release.results, strict=True)]
    return lines


def _change_words(change: RepeatedChange) -> str:
    values = " → ".join("?" if one is None else units.rate_text(one) for one in (change.baseline, change.contender))
    return f"{values} s{f', {change.text} %' if change.text else ''}: {change.verdict}"


def _changed_lines(release: Release) -> Iterator[str]:
    """Yield the labels that changed; without a direction when the verdict on their workload is CANNOT TELL."""
    for plan, whole in release.wholes.items():
        levels = {one: found for one, found in release.levels[0].items() if one.workload in ("", plan)}
        slower, faster = (labels_with(levels, verdict) for verdict in (REGRESSED, BETTER))
        if whole.verdict == CANNOT_TELL:
            if found := [_labels_text(labels) for labels in (slower, faster) if labels]:
                yield f"Beyond the threshold at single levels only: {'; '.join(found)}."
            continue
        for change, labels in (("Slower", slower), ("Faster", faster)):
            if labels:
                yield f"{change} in {release.new.name}: {_labels_text(labels)}."


def _level_line(one: ReleaseCell, comparison: Comparison) -> str:
    who = cells_text([one])
    if comparison.verdict == INVALID:
        return f"{who}: {INVALID}, not judged: {'; '.join(comparison.reasons)}."
    known = known_changes(comparison.total)
    more = comparison.further_runs
    tail = (
        f"; {units.plural(more, 'more run')} a side would be needed"
        if more and comparison.verdict == CANNOT_TELL
        else ""
    )
    return f"{who}: {'; '.join(known)}{tail}." if known else f"{who}: nothing could be compared."


def _labels_text(labels: Mapping[str, Sequence[ReleaseCell]]) -> str:
    named = [f"{label} at {cells_text(cells)}" for label, cells in list(labels.items())[:_NAMED]]
    more = len(labels) - _NAMED
    return "; ".join(named) + (f"; and {units.plural(more, 'more label')}" if more > 0 else "")


def _failures(side: Runs) -> str:
    totals = [run.whole or run.total for runs in side.values() for run in runs]
    known = [(one.error_count, one.sample_count) for one in totals if one]
    errors = [count for count, _ in known if count is not None]
    samples = [count for _, count in known if count]
    if len(errors) < len(known) or not samples:
        return "the number of errors is unknown"
    return f"{sum(errors)} of {sum(samples)} samples failed ({units.percent_text(sum(errors) / sum(samples))} %)"


def recommendations(release: Release) -> list[str]:
    """Return what to do next, as far as the findings show it, the most serious first; empty when nothing follows."""
    parts = (
        _of_regressions, _of_jobs, _of_databases, _of_lag, _of_goals, _of_errors, _of_memory, _of_undecided, _of_setup,
    )  # fmt: skip
    return list(chain.from_iterable(part(release) for part in parts))


def _of_regressions(release: Release) -> Iterator[str]:
    levels = release.levels[0]
    if not (slower := labels_with(levels, REGRESSED)):
        return
    new, base = release.results[:2]
    found = [cause for one in levels for cause in causes(base[one], new[one])]
    named = dict.fromkeys(cause.what for cause in found)
    yield f"Find the cause of the slower response times: {_labels_text(slower)}." + (
        f" Per request, the profiles show more of: {'; '.join(list(named)[:_NAMED])}."
        if named
        else " Sweeps with --profile on both releases show what each request costs."
    )


def _of_jobs(release: Release) -> Iterator[str]:
    for one in duration_changes(release):
        if one.change.verdict == REGRESSED:
            yield f"Find why the job {one.key.text} takes longer: {_change_words(one.change)}."
    for text in not_done([run for runs in release.results[0].values() for run in runs]):
        yield f"Jobs that were not done: {text}. Their durations are not compared."


def _of_databases(release: Release) -> Iterator[str]:
    for one in slower_sql(release)[:_NAMED]:
        yield f"SQL takes longer: {one.sentence}."


def _of_lag(release: Release) -> Iterator[str]:
    for one in lagging(release)[:_NAMED]:
        yield f"Consumers fall behind: {one.sentence}. Give the group more consumers, or find what slows them down."


def _of_goals(release: Release) -> Iterator[str]:
    for goal, cells in _fresh_misses(release).items():
        new, base = release.names[:2]
        yield f"{goal} is met by {base} and missed by {new} at {cells_text(cells)}."


def _fresh_misses(release: Release) -> dict[str, list[ReleaseCell]]:
    """Return the goals that only the new release misses, with the cells in which it does."""
    contender, baseline = map(missed_goals, release.results[:2])
    fresh = {
        goal: [one for one in cells if one in release.results[1] and one not in baseline.get(goal, [])]
        for goal, cells in contender.items()
    }
    return {goal: cells for goal, cells in fresh.items() if cells}


def _of_errors(release: Release) -> Iterator[str]:
    failures, name = new_errors(release.results[1], release.results[0]), release.new.name
    for text, cells in failures[:_NAMED]:
        yield f"Explain failures that only {name} has: {text} (at {cells})."
    if len(failures) > _NAMED:
        yield f"And {units.plural(len(failures) - _NAMED, 'more kind')} of failures that only {name} has."


def _of_memory(release: Release) -> Iterator[str]:
    for service in overcommitted(release.results[0]):
        used = f"up to {units.percent_text(service.largest_ratio, 0)} % of its reserved memory"
        yield f"{service.title} used {used} at {cells_text(service.cells)}: reserve more, or find what uses it."
    if more := [text for around in release.new.arounds.values() for text in grown(around)]:
        what = f"Memory did not return to its size before the sweep: {', '.join(more)}."
        yield f"{what} A JVM does not release all of it; a longer run shows whether it is a leak."
    for one in release.named(release.new):
        for growth in growth_per_run(memory_of_runs(one.sweep)):
            if growth.is_suspect:
                sizes_bytes = (growth.per_run_bytes, growth.low_bytes, growth.high_bytes)
                size, low, high = (units.mb_text(size_bytes, 1) for size_bytes in sizes_bytes)
                what = f"its memory grows by {size} MB ({low} to {high}) per run"
                yield f"{growth.process} is a leak suspect: {what}. Run it for longer."
    for trend in filter(None, (*trends(release), long_trend(release))):
        for of_run in trend.growths:
            if of_run.verdict == GROWS:
                yield f"In {trend.run} the {growth_text(of_run)}. Find what grows."


def _of_undecided(release: Release) -> Iterator[str]:
    """Yield what decides the cells with CANNOT TELL: other runs instead of the DOUBTFUL ones, or more runs."""
    unsure = {one: found for one, found in release.levels[0].items() if found.verdict == CANNOT_TELL}
    doubtful: dict[str, list[ReleaseCell]] = {}
    for load in unsure:
        runs = [run for side in release.results[:2] for run in side[load]]
        for why in dict.fromkeys("; ".join(run.verdict.reasons) for run in runs if run.verdict and run.is_doubtful):
            doubtful.setdefault(why, []).append(load)
    for why, cells in doubtful.items():
        yield f"Measure {cells_text(cells)} again: runs are {DOUBTFUL} ({why})."
    known = {one for cells in doubtful.values() for one in cells}
    if noisy := [one for one in unsure if one not in known]:
        more = max(unsure[one].further_runs or 0 for one in noisy)
        how = (
            f"{units.plural(more, 'more run')} a side would be needed" if more else "repeat both sweeps with --repeat=5"
        )
        at = cells_text(noisy)
        yield f"At {at} the change cannot be distinguished from noise: {how}, alternating between the releases."


def _of_setup(release: Release) -> Iterator[str]:
    if found := settings_of(release):
        names = ", ".join(difference.name for difference in found[: 2 * _NAMED])
        yield f"The set-up differs ({names}): check that only the release explains the changes."
    if changed := changed_facts(release.bases[0].infrastructure, release.new.infrastructure):
        more = f"; and {units.plural(len(changed) - _NAMED, 'more setting')}" if len(changed) > _NAMED else ""
        yield f"The infrastructure differs: {'; '.join(changed[:_NAMED])}{more}."


def settings_of(release: Release) -> tuple[Difference, ...]:
    """Return the settings that differ between the runs of the common cells; users and load are equal there."""
    contender, baseline = ([run for one in release.levels[0] for run in side[one]] for side in release.results[:2])
    return setup_differences(baseline, contender)


def overview_lines(release: Release) -> list[tuple[str, str]]:
    """Return what was tested as (name, value) pairs."""
    lines = []
    for plan, sweep_of_plan in release.new.sweeps.items():
        first = next(iter(sweep_of_plan.sweep.records), None)
        lines.append(("plan", f"{plan}: {first.plan_title}" if first else plan))
    for edition in release.editions:
        for (name, sweep), sweep_of_plan in zip(release.named(edition), edition.sweeps.values(), strict=True):
            runs = sweep.records
            started = f", started {min(one.started_at for one in runs)}" if runs else ""
            profile = f", profile {runs[0].profile} ({runs[0].profile_title})" if runs else ""
            levels = users_text(level.users for level in sweep.levels)
            count = units.plural(len(sweep.runs), "run")
            lines.append((name, f"{source_name(sweep_of_plan)}: {levels}, {count}{profile}{started}"))
    if first:
        where = f"{first.system}, started by the harness" if first.is_embedded else f"{first.target}, already running"
        lines.append(("system", where))
    return lines
