"""Renders the report of an A/B test as Markdown."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from urllib.parse import quote

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.compare.comparison_warnings import profiling_warnings, warnings_of
from harness.compare.interval_chart import interval_chart
from harness.compare.render import WEAKENED_BY_MOST, Heads, cause_table, change_table, run_link, statistics_table
from harness.compare.setup_diff import Difference, setup_differences
from harness.experiment.record import WARM_UP
from harness.experiment.sides import Side
from harness.kinds.ab.outcome import CHART, AbOutcome
from harness.kinds.ab.pairs import Pair, series_of
from harness.kinds.ab.record import A, AbRecord, B
from harness.kinds.ab.rule import ALPHA, LOOKS, PairSeries, level_of
from harness.metrics.metric import Metric, Table, metrics_of
from harness.plan.thresholds import Thresholds
from harness.report.change_text import decimals_of_metric, signed_text
from harness.report.charts.chart import Chart
from harness.report.first_screen import first_screen
from harness.report.markdown import image
from harness.report.profiles import profile_links
from harness.report.run_result import LabelResult, RunResult
from harness.report.setup import load_text
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled

_BRIEF = metrics_of(Table.BRIEF)
_HEADS = Heads(A, B)
_PAIR_HEADS = ("pair", "order", "A", "B", *(f"{metric.title}" for metric in _BRIEF), "counts")


def ab_charts(outcome: AbOutcome) -> tuple[Chart, ...]:
    """Return the chart of the intervals; none before they are known."""
    svg = interval_chart(outcome.rows)
    return (Chart(CHART, svg),) if svg else ()


def ab_report(outcome: AbOutcome, charts: Sequence[Chart], notes: str) -> str:
    """Return the report as Markdown; `notes` is the text of its notes block."""
    record = outcome.record
    undecided = {one.metric for one in outcome.metrics if one.word == CANNOT_TELL}
    sides = {name: [run for pair in outcome.pairs if (run := pair.result(name))] for name in (A, B)}
    warnings = [
        *map(cell, _of_runs(outcome)),
        *map(cell, profiling_warnings(sides[A], sides[B])),
        *(f"{name}: {cell(text)}" for name, runs in sides.items() for text in warnings_of(runs)),
    ]
    return filled(
        "harness.kinds.ab",
        "ab.md.j2",
        id=record.id,
        command=in_comment(record.command),
        title=cell(outcome.result.title),
        first_screen=first_screen(
            outcome.result,
            chart="".join(image(chart, record.name) for chart in charts),
            table=change_table(outcome.rows, _HEADS),
            weakened_by=warnings[:WEAKENED_BY_MOST],
        ),
        sides=[(name, _side_text(record.side(name))) for name in (A, B)],
        load=cell(load_text(record.load)),
        undelivered=[cell(line) for line in record.undelivered],
        statistics_table=statistics_table(outcome.rows),
        level=units.percent_text(1 - level_of(len(outcome.counted)) * record.thresholds.alpha / ALPHA, 2),
        alpha=units.percent_text(record.thresholds.alpha, 0),
        looks=", ".join(map(str, LOOKS)),
        order="in the order A B, B A" if record.seed is None else f"in random order (seed {record.seed})",
        pair_table=table(_PAIR_HEADS, [_pair_row(pair, undecided) for pair in outcome.pairs], 2)
        if outcome.pairs
        else "",
        warm_up=", ".join(
            f"[{cell(one.run)}]({quote(one.run)}.md)" for one in record.runs if one.pair == WARM_UP and one.run
        ),
        label_table=_label_table(outcome.counted, record.thresholds, undecided),
        setting_table=_setting_table(record, sides),
        cause_table=cause_table(outcome.causes, _HEADS),
        profiles=_profiles(outcome.counted),
        warnings=warnings[WEAKENED_BY_MOST:],
        notes=notes,
    )


def _side_text(side: Side) -> str:
    """Return a side's text with its profile and commit where the text does not name them."""
    parts = [f"profile {side.profile}"] if side.profile != side.text else []
    parts += [f"commit {side.commit[:12]}: its plans/, env/ and systems/"] if side.commit else []
    return cell(side.text) + (f" ({cell('; '.join(parts))})" if parts else "")


