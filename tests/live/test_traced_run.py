"""A traced run with a real JMeter, a receiver of OpenTelemetry data, and two browsers; and a page of 12,000 users.

The trace ids that the server got are in the JTL, the report, the failures and the spans; the last counts are exact.
"""

import csv
import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from harness.base.install import toolchain
from harness.base.records import build
from harness.base.units import plural
from harness.judge.summary import RunSummary
from harness.live.page_address import LiveAddress
from harness.live.view import LiveView
from harness.metrics.figures import LOAD
from harness.report.key_figures import KEY_COLUMNS
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, record, sample
from tests.support.local_server import serving
from tests.support.off_host import element, flag, jmx, request, text
from tests.support.otlp_receiver import attributes, receiving
from tests.support.paths import ROOT
from tests.support.processes import becomes, output_until, wait_for
from tests.support.shop_runs import make_home

pytestmark = pytest.mark.real
TRACEPARENT = re.compile("00-([0-9a-f]{32})-([0-9a-f]{16})-01")


class Shop(BaseHTTPRequestHandler):
    """Records the headers of each request; /moved leads to /page, and /broken fails.

    It is slow until nobody needs the run any more.
    """

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers.get("traceparent"), self.headers.get("X-Shop")))
            self.is_enough.wait(1.0)
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


@dataclass(frozen=True)
class Viewed:
    """Two pages of a run that has ended: `cut` is the message of the first one when its connection was cut.

    `during` are the lines of both after that, while the run went on.
    """

    pages: tuple[Any, Any]
    cut: str
    during: list


def lines_of(page):
    """Return the lines of all charts of a page; they are read five times per second at most, because that costs CPU."""
    page.wait_for_timeout(200)
    return page.evaluate("shown.flatMap((one) => one.spec.lines.map((line) => line.y))")


def cut_and_mended(cable, first, second):
    """Cut the connection of the first page for a while; return its message then, and the lines of both afterwards."""
    cable.cut()
    cut = wait_for(first.locator("#link").inner_text)
    missed = len(lines_of(second)[0])
    wait_for(lambda: len(lines_of(second)[0]) > missed)
    cable.is_cut = False
    becomes(first.locator("#link").inner_text, "")

    def equal():
        """Both get a message each second, not at the same moment."""
        lines = lines_of(first), lines_of(second)
        return lines if len(lines[0][0]) > missed and lines[0] == lines[1] else None

    during = wait_for(equal)
    assert [page.locator("#state").inner_text() for page in (first, second)] == ["running", "running"]
    return Viewed((first, second), cut, list(during))


@pytest.fixture(scope="module")
def traced(tmp_path_factory, request, cable):
    """A traced run of three loops of one user: its directory, what the server saw, the receiver, and its pages."""
    try:
        opened = request.getfixturevalue("opened")
    except pytest.skip.Exception:  # no browser: most tests need none
        opened = None
    folder = tmp_path_factory.mktemp("traced")
    make_home(folder, PLAN)
    seen, is_enough, viewed = [], threading.Event(), None
    with serving(Shop, seen=seen, is_enough=is_enough) as port, receiving() as receiver:
        folders = ["--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}"]
        arguments = ["--plan", "shop", "--users", "1", "--loops", "3", "--trace", "--otlp", receiver.url, "--live", "1"]
        with subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "run"), *arguments, *map(str, folders)],
            env={**os.environ, "JMETER_HOME": str(toolchain.ensure_jmeter())}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            try:
                url = re.search(r"live page: (http://127\.0\.0\.1:\d+/)", output_until(process, "/\n"))[1]
                pages = (opened(url, cable.address), opened(url)) if opened else ()
                for page in pages:
                    wait_for(lambda page=page: page.locator("#labels tbody tr").count() > 0)
                viewed = cut_and_mended(cable, *pages) if pages else None
                is_enough.set()
                for page in pages:
                    wait_for(page.locator("#stop").is_disabled)  # the command has ended
                out, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        assert process.returncode == 1, out  # /broken misses the goal
        yield folder / "reports" / "shop" / "run-01_1", seen, receiver, viewed


@pytest.fixture
def traced_run(traced):
    """The directory of the run, and what the server saw."""
    return traced[:2]


@pytest.fixture
def viewed(traced):
    """The pages of the run."""
    return traced[3] or pytest.skip("no browser: install chromium")


def rows_of(directory):
    with (directory / "samples.jtl").open(newline="") as lines:
        return list(csv.DictReader(lines))


def measured(directory, summary):
    """Return the rows that ended in the measurement window: on a slow machine the first seconds may be a warm-up."""
    first, last = (summary["origin_s"] + summary["window"][edge] for edge in ("from_s", "to_s"))
    ends_s = [((int(row["timeStamp"]) + int(row["elapsed"])) / 1000, row) for row in rows_of(directory)]
    return [row for end_s, row in ends_s if first <= end_s <= last]


@pytest.mark.counterpart
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
    of_requests = [row["trace_id"] for row in rows if row["label"] not in ("Visit", "No request")]
    # The sample of a redirect has the id of the last request.
    assert of_requests == [TRACEPARENT.fullmatch(header)[1] for path, header, _ in seen if path != "/moved"]
    assert {row["trace_id"] for row in rows if row["label"] in ("Visit", "No request")} == {""}
    assert [row["label"] for row in rows].count("Moved") == [path for path, _, _ in seen].count("/moved") == 3


