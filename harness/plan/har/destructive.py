"""Finds the requests of a recording that remove, replace, pay or send: a replay asks before it repeats them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from harness.plan.har.steps import Field, RecordedStep, Where, json_leaves

_METHODS = ("PUT", "PATCH", "DELETE")
_REMOVES = frozenset((
    "delete", "remove", "destroy", "purge", "drop", "wipe", "erase", "truncate", "unsubscribe", "deactivate",
    "terminate", "uninstall", "trash", "discard", "unpublish",
))  # fmt: skip
# A POST with one of these changes what exists, or something outside of the application: money, mail.
_CHANGES = _REMOVES | frozenset((
    "update", "edit", "change", "modify", "replace", "overwrite", "rename", "cancel", "revoke", "disable",
    "archive", "reset", "clear", "close", "pay", "payment", "payments", "checkout", "charge", "refund", "transfer",
    "withdraw", "purchase", "buy", "send", "invite", "publish", "approve", "reject",
))  # fmt: skip
_ACTIONS = re.compile(r"(?i)_?method|action|op|operation|do|cmd|command|task|x-http-method(?:-override)?|soapaction")
_MUTATION = re.compile(r"\s*(?:#[^\n]*\n\s*)*mutation\b[^{]*\{\s*(?:\w+\s*:\s*)?(\w+)")
# Mutations that make something new, or log in.
_HARMLESS = re.compile(r"(?i)(?:create|add|insert|new|register|sign|log|auth|token|refresh)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def counts_of(steps: Sequence[RecordedStep]) -> Counter[str]:
    """Return how many requests of each method one pass sends; a redirect that is followed is a GET."""
    return Counter(
        step.method if number == 0 else call.method
        for step in steps
        for number, call in enumerate(step.answers)
        if number == 0 or step.follows
    )


def destructive_of(steps: Sequence[RecordedStep], labels: Sequence[str]) -> list[str]:
    """Return the labels of the steps that remove, replace, pay or send something."""
    return [label for step, label in zip(steps, labels, strict=True) if _is_destructive(step)]


def _is_destructive(step: RecordedStep) -> bool:
    if step.method in _METHODS:
        return True
    wanted = _CHANGES if step.method == "POST" else _REMOVES
    return not wanted.isdisjoint(_words_of(step)) or any(_is_changing_mutation(one) for one in step.fields)


def _words_of(step: RecordedStep) -> Iterator[str]:
    """Yield the words of what a step does: of its path, of fields that name an action, and of its button."""
    texts = [unquote(step.path), *(one.text for one in step.fields if _ACTIONS.fullmatch(one.name))]
    texts += [one.name for one in step.fields if one.where is Where.FORM and one.name.startswith("_")]
    if step.method == "POST":
        texts.append(step.title)
    for one in step.fields:
        if one.where is Where.BODY:
            texts += [str(value) for path, value in json_leaves(one.text) if path and _ACTIONS.fullmatch(str(path[-1]))]
    yield from (word.lower() for text in texts for word in _WORD.findall(text))


def _is_changing_mutation(one: Field) -> bool:
    """Return whether a GraphQL request changes what exists; one that only makes something new is like another POST."""
    texts = [one.text] if one.where in (Where.FORM, Where.QUERY, Where.BODY) else []
    texts += [str(value) for path, value in json_leaves(one.text) if path and path[-1] == "query"] if texts else []
    return any((found := _MUTATION.match(text)) and not _HARMLESS.match(found[1]) for text in texts)
