"""The table of all options: argparse, make's variables, shell completion and docs/reference.md are made of it.

An option means the same in each verb that takes it. A key such as plan/filter is --plan where it only filters.

To add an option of all runs, add an entry with `of=LOAD` or `of=RUN`: each verb that runs loads takes it, its command
is stored with it, and child processes and parts get it. What it does is one line in `harness/run/request.py`.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.base import units
from harness.base.project import BUILD, current_project, site_folder
from harness.base.s3_address import parse_endpoint_url
from harness.cli.option import Kind, Option
from harness.metrics.metric import compared_metrics
from harness.plan.goal import option_metrics
from harness.report.junit_files import JUnitFile
from harness.run.arguments import OptionScope
from harness.run.kinds import LAST

_METRICS = ", ".join(metric.name for metric in compared_metrics())
_RUN = "a run's folder, its .json or .md, a name such as killbill-stripe/run-01_1, or -1: the newest"
_SIDE = "settings (name=value), a profile, http://host:port, or a commit"
_HIDDEN = argparse.SUPPRESS
LOAD, RUN, KIND, SERIES, FOLLOW, PLACE = OptionScope


def junit_file(text: str) -> JUnitFile:
    """Return the file of --junit."""
    return JUnitFile(Path(text))


def folder(text: str) -> Path:
    """Return an absolute path: processes with another working directory, such as a system's JVM, use it too."""
    return Path(text).resolve()


