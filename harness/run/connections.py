"""Configures the agent in harness/run/java, which restricts JMeter's connections, and reads its file."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from harness.base import units
from harness.base.errors import UsageError
from harness.plan.spec import Target, plain_host
from harness.run.directory import RunDirectory
from harness.run.jmeter_command import SETTINGS_NAME

# The agent's list: the allowed hosts, then a line for each refused attempt. While JMeter runs it is in a folder with a
# random name, where no listener of the plan can overwrite it; then it is moved into the run directory.
LIST_FOLDER = "connections-"
FOREIGN_NAME = "foreign-connections.txt"
# Beside the list: the number of active users, which the agent writes while JMeter runs them.
ACTIVE_USERS_NAME = "active-users.txt"
# Beside the list: the number of arrivals of an open load that were left out.
_LEFT_OUT_NAME = "left-out-arrivals.txt"
_HEAD = "allowed: "
# The agent writes at most this number of lines.
_LINES_MOST = 1000
_ADDRESSES_SHOWN = 3
_TODO = "move the checkout to another folder"


def allowed_connections(target: Target, hosts: Sequence[str], generators: Sequence[str] = ()) -> tuple[str, ...]:
    """Return host:port of each allowed address except those of this machine; port 0 is any port.

    `hosts` are those of the plan's [allow]; `generators` are allowed at every port.
    """
    entries = [_entry(target.host, target.port), *(_entry(host, 0) for host in generators)]
    for text in hosts:
        parts = urlsplit(text if "://" in text else f"//{text}")
        entries.append(_entry(plain_host(parts.hostname or ""), parts.port or 0))
    return tuple(dict.fromkeys(entries))


def agent_argument(agent: Path, listed: Path, allowed: Sequence[str] = ()) -> str:
    """Return the JVM argument that restricts a JVM to these addresses; a load generator receives them with each run.

    The agent writes its list to `listed`.
    """
    return f"-javaagent:{agent}={listed}={','.join(allowed)}"


def agent_option(agent: Path, listed: Path, allowed: Sequence[str]) -> str:
    """Return `agent_argument` as an option of JDK_JAVA_OPTIONS; UsageError for paths that Java cannot read there."""
    if "=" in str(agent):
        raise UsageError(f"{agent.parent}: Java cannot load its agent from a folder with = in its path", _TODO)
    return _quoted(agent_argument(agent, listed, allowed), agent.parent)


def sampler_option(classes: Path | None) -> str:
    """Return the option of JDK_JAVA_OPTIONS for the lean HTTP sampler; empty without its classes."""
    return _quoted(f"-Dharness.sampler={classes}", classes) if classes else ""


def _quoted(argument: str, folder: Path) -> str:
    if '"' not in argument:
        return f'"{argument}"'
    if "'" in argument:
        raise UsageError(f"{folder}: Java cannot read a path with both kinds of quotation marks", _TODO)
    return f"'{argument}'"


def take_list(listed: Path, directory: RunDirectory) -> int:
    """Move the agent's list into the run directory; one that cannot be stored is missing there.

    Return the number of arrivals of an open load that were left out.
    """
    copy = directory.path / FOREIGN_NAME
    left_out = listed.with_name(_LEFT_OUT_NAME)
    left_out_count = int(left_out.read_text() or 0) if left_out.is_file() else 0
    with contextlib.suppress(OSError):
        left_out.unlink(missing_ok=True)
        listed.with_name(ACTIVE_USERS_NAME).unlink(missing_ok=True)
        listed.with_name(SETTINGS_NAME).unlink(missing_ok=True)
        copy.unlink(missing_ok=True)
        if listed.is_file():
            _copy(listed, copy)
            listed.unlink()
        listed.parent.rmdir()
    return left_out_count


def _copy(listed: Path, copy: Path) -> None:
    try:
        copy.write_bytes(listed.read_bytes())
    except OSError:
        copy.unlink(missing_ok=True)  # a part of the list would look like the whole
        raise


def generator_connections(number: int) -> str:
    """Return the name of a load generator's file in the run directory."""
    return FOREIGN_NAME.replace(".txt", f"-{number}.txt")


def connection_reasons(directory: RunDirectory, allowed: Sequence[str], generator_count: int) -> tuple[str, ...]:
    """Return why the agents' files make a run invalid; a missing file counts only when there are samples.

    `generator_count` is the number of load generators that finished the run: a lost one leaves no file.
    """
    names = [FOREIGN_NAME, *(generator_connections(number + 1) for number in range(generator_count))]
    reasons: list[str] = []
    for path in (directory.path / name for name in names):
        if path.is_file():
            reasons += foreign_reasons(path.read_text(errors="replace"), allowed)
        elif directory.samples.is_file():
            reasons.append(f"JMeter ran without the agent that watches its connections: {path.name} is missing")
    return tuple(reasons)


def foreign_reasons(text: str, allowed: Sequence[str]) -> tuple[str, ...]:
    """Return why the agent's file makes a run invalid: attempts to reach other hosts."""
    counts = Counter(line for line in text.splitlines() if not line.startswith(_HEAD))
    if not counts:
        return ()
    shown = ", ".join(f"{address} ({count}×)" for address, count in counts.most_common(_ADDRESSES_SHOWN))
    more = f" and {len(counts) - _ADDRESSES_SHOWN} more" if len(counts) > _ADDRESSES_SHOWN else ""
    attempts = units.plural(counts.total(), "connection")
    least = "at least " if counts.total() >= _LINES_MOST else ""
    refused = f"{least}{attempts} to hosts that are not allowed were refused: {shown}{more}"
    return (f"{refused}; allowed: {', '.join(allowed)}",)


def _entry(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
