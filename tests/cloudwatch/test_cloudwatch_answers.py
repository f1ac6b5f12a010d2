"""Fetching from a CloudWatch that refuses, answers in pages, is busy, or is down: moto does none of that."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from harness.base.aws import NAMING
from harness.base.errors import HarnessError
from harness.cloudwatch.queries import parse_cloudwatch
from tests.support.cloudwatch_runs import BEGAN_S, NO_SERVER, REGION, add_recent_run, metrics, spec
from tests.support.local_server import serving

pytestmark = pytest.mark.real


class Replying(BaseHTTPRequestHandler):
    """Sends answers in the protocol of AWS."""

    def reply(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


class WithoutVolumes(Replying):
    """Answers that metrics have no values, and refuses to list volumes."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, text = 200, b'{"MetricDataResults": []}'
        if body.startswith(b"Action=DescribeVolumes"):
            status = 403
            text = b"<Response><Errors><Error><Code>UnauthorizedOperation</Code></Error></Errors></Response>"
        self.reply(status, text)


def test_without_the_right_to_list_volumes_the_other_metrics_are_fetched(tmp_path, capsys):
    with serving(WithoutVolumes) as port:
        directory = add_recent_run(tmp_path, cloudwatch=spec(f"http://127.0.0.1:{port}"))
        assert metrics(directory.path) == 0
    assert (directory.path / "cloudwatch.csv").is_file()
    missing = (
        "EC2: burst balance of the volumes of i-0123456789abcdef0: permission denied; "
        "these credentials need ec2:DescribeVolumes: see lth help cloudwatch"
    )
    assert missing in capsys.readouterr().out
    assert f"- {missing}." in directory.report.read_text()


def test_a_server_whose_answer_cannot_be_read_is_not_called_silent_later(tmp_path):
    with serving(WithoutVolumes) as port:
        metrics(add_recent_run(tmp_path, cloudwatch=spec(f"http://127.0.0.1:{port}")).path)
    for one in threading.enumerate():
        if one.name.startswith(NAMING) and one.finished.is_set():
            one.join()  # it was cancelled, and ends at once
    assert [one for one in threading.enumerate() if one.name.startswith(NAMING)] == []


def test_a_server_that_is_down_is_one_line_and_code_3(tmp_path):
    directory = add_recent_run(tmp_path, cloudwatch=spec(NO_SERVER))
    before = directory.report.read_bytes()
    with pytest.raises(HarnessError) as down:
        metrics(directory.path)
    assert down.value.exit_code == 3
    assert str(down.value).startswith("CloudWatch: the server does not answer")
    assert "\n" not in str(down.value)
    assert directory.report.read_bytes() == before


class Answering(Replying):
    """Answers each call by `answer(request, number of the call)`: a status and a body; keeps the requests."""

    answer: Any
    requests: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body)
        self.requests.append(request)
        status, data = type(self).answer(request, len(self.requests))
        self.reply(status, json.dumps(data).encode())


def in_pages(request: dict[str, Any], number: int) -> tuple[int, dict[str, Any]]:
    """Refuse the first call as too many, then give a minute a page; of the last query the answer is never whole."""
    if number == 1:
        return 400, {"__type": "com.amazonaws.cloudwatch#ThrottlingException", "message": "Rate exceeded"}
    start = int(request.get("NextToken", "0"))
    results = [
        {
            "Id": query["Id"],
            "Label": "x",
            "Timestamps": [BEGAN_S + 60 * start],
            "Values": [10.0 * (start + 1)],
            "StatusCode": "PartialData" if start < 3 or query is request["MetricDataQueries"][-1] else "Complete",
        }
        for query in request["MetricDataQueries"]
    ]
    more = {"NextToken": str(start + 1)} if start < 3 else {}
    said = [{"Code": "Odd", "Value": "Some metrics were odd"}]
    return 200, {"MetricDataResults": results, "Messages": said, **more}


def refused(code: str, status: int) -> Any:
    return lambda _request, _number: (status, {"__type": f"com.amazonaws.cloudwatch#{code}", "message": "no"})


def test_pages_are_joined_a_busy_server_is_retried_and_its_messages_are_printed(tmp_path, capsys):
    requests: list[dict[str, Any]] = []
    services = [{"cluster": "perf", "services": [f"module-{number}" for number in range(100)]}]
    with serving(Answering, answer=in_pages, requests=requests) as port:
        requested = parse_cloudwatch(
            {"region": REGION, "endpoint_url": f"http://127.0.0.1:{port}", "ecs": services}, "x"
        )
        directory = add_recent_run(tmp_path, cloudwatch=requested)
        assert metrics(directory.path) == 0
    assert capsys.readouterr().out.count("CloudWatch reports: Some metrics were odd") == 1
    # 600 queries: one call refused, then 500 and 100 of four pages each.
    assert [len(request["MetricDataQueries"]) for request in requests] == [500] * 5 + [100] * 4
    assert [request.get("NextToken") for request in requests] == [None, None, "1", "2", "3", None, "1", "2", "3"]
    rows = (directory.path / "cloudwatch.csv").read_text().splitlines()
    assert len(rows) == 1 + 600 * 4
    assert [row.split(",")[-2:] for row in rows[1:5]] == [
        ["0.1", "Complete"], ["0.2", "Complete"], ["0.3", "Complete"], ["0.4", "Complete"],
    ]  # fmt: skip
    report = directory.report.read_text()
    # The last query of each of the two calls.
    assert "CloudWatch did not report a complete answer for ECS perf/module-83, ECS perf/module-99." in report


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "message"),
    [
        ("AccessDeniedException", 400, 2, "permission denied; these credentials need cloudwatch:GetMetricData"),
        ("UnrecognizedClientException", 400, 2, "the server rejects the credentials (UnrecognizedClientException)"),
        ("InternalServiceFault", 500, 3, "the server failed (InternalServiceFault"),
        ("ThrottlingException", 400, 3, "the server refused too many requests (ThrottlingException, 4 attempts)"),
    ],
)
def test_a_refusal_by_aws_is_one_line_with_what_to_do(tmp_path, code, status, exit_code, message):
    requests: list[dict[str, Any]] = []
    with serving(Answering, answer=staticmethod(refused(code, status)), requests=requests) as port:
        directory = add_recent_run(tmp_path, cloudwatch=spec(f"http://127.0.0.1:{port}", rds=[]))
        with pytest.raises(HarnessError) as caught:
            metrics(directory.path)
    assert caught.value.exit_code == exit_code
    assert str(caught.value).startswith(f"CloudWatch: {message}")
    assert "\n" not in str(caught.value)
