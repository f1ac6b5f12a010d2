"""Run the fixed test plans of a folder against a stand-in server, and store each result for bench.plans.real_plans.

usage: .venv/bin/python -m bench.plans.real_runs FOLDER WORK RESULTS.jsonl [--kind load] [--only TEXT] [--again] …

FOLDER contains the JMX files; each is fixed as `make init FIX=1` does, in a folder of its own below WORK. The kind
"pass" is `make check`: one user, one pass. "load" is `make run` with 2 users (at least 1 per load) for 30 s. The server
is bench.plan_server: it answers as the plan itself expects. Where `make init` asks for the hosts of a plan that takes
addresses from responses, that server is named. Properties whose default is a placeholder in brackets get a value.

RESULTS.jsonl gets one line per run; plans that it has are not run again, so an interrupted batch continues. The whole
output of a run is in WORK/<plan>/<kind>.txt.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bench.plans.json_document import made_up
from bench.plans.plan_answers import Answers
from bench.plans.plan_server import serving
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, EXIT_USAGE, UsageError
from harness.base.project import SHIPPED
from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.files import store_secrets, write_adopted
from harness.plan.checks.finding import Rule
from harness.plan.jmx.tree import read_properties
from harness.plan.plan import load_plan
from harness.run.result_file import read_end

NAME = "plan"
PASS, LOAD = "pass", "load"
# The plans of others are run here, as their user has agreed to.
TRUSTED = {"LTH_TRUST": "1"}
PASSED = "PASSED"
# A pass ends by itself after 300 s.
_MOST_S = {PASS: 330, LOAD: 150}
_STOP_S = 30
_STATES = {EXIT_OK: PASSED, EXIT_REGRESSED: "FAILED", EXIT_USAGE: "REFUSED", EXIT_INVALID: "NO SAMPLE"}
_COUNTS = re.compile(r": (\d+) requests?, (\d+) failed")


_PLACEHOLDER = re.compile(r"\s*\[[^\]]*\]\s*")

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


@dataclass(frozen=True)
class Result:
    """How a run ended: `state` is that of the verdict, or of the check; `why` is its first problem."""

    plan: str
    kind: str
    samples: int
    failed: int
    state: str
    why: str = ""


class FixedHome(NamedTuple):
    """What init found in a plan, and values for its placeholders."""

    adoption: Adoption
    given: Mapping[str, str]


def run_plan(jmx: Path, plan: str, kind: str, work: Path) -> Result:
    """Fix a plan, run it and return the result; a run that takes too long is interrupted."""
    home = work / re.sub(r"[^\w.-]+", "-", plan)
    try:
        adoption, given = fixed_home(jmx, home)
        loads = len(load_plan(home / "plans", NAME).load.loads)
        answers = Answers.of(home / "plans" / f"{NAME}.jmx", given)
        needs_hosts = any(finding.rule is Rule.UNKNOWN_HOST for finding in adoption.left)
    except UsageError as error:
        return Result(plan, kind, 0, 0, "REFUSED", str(error))
    with serving(answers) as address:
        if needs_hosts:
            allow_host(home / "plans" / f"{NAME}.toml", address)
        command = [sys.executable, str(SHIPPED / "scripts" / ("check" if kind == PASS else "run"))]
        command += ["--home", str(home), "--plan", NAME, "--target", address]
        command += properties_option(given)
        if kind == LOAD:
            command += ["--users", str(max(2, loads)), "--duration", "30"]
            command += ["--reports", str(home / "reports"), "--result", str(home / "result.json")]
        code = _run(command, home / f"{kind}.txt", _MOST_S[kind])
    text = (home / f"{kind}.txt").read_text(encoding="utf-8", errors="replace")
    return _checked(plan, code, text) if kind == PASS else _loaded(plan, code, text, home)


def fixed_home(jmx: Path, home: Path) -> FixedHome:
    """Write the plan NAME, as `make init FIX=1` does, and return what init found."""
    _home(home)
    adoption = adopt(jmx, NAME, home / "plans")
    write_adopted(home / "plans", NAME, adoption, jmx.name)
    store_secrets(home, adoption.secrets)
    return FixedHome(adoption, _given(home / "plans" / f"{NAME}.jmx"))


def properties_option(given: Mapping[str, str]) -> list[str]:
    """Return the option that sets properties; empty without any."""
    return ["--properties", shlex.join(f"{one}={value}" for one, value in given.items())] if given else []


def _home(folder: Path) -> None:
    """Make a folder for one plan, with the profiles of the project."""
    shutil.rmtree(folder / "plans", ignore_errors=True)
    (folder / "plans").mkdir(parents=True)
    for name in ("env", "systems"):
        if not (folder / name).exists():
            (folder / name).symlink_to(SHIPPED / name)


def _given(jmx: Path) -> dict[str, str]:
    """Return values for the properties whose default is a placeholder such as [tenant]: their user must give them."""
    reads = read_properties(jmx).items()
    return {name: str(made_up(name, name)) for name, default in reads if _PLACEHOLDER.fullmatch(default or "")}


def allow_host(toml: Path, address: str) -> None:
    """Permit the address: the decision that the user of a plan makes when a response contains further addresses."""
    lines = [line for line in toml.read_text(encoding="utf-8").splitlines() if not line.startswith("hosts = ")]
    at = lines.index("[allow]") + 1 if "[allow]" in lines else len(lines)
    head = [] if "[allow]" in lines else ["", "[allow]"]
    lines[at:at] = [*head, f"hosts = [{json.dumps(address.rpartition('/')[2])}]"]
    toml.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run(command: list[str], output: Path, most_s: float) -> int:
    """Run a command to its end, or interrupt it after `most_s`; return the exit code."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **TRUSTED}
        )
        try:
            return process.wait(most_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return EXIT_INTERRUPTED


def _checked(plan: str, code: int, text: str) -> Result:
    counts = _COUNTS.findall(text)
    samples, failed = map(int, counts[-1]) if counts else (0, 0)
    state = "INTERRUPTED" if code == EXIT_INTERRUPTED else _STATES.get(code, f"exit code {code}")
    why = "" if code in (EXIT_OK, EXIT_INTERRUPTED) else _why(text)
    return Result(plan, PASS, samples, failed, state, why)


def _loaded(plan: str, code: int, text: str, home: Path) -> Result:
    end = read_end(home / "result.json")
    if end is None or end.run is None or end.verdict is None:
        why = "; ".join(end.reasons) if end else _why(text)
        return Result(plan, LOAD, 0, 0, "REFUSED" if code == EXIT_USAGE else f"exit code {code}", why)
    with (home / "reports" / end.run / "samples.jtl").open(encoding="utf-8", newline="") as file:
        successes = [row.get("success") == "true" for row in csv.DictReader(file)]
    has_report = (home / "reports" / f"{end.run}.md").is_file()
    why = "; ".join(end.reasons) if has_report else "no report"
    return Result(plan, LOAD, len(successes), successes.count(False), end.verdict, why)


def _why(text: str) -> str:
    """Return the first failed sample and assertion of an output, else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    failed = [line for line in lines if re.search(r": FAILED[,:] ", line)][:2]
    why = "; ".join(failed or lines[-1:]).removeprefix("scripts/check: plan: ")
    return re.sub(r"\S*/check/pass/", "", why)[:300]


def main(arguments: list[str]) -> None:
    """Run the plans that have no result yet; print one line for each."""
    parser = batch_parser((__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", choices=(PASS, LOAD), default=PASS)
    options = parser.parse_args(arguments)
    done = {one["plan"] for one in stored_results(options.results) if one["kind"] == options.kind}

    def run(jmx: Path, plan: str) -> Result:
        return run_plan(jmx, plan, options.kind, options.work.resolve())

    run_batch(options, done, run, lambda one: f"{one.state} {one.samples} {one.failed} {one.plan} {one.why}")


def batch_parser(description: str) -> argparse.ArgumentParser:
    """Return the options of `run_batch`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--only", default="", help="plans whose path matches this regular expression")
    parser.add_argument("--again", action="store_true", help="run plans that have a result, too")
    parser.add_argument("--at-once", type=int, default=2, help="plans side by side (2)")
    return parser


def stored_results(path: Path) -> list[dict[str, Any]]:
    """Return the results of an earlier batch; none where there is no such file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def run_batch(
    options: argparse.Namespace, done: Collection[str], run: Callable[[Path, str], R], text: Callable[[R], str]
) -> None:
    """Run the plans of a folder, the smallest first; store and print each result. `done` are those that have one."""
    lock = threading.Lock()

    def run_and_store(jmx: Path) -> None:
        result = run(jmx, str(jmx.relative_to(options.folder)))
        with lock, options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(result)) + "\n")
            print(text(result), flush=True)

    todo = [
        jmx
        for jmx in sorted(options.folder.rglob("*.jmx"), key=lambda path: path.stat().st_size)
        if re.search(options.only, str(jmx)) and (options.again or str(jmx.relative_to(options.folder)) not in done)
    ]
    with ThreadPoolExecutor(options.at_once) as pool:
        list(pool.map(run_and_store, todo))


if __name__ == "__main__":
    main(sys.argv[1:])
