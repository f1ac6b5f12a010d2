"""`lth bisect`: find the commit, version or value that made a metric worse, by runs on this machine."""

from __future__ import annotations

import argparse
import shlex
from contextlib import ExitStack

from harness.base import git
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
    refuse_short_budget,
)
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Runner, Written, rewritten
from harness.experiment.sides import ReadySide, SideFiles, SideText, what_runs
from harness.experiment.start import ExperimentParts, get_ready, log_end, run_experiment
from harness.experiment.worktree import load_before_checkout, working_copy
from harness.history.files import entries_of
from harness.kinds.bisect.build import Builder, BuildingFirst
from harness.kinds.bisect.design import Bisection
from harness.kinds.bisect.noise import noise_of
from harness.kinds.bisect.outcome import BisectOutcome
from harness.kinds.bisect.record import BisectRecord, Candidate
from harness.kinds.bisect.text import headline
from harness.kinds.tune.factors import parse_factors
from harness.live.watchers import watcher_options
from harness.metrics.metric import Metric, compared_metrics, parse_metric
from harness.run.arguments import changed, refuse_empty
from harness.run.set_values import split_text
from harness.site.html_option import publish

_METRIC = "p90"
_SHORT = 7
# The warm-up run, and each end once.
_RUNS_LEAST, _ENDS = 3, "a run of both ends"
_EPILOG = """\
examples:
  lth bisect --good v1.4 --metric p95 --max 3h             which commit since v1.4
  lth bisect --good v1.4 --bad v1.5 --plan shop --duration 60
  lth bisect --set version=1.0,1.1,1.2,1.3                 which version, of a setting of the system
  lth bisect --good v1.4 --profile                         also reports what grew inside the system
  lth bisect … --resume                                    resumes what was interrupted or killed

Commits are those along first parents. Each is run as in lth ab: its plans/, env/ and systems/, with the profile's
build command, which runs once. One that does not build is skipped. Each run is where it is expected to show most per
minute. It ends when one commit is 95 % probable, or several, or when both ends are equal.
lth help bisect.md explains it.

exit codes: 0 success; 2 wrong use, nothing was measured; 3 the runs are INVALID; 70 an error of the harness itself;
130 interrupted, the report is written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth bisect`."""
    parser.description = "Report which commit, version or value changed a metric, and how sure that is."
    parser.epilog = _EPILOG
    take(parser, f"good bad set/bisect metric {of_equal_runs()} max note {PUBLISHED} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Run or resume the bisection and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole bisection")
    metric = parse_metric(
        options.metric or _METRIC, "--metric", [one for one in compared_metrics() if not one.is_share]
    )
    budget_of(options)  # a wrong one is named before the commits
    candidates = _candidates(options)
    bisections = Experiments(BisectRecord, options.reports)
    files = working_copy(options.home, options.build)
    _check_budget(options, candidates[0], files, bisections)
    with Interrupts() as interrupts, ExitStack() as stack:
        guardian = Guardian()
        stack.callback(guardian.close)
        if candidates[0].commit:
            needs_set_up()  # a check-out needs it
        builder = Builder(options, files, lambda plan: equal_load(plan, options), guardian, interrupts)
        good = builder.side("--good", candidates[0])
        ends = [good, builder.side("--bad", candidates[-1], good)]
        if not candidates[0].commit:
            _check_values(builder, candidates, good)
        guess_s = bisections.guess_s(good.request.plan.name)
        record = _record(options, good, candidates, metric)
        refuse_short_budget(options, record.planned_s + guess_s, _RUNS_LEAST, _ENDS)
        needs_set_up()
        stack.enter_context(guardian)
        log(f"{len(candidates) - 1} candidates from {candidates[0].text} to {candidates[-1].text}")
        for side in ends:
            builder.build(side)
        requests = [side.request for side in ends]
        get_ready(requests, options.reports)
        hidden = [secret for request in requests for secret in request.hidden]
        children = stack.enter_context(followed.children(interrupts, guardian, hidden))
        return run_experiment(
            record, options, stack,
            ExperimentParts(
                lambda files, record: Bisection(
                    files, bisections.reports, lambda index: builder.folders(record.candidates[index])
                ),
                lambda _, record: BuildingFirst(
                    children, own_arguments(options), builder=builder, candidates=record.candidates, good=good
                ),
                lambda runner: _close(runner, options),
                guess_s,
            ),
        )  # fmt: skip


