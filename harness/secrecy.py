"""What is a secret by its name, and texts without the secrets in them.

What stands in this project for all to see is none: a default in a JMX, and the [embedded] values of a plan, which are
those of a system started here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

MASK = "•••"
# Shorter ones stand in any text by chance.
LEAST_LENGTH = 4
# Where boto3 finds its keys.
AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_WORDS = frozenset(
    ("password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials", "apikey", "accesskey")
)
# A name that ends in one of these says something about a secret: token_url, password_file.
_ABOUT_IT = frozenset((
    "url", "uri", "path", "file", "name", "user", "username", "id", "type", "length", "count", "size", "limit",
    "header",
))  # fmt: skip
_PAIR = re.compile(r"""([A-Za-z][\w.-]*)["']?\s*[=:]\s*["']?([^\s"'&;,<>{}$]+)""")


def says_secret(name: str) -> bool:
    """Return whether a name is that of a secret: db_password, apiSecret, X-Okapi-Token, apiKey; not a mere key."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT_IT:
        return False
    return (words[-1] == "key" and len(words) > 1) or not _SECRET_WORDS.isdisjoint(words)


def secrets_in(text: str) -> tuple[str, ...]:
    """Return the values that stand in a text behind the name of a secret: …apiKey=value, "password": "value"."""
    return tuple(value for name, value in _PAIR.findall(text) if says_secret(name))


def spellings(value: str) -> set[str]:
    """Return how a value may stand in a file: as it is, in an address, in JSON, and each of these quoted in a JTL.

    Of a value of several lines, such as a private key, each line counts.
    """
    lines = [line for line in value.splitlines() if len(line) >= LEAST_LENGTH]
    plain = {
        text for line in lines for text in (line, quote(line, safe=""), json.dumps(line, ensure_ascii=False)[1:-1])
    }
    return plain | {text.replace('"', '""') for text in plain}


def masked(text: str, values: Iterable[str]) -> str:
    """Return the text with ••• in the place of every one of the values, however it is spelt."""
    every = {spelling for value in values for spelling in spellings(value)}
    for spelling in sorted(every, key=len, reverse=True):
        text = text.replace(spelling, MASK)
    return text


def masked_table(table: Mapping[str, Any], names: Iterable[str], values: Iterable[str]) -> dict[str, Any]:
    """Return the table with ••• for each of `names`, and in its texts in the place of the values."""
    hidden, values = frozenset(names), tuple(values)
    return {
        name: MASK if name in hidden else masked(value, values) if isinstance(value, str) else value
        for name, value in table.items()
    }


def secret_values(pairs: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Return the secrets in pairs of name and value that are long enough to be masked.

    A value is one by its name; and in a text of several settings each is one that has such a name.
    """
    found: list[str] = []
    for name, value in pairs:
        if isinstance(value, str):
            found += [value] if says_secret(name) else secrets_in(value)
    return tuple(dict.fromkeys(value for value in found if len(value) >= LEAST_LENGTH))
