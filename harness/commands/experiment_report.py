"""`aggregate.py experiment`, and the verbs of its kinds (`ab`, `tune`, …): write the report of an experiment again."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, UsageError
from harness.base.log import print_text
from harness.base.paths import shown
from harness.cli.options import take, take_argument
from harness.experiment.files import ExperimentFiles, Experiments, find_experiment
from harness.experiment.record import RUNNING
from harness.experiment.runner import rewritten
from harness.run import kinds
from harness.site.html_option import write_html

_EPILOG = """\
examples:
  ./aggregate.py experiment lb-nginx/ab-01              writes reports/ab/lb-nginx/ab-01.md and its JSON again
  ./aggregate.py experiment ab-01 --html                when only one plan has it; also as one HTML file, ab-01.html
  ./aggregate.py experiment killbill-stripe/tune-01     a designed experiment
  ./aggregate.py experiment lb-nginx/bisect-01          a bisection
  ./aggregate.py experiment lb-nginx/trust-01           a trust test
  ./aggregate.py experiment thruzero/overload-07        an overload test
  ./aggregate.py experiment killbill-stripe/sweep-07    a sweep or a capacity search
  ./aggregate.py experiment 2026-11-21 --sure           a nightly run, for example after make accept or a kill -9
  ./aggregate.py experiment reports/ab/lb-nginx/ab-01.md

The result is computed from the stored runs, so what was killed gets the report of what it measured; the command in its
report resumes it. When a run has lost its numbers, nothing is written. ab, tune, bisect, trust, overload and nightly
are the same command for one kind each, and report is the same for such a name. sweeps does more with sweeps: another
goal, one label, several side by side.

exit codes: those of scripts/ab, tune, bisect, trust, overload, nightly: 0 success; 1 REGRESSED; 2 wrong use; 3 INVALID;
130 not finished.
"""


class _Written(NamedTuple):
    """A report that was written: what the terminal says about it, and the exit code of its result.

    The first line follows the path of the report.
    """

    lines: tuple[str, ...]
    exit_code: int


# Each imports its own kind: the others would double the time of a command.
def _ab(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.ab.outcome import headline
    from harness.kinds.ab.record import AbRecord
    from harness.kinds.ab.steps import AbTest

    tests = Experiments(AbRecord, options.reports)
    outcome = rewritten(AbTest(files, tests.reports, {}), tests)
    return _Written((headline(outcome),), outcome.exit_code_if(sure=options.sure))


def _tune(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.tune.record import TuneRecord
    from harness.kinds.tune.steps import TuneExperiment
    from harness.kinds.tune.text import headline

    outcome = rewritten(TuneExperiment(files, {}), Experiments(TuneRecord, options.reports))
    return _Written((headline(outcome),), outcome.exit_code)


def _bisect(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.bisect.design import Bisection
    from harness.kinds.bisect.record import BisectRecord
    from harness.kinds.bisect.text import headline

    records = Experiments(BisectRecord, options.reports)
    outcome = rewritten(Bisection(files, records.reports, lambda _: {}), records)
    return _Written((headline(outcome),), outcome.exit_code)


def _trust(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.trust.outcome import TrustOutcome, headline
    from harness.kinds.trust.record import TrustRecord
    from harness.kinds.trust.steps import StoredTrust
    from harness.sweep.record import SweepRecord

    outcome = rewritten(StoredTrust(files), Experiments[SweepRecord](TrustRecord, options.reports))
    assert isinstance(outcome, TrustOutcome)
    return _Written((headline(outcome),), outcome.exit_code)


def _overload(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.overload.record import OverloadRecord
    from harness.kinds.overload.render import printed_overload
    from harness.kinds.overload.runner import OverloadTest

    record = rewritten(OverloadTest(files), Experiments(OverloadRecord, options.reports), lambda *_: {})
    return _Written(("", printed_overload(record)), record.exit_code)


def _sweep(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.sweep.files import StoredSweep
    from harness.sweep.record import SweepRecord

    design = StoredSweep(files)
    record = rewritten(design, Experiments(SweepRecord, options.reports), lambda *_: {}).record
    code = EXIT_OK if record.measured else EXIT_INVALID
    return _Written(("", design.answer), EXIT_INTERRUPTED if record.state == RUNNING else code)


def _nightly(files: ExperimentFiles, options: argparse.Namespace) -> _Written:
    from harness.kinds.nightly.answer import headline
    from harness.kinds.nightly.record import NightlyRecord
    from harness.kinds.nightly.report_files import read_nightly_result
    from harness.kinds.nightly.steps import NightlyRun
    from harness.kinds.trust.known import known

    rewritten(NightlyRun(files, options, known), Experiments(NightlyRecord, options.reports), lambda *_: {})
    result = read_nightly_result(files, options.home)
    return _Written((headline(result),), result.exit_code_if(sure=options.sure))


_WRITERS: Mapping[str, Callable[[ExperimentFiles, argparse.Namespace], _Written]] = {
    "ab": _ab, "tune": _tune, "bisect": _bisect, "trust": _trust, "overload": _overload, "sweep": _sweep,
    "nightly": _nightly,
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of the command, for the kind that its name says."""
    kind = _kind_of_verb(parser.get_default("verb"))
    parser.description = "Write the report of an experiment again and print its result. Notes are preserved."
    parser.epilog = _of_kind(kind) if kind else _EPILOG
    take_argument(parser, "run/experiment")
    take(parser, "html sure reports home")


def run(options: argparse.Namespace) -> int:
    """Write the report, print its result and return the exit code of the experiment."""
    kind = _kind_of_verb(options.verb) or kinds.kind_of(Path(options.run).name)
    if kind is None:
        todo = "names are such as ab-01, tune-01, trust-01, overload-07, sweep-07 and 2026-11-21"
        raise UsageError(f"{options.run}: no experiment has such a name", todo)
    files = find_experiment(kind, options.reports, options.run)
    written = _WRITERS[kind.verb](files, options)
    first, *lines = written.lines
    print_text("\n".join([f"{shown(files.report)}: {first}" if first else shown(files.report), *lines]))
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
