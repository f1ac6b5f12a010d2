"""Finds the cause of an error: its message without the parts that differ between errors of the same cause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LENGTH_MAX = 200
# JMeter's message of a request that got no answer: an assertion about the answer says nothing then.
NO_ANSWER_MESSAGE = "Non HTTP response message:"
# Ids, memory addresses, ports, times.
_ID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b(?=[a-f]*[0-9])[0-9a-f]{8,}\b|\d{4,}", re.I
)


class Cause(NamedTuple):
    """The cause of an error, and as an example the whole message that contains it; each is one line."""

    text: str
    example: str


def cause_of(failure: str, message: str) -> Cause:
    """Return the cause in the assertion's message; without an answer or an assertion, in the response's."""
    is_unanswered = message.startswith(NO_ANSWER_MESSAGE)
    text = " ".join((message if is_unanswered else failure or message).split())[:_LENGTH_MAX]
    return Cause(_ID.sub("…", text), text)


def with_their_causes(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets, and what is left of them in causes: pass-12345678 is pass-… there."""
    return tuple(dict.fromkeys(form for secret in secrets for form in (secret, cause_of(secret, "").text)))
