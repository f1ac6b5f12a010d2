"""A traced run with a real JMeter: the trace ids that the server got are in the JTL, the report and the failures."""

import csv
import json
import re
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import element, flag, jmx, request, text
from tests.support.tiny import TINY_PLAN, TINY_PROFILE

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
SHOP = TINY_PLAN.replace("tiny.jmx", "shop.jmx").replace('system = "tiny"\n', "") + "[allow]\nredirects = true\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A traced run and one that is not, of three loops of one user: (directory, what the server saw) of each."""
    folder = tmp_path_factory.mktemp("traced")
    for name, content in (("plans/shop.jmx", PLAN), ("plans/shop.toml", SHOP), ("env/local.toml", TINY_PROFILE)):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    found = []
    for more in (["--trace"], []):
        seen = []
        with serving(Shop, seen=seen) as port:
            places = ("--home", folder, "--reports", folder / "reports", "--target", f"http://127.0.0.1:{port}")
            arguments = ("--plan", "shop", "--users", "1", "--loops", "3", *more)
            command("scripts/run", *arguments, *places, JMETER_HOME=str(toolchain.ensure_jmeter()))
        found.append((folder / "reports" / "shop" / f"run-01_{len(found) + 1}", seen))
    return found


def rows_of(directory):
    with (directory / "samples.jtl").open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_request_carries_a_wellformed_header_with_a_fresh_id(runs):
    _, seen = runs[0]
    assert len(seen) == 3 * 5
    assert len({TRACEPARENT.fullmatch(header)[1] for _, header, _ in seen}) == 15
    assert len({TRACEPARENT.fullmatch(header)[2] for _, header, _ in seen}) == 15
    # The span of a request is known by its trace id alone.
    assert all(TRACEPARENT.fullmatch(header)[1].startswith(TRACEPARENT.fullmatch(header)[2]) for _, header, _ in seen)
    assert [own for path, _, own in seen if path == "/page"].count("yes") == 3  # the plan's own headers stay


def test_each_row_has_the_id_of_its_own_request(runs):
    directory, seen = runs[0]
    rows = rows_of(directory)
    of_requests = [row["trace_id"] for row in rows if row["label"] not in ("Visit", "Moved", "No request")]
    assert of_requests == [TRACEPARENT.fullmatch(header)[1] for _, header, _ in seen]
    assert {row["trace_id"] for row in rows if row["label"] in ("Visit", "No request")} == {""}
    # The sample of a redirect has the id of the last request.
    last = [row["trace_id"] for row in rows if row["label"] == "Moved-1"]
    assert [row["trace_id"] for row in rows if row["label"] == "Moved"] == last


def test_the_report_has_the_ids_of_slow_and_failed_samples(runs):
    directory, seen = runs[0]
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


def test_without_trace_no_request_carries_the_header_and_the_jtl_has_no_column(runs):
    directory, seen = runs[1]
    assert len(seen) == 15
    assert {header for _, header, _ in seen} == {None}
    assert "trace_id" not in rows_of(directory)[0]
    assert "Slowest samples" not in directory.with_suffix(".md").read_text()