OPTIONS = {
    # What runs, and where.
    "plan": Option("plan plans/<PLAN>.toml, or the path of a JMX (the project's plan)", "PLAN", "p", of=RUN),
    "plan/filter": Option("plan of runs that are given without one, such as run-07_1", "PLAN", "p"),
    "plan/named": Option("name of the plan", "PLAN", "p"),
    "plan/shown": Option("the plan (the project's plan)", "PLAN", "p"),
    "plan/new": Option("name of the new plan (that of the JMX, the host or the folder)", "PLAN", "p"),
    "plan/only": Option("only runs of this plan", "PLAN", "p"),
    "plan/systems": Option(
        "plan whose system to start; with --prepare-only also several", "PLAN", "p", nargs="+"
    ),
    "env": Option(
        "profile env/<ENV>.toml: heap sizes and settings (the project's, else local)", "ENV", "e",
        default=lambda: current_project().profile, of=RUN,
    ),
    "env/filter": Option("only for this profile", "ENV", "e"),
    "env/metrics": Option("use [cloudwatch] of this profile instead of the run's own", "ENV", "e"),
    "env/notify": Option("profile whose [notify] lists the recipients (of an A/B test: its own)", "ENV", "e"),
    "env/storage": Option("profile whose [storage] names the bucket when s3://… is missing", "ENV", "e"),
    "target": Option(
        "a running system: http://host:8080, or a name in [targets]; no system is started", "URL", "t", of=RUN,
    ),
    "header": Option(
        "header of all requests, 'Name: value', repeatable; $NAME is a secret of the environment", "HEADER", "H",
        default=list, is_repeated=True, of=LOAD, may_be_secret=True,
    ),
    "curl": Option(
        "a curl command as a browser copies it: its request is the plan", "COMMAND", of=RUN, may_be_secret=True,
    ),
    "openapi": Option("an OpenAPI file (YAML or JSON): its operations are the plan", "FILE", type=Path),
    "only/operations": Option(
        "operation to choose, 'GET /pets*' or an operationId, repeatable (all GET and HEAD)", "OPERATION",
        default=list, is_repeated=True,
    ),
    "port": Option("port of the system that is started (a free one)", "PORT", of=RUN),
    "set": Option(
        "settings of the system and properties of the plan: 'plugin_threads=30 amount=25'", "NAME=VALUE", of=RUN,
    ),
    "set/levels": Option("settings and properties; several values of one of them are the levels", "NAME=VALUE", of=RUN),
    "set/values": Option("settings and properties with the values to try, the baseline first", "NAME=A,B", of=RUN),
    "set/bisect": Option("one setting with values in order, for commits; also fixed settings", "NAME=A,B", of=RUN),
    "properties": Option(
        "JMeter properties (-J), separated by blanks: 'amount=25 currency=EUR'", "NAME=VALUE", of=LOAD,
        may_be_secret=True,
    ),
    "on": Option(
        "what shares the load: local:2, ssh:gen1,gen2, k8s:NAMESPACE/8 (lth help generators)", "PLACES", of=RUN,
    ),
    "part": Option("drive only this part of the load, such as 3/8", "K/N", of=RUN),
    "start-at": Option("with --part: when its load begins, such as 2026-11-27T12:00:00Z (at once)", "TIME", of=FOLLOW),
    "a": Option(f"the baseline: {_SIDE}", "SIDE"),
    "b": Option("the contender, likewise", "SIDE"),
    "good": Option("the last commit that is known to be good, such as v1.4", "COMMIT"),
    "bad": Option("a later commit that is worse (HEAD)", "COMMIT", default="HEAD"),
    "suite": Option(
        "TOML file with the loads to run (env/nightly.toml)", "FILE", type=Path,
        default=lambda: current_project().folder / "env" / "nightly.toml",
    ),
    "suite/notify": Option("suite whose [notify] lists the recipients (env/nightly.toml)", "FILE", type=Path),
    # How much.
    "users": Option(
        "concurrent users, closed model; several loads are scaled in proportion (the plan's)", "N", "u", of=LOAD,
    ),
    "users/levels": Option("the levels, such as 1,5,10,25,50; one number for levels of --set", "N,N,…", "u"),
    "users/filter": Option("only runs with N users", "N", "u"),
    "rate": Option(
        "new users per second, open model, instead of --users; of several loads the open ones", "N", "r", of=LOAD,
    ),
    "rate/full": Option("new users per second that are 100 %% (those of the plan's last capacity search)", "N", "r"),
    "ramp": Option("ramp-up, part of the duration: 25, 25s, 2m (the plan's)", "TIME", of=LOAD),
    "duration": Option(
        "duration with its ramp-up: 100, 100s, 5m, 4h; for one run also auto (the plan's)", "TIME", "d",
        other=("level-duration",), of=LOAD,
    ),
    "duration/level": Option(
        "duration of a level, a whole number of seconds (30s)", "TIME", "d", other=("level-duration",)
    ),
    "loops": Option("loops per user, instead of --duration", "N", of=LOAD),
    "think": Option("think time: mean pause before each request, such as 2s or 500ms (the plan's)", "TIME", of=LOAD),
    "requests": Option(
        "end the load after about this many samples (the plan's)", "N", other=("level-requests",), of=LOAD,
    ),
    "allow-run": Option("let the client start loads of allowed targets, for this time in all, such as 30m", "TIME"),
    "max": Option(
        "time limit of all runs, such as 30m (none); of one run with --duration auto (10m)", "TIME", of=SERIES,
    ),
    "max/check": Option("the longest time of the pass: 300, 5m, 1h (5m)", "TIME", default="5m", other=("limit",)),
    "detect": Option("smallest change that must be seen (5%%)", "PERCENT", default="5%"),
    "repeat": Option("runs of each level or combination (sweep 1; tune 2, more when there are few)", "N"),
    "warmup": Option("length of an uncounted run before the first level; 0 for none (30s)", "TIME"),
    "fresh": Option("restart the system before each level, each time with a warm-up"),
    "from": Option("users of the first run (the fewest that the plan allows)", "N"),
    "most": Option("the largest number of users to try (400)", "N"),
    "soak": Option("look for leaks: heap histograms, 8h without another length (lth help soak.md)", of=RUN),
    "find": Option("search for the largest number of users within the goal"),
    # Goals and verdicts.
    "goal": Option("goals instead of the plan's: 'p95<1500, errors<1%%, Check-Out: p99<3s'", "GOAL", "g", of=RUN),
    **{
        metric.name: Option(f"goal: {metric.name} of at most this many ms", "MS", of=RUN)
        if metric.is_time
        else Option("goal: at most this share of failed samples, such as 1%%", "PERCENT", of=RUN)
        for metric in option_metrics()
    },
    "goal/results": Option("fail when the results miss one: 'p95<1500, errors<1%%, Check-Out: p99<3s'", "GOAL", "g"),
    "stop": Option(
        "end a run early: 'errors>50%% for 10s, p90>5s for 30s'; none ignores the plan's [stop]", "RULES", of=RUN,
    ),
    "sure": Option("fail also when the answer is not sure: a DOUBTFUL run or table, or CANNOT TELL", of=FOLLOW),
    "base": Option("compare the run with this run, pin or report (the previous run and all pins)", "RUN", of=RUN),
    "base/runs": Option("runs of the baseline, instead of the first argument", "RUN", nargs="+"),
    "base/sweep": Option("an earlier release, the last one first: as SWEEP; repeatable", "SWEEP", is_repeated=True),
    "contender/runs": Option("runs of the contender, instead of the second argument", "RUN", nargs="+", other=("new",)),
    "contender/sweep": Option("the release, as SWEEP; repeatable", "SWEEP", is_repeated=True, other=("new",)),
    "compare": Option("0: compare the run with nothing", "0|1", choices=("0", "1"), of=FOLLOW),
    "anyway": Option("also judge runs that are DOUBTFUL or differ in load"),
    "threshold": Option(
        f"smallest relevant change of a metric, p95=20%%; repeatable; the metrics are {_METRICS}", "METRIC=PERCENT",
        default=list, is_repeated=True,
    ),
    "alpha": Option("accepted rate of false alarms (0.05)", "A"),
    "metric": Option("metric that judges: average, p90, throughput, … (p90)", "METRIC", default="p90"),
    "metric/only": Option(f"only one of: {_METRICS}", "METRIC"),
    "metric/shown": Option(f"one of {_METRICS} (average)", "METRIC", default="average"),
    "since": Option("only runs since this day, such as 2026-11-01", "DATE"),
    "since/accept": Option("date of the first nightly run with the change, such as 2026-11-20", "DATE"),
    "reason": Option("why the change is intended; the nightly report quotes it", "TEXT"),
    "list": Option("print the accepted changes", of=FOLLOW),
    "remove": Option("remove this pin", "NAME"),
    "remove/accept": Option("remove an accepted change"),
    "as": Option("name of the pin (baseline)", "NAME", dest="pin"),
    "file": Option(
        "default: env/nightly-accepted.csv", "FILE", type=Path,
        default=lambda: current_project().folder / "env" / "nightly-accepted.csv", of=PLACE,
    ),
    # What is recorded and followed.
    "profile": Option("profile the system's JVMs: methods, locks, allocations (lth help profile.md)", of=RUN),
    "trace": Option("give each HTTP request a W3C traceparent; its id is in the JTL and the report", of=LOAD),
    "sampler": Option(
        "what sends HTTP requests: lean, or jmeter, JMeter's own (the profile's, else lean)", "NAME", of=LOAD,
    ),
    "warm": Option(
        "warm JMeter's JVM before the load for at most this time: 0.5, 3s; 0: not at all (0.3s)", "TIME",
        type=lambda text: units.checked_duration(text, "--warm"), of=RUN,
    ),
    "jfr": Option(
        "with --target: flight recording of its JVM, for heap, pauses and CPU", "FILE.jfr", type=Path, of=RUN,
    ),
    "live": Option(
        "a page with the current values: 1 or a port; host:port for all who have its token", "ADDRESS", of=FOLLOW,
    ),
    "metrics": Option(
        "metrics for Prometheus while runs last: 1 (port 9464), a port, or IP:port", "ADDRESS", of=FOLLOW,
    ),
    "otlp": Option(
        "send metrics, and spans of traced runs, to an OpenTelemetry receiver: http://host:4318", "URL", of=FOLLOW,
    ),
    "series": Option(
        "series in the run's name: 7 gives run-07_1, run-07_2, … (the last series, or 01)", "N", of=FOLLOW,
    ),
    "note": Option("text for the notes in the report", "TEXT", "n", default="", of=FOLLOW),
    "s3/suite": Option("s3://bucket/prefix of all runs, for upload and download (none)", "S3", of=SERIES),
    "s3": Option("s3://bucket/prefix for upload, or for download (the profile's [storage])", "S3", of=FOLLOW),
    "endpoint-url": Option(
        "address of an S3 server other than AWS, such as MinIO (AWS_ENDPOINT_URL)", "URL", type=parse_endpoint_url,
        of=FOLLOW,
    ),
    # Many runs.
    "resume": Option(
        "resume the last unfinished one, or one by name (07, ab-01, <plan>/sweep-07), with its settings; the same "
        "command does so while the code is unchanged", "NAME", nargs="?", const=LAST, of=FOLLOW,
    ),
    "new": Option("start a new one although one with these settings is unfinished", of=FOLLOW),
    "dry-run": Option("check everything and print what would be done; start and send nothing", of=FOLLOW),
    "summary": Option("append the nightly report to this file ($GITHUB_STEP_SUMMARY)", "FILE", type=Path, of=FOLLOW),
    # What is written and printed.
    "reports": Option(
        "folder of the results (reports/)", "DIR", type=folder, default=lambda: current_project().reports, of=PLACE,
    ),
    "html": Option("also write the report as one HTML file beside it: for mail; it loads nothing", of=FOLLOW),
    "junit": Option(
        "also write verdict, goals and runs as JUnit XML, for CI",
        "FILE", type=junit_file, default=JUnitFile, of=FOLLOW,
    ),
    "html/file": Option("also write everything to this HTML file", "FILE", type=Path, of=FOLLOW),
    "output": Option("write this file, and preserve its notes", "FILE", "o", type=Path, of=PLACE),
    "output/tally": Option("the file to write", "NAME.tally", "o", type=Path, is_required=True),
    "output/site": Option("folder to write (site/; in a clone build/site/)", "DIR", "o", type=Path,
        default=lambda: site_folder(current_project().folder),
    ),
    "save": Option("write the report beside the runs, and print the verdict", of=FOLLOW),
    "into": Option("folder of what is written (beside the run)", "DIR", type=Path, of=PLACE),
    "format/compare": Option(
        "md: print the page, json: its data; by default a terminal shows verdict and path of the page", "F",
        choices=("md", "markdown", "json"),
    ),
    "format/sweep": Option("print the result instead of writing a report", "F", choices=("markdown", "csv", "json")),
    "format/history": Option(
        "markdown (default; a terminal gets a short answer), csv, json, otava", "F",
        choices=("markdown", "csv", "json", "otava"),
    ),
    "format/export": Option(
        "csv (default), parquet or openmetrics", "F", choices=("csv", "parquet", "openmetrics"), default="csv"
    ),
    "format/table": Option(
        "markdown (default; in a terminal a coloured table), csv, json, jsonl", "F",
        choices=("markdown", "csv", "json", "jsonl"),
    ),
    "layout": Option(
        "default; wide: all metrics; classic: the layout of the 2015 reports", "L",
        choices=("default", "classic", "wide"),
    ),
    "template": Option("layout of the page (ptf)", "T", choices=("ptf",), default="ptf"),
    "label": Option("only labels that match ((?i) ignores case)", "REGEX"),
    "label/slow": Option("compare the slowest seconds of this label with its normal ones", "LABEL"),
    "label/shown": Option("TOTAL of the main load (default), or a label", "LABEL", default="TOTAL"),
    "label/only": Option("only for this label, or TOTAL (all)", "LABEL"),
    "only": Option("only the row of this label; TOTAL: the total of the main load", "NAME"),
    "sort": Option("sort by a column title or JSON key, largest first; -COLUMN reverses the order", "COLUMN"),
    "window": Option("all (default), steady, or FROM..TO such as 30s..2m, 10.., ..90", "W", default="all"),
    "percentiles": Option("percentiles to print besides p50 and p90, such as 95,99,99.9", "P,…"),
    "transactions": Option("count Transaction Controllers in TOTAL, too"),
    "successful": Option("also the times of successful samples only, in a table of their own"),
    "columns": Option("column names of files without a header line", "A,B,…"),
    "strict": Option("treat an unusable record as an error"),
    "each": Option("print one table per file, with the file's name as title"),
    "last": Option("only the N newest runs", "N"),
    "last/list": Option("only the N newest runs (10)", "N", "n", default="10"),
    "json": Option("print JSON: exact numbers, one object per run"),
    "pairs": Option("compare the first sweep with each of the others, level by level", other=("compare",)),
    "pairs/ab": Option("auto: runs as long as the newest trust test of the plan proposes", "auto", choices=("auto",)),
    "merge": Option("merge runs or JTL files of independent load generators into one run; NAME=RUN names one"),
    "long": Option("a longer run of the release, for the growth of memory", "RUN"),
    "run": Option("add it to this run, or to the runs of a pattern such as 'lb-gwlb/run-03_*'", "RUN"),
    "name": Option("name of the JVM in tables and charts (the file's)", "NAME"),
    # Adopting, storage, pull requests, systems.
    "jmx": Option("your JMeter test plan; it is copied and not changed", "FILE.jmx", type=Path),
    "har": Option("recording of a browser; a second one of the same steps tells what varies", "FILE.har", type=Path,
        is_repeated=True),
    "static": Option("retrieve the static files of each page, as a browser does"),
    "replay": Option("replay the recording also if it removes, changes, pays or sends something, without a question"),
    "no-replay": Option("send nothing: the extractors of the recording are not proven"),
    "fix": Option("apply the fixes: target, load, redirects, assertions, listeners, data files"),
    "text": Option("print one JMX as text, a line per element, for git's textconv"),
    "git": Option("let git diff show the JMX files of this folder as text: .gitattributes, git config"),
    "force": Option("replace a plan of this name"),
    "from-clone": Option("make a project of what a team added to a clone of the tool", "DIR", type=folder),
    "replace": Option("replace reports in S3 that were written again here"),
    "verify": Option("compare the objects of each run with what was pushed"),
    "figures-only": Option("only run.json, summary and report: enough for history and compare"),
    "repo": Option("default: $GITHUB_REPOSITORY, or GitLab's $CI_PROJECT_PATH", "OWNER/NAME"),
    "pr": Option("number of the pull request, or OWNER:BRANCH of its head", "N", is_required=True),
    "sha": Option("also set the status of this commit, the one that was measured", "SHA"),
    "link": Option("address of the whole report and its charts", "URL"),
    "context": Option("name of the status, and of the comment (performance)", "NAME", default="performance"),
    "prepare-only": Option("download what the systems need, and end without starting one"),
    "logs": Option("folder of its logs (.lth/system-logs/)", "DIR", type=Path),
    "all": Option("everything that any command needs"),
    "all/trust": Option("write a page over all plans with a history, which are noisy and why; run nothing"),
    "yes": Option("run a project that was not made on this machine without the question (LTH_TRUST=1)"),
    # For processes of the tool itself.
    "home": Option(_HIDDEN, "DIR", type=folder, default=lambda: current_project().folder, of=PLACE),
    "build": Option(_HIDDEN, "DIR", type=folder, default=BUILD, of=PLACE),
    "result": Option(_HIDDEN, "FILE", type=Path, of=PLACE),
    "overload": Option(_HIDDEN, "CAPACITY_PER_S,LEVEL_S,COMMAND", of=PLACE),
}  # fmt: skip
# Options of several verbs that belong together.
FOLLOWED = "live metrics otlp"
PUBLISHED = "html junit"
LIMITS = " ".join(one.name for one in option_metrics())
GOALS = f"goal {LIMITS}"
FOLDERS = "yes reports home build"


