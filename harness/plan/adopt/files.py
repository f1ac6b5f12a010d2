"""Writes adopted plans: the JMX, its TOML and its data files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.base.errors import UsageError
from harness.base.secrets import FILE_NAME
from harness.plan.adopt.adopt import Adoption
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.toml_text import other_hosts_toml, plan_toml, secrets_lines


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
    toml = plan_toml(adoption.found, name, source, tuple(adoption.secrets)) + other_hosts_toml(adoption.other_hosts)
    write_plan(plans, name, adoption.draft.text(), toml)


def add_secrets_key(plans: Path, name: str, secrets: Mapping[str, str]) -> None:
    """Add the key `secrets` to a plan's TOML that was written without it."""
    path = plans / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    if secrets and not re.search(r"(?m)^secrets\s*=", text):
        line = secrets_lines(tuple(secrets))[0]
        path.write_text(re.sub(r"(?m)^(shape\s*=.*)$", lambda match: f"{match[1]}\n{line}", text, count=1), "utf-8")


def store_secrets(home: Path, secrets: Mapping[str, str]) -> None:
    """Add values to secrets.toml, which git ignores; those that it has already stay."""
    path = home / FILE_NAME
    text = path.read_text(encoding="utf-8") if path.is_file() else "format_version = 1\n"
    new = [name for name in secrets if not re.search(rf"(?m)^{name}\s*=", text)]
    if not new:
        return
    separator = "" if text.endswith("\n") else "\n"
    path.touch(mode=0o600)
    path.write_text(text + separator + "".join(f"{name} = {json.dumps(secrets[name])}\n" for name in new), "utf-8")
