"""Combines arguments, plan and profile into one frozen, validated RunSpec."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from harness.base import units
from harness.base.config import is_suite, load_toml
from harness.base.errors import UsageError
from harness.base.project import SHIPPED
from harness.base.tables import read_table, toml_key
from harness.plan.checks.jvm_options import check_jvm_options
from harness.plan.http_sampler import LEAN, parse_sampler
from harness.plan.jmx.addresses import PORTS
from harness.plan.load.model import DURATION_MAX_S, Load, Part
from harness.plan.plan import Plan

HEAP_MAX_MB = 1_000_000
DISK_MAX_MB = 1_000_000_000
# The time that JMeter may take beyond its duration: its start, its last samples and tearDown.
OVERRUN_S = 120.0
PACK_MB = 64
HTTP = ("http", "https")
# How a database's address begins for Java: jdbc:postgresql://…, jdbc:h2:tcp://…, jdbc:oracle:thin:@//…
_JDBC = re.compile(r"jdbc:(\w+):(?:\w+:)*@?//([^;]*).*")
_OTHER_NAMES = {"postgres": "postgresql"}
# A load of this length or more is long, as is every soak.
_LONG_S = 3600.0
_EXAMPLE = 'url = "postgresql://perf@db.example.org:5432/shop"'


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

    `allowed_targets` are the systems outside this machine that may be loaded. `cloudwatch` is the table of what to
    fetch from there after a run; `storage` has the keys s3 and endpoint_url if runs are stored in S3. `is_profiled`
    means that every run records a profile of the system's JVMs, `is_traced` that each HTTP request carries a
    traceparent. `database` is the PostgreSQL whose statements are summed up. `build` builds a commit for an A/B test.
    `notify` is the table of who gets the result of an A/B test. Long runs pack their rows in steps of `pack_mb`, or
    not at all when it is 0.
    `sampler` sends the HTTP requests: the lean one, or JMeter's own.
    `kubernetes` has the keys image, cpu, memory and pod, of the pods that are parts of a run. Without
    `generator_heap_mb` the heap follows from the load.
    """

    name: str
    title: str
    generator_heap_mb: int | None
    generator_jvm_args: str
    overrun_s: float
    min_free_mb: int
    system_settings: Mapping[str, Mapping[str, Any]]
    plan_changes: Mapping[str, Mapping[str, Any]]
    facts: tuple[tuple[str, str], ...]
    allowed_targets: tuple[str, ...] = ()
    cloudwatch: Mapping[str, Any] | None = None
    storage: Mapping[str, str] = field(default_factory=dict)
    is_profiled: bool = False
    is_traced: bool = False
    database: DatabaseSpec | None = None
    build: tuple[str, ...] = ()
    notify: Mapping[str, Any] | None = field(default=None, repr=False)
    pack_mb: int = PACK_MB
    sampler: str = LEAN
    kubernetes: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = field(default=None, compare=False)


@dataclass(frozen=True)
class RunSpec:
    """Everything that defines a run; `command` is the command that repeats it, `port` 0 selects a free one.

    `secrets` are environment variables for JMeter; no file of a run contains their values, or any of the `hidden` ones.
    `is_profiled` requests a profile of the system's JVMs, `is_traced` a traceparent in each HTTP request. `options` are
    those of the command by name, with ••• for secrets: an option of a run is read from them where it acts. `set_values`
    are the parts of SET, name=value. With `part` the load is that part of a run's, and begins at `start_at`: a time, or
    a file that gets one; at once without it.
    """

    plan: Plan
    profile: Profile
    load: Load
    target: Target | None
    series: str | None
    note: str
    port: int
    command: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    is_profiled: bool = False
    set_values: tuple[str, ...] = ()
    is_traced: bool = False
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    part: Part | None = None
    start_at: str = ""

    @property
    def is_soak(self) -> bool:
        """Whether heap histograms are taken."""
        return "soak" in self.options

    @property
    def is_long(self) -> bool:
        """Whether the size of its samples matters."""
        return self.is_soak or (self.load.duration_s or 0) >= _LONG_S


def parse_system(text: str) -> Target:
    """Return the system of --target; that of a plan without HTTP is mqtt://host:port and the like, or JDBC's address.

    UsageError for another text.
    """
    plain = f"{match[1]}://{match[2]}" if (match := _JDBC.fullmatch(text)) else text
    scheme, separator, rest = plain.partition("://")
    return parse_target(f"{_OTHER_NAMES.get(scheme, scheme)}{separator}{rest}", schemes=(*HTTP, *PORTS))


def parse_target(
    text: str, name: str = "--target", example: str = "http://host:8080", *, schemes: Sequence[str] = HTTP
) -> Target:
    """Return the system of --target=http://host:port/path, or what another variable names. UsageError for another text.

    The error does not repeat a user, password or query, because it may be stored in a build server's log.
    """
    given, todo = f"{name}={_without_secrets(text)}", f"give {name}={example}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        raise UsageError(f"{given}: not an address", todo) from None
    if port == 0:
        raise UsageError(f"{given}: there is no port 0", "give a port from 1 to 65535, or none for the default")
    if parts.scheme not in schemes or not parts.hostname:
        others = f", or one of {', '.join(PORTS)}" if len(schemes) > len(HTTP) and "://" in text else ""
        raise UsageError(f"{given}: not an http or https address{others}", todo)
    port = port or ({"http": 80, "https": 443} | PORTS)[parts.scheme]
    if port is None or (parts.scheme == "tcp" and parts.path.strip("/")):
        form = f"{parts.scheme}://host:port"
        raise UsageError(f"{given}: not {form}", f"give host and port, such as --target={form[:-4]}5432")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise UsageError(f"{given}: only scheme, host, port and path can be used", todo)
    return Target(parts.scheme, plain_host(parts.hostname), port, parts.path.rstrip("/"))


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
            f"--series={text}: not a number from 1 on", "give a number such as 7: runs are then named run-07_1, …"
        )
    return f"{int(text):02d}"


