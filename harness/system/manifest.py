"""Reads a system's manifest, `systems/<name>/system.toml`, into a `Manifest`; docs/systems.md describes every key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from harness.base.config import NUMBER, check_keys
from harness.base.errors import UsageError
from harness.base.project import folder_with, names_in
from harness.base.regular import regular
from harness.base.tables import read_table, toml_key
from harness.system import system
from harness.system.system import Limits, Manifest, ProcessSpec, Settings, there_is

FORMAT_VERSION = 1
MANIFEST_NAME = "system.toml"

_METRIC_UNITS = ("", "s", "ms", "bytes")


@dataclass(frozen=True)
class _FactTable:
    json_keys: ClassVar[Mapping[str, str]] = {"argv": "command"}

    value: str = ""
    argv: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True)
class _ManifestFile:
    is_file: ClassVar[bool] = True
    json_keys: ClassVar[Mapping[str, str]] = {"templates": "template", "copies": "copy", "processes": "process"}

    format_version: int
    title: str = toml_key(missing="give a text")
    target: str = toml_key(missing="give a text")
    ports: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str | int | float | bool | list[Any]] = field(default_factory=dict)
    choices: Mapping[str, list[Any]] = field(default_factory=dict)
    limits: Mapping[str, list[Any]] = field(default_factory=dict)
    prepare: tuple[system.Prepare, ...] = ()
    templates: tuple[system.Placement, ...] = ()
    copies: tuple[system.Placement, ...] = ()
    processes: tuple[ProcessSpec, ...] = ()
    facts: Mapping[str, str | _FactTable] = field(default_factory=dict)


def system_names(home: Path) -> tuple[str, ...]:
    """Return the sorted names of the systems of a project and of the tool: the folders with a manifest."""
    return tuple(path.name for path in names_in(home, "systems", "*") if (path / MANIFEST_NAME).is_file())


def load_manifest(folder: Path) -> Manifest:
    """Return the manifest of the system in `folder`. UsageError when it is missing or invalid."""
    path = folder / MANIFEST_NAME
    where = f"{folder.parent.name}/{folder.name}/{MANIFEST_NAME}"
    try:
        document = tomllib.loads(regular(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        todo = there_is(folder.name, system_names(folder.parent.parent))
        raise UsageError(f"{folder.parent.name}/ has no system {folder.name!r}", todo) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: {error}", "correct the manifest") from None
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})", "correct the manifest") from None
    if document.get("format_version") != FORMAT_VERSION:
        found = document.get("format_version")
        raise UsageError(f"{where}: format_version is {found!r}", f"this version of the harness reads {FORMAT_VERSION}")
    return _manifest(read_table(_ManifestFile, document, where), folder.resolve(), where)


class ConfiguredSystem(NamedTuple):
    """A system that can be started here, and the values of all its settings."""

    manifest: Manifest
    settings: Settings


def load_configured(
    home: Path, name: str, settings_by_system: Mapping[str, Mapping[str, Any]], where: str, of_plan: Mapping[str, Any]
) -> ConfiguredSystem:
    """Return a system's manifest and its settings: the plan's `of_plan`, and those of the profile `where`.

    UsageError for an unknown system or setting, because a misspelt one would have no effect, and when the profile
    contradicts the plan, because the plan's name would then be misleading.
    """
    names = system_names(home)
    for given in settings_by_system:
        if given not in names:
            raise UsageError(f"{where}: unknown system {given}", there_is(given, names))
    manifest, of_profile = load_manifest(folder_with(home, "systems", name) / name), settings_by_system.get(name, {})
    for key, value in of_plan.items():
        if of_profile.get(key, value) != value:
            what = f"{where} [system.{name}]: {key} = {of_profile[key]!r}, but the plan sets {value!r}"
            raise UsageError(what, "remove it from the profile, or choose another plan")
    return ConfiguredSystem(manifest, manifest.resolve_settings({**of_profile, **of_plan}))


def _manifest(file: _ManifestFile, folder: Path, where: str) -> Manifest:
    names = [process.name for process in file.processes]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"{where}: needs at least one [[process]]; names must differ", f"found: {names}")
    for process in file.processes:
        _check_process(process, names, where)
    return Manifest(
        name=folder.name,
        title=file.title,
        folder=folder,
        target=file.target,
        ports=file.ports,
        settings=file.settings,
        choices=_choices(file, where),
        limits=_limits(file, where),
        prepare=file.prepare,
        templates=file.templates,
        copies=file.copies,
        processes=file.processes,
        facts=tuple(_fact(name, value, where) for name, value in file.facts.items()),
    )


def _check_process(process: ProcessSpec, names: Sequence[str], where: str) -> None:
    """Raise a UsageError for a process whose keys contradict each other."""
    for name in process.after:
        if name not in names[: names.index(process.name)]:
            what = f"{where}: {process.name} is after {name!r}"
            raise UsageError(what, f"name an earlier process of {', '.join(names)}")
    here = f"{where} [[process]] {process.name}"
    _check_log_name(process.recording, f"{here}: recording")
    for name in process.exceptions:
        _check_log_name(name, f"{here}: exceptions")
    if process.statements:
        _check_log_name(process.statements.name, f"{here} statements: name")
    if process.ready and bool(process.ready.url) == bool(process.ready.tcp):
        todo = 'such as url = "http://127.0.0.1:{{ ports.http }}/"'
        raise UsageError(f"{here} ready: give either url or tcp", todo)
    for metric in process.metrics.metrics if process.metrics else ():
        if metric.unit not in _METRIC_UNITS:
            units = ", ".join(filter(None, _METRIC_UNITS))
            what = f"{here} metrics values {metric.name}: unit = {metric.unit!r}"
            raise UsageError(what, f"give one of {units}, or none for a number")


def _check_log_name(name: str, where: str) -> None:
    if "/" in name:
        todo = "give the name of a file in {{ logs }}, the only folder that is stored"
        raise UsageError(f"{where}: {name!r} is a path", todo)


def _fact(name: str, given: str | _FactTable, where: str) -> system.Fact:
    if isinstance(given, str):
        return system.Fact(name, given)
    if not given.value and not given.argv:
        raise UsageError(f"{where} [facts.{name}]: has no value", "give a text, or a command that prints it")
    return system.Fact(name, given.value, given.when, given.argv)


def _choices(file: _ManifestFile, where: str) -> dict[str, tuple[Any, ...]]:
    check_keys(file.choices, dict.fromkeys(file.settings, list), f"{where} [choices]")
    for name, values in file.choices.items():
        if file.settings[name] not in values:
            raise UsageError(f"{where} [choices]: {name} lacks its own default", f"add {file.settings[name]!r}")
    return {name: tuple(values) for name, values in file.choices.items()}


def _limits(file: _ManifestFile, where: str) -> dict[str, Limits]:
    check_keys(file.limits, dict.fromkeys(file.settings, list), f"{where} [limits]")
    for name, values in file.limits.items():
        if len(values) != 2 or not all(isinstance(value, NUMBER) for value in values):
            raise UsageError(f"{where} [limits]: {name} = {values!r}", "write [lowest, highest]")
    return {name: Limits(float(lowest), float(highest)) for name, (lowest, highest) in file.limits.items()}
