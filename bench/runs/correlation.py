"""`scripts/bench correlation`: makes plans of recordings of generated or real web applications, counts extractors."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.results import Aim
from bench.runs.correlation_tools import paths_of_k6, paths_of_recorder
from bench.tables import print_aims
from tests.support import real_applications
from tests.support.correlated_apps import Outcome, needed_parts, outcome_of
from tests.support.web_apps import WebApp

_RECALL_LEAST_RATIO = 0.95


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--apps", type=int, default=30, help="applications, each from its own seed (30)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--recorder", metavar="CLASSPATH", help="also BlazeMeter's Correlation Recorder, with JMeter")
    parser.add_argument("--k6", metavar="PROGRAM", help="also k6 convert --correlate of this k6 (up to v0.46)")
    parser.add_argument(
        "--real", nargs="*", choices=list(real_applications.APPLICATIONS), metavar="NAME",
        help="real applications instead, recorded by Chromium and run with 20 users: "
        f"{', '.join(real_applications.APPLICATIONS)} (all)",
    )  # fmt: skip


def bench(options: argparse.Namespace) -> int:
    """Print the counts and the aims; return 1 when one is missed. Each second generated one is recorded twice."""
    if options.real is not None:
        return _bench_real(options.real or list(real_applications.APPLICATIONS))
    with tempfile.TemporaryDirectory(prefix="correlation-") as folder:
        return _bench(options, Path(folder))


def _bench(options: argparse.Namespace, folder: Path) -> int:
    outcomes = []
    for seed in range(options.first, options.first + options.apps):
        (folder / str(seed)).mkdir()
        count = 2 if options.recorder or options.k6 else 1 + seed % 2  # the recorder compares two
        outcomes.append(outcome_of(seed, folder / str(seed), count))
    needed = sum(one.needed for one in outcomes)
    missed = [f"{one.seed}{part}" for one in outcomes for part in one.missed]
    too_many = [f"{one.seed}{part}" for one in outcomes for part in one.unnecessary]
    not_named = [f"{one.seed}{part}" for one in outcomes for part in one.not_named]
    failed = [str(one.seed) for one in outcomes if one.code]
    print(f"{len(outcomes)} applications, {needed} values that a client must send anew")
    print(f"- passes of the replays: {sum(one.passes for one in outcomes)}")
    for what, names in (("missed", missed), ("unnecessary", too_many), ("not named", not_named), ("failed", failed)):
        print(f"- {what}: {', '.join(names) or 'none'}")
    found = needed - len(missed)
    aims = [
        Aim("extractors found", f"{found} of {needed}", "95 %", found >= _RECALL_LEAST_RATIO * needed),
        Aim("unnecessary extractors", str(len(too_many)), "0", not too_many),
        Aim("unexplained values not named", str(len(not_named)), "0", not not_named),
        Aim("plans that the replay proved", f"{len(outcomes) - len(failed)} of {len(outcomes)}", "all", not failed),
    ]
    rows = [("load-test-harness", outcomes)]
    pairs = [(folder / str(one.seed) / "visit-0.har", folder / str(one.seed) / "visit-1.har") for one in outcomes]
    if options.recorder:
        rows.append(("Correlation Recorder", _judged(outcomes, paths_of_recorder(options.recorder, pairs))))
    if options.k6:
        rows.append(("k6 convert", _judged(outcomes, [paths_of_k6(options.k6, first) for first, _ in pairs])))
    if rows[1:]:
        print("\n|tool|found|missed|unnecessary|\n|---|---:|---:|---:|")
        for tool, judged in rows:
            lost = sum(len(one.missed) for one in judged)
            more = sum(len(one.unnecessary) for one in judged)
            print(f"|{tool}|{needed - lost}|{lost}|{more}|")
    print()
    return print_aims(aims, "correlation of")


def _judged(outcomes: Sequence[Outcome], found: Sequence[set[str]]) -> list[Outcome]:
    """Return the outcomes of another tool, which replaces values in the requests to these paths."""
    judged = []
    for one, paths in zip(outcomes, found, strict=True):
        needed, parts = needed_parts(WebApp(one.seed)), {f"/{path.split('/')[1]}" for path in paths}
        judged.append(replace(one, missed=needed - parts, unnecessary=frozenset(parts - needed)))
    return judged


def _bench_real(names: list[str]) -> int:
    aims, rows = [], []
    for name in names:
        application = real_applications.APPLICATIONS[name]
        with tempfile.TemporaryDirectory(prefix="correlation-") as folder:
            one = real_applications.outcome_of(application, Path(folder))
        print(one.printed, flush=True)
        found = one.extractors + one.dropped
        rows.append(f"|{application.name}|{found}|{one.extractors}|{one.unexplained}|{len(one.columns)}|"
                    f"{one.requests:,}|{one.errors}|")  # fmt: skip
        is_met = one.code == 0 == one.errors < one.requests
        aims.append(Aim(f"{application.name} with 20 users", f"{one.errors} errors", "0", is_met))
    print("|application|values found|proven|unexplained|columns|requests of 20 users|errors|")
    print("|---|---:|---:|---:|---:|---:|---:|", *rows, "", sep="\n")
    return print_aims(aims, "correlation of")
