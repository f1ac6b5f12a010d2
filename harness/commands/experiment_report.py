"""`aggregate.py experiment`, and `ab`, `tune`, `overload`, `nightly`: write the report of an experiment again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.base.paths import shown
from harness.experiment.files import Experiments
from harness.experiment.record import RUNNING
from harness.experiment.runner import rewritten
from harness.options import folder_of_kind, take, take_argument
from harness.run import kinds
from harness.site.html_option import write_html

_EPILOG = """\
examples:
  ./aggregate.py experiment lb-nginx/ab-01              writes reports/ab/lb-nginx/ab-01.md and its JSON again
  ./aggregate.py experiment ab-01 --html                when only one plan has it; also as one HTML file, ab-01.html
  ./aggregate.py experiment killbill-stripe/tune-01     a designed experiment
  ./aggregate.py experiment thruzero/overload-07        an overload test
  ./aggregate.py experiment 2026-11-21 --sure           a nightly run, for example after make accept or a kill -9
  ./aggregate.py experiment reports/ab/lb-nginx/ab-01.md

The result is computed from the stored runs, so what was killed gets the report of what it measured; the command in its
report resumes it. When a run has lost its numbers, nothing is written. ab, tune, overload and nightly are the same
command for one kind each; sweep writes the report of a sweep or a capacity search.

exit codes: those of scripts/ab, tune, overload and nightly: 0 success; 1 REGRESSED; 2 wrong use; 3 INVALID;
130 not finished.
"""


class _Written(NamedTuple):
    """A report that was written: its file, what the terminal says about it, and the exit code of its result."""

    report: Path
    lines: tuple[str, ...]
    exit_code: int


# Each imports its own kind: the others would double the time of a command.
def _ab(reports: Path, options: argparse.Namespace) -> _Written:
    from harness.ab.outcome import headline
    from harness.ab.record import AbRecord
    from harness.ab.steps import AbTest

    tests = Experiments(AbRecord, reports)
    files = tests.find(options.run)
    outcome = rewritten(AbTest(files, reports, {}), files, tests)
    line = f"{shown(files.report)}: {headline(outcome)}"
    return _Written(files.report, (line,), outcome.exit_code_if(sure=options.sure))


def _tune(reports: Path, options: argparse.Namespace) -> _Written:
    from harness.tune.record import TuneRecord
    from harness.tune.steps import TuneExperiment
    from harness.tune.text import headline

    experiments = Experiments(TuneRecord, reports)
    files = experiments.find(options.run)
    outcome = rewritten(TuneExperiment(files, {}), files, experiments)
    return _Written(files.report, (f"{shown(files.report)}: {headline(outcome)}",), outcome.exit_code)


def _overload(reports: Path, options: argparse.Namespace) -> _Written:
    from harness.overload.record import OverloadRecord
    from harness.overload.render import result_line, write_overload_report

    tests = Experiments(OverloadRecord, reports)
    files = tests.find(options.run)
    # The record of a test that is in progress belongs to the process that runs it.
    with files.locked() if tests.read(files).state == RUNNING else nullcontext():
        record = tests.read(files)
        write_overload_report(files, record)
    lines = (f"{record.variant_names[run.variant]}: {result_line(run, record.limit_ms)}" for run in record.measured)
    return _Written(files.report, (shown(files.report), *lines), record.exit_code)


def _nightly(reports: Path, options: argparse.Namespace) -> _Written:
    from harness.nightly.files import find_nightly
    from harness.nightly.render import headline
    from harness.nightly.report_files import write_nightly_report

    files = find_nightly(reports, options.run)
    result = write_nightly_report(files, options.home)
    line = f"{shown(files.report)}: {headline(result)}"
    return _Written(files.report, (line,), result.exit_code_if(sure=options.sure))


class _Kind(NamedTuple):
    """A kind of experiment: how its names begin, the folder of its reports, and what writes one again."""

    prefix: str
    folder: str
    write: Callable[[Path, argparse.Namespace], _Written]


# By verb. Names of nightly runs are dates.
KINDS: Mapping[str, _Kind] = {
    "ab": _Kind(f"{kinds.AB_TEST.prefix}-", kinds.AB_TEST.folder, _ab),
    "tune": _Kind(f"{kinds.EXPERIMENT.prefix}-", kinds.EXPERIMENT.folder, _tune),
    "overload": _Kind(f"{kinds.OVERLOAD.prefix}-", kinds.OVERLOAD.folder, _overload),
    "nightly": _Kind("20", "nightly", _nightly),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of the command, for the kind that its name says."""
    verb = parser.get_default("verb")
    parser.description = "Write the report of an experiment again and print its result. Notes are preserved."
    parser.epilog = _of_kind(verb) if verb in KINDS else _EPILOG
    take_argument(parser, "run/experiment")
    take(parser, "html sure reports home")


def run(options: argparse.Namespace) -> int:
    """Write the report, print its result and return the exit code of the experiment."""
    kind = KINDS[options.verb if options.verb in KINDS else _kind_of(options.run)]
    written = kind.write(folder_of_kind(options.reports, kind.folder), options)
    print("\n".join(written.lines))
    if options.html:
        write_html(written.report)
    return written.exit_code


def _of_kind(verb: str) -> str:
    """Return the epilog with the examples of one kind."""
    head, _, rest = _EPILOG.partition("\n\n")
    examples = [line.replace(" experiment ", f" {verb} ", 1) for line in head.splitlines()[1:]]
    return "\n".join(["examples:", *(line for line in examples if _is_of(verb, line.split()[2])), "", rest])


def _is_of(verb: str, name: str) -> bool:
    return Path(name).name.startswith(KINDS[verb].prefix)


def _kind_of(name: str) -> str:
    """Return the kind that a name begins with; UsageError for another name."""
    for verb in KINDS:
        if _is_of(verb, name):
            return verb
    todo = "names are such as ab-01, tune-01, overload-07 and 2026-11-21; ./aggregate.py sweep writes sweeps"
    raise UsageError(f"{name}: no experiment has such a name", todo)
