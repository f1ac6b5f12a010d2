"""The failed requests that a run with a real JMeter stores, and that a report links."""

import json
import re
from collections import defaultdict
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.install import toolchain
from harness.run.jmeter.exchanges import parse_exchanges
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request, text
from tests.support.shop_runs import make_home
from tests.support.tiny import TINY_PROFILE

pytestmark = pytest.mark.real
TOKEN = "tk-4711-secret-of-the-day"


class Shop(BaseHTTPRequestHandler):
    """A page, an order that fails with an id of its own each time, and a huge answer that fails."""

    def do_GET(self):
        self.count[0] += 1
        self.sent[self.path].add(self.headers.get("traceparent"))
        code = 200 if self.path == "/page" else 500
        body = b"out of stock " * 100_000 if self.path == "/huge" else b"order %d failed" % self.count[0]
        self.send_response(code)
        self.send_header("X-Order-Token", TOKEN)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


TEXT = element(
    "ResponseAssertion",
    "Text",
    '<collectionProp name="Asserion.test_strings"><stringProp name="1">thank you</stringProp></collectionProp>',
    text("Assertion.test_field", "Assertion.response_data"),
    '<intProp name="Assertion.test_type">16</intProp>',
)
PLAN = jmx(
    request(name="Page", path="/page")
    + request(name="Order", path="/order", below=TEXT)
    + request(name="Huge", path="/huge")
    + element("ConstantTimer", "Pause", text("ConstantTimer.delay", "5"))
)


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One run in which two of three labels always fail: its directory, and the traceparents of each path."""
    folder = tmp_path_factory.mktemp("failures")
    profile = TINY_PROFILE.replace("overrun_s = 1", "overrun_s = 30")
    make_home(folder, PLAN, profile=profile)
    reports = folder / "reports"
    sent = defaultdict(set)
    with serving(Shop, count=[0], sent=sent) as port:
        folders = ("--home", folder, "--reports", reports)
        arguments = ("--plan", "shop", "--target", f"http://127.0.0.1:{port}", "--users", "4", "--duration", "3")
        command("scripts/run", *arguments, *folders, JMETER_HOME=str(toolchain.ensure_jmeter()))
    return reports / "shop" / "run-01_1", sent


@pytest.fixture
def failed_run(ran):
    """The directory of the run."""
    return ran[0]


def test_the_first_three_failures_of_each_cause_are_stored_whatever_their_number(failed_run):
    stored = parse_exchanges((failed_run / "failures.jsonl").read_text())
    assert sorted(one.label for one in stored) == ["Huge"] * 3 + ["Order"] * 3
    orders = [one for one in stored if one.label == "Order"]
    assert all(re.fullmatch(r"order \d+ failed", one.response_body) for one in orders)
    assert "thank you" in orders[0].failure
    assert (orders[0].assertions[0].name, orders[0].assertions[0].is_passed) == ("Text", False)
    rows = (failed_run / "samples.jtl").read_text().count(",Order,")
    assert rows > 10


def test_a_huge_response_is_cut(failed_run):
    stored = parse_exchanges((failed_run / "failures.jsonl").read_text())
    [body, *_] = [one.response_body for one in stored if one.label == "Huge"]
    assert 12_000 < len(body) <= 16_385
    assert body.endswith("…")
    assert (failed_run / "failures.jsonl").stat().st_size < 100_000


def test_the_report_links_them_and_the_page_has_them(failed_run):
    report = failed_run.with_suffix(".md").read_text()
    links = re.findall(r"\| (Order|Huge) \|.*\[3\]\(run-01_1/failures\.html#(error-\d)\) \|", report)
    assert {label for label, _ in links} == {"Order", "Huge"}
    page = (failed_run / "failures.html").read_text()
    assert set(re.findall(r'<h2 id="(error-\d)"', page)) == {anchor for _, anchor in links}
    summary = json.loads(failed_run.with_suffix(".json").read_text())
    assert sorted((one["label"], one["count"]) for one in summary["stored_failures"]) == [("Huge", 3), ("Order", 3)]


def test_a_token_that_a_response_names_is_nowhere_in_the_files(failed_run):
    files = [path for path in failed_run.parent.rglob("*") if path.is_file()]
    assert failed_run / "failures.jsonl" in files
    assert [path.name for path in files if TOKEN.encode() in path.read_bytes()] == []
    assert not (failed_run / ".exchanges.jsonl").exists()


def test_without_trace_no_request_carries_the_header_and_the_jtl_has_no_column(ran):
    directory, sent = ran
    assert [sent[path] for path in ("/page", "/order", "/huge")] == [{None}] * 3
    assert "trace_id" not in (directory / "samples.jtl").read_text().partition("\n")[0]
    assert "Slowest samples" not in directory.with_suffix(".md").read_text()
