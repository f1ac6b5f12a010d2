"""Reads a system's manifest, `systems/<name>/system.toml`, into a `Manifest`; docs/systems.md describes every key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.base.config import check_keys
from harness.base.errors import UsageError
from harness.base.project import folder_with, names_in
from harness.system.system import (  # fmt: skip
    Command,
    Fact,
    Limits,
    Manifest,
    MetricsSource,
    OwnMetric,
    Placement,
    Prepare,
    ProcessSpec,
    Ready,
    Settings,
    StatementCommands,
    there_is,
)

FORMAT_VERSION = 1
MANIFEST_NAME = "system.toml"

_READY_DEADLINE_S = 30.0
_STOP_DEADLINE_S = 10.0

Table = Mapping[str, Any]
_NUMBER = (int, float)
_TOP_KEYS: dict[str, type | tuple[type, ...]] = {
    "format_version": int, "title": str, "target": str, "ports": dict, "settings": dict, "choices": dict,
    "limits": dict, "prepare": list, "template": list, "copy": list, "process": list, "facts": dict,
}  # fmt: skip
_PREPARE_KEYS = {"name": str, "command": list, "inputs": list, "creates": list, "when": str}
_PLACEMENT_KEYS = {"from": str, "to": str, "when": str}
_PROCESS_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str, "command": list, "cwd": str, "env": dict, "when": str, "after": list, "cpus": (int, str),
    "before": list, "ready": dict, "logs": list, "recording": str, "exceptions": list, "statements": dict,
    "metrics": dict, "stop_deadline_s": _NUMBER,
}  # fmt: skip
_BEFORE_KEYS = {"name": str, "command": list, "unless": list, "when": str}
_READY_KEYS: dict[str, type | tuple[type, ...]] = {
    "url": str,
    "tcp": str,
    "status": int,
    "contains": str,
    "deadline_s": _NUMBER,
}
_STATEMENTS_KEYS: dict[str, type | tuple[type, ...]] = {
    "name": str, "when": str, "reset": list, "read": list, "snapshot": (list, bool), "waits": list,
}  # fmt: skip
_METRIC_UNITS = ("", "s", "ms", "bytes")
_FACT_KEYS = {"value": str, "command": list, "when": str}


def system_names(home: Path) -> tuple[str, ...]:
    """Return the sorted names of the systems of a project and of the tool: the folders with a manifest."""
    return tuple(path.name for path in names_in(home, "systems", "*") if (path / MANIFEST_NAME).is_file())


def load_manifest(folder: Path) -> Manifest:
    """Return the manifest of the system in `folder`. UsageError when it is missing or invalid."""
    path = folder / MANIFEST_NAME
    where = f"{folder.parent.name}/{folder.name}/{MANIFEST_NAME}"
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        todo = there_is(folder.name, system_names(folder.parent.parent))
        raise UsageError(f"{folder.parent.name}/ has no system {folder.name!r}", todo) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: {error}", "correct the manifest") from None
    if document.get("format_version") != FORMAT_VERSION:
        found = document.get("format_version")
        raise UsageError(f"{where}: format_version is {found!r}", f"this version of the harness reads {FORMAT_VERSION}")
    check_keys(document, _TOP_KEYS, where)
    return _manifest(document, folder.resolve(), where)


class ConfiguredSystem(NamedTuple):
    """A system that can be started here, and the values of all its settings."""

    manifest: Manifest
    settings: Settings


def load_configured(
    home: Path, name: str, settings_by_system: Mapping[str, Table], where: str, of_plan: Table
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
            raise UsageError(
                f"{where} [system.{name}]: {key} = {of_profile[key]!r}, but the plan sets {value!r}",
                "remove it from the profile, or choose another plan",
            )
    return ConfiguredSystem(manifest, manifest.resolve_settings({**of_profile, **of_plan}))


def _manifest(document: Table, folder: Path, where: str) -> Manifest:
    settings = dict(document.get("settings", {}))
    for name, value in settings.items():
        if not isinstance(value, str | int | float | bool | list):
            raise UsageError(f"{where} [settings]: {name} = {value!r}", "give a text, number, true or false, or list")
    ports = dict(document.get("ports", {}))
    check_keys(ports, dict.fromkeys(ports, int), f"{where} [ports]")
    processes = tuple(_process(table, where) for table in _tables(document, "process", where))
    names = [process.name for process in processes]
    if not names or len(set(names)) < len(names):
        raise UsageError(f"{where}: needs at least one [[process]]; names must differ", f"found: {names}")
    for process in processes:
        for name in process.after:
            if name not in names[: names.index(process.name)]:
                raise UsageError(
                    f"{where}: {process.name} is after {name!r}", f"name an earlier process of {', '.join(names)}"
                )
    return Manifest(
        name=folder.name,
        title=_required(document, "title", where),
        folder=folder,
        target=_required(document, "target", where),
        ports=ports,
        settings=settings,
        choices=_choices(document, settings, where),
        limits=_limits(document, settings, where),
        prepare=tuple(_prepare(table, where) for table in _tables(document, "prepare", where)),
        placements=tuple(
            _placement(table, where, is_template=kind == "template")
            for kind in ("template", "copy")
            for table in _tables(document, kind, where)
        ),
        processes=processes,
        facts=tuple(_fact(name, value, where) for name, value in document.get("facts", {}).items()),
    )


def _prepare(table: Table, where: str) -> Prepare:
    name = _required(table, "name", f"{where} [[prepare]]")
    check_keys(table, _PREPARE_KEYS, f"{where} prepare {name}")
    return Prepare(
        name=name,
        argv=_texts(table, "command", f"{where} prepare {name}", required=True),
        inputs=_texts(table, "inputs", f"{where} prepare {name}"),
        creates=_texts(table, "creates", f"{where} prepare {name}"),
        when=table.get("when", ""),
    )


def _placement(table: Table, where: str, *, is_template: bool) -> Placement:
    kind = f"{where} [[{'template' if is_template else 'copy'}]]"
    check_keys(table, _PLACEMENT_KEYS, kind)
    return Placement(_required(table, "from", kind), _required(table, "to", kind), table.get("when", ""), is_template)


def _process(table: Table, where: str) -> ProcessSpec:
    name = _required(table, "name", f"{where} [[process]]")
    here = f"{where} process {name}"
    check_keys(table, _PROCESS_KEYS, here)
    env = table.get("env", {})
    check_keys(env, dict.fromkeys(env, str), f"{here} env")
    return ProcessSpec(
        name=name,
        argv=_texts(table, "command", here, required=True),
        cwd=table.get("cwd", "{{ work }}"),
        env=tuple(env.items()),
        when=table.get("when", ""),
        after=_texts(table, "after", here),
        cpus=str(table.get("cpus", 0)),
        before=tuple(_before(item, here) for item in _tables(table, "before", here)),
        ready=_ready(table["ready"], f"{here} ready") if "ready" in table else None,
        logs=_texts(table, "logs", here),
        recording=_log_name(table.get("recording", ""), f"{here}: recording"),
        exceptions=tuple(_log_name(name, f"{here}: exceptions") for name in _texts(table, "exceptions", here)),
        statements=_statements(table["statements"], f"{here} statements") if "statements" in table else None,
        metrics=_metrics(table["metrics"], f"{here} metrics") if "metrics" in table else None,
        stop_deadline_s=float(table.get("stop_deadline_s", _STOP_DEADLINE_S)),
    )


def _statements(table: Table, where: str) -> StatementCommands:
    check_keys(table, _STATEMENTS_KEYS, where)
    reset, read = _texts(table, "reset", where), _texts(table, "read", where, required=True)
    # Without `reset` the table is read twice anyway; after one, nobody knows whether to read it changes something.
    snapshot = table.get("snapshot", not reset)
    return StatementCommands(
        reset,
        read,
        name=_log_name(table.get("name", ""), f"{where}: name"),
        when=table.get("when", ""),
        waits=_texts(table, "waits", where),
        snapshot=(read if snapshot else ()) if isinstance(snapshot, bool) else _texts(table, "snapshot", where),
    )


def _metrics(table: Table, where: str) -> MetricsSource:
    check_keys(table, {"url": str, "values": list}, where)
    found = tuple(_metric(item, where) for item in _tables(table, "values", where))
    if not found:
        raise UsageError(f"{where}: has no values", "name the metrics for the report")
    return MetricsSource(_required(table, "url", where), found)


def _metric(table: Table, where: str) -> OwnMetric:
    name = _required(table, "name", f"{where} values")
    here = f"{where} {name}"
    check_keys(table, {"name": str, "path": list, "unit": str, "total": bool}, here)
    unit = table.get("unit", "")
    if unit not in _METRIC_UNITS:
        units = ", ".join(filter(None, _METRIC_UNITS))
        raise UsageError(f"{here}: unit = {unit!r}", f"give one of {units}, or none for a number")
    return OwnMetric(name, _texts(table, "path", here, required=True), unit, table.get("total", False))


def _before(table: Table, where: str) -> Command:
    name = _required(table, "name", f"{where} before")
    here = f"{where} before {name}"
    check_keys(table, _BEFORE_KEYS, here)
    return Command(
        name, _texts(table, "command", here, required=True), table.get("when", ""), _texts(table, "unless", here)
    )


def _log_name(name: str, where: str) -> str:
    if "/" in name:
        raise UsageError(
            f"{where}: {name!r} is a path", "give the name of a file in {{ logs }}, the only folder that is stored"
        )
    return name


def _ready(table: Table, where: str) -> Ready:
    check_keys(table, _READY_KEYS, where)
    ready = Ready(
        url=table.get("url", ""),
        tcp=table.get("tcp", ""),
        status=table.get("status", 200),
        contains=table.get("contains", ""),
        deadline_s=float(table.get("deadline_s", _READY_DEADLINE_S)),
    )
    if bool(ready.url) == bool(ready.tcp):
        raise UsageError(f"{where}: give either url or tcp", 'such as url = "http://127.0.0.1:{{ ports.http }}/"')
    return ready


def _fact(name: str, value: object, where: str) -> Fact:
    if isinstance(value, str):
        return Fact(name, value, "")
    check_keys({name: value}, {name: dict}, f"{where} [facts]")
    assert isinstance(value, dict)
    check_keys(value, _FACT_KEYS, f"{where} fact {name}")
    argv = _texts(value, "command", f"{where} fact {name}")
    text = "" if argv else _required(value, "value", f"{where} fact {name}")
    return Fact(name, text, value.get("when", ""), argv)


def _choices(document: Table, settings: Table, where: str) -> dict[str, tuple[Any, ...]]:
    table = _about_settings(document, "choices", settings, where)
    for name, values in table.items():
        if settings[name] not in values:
            raise UsageError(f"{where} [choices]: {name} lacks its own default", f"add {settings[name]!r}")
    return {name: tuple(values) for name, values in table.items()}


def _limits(document: Table, settings: Table, where: str) -> dict[str, Limits]:
    table = _about_settings(document, "limits", settings, where)
    for name, values in table.items():
        if len(values) != 2 or not all(isinstance(value, _NUMBER) for value in values):
            raise UsageError(f"{where} [limits]: {name} = {values!r}", "write [lowest, highest]")
    return {name: Limits(float(lowest), float(highest)) for name, (lowest, highest) in table.items()}


def _about_settings(document: Table, key: str, settings: Table, where: str) -> dict[str, list[Any]]:
    table = dict(document.get(key, {}))
    check_keys(table, dict.fromkeys(settings, list), f"{where} [{key}]")
    return table


def _tables(table: Table, key: str, where: str) -> list[Table]:
    items: list[Table] = table.get(key, [])
    if not all(isinstance(item, dict) for item in items):
        raise UsageError(f"{where}: {key} is not a list of tables", f"write [[{key}]]")
    return items


def _texts(table: Table, key: str, where: str, *, required: bool = False) -> tuple[str, ...]:
    texts = table.get(key, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or (required and not texts):
        raise UsageError(f"{where}: {key} = {texts!r}", "give a list of texts")
    return tuple(texts)


def _required(table: Table, key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where}: has no {key}", "give a text")
    return value
