"""The table of verbs: which module runs each verb of `lth`, of `make` and of the other programs of a clone.

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

from harness.base.command import LTH, MAKE
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.interrupts import Interrupts
from harness.base.log import print_page, spelled
from harness.base.project import AGGREGATE, SCRIPTS
from harness.cli.help_text import HelpFormatter, names_of_project
from harness.cli.unknown_options import OneLineParser, meant_verb, refuse_jmeters
from harness.report.junit_files import JUnitFile
from harness.run.kinds import EXPERIMENTS, LAST, SWEEP, kind_of

GROUPS = {
    "start": "Start",
    "limits": "Find limits",
    "decide": "Decide",
    "show": "Show",
    "rest": "The rest",
}


class Verb(NamedTuple):
    """A verb: the module that runs it, its help in one line, and its group; `first` are arguments in front of others.

    `is_core` verbs are the first to learn.
    """

    module: str
    help: str
    group: str
    first: tuple[str, ...] = ()
    is_core: bool = False


class CommandModule(Protocol):
    """What every command module has."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Set the description, the epilog and the options of the command."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command and return its exit code."""


VERBS = {
    "init": Verb("init", "make a project here, or a plan of a JMX or an address", "start", is_core=True),
    "record": Verb("record", "record a visit in Chromium, and make a plan of it", "start"),
    "check": Verb("check", "run a plan once and print each request with its response", "start", is_core=True),
    "run": Verb("run", "run one load test and write its report", "start", is_core=True),
    "sweep": Verb("sweep", "several numbers of users, or values; --find: capacity", "limits", is_core=True),
    "overload": Verb("overload", "offer a system up to twice its capacity", "limits"),
    "soak": Verb("run", "a load of hours that looks for leaks", "limits", ("--soak",)),
    "compare": Verb("compare", "is the second run, group or sweep slower than the first?", "decide", is_core=True),
    "ab": Verb("ab", "run two sides alternately until it is sure whether B is worse", "decide"),
    "tune": Verb("tune", "which settings matter? runs a designed experiment", "decide"),
    "bisect": Verb("bisect", "which commit, version or value made a metric worse?", "decide"),
    "trust": Verb("trust", "how small a change does this benchmark see?", "decide"),
    "baseline": Verb("pin", "compare later runs with this one; list or remove such runs", "decide"),
    "nightly": Verb("nightly", "run a suite and compare it with earlier nightly runs", "decide", is_core=True),
    "accept": Verb("accept", "record an intended change for the nightly", "decide"),
    "list": Verb("list_runs", "list the newest runs: verdict, users, req/s, p95, errors", "show"),
    "open": Verb("open_report", "show a report in the browser: the one written last", "show"),
    "report": Verb("report", "write a report again, of a run or an experiment; --merge", "show"),
    "experiment": Verb("experiment_report", "write the report of any experiment again", "show"),
    "site": Verb("site", "write all reports as a static HTML site", "show"),
    "summary": Verb("summary", "write reports/SUMMARY.md: all runs, newest first", "show"),
    "history": Verb("history", "print a metric of a plan over time, with a chart", "show"),
    "release": Verb("release", "write the page of a release: its sweep against another", "show"),
    "table": Verb("table", "print the statistics of JTL files, per label and in total", "rest"),
    "tally": Verb("tally", "count JTL files into a small file that merges exactly", "rest"),
    "sweeps": Verb("sweep_report", "write the report of one sweep, or of several side by side", "rest"),
    "mcp": Verb("mcp", "answer programs over the Model Context Protocol", "rest"),
    "export": Verb("export", "write the per-second series of a run: CSV, Parquet, …", "rest"),
    "profile": Verb("profile", "print the profile of a run, or what made a label slow", "rest"),
    "heap": Verb("heap", "print heap, pauses and CPU of a recording, or attach it to runs", "rest"),
    "metrics": Verb("metrics", "fetch CloudWatch metrics for runs", "rest"),
    "comment": Verb("comment", "write a result into a pull request: comment and status", "rest"),
    "notify": Verb("notify", "send the message about a nightly run or an A/B test again", "rest"),
    "push": Verb("storage", "upload runs to S3; s3 push is the same", "rest"),
    "pull": Verb("storage", "download runs from S3; s3 pull is the same", "rest"),
    "ls": Verb("storage", "list the runs in S3; s3 ls is the same", "rest"),
    "diff": Verb("diff", "what changed between two versions of a JMX, in words", "rest"),
    "gui": Verb("gui", "open a plan in the JMeter GUI", "rest"),
    "system": Verb("system", "start a plan's system and keep it running", "rest"),
    "setup": Verb("setup", "download what runs need; --all: what any command needs", "rest"),
    "doctor": Verb("doctor", "what is installed, is it intact, is this machine fit?", "rest"),
    "completion": Verb("harness.cli.completion", "print the completion of bash, zsh or fish", "rest"),
}
# Other names of verbs, which keep working.
ALIASES = {
    "capacity": ("sweep", ("--find",)),
    "merge": ("report", ("--merge",)),
    "pin": ("baseline", ()),
}
# A word before some verbs, as in `lth s3 push` and `lth publish comment`.
PREFIXES = {"s3": ("push", "pull", "ls"), "publish": ("comment", "notify")}
# Verbs of AGGREGATE that are another verb of lth: there these words measure.
OF_AGGREGATE = {kind.verb: "sweeps" if kind == SWEEP else "experiment" for kind in EXPERIMENTS}
# Of the checkout only.
DEVELOPMENT = {
    "bench": Verb("bench.command", "benchmark the harness itself", ""),
    "check-otava": Verb("bench.statistics.check_otava", "compare our change points with Apache Otava's", ""),
}
# Of JMeter's distributed mode by RMI.
_GONE_VERBS, _GONE_OPTIONS = ("generator", "generator-keys"), ("--remotes", "--keys")
# They check everything before they get JMeter ready.
LOADS = ("run", "soak", "capacity", "check", *(kind.verb for kind in EXPERIMENTS))
# Verbs whose plan is that of the project unless they get one.
_OF_ONE_PLAN = (*(verb for verb in LOADS if verb != "nightly"), "gui", "history")
# Through lth and make its result is a page beside the runs.
_SAVING = ("compare",)
_NOT_SAVED = ("--output", "--format", "-o")
_EPILOG = """\
examples:
  lth init http://127.0.0.1:8080/    a project here, with a plan of one request
  lth run -u 20 -d 2m                its first run
  lth run lb-nginx -u 50 -d 5m       a shipped plan; its system is started here
  lth run shop -t https://127.0.0.1:8443 -g 'p95<1s'
  lth compare                        the newest run with the one before

