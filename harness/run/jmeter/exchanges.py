"""Reads the requests and responses that the agent in JMeter stores, and masks the secrets in them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from harness.base.records import build, to_plain
from harness.base.secrecy import is_secret_name, secret_values, secrets_in, secrets_in_code, secrets_of_header
from harness.base.spellings import Spellings
from harness.base.strict_json import parse
from harness.base.units import plural
from harness.metrics.figures import cause_of
from harness.metrics.tally import ErrorKey

# The agent's file in the run directory, until secrets are masked: Exchanges.java.
RAW_NAME = ".exchanges.jsonl"
# The JVM options with which it stores failures, or every exchange; the last one counts.
STORE_FAILURES = "-Dharness.exchanges=failures"
STORE_ALL = "-Dharness.exchanges=all"
# The first failures of each cause that a run stores: MOST_PER_CAUSE in Exchanges.java, for each load generator.
MOST_PER_CAUSE = 3
# The causes that a run stores, MOST_CAUSES in Exchanges.java.
CAUSES_MOST = 50

# A Regular Expression Extractor's variable with everything that matched; the groups have variables of their own.
_WHOLE_MATCH = re.compile(r"_g0?$")
# The trace id in the header of a traced request.
_TRACE_ID = re.compile(r"^traceparent: *[0-9a-f]{2}-([0-9a-f]{32})-", re.IGNORECASE | re.MULTILINE)

Mask = Callable[[str], str]


class Assertion(NamedTuple):
    """The result of an assertion; in JSON a list."""

    name: str
    is_passed: bool
    message: str

    @classmethod
    def from_plain(cls, data: object, where: str) -> Assertion:
        """Return the assertion in a list; ValueError for another one."""
        return cls(*build(tuple[str, bool, str], data, where))


class Change(NamedTuple):
    """The value of a variable before and after a sample, None before it was set; in JSON a list."""

    before: str | None
    after: str

    @classmethod
    def from_plain(cls, data: object, where: str) -> Change:
        """Return the change in a list; ValueError for another one."""
        return cls(*build(tuple[str | None, str], data, where))


# The changed variables of a sample, by name.
Changes = Mapping[str, Change]


@dataclass(frozen=True)
class Exchange:
    """One sample of JMeter with its request and response.

    Texts are cut at 16,384 characters and end with … then; `request_characters` and `response_bytes` are the full
    sizes. `response_body` is None for binary data. `failure` is the message of the first failed assertion.
    `variables` are those that changed since the thread's last sample (only with STORE_ALL). `method` is empty for
    samples other than HTTP.
    """

    label: str
    thread: str
    start_ms: int
    elapsed_ms: int
    is_success: bool
    code: str
    message: str
    failure: str
    method: str
    url: str
    request_headers: str
    cookies: str
    request_body: str
    request_characters: int
    response_headers: str
    response_body: str | None
    response_bytes: int
    assertions: tuple[Assertion, ...] = ()
    variables: Changes | None = None

    @property
    def end_ms(self) -> int:
        """When the sample ended, ms since 1970."""
        return self.start_ms + self.elapsed_ms

    @property
    def trace_id(self) -> str:
        """The trace id of its traceparent header; empty without one."""
        found = _TRACE_ID.search(self.request_headers)
        return found[1] if found else ""

    @property
    def key(self) -> ErrorKey:
        """Its row in the report's table of errors."""
        return ErrorKey(self.label, self.code, cause_of(self.failure, self.message, self.code).text)


def parse_exchanges(text: str) -> tuple[Exchange, ...]:
    """Return the exchanges in the agent's file; a line that is not complete is left out, as after a kill."""
    exchanges = []
    for line in text.splitlines():
        with suppress(ValueError):
            exchanges.append(build(Exchange, parse(line.encode())))
    return tuple(exchanges)


def exchanges_text(exchanges: Iterable[Exchange]) -> str:
    """Return the exchanges as JSON lines, which `parse_exchanges` reads."""
    return "".join(json.dumps(to_plain(one), ensure_ascii=False) + "\n" for one in exchanges)


