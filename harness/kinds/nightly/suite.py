"""Read a nightly suite: a TOML file with loads, repeats, goals, and the metrics to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from harness.base import units
from harness.base.config import NUMBER, check_keys, did_you_mean, load_toml
from harness.base.errors import UsageError
from harness.base.tables import read_table
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric, compared_metrics, parse_metric
from harness.notify.settings import NotifySettings, parse_notify
from harness.plan.goal import option_metrics
from harness.plan.goal_input import GOAL_OPTION, goal_names
from harness.plan.thresholds import Thresholds

_TEXT = (str, int, float)
# Options of lth run with the same name.
_LENGTH = ("ramp", "duration", "loops", "requests")
_GOAL = tuple(metric.name for metric in option_metrics())
_RUN_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "plan": str,
    "env": str,
    "users": (int, list),
    "rate": NUMBER,
    "repeats": int,
    **dict.fromkeys(_LENGTH, _TEXT),
    "target": str,
    "at_most": _TEXT,
    "profile": bool,
    "goal": (dict, str),
    "stop": str,
    "set": str,
    "thresholds": dict,
}
_REPEATS_MAX = 100
_BUDGET_MAX_S = 86_400.0
# The default metrics and labels. Each further one adds false alarms.
_JUDGED_METRICS = ("average", "p90", "errors")
_JUDGED_LABELS = (TOTAL,)


@dataclass(frozen=True)
class _GateTable:
    metrics: tuple[str, ...] = _JUDGED_METRICS
    labels: tuple[str, ...] = _JUDGED_LABELS
    thresholds: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _SuiteFile:
    """The keys of a suite; those of its runs are further below."""

    is_file: ClassVar[bool] = True

    format_version: int
    title: str | None = None
    budget: float | str | None = None
    slack: float | str = "5m"
    repeats: int = 1
    env: str = "local"
    profile: bool = False
    gate: _GateTable = _GateTable()
    notify: Mapping[str, Any] | None = None
    run: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class SuiteRun:
    """One load of a plan, measured `repeats` times.

    `options` are those of a run, as text; the plan supplies the others. `at_most_s` limits a load that ends after a
    number of loops. `thresholds` are ratios by metric that replace the plan's. With `is_profiled` each run has a
    profile of the system; without it the env profile decides. `more` are arguments of further options (--sampler).
    """

    plan: str
    profile: str
    options: Mapping[str, str]
    repeats: int
    at_most_s: float | None
    thresholds: Mapping[str, float]
    is_profiled: bool = False
    more: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """A short title: killbill-stripe, 10 users."""
        users, rate = self.options.get("users"), self.options.get("rate")
        load = f", {units.plural(int(users), 'user')}" if users else f", {rate} users/s" if rate else ""
        return f"{self.plan}{load}"

    @property
    def full_title(self) -> str:
        """The title with all options of the suite."""
        length = (f"{name} {self.options[name]}" for name in (*_LENGTH, "target") if name in self.options)
        return f"{self.title} ({', '.join([f'profile {self.profile}', *length, *self.more])})"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of lth run for this load."""
        named = {"plan": self.plan, "env": self.profile, **self.options}
        profile = ["--profile"] if self.is_profiled else []
        return (*(f"--{name}={value}" for name, value in named.items()), *profile, *self.more)


@dataclass(frozen=True)
class Suite:
    """The loads of a nightly run and its time limit `budget_s`; `metrics` and `labels` are judged, () means all labels.

    A run may take `slack_s` longer than its load, because the system has to start and stop. `notify` is who gets the
    result; None for nobody.
    """

    title: str
    budget_s: float
    slack_s: float
    metrics: tuple[Metric, ...]
    labels: tuple[str, ...]
    runs: tuple[SuiteRun, ...]
    notify: NotifySettings | None = None

    def title_of(self, run: SuiteRun) -> str:
        """Return the shortest unique title of a load."""
        return run.title if sum(one.title == run.title for one in self.runs) == 1 else run.full_title