{core}
lth help all lists all verbs, lth VERB -h explains one,
lth help topics lists the pages of the documentation, such as lth help goals,
and lth help doubtful says what makes a run DOUBTFUL and what to do.
Plans:    {plans}
Profiles: {profiles}
"""


def main(arguments: Sequence[str], program: str = AGGREGATE) -> int:
    """Run a verb and return its exit code. `program` is lth, make, AGGREGATE, or a verb behind SCRIPTS."""
    if program != AGGREGATE:
        return _parsed(arguments, program).run()
    with Interrupts():  # TERM and HUP end the command as Ctrl-C does, and unpacked files are removed
        return _parsed(arguments, program).run()


def check(arguments: Sequence[str], program: str) -> None:
    """Print the help, or refuse options that cannot be, before the set-up; those of a load up to its start."""
    parsed = _parsed(arguments, program)
    if parsed.name in LOADS:
        parsed.run()


class _Parsed(NamedTuple):
    """The name and module of a command, and its options."""

    name: str
    module: CommandModule
    options: argparse.Namespace

    def run(self) -> int:
        """Run the command and return its exit code."""
        if getattr(self.options, "yes", False):
            os.environ.setdefault("LTH_TRUST", "yes")  # for the processes that it starts, too
        with getattr(self.options, "junit", JUnitFile()) as junit:
            return junit.end(self.module.run(self.options))


class Call(NamedTuple):
    """The verb of a command line, empty without one, and its arguments."""

    verb: str
    arguments: list[str]


def verb_and_options(arguments: Sequence[str], program: str) -> Call:
    """Return the verb of a correct command line and its options, those of make's variables as well."""
    parsed = _parsed(arguments, program)
    names = ("plan", "env", "home", "target")
    given = ((name, getattr(parsed.options, name, None)) for name in names)
    options = [f"--{name}={value}" for name, value in given if isinstance(value, str | Path)]
    return Call(parsed.name, options)


def called_verb(arguments: Sequence[str], program: str) -> Call:
    """Return the verb of a command line and the arguments behind it."""
    if program.startswith(SCRIPTS):
        return Call(program.removeprefix(SCRIPTS), list(arguments))
    words = list(arguments)
    if len(words) > 1 and words[1] in PREFIXES.get(words[0], ()) and program == LTH:
        words = words[1:]
    return Call(words[0], words[1:]) if words else Call("", [])


