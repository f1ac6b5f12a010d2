"""`scripts/bench correlation`: makes plans of recordings of generated web applications, and counts their extractors."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench.results import Aim
from bench.tables import print_aims
from tests.support.correlated_apps import outcome_of

_RECALL_LEAST_RATIO = 0.95


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--apps", type=int, default=30, help="applications, each from its own seed (30)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")


def bench(options: argparse.Namespace) -> int:
    """Print the counts and the aims; return 1 when one is missed. Each second application is recorded twice."""
    outcomes = []
    for seed in range(options.first, options.first + options.apps):
        with tempfile.TemporaryDirectory(prefix="correlation-") as folder:
            outcomes.append(outcome_of(seed, Path(folder), 1 + seed % 2))
    needed = sum(one.needed for one in outcomes)
    missed = [f"{one.seed}{part}" for one in outcomes for part in one.missed]
    too_many = [f"{one.seed}{part}" for one in outcomes for part in one.unnecessary]
    not_named = [f"{one.seed}{part}" for one in outcomes for part in one.not_named]
    failed = [str(one.seed) for one in outcomes if one.code]
    print(f"{len(outcomes)} applications, {needed} values that a client must send anew")
    for what, names in (("missed", missed), ("unnecessary", too_many), ("not named", not_named), ("failed", failed)):
        print(f"- {what}: {', '.join(names) or 'none'}")
    found = needed - len(missed)
    aims = [
        Aim("extractors found", f"{found} of {needed}", "95 %", found >= _RECALL_LEAST_RATIO * needed),
        Aim("unnecessary extractors", str(len(too_many)), "0", not too_many),
        Aim("unexplained values not named", str(len(not_named)), "0", not not_named),
        Aim("plans that the replay proved", f"{len(outcomes) - len(failed)} of {len(outcomes)}", "all", not failed),
    ]
    print()
    return print_aims(aims, "correlation of")