def parse_port(text: str) -> int:
    """Return the TCP port for a system that is started here."""
    return units.parse_whole_number(text, "--port", 1024, 65_535)


@dataclass(frozen=True)
class _GeneratorTable:
    heap_mb: int | None = toml_key(None, least=16, most=HEAP_MAX_MB)
    jvm_args: str = ""
    overrun_s: float = toml_key(OVERRUN_S, least=0, most=DURATION_MAX_S)
    sampler: str = LEAN


@dataclass(frozen=True)
class _ReportsTable:
    min_free_mb: int = toml_key(200, least=0, most=DISK_MAX_MB)
    pack_mb: int = toml_key(PACK_MB, least=0, most=DISK_MAX_MB)


@dataclass(frozen=True)
class _StorageTable:
    s3: str | None = None
    endpoint_url: str | None = None


@dataclass(frozen=True)
class _SwitchTable:
    on: bool = False


@dataclass(frozen=True)
class _DatabaseTable:
    url: str = ""
    password: str = ""


@dataclass(frozen=True)
class _KubernetesTable:
    image: str | None = None
    cpu: float | str | None = None
    memory: str | None = None
    pod: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class _ProfileFile:
    """The keys of env/<name>.toml; who uses [cloudwatch] and [notify] reads them."""

    is_file: ClassVar[bool] = True

    format_version: int
    title: str | None = None
    generator: _GeneratorTable = _GeneratorTable()
    reports: _ReportsTable = _ReportsTable()
    system: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    plan: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    cloudwatch: Mapping[str, Any] | None = None
    allowed_targets: tuple[str, ...] = ()
    storage: _StorageTable = _StorageTable()
    build: tuple[str, ...] = ()
    profile: _SwitchTable = _SwitchTable()
    trace: _SwitchTable = _SwitchTable()
    database: Mapping[str, Any] = field(default_factory=dict)
    notify: Mapping[str, Any] | None = None
    kubernetes: _KubernetesTable = _KubernetesTable()


def load_profile(env_dir: Path, name: str) -> Profile:
    """Return the profile env/<name>.toml. The UsageError lists the available profiles."""
    path, where = env_dir / f"{name}.toml", f"env/{name}.toml"
    data = load_toml(path, "--env", name, SHIPPED / "env")
    if is_suite(path):
        raise UsageError(f"--env={name}: {where} is a suite, not a profile", f"measure it: lth nightly --suite={where}")
    file = read_table(_ProfileFile, data, where)
    generator, reports = file.generator, file.reports
    check_jvm_options(generator.jvm_args, f"{where} [generator] jvm_args", is_quoted=False)
    return Profile(
        name=name,
        path=path,
        title=name if file.title is None else file.title,
        generator_heap_mb=generator.heap_mb,
        generator_jvm_args=generator.jvm_args,
        overrun_s=generator.overrun_s,
        min_free_mb=reports.min_free_mb,
        system_settings=file.system,
        plan_changes=file.plan,
        facts=tuple(file.facts.items()),
        allowed_targets=file.allowed_targets,
        cloudwatch=file.cloudwatch,
        storage=data.get("storage", {}),
        is_profiled=file.profile.on,
        is_traced=file.trace.on,
        database=parse_database(file.database, f"{where} [database]"),
        build=file.build,
        notify=file.notify,
        pack_mb=reports.pack_mb,
        sampler=parse_sampler(generator.sampler, f"{where} [generator] sampler"),
        kubernetes=data.get("kubernetes", {}),
    )


@dataclass(frozen=True)
class DatabaseSpec:
    """A database: its address without a password, and the name of the secret that is the password.

    Without such a name psql finds the password itself: in PGPASSWORD or ~/.pgpass. `password` is set by a run.
    """

    url: str
    password_name: str = ""
    password: str = field(default="", repr=False)


def parse_database(given: Mapping[str, Any], where: str) -> DatabaseSpec | None:
    """Return the database of a profile; None without one. UsageError for an address that is none, or has a password."""
    if not given:
        return None
    table = read_table(_DatabaseTable, given, where)
    try:
        parts = urlsplit(table.url)
        password = parts.password
    except ValueError:
        raise UsageError(f"{where}: url is not an address", f"give {_EXAMPLE}") from None
    if password is not None or "password=" in parts.query:
        # Not repeated in the message.
        todo = 'remove it, and name the environment variable that has it: password = "SHOP_DB_PASSWORD"'
        raise UsageError(f"{where}: url contains a password", todo)
    if parts.scheme not in ("postgresql", "postgres") or not parts.path.strip("/"):
        raise UsageError(f"{where}: url is not the address of a PostgreSQL database", f"give {_EXAMPLE}")
    return DatabaseSpec(table.url, table.password)
