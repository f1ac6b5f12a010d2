"""Where things are: the files that are shipped with the tool, the project of the current folder, and the cache.

This module runs before .venv exists: standard library only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import ClassVar

from harness import __version__
from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.base.writable import inside

PACKAGE = Path(__file__).resolve().parents[1]
_ABOVE = PACKAGE.parent
# The checkout that the tool runs from; None for an installed package.
CHECKOUT = _ABOVE if (_ABOVE / "requirements.txt").is_file() else None
# The folder of the shipped plans/, env/, systems/ and jmeter/.
SHIPPED = CHECKOUT or PACKAGE / "shipped"
# Where the commands of the set-up run.
TOP = CHECKOUT or PACKAGE
FILE_NAME = "loadtest.toml"
# Programs of a clone that are the same as lth: no text names them, and `spelled` of harness/cli/spelling.py may.
AGGREGATE, SCRIPTS = "aggregate.py", "scripts/"
OWN_NAME = ".lth"
DEFAULT_PROFILE = "local"
NAME = "load-test-harness"
_VERSION = re.compile(r"(>=|==|~=|<|<=|>)\s*(\d+(?:\.\d+){0,2})")


def cache_folder() -> Path:
    """Return the folder of what is built once: build/ of a checkout, else one per version in the user's cache."""
    if CHECKOUT:
        return CHECKOUT / "build"
    base = os.environ.get("XDG_CACHE_HOME", "")
    caches = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return caches / NAME / __version__


BUILD = cache_folder()


@dataclass(frozen=True)
class Project:
    """A folder of plans/, env/, systems/ and reports/, with the defaults of its loadtest.toml.

    `file` is None for a folder without one. `plan`, `goal` and `target` are empty where the file has none. `targets`
    are the addresses by name, which a run may load; `target` is the one for plans without a system of their own.
    `headers` are those of all requests.
    """

    folder: Path
    file: Path | None = None
    plan: str = ""
    profile: str = DEFAULT_PROFILE
    goal: str = ""
    target: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def reports(self) -> Path:
        """The folder of the results."""
        return self.folder / "reports"

    def target_url(self, text: str) -> str:
        """Return the address of --target: itself, or that of a name in [targets]. UsageError for an unknown name."""
        if "/" in text or ":" in text:
            return text
        if text in self.targets:
            return self.targets[text]
        there = ", ".join(self.targets)
        todo = (
            f"{did_you_mean(text, self.targets)}there are: {there}" if there else f"add it to [targets] of {FILE_NAME}"
        )
        raise UsageError(f"--target={text}: neither an address nor a name in [targets]", todo)


@dataclass(frozen=True)
class _ProjectFile:
    """The keys of loadtest.toml."""

    is_file: ClassVar[bool] = True

    format_version: int = 1
    requires: str | None = None
    plan: str = ""
    profile: str = DEFAULT_PROFILE
    goal: str = ""
    target: str = ""
    targets: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def own_folder(home: Path, build: Path = BUILD) -> Path:
    """Return the folder of what belongs to one project and not into git: diffs, recordings, logs; it is made.

    It is .lth in the project, which git ignores whatever the project's .gitignore has: in the cache a second project
    would replace it, and it may contain what somebody typed. In a checkout it is build/, or the `build` that was given.
    """
    if build != BUILD or home == CHECKOUT:
        return build
    folder = home / OWN_NAME
    for path in (folder, *folder.rglob("*")):
        inside(path, home)  # what is written there replaces files
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / ".gitignore").exists():
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    return folder


def site_folder(home: Path) -> Path:
    """Return the folder of a project's site: build/site in a checkout, else site/, which .gitignore of `init` has."""
    return BUILD / "site" if home == CHECKOUT else home / "site"


def default_plan(home: Path) -> str:
    """Return the plan of a project for a command without one: that of loadtest.toml, else its only one."""
    if plan := read_project(home).plan:
        return plan
    names = sorted(path.stem for path in (home / "plans").glob("*.toml"))
    if len(names) == 1:
        return names[0]
    todo = f"give one of {', '.join(names)}" if names else "give --plan=lb-nginx, or make a plan: lth init shop.jmx"
    raise UsageError("--plan is missing", f'{todo}; plan = "…" in {FILE_NAME} is the default')


@cache
def current_project() -> Project:
    """Return the project of the current folder: the nearest folder with a loadtest.toml, from here upwards.

    Without one it is the checkout that the tool runs from, or for an installed tool the current folder.
    """
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / FILE_NAME).is_file():
            return read_project(folder)
    return read_project(CHECKOUT or here)


@cache
def read_project(folder: Path) -> Project:
    """Return the project in a folder, with the defaults of its loadtest.toml if it has one."""
    file = folder / FILE_NAME
    if not file.is_file():
        return Project(folder)
    import tomllib  # here, because a folder without the file needs neither

    from harness.base.tables import read_table

    try:
        data = tomllib.loads(regular(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{file}: {error}", "correct the file") from None
    keys = read_table(_ProjectFile, data, FILE_NAME)
    if keys.format_version != 1:
        raise UsageError(f"{FILE_NAME}: format_version is {keys.format_version}", "this version reads 1")
    if keys.requires is not None:
        _check_version(keys.requires, file)
    return Project(folder, file, keys.plan, keys.profile, keys.goal, keys.target, keys.targets, keys.headers)


def _check_version(requires: str, file: Path) -> None:
    """Raise a UsageError unless this version is one that the project requires, such as >=1.1, <2."""
    own = _numbers(__version__)
    for part in requires.split(","):
        match = _VERSION.fullmatch(part.strip())
        if match is None:
            raise UsageError(f"{file}: requires = {requires!r} is no range of versions", 'give one such as ">=1.1"')
        wanted = _numbers(match[2])
        compatible = own >= wanted and own[: match[2].count(".")] == wanted[: match[2].count(".")]
        is_met = {
            ">=": own >= wanted, ">": own > wanted, "<": own < wanted, "<=": own <= wanted, "==": own == wanted,
            "~=": compatible,
        }[match[1]]  # fmt: skip
        if not is_met:
            todo = "install such a version, as with pipx upgrade load-test-harness, or change requires"
            raise UsageError(f"{file} requires {NAME} {requires}, this is {__version__}", todo)


def _numbers(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    return (*parts, *[0] * (3 - len(parts)))


def folder_with(home: Path, kind: str, name: str) -> Path:
    """Return the folder plans/, env/ or systems/ that has `name`: that of the project, else the shipped one.

    It is the project's for a name that neither has, so that an error names it.
    """
    for folder in (home / kind, SHIPPED / kind):
        if any((folder / f"{name}{suffix}").exists() for suffix in ("", ".toml", ".jmx")):
            return folder
    return home / kind


def names_in(home: Path, kind: str, pattern: str) -> list[Path]:
    """Return the project's and the shipped files of a kind; of two with the same name, the project's."""
    found = {path.name: path for folder in (SHIPPED / kind, home / kind) for path in folder.glob(pattern)}
    return [found[name] for name in sorted(found)]
