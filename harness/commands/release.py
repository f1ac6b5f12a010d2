"""`aggregate.py release`: write the page of a release: its sweep against that of an earlier release."""

from __future__ import annotations

import argparse
import os
import shlex
from dataclasses import replace
from pathlib import Path

from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import stderr_log
from harness.options import take
from harness.plan.plan import thresholds_of
from harness.release.files import (
    around_of,
    infrastructure_of,
    read_around_once,
    read_infrastructure_once,
    read_long_run,
    write_release,
)
from harness.release.release import Release, record_of, release_of
from harness.release.render import printed_release
from harness.release.sides import Sides
from harness.sweep.sources import FoundSweep, find_sweeps

_EPILOG = """\
examples:
  lth release --base folio-checkin/sweep-01 --new folio-checkin/sweep-02
  lth release --base Fameflower=folio-checkin/sweep-01 --new Goldenrod=folio-checkin/sweep-02
  lth release --base folio-checkin/sweep-01 --new folio-checkin/sweep-02 --long folio-checkin/run-03_1

Writes release-sweep-01-sweep-02 beside the new sweep three times: .md, .html (one file with its charts) and
.confluence.xml (storage format of Confluence; attach the charts in the folder of the same name); .json has its result
for programs. TITLE=SWEEP gives a release its name on the page. Text in the notes block of the .md is preserved and is
in all three.

A change is called REGRESSED or OK only where `compare` decides so for the runs of that level; otherwise CANNOT TELL.

exit codes: 0 success, whatever the verdict is; 2 wrong use: a missing sweep, sweeps of different plans or without a
common level.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `release`."""
    parser.description = "Write the page of a release: its sweep against the sweep of an earlier release."
    parser.epilog = _EPILOG
    take(parser, "base/sweep contender/sweep long template anyway reports home")


def run(options: argparse.Namespace) -> int:
    """Write the page, print its verdict and its files, and return the exit code."""
    baseline, contender = (
        _sweep(name, side, options.reports) for name, side in ((options.base, "--base"), (options.contender, "--new"))
    )
    long = read_long_run(options.long, options.reports) if options.long else None
    thresholds = thresholds_of(options.home, [record_of(contender).plan])
    release = release_of(baseline, contender, thresholds, anyway=options.anyway, long=long)
    log = stderr_log("aggregate.py: ")
    release = replace(
        release,
        infrastructures=Sides(infrastructure_of(baseline), read_infrastructure_once(contender, log)),
        arounds=Sides(around_of(baseline), read_around_once(contender, log)),
    )
    written = write_release(release, _command(options, release), options.template)
    print(printed_release(release))
    for path in (written.markdown, written.html, written.confluence):
        print(os.path.relpath(path))
    return EXIT_OK


def _sweep(name: str, side: str, reports: Path) -> FoundSweep:
    sweeps = find_sweeps([name], reports)
    if len(sweeps) != 1:
        raise UsageError(f"{side} {name}: is {len(sweeps)} sweeps", "give one stored sweep: folio-checkin/sweep-01")
    record_of(sweeps[0])
    return sweeps[0]


def _command(options: argparse.Namespace, release: Release) -> str:
    """Return the command that writes the same page again."""
    command = ["./aggregate.py", "release"]
    for option, found in (("--base", release.base), ("--new", release.new)):
        identity = record_of(found).id
        command += [option, identity if found.sweep.name == identity else f"{found.sweep.name}={identity}"]
    command += ["--long", release.long.source] if release.long else []
    command += ["--template", options.template] if options.template != "ptf" else []
    return shlex.join([*command, *["--anyway"] * options.anyway])
