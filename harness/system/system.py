"""Describes a system that can be started here: preparation, processes, readiness and settings.

Contains only values and rendering: `harness/system/manifest.py` reads them, `harness/system/supervisor.py` acts on
them. docs/systems.md describes every key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.tables import toml_key

if TYPE_CHECKING:
    import jinja2

Setting = str | int | float | bool | list[str]
Settings = Mapping[str, Setting]
Context = Mapping[str, object]
Keys = Mapping[str, str]

_TEXT, _COMMAND = "give a text", "give a list of texts"
_NAMED = ("name",)


@dataclass(frozen=True)
class SystemCommand:
    """A command to run; it is skipped when the command `unless` succeeds."""

    named_by: ClassVar[tuple[str, ...]] = _NAMED
    json_keys: ClassVar[Keys] = {"argv": "command"}

    name: str = toml_key(missing=_TEXT)
    argv: tuple[str, ...] = toml_key(missing=_COMMAND)
    when: str = ""
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Prepare:
    """A once-per-machine step. `inputs` and the command make its stamp; `creates` is removed before it runs."""

    named_by: ClassVar[tuple[str, ...]] = _NAMED
    json_keys: ClassVar[Keys] = {"argv": "command"}

    name: str = toml_key(missing=_TEXT)
    argv: tuple[str, ...] = toml_key(missing=_COMMAND)
    inputs: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    when: str = ""


@dataclass(frozen=True)
class Placement:
    """A file (or, for a copy, a folder) that is placed in the work folder of an instance."""

    json_keys: ClassVar[Keys] = {"source": "from", "target": "to"}

    source: str = toml_key(missing=_TEXT)
    target: str = toml_key(missing=_TEXT)
    when: str = ""


@dataclass(frozen=True)
class Ready:
    """The condition for a ready process: an HTTP response with this status and text, or an accepted TCP connection."""

    url: str = ""
    tcp: str = ""
    status: int = 200
    contains: str = ""
    deadline_s: float = 30.0


@dataclass(frozen=True)
class StatementCommands:
    """The commands that make a database forget its statements, and print them, with further environment variables.

    Without `reset` a run prints them before and after the load, and takes the difference; so it does with `waits`, the
    command that prints what threads of the database waited for. `snapshot` prints the statements during the load; ()
    for no snapshots.
    """

    reset: tuple[str, ...]
    read: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    waits: tuple[str, ...] = ()
    snapshot: tuple[str, ...] = ()


@dataclass(frozen=True)
class StatementsSpec:
    """The templates of a database's `StatementCommands`; there are none where `when` does not apply.

    `name` is that of a database inside a process; "" for a process that is the database. `has_snapshot` is the command
    of a snapshot, or whether `read` is it; None where the manifest does not say.
    """

    json_keys: ClassVar[Keys] = {"has_snapshot": "snapshot"}

    read: tuple[str, ...] = toml_key(missing=_COMMAND)
    reset: tuple[str, ...] = ()
    name: str = ""
    when: str = ""
    waits: tuple[str, ...] = ()
    has_snapshot: bool | tuple[str, ...] | None = None

    @property
    def snapshot(self) -> tuple[str, ...]:
        """The command that prints the statements during the load; () for no snapshots."""
        if isinstance(self.has_snapshot, tuple):
            return self.has_snapshot
        # Without `reset` the table is read twice anyway; after one, nobody knows whether to read it changes something.
        return self.read if (not self.reset if self.has_snapshot is None else self.has_snapshot) else ()


@dataclass(frozen=True)
class OwnMetric:
    """A metric that a process publishes: the sum of the numbers at `path` in its JSON; `*` in a key is any text.

    A total only grows, and its growth counts. `unit` is s, ms, bytes, or "" for a number of something.
    """

    named_by: ClassVar[tuple[str, ...]] = _NAMED
    json_keys: ClassVar[Keys] = {"is_total": "total"}

    name: str = toml_key(missing=_TEXT)
    path: tuple[str, ...] = toml_key(missing=_COMMAND)
    unit: str = ""
    is_total: bool = False


@dataclass(frozen=True)
class MetricsSource:
    """Where a process publishes its metrics as JSON, and which of them a report has."""

    json_keys: ClassVar[Keys] = {"metrics": "values"}

    url: str = toml_key(missing=_TEXT)
    metrics: tuple[OwnMetric, ...] = toml_key(missing="name the metrics for the report")


@dataclass(frozen=True)
class ProcessSpec:
    """A process to keep running; its texts are templates. `recording` and `exceptions` name files in `logs`."""

    named_by: ClassVar[tuple[str, ...]] = _NAMED
    json_keys: ClassVar[Keys] = {"argv": "command"}

    name: str = toml_key(missing=_TEXT)
    argv: tuple[str, ...] = toml_key(missing=_COMMAND)
    cwd: str = "{{ work }}"
    env: Mapping[str, str] = field(default_factory=dict)
    when: str = ""
    after: tuple[str, ...] = ()
    cpus: int | str = 0
    before: tuple[SystemCommand, ...] = ()
    ready: Ready | None = None
    logs: tuple[str, ...] = ()
    recording: str = ""
    exceptions: tuple[str, ...] = ()
    statements: StatementsSpec | None = None
    metrics: MetricsSource | None = None
    stop_deadline_s: float = 10.0


@dataclass(frozen=True)
class Fact:
    """A line of a report's set-up: its value is a text, or the first line that the command prints."""

    name: str
    value: str = ""
    when: str = ""
    argv: tuple[str, ...] = ()


