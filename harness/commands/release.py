"""`lth release`: write the page of a release: its sweeps and runs beside those of earlier releases."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import replace

from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import Log, print_text, stderr_log
from harness.cli.options import take, take_argument
from harness.plan.plan import thresholds_of
from harness.release.editions import find_editions
from harness.release.files import (
    Written,
    around_of,
    infrastructure_of,
    known_of,
    published_in,
    read_around_once,
    read_infrastructure_once,
    read_long_run,
    write_published,
    write_release,
)
from harness.release.limits import repeats
from harness.release.release import Edition, release_of
from harness.release.render import printed_release

_EPILOG = """\
examples:
  lth release folio-checkin/sweep-02 --base folio-checkin/sweep-01
  lth release Goldenrod=folio-checkin/sweep-03 --base Fameflower=folio-checkin/sweep-02 --base Edelweiss=…/sweep-01
  lth release GR=folio-checkin/sweep-02 'GR=folio-mixed/run-02_*' --base FF=folio-checkin/sweep-01 \\
      --base 'FF=folio-mixed/run-01_*'
  lth release folio-checkin/sweep-02 --base folio-checkin/sweep-01 --long folio-checkin/run-03_1
  lth release published.csv       figures of a report: release,workload,users,subject,metric,value

The verdict is against the first --base, the last release; each further one has its own columns. A release consists
of sweeps over users, runs, or patterns of runs, of one or several plans. TITLE= names a release; what has the same
title is of one release.

Writes release-sweep-01-sweep-02 beside the new sweep three times: .md, .html (one file with its charts) and
.confluence.xml (storage format of Confluence; attach the charts in the folder of the same name); .json has its result
for programs. Text in the notes block of the .md is preserved and is in all three.

Measure each cell at least three times (--repeat=3): otherwise the page says which change it cannot see.

exit codes: 0 success, whatever the verdict is; 2 wrong use: a missing sweep, different plans, no common level.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `release`."""
    parser.description = "Write the page of a release: its sweeps and runs beside those of earlier releases."
    parser.epilog = _EPILOG
    take(parser, "base/sweep contender/sweep long template anyway junit reports home")
    take_argument(parser, "releases", nargs="*")


def run(options: argparse.Namespace) -> int:
    """Write the page, print its verdict and its files, and return the exit code."""
    contenders = [*options.releases, *(options.contender or ())]
    if published := published_in(contenders):
        return _printed(options, write_published(published))
    if not contenders or not options.base:
        what = "the release" if not contenders else "an earlier release"
        raise UsageError(f"release: {what} is missing", "give sweeps or runs: lth release NEW --base OLD")
    new, *bases = find_editions(contenders, options.base, options.reports)
    long = read_long_run(options.long, options.reports) if options.long else None
    thresholds = thresholds_of(options.home, [*new.sweeps])
    release = release_of(new, bases, thresholds, anyway=options.anyway, long=long)
    log = stderr_log("lth: ")
    release = replace(
        release,
        new=_watched(new, log),
        bases=tuple(_watched(base) for base in bases),
        known=known_of(new, options.reports),
    )
    written = write_release(release, _command(options, contenders), options.template)
    print_text(printed_release(release))
    return _printed(options, written, *repeats(release))


def _printed(options: argparse.Namespace, written: Written, *lines: str) -> int:
    """Print the files of a page, and lines below them."""
    options.junit.add_report(written.markdown)
    paths = (written.markdown, written.html, written.confluence)
    print_text("\n".join((*map(os.path.relpath, paths), *lines)))
    return EXIT_OK


def _watched(edition: Edition, log: Log | None = None) -> Edition:
    """Return a release with its infrastructure and the minutes around it; with `log`, they are read if not stored."""
    sweeps = edition.sweeps
    first = next(iter(sweeps.values()))
    return replace(
        edition,
        infrastructure=read_infrastructure_once(first, log) if log else infrastructure_of(first),
        arounds={plan: read_around_once(one, log) if log else around_of(one) for plan, one in sweeps.items()},
    )


def _command(options: argparse.Namespace, contenders: list[str]) -> str:
    """Return the command that writes the same page again."""
    command = ["lth", "release", *contenders]
    command += [word for base in options.base for word in ("--base", base)]
    command += ["--long", options.long] if options.long else []
    command += ["--template", options.template] if options.template != "ptf" else []
    return shlex.join([*command, *["--anyway"] * options.anyway])
