"""Read and write the pins of the plans in the reports folder, and find the run that the name of a pin means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.base.config import check_keys, did_you_mean, load_toml
from harness.base.errors import UsageError
from harness.base.project import current_project
from harness.run import kinds
from harness.run.directory import write_whole
from harness.run.kinds import RUN_NAME
from harness.run.names import find_paths, full_path, is_there

FILE_NAME = "pinned.toml"
DEFAULT_PIN = "baseline"
# A bare key of TOML.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_HEAD = """\
# Reference runs of this plan: the report of every new run is compared with them. Written by lth pin; commit it.
format_version = 1
"""


def read_pins(folder: Path) -> dict[str, str]:
    """Return the run of each pin of a plan whose runs are in `folder`; UsageError for a wrong file of pins."""
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    data, where = load_toml(path, "--plan", path.stem), f"{folder.name}/{FILE_NAME}"
    check_keys(data, {"format_version": int, "pins": dict}, where)
    pins: dict[str, str] = data.get("pins", {})
    for name, run in pins.items():
        check_name(name, f"{where} [pins]: {name}")
        if not isinstance(run, str) or not RUN_NAME.fullmatch(run):
            raise UsageError(f"{where} [pins]: {name} = {run!r}", "give the name of a run of this plan: run-07_1")
    return pins


def write_pins(folder: Path, pins: Mapping[str, str]) -> Path:
    """Write the pins of a plan, or remove the file when there are none; return its path."""
    path = folder / FILE_NAME
    if pins:
        lines = "".join(f'{name} = "{pins[name]}"\n' for name in sorted(pins))
        write_whole(path, f"{_HEAD}[pins]\n{lines}")
    else:
        path.unlink(missing_ok=True)
    return path


def plans_with_pins(reports: Path) -> dict[str, dict[str, str]]:
    """Return the pins of each plan that has any, by plan."""
    return {path.parent.name: read_pins(path.parent) for path in sorted(reports.glob(f"*/{FILE_NAME}"))}


def runs_of_pins(names: Sequence[str], beside: Sequence[str], reports: Path) -> list[str]:
    """Return the names with the pinned run, such as tiny/run-07_1, in place of each pin: baseline or tiny/baseline.

    A pin that several plans have is that of the plan whose runs are named in `beside`. UsageError when that is not
    clear, for a pin whose run was deleted, and for a misspelt pin.
    """
    if not any(is_name(name.rpartition("/")[2]) for name in names):
        return list(names)
    plans = plans_with_pins(reports)
    return [_run_of_pin(name, beside, plans, reports) for name in names]


def _run_of_pin(name: str, beside: Sequence[str], plans: Mapping[str, Mapping[str, str]], reports: Path) -> str:
    folder, _, pin = name.rpartition("/")
    matching = [plan for plan, pins in plans.items() if pin in pins and folder in ("", plan)]
    if len(matching) > 1:
        named = [
            plan
            for plan in matching
            if any(Path(run).parent.name == plan or is_there(full_path(reports / plan / run)) for run in beside)
        ]
        matching = named or [plan for plan in matching if plan == current_project().plan] or matching
    if len(matching) > 1:
        choice = ", ".join(f"{plan}/{pin}" for plan in matching)
        raise UsageError(f"{name}: {len(matching)} plans have this pin", f"choose one: {choice}, or pass --plan")
    if not matching:
        known = sorted({one for plan, pins in plans.items() if folder in ("", plan) for one in pins})
        if near := did_you_mean(pin, known):
            try:
                find_paths([name], reports)
            except UsageError as error:
                raise UsageError(error.what, f"{near}pins: {', '.join(known)}") from None
        return name
    run = f"{matching[0]}/{plans[matching[0]][pin]}"
    if not is_there(full_path(reports / run)):
        raise UsageError(f"{name}: the pinned run {run} no longer exists", "pin another run: lth pin")
    return run


def is_name(name: str) -> bool:
    """Return whether a name can be that of a pin: --base=name must not be taken for a run."""
    return bool(_NAME.fullmatch(name)) and not (RUN_NAME.fullmatch(name) or kinds.SWEEP.numbered.fullmatch(name))


def check_name(name: str, where: str) -> None:
    """Raise UsageError unless a name can be that of a pin."""
    if not is_name(name):
        raise UsageError(f"{where}: not a name of a pin", "use letters, digits, - and _, such as release-4")


def without(pins: Mapping[str, str], name: str, plan: str) -> dict[str, str]:
    """Return the pins of a plan without one; UsageError when there is no such pin."""
    if name not in pins:
        known = f"{did_you_mean(name, pins)}there are: {', '.join(sorted(pins))}" if pins else "it has no pins"
        raise UsageError(f"{name}: no pin of {plan}", known)
    return {other: run for other, run in pins.items() if other != name}
