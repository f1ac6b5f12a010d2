"""`lth tune`: find out which settings matter, by a designed experiment on this machine."""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from harness.base import units
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.install.before_setup import needs_set_up
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.cli.options import FOLDERS, FOLLOWED, PUBLISHED, of_equal_runs, take, take_argument
from harness.experiment.arguments import (
    budget_of,
    equal_load,
    own_arguments,
    record_fields,
)
from harness.experiment.counting import results_of
from harness.experiment.execute import InChildren
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Runner, Written, rewritten
from harness.experiment.sides import ReadySide, SideFiles, SideText, ready_side, what_runs
from harness.experiment.start import ExperimentParts, get_ready, log_end, run_experiment
from harness.experiment.worktree import build_side, working_copy
from harness.history.trend import Gauge
from harness.kinds.trust.known import known, known_text
from harness.kinds.trust.power import change_text
from harness.kinds.tune.design import FULL_MOST, REPEAT_MOST, FactorDesign, designs, repeat_that_finds
from harness.kinds.tune.factors import Cell, Factor, assignments, combination_count, parse_factors, set_text
from harness.kinds.tune.outcome import TuneOutcome, outcome_of
from harness.kinds.tune.record import TuneRecord, with_rest_apart
from harness.kinds.tune.steps import TuneExperiment
from harness.kinds.tune.text import headline
from harness.live.watchers import watcher_options
from harness.metrics.metric import Metric, compared_metrics, parse_metric
from harness.plan.load.model import Load, load_record
from harness.run.arguments import changed, refuse_empty
from harness.run.context import check_target
from harness.run.preflight import check_request
from harness.run.request import Request
from harness.site.html_option import publish

_METRIC = "p90"
_EPILOG = f"""\
examples:
  lth tune --set 'plugin_threads=30,60,100 dao_max_active=50,80' --users 50 --duration 60
  lth tune --set 'plugin_threads=2,60 log_level=WARN,INFO' --metric average --max 30m
  lth tune --plan thruzero --set 'max_threads=50,200 accept_count=10,100 gc=G1,Parallel'   all 8 combinations
  lth tune … --resume                                            resumes what was interrupted or killed

The first value of each setting is the baseline. Up to {FULL_MOST} combinations all run, of more a part: in random
order, in blocks with one more run of the baseline each, after one warm-up run. Each run has a system of its own.
The report has the effect of each setting and of each pair of settings with intervals, the scatter of the runs, the best
values with how sure that is, and what to try next. lth help tune.md explains it.

exit codes: 0 success; 2 wrong use, nothing was measured; 3 the runs are INVALID; 70 an error of the harness itself;
130 interrupted, the report is written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth tune`."""
    parser.description = "Report which settings matter and which values are best, from a designed experiment."
    parser.epilog = _EPILOG
    take(parser, f"set/values metric target {of_equal_runs()} repeat max note {PUBLISHED} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Run or resume the experiment and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole experiment")
    factors = parse_factors(options.set or "")
    metric = parse_metric(
        options.metric or _METRIC, "--metric", [one for one in compared_metrics() if not one.is_share]
    )
    repeat = units.parse_whole_number(options.repeat, "--repeat", 1, REPEAT_MOST) if options.repeat else None
    budget_s = budget_of(options)
    with Interrupts() as interrupts, ExitStack() as stack:
        files = working_copy(options.home, options.build)
        sides = _checked_sides(factors, options, files)
        load = equal_load(sides[0].request.plan, options)
        for side in sides:
            check_request(side.request, load)
            if side.request.target:
                check_target(side.request.target)
        experiments = Experiments(TuneRecord, options.reports)
        guess_s = experiments.guess_s(sides[0].request.plan.name)
        design = _design(factors, repeat, load, budget_s, guess_s)
        for cell in design.cells:
            _side(factors, cell, options, files)
        record = _record(options, sides[0], load, _Experiment(factors, metric, design, repeat))
        needs_set_up()
        guardian = stack.enter_context(Guardian())
        needed_s = (design.run_count + 1) * (record.planned_s + guess_s)
        log(f"design: {_design_text(factors, design)}; about {units.duration_text(needed_s)}")
        log(f"proposed: {_proposal(sides[0].request, load, _Experiment(factors, metric, design, repeat), options)}")
        for side in sides:
            build_side(side, guardian)
        requests = [side.request for side in sides]
        get_ready(requests, options.reports)
        hidden = [secret for request in requests for secret in request.hidden]
        children = stack.enter_context(followed.children(interrupts, guardian, hidden))
        folders = {"reports": experiments.reports, "home": options.home, "build": options.build}
        return run_experiment(
            record, options, stack,
            ExperimentParts(
                lambda files, _: TuneExperiment(files, folders),
                lambda *_: InChildren(children, own_arguments(options)),
                lambda runner: _close(runner, options), guess_s, prepare=_with_rest_apart,
            ),
        )  # fmt: skip


