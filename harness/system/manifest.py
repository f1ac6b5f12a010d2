"""Reads a system's manifest, `systems/<name>/system.toml`, into a `Manifest`; docs/systems.md describes every key."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.base.config import NUMBER, check_keys
from harness.base.errors import UsageError
from harness.base.project import folder_with, names_in
from harness.base.regular import regular
from harness.system import system
from harness.system.system import Limits, Manifest, ProcessSpec, Settings, there_is

FORMAT_VERSION = 1
MANIFEST_NAME = "system.toml"

Table = Mapping[str, Any]
Keys = Mapping[str, type | tuple[type, ...]]
_TOP_KEYS: Keys = {
    "format_version": int, "title": str, "target": str, "ports": dict, "settings": dict, "choices": dict,
    "limits": dict, "prepare": list, "template": list, "copy": list, "process": list, "facts": dict,
}  # fmt: skip
# The keys of the tables; a `list` is one of texts, and a `_TABLES` one of tables.
_TABLES = (list,)
_PREPARE_KEYS: Keys = {"name": str, "command": list, "inputs": list, "creates": list, "when": str}
_PLACEMENT_KEYS: Keys = {"from": str, "to": str, "when": str}
_PROCESS_KEYS: Keys = {
    "name": str, "command": list, "cwd": str, "env": dict, "when": str, "after": list, "cpus": (int, str),
    "before": _TABLES, "ready": dict, "logs": list, "recording": str, "exceptions": list, "statements": dict,
    "metrics": dict, "stop_deadline_s": NUMBER,
}  # fmt: skip
_BEFORE_KEYS: Keys = {"name": str, "command": list, "unless": list, "when": str}
_READY_KEYS: Keys = {"url": str, "tcp": str, "status": int, "contains": str, "deadline_s": NUMBER}
_STATEMENTS_KEYS: Keys = {
    "name": str, "when": str, "reset": list, "read": list, "snapshot": (list, bool), "waits": list,
}  # fmt: skip
_METRIC_KEYS: Keys = {"name": str, "path": list, "unit": str, "total": bool}
_METRIC_UNITS = ("", "s", "ms", "bytes")
_FACT_KEYS: Keys = {"value": str, "command": list, "when": str}
# The fields that have another name than their key.
_FIELDS = {"command": "argv", "from": "source", "to": "target", "total": "is_total"}


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
            what = f"{where} [system.{name}]: {key} = {of_profile[key]!r}, but the plan sets {value!r}"
            raise UsageError(what, "remove it from the profile, or choose another plan")
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
                what = f"{where}: {process.name} is after {name!r}"
                raise UsageError(what, f"name an earlier process of {', '.join(names)}")
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
            _placement(table, where, kind) for kind in ("template", "copy") for table in _tables(document, kind, where)
        ),
        processes=processes,
        facts=tuple(_fact(name, value, where) for name, value in document.get("facts", {}).items()),
    )


def _values(table: Table, keys: Keys, where: str, *required: str) -> dict[str, Any]:
    """Return the values of a table by field, lists of texts as tuples. UsageError when one is wrong or missing."""
    check_keys(table, keys, where)
    values = {_FIELDS.get(key, key): value for key, value in table.items()}
    for key in keys:
        if keys[key] is list and (key in table or key in required):
            values[_FIELDS.get(key, key)] = _texts(table, key, where, required=key in required)
        elif key in required:
            _required(table, key, where)
    return values


def _named(table: Table, keys: Keys, where: str, what: str) -> dict[str, Any]:
    """Return the values of a table with a name and a command."""
    name = _required(table, "name", f"{where} {what}" if what == "before" else f"{where} [[{what}]]")
    return _values(table, keys, f"{where} {what} {name}", "command")


def _prepare(table: Table, where: str) -> system.Prepare:
    return system.Prepare(**_named(table, _PREPARE_KEYS, where, "prepare"))


def _placement(table: Table, where: str, kind: str) -> system.Placement:
    values = _values(table, _PLACEMENT_KEYS, f"{where} [[{kind}]]", "from", "to")
    return system.Placement(**values, is_template=kind == "template")


def _process(table: Table, where: str) -> ProcessSpec:
    values = _named(table, _PROCESS_KEYS, where, "process")
    here = f"{where} process {values['name']}"
    env = table.get("env", {})
    check_keys(env, dict.fromkeys(env, str), f"{here} env")
    values["env"] = tuple(env.items())
    values["cpus"] = str(table.get("cpus", 0))
    values["before"] = tuple(
        system.SystemCommand(**_named(item, _BEFORE_KEYS, here, "before")) for item in _tables(table, "before", here)
    )
    _check_log_name(table.get("recording", ""), f"{here}: recording")
    for name in table.get("exceptions", ()):
        _check_log_name(name, f"{here}: exceptions")
    for key, read in (("ready", _ready), ("statements", _statements), ("metrics", _metrics)):
        if key in table:
            values[key] = read(table[key], f"{here} {key}")
    return ProcessSpec(**values)


def _statements(table: Table, where: str) -> system.StatementCommands:
    values = _values(table, _STATEMENTS_KEYS, where, "read")
    _check_log_name(table.get("name", ""), f"{where}: name")
    # Without `reset` the table is read twice anyway; after one, nobody knows whether to read it changes something.
    snapshot = table.get("snapshot", not table.get("reset"))
    if isinstance(snapshot, bool):
        values["snapshot"] = values["read"] if snapshot else ()
    else:
        values["snapshot"] = _texts(table, "snapshot", where)
    return system.StatementCommands(**{"reset": (), **values})


def _metrics(table: Table, where: str) -> system.MetricsSource:
    check_keys(table, {"url": str, "values": list}, where)
    values = tuple(_metric(item, where) for item in _tables(table, "values", where))
    if not values:
        raise UsageError(f"{where}: has no values", "name the metrics for the report")
    return system.MetricsSource(_required(table, "url", where), values)


def _metric(table: Table, where: str) -> system.OwnMetric:
    here = f"{where} {_required(table, 'name', f'{where} values')}"
    metric = system.OwnMetric(**_values(table, _METRIC_KEYS, here, "path"))
    if metric.unit not in _METRIC_UNITS:
        units = ", ".join(filter(None, _METRIC_UNITS))
        raise UsageError(f"{here}: unit = {metric.unit!r}", f"give one of {units}, or none for a number")
    return metric


def _check_log_name(name: str, where: str) -> None:
    if "/" in name:
        todo = "give the name of a file in {{ logs }}, the only folder that is stored"
        raise UsageError(f"{where}: {name!r} is a path", todo)


def _ready(table: Table, where: str) -> system.Ready:
    ready = system.Ready(**_values(table, _READY_KEYS, where))
    if bool(ready.url) == bool(ready.tcp):
        raise UsageError(f"{where}: give either url or tcp", 'such as url = "http://127.0.0.1:{{ ports.http }}/"')
    return ready


def _fact(name: str, value: object, where: str) -> system.Fact:
    if isinstance(value, str):
        return system.Fact(name, value)
    check_keys({name: value}, {name: dict}, f"{where} [facts]")
    assert isinstance(value, dict)
    here = f"{where} fact {name}"
    fact = system.Fact(name, **_values(value, _FACT_KEYS, here))
    if not fact.argv:
        _required(value, "value", here)
    return fact


def _choices(document: Table, settings: Table, where: str) -> dict[str, tuple[Any, ...]]:
    table = _about_settings(document, "choices", settings, where)
    for name, values in table.items():
        if settings[name] not in values:
            raise UsageError(f"{where} [choices]: {name} lacks its own default", f"add {settings[name]!r}")
    return {name: tuple(values) for name, values in table.items()}


def _limits(document: Table, settings: Table, where: str) -> dict[str, Limits]:
    table = _about_settings(document, "limits", settings, where)
    for name, values in table.items():
        if len(values) != 2 or not all(isinstance(value, NUMBER) for value in values):
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
