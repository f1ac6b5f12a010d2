"""Parses the [[job]] tables of a plan: work that one request starts, and another one asks about until it is done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.base import units
from harness.base.config import did_you_mean, texts, within
from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.base.tables import read_table, toml_key
from harness.plan.load.groups import TENANT
from harness.plan.load.model import DURATION_MAX_S

# How a job ended. It is unanswered when its start named no id or its polls no state, and unfinished when the run ended
# before it, or before it began.
DONE, FAILED, LIMIT, UNANSWERED, UNFINISHED = "done", "failed", "limit", "unanswered", "unfinished"
# What the texts of a job may contain: the id in the answer to its start, and its number of records.
ID, RECORDS = "{id}", "{records}"
# How the labels of its rows in the JTL end.
START, POLL, STATE = ": start", ": poll", ": state"
LIMIT_S, PERIOD_S = 3600.0, 5.0
# JMeter notices that it should end after a pause; after 35 s the harness would end it.
_PERIOD_LEAST_S, _PERIOD_MOST_S = 0.1, 30
_REPEAT_MAX = 1000
_METHODS = ("POST", "PUT", "PATCH", "GET")
_EXAMPLE = "plans/README.md shows a job"
# A name becomes a label, and part of a thread's name and a property.
_NAME = re.compile(r"[A-Za-z0-9][\w .-]{0,60}")
# A state is compared in an expression of JMeter, so it has no quotes.
_STATE = re.compile(r"[\w .:/-]{1,100}")
_GOAL = re.compile(r"\s*duration\s*<=?\s*(.+?)\s*")
_FUNCTION = re.compile(r"\$\{__(\w+)")
# Functions that read or make values. Others run code or read files, which a plan must allow.
_FUNCTIONS = ("P", "property", "time", "UUID", "Random", "RandomString", "threadNum")


@dataclass(frozen=True)
class JobRecord:
    """A job as run.json has it: what the report needs. `goal_s` is the most that its duration may be, None without.

    `records` are those of one repetition. A repetition that takes longer than `limit_s` is not awaited. The duration is
    known to `period_s`. It starts `at_s` after the load, or when the job `after` has ended.
    """

    name: str
    tenant: str | None
    records: int | None
    repeat: int
    limit_s: float
    period_s: float
    goal_s: float | None
    at_s: float = 0.0
    after: str = ""

    @property
    def text(self) -> str:
        """What the report says of it: `50000 records of college, 2 times, 90 s after the start of the load`."""
        size = units.plural(self.records, "record") if self.records else "a job"
        of = f" of {self.tenant}" if self.tenant else ""
        times = f", {self.repeat} times" if self.repeat > 1 else ""
        begin = f"after {self.after}" if self.after else f"{units.number_text(self.at_s)} s after the start of the load"
        return f"{size}{of}{times}, {begin}, at most {units.number_text(self.limit_s)} s"


@dataclass(frozen=True)
class Job(JobRecord):
    """A job of a plan: its requests as JMeter sends them, and the states in which it has ended.

    `id_path` (empty without an id) and `state_path` are JSON paths.
    """

    method: str = "POST"
    start_path: str = ""
    body: str = field(default="", repr=False)
    body_file: str = ""
    id_path: str = ""
    poll_path: str = ""
    state_path: str = ""
    done: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def record(self) -> JobRecord:
        """What run.json has of it."""
        return JobRecord(*(getattr(self, name) for name in JobRecord.__dataclass_fields__))


def parse_jobs(tables: object, where: str, folder: Path) -> tuple[Job, ...]:
    """Return the jobs of [[job]] tables; `folder` has the files of their bodies.

    UsageError for a wrong or missing key, a name that is used twice, and an `after` that names no other job or itself.
    """
    if not isinstance(tables, list):
        raise UsageError(f"{where}: {tables!r}", f"write each job as [[job]] with its keys below; {_EXAMPLE}")
    jobs = tuple(_job(table, where, folder) for table in tables)
    names = [job.name for job in jobs]
    for job in jobs:
        if names.count(job.name) > 1:
            raise UsageError(f"{where} {job.name}: {names.count(job.name)} jobs have this name", "give each its own")
        if job.after and job.after not in names:
            todo = f"{did_you_mean(job.after, names)}there are: {', '.join(names)}"
            raise UsageError(f'{where} {job.name}: after = "{job.after}": there is no such job', todo)
    for job in jobs:
        _check_order(job, jobs, where)
    return jobs


def latest_end_s(jobs: Sequence[Job]) -> float:
    """Return when the last job has ended or reached its limit, s after the start of the load; 0 without jobs."""
    by_name = {job.name: job for job in jobs}

    def end_s(job: Job) -> float:
        begin_s = end_s(by_name[job.after]) if job.after else job.at_s
        return begin_s + job.repeat * job.limit_s

    return max(map(end_s, jobs), default=0.0)


def check_starts(jobs: Sequence[Job], duration_s: float | None) -> None:
    """Raise a UsageError for a job that would start after the end of a load, which lasts `duration_s`."""
    for job in jobs:
        if duration_s is not None and job.at_s >= duration_s:
            what = f"[[job]] {job.name}: starts {job.at_s:g} s after the load, which lasts {duration_s:g} s"
            raise UsageError(what, "give a longer --duration, or a smaller at in the plan")


def secrets_of_jobs(jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return the passwords, tokens and keys that are written in the bodies of jobs."""
    from harness.base.secrecy import secret_values, secrets_in  # here, as below: every table imports this module

    return secret_values(("password", secret) for job in jobs for secret in secrets_in(job.body))