def _parsed(arguments: Sequence[str], program: str) -> _Parsed:
    _refuse_other_text(arguments, program)
    called = called_verb(arguments, program)
    _refuse_gone(called, program)
    if program == LTH and (called.verb in LOADS or called.verb[:1] == "-" or called.verb == "jmeter"):
        own = f"{LTH} {called.verb if called.verb in LOADS else 'run'}"
        refuse_jmeters([called.verb, *called.arguments], own)
    name = _known(called.verb, called.arguments, program)
    target, first = _target(name, called.arguments, program)
    verb = VERBS.get(target) or DEVELOPMENT[target]
    parser = parser_of(target, program if program.startswith(SCRIPTS) else f"{program} {name}", name)
    of_make = []
    if program == MAKE:
        from harness.cli.make_variables import arguments_of  # here, as below, because it loads slowly

        of_make = arguments_of(name, parser)
    words = [*verb.first, *first, *_joined_sort([*called.arguments, *of_make])]
    if program in (LTH, MAKE) and name in _SAVING and not any(word.startswith(_NOT_SAVED) for word in words):
        words = ["--save", *(word for word in words if word != "--save")]
    # Files on both sides of an option are accepted, except behind "--", which argparse cannot combine with that.
    is_plain = "--" in words or target in DEVELOPMENT
    options = parser.parse_args(words) if is_plain else parser.parse_intermixed_args(words)
    options.implied = [word.lstrip("-") for word in (*verb.first, *first)]
    _complete(options, parser, name, target)
    return _Parsed(name, _module(verb.module), options)


class _Target(NamedTuple):
    verb: str
    first: tuple[str, ...]


def _target(name: str, words: Sequence[str], program: str) -> _Target:
    """Return the verb of VERBS or DEVELOPMENT that a name means, and the arguments in front of others."""
    target, first = ALIASES.get(name, (name, ()))
    if program == AGGREGATE:
        target = OF_AGGREGATE.get(target, target)
    named = list(words)
    if program == MAKE:
        from harness.cli.make_variables import given_variables

        named.append(given_variables().get("RUN", ""))
    if target == "report" and any(kind_of(Path(word).name) for word in named if word[:1] != "-"):
        target = "experiment"
    return _Target(target, first)


def _complete(options: argparse.Namespace, parser: argparse.ArgumentParser, name: str, target: str) -> None:
    """Give the options the plan of the project or the settings of the experiment that is resumed, if not given."""
    resume = getattr(options, "resume", None)
    has_plan = getattr(options, "plan", name) or getattr(options, "curl", None)
    if name in _OF_ONE_PLAN and not has_plan and resume in (None, LAST):
        from harness.base.project import current_project, default_plan  # here, because other verbs need no plan

        options.plan = default_plan(getattr(options, "home", None) or current_project().folder)
    if resume:
        _take_settings(options, parser, target, resume)


def _take_settings(options: argparse.Namespace, parser: argparse.ArgumentParser, target: str, name: str) -> None:
    """Give the options the settings of the experiment that is resumed, where others are not given."""
    from harness.cli.make_variables import add_stored
    from harness.experiment.files import find_experiment, last_unfinished  # here, because most commands resume nothing
    from harness.run.directory import read_object

    kind = next(one for one in EXPERIMENTS if one.verb == target)
    plan = getattr(options, "plan", None)
    if name == LAST:
        files = last_unfinished(kind, options.reports, plan)
    else:
        try:
            files = find_experiment(kind, options.reports, name, plan)
        except UsageError as error:
            raise UsageError(f"--resume={error.what}", error.todo) from None
    record = read_object(files.record)
    command = str(record.get("command", ""))
    options.resume = str(files.record)
    if hasattr(options, "plan"):
        options.plan = files.folder.parent.name
    if hasattr(options, "find"):
        is_search = record.get("kind") == "capacity"
        if options.find and not is_search:
            raise UsageError(f"{files.name} is no capacity search", "resume it with lth sweep")
        options.find = is_search
    add_stored(options, parser, command)
    options.note = options.note or record.get("note", "")


def parser_of(target: str, prog: str = "", name: str = "") -> argparse.ArgumentParser:
    """Return the parser of a verb, which is called `name` here."""
    verb = VERBS.get(target) or DEVELOPMENT[target]
    parser = OneLineParser(prog=prog or f"{LTH} {target}", formatter_class=HelpFormatter, allow_abbrev=False)
    parser.set_defaults(verb=name or target)
    _module(verb.module).add_arguments(parser)
    return parser


