"""`scripts/bench trust-real`: are real changes of the size that a real trust test states found by real A/B tests?

A trust test of lb-nginx, whose back-ends wait `--delay` ms before they answer, states the smallest change of the metric
that 8 pairs find in 80 % of A/B tests. Then A/B tests run: half of them with a delay that is longer by exactly that,
half with two equal sides, in turn. As the statement demands, the change is the metric's threshold and no other metric
matters. What is complete in `--folder` is not run again, so an interrupted measurement continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.results import Aim
from bench.tables import print_aims
from harness.base.errors import EXIT_INTERRUPTED, StartError
from harness.base.log import stderr_log
from harness.base.project import SHIPPED
from harness.base.units import parse_whole_number, percent_text
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED
from harness.experiment.record import FINISHED
from harness.kinds.ab.rule import PAIRS_MOST
from harness.metrics.metric import compared_metrics, parse_metric
from harness.report.tables import table

_PLAN, _PAIRS, _POWER = "lb-nginx", 8, 0.8
_FALSE_MOST = 0.05
# The plan's own warm-up is for back-ends without a delay: it would take longer than the runs.
_WARM_UP = "warm_up_users=50 warm_up_requests=501"
_log = stderr_log("bench: ")


@dataclass(frozen=True)
class Injected:
    """The change that the trust test states, and the whole ms nearest to it that are injected: both as ratios."""

    stated_ratio: float
    delay_ms: int
    ratio: float


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--tests", default="10", metavar="N", help="A/B tests with a changed side (10)")
    parser.add_argument("--equal", default="10", metavar="N", help="A/B tests of equal sides (10)")
    parser.add_argument("--delay", default="200", metavar="MS", help="the back-ends' own time (200)")
    parser.add_argument("--users", default="100", metavar="N", help="users of each run (100)")
    parser.add_argument("--duration", default="20", metavar="S", help="seconds of each run (20)")
    parser.add_argument("--metric", default="p95", help="the metric that must see the change (p95)")
    folder = SHIPPED / "build" / "bench" / "trust-real"
    parser.add_argument("--folder", type=Path, default=folder, help="where the results are (build/bench/trust-real)")


def bench(options: argparse.Namespace) -> int:
    """Print what the A/B tests found, and return 0, or 1 when the intervals exclude what is stated."""
    counts = {"changed": parse_whole_number(options.tests, "--tests", 1, 1000)}
    counts["equal"] = parse_whole_number(options.equal, "--equal", 0, 1000)
    delay_ms = parse_whole_number(options.delay, "--delay", 0, 10_000)
    metric = parse_metric(options.metric, "--metric", compared_metrics())
    load = ["--users", options.users, "--duration", options.duration, "--set"]
    home = options.folder
    (home / "plans").mkdir(parents=True, exist_ok=True)
    (home / "loadtest.toml").touch()
    # The plan's thresholds are those of the A/B tests, so the trust test has the shipped ones.
    trust = _run("trust", home / "reports", home, [*load, f"delay_ms={delay_ms} {_WARM_UP}"], 1)[0]
    found = next(one for one in trust["metrics"] if one["metric"] == metric.id)
    change = injected(found, delay_ms)
    shutil.copy(SHIPPED / "plans" / "lb.jmx", home / "plans")
    plan = (SHIPPED / "plans" / f"{_PLAN}.toml").read_text(encoding="utf-8")
    limits = {one.name: 1.0 for one in compared_metrics()} | {metric.name: round(change.ratio, 6)}
    lines = "\n".join(f"{name} = {limit}" for name, limit in limits.items())
    (home / "plans" / f"{_PLAN}.toml").write_text(f"{plan}\n[compare]\n{lines}\n", encoding="utf-8")
    # nginx uses a handful of connections, so one more that it may open changes nothing but makes a side.
    base = f"delay_ms={delay_ms}"
    sides = {"changed": f"delay_ms={delay_ms + change.delay_ms}", "equal": f"{base} worker_connections=20001"}
    done: dict[str, list[dict[str, Any]]] = {}
    for number in range(1, max(counts.values()) + 1):
        for name in (one for one, count in counts.items() if number <= count):
            ab = [*load, _WARM_UP, "--a", base, "--b", sides[name]]
            done[name] = _run("ab", home / name, home, ab, number)
    rows = [
        [name, str(len(tests)), str(hits), interval_text(hits, len(tests))]
        for name, tests in done.items()
        for hits in [sum(is_found(one, metric.id) for one in tests)]
    ]
    stated, real = (percent_text(one, 2) for one in (change.stated_ratio, change.ratio))
    print(f"**{metric.name}: {_PAIRS} pairs see {stated} % of {found['mean']:.1f} ms; injected: {change.delay_ms} ms,")
    print(f"{real} %**\n")
    print(table(("sides", "A/B tests", "REGRESSED", "95 % interval"), rows), end="\n\n", flush=True)
    return print_aims(list(_aims(done, metric.id)), "A/B tests")


def injected(found: dict[str, Any], delay_ms: int) -> Injected:
    """Return the change to inject from what a trust test found of a metric; StartError when it states none."""
    stated = next((one["ratio"] for one in found["seen"] if one["pairs"] == _PAIRS), None)
    if not stated:
        raise StartError(f"the trust test states no change of {found['metric']}: {found['reason']}", "run longer")
    more_ms = max(1, round(found["mean"] * stated))
    if more_ms > delay_ms:
        raise StartError(f"the stated change is {percent_text(stated, 0)} %: too noisy", "use an idle machine")
    return Injected(stated, more_ms, more_ms / found["mean"])


def is_found(test: dict[str, Any], metric: str) -> bool:
    """Return whether an A/B test called the metric REGRESSED after at most 8 pairs."""
    one = next((one for one in test["metrics"] if one["metric"] == metric), None)
    return bool(one and one["verdict"] == REGRESSED and one["base_n"] <= _PAIRS)


def is_complete(stored: dict[str, Any]) -> bool:
    """Return whether an experiment has an answer; an A/B test that ended because runs did not count has none."""
    if stored["state"] != FINISHED or stored["verdict"] == INVALID:
        return False
    counted = [one for one in stored.get("pairs", ()) if not one["problem"]]
    return "pairs" not in stored or stored["verdict"] != CANNOT_TELL or len(counted) >= PAIRS_MOST


def interval_text(hits: int, count: int) -> str:
    """Return the exact 95 % interval of a share (Clopper-Pearson) in %."""
    low, high = _interval(hits, count)
    return f"{percent_text(low, 0)} to {percent_text(high, 0)} %"


def _interval(hits: int, count: int) -> Any:
    """Return the 95 % interval (Clopper and Pearson) of a share, as scipy has it."""
    from scipy import stats  # here, because it loads slowly and the other parts of the bench do not need it

    return stats.binomtest(hits, count).proportion_ci(0.95, method="exact")


def _aims(done: dict[str, list[dict[str, Any]]], metric: str) -> Iterator[Aim]:
    for name, tests in done.items():
        what, wanted = ("found", _POWER) if name == "changed" else ("false", _FALSE_MOST)
        hits = sum(is_found(one, metric) for one in tests)
        low, high = _interval(hits, len(tests))
        is_met = low <= wanted <= high if name == "changed" else low <= wanted
        yield Aim(f"{name} sides: {what}", f"{hits} of {len(tests)}", f"{percent_text(wanted, 0)} % possible", is_met)


def _run(verb: str, reports: Path, home: Path, arguments: list[str], count: int) -> list[dict[str, Any]]:
    """Return the first `count` experiments in the folder; those that are missing or incomplete are run now."""
    for attempt in range(count + 1):
        paths = sorted(reports.glob(f"{verb}/*/{verb}-*.json"))
        stored = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        complete = [one for one in stored if is_complete(one)]
        if len(complete) >= count:
            return complete[:count]
        if attempt:
            _log(f"{verb} {len(complete)} of {count} in {reports} is complete")
        command = [sys.executable, str(SHIPPED / "scripts" / verb), _PLAN, *arguments]
        command += ["--home", str(home), "--reports", str(reports)]
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
    raise StartError(f"{' '.join(command)} ended with code {code}", f"see its reports in {reports}")
