"""A server of Performance Insights with planted loads, in both protocols of the service: AWS JSON 1.1 and RPC v2 CBOR.

Requests and answers are checked against botocore's model of the service, and written by its own parsers and serialisers
with the sides exchanged. It also describes RDS instances, as far as the harness asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any

_CBOR, _JSON = "application/cbor", "application/x-amz-json-1.1"
_PROTOCOLS = {_CBOR: "smithy-rpc-v2-cbor", _JSON: "json"}
RESOURCE_ID = "db-FAIHNTYBKTGAUSUZQYPDS2GW4A"
_LOAD = "db.load.avg"


@dataclass
class Planted:
    """What the server knows: active sessions of each wait by minute (s since 1970), and statements with their metrics.

    `refused` are the codes with which it refuses an operation, each time or as often as listed. Pages have `page_size`
    items. `known_metrics` are the additional metrics of the engine.
    """

    waits: Mapping[tuple[str, str], Mapping[int, float]] = field(default_factory=dict)
    statements: Sequence[Mapping[str, Any]] = ()
    refused: dict[str, str | list[str]] = field(default_factory=dict)
    identifier: str = RESOURCE_ID
    page_size: int = 25
    engine: str = "postgres"
    is_on: bool = True
    known_metrics: Sequence[str] = (
        "db.sql_tokenized.stats.calls_per_sec.avg",
        "db.sql_tokenized.stats.avg_latency_per_call.avg",
    )
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def answer(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a valid request; ValueError for one that the service refuses."""
        if request["Identifier"] != self.identifier:
            raise ValueError("NotAuthorizedException")
        from_s, to_s = request["StartTime"].timestamp(), request["EndTime"].timestamp()
        period_s = request["PeriodInSeconds"]
        if period_s not in (1, 60, 300, 3600, 86_400) or from_s % period_s or to_s % period_s or from_s >= to_s:
            raise ValueError("InvalidArgumentException")
        aligned = {"AlignedStartTime": request["StartTime"], "AlignedEndTime": request["EndTime"]}
        if operation == "DescribeDimensionKeys":
            found, name = self._keys(request, from_s, to_s), "Keys"
        else:
            found, name = self._series(request, from_s, to_s, period_s), "MetricList"
            aligned["Identifier"] = self.identifier
        at = int(request.get("NextToken", "0"))
        more = {"NextToken": str(at + self.page_size)} if at + self.page_size < len(found) else {}
        return {**aligned, name: found[at : at + self.page_size], **more}

    def _keys(self, request: Mapping[str, Any], from_s: float, to_s: float) -> list[dict[str, Any]]:
        group, limit = request["GroupBy"]["Group"], request["GroupBy"].get("Limit", 10)
        wanted = request.get("AdditionalMetrics", [])
        if not set(wanted) <= set(self.known_metrics) or (wanted and group != "db.sql_tokenized"):
            raise ValueError("InvalidArgumentException")
        if group == "db.sql_tokenized":
            keys = [
                {
                    "Dimensions": {f"{group}.{name}": one[name] for name in ("id", "statement")},
                    "Total": one["load"],
                    "AdditionalMetrics": {name: one[name] for name in wanted if name in one},
                }
                for one in self.statements
            ]
        else:
            keys = [
                {
                    "Dimensions": _wait(*wait),
                    "Total": _mean([load for at, load in loads.items() if from_s <= at < to_s]),
                }
                for wait, loads in self.waits.items()
            ]
        return sorted((key for key in keys if key["Total"]), key=lambda key: -key["Total"])[:limit]

    def _series(self, request: Mapping[str, Any], from_s: float, to_s: float, period_s: int) -> list[dict[str, Any]]:
        at_end = period_s if request.get("PeriodAlignment", "END_TIME") == "END_TIME" else 0
        all_minutes = sorted({at for loads in self.waits.values() for at in loads})
        totals = {at: sum(loads.get(at, 0.0) for loads in self.waits.values()) for at in all_minutes}
        found = []
        for query in request["MetricQueries"]:
            keyed = [({}, totals)]
            if "GroupBy" in query:
                keyed += [
                    ({"Dimensions": _wait(*wait)}, loads) for wait, loads in self.waits.items() if any(loads.values())
                ]
            for key, loads in keyed:
                points = [
                    {
                        "Timestamp": datetime.fromtimestamp(start + at_end, UTC),
                        "Value": _mean([load for at, load in loads.items() if start <= at < start + period_s]),
                    }
                    for start in range(int(from_s), int(to_s), period_s)
                    if any(start <= at < start + period_s for at in loads)
                ]
                found.append({"Key": {"Metric": query["Metric"], **key}, "DataPoints": points})
        return found


