"""Finds the sweeps and runs of each release of a page by the names on the command line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from harness.base.errors import UsageError
from harness.release.release import Edition, source_name
from harness.sweep.levels import Sweep, levels_of
from harness.sweep.sources import FoundSweep, find_sweeps


class _Source(NamedTuple):
    """A sweep, or runs as one: the title that was given for its release, empty without one, and its plan."""

    title: str
    plan: str
    found: FoundSweep


def find_editions(contenders: Sequence[str], baselines: Sequence[str], reports: Path) -> list[Edition]:
    """Return the releases that the names refer to: that of the page first, then the others in the order given.

    All `contenders` are of the release of the page. Baselines with the same title are of one release; without titles
    the n-th baseline of each plan is of the n-th release. UsageError for a name that is neither a sweep over users nor
    runs of one plan.
    """
    new = [source for name in contenders for source in _sources(name, "--new", reports)]
    if len(titles := list(dict.fromkeys(source.title for source in new if source.title))) > 1:
        todo = "give one title to all of --new; other releases are --base"
        raise UsageError(f"release: --new has the titles {' and '.join(titles)}", todo)
    releases: dict[str, list[_Source]] = {}
    counts: defaultdict[str, int] = defaultdict(int)
    for source in (source for name in baselines for source in _sources(name, "--base", reports)):
        counts[source.plan] += not source.title
        releases.setdefault(source.title or f"\n{counts[source.plan]}", []).append(source)
    found = [new, *releases.values()]
    short = [_name(sources, is_short=True) for sources in found]
    is_clear = len(set(short)) == len(short)
    names = short if is_clear else [_name(sources, is_short=False) for sources in found]
    return [Edition(name, _by_plan(sources)) for name, sources in zip(names, found, strict=True)]


def _sources(name: str, option: str, reports: Path) -> list[_Source]:
    sources = []
    for sweep in find_sweeps([name], reports):
        title = sweep.sweep.name if "=" in name and sweep.sweep.name == name.partition("=")[0].strip() else ""
        if sweep.sweep.is_of_setting:
            what = f"release: {source_name(sweep)} is a sweep over {sweep.sweep.setting}"
            raise UsageError(what, "give sweeps over users")
        record = sweep.sweep.record
        plans = [record.plan] if record else list(dict.fromkeys(run.plan for run in sweep.sweep.records))
        if len(plans) != 1:
            what = f"{option} {name}: is no stored sweep and no run"
            raise UsageError(what, "give one such as folio-checkin/sweep-01; published figures need no --base")
        sources.append(_Source(title, plans[0], sweep))
    return sources


def _name(sources: Sequence[_Source], *, is_short: bool) -> str:
    """Return the name of a release on the page: its title, else those of its sweeps, if `is_short` without the plan."""
    if title := next((source.title for source in sources if source.title), ""):
        return title
    return " + ".join(dict.fromkeys(source_name(source.found, is_short=is_short) for source in sources))


def _by_plan(sources: Sequence[_Source]) -> Mapping[str, FoundSweep]:
    """Return the sweep of each plan; several of a plan become one, which has the record of the first."""
    by_plan: dict[str, FoundSweep] = {}
    for source in sources:
        found = by_plan.get(source.plan)
        by_plan[source.plan] = _joined(found, source.found) if found else source.found
    return by_plan


def _joined(first: FoundSweep, second: FoundSweep) -> FoundSweep:
    runs = [(level.users, run) for found in (first, second) for level in found.sweep.levels for run in level.runs]
    sweep = Sweep(first.sweep.name, levels_of(runs), first.sweep.record)
    return replace(first, sweep=sweep, run_reports={**first.run_reports, **second.run_reports})
