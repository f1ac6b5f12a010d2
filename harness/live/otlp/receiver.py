"""The receiver of OpenTelemetry data: its address, its headers, and requests to it by OTLP/HTTP."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from harness.base.errors import UsageError
from harness.base.http_client import NoRedirect, Response, within
from harness.plan.spec import Target, parse_target

# https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables
HEADERS_VARIABLE = "OTEL_EXPORTER_OTLP_HEADERS"
# https://opentelemetry.io/docs/specs/otel/metrics/sdk_exporters/otlp/#additional-environment-variable-configuration
HISTOGRAM_VARIABLE = "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION"
_EXPLICIT, _EXPONENTIAL = "explicit_bucket_histogram", "base2_exponential_bucket_histogram"
PROTOBUF = "application/x-protobuf"
TIMEOUT_S = 2.0
_ANSWER_MOST_BYTES = 65_536
# The quickest: the messages repeat the same names, and JMeter needs the cores.
_PACK_LEVEL = 1
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~]*")


class NotDeliveredError(Exception):
    """The receiver did not take a request. The text is the reason; it has no secret and no text of the receiver."""


@dataclass(frozen=True)
class Receiver:
    """Where OTLP/HTTP goes: the address without the path of a signal, and the headers of each request.

    With `takes_explicit` its histograms have the bounds of buckets, else they are exponential.
    """

    address: Target
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    takes_explicit: bool = False

    def post(self, path: str, body: bytes) -> bytes:
        """Send a request; return the protobuf that answers it, empty for an answer of another type.

        NotDeliveredError when it is refused, or not answered within TIMEOUT_S.
        """
        about = {"Content-Type": PROTOBUF, "Content-Encoding": "gzip", "User-Agent": "load-test-harness"}
        packed = gzip.compress(body, _PACK_LEVEL)
        request = urllib.request.Request(f"{self.address.url}/{path}", packed, {**self.headers, **about})

        def answered() -> Response:
            with _OPENER.open(request, timeout=TIMEOUT_S) as answer:
                return Response(answer.read(_ANSWER_MOST_BYTES), answer.headers)

        try:
            content, headers = within(TIMEOUT_S, answered)
        except urllib.error.HTTPError as error:
            with error:
                phrase = http.client.responses.get(error.code, "")
                raise NotDeliveredError(f"HTTP {error.code} {phrase}".rstrip()) from None
        except (OSError, http.client.HTTPException) as error:
            raise NotDeliveredError(_reason(error)) from None
        kind = headers.get_content_type()
        if kind == "text/html":
            raise NotDeliveredError("a web page answered, which is no receiver of OTLP")
        return bytes(content) if kind == PROTOBUF else b""


def receiver_at(address: str) -> Receiver:
    """Return the receiver at an address, with the headers of the environment. UsageError when one of both is wrong."""
    target = parse_target(address, "--otlp", "http://127.0.0.1:4318")
    return Receiver(target, _headers(os.environ.get(HEADERS_VARIABLE, "")), _takes_explicit())


def _takes_explicit() -> bool:
    kind = os.environ.get(HISTOGRAM_VARIABLE, "") or _EXPONENTIAL
    if kind not in (_EXPLICIT, _EXPONENTIAL):
        raise UsageError(f"{HISTOGRAM_VARIABLE}: unknown kind of histogram", f"use {_EXPONENTIAL} or {_EXPLICIT}")
    return kind == _EXPLICIT


def _headers(text: str) -> dict[str, str]:
    """Return the headers of name=value,name=value with URL-encoded values. A UsageError repeats none of it."""
    headers = {}
    for part in filter(str.strip, text.split(",")):
        name, equals, value = (unquote(word).strip() for word in part.partition("="))
        if not equals or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            what = f"{HEADERS_VARIABLE}: not header=value, or several separated by commas"
            raise UsageError(what, "set it again; a value is URL-encoded, as in Authorization=Bearer%20…")
        headers[name] = value
    return headers


# The headers are for one server, and a redirected POST would become a GET.
_OPENER = urllib.request.build_opener(NoRedirect)


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no answer within {TIMEOUT_S:.0f} s"
    text = cause.strerror if isinstance(cause, OSError) else None
    return text[:1].lower() + text[1:] if text else "no answer by HTTP"