def _check_order(job: Job, jobs: Sequence[Job], where: str) -> None:
    """Raise a UsageError for a job that waits for itself."""
    by_name = {one.name: one for one in jobs}
    seen = [job.name]
    while job.after:
        if job.after in seen:
            what = " after ".join([*seen[seen.index(job.after) :], job.after])
            raise UsageError(f"{where}: {what}: these jobs wait for each other", "give one of them at instead")
        seen.append(job.after)
        job = by_name[job.after]


@dataclass(frozen=True)
class _StartTable:
    path: str = toml_key(missing=_EXAMPLE)
    method: str = "POST"
    body: str | None = None
    body_file: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class _PollTable:
    path: str = toml_key(missing=_EXAMPLE)
    state: str = toml_key(missing=_EXAMPLE)
    period_s: float = toml_key(PERIOD_S, least=_PERIOD_LEAST_S, most=_PERIOD_MOST_S)


@dataclass(frozen=True)
class _JobTable:
    name: str = toml_key(missing=_EXAMPLE)
    start: _StartTable = toml_key(missing=_EXAMPLE)
    poll: _PollTable = toml_key(missing=_EXAMPLE)
    done: str | tuple[str, ...] = toml_key(missing=_EXAMPLE)
    failed: str | tuple[str, ...] = ()
    after: str | None = None
    at: float | str | None = None
    limit: float | str = LIMIT_S
    tenant: str | None = None
    records: int | None = toml_key(None, least=1)
    repeat: int = toml_key(1, least=1, most=_REPEAT_MAX)
    goal: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def _job(given: object, where: str, folder: Path) -> Job:
    if not isinstance(given, dict):
        raise UsageError(f"{where}: {given!r}", f"write each job as [[job]] with its keys below; {_EXAMPLE}")
    if isinstance(given.get("name"), str):
        where = f"{where} {given['name']}"
    table = read_table(_JobTable, given, where)
    start, poll, records, tenant = table.start, table.poll, table.records, table.tenant
    if not _NAME.fullmatch(table.name):
        raise UsageError(f"{where}: not a name of a job", "use letters, digits, blanks, . _ and -")
    if table.at is not None and table.after is not None:
        raise UsageError(f"{where}: has at and after", "give the one that starts it")
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise UsageError(f"{where}: tenant = {tenant!r}", "use letters, digits, . _ and -")
    start_path, poll_path = (_path(one.path, f"{where} {key}") for key, one in (("start", start), ("poll", poll)))
    texts = {"path": start_path, "body": _body(start, f"{where} start", folder), "poll": poll_path}
    done, failed = (_states(key, states, where) for key, states in (("done", table.done), ("failed", table.failed)))
    if both := sorted(set(done) & set(failed)):
        raise UsageError(f"{where}: {both[0]} is in done and in failed", "give it once")
    if ID in poll_path and start.id is None:
        raise UsageError(f"{where}: poll reads {ID}, but start has no id", 'add id = "$.id", its path in the answer')
    texts |= {"id": start.id or "", "state": poll.state}
    for key, text in (*texts.items(), *table.headers.items()):
        _check_text(f"{key}: {text}", f"{where} {key}", records)
    return Job(
        name=table.name,
        tenant=tenant,
        records=records,
        repeat=table.repeat,
        limit_s=_seconds("limit", table.limit, where, least=1),
        period_s=float(poll.period_s),
        goal_s=None if table.goal is None else _goal_s(table.goal, f"{where} goal"),
        at_s=_seconds("at", table.at or 0.0, where, least=0),
        after=table.after or "",
        method=_method(start.method, f"{where} start"),
        start_path=start_path.replace(RECORDS, str(records)),
        body=texts["body"].replace(RECORDS, str(records)),
        body_file=start.body_file or "",
        id_path=start.id or "",
        poll_path=poll_path,
        state_path=poll.state,
        done=done,
        failed=failed,
        headers=_headers(table.headers, f"{where} headers"),
    )


