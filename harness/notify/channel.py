"""Defines what a way to send messages is, and how it reports that one was not delivered."""

from __future__ import annotations

from typing import Protocol

from harness.notify.message import Message

# Four attempts with their waits end before the limit of a delivery.
ATTEMPT_S = 6.0


class Channel(Protocol):
    """One way to send messages, such as the webhook of a chat. `name` is what texts call it."""

    @property
    def name(self) -> str:
        """What texts call it: slack, mail."""

    def send(self, message: Message) -> None:
        """Send a message, in one attempt. BusyError when the next attempt can succeed, another HarnessError when not.

        The text of an error contains no secret.
        """
