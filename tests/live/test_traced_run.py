"""A traced run with a real JMeter and a receiver of OpenTelemetry data.

The trace ids that the server got are in the JTL, the report, the failures and the spans; the last counts are exact.
"""

import csv
import json
import re
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.units import plural
from tests.support.local_server import serving
from tests.support.off_host import element, flag, jmx, request, text
from tests.support.otlp_receiver import attributes, receiving
from tests.support.shop_runs import make_home, run_shop

pytestmark = pytest.mark.real
TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-01")


class Shop(BaseHTTPRequestHandler):
    """Records the headers of each request; /moved leads to /page, and /broken fails."""

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers.get("traceparent"), self.headers.get("X-Shop")))
        self.send_response({"/moved": 302, "/broken": 500}.get(self.path, 200))
        self.send_header("Location", "/page")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


OWN_HEADER = element(
    "HeaderManager",
    "Own",
    '<collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header">'
    f"{text('Header.name', 'X-Shop')}{text('Header.value', 'yes')}</elementProp></collectionProp>",
)
PLAN = jmx(
    element(
        "TransactionController",
        "Visit",
        below=request(name="Page", path="/page")
        + element("GenericController", "Inner", below=request(name="Other page", path="/page", below=OWN_HEADER)),
    )
    + request(flag("HTTPSampler.follow_redirects"), name="Moved", path="/moved")
    + request(name="Broken", path="/broken")
    + element("DebugSampler", "No request")
)


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A traced run of three loops of one user: its directory, what the server saw, and the receiver."""
    folder = tmp_path_factory.mktemp("traced")
    make_home(folder, PLAN, "[allow]\nredirects = true\n")
    seen = []
    with serving(Shop, seen=seen) as port, receiving() as receiver:
        run_shop(folder, port, "--loops", "3", "--trace", "--otlp", receiver.url)
        yield folder / "reports" / "shop" / "run-01_1", seen, receiver


@pytest.fixture
def traced_run(traced):
    """The directory of the run, and what the server saw."""
    return traced[:2]


def rows_of(directory):
    with (directory / "samples.jtl").open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_request_carries_a_wellformed_header_with_a_fresh_id(traced_run):
    _, seen = traced_run
    assert len(seen) == 3 * 5
    assert len({TRACEPARENT.fullmatch(header)[1] for _, header, _ in seen}) == 15
    assert len({TRACEPARENT.fullmatch(header)[2] for _, header, _ in seen}) == 15
    # The span of a request is known by its trace id alone.
    assert all(TRACEPARENT.fullmatch(header)[1].startswith(TRACEPARENT.fullmatch(header)[2]) for _, header, _ in seen)
    assert [own for path, _, own in seen if path == "/page"].count("yes") == 3  # the plan's own headers stay


def test_each_row_has_the_id_of_its_own_request(traced_run):
    directory, seen = traced_run
    rows = rows_of(directory)
    of_requests = [row["trace_id"] for row in rows if row["label"] not in ("Visit", "Moved", "No request")]
    assert of_requests == [TRACEPARENT.fullmatch(header)[1] for _, header, _ in seen]
    assert {row["trace_id"] for row in rows if row["label"] in ("Visit", "No request")} == {""}
    # The sample of a redirect has the id of the last request.
    last = [row["trace_id"] for row in rows if row["label"] == "Moved-1"]
    assert [row["trace_id"] for row in rows if row["label"] == "Moved"] == last


def test_the_report_has_the_ids_of_slow_and_failed_samples(traced_run):
    directory, seen = traced_run
    broken = [TRACEPARENT.fullmatch(header)[1] for path, header, _ in seen if path == "/broken"]
    report = directory.with_suffix(".md").read_text()
    summary = json.loads(directory.with_suffix(".json").read_text())
    assert summary["stored_failures"][0]["trace_ids"] == broken
    slowest = {one["trace_id"] for one in summary["observed"]["slowest"] if one["label"] != "No request"}
    assert slowest == {row["trace_id"] for row in rows_of(directory)} - {""}
    assert "| label | thread | code | trace id | start s | ms |" in report
    assert all(f"| {one} |" in report for one in broken)
    assert "traceparent: 00-" + broken[0] in (directory / "failures.html").read_text()
    assert "- traced: each HTTP request carries a traceparent header" in report


@pytest.fixture
def sent(traced):
    """The report's JSON, what the receiver got, and what the shop saw."""
    directory, seen, receiver = traced
    return json.loads(directory.with_suffix(".json").read_text()), receiver, seen


def test_the_last_counts_are_those_of_the_report(sent):
    summary, receiver, _ = sent
    whole = summary["whole"] or next(group for group in summary["groups"] if group["name"] == "load")
    points = {
        (about["label"], about["kind"] == "transaction"): point
        for point in receiver.last["loadtest.response_time"].exponential_histogram.data_points
        if (about := attributes(point))["group"] == "load"
    }
    assert {("Visit", True), ("Page", False), ("Moved", False), ("Broken", False)} < points.keys()
    assert points.keys() == {(label["label"], label["is_transaction"]) for label in whole["labels"]}
    for label in whole["labels"]:
        point = points[label["label"], label["is_transaction"]]
        counts = label["counts"]
        assert point.count == label["sample_count"] == 3
        assert point.zero_count + sum(point.positive.bucket_counts) == 3
        assert point.sum == counts["elapsed_sum_ms"] / 1000
        assert (point.min, point.max) == (label["min_ms"] / 1000, label["max_ms"] / 1000)
    errors = {attributes(one)["label"]: one.as_int for one in receiver.last["loadtest.errors"].sum.data_points}
    assert errors == {label: 3 if label == "Broken" else 0 for label, _ in points}
    processes = {attributes(one)["process"] for one in receiver.last["loadtest.process_cpu"].sum.data_points}
    assert "jmeter" in processes


def test_each_failed_request_has_a_span_that_is_the_parent_of_the_systems_own(sent):
    _, receiver, seen = sent
    failed = {TRACEPARENT.fullmatch(header).groups() for path, header, _ in seen if path == "/broken"}
    spans = {(span.trace_id.hex(), span.span_id.hex()) for _, span in receiver.spans}
    assert len(failed) == 3
    assert spans
    assert spans <= failed
    assert {(span.name, span.status.code) for _, span in receiver.spans} == {("Broken", 2)}


def test_the_report_says_what_was_delivered(sent, traced_run):
    summary, receiver, _ = sent
    exports = [path for path, _ in receiver.requests if path == "/v1/metrics"]
    spans = len(receiver.spans)
    found = summary["run"]["otlp"]
    assert found["export_count"] == len(exports)
    assert (found["lost_export_count"], found["lost_span_count"], found["problem"]) == (0, 0, "")
    assert found["span_count"] == spans == 3 - found["left_out_count"]
    delivered = f"- OTLP: {plural(len(exports), 'export')} and {plural(spans, 'span')} delivered"
    assert delivered in traced_run[0].with_suffix(".md").read_text()
