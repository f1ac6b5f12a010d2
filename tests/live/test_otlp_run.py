"""A traced run with a real JMeter and a receiver: its last counts are the report's, its spans those of the failures."""

import json
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request
from tests.support.otlp_receiver import attributes, receiving
from tests.support.tiny import TINY_PLAN, TINY_PROFILE

pytestmark = pytest.mark.real
PAGES = request(name="Page", path="/page") + request(name="Broken", path="/broken")
PLAN = jmx(element("TransactionController", "Visit", below=PAGES))
SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "")


class Shop(BaseHTTPRequestHandler):
    """Records the traceparent of each request; /broken fails."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers["traceparent"]))
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The report's JSON and text of a run of 20 loops of one user, the receiver, and what the shop saw."""
    folder = tmp_path_factory.mktemp("otlp")
    for name, content in (("plans/shop.jmx", PLAN), ("plans/shop.toml", SHOP), ("env/local.toml", TINY_PROFILE)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    seen = []
    with serving(Shop, seen=seen) as port, receiving() as receiver:
        places = ("--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}")
        arguments = ("--plan", "shop", "--users", "1", "--loops", "20", "--trace", "--otlp", receiver.url)
        command("scripts/run", *arguments, *places, JMETER_HOME=str(toolchain.ensure_jmeter()))
        report = folder / "reports" / "shop" / "run-01_1.json"
        yield json.loads(report.read_text()), report.with_suffix(".md").read_text(), receiver, seen


def test_the_last_counts_are_those_of_the_report(run):
    summary, _, receiver, _ = run
    whole = summary["whole"] or next(group for group in summary["groups"] if group["name"] == "load")
    points = {
        (about["label"], about["kind"] == "transaction"): point
        for point in receiver.last["loadtest.response_time"].exponential_histogram.data_points
        if (about := attributes(point))["group"] == "load"
    }
    assert points.keys() == {("Visit", True), ("Page", False), ("Broken", False)}
    for label in whole["labels"]:
        point = points[label["label"], label["is_transaction"]]
        counts = label["counts"]
        assert point.count == label["sample_count"] == 20
        assert point.zero_count + sum(point.positive.bucket_counts) == 20
        assert point.sum == counts["elapsed_sum_ms"] / 1000
        assert (point.min, point.max) == (label["min_ms"] / 1000, label["max_ms"] / 1000)
    errors = {attributes(one)["label"]: one.as_int for one in receiver.last["loadtest.errors"].sum.data_points}
    assert errors == {"Visit": 20, "Page": 0, "Broken": 20}
    processes = {attributes(one)["process"] for one in receiver.last["loadtest.process_cpu"].sum.data_points}
    assert "jmeter" in processes


def test_each_failed_request_has_a_span_that_is_the_parent_of_the_systems_own(run):
    _, _, receiver, seen = run
    sent = {tuple(header.split("-")[1:3]) for path, header in seen if path == "/broken"}
    spans = {(span.trace_id.hex(), span.span_id.hex()) for _, span in receiver.spans}
    assert len(sent) == 20
    assert spans
    assert spans <= sent
    assert {(span.name, span.status.code) for _, span in receiver.spans} == {("Broken", 2)}


def test_the_report_says_what_was_delivered(run):
    summary, text, receiver, _ = run
    exports = [path for path, _ in receiver.requests if path == "/v1/metrics"]
    spans = len(receiver.spans)
    found = summary["run"]["otlp"]
    assert found["export_count"] == len(exports)
    assert (found["lost_export_count"], found["lost_span_count"], found["problem"]) == (0, 0, "")
    assert found["span_count"] == spans == 20 - found["left_out_count"]
    assert f"- OTLP: {len(exports)} exports and {spans} spans delivered" in text