@dataclass(frozen=True)
class _Experiment:
    """The experiment of the command line, with the design that was chosen."""

    factors: tuple[Factor, ...]
    metric: Metric
    design: FactorDesign
    repeat: int | None


def _side(factors: Sequence[Factor], cell: Cell, options: argparse.Namespace, files: SideFiles) -> ReadySide:
    """Return a combination, resolved like lth run does; UsageError when it cannot run."""
    text = SideText(set_text(factors, cell), target=options.target, changes=tuple(assignments(factors, cell)))
    return ready_side("--set", text, changed(options, set=None), files)


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
                raise UsageError(f"--set: {what}", "give each value once")
    return sides


def _chance() -> random.Random:
    """Return the source of the random order."""
    return random.Random()


def _design(
    factors: Sequence[Factor], repeat: int | None, load: Load, budget_s: float | None, guess_s: float
) -> FactorDesign:
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
        f"--max={units.duration_text(budget_s)} is too short: with the warm-up run, {len(design.cells)} of "
        f"{combination_count(factors)} combinations are {design.run_count + 1} runs of about "
        f"{units.duration_text(each_s)}, {units.duration_text(needed_s)} together",
        f"give --max={round(needed_s / 60 + 0.5)}m, fewer values, or a shorter --duration",
    )


def _design_text(factors: Sequence[Factor], design: FactorDesign) -> str:
    count, all_count = len(design.cells), combination_count(factors)
    what = f"all {count} combinations" if count == all_count else f"{count} of {all_count:,} combinations"
    blocks = units.plural(len(design.blocks), "block")
    return f"{what}, {units.plural(design.repeat, 'time')}, {design.run_count} runs in {blocks}"


def _proposal(request: Request, load: Load, experiment: _Experiment, options: argparse.Namespace) -> str:
    """Return how often the combinations must run to see an effect as large as the metric's threshold, in words."""
    plan, metric = request.plan, experiment.metric
    noise = known(options.reports, plan.name, load_record(load, plan.load), request.profile.name)
    assert load.duration_s is not None
    variance = noise.variance(metric, load.duration_s) if noise else None
    if not noise or variance is None:
        return known_text(noise, plan.name)
    threshold = plan.thresholds.of(metric)
    distance, cells = Gauge(metric, threshold).least, len(experiment.design.cells)
    repeat = repeat_that_finds(experiment.factors, cells, variance, distance, plan.thresholds.alpha)
    seen = f"an effect of {change_text(threshold)} in {metric.name} ({noise.test})"
    return f"--repeat={repeat} finds {seen}" if repeat else f"longer runs: no --repeat up to {REPEAT_MOST} finds {seen}"


def _record(options: argparse.Namespace, baseline: ReadySide, load: Load, experiment: _Experiment) -> TuneRecord:
    """Return the record of a new experiment, without a name."""
    fields = record_fields(baseline.request, load, baseline.request.profile.overrun_s, options, ("set",))
    return TuneRecord(
        **fields,
        factors=experiment.factors,
        cells=experiment.design.cells,
        blocks=experiment.design.blocks,
        repeat=experiment.repeat,
        metric_name=experiment.metric.name,
    )


def _with_rest_apart(files: ExperimentFiles, record: TuneRecord) -> TuneRecord:
    counted = outcome_of(record, results_of(files, record)).counted
    return with_rest_apart(record, {one.run.step for one in counted})


def _close(runner: Runner[TuneRecord, TuneOutcome], options: argparse.Namespace) -> int:
    """Print the result, publish the report, and return the exit code."""
    outcome = runner.outcome
    log_end(outcome.record, runner.design.files, headline(outcome), is_open=bool(outcome.steps_left))
    publish(runner.design.files.report, options)
    return outcome.exit_code


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    outcome = rewritten(TuneExperiment(files, {}), Experiments(TuneRecord, options.reports))
    return Written((headline(outcome),), outcome.exit_code)
