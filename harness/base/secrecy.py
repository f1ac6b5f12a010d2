"""Recognises secrets by their names and removes them from texts.

Values that are public in this project are not secrets: defaults in a JMX, and the [embedded] values of a plan, which
belong to a system started here.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from harness.base.spellings import LEAST_LENGTH, MASK, Spellings

# The variables in which boto3 looks for its keys.
AWS_VARIABLES = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SECRET_WORDS = frozenset(
    ("password", "passwd", "pwd", "passphrase", "secret", "token", "credential", "credentials", "apikey", "accesskey")
)
# Endings of one-word names: PGPASSWORD, sslpassword, accesstoken.
_SECRET_ENDS = ("password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey")
# A name with one of these endings describes a secret but is not one: token_url, password_file.
_ABOUT_IT = frozenset((
    "url", "uri", "path", "file", "name", "user", "username", "id", "type", "length", "count", "size", "limit",
    "header",
))  # fmt: skip
# Keys of messages and settings, as in samplers of Kafka: messageKey, serializerKey, configKey.
_KEYED = frozenset(("config", "deserializer", "message", "partition", "routing", "serializer"))
_SECRET_HEADER = re.compile(r"(?:proxy-)?authorization|(?:set-)?cookie2?|x-(?:[\w-]+-)?auth(?:-[\w-]+)?", re.IGNORECASE)
# Words that occur in JSON, JTLs and logs. Masking them would break those files.
_COMMON_WORDS = frozenset(("true", "false", "null", "none", "undefined"))
_NAME = r"([A-Za-z][\w.-]*)"
# A value ends at a separator followed by another name, or at a character that a bare value cannot contain.
_PAIR = re.compile(
    _NAME + r"""["']?\s*[=:]\s*["']?((?:(?![&;,]\s*["']?[A-Za-z][\w.-]*["']?\s*[=:])[^\s"'<>{}$])+)""",
)
_TEXT = r"""(?:"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')"""
# name = "value", "name": "value", ("name", "value"), and name="value" as an attribute.
_QUOTED = (
    re.compile(_NAME + r"""["']?\s*(?:={1,2}|:)\s*""" + _TEXT),
    re.compile("""["']""" + _NAME + r"""["']\s*,\s*""" + _TEXT),
)
_ELEMENT = re.compile(r"<(?:\w+:)?([A-Za-z][\w.-]*)(?:\s[^<>]*)?>([^<>]+)</")
_QUERY = re.compile(r"""[?&;]([A-Za-z][\w.-]*)=([^\s"'&;#<>{}$]+)""")
_USER_INFO = re.compile(r"""://[^\s/"'@:<>{}$]*:([^\s/"'<>{}$]+)@""")
_ORACLE = re.compile(r"""jdbc:oracle:\w+:[^\s/"'@]+/([^\s"'@${}]+)@""")
_SCHEME = re.compile(r"\b(?:Bearer|Basic|Token)\s+([A-Za-z0-9+/._~-]{8,}={0,2})")
_SCHEMES = ("bearer", "basic", "digest", "token")
# A variable, or a text that a script concatenates.
_VARIABLE = re.compile(r"""\$\w+|.*(?:\$\{|["']\s*\+).*""", re.DOTALL)
_PROPERTY_LINE = re.compile(r"\s*([A-Za-z][\w.-]*)\s*[=:]\s*(.*?)\s*$")
_LEAST_COOKIE_LENGTH = 8
_BACKSLASHED = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


