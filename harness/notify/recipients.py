"""Finds the addresses and passwords of [notify] in the environment, and the address of the report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from harness.base.errors import UsageError
from harness.notify.channels import Channel, Mail, Webhook
from harness.notify.settings import NotifySettings, variable_name

_GITHUB_RUN = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")
_REPORT = "{report}"
_VISIBLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class Recipients:
    """Who gets messages, and when. `unset` has one sentence for each channel whose variable has no value.

    `link` is the address of a report, with {report} for its path; empty when only its path is known.
    """

    when: str
    link: str
    channels: tuple[Channel, ...]
    unset: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Who gets messages, and when, as one line."""
        names = [*(channel.name for channel in self.channels), *self.unset]
        return f"result to: {', '.join(names)} (when = {self.when})"

    def link_to(self, report: str, path: str) -> str:
        """Return the address of a report such as nightly/2026-11-21, or the path of its file."""
        return self.link.replace(_REPORT, quote(report)) or path


def recipients_of(settings: NotifySettings, environment: Mapping[str, str], where: str) -> Recipients:
    """Return the recipients with their secrets. UsageError, which never shows a value, when one is no address.

    A variable without a value is no error: a suite is shared by machines that have the secrets and others.
    """
    channels: list[Channel] = []
    unset = []
    for chat, variable in settings.chats:
        address = environment.get(variable, "").strip()
        if not address:
            unset.append(f"{chat}: {variable} is not set")
        elif not _is_address(address):
            todo = f"set it to that of the webhook of {chat}"
            raise UsageError(f"{where} [notify]: {variable} is not an http address", todo)
        else:
            channels.append(Webhook(chat, variable, address))
    if mail := settings.mail:
        user_name = variable_name(mail.user)
        missing = [name for name in (user_name, mail.password_name) if name and not environment.get(name)]
        if missing:
            unset.append(f"mail: {', '.join(missing)} is not set")
        else:
            user = environment[user_name] if user_name else mail.user
            channels.append(Mail(mail, user, environment[mail.password_name] if mail.password_name else ""))
    return Recipients(settings.when, settings.link or job_address(environment), tuple(channels), tuple(unset))


def job_address(environment: Mapping[str, str]) -> str:
    """Return the address of the CI job that this is, of GitHub, GitLab or Jenkins; empty outside of them."""
    github = github_run(environment)
    return github or environment.get("CI_JOB_URL", "") or environment.get("BUILD_URL", "")


def github_run(environment: Mapping[str, str]) -> str:
    """Return the address of the workflow run of GitHub Actions that this is; empty outside of one."""
    server, repository, run = (environment.get(name, "") for name in _GITHUB_RUN)
    return f"{server}/{repository}/actions/runs/{run}" if server and repository and run else ""


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and _VISIBLE.fullmatch(text) is not None
    except ValueError:
        return False
