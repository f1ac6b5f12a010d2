"""Read a nightly suite: a TOML file with loads, repeats, goals, and the metrics to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from harness.base import units
from harness.base.config import check_keys, did_you_mean, load_toml
from harness.base.errors import UsageError
from harness.base.tables import read_table, read_tables, toml_key
from harness.metrics.figures import TOTAL
from harness.metrics.metric import Metric, compared_metrics, parse_metric
from harness.notify.settings import NotifySettings, parse_notify
from harness.plan.goal import option_metrics
from harness.plan.goal_input import GOAL_OPTION
from harness.plan.thresholds import Thresholds

_REPEATS_MAX = 100
# Options of a run with the same name.
_LENGTH = ("ramp", "duration", "loops", "requests")
_OPTIONS = (*_LENGTH, "target")
_GOAL = tuple(metric.name for metric in option_metrics())
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
    """The keys of a suite; those of its runs are in _RunTable."""

    is_file: ClassVar[bool] = True

    format_version: int
    title: str | None = None
    budget: float | str | None = None
    slack: float | str = "5m"
    repeats: int = toml_key(1, least=1, most=_REPEATS_MAX)
    env: str = "local"
    profile: bool = False
    gate: _GateTable = _GateTable()
    notify: Mapping[str, Any] | None = None
    run: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class _RunTable:
    """The keys of a [[run]]; further ones are options of a run, and get into `more`."""

    named_by: ClassVar[tuple[str, ...]] = ("plan",)
    spread: ClassVar[str] = "more"

    plan: str = toml_key(missing="plans/ lists the plans")
    env: str | None = None
    users: int | list[Any] | None = None
    rate: float | None = None
    repeats: int | None = toml_key(None, least=1, most=_REPEATS_MAX)
    ramp: float | str | None = None
    duration: float | str | None = None
    loops: float | str | None = None
    requests: float | str | None = None
    target: str | None = None
    at_most: float | str | None = None
    profile: bool | None = None
    goal: str | Mapping[str, Any] = field(default_factory=dict)
    stop: str | None = None
    set: str | None = None
    thresholds: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)


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
        raise UsageError(f"--suite={path}: no such file", f"{near}lth help suite shows one")
    data = load_toml(path, "--suite", path.stem)
    where = f"{path.parent.name}/{path.name}"
    file = read_table(_SuiteFile, data, where)
    if not file.run:
        raise UsageError(f"{where}: has no [[run]]", 'add one, such as [[run]] with plan = "killbill-stripe"')
    if file.budget is None:
        raise UsageError(f"{where}: budget is missing", 'set the time limit of all runs: budget = "90m"')
    Thresholds().with_table(file.gate.thresholds, f"{where} [gate] thresholds")
    where_runs = f"{where} [[run]]"
    each = "write each as [[run]] with its keys below"
    tables = read_tables(_RunTable, file.run, where_runs, more, each)
    runs = [run for table in tables for run in _runs(table, file, f"{where_runs} {table.plan}", more or {})]
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


def _runs(table: _RunTable, suite: _SuiteFile, where: str, more: Mapping[str, type]) -> Iterator[SuiteRun]:
    """Yield a run for each number of users of a [[run]]."""
    options = {key: _text(value) for key in _OPTIONS if (value := getattr(table, key)) is not None}
    options |= _goals(table.goal, where)
    options |= {key: value for key in ("stop", "set") if (value := getattr(table, key)) is not None}
    Thresholds().with_table(table.thresholds, f"{where} thresholds")
    # A system that runs elsewhere cannot be profiled: only its own key asks for that, and is refused later.
    is_profiled = suite.profile and table.target is None if table.profile is None else table.profile
    at_most_s = None if table.at_most is None else units.parse_duration_s(str(table.at_most), f"{where}: at_most")
    for load in _loads(table, where):
        yield SuiteRun(
            plan=table.plan,
            profile=suite.env if table.env is None else table.env,
            options={**load, **options},
            repeats=table.repeats or suite.repeats,
            at_most_s=at_most_s,
            thresholds={**suite.gate.thresholds, **table.thresholds},
            is_profiled=is_profiled,
            more=tuple(word for key in more if key in table.more for word in _words(key, table.more[key])),
        )


def _loads(table: _RunTable, where: str) -> list[dict[str, str]]:
    """Return the options of each load of a [[run]]: one per number of users, one of a rate, or the plan's."""
    if table.users is not None and table.rate is not None:
        raise UsageError(f"{where}: users and rate cannot be used together", "give one")
    if table.users is None:
        return [{} if table.rate is None else {"rate": _text(table.rate)}]
    if table.users == []:
        raise UsageError(f"{where}: users = []", "use one number or several")
    numbers = table.users if isinstance(table.users, list) else [table.users]
    return [{"users": str(_whole(number, f"{where}: users"))} for number in numbers]


def _goals(goal: str | Mapping[str, Any], where: str) -> dict[str, str]:
    """Return the options of goals: that of a text, or those of a table of metrics."""
    if isinstance(goal, str):
        return {GOAL_OPTION: goal}
    check_keys(goal, dict.fromkeys(_GOAL, (str, int, float)), f"{where} goal")
    return {key: _text(goal[key]) for key in _GOAL if key in goal}


def _words(name: str, value: Any) -> list[str]:
    """Return the arguments of an option with a value of TOML."""
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}={_text(one)}" for one in (value if isinstance(value, list) else [value])]


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{where} = {value!r}", "give a whole number of at least 1")
    return value


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else units.number_text(value)


def _metrics(names: Sequence[str], where: str) -> tuple[Metric, ...]:
    if not names:
        known = ", ".join(metric.name for metric in compared_metrics())
        raise UsageError(f"{where} = []: nothing would be judged", f"use some of: {known}")
    return tuple(dict.fromkeys(parse_metric(name, f"{where}:") for name in names))
