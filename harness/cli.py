"""The table of verbs: which module runs each verb of `aggregate.py` and each program in `scripts/`.

A command module has `add_arguments(parser)` and `run(options) -> exit code`. It is imported only when its verb is
called, so that no verb waits for packages that only another one needs.
"""

from __future__ import annotations

import argparse
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, cast

from harness.base.errors import UsageError
from harness.base.interrupts import Interrupts

AGGREGATE = "aggregate.py"


class Command(NamedTuple):
    """A command: the module that runs it and its help in one line."""

    module: str
    help: str


class CommandModule(Protocol):
    """What every command module has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Set the description, the epilog and the options of the command."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command and return its exit code."""


VERBS = {
    "table": Command("harness.commands.table", "print the statistics of JTL files, per label and in total"),
    "tally": Command("harness.commands.tally", "count JTL files into a small file that merges exactly"),
    "report": Command("harness.commands.report", "write the report of a run again; --merge makes one run of several"),
    "export": Command(
        "harness.commands.export", "write the per-second series and histograms of a run: CSV, Parquet, …"
    ),
    "compare": Command("harness.commands.compare", "compare two runs, two groups of runs, or two sweeps"),
    "sweep": Command("harness.commands.sweep_report", "write the report of one sweep, or of several side by side"),
    "release": Command("harness.commands.release", "write the page of a release: its sweep against an earlier one"),
    "experiment": Command("harness.commands.experiment_report", "write the report of any experiment again"),
    "ab": Command("harness.commands.experiment_report", "write the report of an A/B test again"),
    "overload": Command("harness.commands.experiment_report", "write the report of an overload test again"),
    "tune": Command("harness.commands.experiment_report", "write the report of a designed experiment again"),
    "profile": Command("harness.commands.profile", "print the profile of a run, or what made a label slow"),
    "heap": Command("harness.commands.heap", "print heap, pauses and CPU of a recording, or attach it to runs"),
    "summary": Command("harness.commands.summary", "write reports/SUMMARY.md: all runs, newest first"),
    "pin": Command("harness.commands.pin", "pin reference runs of a plan, list the pins, or remove one"),
    "history": Command("harness.commands.history", "print a metric of a plan over time, as a table with a chart"),
    "nightly": Command("harness.commands.experiment_report", "write the report of a nightly run again"),
    "accept": Command("harness.commands.accept", "record an intended change for the nightly"),
    "site": Command("harness.commands.site", "write all reports as a static HTML site"),
    "comment": Command(
        "harness.commands.comment", "write the result of make ab into a pull request: comment and status"
    ),
    "notify": Command("harness.commands.notify", "send the message about a nightly run or an A/B test again"),
    "metrics": Command("harness.commands.metrics", "fetch CloudWatch metrics for runs"),
    "push": Command("harness.commands.storage", "upload runs to S3"),
    "pull": Command("harness.commands.storage", "download runs from S3"),
    "ls": Command("harness.commands.storage", "list the runs in S3"),
}
SCRIPTS = {
    "scripts/init": Command("harness.commands.init", "make a plan of your JMX, or a small new plan"),
    "scripts/check": Command("harness.commands.check", "run a plan once and print each request with its response"),
    "scripts/gui": Command("harness.commands.gui", "open a plan in the JMeter GUI"),
    "scripts/run": Command("harness.commands.run", "run one load test and write its report"),
    "scripts/sweep": Command("harness.commands.sweep", "run a plan at several numbers of users or values of a setting"),
    "scripts/capacity": Command("harness.commands.capacity", "find the largest number of users within a goal"),
    "scripts/overload": Command("harness.commands.overload", "offer a system up to twice its capacity"),
    "scripts/ab": Command("harness.commands.ab", "run two sides alternately until it is sure whether B is worse"),
    "scripts/tune": Command("harness.commands.tune", "find out which settings matter, by a designed experiment"),
    "scripts/nightly": Command("harness.commands.nightly", "run a suite and compare it with earlier nightly runs"),
    "scripts/system": Command("harness.commands.system", "start a plan's system and keep it running"),
    "scripts/generator": Command("harness.commands.generator", "start a load generator for other machines"),
    "scripts/generator-keys": Command("harness.commands.generator_keys", "create the keys of the load generators"),
    "scripts/bench": Command("bench.command", "benchmark the harness itself"),
    "scripts/check-otava": Command("bench.statistics.check_otava", "compare our change points with Apache Otava's"),
}
# They check everything before they get JMeter ready.
LOADS = (
    "scripts/run", "scripts/sweep", "scripts/capacity", "scripts/check", "scripts/ab", "scripts/tune",
    "scripts/overload", "scripts/nightly",
)  # fmt: skip
_DESCRIPTION = "Turn JTL files and run directories into tables and reports."
_EPILOG = """\
verbs (./aggregate.py VERB --help explains one):
{verbs}

examples:
  ./aggregate.py table samples.jtl                              statistics per label
  ./aggregate.py tally samples.jtl -o gen1.tally                counts for a table: table gen1.tally gen2.tally
  ./aggregate.py report killbill-stripe/run-01_1                writes run-01_1.md and run-01_1.json again
  ./aggregate.py report --merge gen1/run-01_1 gen2/run-01_1     merges the runs of independent load generators
  ./aggregate.py export killbill-stripe/run-01_1 --format parquet  per-second series and histograms, per label
  ./aggregate.py profile thruzero/run-07_1 --label home         what the system did in the slowest seconds of a label
  ./aggregate.py heap balancer.jfr --run lb-gwlb/run-03_1       heap, pauses and CPU of a JVM that runs elsewhere
  ./aggregate.py compare run-07_1 run-07_2                      is the second run slower than the first?
  ./aggregate.py sweep killbill-stripe/sweep-02                 how many users meet the goal, with charts
  ./aggregate.py release --base folio-checkin/sweep-01 --new folio-checkin/sweep-02      the page of a release
  ./aggregate.py experiment lb-nginx/ab-01                     the report of that A/B test again; also tune-01, …
  ./aggregate.py pin killbill-stripe/run-07_1                   compares every later run of the plan with it
  ./aggregate.py history --plan killbill-stripe --metric p90    p90 of every run of a plan
  ./aggregate.py accept --since 2026-11-20 --plan … --reason …  the change since that nightly run is intended
  ./aggregate.py push run-01_1 s3://bucket/prefix               uploads a run to S3
  ./aggregate.py site                                           writes build/site; open build/site/index.html
  ./aggregate.py notify                                         sends a test message to [notify] of env/nightly.toml
  ./aggregate.py comment reports/ab --repo owner/name --pr 12   writes the result of make ab into a pull request

exit codes: 0 success; 1 regression; 2 wrong use or unreadable input; 3 the run is INVALID.
"""


