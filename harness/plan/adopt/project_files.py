"""Makes a project: loadtest.toml, .gitignore, a first plan; or a project of what a team added to a clone."""

from __future__ import annotations

import filecmp
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from harness import __version__
from harness.base import git
from harness.base.errors import UsageError
from harness.base.project import AGGREGATE, CHECKOUT, FILE_NAME, PACKAGE, SHIPPED
from harness.base.secrets import FILE_NAME as SECRETS
from harness.base.toml_text import toml_string
from harness.base.writable import inside, writing_into

GITIGNORE_NAME = ".gitignore"
GITIGNORE = """\
# Of a run, the report, its JSON and its charts are kept; samples, logs and telemetry are not.
reports/**/run-*/*
!reports/**/run-*/*.svg
reports/**/*.log
reports/**/*.html
# Generated from all runs: lth summary, lth site.
SUMMARY.md
site/
# Diffs of lth init, recordings with what was typed, logs of lth system.
.lth/
# Values of secrets, and settings of one machine.
secrets.toml
*.local.toml
"""
_ATTRIBUTE = "*.jmx diff=jmx"
_KINDS = ("plans", "env", "systems")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "build", ".git", "*.pyc")


def project_toml(plan: str, targets: Mapping[str, str]) -> str:
    """Return loadtest.toml with a default plan; the first of the targets by name is the default one."""
    minor = ".".join(__version__.split(".")[:2])
    lines = [
        "# Defaults of lth in this folder and below. lth help project lists all keys.",
        "format_version = 1",
        f'requires = ">={minor}"',
        f"plan = {toml_string(plan)}" if plan else '# plan = "shop"',
        *([f"target = {toml_string(next(iter(targets)))}"] if targets else []),
        '# goal = "p95<1s, errors<1%"',
        "",
        "# The systems that may be loaded, by name: lth run -t staging. Those on this machine need no entry.",
        "[targets]",
        *(f"{name} = {toml_string(url)}" for name, url in targets.items()),
        *([] if targets else ['# staging = "https://staging.example.org"']),
    ]
    return "\n".join(lines) + "\n"


def new_home(home: Path, folder: Path) -> Path:
    """Return where a plan is made: in the project `home`, or in `folder`, if `home` is only that of the tool."""
    return folder if CHECKOUT and home == CHECKOUT and not folder.is_relative_to(CHECKOUT) else home


def write_project(folder: Path, plan: str, targets: Mapping[str, str]) -> list[str]:
    """Write loadtest.toml unless it exists, and let git ignore secrets; return the names of the written files."""
    written = []
    with writing_into(folder):
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / FILE_NAME).exists():
            inside(folder / FILE_NAME, folder).write_text(project_toml(plan, targets), encoding="utf-8")
            written.append(FILE_NAME)
        if ignore_secrets(folder):
            written.append(GITIGNORE_NAME)
    return written


def ignore_secrets(folder: Path) -> bool:
    """Let git ignore secrets.toml: write a .gitignore, or a line of one that has other lines; return whether it did."""
    path = inside(folder / GITIGNORE_NAME, folder)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    is_ignored = git.is_ignored(folder, SECRETS)
    if is_ignored is None:  # outside of git, for now
        is_ignored = SECRETS in text.splitlines()
    if is_ignored:
        return False
    end = "" if not text or text.endswith("\n") else "\n"
    path.write_text(f"{text}{end}{SECRETS}\n" if text else GITIGNORE, encoding="utf-8")
    return True


def show_jmx_as_text(folder: Path) -> list[str]:
    """Let git show the JMX files of a folder as `lth diff --text` prints them; return what was changed.

    UsageError outside of a git repository. Each clone needs its own configuration: git runs no command of a repository.
    """
    program = "lth" if shutil.which("lth") else shlex.join([sys.executable, str(PACKAGE / "__main__.py")])
    value = f"{program} diff --text"
    if not git.set_local(folder, "diff.jmx.textconv", value):
        raise UsageError(f"{folder}: not in a git repository", "git init makes one")
    path = inside(folder / ".gitattributes", folder)
    with writing_into(folder):
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        if _ATTRIBUTE not in lines:
            path.write_text("\n".join([*lines, _ATTRIBUTE, ""]), encoding="utf-8")
    return [f"{path.name}: {_ATTRIBUTE}", f"git config diff.jmx.textconv: {value}"]


def plan_name_of(text: str) -> str:
    """Return a name for a plan from the name of a JMX, a folder or a host; `first` where none can be made."""
    name = re.sub(r"[^\w-]+", "-", text).strip("-._").lower()
    return name if name and not name.replace("-", "").isdigit() else "first"


def name_of_address(url: str) -> str:
    """Return a name for the plan of an address: the first part of its host, or `first` for a bare address."""
    host = urlsplit(url).hostname or ""
    return plan_name_of("first" if re.fullmatch(r"[\d.]+|.*:.*|localhost", host) else host.split(".")[0])


def copy_of_clone(clone: Path, folder: Path) -> list[str]:
    """Copy what a team added to or changed in a clone's plans/, env/, systems/, and its reports/; return the paths.

    Files that the tool ships are left out. UsageError for a folder that is no clone, or when a copy would replace.
    """
    if not (clone / AGGREGATE).is_file() or not (clone / "plans").is_dir():
        raise UsageError(f"{clone}: no clone of the tool", f"name the folder that has {AGGREGATE} and plans/")
    own = [
        path.relative_to(clone)
        for kind in _KINDS
        for path in sorted((clone / kind).iterdir())
        if path.name != "README.md" and not _is_shipped(path, SHIPPED / kind / path.name)
    ]
    own += [Path(name) for name in ("reports", SECRETS) if (clone / name).exists()]
    for path in own:
        if (folder / path).exists():
            raise UsageError(f"{path} exists here", "choose another folder")
    with writing_into(folder):
        for path in own:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            if (clone / path).is_dir():
                shutil.copytree(clone / path, folder / path, ignore=_NOT_COPIED)
            else:
                shutil.copy(clone / path, folder / path)
    return [str(path) for path in own]


def _is_shipped(path: Path, shipped: Path) -> bool:
    """Return whether a file, or each file of a folder, is one that the tool ships, unchanged."""
    if path.is_file():
        return shipped.is_file() and filecmp.cmp(path, shipped, shallow=False)
    files = (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return shipped.is_dir() and all(_is_shipped(file, shipped / file.relative_to(path)) for file in files)
