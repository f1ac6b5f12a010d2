"""`lth ab`: run two sides alternately on this machine until it is sure whether B is worse than A."""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from harness.base import git, units
from harness.base.config import is_suite
from harness.base.errors import UsageError
from harness.base.guardian import Guardian
from harness.base.install.before_setup import needs_set_up
from harness.base.interrupts import Interrupts
from harness.base.log import log
from harness.base.paths import shown
from harness.base.project import names_in
from harness.cli.options import FOLDERS, FOLLOWED, PUBLISHED, of_equal_runs, take, take_argument
from harness.experiment.arguments import (
    budget_of,
    equal_load,
    own_arguments,
    record_fields,
    refuse_short_budget,
)
from harness.experiment.execute import InChildren
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.runner import Runner, Written, rewritten
from harness.experiment.sides import ReadySide, check_sides, parse_side, ready_side, unknown_ref
from harness.experiment.start import ExperimentParts, get_ready, log_end, run_experiment
from harness.experiment.worktree import build_side, checked_out, load_before_checkout, working_copy
from harness.kinds.ab.message import ab_message, is_due
from harness.kinds.ab.outcome import AbOutcome, headline
from harness.kinds.ab.record import A, AbRecord, B
from harness.kinds.ab.rule import PAIRS_LEAST
from harness.kinds.ab.steps import AbTest
from harness.kinds.trust.known import Proposal, known, known_text
from harness.live.watchers import watcher_options
from harness.notify.recipients import Recipients, recipients_of
from harness.notify.settings import requested
from harness.plan.load.model import Load, load_record
from harness.run.arguments import refuse_empty
from harness.run.context import check_target
from harness.run.preflight import check_request
from harness.site.html_option import publish

# Different orders of the pairs.
_SEEDS = 1_000_000
_RUNS_LEAST = 2 * PAIRS_LEAST + 1
_EXAMPLE = "give two sides, such as --a=delay_ms=10 --b=delay_ms=11"
_EPILOG = """\
examples:
  lth ab --plan lb-nginx --a delay_ms=10 --b delay_ms=11 --users 50 --duration 60
  lth ab --plan folio-checkin --a folio-fameflower --b folio-goldenrod  two profiles
  lth ab --a local --b 'plugin_threads=10 heap_max_mb=1024'            a profile, and the same with other settings
  lth ab --a http://127.0.0.1:8080 --b http://127.0.0.1:8081           two systems that already run
  lth ab --a origin/main --b HEAD --plan lb-nginx --max 30m            two commits
  lth ab --a HEAD --b local                                            the last commit, and your changes since
  lth ab --a delay_ms=10 --b delay_ms=11 --profile                     also reports what grew inside the system
  lth ab --a HEAD --b local --pairs auto                               runs as long as lth trust proposes
  lth ab … --resume                                                    resumes what was interrupted or killed

A side is settings of the system or properties of the plan (name=value), a profile, a target, or a commit, or several of
them: 'HEAD plugin_threads=10'. A side of a commit has the plans/, env/ and systems/ of that commit, run with today's
harness; its system is built below build/ab/. After one warm-up run the sides run in pairs, in random order, each run
with a system of its own. After 4, 6, 8 and 10 pairs the test ends if the answer is sure.
lth help ab.md explains the rule.

exit codes: 0 OK, IMPROVED or CANNOT TELL; 1 REGRESSED, with --sure also CANNOT TELL; 2 wrong use, nothing was measured;
3 the runs are INVALID; 70 an error of the harness itself; 130 interrupted, the report is written.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `lth ab`."""
    parser.description = "Report whether side B is worse than side A, from pairs of runs on this machine."
    parser.epilog = _EPILOG
    take(parser, f"a b set {of_equal_runs()} pairs/ab max sure note {PUBLISHED} {FOLLOWED} {FOLDERS}")
    take(parser.add_mutually_exclusive_group(), "resume new")
    take_argument(parser, "plan", "?")


def run(options: argparse.Namespace) -> int:
    """Run or resume the A/B test and return the exit code."""
    refuse_empty(options)
    followed = watcher_options(options, "the whole A/B test")
    if not options.a or not options.b:
        raise UsageError("A and B are missing" if not (options.a or options.b) else "one side is missing", _EXAMPLE)
    tests = Experiments(AbRecord, options.reports)
    _check_budget(options, tests)
    with Interrupts() as interrupts, ExitStack() as stack:
        guardian = Guardian()
        stack.callback(guardian.close)
        sides = {name: _side(name, text, options, guardian) for name, text in ((A, options.a), (B, options.b))}
        load = _checked(sides, options)
        proposal = _proposal(sides, load, options)
        if proposal and options.pairs:
            load = _checked(sides, options)
        guess_s = tests.guess_s(sides[A].request.plan.name)
        record = replace(
            _record(options, sides, load, guess_s), proposal=proposal.text if proposal and not options.pairs else ""
        )
        needs_set_up()
        stack.enter_context(guardian)
        recipients = _recipients(sides)
        for side in sides.values():
            build_side(side, guardian)
        get_ready([side.request for side in sides.values()], options.reports)
        hidden = [secret for side in sides.values() for secret in side.request.hidden]
        children = stack.enter_context(followed.children(interrupts, guardian, hidden))
        return run_experiment(
            record, options, stack,
            ExperimentParts(
                lambda files, _: AbTest(files, tests.reports, sides),
                lambda *_: InChildren(children, own_arguments(options)),
                lambda runner: _close(runner, recipients, options), guess_s,
            ),
        )  # fmt: skip


