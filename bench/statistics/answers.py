"""`scripts/bench answers`: the error rates of every page that gives an answer, on runs that scatter as real ones do.

A page is simulated as a whole, by the code that writes it: "false REGRESSED" is the share of *pages*, not of tests.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from bench.results import Aim
from bench.statistics import answer_pages, experiment_pages, load_pages, release_pages, release_parts
from bench.statistics.answer_pages import Answers
from bench.statistics.scatter import KINDS, Kind
from bench.tables import print_aims
from harness.base.errors import UsageError
from harness.base.log import stderr_log
from harness.base.units import parse_whole_number, percent_text
from harness.report.tables import table

_log = stderr_log("bench: ")
_FALSE_MOST = 0.05
_COVERED = (0.93, 0.97)
# The intervals of an A/B test have the level of their look: 97.2 to 99.3 %.
_COVERED_BY_LOOKS = (0.95, 1.0)
_SEED = 1000
_OF_LABELS = ("unequal cells", "larger cells scatter more", "ties at 1 to 3 ms", "few errors", "30 labels")


class Page(NamedTuple):
    """A page: its name, the change whose power is measured, if one is, and the function that simulates it.

    `covered` is the aim of its intervals, `kinds` are those in which its values differ.
    """

    name: str
    change: float | None
    simulate: Callable[[np.random.Generator, Kind, int, float], Answers]
    covered: tuple[float, float] = _COVERED
    kinds: tuple[Kind, ...] = KINDS


# Pages whose values know no cells, labels or errors.
_OF_RUNS = tuple(kind for kind in KINDS if kind.name not in _OF_LABELS)
_OF_TIME = tuple(kind for kind in KINDS if kind.rho or kind.samples_equal)
PAGES = (
    Page("compare, one run a side", 0.25, answer_pages.compared(1)),
    Page("compare, one run a side after 8 earlier ones", 0.2, answer_pages.compared(1, 8)),
    Page("compare, 5 runs a side", 0.2, answer_pages.compared(5)),
    Page("compare, 8 runs a side", 0.1, answer_pages.compared(8)),
    Page("sweeps, one run per level", 0.15, release_pages.answers(1, is_release=False)),
    Page("sweeps, 5 runs per level", 0.15, release_pages.answers(5, is_release=False)),
    Page("release, one run per cell", 0.15, release_pages.answers(1)),
    Page("release, 3 runs per cell", 0.15, release_pages.answers(3)),
    Page("release, jobs", 0.15, release_parts.jobs),
    Page("release, databases", 0.2, release_parts.databases),
    Page("ab", 0.1, answer_pages.ab_tested, _COVERED_BY_LOOKS),
    Page("nightly", 0.2, answer_pages.nightly),
    Page("history", 0.2, answer_pages.in_history),
    Page("bisect", 0.2, experiment_pages.bisections, kinds=_OF_RUNS),
    Page("tune", 0.15, experiment_pages.tuned, kinds=_OF_RUNS),
    Page("trust", 1.0, experiment_pages.trusted, kinds=_OF_RUNS),
    Page("overload", -0.4, experiment_pages.overloaded, kinds=_OF_RUNS),
    Page("find", None, experiment_pages.searched),
    Page("soak", 0.3, load_pages.soaked, kinds=_OF_RUNS),
    Page("auto", None, load_pages.auto_ended, kinds=_OF_TIME),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this part of the benchmark."""
    parser.add_argument("--pages", default="200", metavar="N", help="simulated pages per row (200)")
    parser.add_argument("--only", default="", metavar="TEXT", help="pages whose name begins so, such as release")


def bench(options: argparse.Namespace) -> int:
    """Print the table; return 0, or 1 when an aim is missed."""
    count = parse_whole_number(options.pages, "--pages", 10, 1_000_000)
    pages = [page for page in PAGES if page.name.startswith(options.only)]
    if not pages:
        raise UsageError(f"--only {options.only}: no page has such a name", ", ".join(page.name for page in PAGES))
    rows: list[list[str]] = []
    aims: list[Aim] = []
    for page in pages:
        found = {}
        for kind in page.kinds:
            _log(f"{page.name}: {kind.name}")
            unchanged = page.simulate(np.random.default_rng(_SEED), kind, count, 0.0)
            power = ""
            if page.change is not None:
                changed = page.simulate(np.random.default_rng(_SEED + 1), kind, max(10, count // 4), page.change)
                power = _percent(changed.regressed, 0)
                if unchanged.covered is None:
                    unchanged = replace(unchanged, covered=changed.covered)
            found[kind] = unchanged
            rows.append([page.name, kind.name, *_cells(unchanged), power])
        aims += _aims(page, found, count)
    heads = ("page", "runs", "false REGRESSED %", "intervals that cover %", "found %")
    print(f"**{count:,} pages per row on which nothing changed; a quarter as many with a change**\n")
    print(table(heads, rows, text_columns=2), end="\n\n", flush=True)
    return print_aims(aims, "answers")


def _cells(found: Answers) -> list[str]:
    return [_percent(found.regressed), "" if found.covered is None else _percent(found.covered)]


def _aims(page: Page, found: dict[Kind, Answers], count: int) -> Iterator[Aim]:
    """Yield the aims of a page, with an allowance for chance: three standard errors."""
    chance = 3 * math.sqrt(_FALSE_MOST * (1 - _FALSE_MOST) / count)
    worst = max(found, key=lambda kind: found[kind].regressed)
    most = found[worst].regressed
    text = f"{_percent(most)} ({worst.name})"
    what = f"≤ {_percent(_FALSE_MOST, 0)}, and {_percent(chance)} for chance"
    yield Aim(f"{page.name}: greatest rate of false REGRESSED, %", text, what, most <= _FALSE_MOST + chance)
    if known := [one.covered for one in found.values() if one.covered is not None]:
        text = f"{_percent(min(known))} to {_percent(max(known))}"
        is_met = min(known) >= page.covered[0] and max(known) <= page.covered[1]
        aim = " to ".join(_percent(end, 0) for end in page.covered)
        yield Aim(f"{page.name}: intervals of averages that contain the change, %", text, aim, is_met)


def _percent(ratio: float, decimals: int = 1) -> str:
    return percent_text(ratio, decimals)
