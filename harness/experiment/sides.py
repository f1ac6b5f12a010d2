"""The two sides of an A/B test: reads their texts, and refuses sides that cannot be compared."""

from __future__ import annotations

import argparse
import filecmp
import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from harness.base.config import did_you_mean
from harness.base.errors import HarnessError, UsageError
from harness.plan.jmx.data_files import data_files
from harness.plan.load.model import LOAD_TITLES, Load, load_record
from harness.run.arguments import changed
from harness.run.request import Request, resolve_request
from harness.run.set_values import split_text

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_FORMS = "settings (name=value), a profile, http://host:port, or a commit of git"


@dataclass(frozen=True)
class SideText:
    """The parts of a side's text, each at most once: `changes` are name=value, of the system or of the plan."""

    text: str
    profile: str | None = None
    target: str | None = None
    ref: str | None = None
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SideFiles:
    """Where a side's files are: `home` has its plans/, env/ and systems/, in `build` its system is built.

    `source` names their state: a commit, or the working copy with its changes. `commit` is None for the working copy.
    """

    home: Path
    build: Path
    source: str
    commit: str | None = None


@dataclass(frozen=True)
class ReadySide:
    """A side that can be run."""

    name: str
    side: Side
    files: SideFiles
    request: Request

    @property
    def title(self) -> str:
        """The side as messages name it."""
        return f"{_option(self.name)}={self.side.text}"


def _option(name: str) -> str:
    """Return the option of a side: --a for A."""
    return name if name.startswith("--") else f"--{name.lower()}"


def parse_side(name: str, text: str, profiles: Collection[str]) -> SideText:
    """Return the parts of the text of A or B: blank-separated words, which may be combined.

    A word with = is a setting, one with http:// a target, the name of a profile means that profile, and any other word
    is a name of git. UsageError for two of a kind.
    """
    parts: dict[str, str] = {}
    changes = []
    for word in split_text(text):
        if "=" in word and not _ADDRESS.match(word):
            changes.append(word)
            continue
        kind = "target" if _ADDRESS.match(word) else "profile" if word in profiles else "ref"
        if kind in parts or word.startswith("-"):
            raise UsageError(f"{_option(name)}={text}: {word} is one word too many", f"a side is {_FORMS}, each once")
        parts[kind] = word
    return SideText(text, parts.get("profile"), parts.get("target"), parts.get("ref"), tuple(changes))


def unknown_ref(name: str, word: str, profiles: Collection[str]) -> UsageError:
    """Return the error for a word that is nothing known."""
    near = did_you_mean(word, profiles)
    fetch = f"git fetch brings {word}; " if "/" in word else ""
    todo = f"{near}{fetch}give {_FORMS}; profiles: {', '.join(sorted(profiles))}"
    return UsageError(f"{_option(name)}={word}: neither a profile nor a commit that git knows here", todo)


def ready_side(name: str, text: SideText, options: argparse.Namespace, files: SideFiles) -> ReadySide:
    """Return a side resolved in its files; `options` are those of the command, for what its text omits.

    UsageError, starting with the side, for an unknown name or a value that neither the system nor the plan has.
    """
    profile = text.profile or options.env
    common = split_text(options.set) if options.set else []
    given = shlex.join([*common, *text.changes])
    try:
        folders = {"home": files.home, "build": files.build}
        request = resolve_request(changed(options, env=profile, target=text.target, set=given or None, **folders))
    except HarnessError as error:
        raise UsageError(f"{_option(name)}={text.text}: {error.what}", error.todo) from None
    target, values = request.target.url if request.target else None, request.set_values
    settings, properties = shlex.join(values.settings), shlex.join(values.properties)
    side = Side(text.text, profile, target, text.ref, files.commit, settings, properties)
    return ReadySide(name, side, files, request)


def check_sides(a: ReadySide, b: ReadySide, load_a: Load, load_b: Load) -> None:
    """Raise a UsageError when both sides are the same, or do not run the same traffic."""
    if unlike := _unlike_file(a.request.plan.jmx_path, b.request.plan.jmx_path):
        what = f"plans/{unlike} differs between {a.title} and {b.title}: not the same traffic"
        raise UsageError(what, "compare sides with the same test plan and data")
    values_a, values_b = (vars(load_record(load, side.request.plan.load)) for side, load in ((a, load_a), (b, load_b)))
    if names := [name for name, value in values_a.items() if value != values_b[name]]:
        differences = (f"{LOAD_TITLES.get(name, name)}: {values_a[name]} in A, {values_b[name]} in B" for name in names)
        todo = f"give both the same [plan.{a.request.plan.name}] in their profiles, or the same [load]"
        raise UsageError(f"the loads of {a.title} and {b.title} differ: {', '.join(differences)}", todo)
    if what_runs(a) == what_runs(b):
        raise UsageError(f"{a.title} and {b.title} are the same: nothing to compare", "change one side")


def _unlike_file(a: Path, b: Path) -> str:
    """Return the first file of two test plans that differs or that one side lacks: the JMX or its data; else empty."""
    names = () if a == b else dict.fromkeys((a.name, *data_files(a), *data_files(b)))
    for name in names:
        here, there = a.parent / name, b.parent / name
        if here.is_file() != there.is_file() or (here.is_file() and not filecmp.cmp(here, there, shallow=False)):
            return name
    return ""


def what_runs(side: ReadySide) -> tuple[object, ...]:
    """Return what is equal when two sides run the same."""
    plan, profile, target = side.request.plan, side.request.profile, side.request.target
    generator = (profile.generator_heap_mb, profile.generator_jvm_args, profile.sampler)
    settings = None if target else dict(side.request.settings)
    return side.files.source, target, settings, generator, plan.own_properties(is_embedded=target is None)


@dataclass(frozen=True)
class Side:
    """One side, as text and resolved: `ref` is a name of git, `commit` its commit; None for the working copy.

    `target` is None for a system that the harness starts. `settings` and `properties` are
    assignments of SET: those of the system, and those of the plan or of JMeter.
    """

    text: str
    profile: str
    target: str | None = None
    ref: str | None = None
    commit: str | None = None
    settings: str = ""
    properties: str = ""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options of lth run for this side."""
        values = f"{self.settings} {self.properties}".strip()
        given = {"env": self.profile, "target": self.target, "set": values}
        return tuple(f"--{name}={value}" for name, value in given.items() if value)
