"""The message about a nightly run or an A/B test, and the JSON that each chat expects of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from harness.base.plain_text import CONTROL

# A chat shows the first lines of a message; the report has the rest.
_LINE_MOST = 300
# Invisible: Mattermost takes @name for a mention.
_WORD_JOINER = "\u2060"
# What ends a line for some reader, turns the direction of a text, or is half a character.
_CONTROL = re.compile(rf"(?:[\t\n]|{CONTROL.pattern})+")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


@dataclass(frozen=True)
class Message:
    """A title with the verdict, up to four lines, and the link of the report: an http address, or a path."""

    title: str
    lines: tuple[str, ...]
    link: str

    @property
    def has_address(self) -> bool:
        """Whether the report can be opened from elsewhere."""
        return self.link.startswith(("http://", "https://"))

    @property
    def texts(self) -> tuple[str, ...]:
        """The title and the lines, each on one line of at most 300 characters."""
        return tuple(_cut(text) for text in (self.title, *self.lines) if text)


def plain_text(message: Message) -> str:
    """Return the message as text, as a mail has it."""
    return "\n".join((*message.texts, f"report: {_CONTROL.sub(' ', message.link)}")) + "\n"


def slack(message: Message) -> dict[str, Any]:
    """Return the JSON for an incoming webhook of Slack."""
    title, *lines = map(_for_slack, message.texts)
    address = _for_slack(message.link)
    report = f"<{address}|report>" if message.has_address else f"report: {address}"
    return {"text": "\n".join((f"*{title}*", *lines, report))}


def mattermost(message: Message) -> dict[str, Any]:
    """Return the JSON for an incoming webhook of Mattermost, whose text is Markdown."""
    title, *lines = map(_for_markdown, message.texts)
    report = f"[report](<{message.link}>)" if message.has_address else f"report: {_for_markdown(message.link)}"
    return {"text": "\n".join((f"**{title}**", *lines, report))}


def teams(message: Message) -> dict[str, Any]:
    """Return the JSON for a workflow of Microsoft Teams: a message with one Adaptive Card.

    learn.microsoft.com, "Create Incoming Webhooks with Workflows"; adaptivecards.io, version 1.4.
    """
    title, *lines = message.texts
    body: list[dict[str, Any]] = [_block(title, weight="Bolder", size="Medium"), *map(_block, lines)]
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if message.has_address:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Report", "url": message.link}]
    else:
        body.append(_block(f"report: {message.link}"))
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


# The chats that [notify] knows. To add one, write a function that makes its JSON, and add it here.
CHATS: Mapping[str, Callable[[Message], dict[str, Any]]] = {"mattermost": mattermost, "slack": slack, "teams": teams}


def _block(text: str, **style: str) -> dict[str, Any]:
    # The only Markdown of a card that does something is a link.
    return {"type": "TextBlock", "text": text.replace("](", f"]{_WORD_JOINER}("), "wrap": True, **style}


def _cut(text: str) -> str:
    line = _CONTROL.sub(" ", text).strip()
    return line if len(line) <= _LINE_MOST else f"{line[: _LINE_MOST - 1].rstrip()}…"


def _for_slack(text: str) -> str:
    """Return text in which nothing is a mention or a link: docs.slack.dev, "Formatting message text"."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _for_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text).replace("@", f"@{_WORD_JOINER}")
