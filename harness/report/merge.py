"""Merges the runs of independent load generators: checks that they are one load, and makes the run.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import NamedTuple, TypeVar

from harness.base import units
from harness.base.errors import UsageError
from harness.base.records import to_plain
from harness.metrics.wake_delays import WakeDelays
from harness.plan.load.model import LOAD_TITLES
from harness.plan.plan import SET_BY_THE_RUN
from harness.run.group_counts import GroupCounts
from harness.run.record import FINISHED, GeneratorRecord, RowsRecord, RunRecord
from harness.run.telemetry.processes import process_at

_NONE = "none"
# Each generator has its own part of these.
_ITS_PART = ("users", "rate_per_s", "requests")
_RUN_ID = "run_id"
_Number = TypeVar("_Number", int, float)


class MergedPart(NamedTuple):
    """The run and the name of one load generator."""

    name: str
    run: RunRecord


def check_parts(parts: Sequence[MergedPart]) -> None:
    """Raise UsageError unless the runs are parts of one load: of one plan, against one system, at one time."""
    for part in parts:
        _check_part(part)
    _check_names(parts)
    first, *others = parts
    expected = _alike(first.run)
    for part in others:
        settings = _alike(part.run)
        for name in dict.fromkeys((*expected, *settings)):
            value, other = expected.get(name, _NONE), settings.get(name, _NONE)
            if value != other:
                what = f"{first.name} and {part.name} are not parts of one load: {name} is {value} and {other}"
                raise UsageError(what, "merge runs of the same plan, load, target and versions")
    last_start = max(parts, key=lambda part: part.run.started_at)
    first_end = min(parts, key=lambda part: part.run.ended_at or "")
    if (first_end.run.ended_at or "") <= last_start.run.started_at:
        raise UsageError(
            f"{last_start.name} began at {last_start.run.started_at}, when {first_end.name} had ended "
            f"({first_end.run.ended_at}): they never ran at the same time",
            "start the generators at the same time, and have NTP set their clocks",
        )


def _check_part(part: MergedPart) -> None:
    if part.run.state != FINISHED:
        raise UsageError(f"{part.name}: this run is not finished, or was killed", "wait for its end, or omit it")
    if part.run.load.loads:
        what = f"{part.name}: a run with several loads cannot be merged yet"
        raise UsageError(what, "merge runs of a plan with one [load]")
    if part.run.generators:
        what = f"{part.name}: this run already has several generators"
        raise UsageError(what, "name the runs of all single generators")
    if part.run.is_embedded:
        what = f"{part.name}: this run started and drove its own system, not that of the others"
        raise UsageError(what, "let all generators drive one system: --target=http://host:port")


def _check_names(parts: Sequence[MergedPart]) -> None:
    names: set[str] = set()
    runs: dict[str, str] = {}
    for part in parts:
        run_id = part.run.properties.get(_RUN_ID, "")
        if run_id and run_id in runs:
            raise UsageError(f"{runs[run_id]} and {part.name} are the same run", "name each run once")
        if part.name in names:
            raise UsageError(f"{part.name} is the name of two generators", "name them: gen1=…/run-01_1 gen2=…/run-01_1")
        runs[run_id] = part.name
        names.add(part.name)


def _alike(run: RunRecord) -> dict[str, str]:
    """Return by name, as texts, the settings that must be the same for all parts."""
    settings = {"plan": run.plan, "profile": run.profile, "target": run.target or _NONE}
    load = {name: value for name, value in asdict(run.load).items() if name not in _ITS_PART}
    settings |= {f"{LOAD_TITLES.get(name, name)} of the load": _text(value) for name, value in load.items()}
    goal = {**to_plain(run.goal), "rules": "; ".join(rule.text for rule in run.goal.rules) or _NONE}
    settings |= {f"{name} of the goal": _text(value) for name, value in goal.items()}
    settings |= {f"version of {name}": version for name, version in run.versions.items()}
    settings["commit of the harness"] = run.git_commit or _NONE
    own = {*SET_BY_THE_RUN, _RUN_ID}
    return settings | {f"property {name}": value for name, value in run.properties.items() if name not in own}


def _text(value: object) -> str:
    return _NONE if value is None else units.number_text(value) if isinstance(value, float) else str(value)


def merged_record(parts: Sequence[MergedPart], name: str, command: str, run_id: str) -> RunRecord:
    """Return the run.json of the merged run with this name and this unique `run_id`."""
    runs = [part.run for part in parts]
    first = runs[0]
    own = tuple(f"{run.id}," for run in runs)
    started_at, ended_at = min(run.started_at for run in runs), max(run.ended_at or "" for run in runs)
    users, requests = _sum(run.load.users for run in runs), _sum(run.load.requests for run in runs)
    rate_per_s = _sum(run.load.rate_per_s for run in runs)
    exits = ((part.name, part.run.exit_codes or {}) for part in parts)
    figures = [(f"{label}, {part.name}", value) for part in parts for label, value in part.run.dump_figures]
    return replace(
        first,
        name=name,
        command=command,
        load=replace(first.load, users=users, rate_per_s=rate_per_s, requests=requests),
        plan_notes=_each_once(note for run in runs for note in run.plan_notes),
        note="\n".join(_each_once(run.note for run in runs if run.note)),
        system_facts=tuple(one for one in first.system_facts if all(one in run.system_facts for run in runs)),
        properties={**_common([run.properties for run in runs]), _RUN_ID: run_id},
        source_hashes=_common([run.source_hashes for run in runs]),
        generator_heap_mb=min(run.generator_heap_mb for run in runs),
        git_changed=any(run.git_changed for run in runs),
        started_at=started_at,
        ended_at=ended_at,
        took_s=(datetime.fromisoformat(ended_at) - datetime.fromisoformat(started_at)).total_seconds(),
        exit_codes={process_at(process, name): code for name, codes in exits for process, code in codes.items()},
        interrupted=any(run.interrupted for run in runs),
        stopped_early="; ".join(f"{part.name}: {part.run.stopped_early}" for part in parts if part.run.stopped_early),
        stop_reasons=tuple(f"{part.name}: {reason}" for part in parts for reason in part.run.stop_reasons),
        dump_figures=tuple(figures),
        exception_logs=(),
        unknown=first.with_unknown("heap", ()).unknown,
        otlp=None,
        deaths=tuple(death for run in runs for death in run.deaths),
        rows=RowsRecord.of_all([run.rows for run in runs]),
        groups=GroupCounts.of_all([(0, run.groups) for run in runs]),
        wake_delays=WakeDelays.of_all([(0, run.wake_delays) for run in runs]),
        heap_dumps={},
        generators=tuple(_generator(part) for part in parts),
        other_runs=_each_once(other for run in runs for other in run.other_runs if not other.startswith(own)),
    )


def _generator(part: MergedPart) -> GeneratorRecord:
    run = part.run
    return GeneratorRecord(
        name=part.name,
        users=run.load.users,
        rate_per_s=run.load.rate_per_s,
        jmeter=run.versions.get("jmeter", ""),
        java=run.versions.get("java", ""),
        clock_ahead_ms=None,
        is_local=False,
        host=run.host,
    )


def _sum(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum; None if no run has a value (either all have one or none has)."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _common(tables: Sequence[Mapping[str, str]]) -> dict[str, str]:
    return {name: value for name, value in tables[0].items() if all(other.get(name) == value for other in tables[1:])}
