"""Read and write the pins of the plans in the reports folder, and find the run that the name of a pin means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.base.config import did_you_mean, load_toml
from harness.base.errors import UsageError
from harness.history.pins import FILE_NAME, is_name, parse_pins, pins_text
from harness.run.directory import write_whole
from harness.run.names import find_paths, is_there


def read_pins(folder: Path) -> dict[str, str]:
    """Return the run of each pin of a plan, whose runs are in `folder`; empty without pins."""
    path = folder / FILE_NAME
    if not path.exists():
        return {}
    return parse_pins(load_toml(path, "PLAN", path.stem), f"{folder.name}/{FILE_NAME}")


def write_pins(folder: Path, pins: Mapping[str, str]) -> Path:
    """Write the pins of a plan, or remove the file when there are none; return its path."""
    path = folder / FILE_NAME
    if pins:
        write_whole(path, pins_text(pins))
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
    if not any(is_name(_last_part(name)) for name in names):
        return list(names)
    plans = plans_with_pins(reports)
    return [_run_of_pin(name, beside, plans, reports) for name in names]


def _run_of_pin(name: str, beside: Sequence[str], plans: Mapping[str, Mapping[str, str]], reports: Path) -> str:
    folder, _, pin = name.rpartition("/")
    found = [plan for plan, pins in plans.items() if pin in pins and folder in ("", plan)]
    if len(found) > 1:
        found = [plan for plan in found if any(_is_of(plan, other, reports) for other in beside)] or found
    if len(found) > 1:
        choice = ", ".join(f"{plan}/{pin}" for plan in found)
        raise UsageError(f"{name}: {len(found)} plans have this pin", f"choose one: {choice}, or pass --plan")
    if not found:
        known = {one for plan, pins in plans.items() if folder in ("", plan) for one in pins}
        _refuse_misspelt(name, sorted(known), reports)
        return name
    run = f"{found[0]}/{plans[found[0]][pin]}"
    if not is_there(reports / run):
        raise UsageError(f"{name}: the pinned run {run} no longer exists", "pin another run: make pin")
    return run


def _last_part(name: str) -> str:
    return name.rpartition("/")[2]


def _is_of(plan: str, name: str, reports: Path) -> bool:
    """Return whether a name means a run of a plan."""
    return Path(name).parent.name == plan or is_there(reports / plan / name)


def _refuse_misspelt(name: str, pins: Sequence[str], reports: Path) -> None:
    """Raise UsageError for a name that is like that of a pin, and of nothing else."""
    near = did_you_mean(_last_part(name), pins)
    if near:
        try:
            find_paths([name], reports)
        except UsageError as error:
            raise UsageError(error.what, f"{near}pins: {', '.join(pins)}") from None
