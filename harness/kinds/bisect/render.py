"""Renders the report of a bisection: the chart of the probabilities, and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.base import units
from harness.compare.comparison import CANNOT_TELL
from harness.compare.comparison_warnings import warnings_of
from harness.compare.render import WEAKENED_BY_MOST, Heads, cause_table, run_link
from harness.kinds.bisect.outcome import BisectOutcome
from harness.kinds.bisect.posterior import LikelyChange
from harness.kinds.bisect.text import CHART, change_text, result_of
from harness.report.change_text import within_text
from harness.report.charts import svg
from harness.report.charts.axes import Axis
from harness.report.charts.chart import Chart
from harness.report.first_screen import first_screen
from harness.report.markdown import image
from harness.report.setup import load_text
from harness.report.tables import cell, in_comment, table
from harness.report.template import filled

FILE_NAME = re.compile(re.escape(CHART))
_SUSPECTS_SHOWN, _PROBABILITY_SHOWN = 6, 0.01
_TICKS_MOST = 6
_PERCENT_TICKS = tuple((step / 4, f"{25 * step}") for step in range(5))
_SKIPPED_SHOWN = 5


def bisect_charts(outcome: BisectOutcome) -> tuple[Chart, ...]:
    """Return the chart of the probability of each commit; none before both ends were run."""
    if outcome.found is None or not outcome.decision.suspects:
        return ()
    shares, candidates = outcome.found.commits, outcome.record.candidates
    step = -(-len(shares) // _TICKS_MOST)
    tick_px = (svg.RIGHT - svg.LEFT) * step / len(shares)
    ticks = ((float(k), svg.shortened(candidates[k].text, tick_px)) for k in range(0, len(shares), step))
    x = Axis(-0.5, len(shares) - 0.5, tuple(ticks))
    plot = svg.Plot(x, Axis(0.0, 1.0, _PERCENT_TICKS), svg.HEAD_PX + 12, svg.HEIGHT - svg.FOOT_PX)
    bars = [svg.Bar(k - 0.4, k + 0.4, share) for k, share in enumerate(shares) if share > _PROBABILITY_SHOWN / 2]
    body = [plot.axes("from good to bad"), plot.bars(bars, svg.MAIN, svg.LeastSize(3, 1))]
    named = [(candidates[k].text, share) for k, share in enumerate(shares) if share > 0.05]
    named += [("Several", outcome.found.several), ("None", outcome.found.none)]
    about = " ".join(f"{name}: {units.percent_text(share, 0)} %." for name, share in named)
    return (Chart(CHART, svg.document("Which one made the change", "%, probability", about, svg.HEIGHT, body)),)


def bisect_report(outcome: BisectOutcome, charts: Sequence[Chart], notes: str) -> str:
    """Return the report as Markdown; `notes` is the text of its notes block."""
    record, result = outcome.record, result_of(outcome)
    of_runs = warnings_of([one.result for one in outcome.runs if one.result])
    warnings = [cell(text) for text in (*_warnings(outcome, result.headline), *of_runs)]
    ends = record.candidates[0].title, record.candidates[-1].title
    return filled(
        "harness.kinds.bisect",
        "bisect.md.j2",
        id=record.id,
        command=in_comment(record.command),
        title=cell(result.title),
        first_screen=first_screen(
            result,
            chart="".join(image(chart, record.name) for chart in charts),
            table=_suspect_table(outcome),
            weakened_by=warnings[:WEAKENED_BY_MOST],
        ),
        cause_table=cause_table(outcome.causes, Heads("before", "after")),
        part_table=_part_table(outcome),
        candidate_table=_candidate_table(outcome),
        run_table=_run_table(outcome),
        good=cell(ends[0]),
        bad=cell(ends[1]),
        count=len(record.candidates) - 1,
        metric=cell(record.metric.phrase),
        threshold=units.percent_text(record.thresholds.of(record.metric), 1),
        load=cell(load_text(record.load)),
        expected=units.percent_text(record.noise_ratio, 1),
        noise=units.percent_text(outcome.found.noise_ratio, 1) if outcome.found else "",
        warnings=warnings[WEAKENED_BY_MOST:],
        notes=notes,
    )


def _warnings(outcome: BisectOutcome, headline: str) -> Iterator[str]:
    """Yield why it ended early, and which candidates share the probability of the next one."""
    reason = outcome.record.stop_reason.rstrip(".")
    if reason and reason not in headline:
        yield f"The bisection ended early: {reason}."
    if outcome.work and outcome.work not in headline:
        yield f"TOTAL of both ends is of other work, which is a part of its change: {outcome.work}."
    candidates, skipped = outcome.record.candidates, sorted(outcome.skipped)
    if skipped:
        shown = [candidates[k].text for k in skipped[:_SKIPPED_SHOWN]]
        names = ", ".join([*shown, *["…"] * (len(skipped) > _SKIPPED_SHOWN)])
        verb = "was" if len(skipped) == 1 else "were"
        yield f"{names} {verb} skipped, so the commit after it shares its probability: {outcome.skipped[skipped[0]]}"


def _suspect_table(outcome: BisectOutcome) -> str:
    """Return the most probable answers, one per line, with those that are no single commit."""
    record, posterior = outcome.record, outcome.found
    if posterior is None or not outcome.decision.suspects:
        return ""
    rows: list[tuple[float, str, str]] = []
    for one in outcome.decision.suspects[:_SUSPECTS_SHOWN]:
        names = " or ".join(record.candidates[k].title for k in one.positions)
        rows.append((one.probability, names, _change(outcome, one.change) if one.is_closed else ""))
    rows.append((posterior.several, "several commits, or all a little", ""))
    rows.append((posterior.none, "no change", _change(outcome, posterior.whole())))
    shown = sorted((row for row in rows if row[0] >= _PROBABILITY_SHOWN), key=lambda row: -row[0])
    cells = [[units.percent_text(share, 0), cell(name), change] for share, name, change in shown]
    return table(("probability %", "what", f"{record.metric.name}, 95 % interval"), cells, text_columns=3)


def _change(outcome: BisectOutcome, change: LikelyChange) -> str:
    """Return a change with its interval; with CANNOT TELL the largest one either way."""
    if outcome.decision.verdict != CANNOT_TELL:
        return change_text(change)
    most = max(abs(change.low_ratio), abs(change.high_ratio))
    return f"{within_text(most, 0)} %" if within_text(most, 0) else ""


def _part_table(outcome: BisectOutcome) -> str:
    """Return the changes when no single commit made them; empty else."""
    if outcome.found is None or outcome.decision.named or outcome.found.several < 0.5:
        return ""
    names = [candidate.text for candidate in outcome.record.candidates]
    rows = [[cell(names[a]), cell(names[b]), _change(outcome, change)] for a, b, change in outcome.found.parts()]
    return table(("after", "up to", f"{outcome.record.metric.name}, 95 % interval"), rows, text_columns=3)


def _candidate_table(outcome: BisectOutcome) -> str:
    """Return a row for each candidate that was tried."""
    shares, rows = outcome.found.commits if outcome.found else [], []
    for index, candidate in enumerate(outcome.record.candidates):
        mean = outcome.mean_of(index)
        if mean is None and index not in outcome.skipped:
            continue
        count = sum(one.run.candidate == index for one in outcome.counted)
        state = f"skipped: {outcome.skipped[index]}" if index in outcome.skipped else f"{count}"
        share = units.percent_text(shares[index], 0) if shares else ""
        rows.append([cell(candidate.title), cell(state), outcome.record.metric.mean_text(mean), share])
    return table(("commit or value", "runs", outcome.record.metric.title, "probability %"), rows, 2) if rows else ""


def _run_table(outcome: BisectOutcome) -> str:
    metric, rows = outcome.record.metric, []
    for run in outcome.runs:
        counts = "no: the warm-up run" if run.run.is_warm_up else f"no: {run.problem}" if run.problem else "yes"
        name = outcome.record.candidates[run.run.candidate].text
        rows.append([run_link(run.result), cell(name), cell(counts), metric.text(run.value)])
    return table(("run", "commit or value", "counts", metric.title), rows, 3) if rows else ""