def is_secret_name(name: str) -> bool:
    """Return whether a name is that of a secret: db_password, apiSecret, X-Okapi-Token, apiKey; "key" alone is not."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT_IT:
        return False
    is_key = words[-1] == "key" and len(words) > 1 and words[-2] not in _KEYED
    return is_key or words[-1].endswith(_SECRET_ENDS) or not _SECRET_WORDS.isdisjoint(words)


def is_secret_header(name: str) -> bool:
    """Return whether a request header of this name is a secret: Authorization, Cookie, X-Auth-Token."""
    return is_secret_name(name) or _SECRET_HEADER.fullmatch(name) is not None


def is_common_word(value: str) -> bool:
    """Return whether a value is a word of JSON or of every JTL (true, null), which cannot be masked."""
    return value.lower() in _COMMON_WORDS


def secrets_in(text: str) -> tuple[str, ...]:
    """Return the secret values in settings, a URL or a request body, recognised by the name before them.

    Finds …apiKey=value, "password": "value", <password>value</password>, and what `secrets_in_code` finds.
    """
    pairs = [*_property_lines(text), *_PAIR.findall(text), *_ELEMENT.findall(text)]
    return _known((*(value for name, value in pairs if is_secret_name(name)), *_in_code(text)))


def secrets_in_code(text: str) -> tuple[str, ...]:
    """Return the secret values in a script: quoted texts after the name of a secret, and those within URLs."""
    return _known(_in_code(text))


def secrets_of_header(name: str, value: str) -> tuple[str, ...]:
    """Return the secrets of a request header; for basic authentication the base64 text and the password in it."""
    if "cookie" in name.lower() and _SECRET_HEADER.fullmatch(name):
        cookies = [part.strip().partition("=") for part in value.split(";")]
        return _known([value] + [v for n, _, v in cookies if is_secret_name(n) or len(v) >= _LEAST_COOKIE_LENGTH])
    if "authorization" in name.lower() and _SECRET_HEADER.fullmatch(name):  # the first word is the scheme
        rest = value.strip().rpartition(" ")[2]
        return () if rest.lower() in _SCHEMES else _known([rest, *_password_of_basic(rest)])
    return _known([value] if is_secret_header(name) else secrets_in(value))


def named_texts(text: str) -> Iterator[tuple[str, str]]:
    """Yield each value in a text with the name before it: in a form, settings, XML, quotes or a query."""
    for expression in (_PAIR, _ELEMENT, _QUERY, *_QUOTED):
        for match in expression.finditer(text):
            start = match.start(1)
            while start and text[start - 1] in "_[":
                start -= 1
            yield text[start : match.end(1)], next(filter(None, match.groups()[1:]), "")


def _in_code(text: str) -> Iterator[str]:
    for name, double, single in (found for expression in _QUOTED for found in expression.findall(text)):
        if is_secret_header(name):
            yield from secrets_of_header(name, double or single)
    yield from (value for name, value in _QUERY.findall(text) if is_secret_name(name))
    yield from _USER_INFO.findall(text)
    yield from _ORACLE.findall(text)
    for value in _SCHEME.findall(text):
        yield from (value, *_password_of_basic(value))


def _property_lines(text: str) -> list[tuple[str, str]]:
    """Return name and value of each line of a properties file, where a value extends to the end of its line."""
    lines = [line for line in text.splitlines() if line.strip() and line.strip()[0] not in "#!"]
    found = [match.groups() for line in lines if (match := _PROPERTY_LINE.match(line))]
    return [(name, value) for name, value in found] if len(found) == len(lines) > 1 else []


def _password_of_basic(value: str) -> list[str]:
    """Return the password in base64-encoded `user:password`; nothing for other values."""
    try:
        user, colon, password = base64.b64decode(value, validate=True).decode().partition(":")
    except ValueError:
        return []
    return [password] if colon and user.isprintable() and password.isprintable() else []


def _known(values: Iterable[str]) -> tuple[str, ...]:
    """Return each value once, both as written and unescaped; variables such as ${x} are left out."""
    found = (spelling for value in values if not _VARIABLE.fullmatch(value) for spelling in _plain(value))
    return tuple(dict.fromkeys(value for value in found if value))


def _plain(value: str) -> tuple[str, ...]:
    return value, unquote(value), html.unescape(value), _BACKSLASHED.sub(_unescaped, value)


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else _CONTROLS.get(match[2], match[2])


def masked(text: str, values: Iterable[str]) -> str:
    """Return the text with ••• in place of every value, in any spelling."""
    data = text.encode("utf-8", errors="surrogatepass")
    return Spellings(values).masked(data).decode("utf-8", errors="surrogatepass")


def masked_table(table: Mapping[str, Any], names: Iterable[str], values: Iterable[str]) -> dict[str, Any]:
    """Return the table with ••• for each of `names` and in place of the values in its texts."""
    hidden, values = frozenset(names), tuple(values)
    return {
        name: MASK if name in hidden else masked(value, values) if isinstance(value, str) else value
        for name, value in table.items()
    }


def secret_values(pairs: Iterable[tuple[str, object]]) -> tuple[str, ...]:
    """Return the secrets in pairs of name and value that are long enough to mask.

    A value is a secret by its own name. In a text with several settings, each value with a secret name is one.
    """
    secrets: list[str] = []
    for name, value in pairs:
        if isinstance(value, str):
            secrets += _plain(value) if is_secret_name(name) else secrets_in(value)
    return tuple(dict.fromkeys(v for v in secrets if len(v) >= LEAST_LENGTH and not is_common_word(v)))
