"""Reads [notify] of a suite or a profile: who gets the result of a nightly run or an A/B test, and when."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from harness.base.config import did_you_mean
from harness.base.errors import UsageError
from harness.base.machine_credentials import check_variables
from harness.base.tables import read_table, toml_key
from harness.notify.message import CHATS

ALWAYS, WORSE, CHANGED = "always", "worse", "changed"
WHEN = (ALWAYS, WORSE, CHANGED)
STARTTLS, TLS, NO_TLS = "starttls", "tls", "none"
_PORTS: Mapping[str, int] = {STARTTLS: 587, TLS: 465, NO_TLS: 25}
_EXAMPLES: Mapping[str, str] = {
    "to": '["team@example.org"]',
    "from": '"load-tests@example.org"',
    "server": '"smtp.example.org:587"',
}
_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))", re.ASCII)
_ADDRESS = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")
_LINK = re.compile(r"https?://[^\s<>|]+")


@dataclass(frozen=True)
class MailSettings:
    """Mail by SMTP. `user` is a text, or $NAME of an environment variable; `password_name` is such a variable.

    `security` is starttls (the connection is encrypted before anything is sent), tls (from its first byte) or none.
    Without a login, user and password_name are empty.
    """

    to: tuple[str, ...]
    sender: str
    host: str
    port: int
    security: str
    user: str = ""
    password_name: str = ""


@dataclass(frozen=True)
class NotifySettings:
    """`when` is always, worse or changed; `link` the address of a report, with {report} for its path in reports/.

    `chats` are pairs of a chat and the environment variable with the address of its webhook.
    """

    when: str
    link: str
    chats: tuple[tuple[str, str], ...]
    mail: MailSettings | None


@dataclass(frozen=True)
class _MailTable:
    json_keys: ClassVar[Mapping[str, str]] = {"sender": "from"}

    to: str | tuple[str, ...] = toml_key(missing=f"to = {_EXAMPLES['to']}")
    sender: str = toml_key(missing=f"from = {_EXAMPLES['from']}")
    server: str = toml_key(missing=f"server = {_EXAMPLES['server']}")
    security: str | None = None
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True)
class _NotifyTable:
    spread: ClassVar[str] = "chats"

    when: str = WORSE
    link: str = ""
    mail: _MailTable | None = None
    chats: Mapping[str, str] = field(default_factory=dict, repr=False)


def requested(table: Mapping[str, Any] | None, profile: str) -> NotifySettings | None:
    """Return whom the table [notify] of a profile names; None without one."""
    return parse_notify(table, f"env/{profile}.toml [notify]")


def parse_notify(table: Mapping[str, Any] | None, where: str) -> NotifySettings | None:
    """Return the settings of a [notify] table; None without one. UsageError names the invalid key, never a secret."""
    if table is None:
        return None
    given = read_table(_NotifyTable, _hidden(table), where, dict.fromkeys(CHATS, str))
    if given.when not in WHEN:
        todo = f"{did_you_mean(given.when, WHEN)}there are: {', '.join(WHEN)}"
        raise UsageError(f"{where}: when = {given.when!r}", todo)
    if given.link and not _LINK.fullmatch(given.link):
        raise UsageError(
            f"{where}: link = {given.link!r}: not an http address", 'write link = "https://host/reports/{report}.html"'
        )
    chats = tuple((chat, _variable(given.chats[chat], where, chat)) for chat in CHATS if chat in given.chats)
    mail = _mail(given.mail, f"{where.removesuffix(']')}.mail]") if given.mail else None
    if not chats and mail is None:
        known = ", ".join((*CHATS, "mail"))
        raise UsageError(f"{where}: nobody to notify", f"add one of: {known}")
    return NotifySettings(given.when, given.link, chats, mail)


def variable_name(text: str) -> str:
    """Return NAME of $NAME or ${NAME}; empty for any other text."""
    match = _VARIABLE.fullmatch(text)
    return (match["braced"] or match["bare"]) if match else ""


def _hidden(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the table with secrets as texts, so that no error about their type prints them."""
    secrets = (*CHATS, "password")
    return {
        key: str(value) if key in secrets else _hidden(value) if isinstance(value, Mapping) else value
        for key, value in table.items()
    }


def _variable(value: str, where: str, key: str) -> str:
    name = variable_name(value)
    if not name:
        example = f"{key}_webhook".upper() if key in CHATS else "SMTP_PASSWORD"
        what = f"{where}: {key} must name an environment variable: its value is a secret, and this file is in git"
        raise UsageError(what, f'write {key} = "${example}", and set {example}')
    check_variables([name], f"{where} {key}")
    return name


def _mail(given: _MailTable, where: str) -> MailSettings:
    to = (given.to,) if isinstance(given.to, str) else given.to
    for key, addresses in (("to", to), ("from", (given.sender,))):
        for address in addresses:
            if not _ADDRESS.fullmatch(address):
                raise UsageError(f"{where}: {key} = {address!r}: not a mail address", f"write {_EXAMPLES[key]}")
    try:
        parts = urlsplit(f"//{given.server}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port == 0 or given.server != parts.netloc or "@" in given.server:
        raise UsageError(f"{where}: server is not host:port", f"write server = {_EXAMPLES['server']}")
    security = (TLS if port == _PORTS[TLS] else STARTTLS) if given.security is None else given.security
    if security not in _PORTS:
        todo = f"{did_you_mean(security, _PORTS)}there are: {', '.join(_PORTS)}"
        raise UsageError(f"{where}: security = {security!r}", todo)
    if bool(given.user) != bool(given.password):
        raise UsageError(f"{where}: user and password belong together", "give both, or none")
    password_name = _variable(given.password, where, "password") if given.password else ""
    if password_name and security == NO_TLS and not _is_here(host):
        raise UsageError(f"{where}: the password would be sent unencrypted", f'use security = "{STARTTLS}" or "{TLS}"')
    check_variables(filter(None, [variable_name(given.user)]), f"{where} user")
    return MailSettings(to, given.sender, host, port or _PORTS[security], security, given.user, password_name)


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