def load_suite(path: Path, more: Mapping[str, type] | None = None) -> Suite:
    """Return the suite of a TOML file; UsageError names the invalid key.

    `more` are further options of a run that a [[run]] may set: text, on or off (bool), or repeated (list).
    """
    if not path.is_file():
        near = did_you_mean(path.name, [other.name for other in path.parent.glob("*.toml")])
        raise UsageError(f"--suite={path}: no such file", f"{near}pass a suite such as env/nightly.toml")
    data = load_toml(path, "--suite", path.stem)
    where = f"{path.parent.name}/{path.name}"
    file = read_table(_SuiteFile, data, where)
    if not file.run:
        raise UsageError(f"{where}: has no [[run]]", 'add one, such as [[run]] with plan = "killbill-stripe"')
    if file.budget is None:
        raise UsageError(f"{where}: budget is missing", 'set the time limit of all runs: budget = "90m"')
    Thresholds().with_table(file.gate.thresholds, f"{where} [gate] thresholds")
    runs = [run for table in file.run for run in _runs(table, file, where, more or {})]
    _check_once(runs, where)
    budget_s = units.parse_duration_s(str(file.budget), f"{where}: budget")
    if not 0 < budget_s <= _BUDGET_MAX_S:
        raise UsageError(f"{where}: budget = {file.budget}", "use a duration up to 24h")
    return Suite(
        title=path.stem if file.title is None else file.title,
        budget_s=budget_s,
        slack_s=units.parse_duration_s(str(file.slack), f"{where}: slack"),
        metrics=_metrics(file.gate.metrics, f"{where} [gate] metrics"),
        labels=file.gate.labels,
        runs=tuple(runs),
        notify=parse_notify(file.notify, f"{where} [notify]"),
    )


def _check_once(runs: Sequence[SuiteRun], where: str) -> None:
    """Raise a UsageError for a load that is listed twice, also with other settings: those start no new history."""
    runs_by_load: dict[tuple[object, ...], SuiteRun] = {}
    for run in runs:
        load = sorted((name, value) for name, value in run.options.items() if name != "set")
        twin = runs_by_load.setdefault((run.plan, run.profile, run.more, *load), run)
        if twin is not run:
            is_same, other = twin.options == run.options, "only set differs, and their histories would be one"
            todo = "use repeats = 2 to measure it twice" if is_same else f"{other}; name a plan for each"
            raise UsageError(f"{where}: {run.title} is listed twice", todo)


def _runs(table: object, suite: _SuiteFile, where: str, more: Mapping[str, type]) -> Iterator[SuiteRun]:
    """Yield a run for each number of users of a [[run]]."""
    if not isinstance(table, dict):
        raise UsageError(f"{where}: run = {table!r}", "write each as [[run]] with its keys below")
    where = f"{where} [[run]]"
    further = {key: kind for key, kind in more.items() if key not in _RUN_KEYS}
    check_keys(table, {**further, **_RUN_KEYS}, where)
    if "plan" not in table:
        raise UsageError(f"{where}: plan is missing", "plans/ lists the plans")
    where = f"{where} {table['plan']}"
    goal = table.get("goal", {})
    if isinstance(goal, str):
        goal = {GOAL_OPTION: goal}
    else:
        check_keys(goal, dict.fromkeys(_GOAL, _TEXT), f"{where} goal")
    if "users" in table and "rate" in table:
        raise UsageError(f"{where}: users and rate cannot be used together", "give one")
    users = table.get("users", [])
    if "users" in table and users == []:
        raise UsageError(f"{where}: users = []", "use one number or several")
    options = {key: _text(table[key]) for key in (*_LENGTH, "target") if key in table}
    options |= {key: _text(goal[key]) for key in goal_names() if key in goal}
    options |= {key: table[key] for key in ("stop", "set") if key in table}
    loads = [
        {"users": str(_whole(number, f"{where}: users", None))}
        for number in (users if isinstance(users, list) else [users])
    ]
    if not loads:
        loads = [{"rate": _text(table["rate"])} if "rate" in table else {}]
    at_most = table.get("at_most")
    own = table.get("thresholds", {})
    Thresholds().with_table(own, f"{where} thresholds")
    for load in loads:
        yield SuiteRun(
            plan=table["plan"],
            profile=table.get("env", suite.env),
            options={**load, **options},
            repeats=_whole(table.get("repeats", suite.repeats), f"{where}: repeats", _REPEATS_MAX),
            at_most_s=None if at_most is None else units.parse_duration_s(str(at_most), f"{where}: at_most"),
            thresholds={**suite.gate.thresholds, **own},
            # A system that runs elsewhere cannot be profiled: only its own key asks for that, and is refused later.
            is_profiled=table.get("profile", suite.profile and "target" not in table),
            more=tuple(word for key in further if key in table for word in _words(key, table[key])),
        )


def _words(name: str, value: Any) -> list[str]:
    """Return the arguments of an option with a value of TOML."""
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}={_text(one)}" for one in (value if isinstance(value, list) else [value])]


def _whole(value: object, where: str, most: int | None) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1 or (most is not None and value > most):
        limit = f"from 1 to {most}" if most else "of at least 1"
        raise UsageError(f"{where} = {value!r}", f"give a whole number {limit}")
    return value


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else units.number_text(value)


def _metrics(names: Sequence[str], where: str) -> tuple[Metric, ...]:
    if not names:
        known = ", ".join(metric.name for metric in compared_metrics())
        raise UsageError(f"{where} = []: nothing would be judged", f"use some of: {known}")
    return tuple(dict.fromkeys(parse_metric(name, f"{where}:") for name in names))