def main(arguments: Sequence[str], program: str = AGGREGATE) -> int:
    """Run a command of `aggregate.py` or of `scripts/` and return its exit code."""
    if program != AGGREGATE:
        return _parsed(arguments, program).run()
    with Interrupts():  # TERM and HUP end the command as Ctrl-C does, and unpacked files are removed
        return _parsed(arguments, program).run()


def check(arguments: Sequence[str], program: str) -> None:
    """Print the help, or refuse options that cannot be, before the set-up; those of a load up to its start."""
    parsed = _parsed(arguments, program)
    if program in LOADS:
        parsed.run()


class _Parsed(NamedTuple):
    """The module of a command, and its options."""

    module: CommandModule
    options: argparse.Namespace

    def run(self) -> int:
        """Run the command and return its exit code."""
        return self.module.run(self.options)


def _parsed(arguments: Sequence[str], program: str) -> _Parsed:
    _refuse_other_text(arguments, program)
    if program != AGGREGATE:
        module = _module(SCRIPTS[program])
        parser = _parser(program)
        module.add_arguments(parser)
        return _Parsed(module, parser.parse_args(arguments))
    verb = _verb(arguments)
    module = _module(VERBS[verb])
    parser = _parser(f"{program} {verb}")
    parser.set_defaults(verb=verb)
    module.add_arguments(parser)
    joined = _joined_sort(arguments[1:])
    # Files on both sides of an option are accepted, except behind "--", which argparse cannot combine with that.
    return _Parsed(module, parser.parse_args(joined) if "--" in joined else parser.parse_intermixed_args(joined))


def _refuse_other_text(arguments: Sequence[str], program: str) -> None:
    """Raise a UsageError for an argument with bytes that are not UTF-8: no record or report could contain it.

    `aggregate.py` reads files with such names.
    """
    for argument in arguments:
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            if program != AGGREGATE or not os.path.lexists(argument):
                text = os.fsencode(argument).decode("utf-8", errors="backslashreplace")
                raise UsageError(f"{text}: not UTF-8 text", "type it in a terminal that uses UTF-8") from None


def _module(command: Command) -> CommandModule:
    return cast(CommandModule, importlib.import_module(command.module))


def _parser(name: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, formatter_class=argparse.RawDescriptionHelpFormatter)


def _verb(arguments: Sequence[str]) -> str:
    """Return the verb; UsageError when the first argument is a file or a misspelt verb."""
    word = arguments[0] if arguments else ""
    if word in VERBS:
        return word
    if not word or word.startswith("-"):
        _print_help_or_version(word)
    path = Path(word)
    if path.exists() or path.suffix in (".jtl", ".md", ".json"):
        verb = "report" if (path / "run.json").is_file() else "compare" if path.suffix in (".md", ".json") else "table"
        more = " …" if verb == "compare" else ""
        raise UsageError(f"{word}: the verb is missing", f"do you mean: ./aggregate.py {verb} {word}{more}")
    from harness.base.config import did_you_mean  # here, because no correct command needs it

    raise UsageError(f"{word}: no such verb", f"{did_you_mean(word, list(VERBS))}there are: {', '.join(VERBS)}")


def _print_help_or_version(word: str) -> None:
    """Print the help or the version and exit; exit with an error for any other option, or for no word at all."""
    from harness.base.toolchain import version

    parser = _parser(AGGREGATE)
    parser.description = _DESCRIPTION
    parser.epilog = _EPILOG.format(verbs="\n".join(f"  {verb:<9}{command.help}" for verb, command in VERBS.items()))
    parser.add_argument("verb", metavar="VERB", help="what to do; the verbs are listed below")
    parser.add_argument("--version", action="version", version=f"load-test-harness {version()}")
    parser.parse_args([word] if word else [])


def _joined_sort(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `--sort -x` joined to one, because argparse takes `-x` for an option."""
    result: list[str] = []
    for argument in arguments:
        if result and result[-1] == "--sort" and argument.startswith("-"):
            result[-1] = f"--sort={argument}"
        else:
            result.append(argument)
    return result
