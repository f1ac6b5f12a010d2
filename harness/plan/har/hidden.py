"""Moves the secrets that no response gives out of the requests of a recorded plan, into its environment variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from harness.base.credentials import (
    Credential,
    credentials_in,
    credentials_of_header,
    credentials_of_path,
    looks_random,
    spellings_in,
)
from harness.base.spellings import LEAST_LENGTH
from harness.plan.har.correlation import Correlation, Typed, Use, add_typed
from harness.plan.har.steps import ORIGIN, Field, RecordedStep, Where

# Shorter texts occur in other values by chance.
_LEAST_REPEATED, _LEAST_USED = 8, 4


def add_secrets(steps: Sequence[RecordedStep], found: Correlation) -> None:
    """Add the secrets that the requests would send as they were recorded, wherever a request has them."""
    for number, step in enumerate(steps):
        for field in step.fields:
            for secret in secrets_of(step, field):
                if ORIGIN not in secret.value and not _is_replaced(secret.value, number, field, found):
                    _add(found, number, field, secret)
    known = [typed.value for typed in found.typed if typed.is_secret and len(typed.value) >= _LEAST_REPEATED]
    for typed in [one for one in found.typed if not one.is_secret and any(value in one.value for value in known)]:
        del found.typed[typed]
    for number, step in enumerate(steps):
        for field in step.fields:
            for value in known:
                if value in field.text and not field.file and not _is_replaced(value, number, field, found):
                    _add(found, number, field, Credential("", value))
    secrets = [use for typed, uses in found.typed.items() if typed.is_secret for use in uses]
    found.unexplained[:] = [
        field for field in found.unexplained
        if not any(use.step == field.step and (use.text in field.value or field.value in use.text) for use in secrets)
    ]  # fmt: skip


def secrets_of(step: RecordedStep, one: Field) -> Iterator[Credential]:
    """Yield the secrets that a field of a step has; an upload is a file, and has none."""
    if one.file:
        return
    if one.where is Where.HEADER:
        yield from credentials_of_header(one.name, one.text)
    elif one.where is Where.PATH:
        before = step.path.split("/")[int(one.name)]
        yield from credentials_of_path(before, one.text)
    else:
        yield from credentials_in(one.name.partition("#")[0], one.text)


def _is_replaced(value: str, number: int, one: Field, found: Correlation) -> bool:
    """Return whether what the request replaces has a value, or all of it that is random."""
    texts = [use.text for use in found.uses() if use.step == number and use.key == one.key]
    if any(value in text or spelled in text for text in texts for spelled in spellings_in(one.text, value)):
        return True
    rest = value
    for text in sorted(texts, key=len, reverse=True):
        rest = rest.replace(text, "") if len(text) >= _LEAST_USED else rest
    return rest != value and len(rest) <= len(value) // 2 and not looks_random(rest)


def _add(found: Correlation, number: int, one: Field, secret: Credential) -> None:
    column = re.sub(r"\W+", "_", secret.name, flags=re.ASCII).strip("_").lower() or "secret"
    for spelled in spellings_in(one.text, secret.value):
        if len(spelled) >= LEAST_LENGTH:
            add_typed(found, number, one, Typed(column, spelled, True))
            uses = next(uses for typed, uses in found.typed.items() if typed.is_secret and typed.value == spelled)
            uses[-1] = Use(*uses[-1][:-1], is_part=spelled != one.text)
