"""`lth notify`: send the message about a nightly run or an A/B test again, or a test message."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import EXIT_INVALID, EXIT_OK, UsageError
from harness.base.log import log, print_page
from harness.base.paths import shown
from harness.base.project import folder_with
from harness.cli.options import kinds_of_runs, take, take_argument
from harness.experiment.counting import results_of
from harness.experiment.files import Experiments, find_experiment
from harness.kinds.ab.message import ab_message
from harness.kinds.ab.outcome import outcome_of
from harness.kinds.ab.record import AbRecord
from harness.kinds.nightly.message import nightly_message
from harness.kinds.nightly.report_files import read_nightly_result
from harness.kinds.nightly.suite import load_suite
from harness.notify.delivery import deliver
from harness.notify.message import Message, plain_text
from harness.notify.recipients import Recipients, recipients_of
from harness.notify.settings import requested
from harness.plan.spec import load_profile
from harness.run import kinds
from harness.run.consent import check_powers
from harness.run.powers import is_shipped, of_notify

_SUITE = Path("env/nightly.toml")
_EPILOG = """\
examples:
  lth notify --dry-run                                prints the test message and who would get it
  lth notify                                          sends a test message to [notify] of env/nightly.toml
  lth notify --env staging                            the same to [notify] of the profile env/staging.toml
  lth notify 2026-11-21                               the message about that nightly run, whatever its `when` is
  lth notify lb-nginx/ab-01                           the message about that A/B test, to [notify] of its profile

lth nightly and lth ab send their messages themselves. lth help notify.md describes [notify].

exit codes: 0 everybody got it; 2 wrong use; 3 somebody did not get it, and the message gives the reason.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `notify`."""
    parser.description = "Send the message about a nightly run or an A/B test again; without a name, a test message."
    parser.epilog = _EPILOG
    take_argument(parser, "run/message", "?")
    take(parser, "suite/notify env/notify dry-run yes reports home")


def run(options: argparse.Namespace) -> int:
    """Send the message, or print it, and return the exit code."""
    if options.suite and options.env:
        raise UsageError("--suite and --env cannot be used together", "give one")
    addressed = _addressed(options)
    if options.dry_run:
        print_page(plain_text(addressed.message) + addressed.recipients.text)
        return EXIT_OK
    return EXIT_INVALID if deliver(addressed.message, addressed.recipients, log) else EXIT_OK


class _Addressed(NamedTuple):
    """A message and who gets it."""

    message: Message
    recipients: Recipients


def _addressed(options: argparse.Namespace) -> _Addressed:
    """Return the test message, or that about the named nightly run or A/B test, with its recipients."""
    name, reports = options.run, options.reports
    if name is None:
        recipients = _recipients(options, ())
        lines = ("Messages about nightly runs and A/B tests arrive here.",)
        message = Message("Load tests: a test message", lines, recipients.link_to("nightly", "none yet"))
        return _Addressed(message, recipients)
    if kinds.NIGHTLY.numbered.fullmatch(Path(name).name.partition(".")[0]):
        nightly = find_experiment(kinds.NIGHTLY, reports, name)
        recipients = _recipients(options, ())
        link = recipients.link_to(f"nightly/{nightly.name}", shown(nightly.report))
        return _Addressed(nightly_message(read_nightly_result(nightly, options.home), link), recipients)
    tests = Experiments(AbRecord, reports)
    test = tests.find(name)
    record = tests.read(test)
    recipients = _recipients(options, (record.a.profile, record.b.profile))
    outcome = outcome_of(record, results_of(test, record))
    link = recipients.link_to(f"{kinds.AB_TEST.folder}/{record.id}", shown(test.report))
    return _Addressed(ab_message(outcome, link), recipients)


def _recipients(options: argparse.Namespace, profiles: tuple[str, ...]) -> Recipients:
    """Return the recipients of --suite or --env, else of the first of the profiles that has some, else of the suite."""
    if options.env or (profiles and not options.suite):
        profiles = (options.env,) if options.env else profiles
        where = f"env/{profiles[0]}.toml"
        loaded = [load_profile(folder_with(options.home, "env", profile), profile) for profile in profiles]
        settings = next(filter(None, (requested(profile.notify, profile.name) for profile in loaded)), None)
        is_foreign = not all(profile.path and is_shipped(profile.path) for profile in loaded)
    else:
        path = options.suite or options.home / _SUITE
        where, settings = f"{path.parent.name}/{path.name}", load_suite(path, kinds_of_runs()).notify
        is_foreign = not is_shipped(path)
    if settings is None:
        todo = 'add one, such as [notify] with slack = "$SLACK_WEBHOOK"; lth help notify.md'
        raise UsageError(f"{where} has no [notify]", todo)
    if is_foreign and not options.dry_run:
        check_powers(options.home, tuple(of_notify(settings)))
    return recipients_of(settings, os.environ, where)
