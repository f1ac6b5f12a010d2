"""Configures the agent in harness/run/java, which restricts JMeter's connections, and reads its file."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from harness.base import units
from harness.base.errors import UsageError
from harness.metrics.wake_delays import WakeDelays
from harness.plan.spec import Target, plain_host
from harness.run.directory import RunDirectory
from harness.run.group_counts import GroupCounts
from harness.run.jmeter.command import SETTINGS_NAME
from harness.run.jmeter.groups import GROUPS_NAME, busy_steps, read_groups
from harness.run.network.watch import ASKED_NAME, KNOWN_NAME, MADE, OUTSIDE_NAME, WATCHED
from harness.run.record import DeathRecord, RowsRecord

# The agent's list: the allowed hosts, then a line for each refused attempt. While JMeter runs it is in a folder with a
# random name, where no listener of the plan can overwrite it; then it is moved into the run directory.
LIST_FOLDER = "connections-"
FOREIGN_NAME = "foreign-connections.txt"
# Beside the list: the number of active users, which the agent writes while JMeter runs them.
ACTIVE_USERS_NAME = "active-users.txt"
# Beside the list: the number of arrivals of an open load that were left out.
_LEFT_OUT_NAME = "left-out-arrivals.txt"
# Beside the list: what died, and how many rows JMeter wrote.
DEAD_NAME = "dead-users.txt"
ROWS_NAME = "rows.txt"
# Beside the list: how late a thread of JMeter woke up.
_WAKES_NAME = "wakes.txt"
# Beside the list: when a JMeter that is held may begin, and that it waits for that.
START_NAME = "start"
_HELD_NAME = f"{START_NAME}.held"
_HEAD = "allowed: "
# Netty, and the Netty in gRPC, then connect through Java's own calls, which the agent sees, instead of epoll's.
NO_NATIVE = "-Dio.netty.transport.noNative=true -Dio.grpc.netty.shaded.io.netty.transport.noNative=true"
# The agent writes at most this number of lines.
_LINES_MOST = 1000
_ADDRESSES_SHOWN = 3
_TODO = "move the checkout to another folder"


def allowed_connections(target: Target, hosts: Sequence[str]) -> tuple[str, ...]:
    """Return host:port of each allowed address except those of this machine; port 0 is any port.

    `hosts` are those of the plan's [allow].
    """
    entries = [_entry(target.host, target.port)]
    for text in hosts:
        parts = urlsplit(text if "://" in text else f"//{text}")
        entries.append(_entry(plain_host(parts.hostname or ""), parts.port or 0))
    return tuple(dict.fromkeys(entries))


def agent_argument(agent: Path, listed: Path, allowed: Sequence[str] = ()) -> str:
    """Return the JVM argument that restricts a JVM to these addresses.

    The agent writes its list to `listed`.
    """
    return f"-javaagent:{agent}={listed}={','.join(allowed)}"


def agent_option(agent: Path, listed: Path, allowed: Sequence[str]) -> str:
    """Return `agent_argument` as an option of JDK_JAVA_OPTIONS; UsageError for paths that Java cannot read there."""
    if "=" in str(agent):
        raise UsageError(f"{agent.parent}: Java cannot load its agent from a folder with = in its path", _TODO)
    return _quoted(agent_argument(agent, listed, allowed), agent.parent)


def sampler_option(classes: Path | None, *, is_lean: bool = True) -> str:
    """Return the options of JDK_JAVA_OPTIONS for the lean HTTP sampler, or JMeter's own; empty without classes.

    With the classes, both keep credentials at their origin.
    """
    if classes is None:
        return ""
    return _quoted(f"-Dharness.sampler={classes}", classes) + ("" if is_lean else " -Dharness.lean=false")


def credentials_option(secret_headers: Sequence[str], *, goes_across: bool) -> str:
    """Return the options of Java about credentials: further headers that stay at their origin, or that none stays."""
    headers = f'"-Dharness.secret_headers={",".join(secret_headers)}"' if secret_headers else ""
    return f"{headers} {'-Dharness.credentials_across=true' if goes_across else ''}".strip()


def _quoted(argument: str, folder: Path) -> str:
    if '"' not in argument:
        return f'"{argument}"'
    if "'" in argument:
        raise UsageError(f"{folder}: Java cannot read a path with both kinds of quotation marks", _TODO)
    return f"'{argument}'"


class Noted(NamedTuple):
    """What the agent noted of a run: arrivals that were left out, what died, rows, groups, and late wake-ups.

    `busy` are the users that were in a step when JMeter was told to end, by the step.
    """

    left_out_count: int
    deaths: tuple[DeathRecord, ...]
    rows: RowsRecord | None
    groups: tuple[GroupCounts, ...]
    wake_delays: WakeDelays | None
    busy: Mapping[str, int]


def take_list(listed: Path, directory: RunDirectory) -> Noted:
    """Move the agent's list into the run directory; one that cannot be stored is missing there.

    Return what the other files beside the list say.
    """
    copy = directory.path / FOREIGN_NAME
    left_out = listed.with_name(_LEFT_OUT_NAME)
    left_out_count = int(left_out.read_text() or 0) if left_out.is_file() else 0
    dead = listed.with_name(DEAD_NAME)
    deaths = _deaths(_text(dead))
    rows = listed.with_name(ROWS_NAME)
    groups = listed.with_name(GROUPS_NAME)
    wakes = listed.with_name(_WAKES_NAME)
    late = WakeDelays.read(_text(wakes))
    lines = _text(groups)
    noted = Noted(left_out_count, deaths, _rows(_text(rows)), read_groups(lines), late, busy_steps(lines))
    with contextlib.suppress(OSError):
        others = (listed.with_name(name) for name in (ACTIVE_USERS_NAME, SETTINGS_NAME, START_NAME, _HELD_NAME))
        for path in (left_out, rows, dead, groups, wakes, *others, copy):
            path.unlink(missing_ok=True)
        outside = listed.with_name(OUTSIDE_NAME)
        if listed.is_file():
            _copy(listed, outside, copy)
            listed.unlink()
        for name in (OUTSIDE_NAME, KNOWN_NAME, ASKED_NAME):
            listed.with_name(name).unlink(missing_ok=True)
        listed.parent.rmdir()
    return noted


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _deaths(text: str) -> tuple[DeathRecord, ...]:
    """Return what the agent's file says; a line that a kill cut is left out."""
    cells = (line.split("\t") for line in text.splitlines(keepends=True) if line.endswith("\n"))
    return tuple(DeathRecord(one[0], int(one[1]), int(one[2]), one[3].rstrip("\n")) for one in cells if len(one) == 4)


