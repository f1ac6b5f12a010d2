"""The live page in a real browser, and a run of a real JMeter that two browsers and an OTLP receiver follow."""

import json
import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base import toolchain
from harness.live.page_address import LiveAddress
from harness.live.view import LiveView
from harness.metrics.figures import LOAD
from harness.report.key_figures import KEY_COLUMNS
from harness.report.summary import RunSummary
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, record, sample
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request
from tests.support.otlp_receiver import OtlpReceiver, attributes, receiving
from tests.support.paths import ROOT
from tests.support.processes import becomes, output_until, wait_for
from tests.support.tiny import TINY_PLAN, TINY_PROFILE

pytestmark = pytest.mark.real
PAGES = request(name="Page", path="/page") + request(name="Broken", path="/broken")
PLAN = jmx(element("TransactionController", "Visit", below=PAGES))
SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "")
LOOPS = 20
# What the charts have: a line's values for each second.
LINES = "shown.flatMap((one) => one.spec.lines.map((line) => line.y))"


class Shop(BaseHTTPRequestHandler):
    """Records the traceparent of each request; /broken fails. It is slow until nobody needs the run any more."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path != "/":  # the harness asks whether the target answers
            self.seen.append((self.path, self.headers["traceparent"]))
            self.is_enough.wait(0.4)
        self.send_response(500 if self.path == "/broken" else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@dataclass(frozen=True)
class Followed:
    """A run that has ended: its report, what was sent, what the shop saw, and two pages.

    `cut` is what the first page said when its connection was cut, `during` the lines of both after that.
    """

    summary: dict
    text: str
    receiver: OtlpReceiver
    seen: list
    pages: tuple
    cut: str
    during: list

    @property
    def whole(self):
        """The main load of the whole run."""
        return self.summary["whole"] or next(group for group in self.summary["groups"] if group["name"] == LOAD)


def cut_and_mended(cable, first, second):
    """Cut the connection of the first page for a while; return what it says then, and the lines of both afterwards."""
    cable.cut()
    cut = wait_for(first.locator("#link").inner_text)
    missed = len(second.evaluate(LINES)[0])
    wait_for(lambda: len(second.evaluate(LINES)[0]) > missed)
    cable.is_cut = False
    becomes(first.locator("#link").inner_text, "")
    # Both get a message each second, not at the same moment.
    wait_for(lambda: len(first.evaluate(LINES)[0]) > missed and first.evaluate(LINES) == second.evaluate(LINES))
    lines = [page.evaluate(LINES) for page in (first, second)]
    assert [page.locator("#state").inner_text() for page in (first, second)] == ["running", "running"]
    return cut, lines


@pytest.fixture(scope="module")
def followed(tmp_path_factory, opened, cable):
    """A traced run of 20 loops of one user, which two browsers and a receiver followed."""
    folder = tmp_path_factory.mktemp("followed")
    for name, content in (("plans/shop.jmx", PLAN), ("plans/shop.toml", SHOP), ("env/local.toml", TINY_PROFILE)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    seen, is_enough = [], threading.Event()
    with serving(Shop, seen=seen, is_enough=is_enough) as port, receiving() as receiver:
        places = ("--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}")
        options = ("--plan", "shop", "--users", "1", "--loops", str(LOOPS), "--trace", "--compare", "0")
        arguments = (*options, "--otlp", receiver.url, "--live", "1", *places)
        with subprocess.Popen(
            [sys.executable, str(ROOT / "scripts" / "run"), *map(str, arguments)],
            env={**os.environ, "JMETER_HOME": str(toolchain.ensure_jmeter())}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        ) as process:  # fmt: skip
            try:
                url = re.search(r"live page: (http://127\.0\.0\.1:\d+/)", output_until(process, "/\n"))[1]
                pages = opened(url, cable.address), opened(url)
                for page in pages:
                    wait_for(lambda page=page: page.locator("#labels tbody tr").count() > 0)
                cut, during = cut_and_mended(cable, *pages)
                is_enough.set()
                for page in pages:
                    wait_for(page.locator("#stop").is_disabled)  # the command has ended
                out, _ = process.communicate(timeout=60)
            finally:
                process.kill()
        report = folder / "reports" / "shop" / "run-01_1.json"
        assert process.returncode == 1, out  # /broken misses the goal
        summary, text = json.loads(report.read_text()), report.with_suffix(".md").read_text()
        yield Followed(summary, text, receiver, seen, pages, cut, during)


def test_a_page_that_lost_its_connection_says_so_and_gets_the_seconds_that_it_missed(followed):
    assert followed.cut == "no connection to the run: trying again"
    first, second = followed.during
    assert first == second
    assert all(None not in line for line in first[4:])  # each second has its samples, errors and users


def test_the_last_values_of_both_pages_are_the_reports(followed):
    summary = RunSummary.from_json(followed.summary, "run-01_1.json")
    load = summary.whole or summary.group(LOAD)
    expected = {one.label: [column.cell(one) for column in KEY_COLUMNS] for one in (*load.labels, load.total)}
    assert expected.keys() == {"Page", "Broken", "Visit", "TOTAL"}
    for page in followed.pages:
        rows = [row.locator("td").all_inner_texts() for row in page.locator("#labels tbody tr").all()]
        assert {label: cells for label, *cells in rows} == expected
        tiles = dict(zip(page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts(), strict=True))
        total = next(group for group in followed.summary["groups"] if group["name"] == LOAD)["total"]
        assert tiles["samples"].strip() == str(total["sample_count"])
        assert tiles["p95"] == f"{total['percentiles_ms']['95']} ms"
        # The points have every sample of the whole run, as the report.
        samples = page.evaluate("shown[1].spec.lines[0].y.reduce((sum, count) => sum + count)")
        assert samples == load.total.sample_count == 2 * LOOPS
        assert summary.verdict.state in page.locator("#state").inner_text()
        assert page.locator("#uses tbody tr", has_text="jmeter").count() == 1
        assert page.locator("figure.chart canvas").count() == 4


def test_the_last_counts_of_the_receiver_are_those_of_the_report(followed):
    receiver = followed.receiver
    points = {
        (about["label"], about["kind"] == "transaction"): point
        for point in receiver.last["loadtest.response_time"].exponential_histogram.data_points
        if (about := attributes(point))["group"] == "load"
    }
    assert points.keys() == {("Visit", True), ("Page", False), ("Broken", False)}
    for label in followed.whole["labels"]:
        point = points[label["label"], label["is_transaction"]]
        counts = label["counts"]
        assert point.count == label["sample_count"] == LOOPS
        assert point.zero_count + sum(point.positive.bucket_counts) == LOOPS
        assert point.sum == counts["elapsed_sum_ms"] / 1000
        assert (point.min, point.max) == (label["min_ms"] / 1000, label["max_ms"] / 1000)
    errors = {attributes(one)["label"]: one.as_int for one in receiver.last["loadtest.errors"].sum.data_points}
    assert errors == {"Visit": LOOPS, "Page": 0, "Broken": LOOPS}
    processes = {attributes(one)["process"] for one in receiver.last["loadtest.process_cpu"].sum.data_points}
    assert "jmeter" in processes


def test_each_failed_request_has_a_span_that_is_the_parent_of_the_systems_own(followed):
    sent = {tuple(header.split("-")[1:3]) for path, header in followed.seen if path == "/broken"}
    spans = {(span.trace_id.hex(), span.span_id.hex()) for _, span in followed.receiver.spans}
    assert len(sent) == LOOPS
    assert spans
    assert spans <= sent
    assert {(span.name, span.status.code) for _, span in followed.receiver.spans} == {("Broken", 2)}


def test_the_report_says_what_was_delivered(followed):
    exports = [path for path, _ in followed.receiver.requests if path == "/v1/metrics"]
    spans = len(followed.receiver.spans)
    found = followed.summary["run"]["otlp"]
    assert found["export_count"] == len(exports)
    assert (found["lost_export_count"], found["lost_span_count"], found["problem"]) == (0, 0, "")
    assert found["span_count"] == spans == LOOPS - found["left_out_count"]
    assert f"- OTLP: {len(exports)} exports and {spans} spans delivered" in followed.text


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
        for second in range(5):
            start_ms = 1_000_000 + 1000 * second
            samples = [
                sample("Pay", number % 100 + 1, start_ms, thread_name=thread, all_threads=4000)
                for number, thread in enumerate(threads)
            ]
            view.add(samples, 60.0 * (second + 1))
        becomes(page.locator("#clock").inner_text, "5:00 passed, 5:00 left.")
        tiles = dict(zip(page.locator("dl dt").all_inner_texts(), page.locator("dl dd").all_inner_texts(), strict=True))
        assert (tiles["users"].strip(), tiles["samples"].strip()) == ("12,000", "60000")
        assert (tiles["median, last second"], tiles["p95, last second"]) == ("50 ms", "95 ms")
        (pay, total) = [row.locator("td").all_inner_texts() for row in page.locator("#labels tbody tr").all()]
        assert pay[:2] + total[:2] == ["Pay", "60000", "TOTAL", "60000"]
        assert page.evaluate("shown[3].spec.lines[0].y") == [12_000] * 4  # the newest second is not complete
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Stop the load").click()
        becomes(page.locator("#link").inner_text, "stopping: JMeter finishes its running samples")
        assert stops == [1]


def test_a_wrong_address_is_refused_and_nothing_is_started(refused):
    assert "--live=99999: not a whole number from 1024 to 65535" in refused("--live", "99999")
    assert "LIVE_TOKEN: shorter than 16 characters" in refused("--live", "0.0.0.0:8090", LIVE_TOKEN="short")
