"""Decides which systems may be loaded: this machine's own, and those in a profile's `allowed_targets`.

A name other than localhost never counts as this machine, even if it resolves to it: the name may resolve differently
when JMeter looks it up.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from harness.base.errors import UsageError
from harness.base.project import FILE_NAME, PACKAGE
from harness.plan.jmx.addresses import PORTS
from harness.plan.spec import HTTP, Profile, Target, plain_host

# The name of a host, or an IPv4 address.
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")
_SUBDOMAINS = "*."
_TODO = 'write, for example, "https://okapi.example.org", "10.0.0.5:8080" or "*.staging.example.org"'
# Such as co.uk: domains below it belong to different owners.
_SHARED = re.compile(r"(ac|co|com|edu|go|gob|gouv|gov|id|ltd|me|mil|ne|net|nom|or|org|plc|sch)\.[a-z]{2}")
_NAME = re.compile(r"(?i)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*")


@dataclass(frozen=True)
class AllowedTarget:
    """One entry. `scheme` and `port` None match anything; a host that begins with `*.` means all its subdomains."""

    scheme: str | None
    host: str
    port: int | None

    def admits(self, target: Target) -> bool:
        """Return whether the entry matches this target."""
        return self.covers(AllowedTarget(target.scheme, plain_host(target.host), target.port))

    def covers(self, other: AllowedTarget) -> bool:
        """Return whether the entry allows everything that another entry allows."""
        is_host = other.host.endswith(self.host[1:]) if self.host.startswith(_SUBDOMAINS) else other.host == self.host
        return is_host and self.scheme in (None, other.scheme) and self.port in (None, other.port)


def check_allowed(target: Target, profile: Profile) -> None:
    """Raise a UsageError unless the target is on this machine or the profile allows it; also for a bad entry."""
    where = f"env/{profile.name}.toml"
    allowed = [parse_allowed(text, where) for text in profile.allowed_targets]
    if is_loopback(target.host) or any(entry.admits(target) for entry in allowed):
        return
    there, entry = ", ".join(profile.allowed_targets), f'"{target.origin}"'
    if profile.path and profile.path.is_relative_to(PACKAGE):  # one that is shipped with an installed tool
        todo = f"if you may load it, write a line such as staging = {entry} below [targets] in {FILE_NAME}"
        raise UsageError(
            f"--target={target.url}: {target.host} is not this machine, and {FILE_NAME} does not list it", todo
        )
    todo = f"write allowed_targets = [{entry}] there, above the first [table], or choose an --env that allows it"
    todo = f"if you may load it, {f'add {entry} to allowed_targets there' if there else todo}"
    what = f"--target={target.url}: {target.host} is not this machine, and {where} allows {there or 'no other'}"
    raise UsageError(what, todo)


def check_hosts(hosts: Sequence[str], plan_name: str, profile: Profile) -> None:
    """Raise a UsageError unless each host in a plan's [allow] is on this machine or allowed by the profile."""
    where, plan_where = f"env/{profile.name}.toml", f"plans/{plan_name}.toml [allow] hosts"
    allowed = [parse_allowed(text, where) for text in profile.allowed_targets]
    for text in hosts:
        host = parse_allowed(text, plan_where, "hosts")
        if host.host.startswith(_SUBDOMAINS):
            raise UsageError(f"{plan_where} has {text!r}: not one host", 'write, for example, "api.example.org:443"')
        if not is_loopback(host.host) and not any(entry.covers(host) for entry in allowed):
            what = f"{plan_where} has {text!r}: {host.host} is not this machine, and {where} does not allow it"
            raise UsageError(what, f'if you may load it, add "{text}" to allowed_targets there')


def is_loopback(host: str) -> bool:
    """Return whether a host is certainly this machine: localhost, an address 127.x.x.x, or ::1."""
    address = ip_address(host)
    return address.is_loopback if address else plain_host(host) == "localhost"


def parse_allowed(text: str, where: str, key: str = "allowed_targets") -> AllowedTarget:
    """Return an entry of `allowed_targets` or another key. UsageError, naming `where`, for an invalid one."""
    what = f"{where}: {key} has {text!r}"
    has_scheme = "://" in text
    try:
        parts = urlsplit(text if has_scheme else f"//{text}")
        port, host = parts.port, plain_host(parts.hostname or "")
    except ValueError as error:
        raise UsageError(f"{what}: {error}", _TODO) from None
    if parts.username is not None or parts.path.strip("/") or parts.query or parts.fragment:
        raise UsageError(f"{what}: only scheme, host and port can be named", _TODO)
    if has_scheme and parts.scheme not in (*HTTP, *PORTS):
        raise UsageError(f"{what}: not http, https, or one of {', '.join(PORTS)}", _TODO)
    # A top-level domain, or one such as co.uk, has many owners.
    name = host.removeprefix(_SUBDOMAINS)
    is_too_wide = name != host and ("." not in name or _SHARED.fullmatch(name))
    if not ip_address(host) and (not _NAME.fullmatch(name) or is_too_wide):
        raise UsageError(f"{what}: not a host", _TODO)
    return AllowedTarget(parts.scheme or None, host, port)


def ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the IP address that a host is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def check_reach(others: Sequence[str], target: Target | None) -> None:
    """Raise UsageError when generators on `others`, which are no names of this machine, would use its own loopback."""
    if not others:
        return
    if target is None:
        what = f"{others[0]} cannot reach the system that is started here: it listens on 127.0.0.1 only"
        raise UsageError(what, "give --target=http://host:port of a system that all generators can reach")
    if is_loopback(target.host):
        what = f"--target={target.url} is a different system on {others[0]} than on this machine"
        raise UsageError(what, "give the name or address at which all generators reach it")