def _rows(text: str) -> RowsRecord | None:
    match text.split():
        case [count, has_ended, step_ms]:
            return RowsRecord(int(count), has_ended != "true", int(step_ms))
    return None


def _copy(listed: Path, outside: Path, copy: Path) -> None:
    """Copy the agent's list with what was seen from outside, after the lines about the list itself."""
    files = [one for one in (listed, outside) if one.is_file()]
    lines = [line for one in files for line in one.read_bytes().splitlines(keepends=True)]
    heads = (_HEAD.encode(), WATCHED.encode())
    ordered = sorted(lines, key=lambda line: not line.startswith(heads))
    try:
        copy.write_bytes(b"".join(ordered))
    except OSError:
        copy.unlink(missing_ok=True)  # a part of the list would look like the whole
        raise


def generator_connections(number: int) -> str:
    """Return the name of a load generator's file in the run directory."""
    return FOREIGN_NAME.replace(".txt", f"-{number}.txt")


def connection_reasons(directory: RunDirectory, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return why the agent's file makes a run invalid; a missing file counts only when there are samples."""
    path = directory.path / FOREIGN_NAME
    if path.is_file():
        return foreign_reasons(path.read_text(errors="replace"), allowed)
    if directory.samples.is_file():
        return (f"JMeter ran without the agent that watches its connections: {path.name} is missing",)
    return ()


def other_addresses(directory: RunDirectory) -> str:
    """Return how other addresses were refused or watched; empty when JMeter did not run on this machine."""
    path = directory.path / FOREIGN_NAME
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    return next((line.removeprefix(WATCHED) for line in lines if line.startswith(WATCHED)), "")


def foreign_reasons(text: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return why a list makes a run invalid: attempts to reach other hosts, and connections to them."""
    found = [line for line in text.splitlines() if not line.startswith((_HEAD, WATCHED))]
    refused = Counter(line for line in found if not line.startswith(MADE))
    made = Counter(line.removeprefix(MADE) for line in found if line.startswith(MADE))
    texts = (_foreign_text(refused, "were refused"), _foreign_text(made, "were made"))
    return tuple(f"{one}; allowed: {', '.join(allowed)}" for one in texts if one)


def _foreign_text(counts: Counter[str], done: str) -> str:
    if not counts:
        return ""
    shown = ", ".join(f"{address} ({count}×)" for address, count in counts.most_common(_ADDRESSES_SHOWN))
    more = f" and {len(counts) - _ADDRESSES_SHOWN} more" if len(counts) > _ADDRESSES_SHOWN else ""
    attempts = units.plural(counts.total(), "connection")
    least = "at least " if counts.total() >= _LINES_MOST else ""
    return f"{least}{attempts} to hosts that are not allowed {done}: {shown}{more}"


def _entry(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