def _of_runs(outcome: AbOutcome) -> Iterator[str]:
    """Yield why the test ended early, why pairs do not count, and how many runs are DOUBTFUL."""
    reason = outcome.reason.rstrip(".")
    if reason not in outcome.result.headline:
        yield f"The test ended early: {reason}."
    for pair in outcome.pairs:
        if pair.problem and pair.problem != outcome.reason:
            yield f"Pair {pair.number} does not count: {pair.problem.rstrip('.')}."
    runs = [run for pair in outcome.counted for run in (pair.a, pair.b) if run]
    if doubtful := sum(run.is_doubtful for run in runs):
        yield f"{doubtful} of {units.plural(len(runs), 'run')} {'is' if doubtful == 1 else 'are'} DOUBTFUL."


def _pair_row(pair: Pair, undecided: Container[Metric]) -> list[str]:
    """Return a pair with the values of both sides, and the change of metrics that have a verdict."""
    a, b = pair.a, pair.b
    cells = [_change_cell(metric, a.total, b.total, undecided) if a and b else "" for metric in _BRIEF]
    counts = f"no: {cell(pair.problem)}" if pair.problem else "yes"
    return [str(pair.number), "B A" if pair.b_is_first else "A B", run_link(a), run_link(b), *cells, counts]


def _change_cell(metric: Metric, a: LabelResult | None, b: LabelResult | None, undecided: Container[Metric]) -> str:
    baseline, contender = (metric.of(side) if side else None for side in (a, b))
    if baseline is None or contender is None:
        return ""
    change = contender - baseline if metric.is_share else (contender - baseline) / baseline if baseline else None
    return _arrow(metric, (metric.text(baseline), metric.text(contender)), change, baseline, undecided)


def _arrow(
    metric: Metric, values: tuple[str, str], change: float | None, baseline: float, undecided: Container[Metric]
) -> str:
    """Return both values and the change of a metric, which has none when its verdict is CANNOT TELL."""
    word = CANNOT_TELL if metric in undecided else ""
    shown = signed_text(change, word, decimals_of_metric(metric, baseline, None, None))
    return f"{' → '.join(values)} ({shown})" if shown else " → ".join(values)


def _profiles(pairs: Sequence[Pair]) -> str:
    """Return links to the profiles of the first pair in which both runs have one; empty without any."""
    for pair in pairs:
        if pair.a and pair.b and pair.a.is_profiled and pair.b.is_profiled:
            names = [(side, run.name.rpartition("/")[2], run) for side, run in ((A, pair.a), (B, pair.b))]
            links = ", ".join(f"{side}: {profile_links(name, name, run.profiles)}" for side, name, run in names)
            return f"Where the time went in pair {pair.number}: {links}."
    return ""


def _label_table(pairs: Sequence[Pair], thresholds: Thresholds, undecided: Container[Metric]) -> str:
    """Return a row per label of all runs that count: the mean of each side over the pairs, and its change."""
    runs = [run for pair in pairs for run in (pair.a, pair.b) if run]
    names = list(dict.fromkeys(label.label for run in runs for label in run.labels))
    rows = []
    for name in names:
        found = [(_label(pair.a, name), _label(pair.b, name)) for pair in pairs]
        known = [(a, b) for a, b in found if a and b]
        if known:
            means = {one.metric: one for one in series_of(known, thresholds)}
            rows.append([cell(name), *(_mean_cell(metric, means.get(metric), undecided) for metric in _BRIEF)])
    return table(("label", *(f"{metric.title}" for metric in _BRIEF)), rows) if rows else ""


def _mean_cell(metric: Metric, series: PairSeries | None, undecided: Container[Metric]) -> str:
    if series is None or series.base is None or series.new is None:
        return ""
    change = series.new - series.base if metric.is_share else series.new / series.base - 1
    values = (metric.mean_text(series.base), metric.mean_text(series.new))
    return _arrow(metric, values, change, series.base, undecided)


def _label(run: RunResult | None, name: str) -> LabelResult | None:
    return next((label for label in run.labels if label.label == name), None) if run else None


def _setting_table(record: AbRecord, sides: Mapping[str, Sequence[RunResult]]) -> str:
    commits = [side.commit[:12] if side.commit else "working copy" for side in (record.a, record.b)]
    found = [Difference("plans, env and systems of", *commits)] if commits[0] != commits[1] else []
    found += setup_differences(sides[A], sides[B]) if all(sides.values()) else ()
    rows = [[cell(one.name), cell(one.baseline), cell(one.contender)] for one in found]
    return table(("setting", A, B), rows, text_columns=3) if rows else ""
