"""Writes adopted plans: the JMX, its TOML and its data files; also a temporary one for a first run of a JMX."""

from __future__ import annotations

import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from harness.base import git, units
from harness.base.errors import UsageError
from harness.base.log import log
from harness.base.once import stamp_of
from harness.base.paths import shown
from harness.base.secrets import FILE_NAME
from harness.base.toml_text import toml_string
from harness.base.writable import inside, writing_into
from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.adopt.data import DataFile
from harness.plan.adopt.project_files import GITIGNORE_NAME, ignore_secrets
from harness.plan.adopt.toml_text import headers_toml, others_toml, plan_toml, secrets_lines, size_text

_DURATION_S = 60
_SHOWN_MOST = 3


def write_plan(plans: Path, name: str, jmx: bytes, toml: str) -> None:
    """Write plans/<name>.jmx and plans/<name>.toml. UsageError when they cannot be written."""
    try:
        own, table = (inside(plans / f"{name}{suffix}", plans.parent) for suffix in (".jmx", ".toml"))
        plans.mkdir(parents=True, exist_ok=True)
        own.write_bytes(jmx)
        if toml:
            table.write_text(toml, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{plans.name}/{name}: cannot be written ({error.strerror})", "check the folder") from None


def write_data(plans: Path, data: Sequence[DataFile]) -> None:
    """Copy the data files of a plan, and write the samples. UsageError when one cannot be written."""
    for file in data:
        path = inside(plans / file.name, plans.parent)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.source is None:
                path.write_bytes(file.text.encode(errors="surrogateescape"))
            elif file.source.resolve() != path.resolve():
                shutil.copyfile(file.source, path)
        except OSError as error:
            raise UsageError(f"{file.name}: cannot be written ({error.strerror})", "check the folder") from None


def write_adopted(
    plans: Path, name: str, adoption: Adoption, source: str, headers: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write the fixed JMX, its data files and its TOML with `headers` for all requests."""
    write_data(plans, adoption.data)
    toml = plan_toml(adoption.contents, name, source, tuple(adoption.secrets)) + others_toml(adoption.others)
    write_plan(plans, name, adoption.draft.text(), toml + headers_toml(headers))


def add_secrets_key(plans: Path, name: str, secrets: Mapping[str, str]) -> None:
    """Add the key `secrets` to a plan's TOML that was written without it."""
    path = inside(plans / f"{name}.toml", plans.parent)
    text = path.read_text(encoding="utf-8")
    if secrets and not re.search(r"(?m)^secrets\s*=", text):
        line = secrets_lines(tuple(secrets))[0]
        path.write_text(re.sub(r"(?m)^(shape\s*=.*)$", lambda match: f"{match[1]}\n{line}", text, count=1), "utf-8")


def store_secrets(home: Path, secrets: Mapping[str, str]) -> None:
    """Add values to secrets.toml, and let git ignore it; those that it has already stay.

    UsageError when git has the file, or when it would not be one of the project.
    """
    if not secrets:
        return
    path = inside(home / FILE_NAME, home)
    if git.is_tracked(home, FILE_NAME):
        raise UsageError(f"{FILE_NAME} is in git", f"take it out: git rm --cached {FILE_NAME}")
    if ignore_secrets(home):
        log(f"{GITIGNORE_NAME}: written")
    text = path.read_text(encoding="utf-8") if path.is_file() else "format_version = 1\n"
    new = [name for name in secrets if not re.search(rf"(?m)^{name}\s*=", text)]
    if not new:
        return
    separator = "" if text.endswith("\n") else "\n"
    path.touch(mode=0o600)
    path.write_text(text + separator + "".join(f"{name} = {toml_string(secrets[name])}\n" for name in new), "utf-8")


class TemporaryPlan(NamedTuple):
    """A plan outside of plans/: its folder and its name."""

    folder: Path
    name: str


@contextmanager
def new_plans(build: Path) -> Iterator[Path]:
    """Give a new folder for plans outside of plans/; it is removed unless `kept` moves it."""
    plans = build / "first-look"
    with writing_into(plans):
        plans.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=plans))
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def kept(new: Path) -> Path:
    """Give a new folder of plans the name of its contents, and return its path.

    So one that another command runs is never written into: its plan would change, or be read when it is half there.
    """
    folder = new.with_name(stamp_of(sorted(new.iterdir()))[:16])
    with writing_into(new.parent):
        try:
            new.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another command wrote the same
                raise
    return folder


def first_look(jmx: Path, build: Path) -> TemporaryPlan:
    """Write a plan of the JMX with all fixes, for one user and a minute.

    UsageError when the JMX has scripts, which only a plan can permit.
    """
    name = re.sub(r"[^\w.-]+", "-", jmx.stem).lstrip("-._") or "plan"
    with new_plans(build) as new:
        _write_first_look(jmx, name, new)
        return TemporaryPlan(kept(new), name)


def _write_first_look(jmx: Path, name: str, folder: Path) -> None:
    adoption = adopt(jmx, name, folder, moves_secrets=False)
    to_keep_it = f"lth init --plan={name} --jmx={shlex.quote(shown(jmx))} --fix"
    if adoption.contents.scripts:
        count = units.plural(len(adoption.contents.scripts), "script")
        raise UsageError(f"{jmx.name}: has {count}, which can reach any host", f"list and permit them: {to_keep_it}")
    sizes = tuple(
        replace(size, users=1, ramp_s=1, duration_s=_DURATION_S, loops=None, stages=(), rate_per_s=None)
        for size in adoption.contents.sizes
    )
    write_adopted(folder, name, replace(adoption, contents=replace(adoption.contents, sizes=sizes)), jmx.name)
    own = adoption.contents.sizes
    shown_sizes = "; ".join(f"{size.name}: {size_text(size)}" for size in own[:_SHOWN_MOST])
    more = f"; {len(own) - _SHOWN_MOST} more" if len(own) > _SHOWN_MOST else ""
    users = "1 user" if len(own) == 1 else "1 user per thread group"
    log(f"{jmx.name}: {users} for {_DURATION_S} s unless options say more, not its own load ({shown_sizes}{more})")
    left = f", and lists {units.plural(len(adoption.left), 'point')} that no change fixes" if adoption.left else ""
    log(f"its own load: {to_keep_it} makes it a plan{left}; then lth run --plan={name} runs that load")
