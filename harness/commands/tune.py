"""`scripts/tune`: find out which settings matter, by a designed experiment on this machine."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from harness.ab.equal_runs import FIRST_GUESS_S, LENGTH, SLACK_S, add_folders, add_length, equal_load, update_summaries
from harness.ab.report_files import write_missing_reports
from harness.ab.side import ReadySide, SideFiles, SideText, ready_side, what_runs
from harness.ab.worktree import build_side, working_copy
from harness.base import git, toolchain, units
from harness.base.before_setup import needs_set_up
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.interrupts import Interrupts
from harness.base.java import jmeter_java_version
from harness.base.log import log
from harness.live.watchers import add_watchers, watcher_options
from harness.metrics.metric import Metric, compared_metrics, parse_metric
from harness.plan.load import Load, load_record
from harness.run import kinds
from harness.run.arguments import add_traffic, make_command, refuse_empty
from harness.run.directory import check_space
from harness.run.preflight import check_request
from harness.run.request import Names
from harness.tune.design import FULL_MOST, REPEAT_MOST, Design, designs
from harness.tune.factors import Cell, Factor, assignments, combination_count, parse_factors, set_text
from harness.tune.files import TuneFiles, last_tune, locked, reserve_tune, tune_guess_s
from harness.tune.outcome import outcome_of
from harness.tune.record import FORMAT_VERSION, RUNNING, TuneRecord, with_rest_apart
from harness.tune.report_files import results_of
from harness.tune.runner import TuneRunner

REPORTS = toolchain.ROOT / "reports" / kinds.EXPERIMENT.folder
_METRIC = "p90"
_EPILOG = f"""\
examples:
  scripts/tune --set 'plugin_threads=30,60,100 dao_max_active=50,80' --users 50 --duration 60
  scripts/tune --set 'plugin_threads=2,60 log_level=WARN,INFO' --metric average --max 30m
  scripts/tune --plan thruzero --set 'max_threads=50,200 accept_count=10,100 gc=G1,Parallel'   all 8 combinations
  scripts/tune … --resume                                            resumes what was interrupted or killed

The first value of each setting is the baseline. Up to {FULL_MOST} combinations all run, of more a part: in random
order, in blocks with one more run of the baseline each, after one warm-up run. Each run has a system of its own.
The report has the effect of each setting and of each pair of settings with intervals, the scatter of the runs, the best
values with how sure that is, and what to try next. docs/tune.md explains it.

exit codes: 0 success; 2 wrong use, nothing was measured; 3 the runs are INVALID; 70 an error of the harness itself;
130 interrupted, the report is written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `scripts/tune`."""
    parser.description = "Report which settings matter and which values are best, from a designed experiment."
    parser.epilog = _EPILOG
    option = parser.add_argument
    option("--set", help="settings of the system or properties of the plan with the values to try, baseline first")
    option("--metric", help=f"what the settings are judged by: average, p90, throughput, … ({_METRIC})")
    add_traffic(parser)
    add_length(parser)
    option("--repeat", help="runs of each combination (2; of a part of the combinations 1; more when these are few)")
    option("--max", metavar="TIME", help="time limit of all runs, such as 2h; the design must fit (none)")
    option("--resume", action="store_true", help="resume the last experiment of the plan, which was interrupted")
    add_watchers(parser)
    add_folders(parser, REPORTS, "folder of the experiments and their runs (reports/tune/)")


def run(options: argparse.Namespace) -> int:
    """Run or resume the experiment and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole experiment")
    factors = parse_factors(options.set or "")
    metric = parse_metric(options.metric or _METRIC, "METRIC", [one for one in compared_metrics() if not one.is_share])
    repeat = units.parse_whole_number(options.repeat, "REPEAT", 1, REPEAT_MOST) if options.repeat else None
    budget_s = units.parse_duration_s(options.max, "MAX") if options.max else None
    with Interrupts() as interrupts, ExitStack() as stack:
        files = working_copy(options.home, options.build)
        sides = _checked_sides(factors, options, files)
        load = equal_load(sides[0].request.plan, options)
        for side in sides:
            check_request(side.request, load)
        guess_s = tune_guess_s(options.reports, sides[0].request.plan.name, FIRST_GUESS_S)
        design = _design(factors, repeat, load, budget_s, guess_s)
        for cell in design.cells:
            _side(factors, cell, options, files)
        record = _record(options, sides[0], load, _Experiment(factors, metric, design, repeat, budget_s))
        needs_set_up()
        guardian = stack.enter_context(Guardian())
        needed_s = (design.run_count + 1) * (record.planned_s + guess_s)
        log(f"design: {_design_text(factors, design)}; about {units.duration_text(needed_s)}")
        for side in sides:
            build_side(side, guardian)
        jmeter_java_version()
        toolchain.ensure_jmeter()
        check_space(options.reports, 0)
        stack.enter_context(locked(options.reports))
        if options.resume:
            stored = last_tune(options.reports, record.plan)
            record = _resumed(stored, record)
        else:
            stored = reserve_tune(options.reports, record.plan)
            record = replace(record, name=stored.name)
        hidden = [secret for side in sides for secret in side.request.hidden]
        children = stack.enter_context(followed.children(interrupts, guardian, hidden))
        with interrupts.deferred():
            code = TuneRunner(options, record, stored, children).run()
            update_summaries(options.reports, REPORTS)
        return code


