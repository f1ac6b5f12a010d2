"""Combines arguments, plan and profile into one frozen, validated RunSpec."""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.base import units
from harness.base.config import check_keys, is_suite, load_toml, texts
from harness.base.errors import UsageError
from harness.cloudwatch.queries import CloudWatchSpec, parse_cloudwatch
from harness.plan.plan import AUTO_LEAST_S, DURATION_MAX_S, LOOPS_MAX, REQUESTS_MAX, USERS_MAX, Plan, PlanLoad
from harness.run.record import CLOSED, OPEN, LoadRecord

HEAP_MAX_MB = 1_000_000
DISK_MAX_MB = 1_000_000_000
RATE_MAX_PER_S = 100_000.0
# The time that JMeter may take beyond its duration: its start, its last samples and tearDown.
OVERRUN_S = 120.0
# When only DURATION is given, the ramp is at most this part (a quarter) of it.
SHARE_OF_RAMP = 4
AUTO = "auto"
AUTO_MOST_S = 600.0


@dataclass(frozen=True)
class ClosedLoad:
    """A fixed number of users who each wait for their response: JMeter's Thread Group.

    The harness ends the load after about `requests` samples, whatever its duration. With `is_auto` it ends the load as
    soon as it is steady and its mean is precise enough, at the latest after `duration_s`.
    """

    users: int
    ramp_s: float
    duration_s: float | None
    loops: int | None
    requests: int | None = None
    is_auto: bool = False


@dataclass(frozen=True)
class OpenLoad:
    """Users who arrive at a rate, independent of response times: JMeter's Open Model Thread Group."""

    rate_per_s: float
    ramp_s: float
    duration_s: float


