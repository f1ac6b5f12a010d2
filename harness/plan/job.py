"""Parses the [[job]] tables of a plan: work that one request starts, and another one asks about until it is done."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.base import units
from harness.base.config import NUMBER, check_keys, did_you_mean, texts, within
from harness.base.errors import UsageError
from harness.base.regular import regular
from harness.plan.load.groups import TENANT
from harness.plan.load.model import DURATION_MAX_S

# How a job ended. It is unanswered when its start named no id or its polls no state, and unfinished when the run ended
# before it, or before it began.
DONE, FAILED, LIMIT, UNANSWERED, UNFINISHED = "done", "failed", "limit", "unanswered", "unfinished"
# What the texts of a job may contain: the id in the answer to its start, and its number of records.
ID, RECORDS = "{id}", "{records}"
LIMIT_S, PERIOD_S = 3600.0, 5.0
# JMeter notices that it should end after a pause; after 35 s the harness would end it.
_PERIOD_LEAST_S, _PERIOD_MOST_S = 0.1, 30
_REPEAT_MAX = 1000
_KEYS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("name", "after", "tenant", "goal"), str),
    **dict.fromkeys(("records", "repeat"), int),
    **dict.fromkeys(("at", "limit"), (int, float, str)),
    **dict.fromkeys(("start", "poll", "headers"), dict),
    **dict.fromkeys(("done", "failed"), (str, list)),
}
_START_KEYS: Mapping[str, type] = dict.fromkeys(("method", "path", "body", "body_file", "id"), str)
_POLL_KEYS: Mapping[str, type | tuple[type, ...]] = {"path": str, "state": str, "period_s": NUMBER}
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
            raise UsageError(what, "give a longer DURATION, or a smaller at in the plan")


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


def _job(table: object, where: str, folder: Path) -> Job:
    if not isinstance(table, dict):
        raise UsageError(f"{where}: {table!r}", f"write each job as [[job]] with its keys below; {_EXAMPLE}")
    check_keys(table, _KEYS, where)
    name = _needed(table, "name", where)
    where = f"{where} {name}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: not a name of a job", "use letters, digits, blanks, . _ and -")
    start, poll = _needed(table, "start", where), _needed(table, "poll", where)
    check_keys(start, _START_KEYS, f"{where} start")
    check_keys(poll, _POLL_KEYS, f"{where} poll")
    if "at" in table and "after" in table:
        raise UsageError(f"{where}: has at and after", "give the one that starts it")
    for key, least, most in (("records", 1, None), ("repeat", 1, _REPEAT_MAX)):
        within(table.get(key, 1), least, most, where, key)
    within(poll.get("period_s", PERIOD_S), _PERIOD_LEAST_S, _PERIOD_MOST_S, f"{where} poll", "period_s")
    records, tenant = table.get("records"), table.get("tenant")
    if tenant is not None and not TENANT.fullmatch(tenant):
        raise UsageError(f"{where}: tenant = {tenant!r}", "use letters, digits, . _ and -")
    start_path, poll_path = (_path(one, f"{where} {key}") for key, one in (("start", start), ("poll", poll)))
    texts = {"path": start_path, "body": _body(start, f"{where} start", folder), "poll": poll_path}
    done, failed = (_states(table, key, where) for key in ("done", "failed"))
    if both := sorted(set(done) & set(failed)):
        raise UsageError(f"{where}: {both[0]} is in done and in failed", "give it once")
    if ID in poll_path and "id" not in start:
        raise UsageError(f"{where}: poll reads {ID}, but start has no id", 'add id = "$.id", its path in the answer')
    texts |= {"id": start.get("id", ""), "state": poll.get("state", "")}
    for key, text in (*texts.items(), *table.get("headers", {}).items()):
        _check_text(f"{key}: {text}", f"{where} {key}", records)
    return Job(
        name=name,
        tenant=tenant,
        records=records,
        repeat=table.get("repeat", 1),
        limit_s=_seconds(table, "limit", LIMIT_S, where, least=1),
        period_s=float(poll.get("period_s", PERIOD_S)),
        goal_s=_goal_s(table["goal"], f"{where} goal") if "goal" in table else None,
        at_s=_seconds(table, "at", 0.0, where, least=0),
        after=table.get("after", ""),
        method=_method(start, f"{where} start"),
        start_path=start_path.replace(RECORDS, str(records)),
        body=texts["body"].replace(RECORDS, str(records)),
        body_file=start.get("body_file", ""),
        id_path=start.get("id", ""),
        poll_path=poll_path,
        state_path=_needed(poll, "state", f"{where} poll"),
        done=done,
        failed=failed,
        headers=_headers(table.get("headers", {}), f"{where} headers"),
    )


def _needed(table: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in table:
        raise UsageError(f"{where}: {key} is missing", _EXAMPLE)
    return table[key]


def _path(table: Mapping[str, Any], where: str) -> str:
    path = str(_needed(table, "path", where))
    if not path.startswith("/") or path.startswith("//"):
        raise UsageError(f'{where}: path = "{path}"', "give a path on the target, which begins with one /")
    return path


def _method(start: Mapping[str, Any], where: str) -> str:
    method = str(start.get("method", "POST"))
    if method not in _METHODS:
        raise UsageError(f'{where}: method = "{method}"', f"give one of {', '.join(_METHODS)}")
    return method


def _body(start: Mapping[str, Any], where: str, folder: Path) -> str:
    if "body" in start and "body_file" in start:
        raise UsageError(f"{where}: has body and body_file", "give one")
    if "body_file" not in start:
        return str(start.get("body", ""))
    name = Path(str(start["body_file"]))
    try:
        if name.is_absolute() or ".." in name.parts:
            raise ValueError
        return regular(folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        todo = "name a text file beside the plan"
        raise UsageError(f"{where}: body_file {start['body_file']!r} cannot be read", todo) from None


def _states(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    given = table.get(key, []) if key == "failed" else _needed(table, key, where)
    states = texts([given] if isinstance(given, str) else given, f"{where} {key}")
    if key == "done" and not states:
        raise UsageError(f"{where}: done is empty", "give the states in which the job is done")
    for state in states:
        if not _STATE.fullmatch(state):
            raise UsageError(f"{where}: {key} = {state!r}", "give a state of letters, digits, blanks and . _ : / -")
    return states


def _headers(table: Mapping[str, Any], where: str) -> dict[str, str]:
    from harness.plan.jmx.headers import CREDENTIALS

    check_keys(table, dict.fromkeys(table, str), where)
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


def _seconds(table: Mapping[str, Any], key: str, default: float, where: str, *, least: float) -> float:
    value = table.get(key, default)
    seconds = units.parse_duration_s(value, f"{where}: {key}") if isinstance(value, str) else float(value)
    within(seconds, least, DURATION_MAX_S, where, key)
    return seconds


def _goal_s(text: str, where: str) -> float:
    match = _GOAL.fullmatch(text)
    if not match:
        raise UsageError(f'{where} = "{text}": not a goal of a job', 'write goal = "duration < 20m"')
    return units.parse_duration_s(match[1], where)