@dataclass(frozen=True)
class _Experiment:
    """The experiment of the command line, with the design that was chosen."""

    factors: tuple[Factor, ...]
    metric: Metric
    design: Design
    repeat: int | None
    budget_s: float | None


def _side(factors: Sequence[Factor], cell: Cell, options: argparse.Namespace, files: SideFiles) -> ReadySide:
    """Return a combination, resolved like scripts/run does; UsageError when it cannot run."""
    text = SideText(set_text(factors, cell), changes=tuple(assignments(factors, cell)))
    return ready_side("SET", text, Names(options.plan, options.env), files)


def _checked_sides(factors: Sequence[Factor], options: argparse.Namespace, files: SideFiles) -> list[ReadySide]:
    """Return the baseline, and each other value with the baseline's values of the other settings.

    UsageError when one of them cannot run, or runs the same as another one.
    """
    baseline = (0,) * len(factors)
    cells = [baseline]
    for index, factor in enumerate(factors):
        cells += [(*baseline[:index], level, *baseline[index + 1 :]) for level in range(1, len(factor.values))]
    sides = [_side(factors, cell, options, files) for cell in cells]
    for index, side in enumerate(sides):
        for other in sides[:index]:
            if what_runs(side) == what_runs(other):
                what = f"{other.side.text} and {side.side.text} run the same"
                raise UsageError(f"SET: {what}", "give each value once")
    return sides


def _chance() -> random.Random:
    """Return the source of the random order."""
    return random.Random()


def _design(
    factors: Sequence[Factor], repeat: int | None, load: Load, budget_s: float | None, guess_s: float
) -> Design:
    """Return the most thorough design that fits into the budget; UsageError when none does.

    A run takes about `guess_s` beside its load.
    """
    assert load.duration_s is not None
    each_s = load.duration_s + guess_s
    for design in designs(factors, repeat, _chance()):
        needed_s = (design.run_count + 1) * each_s
        if budget_s is None or needed_s <= budget_s:
            return design
    assert budget_s is not None
    raise UsageError(
        f"MAX={units.duration_text(budget_s)} is too short: with the warm-up run, {len(design.cells)} of "
        f"{combination_count(factors)} combinations are {design.run_count + 1} runs of about "
        f"{units.duration_text(each_s)}, {units.duration_text(needed_s)} together",
        f"give MAX={round(needed_s / 60 + 0.5)}m, fewer values, or a shorter DURATION",
    )


def _design_text(factors: Sequence[Factor], design: Design) -> str:
    count, all_count = len(design.cells), combination_count(factors)
    what = f"all {count} combinations" if count == all_count else f"{count} of {all_count:,} combinations"
    blocks = units.plural(len(design.blocks), "block")
    return f"{what}, {units.plural(design.repeat, 'time')}, {design.run_count} runs in {blocks}"


def _record(options: argparse.Namespace, baseline: ReadySide, load: Load, experiment: _Experiment) -> TuneRecord:
    """Return the record of a new experiment, without a name."""
    assert load.duration_s is not None
    plan, profile = baseline.request.plan, baseline.request.profile
    given = {name: getattr(options, name) for name in LENGTH}
    if plan.load.auto_most_s is not None and not given["duration"]:
        given["duration"] = units.number_text(load.duration_s)
    arguments = {"plan": options.plan, "env": options.env, **given}
    names = ("set", "metric", "plan", *LENGTH, "repeat", "max", "env")
    checkout = git.facts(toolchain.ROOT)
    return TuneRecord(
        format_version=FORMAT_VERSION,
        name="",
        plan=plan.name,
        command=make_command("tune", {name: getattr(options, name) for name in names}),
        factors=experiment.factors,
        cells=experiment.design.cells,
        blocks=experiment.design.blocks,
        repeat=experiment.repeat,
        metric_name=experiment.metric.name,
        arguments=tuple(f"--{name}={value}" for name, value in arguments.items() if value),
        load=load_record(load, plan.load),
        planned_s=load.duration_s,
        limit_s=load.duration_s + profile.overrun_s + SLACK_S,
        budget_s=experiment.budget_s,
        thresholds=plan.thresholds,
        state=RUNNING,
        runs=(),
        started_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        spent_s=0.0,
        git_commit=checkout.commit,
        git_changed=checkout.is_changed,
    )


def _resumed(files: TuneFiles, new: TuneRecord) -> TuneRecord:
    """Return the record of an earlier experiment, to continue with the budget of `new`.

    UsageError when no run is left, or when its settings or its load differ from those of `new`.
    """
    stored = files.read()
    if stored.settings != new.settings:
        todo = f"repeat its command: {stored.command} RESUME=1"
        raise UsageError(f"--resume: {stored.id} has other settings or another load", todo)
    write_missing_reports(files)
    outcome = outcome_of(stored, results_of(files, stored))
    if not outcome.steps_left:
        raise UsageError(f"--resume: {stored.id} is finished", "leave it out to start a new experiment")
    log(f"{stored.id}: resumed after {units.plural(len(stored.runs), 'run')}")
    apart = with_rest_apart(stored, {one.step for one in outcome.counted})
    return replace(apart, budget_s=new.budget_s, state=RUNNING, stop_reason="", resumed_at=len(stored.runs))
