"""Pins: named reference runs of a plan. They are stored in reports/<plan>/pinned.toml, which belongs in git."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from harness.base.config import check_keys, did_you_mean
from harness.base.errors import UsageError
from harness.run import kinds
from harness.run.directory import RUN_NAME

FILE_NAME = "pinned.toml"
DEFAULT_PIN = "baseline"
# A bare key of TOML.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_HEAD = """\
# Reference runs of this plan: the report of every new run is compared with them. Written by make pin; commit it.
format_version = 1
"""


def parse_pins(data: Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the run of each pin by its name, such as baseline: run-07_1; UsageError for a wrong file."""
    check_keys(data, {"format_version": int, "pins": dict}, where)
    pins = data.get("pins", {})
    for name, run in pins.items():
        check_name(name, f"{where} [pins]: {name}")
        if not isinstance(run, str) or not RUN_NAME.fullmatch(run):
            raise UsageError(f"{where} [pins]: {name} = {run!r}", "give the name of a run of this plan: run-07_1")
    return dict(pins)


def is_name(name: str) -> bool:
    """Return whether a name can be that of a pin: BASE=name must not be taken for a run."""
    return bool(_NAME.fullmatch(name)) and not (RUN_NAME.fullmatch(name) or kinds.SWEEP.numbered.fullmatch(name))


def check_name(name: str, where: str) -> None:
    """Raise UsageError unless a name can be that of a pin."""
    if not is_name(name):
        raise UsageError(f"{where}: not a name of a pin", "use letters, digits, - and _, such as release-4")


def pins_text(pins: Mapping[str, str]) -> str:
    """Return the content of pinned.toml, sorted by name."""
    lines = "".join(f'{name} = "{pins[name]}"\n' for name in sorted(pins))
    return f"{_HEAD}[pins]\n{lines}"


def without(pins: Mapping[str, str], name: str, plan: str) -> dict[str, str]:
    """Return the pins of a plan without one; UsageError when there is no such pin."""
    if name not in pins:
        known = f"{did_you_mean(name, pins)}there are: {', '.join(sorted(pins))}" if pins else "it has no pins"
        raise UsageError(f"{name}: no pin of {plan}", known)
    return {other: run for other, run in pins.items() if other != name}