def _check_budget(
    options: argparse.Namespace, first: Candidate, files: SideFiles, bisections: Experiments[BisectRecord]
) -> None:
    """Raise a UsageError for a budget that is too short, as far as it is known before a check-out."""
    if budget_of(options) is None:
        return
    parts = SideText(first.text, ref=first.commit)
    if load := load_before_checkout("--good", parts, files, changed(options, set=first.settings or None)):
        refuse_short_budget(options, load.length_s + bisections.guess_s(load.plan), _RUNS_LEAST, _ENDS)


def _candidates(options: argparse.Namespace) -> tuple[Candidate, ...]:
    """Return what to test, the good one first: the commits, or the values of the setting that has several."""
    words = split_text(options.set or "")
    listed = [word for word in words if "," in word]
    common = shlex.join(word for word in words if word not in listed)
    if not options.good:
        if len(listed) != 1:
            raise UsageError(
                "--good is missing", "give --good=v1.4, or one setting with values: --set=version=1.0,1.1,1.2"
            )
        (factor,) = parse_factors(listed[0])
        texts = [factor.assignment(level) for level in range(len(factor.values))]
        return tuple(Candidate(text, settings=f"{common} {shlex.quote(text)}".lstrip()) for text in texts)
    if listed:
        raise UsageError(f"--good={options.good} and --set={listed[0]}: commits or values", "leave one of them out")
    good, bad = (_commit(options, name) for name in ("good", "bad"))
    commits = git.first_parents(options.home, good, bad)
    names = f"--good={options.good} and --bad={options.bad}"
    if good == bad:
        raise UsageError(f"{names} are the same commit", "give an earlier --good")
    if commits is None and git.first_parents(options.home, bad, good):
        raise UsageError(f"{names} are exchanged: --good is after --bad", "exchange them")
    if commits is None:
        raise UsageError(
            f"the history of --bad={options.bad} does not contain --good={options.good}", "give an ancestor"
        )
    first = Candidate(good[:_SHORT], git.subject_of(options.home, good), good, common)
    return (first, *(Candidate(one.commit[:_SHORT], one.text, one.commit, common) for one in commits))


def _commit(options: argparse.Namespace, name: str) -> str:
    ref = getattr(options, name)
    commit = git.commit_of(options.home, ref)
    if commit is None:
        raise UsageError(f"--{name}={ref}: no commit that git knows here", "give a branch, a tag or a commit")
    return commit


def _check_values(builder: Builder, candidates: tuple[Candidate, ...], good: ReadySide) -> None:
    """Raise a UsageError for a value that cannot run, or runs the same as the one before."""
    before = good
    for candidate in candidates[1:]:
        side = builder.side("--set", candidate)
        if what_runs(side) == what_runs(before):
            raise UsageError(f"--set: {before.side.text} and {side.side.text} run the same", "give each value once")
        before = side


def _record(
    options: argparse.Namespace, good: ReadySide, candidates: tuple[Candidate, ...], metric: Metric
) -> BisectRecord:
    """Return the record of a new bisection, without a name."""
    load = equal_load(good.request.plan, options)
    fields = record_fields(good.request, load, good.request.profile.overrun_s, options, ("set",))
    folder = options.reports.parent if options.reports.name == BisectRecord.report_kind.folder else options.reports
    earlier = folder / good.request.plan.name
    noise = noise_of(entries_of(earlier) if earlier.is_dir() else (), fields["load"], metric)
    return BisectRecord(
        **fields,
        candidates=candidates,
        metric_name=metric.name,
        noise_ratio=round(noise.ratio, 4),
        noise_log_width=round(noise.log_width, 3),
    )


def _close(runner: Runner[BisectRecord, BisectOutcome], options: argparse.Namespace) -> int:
    """Print the result, publish the report, and return the exit code."""
    outcome = runner.outcome
    log_end(outcome.record, runner.design.files, headline(outcome))
    publish(runner.design.files.report, options)
    return outcome.exit_code


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    records = Experiments(BisectRecord, options.reports)
    outcome = rewritten(Bisection(files, records.reports, lambda _: {}), records)
    return Written((headline(outcome),), outcome.exit_code)
