"""Moves the secrets of a request, in its address, headers and body, into environment variables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from urllib.parse import unquote, unquote_plus, urlsplit

from harness.base.credentials import (
    Credential,
    credentials_in,
    credentials_of_header,
    credentials_of_path,
    spellings_in,
)
from harness.base.secrecy import secret_values, secrets_of_header
from harness.plan.adopt.adopt import secret_name
from harness.plan.adopt.curl import OneRequest
from harness.plan.jmx.headers import resolved, variables_in

# The place of a variable in a text in which secrets are looked for.
_READ = "\0"
# A shorter text may be in a longer word by chance.
_LEAST_LONG = 8
_FORM = re.compile(r"[^=&\s{}<>\"]+=[^&\s]*(?:&[^=&\s]+=[^&\s]*)*&?")


def without_secrets(
    request: OneRequest, prefix: str, secrets: dict[str, str], taken: Collection[str] = ()
) -> OneRequest:
    """Return a request that reads its secrets from environment variables; add these to `secrets`.

    `prefix` begins their names, and none of them is one of those `taken`.
    """

    def stored(key: str, value: str) -> str:
        known = next((variable for variable in secrets if secrets[variable] == value), "")
        variable = known or secret_name(prefix, key, {*secrets, *taken})
        secrets[variable] = value
        return variable

    def moved(text: str, found: Iterable[Credential], key: str = "") -> str:
        for secret in found:
            plain = resolved(text, lambda _: _READ)
            for spelled in () if _READ in secret.value else spellings_in(plain, secret.value):
                read = f"${{{stored(key or secret.name, spelled)}}}"
                text = read.join(_pattern(spelled.replace("$", "$$")).split(text))
        return text

    def header(name: str, text: str) -> str:
        value = resolved(text, lambda one: f"${one}")
        found = [*secrets_of_header(name, value), *(one.value for one in credentials_of_header(name, value))]
        if variables_in(text) or not secret_values(("password", secret) for secret in found):
            return text
        return f"${stored(f'{name}_header', value)}"  # as a whole

    body = request.body
    return replace(
        request,
        url=moved(request.url, _of_url(resolved(request.url, lambda _: _READ))),
        headers={name: header(name, text) for name, text in request.headers.items()},
        body=body if body is None else moved(body, _of_body(resolved(body, lambda _: _READ)), "secret"),
        form=tuple(
            (name, moved(text, list(credentials_in(name, resolved(text, lambda _: _READ)))))
            for name, text in request.form
        ),
    )


def _of_url(url: str) -> Iterator[Credential]:
    parts = urlsplit(url)
    before = ""
    for segment in parts.path.split("/"):
        yield from credentials_of_path(before, unquote(segment))
        before = unquote(segment)
    yield from _of_pairs(parts.query)


def _of_body(body: str) -> Iterator[Credential]:
    yield from _of_pairs(body) if _FORM.fullmatch(body) else credentials_in("", body)


def _of_pairs(text: str) -> Iterator[Credential]:
    """Yield the secrets of a form or a query."""
    for name, _, value in (pair.partition("=") for pair in text.split("&") if pair):
        yield from credentials_in(unquote_plus(name), unquote_plus(value))


def _pattern(text: str) -> re.Pattern[str]:
    """Return what finds a secret, but not within a longer word or the name of a variable."""
    is_short = len(text) < _LEAST_LONG
    start = r"(?:(?<!\w)|(?<=%[0-9A-Fa-f]{2}))" if is_short and text[0].isalnum() else ""
    end = r"(?!\w)" if is_short and text[-1].isalnum() else ""
    return re.compile(rf"(?<!\$)(?<!\$\{{){start}{re.escape(text)}{end}")
