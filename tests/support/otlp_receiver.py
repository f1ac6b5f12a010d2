"""A receiver of OTLP/HTTP on a free port: it decodes what it gets with the messages of opentelemetry-proto."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler
from threading import Event

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.support.local_server import serving

REQUESTS = {"/v1/metrics": ExportMetricsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


@dataclass
class OtlpReceiver:
    """What a receiver got; `code` is its answer, `rejected` how many values of each request it reports as rejected.

    While `goes_on` is not set, it does not answer.
    """

    code: int = 200
    rejected: int = 0
    content_type: str = "application/x-protobuf"
    requests: list[tuple[str, object]] = field(default_factory=list)
    headers: list[Message] = field(default_factory=list)
    goes_on: Event = field(default_factory=Event)
    url: str = ""
    prefix: str = ""

    def answer(self, path: str) -> bytes:
        if path == "/v1/metrics":
            return ExportMetricsServiceResponse(
                partial_success={"rejected_data_points": self.rejected}
            ).SerializeToString()
        return ExportTraceServiceResponse(partial_success={"rejected_spans": self.rejected}).SerializeToString()

    @property
    def spans(self) -> list:
        """All spans, with the resource of each."""
        return [
            (resource.resource, span)
            for path, request in self.requests
            if path == "/v1/traces"
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def last(self) -> dict[str, object]:
        """The metrics of the last request by their names."""
        request = [one for path, one in self.requests if path == "/v1/metrics"][-1]
        return {
            metric.name: metric
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    @property
    def resource(self) -> dict[str, str]:
        """The attributes of the resource in the first request."""
        return attributes(self.requests[0][1].resource_metrics[0].resource)


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        receiver, path = self.receiver, self.path.removeprefix(self.receiver.prefix)
        receiver.goes_on.wait(10)
        receiver.headers.append(self.headers)
        if receiver.code == 200:
            receiver.requests.append((path, REQUESTS[path].FromString(body)))
        content = receiver.answer(path)
        try:
            self.send_response(receiver.code)
            self.send_header("Content-Type", receiver.content_type)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            pass  # the client waits no longer

    def do_GET(self) -> None:
        raise AssertionError("a redirect was followed")

    def log_message(self, *_: object) -> None:
        pass


def attributes(holder) -> dict[str, str | int]:
    """The attributes of a resource, a point or a span."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in holder.attributes}


@contextmanager
def receiving(**changes: object) -> Iterator[OtlpReceiver]:
    """Receive while the block lasts."""
    receiver = OtlpReceiver(**changes)
    receiver.goes_on.set()
    with serving(_Handler, receiver=receiver) as port:
        receiver.url = f"http://127.0.0.1:{port}"
        yield receiver
        receiver.goes_on.set()