def _check_budget(options: argparse.Namespace, tests: Experiments[AbRecord]) -> None:
    """Raise a UsageError for a wrong budget or one that is too short, as far as it is known before a check-out."""
    if budget_of(options) is None or options.pairs:  # a proposal gives the length
        return
    files = working_copy(options.home, options.build)
    for name, text in ((A, options.a), (B, options.b)):
        parts = parse_side(name, text, _profiles(options))
        if load := load_before_checkout(name, parts, files, options):
            refuse_short_budget(options, load.length_s + tests.guess_s(load.plan), _RUNS_LEAST, f"{PAIRS_LEAST} pairs")
            return


def _profiles(options: argparse.Namespace) -> list[str]:
    return [path.stem for path in names_in(options.home, "env", "*.toml") if not is_suite(path)]


def _side(name: str, text: str, options: argparse.Namespace, guardian: Guardian) -> ReadySide:
    """Return a side, checked like lth run does; a commit is checked out."""
    profiles = _profiles(options)
    parts = parse_side(name, text, profiles)
    files = working_copy(options.home, options.build)
    if parts.ref:
        commit = git.commit_of(options.home, parts.ref)
        if commit is None:
            raise unknown_ref(name, parts.ref, profiles)
        needs_set_up()
        files = checked_out(options.home, commit, options.build, guardian)
    return ready_side(name, parts, options, files)


def _recipients(sides: Mapping[str, ReadySide]) -> Recipients | None:
    """Return who gets the result: [notify] of A's profile, else of B's; None without one."""
    for name in (A, B):
        profile = sides[name].request.profile
        if settings := requested(profile.notify, profile.name):
            where = f"env/{profile.name}.toml"
            recipients = recipients_of(settings, os.environ, where)
            for line in recipients.unset:
                log(f"{where} [notify]: {line}, so the result is not sent there")
            return recipients
    return None


def _checked(sides: Mapping[str, ReadySide], options: argparse.Namespace) -> Load:
    """Return the load of both sides; UsageError when they cannot be compared, or cannot be run."""
    a, b = sides[A], sides[B]
    loads = [equal_load(side.request.plan, options) for side in (a, b)]
    check_sides(a, b, *loads)
    for side, load in zip((a, b), loads, strict=True):
        try:
            check_request(side.request, load)
            if side.request.target:
                check_target(side.request.target)
        except UsageError as error:
            raise UsageError(f"{side.title}: {error.what}", error.todo, error.detail) from None
    return loads[0]


def _proposal(sides: Mapping[str, ReadySide], load: Load, options: argparse.Namespace) -> Proposal | None:
    """Return the test that the plan's newest trust test proposes; with --pairs auto the runs get its length.

    UsageError for --pairs auto without one.
    """
    request = sides[A].request
    plan = request.plan
    noise = known(options.reports, plan.name, load_record(load, plan.load), request.profile.name)
    proposal = noise.proposal if noise else None
    if options.pairs and options.duration:
        raise UsageError("--pairs auto chooses the length of the runs", "leave --duration out")
    if options.pairs and not proposal:
        what = f"--pairs auto: no trust test of {plan.name} sees a change with this load"
        raise UsageError(what, f"run: lth trust {plan.name}")
    log(f"{'proposed' if proposal else 'length of the runs'}: {known_text(noise, plan.name)}")
    if proposal:
        options.duration = units.number_text(proposal.way.length_s) if options.pairs else options.duration
    return proposal


def _record(options: argparse.Namespace, sides: Mapping[str, ReadySide], load: Load, guess_s: float) -> AbRecord:
    """Return the record of a new test, without a name; UsageError for a budget that is too short for four pairs.

    A run takes about `guess_s` beside its load.
    """
    a, b = sides[A], sides[B]
    overrun_s = max(side.request.profile.overrun_s for side in (a, b))
    fields = record_fields(a.request, load, overrun_s, options, ("env", "target", "set"))
    refuse_short_budget(options, fields["planned_s"] + guess_s, _RUNS_LEAST, f"{PAIRS_LEAST} pairs")
    return AbRecord(
        **fields,
        a=a.side,
        b=b.side,
        seed=random.SystemRandom().randrange(_SEEDS),
    )


def _close(runner: Runner[AbRecord, AbOutcome], recipients: Recipients | None, options: argparse.Namespace) -> int:
    """Notify the recipients, print the verdict, and return the exit code."""
    files = runner.design.files
    if recipients:
        _notify(runner, files.report, recipients)
    log_end(runner.outcome.record, files, headline(runner.outcome))
    publish(files.report, options)
    return runner.outcome.exit_code_if(sure=options.sure)


def _notify(runner: Runner[AbRecord, AbOutcome], report: Path, recipients: Recipients) -> None:
    """Send the message about the outcome if it is due; the report lists what was not delivered."""
    from harness.notify.delivery import deliver  # deferred: most tests notify nobody

    outcome = runner.outcome
    if not is_due(recipients.when, outcome):
        return
    link = recipients.link_to(f"ab/{outcome.record.id}", shown(report))
    undelivered = deliver(ab_message(outcome, link), recipients, log)
    if undelivered != outcome.record.undelivered:
        runner.store(undelivered=undelivered)


def written(files: ExperimentFiles, options: argparse.Namespace) -> Written:
    """Write the report of a stored experiment again, and return what is said about it."""
    tests = Experiments(AbRecord, options.reports)
    outcome = rewritten(AbTest(files, tests.reports, {}), tests)
    return Written((headline(outcome),), outcome.exit_code_if(sure=options.sure))
