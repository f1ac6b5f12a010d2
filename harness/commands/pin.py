"""`lth pin`: pin the reference runs of a plan, with which the reports of its later runs compare them."""

from __future__ import annotations

import argparse
import os

from harness.base.errors import EXIT_OK, UsageError
from harness.base.log import print_text
from harness.cli.options import take, take_argument
from harness.compare.sides import is_in
from harness.history.files import read_entry
from harness.history.pin_files import (
    DEFAULT_PIN,
    FILE_NAME,
    check_name,
    plans_with_pins,
    read_pins,
    without,
    write_pins,
)
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID
from harness.run.directory import RunDirectory
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths, full_path, in_plan, is_there

_EPILOG = f"""\
examples:
  lth pin                                                lists the pins of all plans
  lth pin killbill-stripe/run-07_1                       pins it as {DEFAULT_PIN}, or moves that pin
  lth pin run-07_1 --as release-4                        pins it under another name
  lth pin --remove release-4                             removes the pin; the run remains

The report of every later run of the plan compares it with the previous comparable run and with each pinned run.
lth run --base release-4 compares with that pin only. The pins of a plan are stored in reports/<plan>/{FILE_NAME}:
commit it with the reports.

exit codes: 0 success; 2 wrong use.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Set the options of `pin`."""
    parser.description = "Pin a run as a reference of its plan, list the pins, or remove one."
    parser.epilog = _EPILOG
    take_argument(parser, "run/pin", "?")
    take(parser, "as remove plan/filter reports")


def run(options: argparse.Namespace) -> int:
    """Add, move, remove or list pins and return the exit code."""
    if options.remove is not None:
        if options.run or options.pin:
            raise UsageError("--remove takes neither a run nor --as", "name only the pin: --remove baseline")
        _remove(options)
    elif options.run is not None:
        _pin(options)
    elif options.pin is not None:
        raise UsageError("--as needs a run", "name the run to pin")
    else:
        _list(options)
    return EXIT_OK


def _pin(options: argparse.Namespace) -> None:
    name = DEFAULT_PIN if options.pin is None else options.pin
    check_name(name, f"--as {name}")
    paths = find_paths(in_plan([options.run], options.plan), options.reports)
    if len(paths) > 1:
        raise UsageError(f"{options.run}: {len(paths)} runs", "name one run")
    path = paths[0].resolve()
    if not RUN_NAME.fullmatch(path.name) or not is_in(path, options.reports):
        raise UsageError(f"{options.run}: not a run in {options.reports.name}/", "name one such as run-07_1")
    entry = read_entry(RunDirectory(path))
    verdict = entry.result.verdict if entry.result else None
    if entry.result is None or (verdict and verdict.state in (INVALID, INTERRUPTED)):
        why = verdict.state if verdict else entry.problem
        raise UsageError(f"{entry.id}: {why}, so nothing can be compared with it", "pin a VALID run")
    pins = read_pins(path.parent)
    before = pins.get(name)
    where = write_pins(path.parent, {**pins, name: path.name})
    was = f" (it was {before})" if before not in (None, path.name) else ""
    print_text(f"{os.path.relpath(where)}: {name} is {path.name}{was}. Commit the file.")
    if verdict and verdict.state == DOUBTFUL:
        print_text(
            f"{entry.id} is {DOUBTFUL}: every comparison with it is CANNOT TELL. Pin a VALID run if there is one."
        )


def _remove(options: argparse.Namespace) -> None:
    every = _plans(options)
    plans = [plan for plan, pins in every.items() if options.remove in pins]
    if len(plans) > 1:
        raise UsageError(f"{options.remove}: {len(plans)} plans have this pin", f"add --plan: {', '.join(plans)}")
    plan = plans[0] if plans else options.plan
    if plan is None:
        known = ", ".join(sorted({name for pins in every.values() for name in pins}))
        raise UsageError(f"{options.remove}: no plan has this pin", f"there are: {known or 'none'}")
    where = write_pins(options.reports / plan, without(every.get(plan, {}), options.remove, plan))
    print_text(f"{os.path.relpath(where)}: {options.remove} is removed. Commit the change.")


def _list(options: argparse.Namespace) -> None:
    lines = [
        f"{plan}: {name} is {run}, {_state(RunDirectory(full_path(options.reports / plan / run)))}"
        for plan, pins in _plans(options).items()
        for name, run in sorted(pins.items())
    ]
    of_plan = f" of {options.plan}" if options.plan else ""
    print_text("\n".join(lines) or f"No run{of_plan} is pinned. To pin the newest: lth baseline -1")


def _plans(options: argparse.Namespace) -> dict[str, dict[str, str]]:
    """Return the pins by plan: those of --plan, else of all plans."""
    if options.plan is None:
        return plans_with_pins(options.reports)
    pins = read_pins(options.reports / options.plan)
    return {options.plan: pins} if pins else {}


def _state(directory: RunDirectory) -> str:
    """Return the verdict and the start of a run, or why it has no metrics."""
    if not is_there(directory.path):
        return "deleted"
    entry = read_entry(directory)
    if entry.result is None:
        return entry.problem
    verdict = entry.result.verdict
    started = f", started {entry.started_at}" if entry.started_at else ""
    return f"{verdict.state if verdict else 'without a verdict'}{started}"
