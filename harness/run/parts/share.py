"""What makes a run a part of another one: its rows of the data files, and the moment at which its load begins."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base import units
from harness.base.errors import UsageError
from harness.base.units import MS_PER_S
from harness.plan.data_rows import read_data
from harness.plan.jmx.csv_data import DataSet, divided
from harness.plan.load.groups import GroupLoad
from harness.plan.load.model import Part
from harness.run.arguments import OptionScope, run_arguments
from harness.run.jmeter.command import JMeterCommand

if TYPE_CHECKING:
    from harness.run.request import Request


def part_arguments(options: argparse.Namespace, request: Request, load: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the options of each part of a run, which takes its share of the load.

    `load` has options with other values than those of the command; None is the plan's.
    """
    plan = request.plan
    embedded = plan.embedded_properties if request.target is None else {}
    properties = shlex.join(f"{name}={value}" for name, value in {**embedded, **plan.given}.items())
    headers = [f"{name}: {value}" for name, value in plan.headers.items()]
    own = {"properties": properties, "header": headers, "trace": request.is_traced}
    given = (f"--{name}={value}" for name, value in load.items() if value)
    return (*run_arguments(options, (OptionScope.LOAD,), without=load, changes=own), *given)


def check_places(request: Request) -> None:
    """Raise UsageError for data files of which the parts cannot each have their rows."""
    if request.places:
        plan = request.plan
        properties = plan.own_properties(is_embedded=request.target is None)
        files = read_data(plan.jmx_path.parent, plan.jmx_path, plan.load.loads, properties)
        check_rows(files, len(request.places))


def check_rows(files: Iterable[tuple[DataSet, str, list[bytes]]], count: int) -> None:
    """Raise UsageError for a data file, as `read_data` has it, of which parts of a run cannot each have their rows."""
    for data, name, lines in files:
        if data.is_shared and data.property_name is None and Path(data.name).is_absolute():
            what = f"{data.name} is read where it is, so each of {count} parts would use all its rows"
            raise UsageError(what, "put it beside the plan, and name it relative to the plan")
        rows = sum(1 for line in lines if line.strip()) - data.has_head
        if data.is_shared and rows < count:
            what = f"{name} has {units.plural(max(0, rows), 'row')} for {count} parts, so one would have none"
            raise UsageError(what, "add rows, use fewer parts, or set its sharing mode to Current thread")


def keep_rows(
    run: Path, jmx_path: Path, loads: Sequence[GroupLoad], properties: Mapping[str, str], part: Part
) -> dict[str, str]:
    """Leave a part its rows in the data files of its run; return the properties with names of files that moved.

    Of a file that users share each part has every `count`-th row; a file of which each user reads all rows is whole.
    """
    files = list(read_data(run, jmx_path, loads, properties))
    check_rows(files, part.count)
    changed = {}
    for data, name, lines in files:
        if data.property_name:
            changed[data.property_name] = name
        copy = run / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        own = divided(lines, data.has_head, part.count)[part.number - 1] if data.is_shared else lines
        copy.write_bytes(b"".join(own))
    return changed


def parse_start(text: str) -> float:
    """Return a time of --start-at, ms since 1970; UsageError for another text."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(f"--start-at={text}: not a time", "give one in UTC, such as 2026-11-27T12:00:00Z") from None
    if at.tzinfo is None:
        raise UsageError(f"--start-at={text}: has no time zone", f"give {text}Z for UTC")
    return at.timestamp() * MS_PER_S


def check_start(text: str) -> None:
    """Raise UsageError for a --start-at that is no future time; a file gets its time later."""
    if text and not Path(text).is_absolute():
        late_s = time.time() - parse_start(text) / MS_PER_S
        if late_s > 0:
            what = f"--start-at={text}: passed {late_s:.0f} s ago by the clock of this machine"
            raise UsageError(what, "give a later time, and have NTP set the clocks")


def starting_at(command: JMeterCommand, start_at: str, variable: str) -> JMeterCommand:
    """Return JMeter's command that begins the load at a time, or at that of a file; `variable` has Java's options."""
    at = start_at if Path(start_at).is_absolute() else f"{parse_start(start_at):.0f}"
    options = f'{command.environment[variable]} "-Dharness.start_at={at}"'
    return replace(command, environment={**command.environment, variable: options})
