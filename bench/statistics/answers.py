"""`scripts/bench answers`: the error rates of every page that gives an answer, on runs that scatter as real ones do.

A page is simulated as a whole, by the code that writes it: "false REGRESSED" is the share of *pages*, not of tests.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from bench.results import Aim
from bench.statistics import answer_pages, release_pages
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


class Page(NamedTuple):
    """A page: its name, the change whose power is measured, and the function that simulates it."""

    name: str
    change: float
    simulate: Callable[[np.random.Generator, Kind, int, float], Answers]
    covered: tuple[float, float] = _COVERED


PAGES = (
    Page("compare, one run a side", 0.2, answer_pages.compared(1)),
    Page("compare, 5 runs a side", 0.2, answer_pages.compared(5)),
    Page("compare, 8 runs a side", 0.1, answer_pages.compared(8)),
    Page("release, one run per cell", 0.15, release_pages.answers(1)),
    Page("release, 3 runs per cell", 0.15, release_pages.answers(3)),
    Page("ab", 0.1, answer_pages.ab_tested, _COVERED_BY_LOOKS),
    Page("nightly", 0.2, answer_pages.nightly),
    Page("history", 0.2, answer_pages.in_history),
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
        for kind in KINDS:
            _log(f"{page.name}: {kind.name}")
            unchanged = page.simulate(np.random.default_rng(_SEED), kind, count, 0.0)
            changed = page.simulate(np.random.default_rng(_SEED + 1), kind, max(10, count // 4), page.change)
            found[kind] = unchanged
            rows.append([page.name, kind.name, *_cells(unchanged), _percent(changed.regressed, 0)])
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