def first_of_each_cause(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return the earliest MOST_PER_CAUSE exchanges of the first CAUSES_MOST causes, of all load generators together."""
    counts = Counter[ErrorKey]()
    kept: list[Exchange] = []
    for exchange in sorted(exchanges, key=lambda one: one.start_ms):
        if counts[exchange.key] < MOST_PER_CAUSE and (exchange.key in counts or len(counts) < CAUSES_MOST):
            counts[exchange.key] += 1
            kept.append(exchange)
    return tuple(kept)


def joined_exchanges(parts: Iterable[tuple[str, Sequence[Exchange]]]) -> str:
    """Return the exchanges of several load generators as JSON lines; their threads are named with the generator."""
    named = (replace(one, thread=f"{name} {one.thread}") for name, stored in parts for one in stored)
    return exchanges_text(first_of_each_cause(named))


def progress_at(exchanges: Sequence[Exchange], stopped_ms: int) -> str:
    """Return which samples a stop at `stopped_ms` (ms since 1970) broke off, else the last one before it."""
    broken = [one for one in exchanges if one.start_ms < stopped_ms <= one.end_ms and not one.is_success]
    if broken:
        names = dict.fromkeys(f"{one.label} ({one.thread})" for one in broken)
        return f"{', '.join(names)} had not ended"
    before = [one for one in exchanges if one.end_ms < stopped_ms]
    if not before:
        return "no sample had ended"
    last = max(before, key=lambda one: one.end_ms)
    return f"after {plural(len(before), 'sample')}, the last of them {last.label} ({last.thread})"


def masked_exchanges(exchanges: Sequence[Exchange], hidden: Iterable[str]) -> tuple[Exchange, ...]:
    """Return the exchanges with ••• in place of every secret in any spelling.

    Secrets are the values `hidden`, and those that the exchanges name: in headers, cookies, addresses, bodies and
    variables, such as the token of a log-in. Each is masked wherever it occurs.
    """
    found = dict.fromkeys(value for one in exchanges for value in _named_secrets(one))
    spellings = Spellings([*hidden, *found])

    def mask(text: str) -> str:
        data = text.encode("utf-8", errors="surrogatepass")
        return spellings.masked(data).decode("utf-8", errors="replace") if spellings.may_be_in(data) else text

    return tuple(_masked(one, mask) for one in exchanges) if spellings else tuple(exchanges)


def _masked(exchange: Exchange, mask: Mask) -> Exchange:
    texts = ("label", "code", "message", "failure", "url", "request_headers", "cookies", "request_body")
    changes: dict[str, Any] = {name: mask(getattr(exchange, name)) for name in (*texts, "response_headers")}
    variables = exchange.variables and {
        name: Change(None if change.before is None else mask(change.before), mask(change.after))
        for name, change in exchange.variables.items()
    }
    return replace(
        exchange,
        **changes,
        response_body=None if exchange.response_body is None else mask(exchange.response_body),
        assertions=tuple(found._replace(message=mask(found.message)) for found in exchange.assertions),
        variables=variables,
    )


def _named_secrets(exchange: Exchange) -> tuple[str, ...]:
    """Return the secrets that an exchange names, without those too short to mask."""
    secrets: list[str] = []
    for line in (*exchange.request_headers.splitlines(), *exchange.response_headers.splitlines()):
        name, _, value = line.partition(":")
        secrets += secrets_of_header(name.strip(), value.strip())
    if exchange.cookies:
        secrets += secrets_of_header("Cookie", exchange.cookies)
    for body in (exchange.request_body, exchange.response_body or ""):
        secrets += secrets_in(body)
    secrets += secrets_in_code(exchange.url)
    for name, change in (exchange.variables or {}).items():
        if is_secret_name(name) and not _WHOLE_MATCH.search(name):
            secrets += filter(None, change)
    return secret_values(("password", value) for value in secrets)