def _refuse_gone(called: Call, program: str) -> None:
    """Raise a UsageError for what an earlier version had."""
    named = [word.partition("=")[0] for word in called.arguments]
    if program == MAKE:
        from harness.cli.make_variables import given_variables

        named += [f"--{name.lower()}" for name in given_variables()]
    gone = [one for one in (called.verb,) if one in _GONE_VERBS] + [one for one in named if one in _GONE_OPTIONS]
    if gone:
        raise UsageError(f"{gone[0]} went in 1.2.0", "use --on ssh:gen1,gen2; see lth help generators")


def _refuse_other_text(arguments: Sequence[str], program: str) -> None:
    """Raise a UsageError for an argument with bytes that are not UTF-8: no record or report could contain it.

    AGGREGATE reads files with such names.
    """
    for argument in arguments:
        try:
            argument.encode("utf-8")
        except UnicodeEncodeError:
            if program.startswith(SCRIPTS) or not os.path.lexists(argument):
                text = os.fsencode(argument).decode("utf-8", errors="backslashreplace")
                raise UsageError(f"{text}: not UTF-8 text", "type it in a terminal that uses UTF-8") from None


def _module(name: str) -> CommandModule:
    return cast(CommandModule, importlib.import_module(name if "." in name else f"harness.commands.{name}"))


def _known(word: str, rest: Sequence[str], program: str) -> str:
    """Return the verb; UsageError when the first argument is a file or a misspelt verb."""
    if word in VERBS or word in ALIASES or word in DEVELOPMENT or (program == AGGREGATE and word in OF_AGGREGATE):
        return word
    if not word or word.startswith("-") or word == "help":
        _print_help_or_version(word, rest, program)
    path = Path(word)
    if path.exists() or path.suffix in (".jtl", ".md", ".json", ".jmx"):
        verb = (
            "report"
            if (path / "run.json").is_file()
            else {".md": "compare", ".json": "compare", ".jmx": "run"}.get(path.suffix, "table")
        )
        more = " …" if verb == "compare" else ""
        raise UsageError(f"{word}: the verb is missing", f"do you mean: lth {verb} {word}{more}")
    raise UsageError(f"{word}: no such verb", f"{meant_verb(word, [*VERBS, *ALIASES])}lth help all lists them")


def _print_help_or_version(word: str, rest: Sequence[str], program: str) -> None:
    """Print the help or the version and exit; exit with an error for any other option, or for no word at all."""
    if word == "help" and rest and rest[0] != "all":
        from harness.cli.doubtful_page import topic_text  # here, because other commands do not need it

        if text := topic_text(rest[0]):
            print_page(text)
            raise SystemExit(0)
        if rest[0] not in (*VERBS, *ALIASES, *DEVELOPMENT):
            from harness.cli.help_pages import page_text

            print_page(page_text(" ".join(rest)))
            raise SystemExit(0)
        raise SystemExit(main([rest[0], "--help"], program))
    from harness.base.git import version_text  # here, because other commands do not need it

    is_all = "all" in rest or program == AGGREGATE
    parser = argparse.ArgumentParser(prog=program, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.usage = f"{program} VERB [OPTIONS]"
    parser.description = "Run JMeter load tests, turn their samples into reports, and compare them."
    parser.epilog = spelled(_EPILOG.format(core=_verb_list(is_all=is_all), **names_of_project()))
    parser.add_argument("verb", metavar="VERB", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"load-test-harness {version_text()}")
    if word == "help" or (not word and program != AGGREGATE):
        parser.print_help()
        raise SystemExit(0)
    if word not in ("-h", "--help", "--version"):
        what = f"{word}: an option without a verb" if word else "the verb is missing"
        near = did_you_mean(word, ["--help", "--version"]) if word.startswith("--") else ""
        raise UsageError(what, f"{near}such as {program} run -h; {program} -h lists the verbs")
    parser.parse_args([word])


def _verb_list(*, is_all: bool) -> str:
    """Return the verbs with their help: those to learn first, then the groups; only with `is_all` the rest."""
    groups = {"First": [name for name, verb in VERBS.items() if verb.is_core]}
    for group, title in GROUPS.items():
        groups[title] = [name for name, verb in VERBS.items() if verb.group == group and not verb.is_core]
    lines: list[str] = []
    for title, names in groups.items():
        if names and (is_all or title != GROUPS["rest"]):
            lines += [f"{title}:", *(f"  {name:<15}{VERBS[name].help}" for name in names), ""]
    return "\n".join(lines)


def _joined_sort(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with `--sort -x` joined to one, because argparse takes `-x` for an option."""
    result: list[str] = []
    for argument in arguments:
        if result and result[-1] == "--sort" and argument.startswith("-"):
            result[-1] = f"--sort={argument}"
        else:
            result.append(argument)
    return result