def _wait(kind: str, name: str) -> dict[str, str]:
    return {"db.wait_event.type": kind, "db.wait_event.name": name}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


@cache
def _model() -> Any:
    import botocore.session  # deferred: it takes long to load

    return botocore.session.get_session().get_service_model("pi")


class _Exchanged:
    """An operation whose answer is written as botocore writes requests."""

    def __init__(self, operation: Any) -> None:
        self.name, self.service_model, self.metadata = operation.name, operation.service_model, operation.metadata
        self.http, self.endpoint, self.input_shape = operation.http, None, operation.output_shape
        self.has_event_stream_input = self.has_event_stream_output = False


class InsightsServer(BaseHTTPRequestHandler):
    """Answers from `planted`; what its requests and answers have wrong is in the `problems` of that."""

    planted: Planted
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if b"Action=DescribeDBInstances" in body:
            self.planted.requests.append(("DescribeDBInstances", {}))
            if code := self._refusal("DescribeDBInstances"):
                text = f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code></Error></ErrorResponse>"
                self._reply(400, text.encode(), "text/xml")
            else:
                self._reply(200, self._instances(), "text/xml")
            return
        kind = self.headers["Content-Type"]
        prefix, _, name = (self.headers.get("X-Amz-Target") or self.path.replace("/operation/", ".")).rpartition(".")
        if name == "GetMetricData" and name in self.planted.refused:  # of CloudWatch, in JSON 1.0
            self._reply(400, json.dumps({"__type": self._refusal(name)}).encode(), kind)
            return
        if kind not in _PROTOCOLS or prefix.removeprefix("/service/") != "PerformanceInsightsv20180227":
            self.planted.problems.append(f"{kind} {prefix} {name}: not a request to Performance Insights")
        status, answer = self._answer(name, kind, body)
        self._reply(status, answer, kind)

    def _answer(self, name: str, kind: str, body: bytes) -> tuple[int, bytes]:
        from botocore.parsers import create_parser
        from botocore.serialize import create_serializer
        from botocore.validate import ParamValidator

        operation = _model().operation_model(name)
        protocol, check = _PROTOCOLS[kind], ParamValidator().validate
        read = {"body": body, "headers": {}, "status_code": 200}
        request = create_parser(protocol).parse(read, operation.input_shape)
        request.pop("ResponseMetadata")
        if report := check(request, operation.input_shape).generate_report():
            self.planted.problems.append(f"{name}: request: {report}")
        self.planted.requests.append((name, request))
        code = self._refusal(name)
        try:
            answer = {} if code else self.planted.answer(name, request)
        except ValueError as error:
            code = str(error)
        if code:
            error_kind = f"com.amazonaws.performanceinsights#{code}"
            return 400, _map_of_text("__type", error_kind) if kind == _CBOR else json.dumps(
                {"__type": error_kind}
            ).encode()
        if report := check(answer, operation.output_shape).generate_report():
            self.planted.problems.append(f"{name}: answer: {report}")
        written = create_serializer(protocol, include_validation=False).serialize_to_request(
            answer, _Exchanged(operation)
        )
        return 200, written["body"]

    def _refusal(self, operation: str) -> str:
        """Return the code with which an operation is refused this time; empty when it is not."""
        found = self.planted.refused.get(operation, "")
        if isinstance(found, list):
            return found.pop(0) if found else ""
        return found

    def _instances(self) -> bytes:
        is_on = str(self.planted.is_on).lower()
        return (
            '<DescribeDBInstancesResponse xmlns="http://rds.amazonaws.com/doc/2014-10-31/"><DescribeDBInstancesResult>'
            "<DBInstances><DBInstance><DBInstanceIdentifier>folio-db</DBInstanceIdentifier>"
            f"<DbiResourceId>{self.planted.identifier}</DbiResourceId><Engine>{self.planted.engine}</Engine>"
            f"<PerformanceInsightsEnabled>{is_on}</PerformanceInsightsEnabled></DBInstance></DBInstances>"
            "</DescribeDBInstancesResult></DescribeDBInstancesResponse>"
        ).encode()

    def _reply(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if kind == _CBOR:
            self.send_header("smithy-protocol", "rpc-v2-cbor")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _map_of_text(key: str, value: str) -> bytes:
    """Return a CBOR map of one text, each shorter than 256 bytes (RFC 8949)."""
    texts = b"".join(bytes([0x78, len(text)]) + text for text in (key.encode(), value.encode()))
    return b"\xa1" + texts