class Limits(NamedTuple):
    """The lowest and the highest value that a setting may have."""

    lowest: float
    highest: float


@dataclass(frozen=True)
class Manifest:
    """A system that can be started here, as described by its manifest."""

    name: str
    title: str
    folder: Path
    target: str
    ports: Mapping[str, int]
    settings: Settings
    choices: Mapping[str, tuple[Setting, ...]]
    limits: Mapping[str, Limits]
    prepare: tuple[Prepare, ...]
    templates: tuple[Placement, ...]
    copies: tuple[Placement, ...]
    processes: tuple[ProcessSpec, ...]
    facts: tuple[Fact, ...]

    def resolve_settings(self, overrides: Mapping[str, object]) -> Settings:
        """Return the value of every setting: the manifest's defaults, replaced by `overrides`."""
        resolved = dict(self.settings)
        for key, value in overrides.items():
            if key not in self.settings:
                raise UsageError(f"system {self.name}: unknown setting {key!r}", there_is(key, self.settings))
            resolved[key] = self._checked(key, value)
        return resolved

    def _checked(self, key: str, value: object) -> Setting:
        default = self.settings[key]
        where = f"system {self.name}: setting {key} = {value!r}"
        if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not type(default) or not isinstance(value, str | int | float | bool | list):
            raise UsageError(f"{where} is not a {_TYPE_NAMES[type(default)]}", f"its default is {default!r}")
        if isinstance(value, list) and not all(isinstance(item, str) for item in value):
            raise UsageError(f"{where} is not a list of texts", f"its default is {default!r}")
        choices = self.choices.get(key)
        if choices and value not in choices:
            raise UsageError(f"{where} is not one of its choices", "choose from " + ", ".join(map(str, choices)))
        if key in self.limits and isinstance(value, int | float):
            limits = self.limits[key]
            if not limits.lowest <= value <= limits.highest:
                todo = f"give a value from {limits.lowest:g} to {limits.highest:g}"
                raise UsageError(f"{where} is out of range", todo)
        return value


_TYPE_NAMES = {str: "text", int: "whole number", float: "number", bool: "true or false", list: "list"}


@cache
def _jinja() -> jinja2.Environment:
    import jinja2  # deferred: the runs of a target have no templates, and would keep it for their whole time

    return jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, trim_blocks=True)


def render(text: str, context: Context, where: str) -> str:
    """Return the template `text` filled from `context`. The UsageError for an unknown name starts with `where`."""
    import jinja2  # deferred, as in _jinja

    try:
        return _jinja().from_string(text).render(context)
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}", f"in the template {_shortened(text)!r}") from None


def render_argv(argv: Iterable[str], context: Context, where: str) -> tuple[str, ...]:
    """Return the command with every argument rendered; arguments that become empty are left out."""
    rendered = (render(argument, context, where) for argument in argv)
    return tuple(argument for argument in rendered if argument)


def applies(when: str, context: Context, where: str) -> bool:
    """Return whether the condition `when` (a Jinja expression, empty for always) is true."""
    if not when:
        return True
    import jinja2  # deferred, as in _jinja

    try:
        return bool(_jinja().compile_expression(when, undefined_to_none=False)(**context))
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        raise UsageError(f"{where}: {error}", f"in the condition {when!r}") from None


def render_facts(
    manifest: Manifest, context: Context, first_line: Callable[[str, tuple[str, ...]], str]
) -> tuple[tuple[str, str], ...]:
    """Return the lines of the report's set-up in the manifest's order.

    `first_line` runs the command of the named fact and returns its first line.
    """
    where, facts = f"system {manifest.name}, facts", []
    for fact in manifest.facts:
        if applies(fact.when, context, where):
            here = f"{where}: {fact.name}"
            argv = render_argv(fact.argv, context, here)
            facts.append((fact.name, first_line(fact.name, argv) if fact.argv else render(fact.value, context, here)))
    return tuple(facts)


def there_is(key: str, names: Iterable[str]) -> str:
    """Return what to do about an unknown name: the most similar valid name, and all valid names."""
    return f"{did_you_mean(key, names)}there are: {', '.join(sorted(names)) or 'none'}"


def _shortened(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
