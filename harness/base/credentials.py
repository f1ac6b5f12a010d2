"""Recognises the secrets in what a request sends: by the name of a field, and by their shape under any name."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from harness.base.secrecy import is_common_word, is_secret_name, named_texts, secrets_of_header
from harness.base.spellings import LEAST_LENGTH

# Secrets of one word that `is_secret_name` does not know, and such of several words.
_ALWAYS = frozenset(("otp", "totp", "pin", "passcode", "cvv", "cvc", "jwt", "bearer"))
_CODES = frozenset((
    "auth", "security", "verification", "mfa", "otp", "totp", "sms", "time", "backup", "recovery", "factor", "reset",
    "device", "login", "activation", "2fa",
))  # fmt: skip
# Keys that are secrets whatever their value is; others are when it is random.
_KEYS = frozenset((
    "api", "access", "secret", "private", "auth", "client", "subscription", "app", "application", "license", "service",
    "encryption", "signing", "master", "account", "storage", "consumer", "admin", "shared", "security",
))  # fmt: skip
# What has a random value under these names is one: session=, sid=, signature=.
_SESSIONS = frozenset((
    "session", "sessions", "sess", "sid", "ssid", "sessid", "sessionid", "jsessionid", "phpsessid", "aspsessionid",
))  # fmt: skip
_TOKENS = frozenset((
    "key", "keys", "tokens", "auth", "ticket", "sig", "signature", "hmac", "assertion", "saml", "access", "refresh",
    "code", "cookie", "credential", "license", "passwords", "secrets",
))  # fmt: skip
# A random segment of a path below one of these lets in who has the link.
_LINKS = frozenset((
    "verify", "verification", "confirm", "confirmation", "activate", "activation", "invite", "invites", "invitation",
    "invitations", "reset", "recover", "magic", "unsubscribe", "login", "signin", "auth", "callback", "share", "shared",
    "hook", "hooks", "webhook", "webhooks",
))  # fmt: skip
# Values of the page or of the resource, not of the user: against forgery, for the next page, of a record or a cache.
_HARMLESS = re.compile(
    r"(?i)csrf|xsrf|authenticity|anti-?forgery|request_?verification|viewstate|eventvalidation|nonce|sess_?key|"
    r"(?:^|[\[.])_{1,2}token\]?$|form_?(?:token|key|build)|idempotency|captcha|"
    r"(?:next|prev|previous|page|pagination|continuation|sync|resume|cursor|scroll)[_-]?token|"
    r"(?:public|publishable|sort|primary|foreign|partition|cache|site|object|map|hash|row|group|index|issue|project)"
    r"[_-]?keys?$|^state$|code[_-]?(?:challenge|verifier)"
)
# A name that ends so describes a secret.
_DESCRIBES = frozenset((
    "expire", "expires", "expiry", "expiration", "issued", "changed", "created", "updated", "policy", "strength",
    "hint", "required", "enabled", "version", "status", "method", "format", "endpoint", "issuer", "algorithm", "at",
    "in", "on",
    "date", "time", "ttl", "age", "scope", "label", "prefix", "state", "mode", "kind",
))  # fmt: skip
_SHAPE = re.compile(
    r"(?<![\w-])(?:"
    r"eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*(?:\.[\w-]+\.[\w-]+)?"  # JWT
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)"
    r"|gh[pousr]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|npm_\w{36}|hvs\.[\w-]{20,}"
    r"|xox[abeprs]-[\w-]{10,}|[sr]k_(?:live|test)_\w{8,}|sk-(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{20,}"
    r"|AIza[\w-]{35}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|v[1-4]\.(?:local|public)\.[\w-]{20,}"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    re.DOTALL,
)
_USER_INFO = re.compile(r"://[^\s/\"'@:<>{}$]*:([^\s/\"'@<>{}$]+)@")
_SCHEME = re.compile(r"\b(?:Bearer|Basic|Token)[ +]+([A-Za-z0-9+/._~-]{8,}={0,2})", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"(?i)([a-z][\w-]*)\s+(\S.*)")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d[a-z]+")
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PLAIN = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ].*)?"  # a date
    r"|v?\d+(?:\.\d+)+(?:[-+][\w.+-]*)?"  # a version
    r"|https?://.*|/.*|[^@\s]+@[^@\s]+\.\w+|[\d.,:+-]+",
    re.DOTALL,
)
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_.~%:|-]+")
_STRUCTURED = re.compile(r"\s*(?:[<{\[]|(?:query|mutation|subscription)\b|[\w.\[\]-]+=\S*$|--)")
_LEAST_RANDOM, _LEAST_CODE = 16, 20
_CHANGES_PER = 8
_DEPTH_MOST = 4
# A text of a person may have the word before a value by chance; a random one has it for a reason.
_WORDS_MOST = 200_000


class Credential(NamedTuple):
    """A secret with the name of what has it."""

    name: str
    value: str


def looks_random(value: str) -> bool:
    """Return whether a value looks like one that a program made: it is long and no word, date, number or version."""
    if len(value) < _LEAST_RANDOM or not _OPAQUE.fullmatch(value) or _PLAIN.fullmatch(value):
        return False
    if UUID.fullmatch(value):
        return True
    kinds = [2 if one.isdigit() else int(one.isupper()) for one in value if one.isalnum()]
    changes = sum(a != b for a, b in pairwise(kinds))
    letters = [one for one in value.lower() if one.isalpha()]
    vowels = sum(one in "aeiouy" for one in letters)
    has_no_words = len(letters) >= _LEAST_RANDOM and vowels < len(letters) / 5
    return changes > max(3, len(value) / _CHANGES_PER) or has_no_words


def is_credential(name: str, value: str) -> bool:
    """Return whether a whole value of a field is a secret."""
    if len(value) < LEAST_LENGTH or is_common_word(value):
        return False
    if _SHAPE.fullmatch(value):
        return True
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _DESCRIBES or _HARMLESS.search(name) or re.match(r"\d{4}-\d\d-\d\d", value):
        return False
    if words[-1] == "key":
        return not _KEYS.isdisjoint(words) or (looks_random(value) and not UUID.fullmatch(value))
    if words[-1] == "code" and len(words) > 1:
        return not _CODES.isdisjoint(words[:-1]) or "2fa" in name.lower()
    if not _ALWAYS.isdisjoint(words) or is_secret_name(name):
        return True
    if not _SESSIONS.isdisjoint(words):
        return looks_random(value)
    is_token = not _TOKENS.isdisjoint(words) and not UUID.fullmatch(value) and looks_random(value)
    return is_token and (words[-1] != "code" or len(value) >= _LEAST_CODE)


def credentials_in(name: str, text: str, depth: int = 0) -> Iterator[Credential]:
    """Yield the secrets of a field: its whole text, or those within JSON, XML, GraphQL, a form, a URL or a sentence."""
    if is_credential(name, text):
        yield Credential(name, text)
        return
    leaves = list(_leaves(text)) if depth < _DEPTH_MOST and text.lstrip()[:1] in ("{", "[") else []
    for key, leaf in leaves:
        yield from credentials_in(key, leaf, depth + 1)
    is_structured = bool(_STRUCTURED.match(text)) or "?" in text
    for key, value in () if leaves else named_texts(_CDATA.sub("", text[:_WORDS_MOST])):
        if is_credential(key, value) and (is_structured or looks_random(value)):
            yield Credential(key, value)
    yield from (Credential(name, found[0]) for found in _SHAPE.finditer(text))
    yield from (Credential(name or "password", value) for value in _USER_INFO.findall(text))
    for value in _SCHEME.findall(text):
        if looks_random(value) or len(secrets_of_header("Authorization", f"Basic {value}")) > 1:
            yield Credential(name or "authorization", value)


def credentials_of_header(name: str, value: str) -> Iterator[Credential]:
    """Yield the secrets of a header, without the scheme of its authorization."""
    if "authorization" in name.lower():
        found = _AUTHORIZATION.fullmatch(value.strip())
        secret = found[2] if found else value.strip()
        if len(secret) >= LEAST_LENGTH:
            yield Credential(name, secret)
    elif "cookie" in name.lower():
        for cookie in value.split(";"):
            key, _, text = cookie.strip().partition("=")
            if is_credential(key, text) or looks_random(text):
                yield Credential(key, text)
    elif re.fullmatch(r"(?i)x-(?:[\w-]+-)?auth(?:-[\w-]+)?", name) and len(value) >= LEAST_LENGTH:
        yield Credential(name, value)
    else:
        yield from credentials_in(name, value)


def credentials_of_path(before: str, segment: str) -> Iterator[Credential]:
    """Yield the secrets in a segment of a path; `before` is the segment before it, as in /token/VALUE.

    What the name of a route has by chance (/password/change), and ids of resources, are none.
    """
    is_link = not _LINKS.isdisjoint(word.lower() for word in _WORD.findall(before))
    if looks_random(segment) and not UUID.fullmatch(segment) and (is_link or is_credential(before, segment)):
        yield Credential(before, segment)
        return
    yield from credentials_in("", segment)


def spellings_in(text: str, value: str) -> list[str]:
    """Return how a text writes a value: as it is, or escaped for JSON, once or twice, for a URL or for XML."""
    once = json.dumps(value)[1:-1]
    forms = (value, once, json.dumps(value, ensure_ascii=False)[1:-1], once.replace("/", "\\/"), json.dumps(once)[1:-1],
             quote(value, safe=""), quote(value), quote_plus(value), html.escape(value))  # fmt: skip
    return [form for form in dict.fromkeys(forms) if form in text]


def without_credentials(text: str) -> str:
    """Return a text of people, such as a title, with … in place of what looks like a secret."""
    text = _SHAPE.sub("…", text)
    return re.sub(r"\S{16,}", lambda found: "…" if looks_random(found[0]) else found[0], text)


def _leaves(text: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of each leaf of a JSON text; of {"name": "otp", "value": …} it is otp."""
    try:
        data = json.loads(text, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return
    stack: list[tuple[str, object]] = [("", data)]
    while stack:
        name, value = stack.pop()
        if isinstance(value, list) and value and all(isinstance(one, tuple) for one in value):
            own = {key: one for key, one in value if isinstance(one, str)}
            said = next((own[key] for key in ("name", "key", "field", "type") if key in own), name)
            stack += [(said if key == "value" else key, one) for key, one in value]
        elif isinstance(value, list):
            stack += [(name, one) for one in value]
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            yield name, str(value)
