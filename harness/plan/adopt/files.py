"""Writes adopted plans: the JMX, its TOML and its data files."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.plan.adopt.adopt import Adoption
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.toml_text import other_hosts_toml, plan_toml


def write_plan(plans: Path, name: str, jmx: bytes, toml: str) -> None:
    """Write plans/<name>.jmx and plans/<name>.toml. UsageError when they cannot be written."""
    try:
        plans.mkdir(parents=True, exist_ok=True)
        (plans / f"{name}.jmx").write_bytes(jmx)
        if toml:
            (plans / f"{name}.toml").write_text(toml, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{plans.name}/{name}: cannot be written ({error.strerror})", "check the folder") from None


def write_data(plans: Path, data: Sequence[DataFile]) -> None:
    """Copy the data files of a plan, and write the samples. UsageError when one cannot be written."""
    for file in data:
        path = plans / file.name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.source is None:
                path.write_text(file.text, encoding="utf-8")
            elif file.source.resolve() != path.resolve():
                shutil.copyfile(file.source, path)
        except OSError as error:
            raise UsageError(f"{file.name}: cannot be written ({error.strerror})", "check the folder") from None


def write_adopted(plans: Path, name: str, adoption: Adoption, source: str) -> None:
    """Write the fixed JMX, its data files and its TOML."""
    write_data(plans, adoption.data)
    toml = plan_toml(adoption.found, name, source) + other_hosts_toml(adoption.other_hosts)
    write_plan(plans, name, adoption.draft.text(), toml)
