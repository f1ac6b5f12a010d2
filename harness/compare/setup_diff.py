"""Find the set-up differences of two sides: what to look at first when metrics differ."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from harness.base import units
from harness.base.errors import UsageError
from harness.compare.conditions import sold_gb
from harness.plan.jmx.diff import changes_of
from harness.plan.plan import SET_BY_THE_RUN
from harness.report.run_result import RunResult
from harness.run.record import RunRecord

# Printed for a setting that a run does not have.
NONE = "none"
_SECRET = "password"
_PLAN_CHANGES_MOST = 20
_SOURCES = {
    "harness": "code of the harness",
    "plan": "files of the plan",
    "profile": "file of the profile",
    "system": "files of the system",
}
# Each run starts its system on a port of its own.
_LOCAL_PORT = re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):\d+")


@dataclass(frozen=True)
class Difference:
    """A setting that differs between the sides; several values of a side are joined with commas."""

    json_keys: ClassVar = {"baseline": "base", "contender": "new"}
    name: str
    baseline: str
    contender: str


def setup_differences(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> tuple[Difference, ...]:
    """Return the settings that differ between the runs' records, in the order of a report's set-up.

    Values that differ for every run are left out: name, times, folder and the port of a system that the harness
    starts. When runs have no run.json, the first entry lists them.
    """
    has_hashes = all(result.run.source_hashes for result in (*baseline, *contender) if result.run)
    sides = [[_settings(result.run, has_hashes) for result in side if result.run] for side in (baseline, contender)]
    differences = []
    if len(sides[0]) < len(baseline) or len(sides[1]) < len(contender):
        missing = [", ".join(result.name for result in side if result.run is None) for side in (baseline, contender)]
        differences.append(Difference("run.json", *(f"none of {names}" if names else "there" for names in missing)))
    if all(sides):
        for name in dict.fromkeys(name for side in sides for settings in side for name in settings):
            values = [sorted({settings.get(name, NONE) for settings in side}) for side in sides]
            if values[0] != values[1]:
                differences.append(Difference(name, *map(", ".join, values)))
    if any(one.name == _SOURCES["plan"] for one in differences):
        differences += _plan_changes(baseline, contender)
    return tuple(differences)


def _plan_changes(baseline: Sequence[RunResult], contender: Sequence[RunResult]) -> Iterator[Difference]:
    """Yield what differs between the plans that JMeter ran, where both sides still have theirs."""
    old, new = (next((run.jmx for run in side if run.jmx), "") for side in (baseline, contender))
    if not old or not new:
        return
    try:
        changes = changes_of(Path(old), Path(new))
    except UsageError:
        return  # a masked plan need not be XML
    for one in changes[:_PLAN_CHANGES_MOST]:
        yield Difference(f"test plan: {one.name}", *(text or NONE for text in one.texts))
    if len(changes) > _PLAN_CHANGES_MOST:
        yield Difference("test plan: further changes", NONE, str(len(changes) - _PLAN_CHANGES_MOST))


def _settings(run: RunRecord, has_hashes: bool) -> dict[str, str]:
    """Return all settings of a run by name; its sources by their hashes if all runs have them, else by the commit.

    The commit changes with every committed report.
    """
    settings = {name: _LOCAL_PORT.sub(r"\1", value) for name, value in _named(run)}
    if not has_hashes:
        commit = NONE if run.git_commit is None else run.git_commit[:12] + (" with changes" if run.git_changed else "")
        return {**settings, "commit of the harness": commit}
    return settings | {title: run.source_hashes.get(name, NONE) for name, title in _SOURCES.items()}


def _named(run: RunRecord) -> Iterator[tuple[str, str]]:
    yield "plan", run.plan
    yield "profile", run.profile
    load = asdict(replace(run.load, loads=None))
    yield from ((f"load: {name}", _text(value)) for name, value in load.items() if name != "loads")
    yield from ((f"load of {one.group}", one.text()) for one in run.load.loads or ())
    yield from ((f"job {one.name}", one.text) for one in run.jobs)
    yield "target", run.target or "started here"
    yield "system", run.system
    # The harness does not configure a target, so the plan's system settings do not describe it.
    settings = {name: value for name, value in run.system_settings.items() if run.is_embedded and _SECRET not in name}
    yield from ((f"{run.system}: {name}", _text(value)) for name, value in settings.items())
    # A fact with the name of a setting repeats it as text: "dropped indexes" is dropped_indexes.
    repeated = {name.replace("_", " ") for name in settings}
    yield from ((f"{run.system}: {name}", value) for name, value in run.system_facts if name not in repeated)
    yield from ((f"property {name}", value) for name, value in run.properties.items() if name not in SET_BY_THE_RUN)
    yield from ((f"header {name}", value) for name, value in run.headers.items())
    flags = (("profiled", run.is_profiled), ("traced", run.is_traced), ("soak", run.is_soak))
    yield from ((name, "yes" if is_set else "no") for name, is_set in flags)
    yield "generators", _text([one.name for one in run.generators])
    yield "generator heap MB", str(run.generator_heap_mb)
    yield from ((f"version of {name}", value) for name, value in run.versions.items())
    yield "CPU", run.host.cpu_model
    yield "cores", str(run.host.cpu_count)
    # Rounded, because the memory that a kernel reports varies by a few MB with each boot.
    yield "memory GB", units.number_text(sold_gb(run.host.memory_bytes))
    yield "kernel", run.host.kernel
    yield "Python", run.host.python


def _text(value: Any) -> str:
    if value is None or value == []:
        return NONE
    if isinstance(value, float):
        return units.number_text(value)
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value)
