"""`lth experiment`, and the verbs of its kinds (`ab`, `tune`, …): write the report of an experiment again."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.log import print_text
from harness.base.paths import shown
from harness.cli.options import take, take_argument
from harness.experiment.files import find_experiment
from harness.experiment.runner import Written
from harness.run import kinds
from harness.site.html_option import write_html

_EPILOG = """\
examples:
  lth experiment lb-nginx/ab-01              writes reports/ab/lb-nginx/ab-01.md and its JSON again
  lth experiment ab-01 --html                when only one plan has it; also as one HTML file, ab-01.html
  lth experiment killbill-stripe/tune-01     a designed experiment
  lth experiment lb-nginx/bisect-01          a bisection
  lth experiment lb-nginx/trust-01           a trust test
  lth experiment thruzero/overload-07        an overload test
  lth experiment killbill-stripe/sweep-07    a sweep or a capacity search
  lth experiment 2026-11-21 --sure           a nightly run, for example after lth accept or a kill -9
  lth experiment reports/ab/lb-nginx/ab-01.md

The result is computed from the stored runs, so what was killed gets the report of what it measured; the command in its
report resumes it. When a run has lost its numbers, nothing is written. ab, tune, bisect, trust, overload and nightly
are the same command for one kind each, and report is the same for such a name. sweeps does more with sweeps: another
goal, one label, several side by side.

exit codes: those of lth ab, tune, bisect, trust, overload, nightly: 0 success; 1 REGRESSED; 2 wrong use; 3 INVALID;
130 not finished.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of the command, for the kind that its name says."""
    kind = _kind_of_verb(parser.get_default("verb"))
    parser.description = "Write the report of an experiment again and print its result. Notes are preserved."
    parser.epilog = _of_kind(kind) if kind else _EPILOG
    take_argument(parser, "run/experiment")
    take(parser, "html junit sure reports home")


def run(options: argparse.Namespace) -> int:
    """Write the report, print its result and return the exit code of the experiment."""
    kind = _kind_of_verb(options.verb) or kinds.kind_of(Path(options.run).name)
    if kind is None:
        todo = "names are such as ab-01, tune-01, trust-01, overload-07, sweep-07 and 2026-11-21"
        raise UsageError(f"{options.run}: no experiment has such a name", todo)
    files = find_experiment(kind, options.reports, options.run)
    # The command of the kind: those of the others would double the time.
    written: Written = import_module(f"harness.commands.{kind.verb}").written(files, options)
    first, *lines = written.lines
    print_text("\n".join([f"{shown(files.report)}: {first}" if first else shown(files.report), *lines]))
    options.junit.add_report(files.report)
    if options.html:
        write_html(files.report)
    return written.exit_code


def _kind_of_verb(verb: str) -> kinds.Kind | None:
    return next((kind for kind in kinds.EXPERIMENTS if kind.verb == verb), None)


def _of_kind(kind: kinds.Kind) -> str:
    """Return the epilog with the examples of one kind."""
    head, _, rest = _EPILOG.partition("\n\n")
    examples = [line.replace(" experiment ", f" {kind.verb} ", 1) for line in head.splitlines()[1:]]
    return "\n".join(
        ["examples:", *(line for line in examples if kinds.kind_of(Path(line.split()[2]).name) == kind), "", rest]
    )