def _path(path: str, where: str) -> str:
    if not path.startswith("/") or path.startswith("//"):
        raise UsageError(f'{where}: path = "{path}"', "give a path on the target, which begins with one /")
    return path


def _method(method: str, where: str) -> str:
    if method not in _METHODS:
        raise UsageError(f'{where}: method = "{method}"', f"give one of {', '.join(_METHODS)}")
    return method


def _body(start: _StartTable, where: str, folder: Path) -> str:
    if start.body is not None and start.body_file is not None:
        raise UsageError(f"{where}: has body and body_file", "give one")
    if start.body_file is None:
        return start.body or ""
    name = Path(start.body_file)
    try:
        if name.is_absolute() or ".." in name.parts:
            raise ValueError
        return regular(folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        todo = "name a text file beside the plan"
        raise UsageError(f"{where}: body_file {start.body_file!r} cannot be read", todo) from None


def _states(key: str, given: str | tuple[str, ...], where: str) -> tuple[str, ...]:
    states = texts([given] if isinstance(given, str) else given, f"{where} {key}")
    if key == "done" and not states:
        raise UsageError(f"{where}: done is empty", "give the states in which the job is done")
    for state in states:
        if not _STATE.fullmatch(state):
            raise UsageError(f"{where}: {key} = {state!r}", "give a state of letters, digits, blanks and . _ : / -")
    return states


def _headers(table: Mapping[str, str], where: str) -> dict[str, str]:
    from harness.plan.jmx.headers import CREDENTIALS

    for name, value in table.items():
        if name.lower() in CREDENTIALS and "${" not in value:
            raise UsageError(f"{where}: the value of {name} is written out", "read a variable of the plan: ${token}")
    return dict(table)


def _check_text(text: str, where: str, records: int | None) -> None:
    if RECORDS in text and records is None:
        raise UsageError(f"{where}: reads {RECORDS}, but the job has no records", "add records = 50000")
    for function in _FUNCTION.findall(text):
        if function not in _FUNCTIONS:
            raise UsageError(f"{where}: calls __{function}", f"a job may call {', '.join(_FUNCTIONS)}")


def _seconds(key: str, value: float | str, where: str, *, least: float) -> float:
    seconds = units.parse_duration_s(value, f"{where}: {key}") if isinstance(value, str) else float(value)
    within(seconds, least, DURATION_MAX_S, where, key)
    return seconds


def _goal_s(text: str, where: str) -> float:
    match = _GOAL.fullmatch(text)
    if not match:
        raise UsageError(f'{where} = "{text}": not a goal of a job', 'write goal = "duration < 20m"')
    return units.parse_duration_s(match[1], where)
