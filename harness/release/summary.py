"""Sums up a release in sentences: the headline, the summary, and the recommendations that follow from the findings.

A change is called slower or faster only when the comparison decides so; otherwise the sentence has CANNOT TELL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from harness.base import units
from harness.compare.causes import causes
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED, Comparison, LabelComparison
from harness.compare.setup_diff import Difference, setup_differences
from harness.metrics.metric import metric_of
from harness.metrics.resource_growth import GROWS
from harness.release.around import grown
from harness.release.changes import OF_LABELS, change_text, labels_with, verdict_text
from harness.release.infrastructure import changed_facts
from harness.release.release import Release, record_of
from harness.release.resources import overcommitted
from harness.release.sides import Runs
from harness.release.tables import missed_goals, new_errors
from harness.report.growth import growth_text
from harness.report.results import KeyFigure, NextStep, Result
from harness.report.stored_comparisons import BETTER
from harness.report.verdict import DOUBTFUL
from harness.sweep.answer import result_of as sweep_result
from harness.sweep.growth import growth_per_run, memory_of_runs
from harness.sweep.pairs import FigureComparison, headline
from harness.sweep.text import users_text

_NAMED = 5
# So many recommendations are on the first screen.
STEPS_MOST = 4


def result_of(release: Release, first_chart: str = "") -> Result:
    """Return what the page says, for those who show it."""
    names, whole = release.names, release.whole
    counts = Counter(found.verdict for found in release.levels.values())
    fresh = _fresh_misses(release)
    has_goals = any(run.verdict and run.verdict.goals for side in release.runs.new.values() for run in side)
    missed = "; ".join(f"{goal} at {users_text(users)}" for goal, users in fresh.items())
    goals = (
        f"Goal missed that {names.base} meets: {missed}." if fresh else f"Every goal that {names.base} meets is met."
    )
    return Result(
        kind="release",
        title=f"{record_of(release.new).plan}: {names.new} against {names.base}",
        verdict=whole.verdict,
        headline=headline(whole),
        key_figures=tuple(KeyFigure(f"levels {verdict}", str(count)) for verdict, count in counts.items()),
        first_chart=first_chart,
        goals=goals if has_goals else "",
        is_missed=bool(fresh),
        next_steps=tuple(NextStep(text) for text in recommendations(release)[:STEPS_MOST]),
    )


def _range(release: Release, figure: FigureComparison) -> str:
    """Return the changes at all levels without a verdict on them: the average of new is +5.75 to +14.57 % of base."""
    baseline, contender = release.names
    low, high, middle = map(units.signed_percent, (figure.low_ratio, figure.high_ratio, figure.median_ratio))
    span = f"{low} %" if low == high else f"{low} to {high} %"
    levels = units.plural(figure.level_count, "level")
    what = metric_of(figure.figure).phrase.capitalize()
    return f"{what} of {contender} against {baseline}: {span} over {levels} (median {middle} %)."


def summary_lines(release: Release) -> list[str]:
    """Return the summary: changes over all levels, at each level, and per label, goals and errors."""
    whole, names = release.whole, release.names
    keys = [metric.key for metric in OF_LABELS]
    lines = [_range(release, figure) for figure in whole.figures if figure.figure in keys]
    lines += [_level_line(users, found) for users, found in release.levels.items()]
    lines += _changed_lines(release)
    sweeps = zip(names, release.sweeps, release.analyses, strict=True)
    lines += [f"{name}: {sweep_result(sweep, analysis).headline}" for name, sweep, analysis in sweeps]
    lines += [f"{name}: {_failures(side)}." for name, side in zip(names, release.runs, strict=True)]
    for users, name in ((whole.only_base, names.base), (whole.only_new, names.new)):
        if users:
            lines.append(f"Only {name} has {users_text(users)}: not compared.")
    return lines


def _changed_lines(release: Release) -> Iterator[str]:
    """Yield the labels that changed; without a direction when the verdict over all levels is CANNOT TELL."""
    slower, faster = (labels_with(release.levels, verdict) for verdict in (REGRESSED, BETTER))
    if release.whole.verdict == CANNOT_TELL:
        if found := [_labels_text(labels) for labels in (slower, faster) if labels]:
            yield f"Beyond the threshold at single levels only: {'; '.join(found)}."
        return
    for change, labels in (("Slower", slower), ("Faster", faster)):
        if labels:
            yield f"{change} in {release.names.new}: {_labels_text(labels)}."


def _level_line(users: int, comparison: Comparison) -> str:
    who = units.plural(users, "user")
    if comparison.verdict == INVALID:
        return f"{who}: {INVALID}, not judged: {'; '.join(comparison.reasons)}."
    known = _known(comparison.total)
    more = comparison.further_runs
    tail = (
        f"; {units.plural(more, 'more run')} a side would be needed"
        if more and comparison.verdict == CANNOT_TELL
        else ""
    )
    return f"{who}: {'; '.join(known)}{tail}." if known else f"{who}: nothing could be compared."


def _known(label: LabelComparison | None) -> list[str]:
    """Return the changes of average and p95, and of every other metric that makes the level REGRESSED."""
    if label is None:
        return []
    others = (one for one in label.metrics if one.verdict == REGRESSED and one.metric not in OF_LABELS)
    metrics = (*map(label.of, OF_LABELS), *others)
    return [change_text(metric) for metric in metrics if metric and verdict_text(metric)]


def _labels_text(labels: Mapping[str, Sequence[int]]) -> str:
    named = [f"{label} at {users_text(users)}" for label, users in list(labels.items())[:_NAMED]]
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
    parts = (_of_regressions, _of_goals, _of_errors, _of_memory, _of_undecided, _of_setup)
    return list(chain.from_iterable(part(release) for part in parts))


def _of_regressions(release: Release) -> Iterator[str]:
    slower = labels_with(release.levels, REGRESSED)
    if slower and release.whole.verdict == CANNOT_TELL:
        single = sorted({level for levels in slower.values() for level in levels})
        yield f"Measure {users_text(single)} again with REPEAT=5: there, single runs differ by more than the threshold."
        return
    if not slower:
        return
    baseline, contender = release.runs
    found = [cause for users in release.levels for cause in causes(baseline[users], contender[users])]
    named = dict.fromkeys(f"{cause.kind} {cause.name} in {cause.process}" for cause in found)
    yield f"Find the cause of the slower response times: {_labels_text(slower)}." + (
        f" Per request, the profiles show more of: {'; '.join(list(named)[:_NAMED])}."
        if named
        else " Sweeps with PROFILE=1 on both releases show what each request costs."
    )


def _of_goals(release: Release) -> Iterator[str]:
    for goal, users in _fresh_misses(release).items():
        yield f"{goal} is met by {release.names.base} and missed by {release.names.new} at {users_text(users)}."


def _fresh_misses(release: Release) -> dict[str, list[int]]:
    """Return the goals that only the new release misses, with the users at which it does."""
    baseline, contender = map(missed_goals, release.runs)
    fresh = {
        goal: [level for level in users if level in release.runs.base and level not in baseline.get(goal, [])]
        for goal, users in contender.items()
    }
    return {goal: users for goal, users in fresh.items() if users}


def _of_errors(release: Release) -> Iterator[str]:
    failures = new_errors(release.runs)
    for text, users in failures[:_NAMED]:
        yield f"Explain failures that only {release.names.new} has: {text} (at {users})."
    if len(failures) > _NAMED:
        yield f"And {units.plural(len(failures) - _NAMED, 'more kind')} of failures that only {release.names.new} has."


def _of_memory(release: Release) -> Iterator[str]:
    for service in overcommitted(release.runs.new):
        used = f"up to {units.percent_text(service.largest_ratio, 0)} % of its reserved memory"
        yield f"{service.title} used {used} at {users_text(service.users)}: reserve more, or find what uses it."
    if more := grown(release.arounds.new):
        what = f"Memory did not return to its size before the sweep: {', '.join(more)}."
        yield f"{what} A JVM does not release all of it; a longer run shows whether it is a leak."
    for growth in growth_per_run(memory_of_runs(release.new.sweep)):
        if growth.is_suspect:
            sizes_bytes = (growth.per_run_bytes, growth.low_bytes, growth.high_bytes)
            size, low, high = (units.mb_text(size_bytes, 1) for size_bytes in sizes_bytes)
            what = f"its memory grows by {size} MB ({low} to {high}) per run"
            yield f"{growth.process} is a leak suspect: {what}. Run it for longer."
    for long_run_growth in release.long.observed.growths if release.long else ():
        if long_run_growth.verdict == GROWS:
            yield f"In the long run the {growth_text(long_run_growth)}. Find what grows."


def _of_undecided(release: Release) -> Iterator[str]:
    """Yield what decides the levels with CANNOT TELL: other runs instead of the DOUBTFUL ones, or more runs."""
    unsure = {users: found for users, found in release.levels.items() if found.verdict == CANNOT_TELL}
    doubtful: dict[str, list[int]] = {}
    for users in unsure:
        runs = (*release.runs.base[users], *release.runs.new[users])
        for why in dict.fromkeys("; ".join(run.verdict.reasons) for run in runs if run.verdict and run.is_doubtful):
            doubtful.setdefault(why, []).append(users)
    for why, users_of in doubtful.items():
        yield f"Measure {users_text(users_of)} again: runs are {DOUBTFUL} ({why})."
    known = {users for users_of in doubtful.values() for users in users_of}
    if noisy := [users for users in unsure if users not in known]:
        more = max(unsure[users].further_runs or 0 for users in noisy)
        how = f"{units.plural(more, 'more run')} a side would be needed" if more else "repeat both sweeps with REPEAT=5"
        at = users_text(noisy)
        yield f"At {at} the change cannot be distinguished from noise: {how}, alternating between the releases."


def _of_setup(release: Release) -> Iterator[str]:
    if found := settings_of(release):
        names = ", ".join(difference.name for difference in found[: 2 * _NAMED])
        yield f"The set-up differs ({names}): check that only the release explains the changes."
    if changed := changed_facts(*release.infrastructures):
        more = f"; and {units.plural(len(changed) - _NAMED, 'more setting')}" if len(changed) > _NAMED else ""
        yield f"The infrastructure differs: {'; '.join(changed[:_NAMED])}{more}."


def settings_of(release: Release) -> tuple[Difference, ...]:
    """Return the settings that differ between the runs of the common levels; users and load are equal there."""
    baseline, contender = ([run for users in release.levels for run in side[users]] for side in release.runs)
    return setup_differences(baseline, contender)


def overview_lines(release: Release) -> list[tuple[str, str]]:
    """Return what was tested as (name, value) pairs."""
    record = record_of(release.new)
    run = next(iter(release.new.sweep.records), None)
    lines = [("plan", f"{record.plan}: {run.plan_title}" if run else record.plan)]
    for name, found_sweep in zip(reversed(release.names), (release.new, release.base), strict=True):
        runs = found_sweep.sweep.records
        started = f", started {min(one.started_at for one in runs)}" if runs else ""
        profile = f", profile {runs[0].profile} ({runs[0].profile_title})" if runs else ""
        levels = users_text(level.users for level in found_sweep.sweep.levels)
        count = units.plural(len(found_sweep.sweep.runs), "run")
        lines.append((name, f"{record_of(found_sweep).id}: {levels}, {count}{profile}{started}"))
    if run:
        where = f"{run.system}, started by the harness" if run.is_embedded else f"{run.target}, already running"
        lines.append(("system", where))
    return lines
