"""Read and write the pins of the plans in the reports folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.base.config import load_toml
from harness.history.pins import FILE_NAME, parse_pins, pins_text
from harness.run.directory import write_whole


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