def test_the_report_has_the_ids_of_slow_and_failed_samples(traced_run):
    directory, seen = traced_run
    broken = [TRACEPARENT.fullmatch(header)[1] for path, header, _ in seen if path == "/broken"]
    report = directory.with_suffix(".md").read_text()
    summary = json.loads(directory.with_suffix(".json").read_text())
    assert summary["stored_failures"][0]["trace_ids"] == broken
    slowest = {one["trace_id"] for one in summary["observed"]["slowest"] if one["label"] != "No request"}
    assert slowest
    assert slowest == {row["trace_id"] for row in measured(directory, summary)} - {""}
    assert "| label | thread | code | trace id | start s | ms |" in report
    assert all(f"| {one} |" in report for one in slowest)
    assert "traceparent: 00-" + broken[0] in (directory / "failures.html").read_text()
    assert "- traced: each HTTP request carries a traceparent header" in report


@pytest.fixture
def sent(traced):
    """The report's JSON, what the receiver got, and what the shop saw."""
    directory, seen, receiver, _ = traced
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


def test_the_report_counts_what_was_delivered(sent, traced_run):
    summary, receiver, _ = sent
    exports = [path for path, _ in receiver.requests if path == "/v1/metrics"]
    spans = len(receiver.spans)
    found = summary["run"]["otlp"]
    assert found["export_count"] == len(exports)
    assert (found["lost_export_count"], found["lost_span_count"], found["problem"]) == (0, 0, "")
    assert found["span_count"] == spans == 3 - found["left_out_count"]
    delivered = f"- --otlp: {plural(len(exports), 'export')} and {plural(spans, 'span')} delivered"
    assert delivered in traced_run[0].with_suffix(".md").read_text()


def test_a_page_that_lost_its_connection_shows_it_and_gets_the_seconds_that_it_missed(viewed):
    assert viewed.cut == "no connection to the run: trying again"
    first, second = viewed.during
    assert first == second
    assert all(None not in line for line in first[4:])  # each second has its samples, errors and users


def test_the_last_values_of_both_pages_are_the_reports(viewed, sent):
    data = sent[0]
    summary = build(RunSummary, data)
    load = summary.whole or summary.group(LOAD)
    expected = {one.label: [column.cell(one) for column in KEY_COLUMNS] for one in (*load.labels, load.total)}
    assert {"Visit", "Page", "Moved", "Broken", "TOTAL"} < expected.keys()
    total = next(group for group in data["groups"] if group["name"] == LOAD)["total"]
    for page in viewed.pages:
        rows = [row.locator("td").all_inner_texts() for row in page.locator("#labels tbody tr").all()]
        assert {label: cells for label, *cells in rows} == expected
        tiles = dict(zip(page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts(), strict=True))
        assert tiles["samples"].strip() == str(total["sample_count"])
        assert tiles["p95"] == f"{total['percentiles_ms']['95']} ms"
        # The points have every sample of the whole run, as the report.
        assert page.evaluate("shown[1].spec.lines[0].y.reduce((sum, count) => sum + count)") == load.total.sample_count
        assert summary.verdict.state in page.locator("#state").inner_text()
        assert page.locator("#uses tbody tr", has_text="jmeter").count() == 1
        assert page.locator("figure.chart canvas").count() == 4


@pytest.mark.counterpart
def test_a_page_of_12000_users_has_all_of_them_the_time_left_and_a_stop(opened, tmp_path):
    threads = [f"10.0.0.{7 + number // 4000}:1099-Users 1-{number % 4000 + 1}" for number in range(12_000)]
    stops = []
    lines = []
    with LiveView(LiveAddress(), toolchain.ensure_charts(), "the load", lambda: stops.append(1), lines.append) as view:
        run = record(load=closed_load(12_000, duration_s=600.0))
        view.show(RunDirectory(tmp_path / "tiny" / "run-01_1"), run, ())
        page = opened(lines[0].removeprefix("live page: "))

        def clock():
            view.add([], 0.0)
            return page.locator("#clock").inner_text()

        wait_for(clock)  # the page follows the run
        for second in range(2):
            start_ms = 1_000_000 + 1000 * second
            samples = [
                sample("Pay", number % 100 + 1, start_ms, thread_name=thread, all_threads=4000)
                for number, thread in enumerate(threads)
            ]
            view.add(samples, 150.0 * (second + 1))
        becomes(page.locator("#clock").inner_text, "5:00 passed, 5:00 left")
        tiles = dict(zip(page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts(), strict=True))
        assert list(tiles) == ["users", "requests, last second", "p95, last second", "errors so far"]
        assert [text.strip() for text in tiles.values()] == ["12,000", "12,000 req/s", "95 ms", "0.00 %"]
        (pay, total) = [row.locator("td").all_inner_texts() for row in page.locator("#labels tbody tr").all()]
        assert pay[:2] + total[:2] == ["Pay", "24000", "TOTAL", "24000"]
        assert page.evaluate("shown[3].spec.lines[0].y") == [12_000]  # the newest second is not complete
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Stop the load").click()
        becomes(page.locator("#link").inner_text, "stopping: JMeter finishes its running samples")
        assert stops == [1]