@dataclass(frozen=True)
class Target:
    """The address of a system that the harness does not start."""

    scheme: str
    host: str
    port: int
    base_path: str

    @property
    def origin(self) -> str:
        """Return scheme, host and port as one URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def url(self) -> str:
        """Return the address as one URL."""
        return self.origin + self.base_path


@dataclass(frozen=True)
class Profile:
    """The test environment env/<name>.toml; `facts` are lines for the report's set-up.

    `allowed_targets` are the systems outside this machine that may be loaded. `cloudwatch` is what to fetch from there
    after a run; `storage` has the keys s3 and endpoint_url if runs are stored in S3.
    """

    name: str
    title: str
    generator_heap_mb: int
    generator_jvm_args: str
    overrun_s: float
    min_free_mb: int
    system_settings: Mapping[str, Mapping[str, Any]]
    plan_changes: Mapping[str, Mapping[str, Any]]
    facts: tuple[tuple[str, str], ...]
    allowed_targets: tuple[str, ...] = ()
    cloudwatch: CloudWatchSpec | None = None
    storage: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RunSpec:
    """Everything that defines a run; `command` is the make command that repeats it, `port` 0 selects a free one.

    `secrets` are environment variables for JMeter; no file of a run contains their values, or any of the `hidden` ones.
    """

    plan: Plan
    profile: Profile
    load: ClosedLoad | OpenLoad
    target: Target | None
    series: str | None
    note: str
    port: int
    command: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class LoadArguments:
    """The load as given on the command line: texts, None for missing arguments."""

    users: str | None = None
    ramp: str | None = None
    duration: str | None = None
    loops: str | None = None
    rate: str | None = None
    requests: str | None = None
    most: str | None = None


def resolve_load(arguments: LoadArguments, default: PlanLoad) -> ClosedLoad | OpenLoad:
    """Return the load: the given arguments, else the plan's defaults. UsageError for invalid values.

    A default ramp never prevents a run: it is cut to a quarter of a given DURATION, and without one the duration grows
    to twice the ramp. A given RAMP that does not fit is refused.
    """
    if arguments.loops and arguments.duration:
        raise UsageError(f"LOOPS={arguments.loops} and DURATION={arguments.duration} exclude each other", "give one")
    ramp_s = None if not arguments.ramp else units.parse_duration_s(arguments.ramp, "RAMP")
    duration_s = _auto_most_s(arguments, default)
    is_auto = duration_s is not None
    if arguments.duration and not is_auto:
        duration_s = units.parse_duration_s(arguments.duration, "DURATION")
        if not 1 <= duration_s <= DURATION_MAX_S:
            raise UsageError(f"DURATION={arguments.duration}: must be from 1 s to 7 days")
    if arguments.rate:
        open_s = default.duration_s if is_auto else duration_s or default.duration_s
        if open_s is None:
            raise UsageError(f"RATE={arguments.rate}: the plan has loops and no duration", "give a DURATION, too")
        return _open_load(arguments, arguments.rate, ramp_s or 0.0, open_s)
    users = default.users
    if arguments.users:
        users = units.parse_whole_number(arguments.users, "USERS", 1, USERS_MAX)
    requests = default.requests
    if arguments.requests:
        requests = units.parse_whole_number(arguments.requests, "REQUESTS", 1, REQUESTS_MAX)
    loops = None
    if arguments.loops:
        loops = units.parse_whole_number(arguments.loops, "LOOPS", 1, LOOPS_MAX)
    elif duration_s is None:
        loops = default.loops
    if loops:
        return _whole_seconds(users, default.ramp_s(users) if ramp_s is None else ramp_s, None, loops, requests)
    default_s = default.duration_s or 0.0  # 0 where the plan has loops: then a DURATION was given
    if ramp_s is not None:
        duration_s = duration_s or default_s
        _check_ramp(arguments, ramp_s, duration_s)
    elif duration_s is not None:
        ramp_s = min(default.ramp_s(users), duration_s / SHARE_OF_RAMP)
    else:
        ramp_s = default.ramp_s(users)
        duration_s = max(default_s, 2 * ramp_s)
    return replace(_whole_seconds(users, ramp_s, duration_s, None, requests), is_auto=is_auto)


def _auto_most_s(arguments: LoadArguments, default: PlanLoad) -> float | None:
    """Return the maximum duration (s) of a load with DURATION=auto; None for other durations."""
    is_asked = (arguments.duration or "").lower() == AUTO
    if is_asked and arguments.rate:
        what = f"RATE={arguments.rate} and DURATION={arguments.duration} exclude each other"
        raise UsageError(what, "JMeter cannot end an open load gracefully: give a DURATION such as 5m")
    is_default = default.auto_most_s is not None and not (arguments.duration or arguments.loops or arguments.rate)
    if not is_asked and not is_default:
        if arguments.most:
            raise UsageError(f"MAX={arguments.most}: only DURATION=auto has one", "leave it out, or give DURATION=auto")
        return None
    most_s = default.auto_most_s or AUTO_MOST_S
    if arguments.most:
        most_s = units.parse_duration_s(arguments.most, "MAX")
        if not AUTO_LEAST_S <= most_s <= DURATION_MAX_S:
            least = f"it takes {AUTO_LEAST_S:.0f} s and more to see that a load is steady; at most 7 days"
            short = "too short" if most_s < AUTO_LEAST_S else "too long"
            raise UsageError(f"MAX={arguments.most}: {short} for DURATION=auto", least)
    return most_s


def _whole_seconds(
    users: int, ramp_s: float, duration_s: float | None, loops: int | None, requests: int | None
) -> ClosedLoad:
    """Return the closed load in whole seconds: JMeter's Thread Group reads 2.5 as 0."""
    whole_s = None if duration_s is None else math.ceil(duration_s)
    return ClosedLoad(users, math.floor(ramp_s + 0.5), whole_s, loops, requests)


def _open_load(arguments: LoadArguments, rate: str, ramp_s: float, duration_s: float) -> OpenLoad:
    for name, value in (("USERS", arguments.users), ("LOOPS", arguments.loops), ("REQUESTS", arguments.requests)):
        if value:
            raise UsageError(
                f"RATE={rate} and {name}={value} exclude each other",
                "with RATE the number of users follows from the response time, and that of requests from the "
                f"duration; leave {name} out",
            )
    rate_per_s = units.parse_number(rate, "RATE", 0.0, RATE_MAX_PER_S)
    _check_ramp(arguments, ramp_s, duration_s)
    return OpenLoad(rate_per_s, ramp_s, duration_s)


def _check_ramp(arguments: LoadArguments, ramp_s: float, duration_s: float) -> None:
    if ramp_s >= duration_s:
        limit = f"DURATION={arguments.duration}" if arguments.duration else "the plan's duration"
        raise UsageError(
            f"RAMP={arguments.ramp} is not shorter than {limit} ({units.number_text(duration_s)} s)",
            "the ramp is part of the duration: give a longer DURATION or a shorter RAMP",
        )