def of_runs(without: str = "") -> str:
    """Return the keys of all options of a run but those in `without`, separated by blanks."""
    own = (key for key, one in OPTIONS.items() if one.of in (LOAD, RUN) and "/" not in key)
    return " ".join(key for key in own if key not in without.split())


def kinds_of_runs() -> dict[str, Kind]:
    """Return what the value of each option of a run is in TOML, by name: text, on or off, or several."""
    own = OPTIONS.items()
    return {name: one.kind for name, one in own if one.of in (LOAD, RUN) and "/" not in name}


def of_equal_runs() -> str:
    """Return the keys for experiments whose runs have one length and no goal; each run has its value of --set."""
    return of_runs(f"set target loops curl port {GOALS} stop part soak base jfr")


def of_sweeps() -> str:
    """Return the keys for sweeps, whose levels are numbers of users or values of --set."""
    return f"{of_runs('set users rate curl part soak base')} set/levels warmup fresh max sure note {PUBLISHED}"


# Arguments without a name; the variable of make is the name.
ARGUMENTS = {
    "plan": Option("the plan, as with --plan", "PLAN"),
    "plan/address": Option("the plan, as with --plan; an address is a plan with one request", "PLAN|URL"),
    "run": Option(_RUN, "RUN"),
    "runs": Option("baseline and contender: runs, pins, JSON, JTL, Markdown files, patterns", "RUN"),
    "runs/stored": Option("RUN… and s3://bucket/prefix; all runs without RUN", "RUN|s3://…"),
    "run/pin": Option("the run, as in compare; without it the pins are listed", "RUN"),
    "run/experiment": Option("lb-nginx/ab-01, tune-01, overload-07 or 2026-11-21, or its .json or .md", "NAME"),
    "run/message": Option("a nightly run such as 2026-11-21, or an A/B test such as lb-nginx/ab-01", "RUN"),
    "releases": Option("the release: a sweep, a run or a pattern of runs, or TITLE=SWEEP; one per plan", "SWEEP"),
    "sweep": Option("a sweep, a pattern of runs, a CSV or Markdown table of levels", "SWEEP"),
    "jmx": Option("a test plan: the old version, then the new one", "FILE.jmx", type=Path),
    "input": Option(
        "a JTL (CSV or XML, also .gz or .zst), a file of another tool, a tally, a folder or run, a pattern, "
        "-, s3://bucket/key", "INPUT",
    ),
    "recording": Option("a flight recording of a JVM", "FILE.jfr", type=Path),
    "result": Option("report of an A/B test, or a folder that contains one", "REPORT", type=Path),
    "shell": Option("which one", "SHELL", choices=("bash", "zsh", "fish", "markdown")),
    "reports": Option("folder of the results, as with --reports", "DIR", type=folder),
    "what": Option(
        "a JMX or an address of which a plan is made, and its name; without it a project is made here", "NAME|JMX|URL"
    ),
    "plan/new": Option("name of the new plan", "PLAN"),
    "plan/only": Option("only runs of this plan, with a sparkline of p95", "PLAN"),
    "run/opened": Option("a run or an experiment, such as run-07_1, sweep-07 or -1 (the report written last)", "RUN"),
    "address": Option("the first page: http://host:8080", "URL"),
}  # fmt: skip


def take(parser: argparse._ActionsContainer, names: str) -> None:
    """Add the options with these keys of OPTIONS, separated by blanks, to a parser or group."""
    taken = [OPTIONS[key].add_to(parser, key.partition("/")[0]) for key in names.split()]
    parser.set_defaults(taken=(*(parser.get_default("taken") or ()), *taken))


def take_argument(parser: argparse.ArgumentParser, key: str, nargs: str | None = None) -> None:
    """Add an argument without a name; where an option of this name exists, it is another spelling of that."""
    argument, name = ARGUMENTS[key], key.partition("/")[0]
    is_second = any(action.dest == name for action in parser._actions)
    more: dict[str, Any] = {"default": argparse.SUPPRESS} if is_second else {}

    def value(text: str) -> Any:
        return text if text is argparse.SUPPRESS else argument.type(text)  # argparse converts a default as well

    if argument.choices:
        more["choices"] = argument.choices
    parser.add_argument(name, nargs=nargs, metavar=argument.metavar, type=value, help=argument.help, **more)
