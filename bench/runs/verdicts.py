"""`scripts/bench verdicts`: runs each plan of the repository several times with its defaults, and counts verdicts.

On an idle machine a good run is VALID; a DOUBTFUL one is a false alarm, and its report stays in build/bench/verdicts.
It takes hours and only runs by name.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.results import Aim
from bench.tables import print_aims
from harness.base import units
from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_REGRESSED, StartError
from harness.base.project import SHIPPED
from harness.compare.sources import read_result
from harness.judge.verdict import VALID, Verdict
from harness.judge.warnings import without_numbers
from harness.plan.plan import load_plan
from harness.report.tables import cell, table

_REPORTS = SHIPPED / "build" / "bench" / "verdicts"
# Of all runs, and of those of one plan: one of ten may be a false alarm.
_VALID_LEAST_RATIO, _OF_PLAN_LEAST_RATIO = 0.98, 0.9
_NO_VERDICT = Verdict("no verdict", (), (), ())


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--plans", help="comma-separated plans (all that start a system here)")
    parser.add_argument("--repeat", type=int, default=10, help="runs of each plan (10)")
    parser.add_argument("--duration", help="length of each load (the plan's default)")
    parser.add_argument("--users", help="users of each run (the plan's default)")


def bench(options: argparse.Namespace) -> int:
    """Print a Markdown table of the verdicts and one of the aims; return 1 when a plan has too many false alarms.

    StartError when a run has no verdict.
    """
    verdicts: dict[str, list[Verdict]] = {}
    for _ in range(options.repeat):  # in rounds: a busy machine affects all plans alike
        for plan in options.plans.split(",") if options.plans else embedded_plans():
            verdicts.setdefault(plan, []).append(_run(options, plan))
    print(verdicts_table(verdicts))
    aims = verdict_aims(verdicts)
    print()
    return print_aims(aims, "verdicts of")


def embedded_plans() -> tuple[str, ...]:
    """Return the plans of the repository that start a system here."""
    folder = SHIPPED / "plans"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    return tuple(name for name in names if load_plan(folder, name).system)


def verdicts_table(verdicts: dict[str, list[Verdict]]) -> str:
    """Return a table with one row per plan: the number of each verdict, and the reasons of those that are not VALID."""
    rows = []
    for plan, found in verdicts.items():
        states = Counter(verdict.state for verdict in found)
        reasons = Counter(without_numbers(reason) for verdict in found for reason in verdict.reasons)
        named = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
        others = ", ".join(f"{count} {state}" for state, count in states.most_common() if state != VALID)
        rows.append([plan, str(len(found)), str(states[VALID]), others or "none", cell(named)])
    return table(("plan", "runs", "VALID", "others", "reasons"), rows)


def verdict_aims(verdicts: dict[str, list[Verdict]]) -> list[Aim]:
    """Return the aim of each plan, and that of all runs together."""
    aims = [_aim(plan, found, _OF_PLAN_LEAST_RATIO) for plan, found in verdicts.items()]
    return [*aims, _aim("all runs", [one for found in verdicts.values() for one in found], _VALID_LEAST_RATIO)]


def _aim(what: str, found: Sequence[Verdict], least_ratio: float) -> Aim:
    valid = _count(found)
    wanted = f"≥ {units.percent_text(least_ratio, 0)} %"
    return Aim(what, f"{valid} of {len(found)} VALID", wanted, valid >= least_ratio * len(found))


def _count(verdicts: Iterable[Verdict]) -> int:
    return sum(verdict.state == VALID for verdict in verdicts)


def _run(options: argparse.Namespace, plan: str) -> Verdict:
    """Run the plan once, print the verdict on one line and return it. The report is kept unless it is VALID."""
    _REPORTS.mkdir(parents=True, exist_ok=True)
    reports = Path(tempfile.mkdtemp(prefix=f"{plan}-", dir=_REPORTS))
    command = [sys.executable, str(SHIPPED / "scripts" / "run"), "--plan", plan]
    for name, value in (("--duration", options.duration), ("--users", options.users), ("--reports", str(reports))):
        command += [name, value] if value else []
    code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
    if code == EXIT_INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (EXIT_OK, EXIT_REGRESSED, EXIT_INVALID):
        raise StartError(f"{' '.join(command)} ended with code {code}", "see its output")
    newest = max((reports / plan).glob("run-*.json"), key=lambda path: path.stat().st_mtime)
    verdict = read_result(newest).verdict or _NO_VERDICT
    if verdict.state == VALID:
        shutil.rmtree(reports)
        print(f"{plan}: {VALID}", file=sys.stderr, flush=True)
    else:
        report = newest.with_suffix(".md")
        print(f"{plan}: {verdict.state}: {'; '.join(verdict.reasons)} ({report})", file=sys.stderr, flush=True)
    return verdict