def parse_target(text: str) -> Target:
    """Return the system of TARGET=http://host:port/path. UsageError for another text.

    The error does not repeat a user, password or query, because it may be stored in a build server's log.
    """
    told, todo = f"TARGET={_without_secrets(text)}", "give TARGET=http://host:8080"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise UsageError(f"{told}: not an address", todo) from None
    if port == 0:
        raise UsageError(f"{told}: there is no port 0", "give a port from 1 to 65535, or none for the scheme's own")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{told}: not an http or https address", todo)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"{told}: only scheme, host, port and path can be used", todo)
    default_port = 443 if parts.scheme == "https" else 80
    return Target(parts.scheme, plain_host(parts.hostname), port or default_port, parts.path.rstrip("/"))


def plain_host(text: str) -> str:
    """Return a host in the normal form that is compared and passed to JMeter."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text.lower().removesuffix(".")


def _without_secrets(url: str) -> str:
    return re.sub(r"[?#].*", "?…", re.sub(r"//.*@", "//…@", url, flags=re.DOTALL), flags=re.DOTALL)


def parse_series(text: str) -> str:
    """Return a series as used in run names: at least two digits."""
    if not re.fullmatch(r"\d{1,6}", text) or int(text) == 0:
        raise UsageError(
            f"SERIES={text}: not a number from 1 on", "give a number such as 7: runs are then named run-07_1, …"
        )
    return f"{int(text):02d}"


def parse_port(text: str) -> int:
    """Return the TCP port for a system that is started here."""
    return units.parse_whole_number(text, "PORT", 1024, 65_535)


def load_profile(env_dir: Path, name: str) -> Profile:
    """Return the profile env/<name>.toml. The UsageError lists the available profiles."""
    path, where = env_dir / f"{name}.toml", f"env/{name}.toml"
    data = load_toml(path, "ENV", name)
    if is_suite(path):
        raise UsageError(f"ENV={name}: {where} is a suite, not a profile", f"measure it: make nightly SUITE={where}")
    known = {"format_version": int, "title": str, "generator": dict, "reports": dict, "system": dict, "plan": dict}
    check_keys(data, {**known, "facts": dict, "allowed_targets": list, "cloudwatch": dict, "storage": dict}, where)
    generator, reports, facts = data.get("generator", {}), data.get("reports", {}), data.get("facts", {})
    check_keys(generator, {"heap_mb": int, "jvm_args": str, "overrun_s": (int, float)}, f"{where} [generator]")
    check_keys(reports, {"min_free_mb": int}, f"{where} [reports]")
    for table, key, least, most in (
        (generator, "heap_mb", 16, HEAP_MAX_MB),
        (generator, "overrun_s", 0, DURATION_MAX_S),
        (reports, "min_free_mb", 0, DISK_MAX_MB),
    ):
        if key in table and not least <= table[key] <= most:
            raise UsageError(f"{where}: {key} = {table[key]}", f"give a number from {least} to {most:.12g}")
    systems = data.get("system", {})
    check_keys(systems, dict.fromkeys(systems, dict), f"{where} [system]")
    plans = data.get("plan", {})
    check_keys(plans, dict.fromkeys(plans, dict), f"{where} [plan]")
    check_keys(facts, dict.fromkeys(facts, str), f"{where} [facts]")
    storage = data.get("storage", {})
    check_keys(storage, {"s3": str, "endpoint_url": str}, f"{where} [storage]")
    return Profile(
        name=name,
        title=data.get("title", name),
        generator_heap_mb=generator.get("heap_mb", 1024),
        generator_jvm_args=generator.get("jvm_args", ""),
        overrun_s=generator.get("overrun_s", OVERRUN_S),
        min_free_mb=reports.get("min_free_mb", 200),
        system_settings=systems,
        plan_changes=plans,
        facts=tuple(facts.items()),
        allowed_targets=texts(data.get("allowed_targets", []), f"{where} allowed_targets"),
        cloudwatch=parse_cloudwatch(data["cloudwatch"], f"{where} [cloudwatch]") if "cloudwatch" in data else None,
        storage=storage,
    )


def load_record(load: ClosedLoad | OpenLoad, think_time_s: float) -> LoadRecord:
    """Return a load as run.json stores it."""
    if isinstance(load, OpenLoad):
        return LoadRecord(OPEN, None, load.rate_per_s, load.ramp_s, load.duration_s, None, think_time_s)
    return LoadRecord(
        CLOSED,
        load.users,
        None,
        load.ramp_s,
        load.duration_s,
        load.loops,
        think_time_s,
        load.requests,
        load.is_auto or None,
    )
