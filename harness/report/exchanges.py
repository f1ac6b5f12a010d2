"""Formats requests and responses: as lines for a terminal, and as HTML that is safe to open and to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape

from harness.base.plain_text import without_control
from harness.base.units import plural
from harness.judge.summary import RunSummary, StoredFailures
from harness.metrics.tally import ErrorKey
from harness.run.jmeter.exchanges import Exchange

# A longer body is cut in print; an exchange stores more.
BODY_MOST = 2048
_CUT = "…"
_STYLE = """\
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
pre { font: 13px/1.45 ui-monospace, monospace; background: #8881; padding: .6rem; white-space: pre-wrap; }
pre { overflow-wrap: anywhere; }
details { border-left: 4px solid #2a7; margin: .6rem 0; padding-left: .8rem; }
details.failed { border-color: #c33; }
summary { cursor: pointer; }
.failed summary b, .bad { color: #c33; }
.good { color: #186; }
.dim { opacity: .7; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #ddd; } .good { color: #5c9; } .bad { color: #f77; }
}
"""


class Style(Enum):
    """What a line is, which decides its colour."""

    PLAIN = "plain"
    TITLE = "title"
    GOOD = "good"
    BAD = "bad"
    DIM = "dim"


Line = tuple[str, Style]


@dataclass(frozen=True)
class Section:
    """A part of a page: its id for links, a heading, lines above the exchanges, and the exchanges."""

    id: str
    heading: str
    lines: Sequence[Line] = ()
    exchanges: Sequence[Exchange] = ()


def exchange_lines(one: Exchange) -> Iterator[Line]:
    """Yield the lines of one exchange: result, request with `>`, response with `<`, assertions, variables."""
    yield title_of(one), Style.GOOD if one.is_success else Style.BAD
    yield from ((without_control(f"  > {line}").rstrip(), Style.PLAIN) for line in _request(one))
    yield from ((without_control(f"  < {line}").rstrip(), Style.DIM) for line in _response(one))
    yield from _results(one)


def title_of(one: Exchange) -> str:
    """Return label, result, code and time of an exchange on one line."""
    result = "passed" if one.is_success else "FAILED"
    return without_control(
        f"{one.label}: {result}, {one.code or 'no code'} {one.message}".rstrip() + f", {one.elapsed_ms} ms"
    )


def _request(exchange: Exchange) -> Iterator[str]:
    if exchange.method or exchange.url:
        yield f"{exchange.method} {exchange.url}".strip()
    yield from filter(str.strip, exchange.request_headers.splitlines())
    if exchange.cookies and "cookie:" not in exchange.request_headers.lower():
        yield f"Cookie: {exchange.cookies}"
    if exchange.request_body:
        yield ""
        yield from _body(exchange.request_body, f"{exchange.request_characters} characters").splitlines()


def _response(exchange: Exchange) -> Iterator[str]:
    yield from filter(str.strip, exchange.response_headers.splitlines())
    if exchange.response_headers:
        yield ""
    size = f"{exchange.response_bytes} bytes"
    yield from (
        f"(binary, {size})" if exchange.response_body is None else _body(exchange.response_body, size)
    ).splitlines()


def _body(text: str, size: str) -> str:
    is_cut = len(text) > BODY_MOST or text.endswith(_CUT)
    return f"{text[:BODY_MOST].removesuffix(_CUT)}\n… (cut, {size} in all)" if is_cut else text


def _results(exchange: Exchange) -> Iterator[Line]:
    for assertion in exchange.assertions:
        result = "passed" if assertion.is_passed else f"FAILED: {' '.join(assertion.message.split())}"
        yield (
            without_control(f"  assertion {assertion.name}: {result}"),
            Style.GOOD if assertion.is_passed else Style.BAD,
        )
    for name, change in (exchange.variables or {}).items():
        old = "not set" if change.before is None else _short(change.before)
        yield without_control(f"  variable {name}: {old} → {_short(change.after)}"), Style.PLAIN


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 100 else f"{flat[:100]}…"


def exchange_page(title: str, sections: Iterable[Section]) -> str:
    """Return an HTML page without scripts and outside resources; every value is escaped.

    Exchanges are folded, failed ones are open.
    """
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width">',
        f"<title>{_html(title)}</title><style>\n{_STYLE}</style></head><body>",
        f"<h1>{_html(title)}</h1>",
    ]
    for section in sections:
        parts.append(f'<h2 id="{_html(section.id)}">{_html(section.heading)}</h2>')
        if section.lines:
            parts.append(f"<pre>{_html_lines(section.lines)}</pre>")
        parts += [_exchange_html(one) for one in section.exchanges]
    return "\n".join([*parts, "</body></html>", ""])


def _exchange_html(exchange: Exchange) -> str:
    opening = '<details class="passed">' if exchange.is_success else '<details class="failed" open>'
    where = f'<span class="dim">{_html(exchange.thread)}</span>'
    head = f"<summary><b>{_html(title_of(exchange))}</b> {where}</summary>"
    return f"{opening}{head}<pre>{_html_lines(list(exchange_lines(exchange))[1:])}</pre></details>"


def _html_lines(lines: Iterable[Line]) -> str:
    return "\n".join(
        _html(text) if style is Style.PLAIN else f'<span class="{style.value}">{_html(text)}</span>'
        for text, style in lines
    )


def _html(text: str) -> str:
    return escape(without_control(text), quote=True)


def count_text(exchanges: Sequence[Exchange]) -> str:
    """Return the number of exchanges and of failures: `5 requests, 1 failed`."""
    failed = sum(not one.is_success for one in exchanges)
    return f"{plural(len(exchanges), 'request')}, {failed} failed"


def stored_failures(exchanges: Iterable[Exchange]) -> tuple[StoredFailures, ...]:
    """Return how many exchanges there are of each cause, in order of appearance."""
    of_cause: dict[ErrorKey, list[Exchange]] = {}
    for one in exchanges:
        of_cause.setdefault(one.key, []).append(one)
    return tuple(
        StoredFailures(*key, len(found), tuple(one.trace_id for one in found if one.trace_id))
        for key, found in of_cause.items()
    )


def anchor(number: int) -> str:
    """Return the id of the section for a row of the table of errors, counted from 0."""
    return f"error-{number + 1}"


def failures_page(summary: RunSummary, exchanges: Sequence[Exchange]) -> str:
    """Return the page: a section for each row of the table of errors, then the causes that the table does not list."""
    counts = {ErrorKey(kind.label, kind.code, kind.cause): kind.count for kind in summary.errors}
    others = dict.fromkeys(one.key for one in exchanges if one.key not in counts)
    sections = []
    for number, key in enumerate((*counts, *others)):
        if own := [one for one in exchanges if one.key == key]:
            count = plural(counts[key], "failure") if key in counts else "not in the table of errors"
            heading = f"{key.label}: {key.code} {key.cause} ({count}; the first {len(own)})"
            sections.append(Section(anchor(number), heading, (), own))
    return exchange_page(f"Failed requests of {summary.source}", sections)
