"""The live page of a command: a taken port, a stop, and the runs of a series on one address."""

import http.client
import json
from types import SimpleNamespace

import pytest

from harness.live.page_address import LiveAddress
from harness.live.server import LiveServer
from harness.live.state import SECOND
from harness.live.view import LiveView
from harness.plan.goal import Goal
from harness.report.charts.run_charts import CHARTS
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, failed, record, sample, two_users
from tests.support.processes import becomes, wait_for
from tests.support.summaries import summary_of


@pytest.fixture
def charts(tmp_path):
    """A chart library of one empty script."""
    (tmp_path / "charts" / "chart.js" / "1.0" / "dist").mkdir(parents=True)
    (tmp_path / "charts" / "chart.js" / "1.0" / "dist" / "chart.min.js").write_text("// nothing")
    (tmp_path / "charts" / "chart.js" / "1.0" / "LICENSE.md").write_text("MIT")
    return tmp_path / "charts"


@pytest.fixture
def spec(monkeypatch):
    monkeypatch.setattr("harness.live.view.load_record", lambda *_: closed_load(duration_s=100.0, loops=None))
    plan = SimpleNamespace(goal=Goal(), once_labels=(), load=None)
    return SimpleNamespace(plan=plan, load=SimpleNamespace(duration_s=10.0), hidden=("s3cret-word",))


@pytest.fixture
def view(charts):
    """Return a view that writes into a list, and counts its stops in another."""
    lines, stops = [], []
    with LiveView(LiveAddress(), charts, "the whole sweep", lambda: stops.append(1), lines.append) as opened:
        opened.lines, opened.stops = lines, stops
        yield opened


def port_of(view):
    return int(view.lines[0].rstrip("/").rpartition(":")[2])


def page_of(view):
    connection = http.client.HTTPConnection("127.0.0.1", port_of(view), timeout=10)
    connection.request("GET", "/")
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def message_of(view):
    """The first event that a new viewer gets."""
    connection = http.client.HTTPConnection("127.0.0.1", port_of(view), timeout=10)
    connection.request("GET", "/events")
    answer = connection.getresponse()
    while not (line := answer.readline()).startswith(b"data:"):
        assert line
    answer.close()
    connection.close()
    return json.loads(line.removeprefix(b"data:"))


def directory(tmp_path, number=1):
    return RunDirectory(tmp_path / "tiny" / f"run-01_{number}")


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
def test_a_taken_port_is_one_line_and_the_run_goes_on(tmp_path, charts, spec, host):
    other = LiveServer(LiveAddress(), lambda *_: {}, lambda: None)
    lines = []
    address = LiveAddress("127.0.0.1", other.port, "a token" if host else "")
    with LiveView(address, charts, "the load", pytest.fail, lines.append) as view:
        view.announce("run 1 of 2")
        view.begin(directory(tmp_path), spec)
        view.add([sample()], 1.0)
        view.conclude("VALID")
    where = f"{host}:{other.port}" if host else other.port
    other.end()
    assert lines == [f"--live={where} cannot be used (Address already in use); there is no live page"]


def test_a_host_that_is_another_machine_is_one_line_too(tmp_path, charts, spec):
    lines = []
    with LiveView(LiveAddress("192.0.2.1", 8090, "a token"), charts, "the load", pytest.fail, lines.append) as view:
        view.begin(directory(tmp_path), spec)
    assert lines == ["--live=192.0.2.1:8090 cannot be used (Cannot assign requested address); there is no live page"]


def test_a_second_request_to_stop_does_not_end_jmeter_at_once(tmp_path, view, spec):
    view.begin(directory(tmp_path), spec)
    page = page_of(view)
    assert "Stop the whole sweep</button>" in page
    token = page.rpartition('"token": "')[2].partition('"')[0]
    for _ in range(2):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(view), timeout=10)
        connection.request("POST", "/stop", headers={"X-Live-Token": token})
        assert connection.getresponse().status == 200
    assert view.stops == [1]
    assert view.lines[1:] == ["stop: requested on the live page"]


def test_a_row_that_cannot_be_counted_ends_the_page_and_not_the_run(tmp_path, view, spec):
    view.begin(directory(tmp_path), spec)
    view.add([sample(sample_count=0)], 1.0)
    view.add([sample()], 2.0)
    assert len(view.lines) == 2
    assert view.lines[1].startswith("--live: the page is not updated any more (ZeroDivisionError(")


def test_one_address_shows_each_run_of_a_series_and_the_results_before_it(tmp_path, view, spec):
    view.announce("sweep-01: level 1 of 2, 5 users; about 5 min left")
    before = message_of(view)
    assert (before["run"], before["starting"], before["points"], before["earlier"]) == ("", True, [], [])
    assert before["heading"] == "sweep-01: level 1 of 2, 5 users; about 5 min left"
    assert "Before the first run" in page_of(view)

    view.begin(directory(tmp_path), spec)
    view.add([sample()], 1.0)
    summary = summary_of(two_users(), record())
    view.end(summary, "run-01_1.md")
    view.conclude("run-01_1: VALID, p90 1000 ms")
    view.announce("sweep-01: level 2 of 2, 9 users; about 2 min left")
    between = message_of(view)
    assert (between["run"], between["starting"], between["over"]) == ("tiny/run-01_1", True, False)
    assert between["end"]["report"] == "run-01_1.md"
    assert ["p90 ≤ 1000 ms", "1000 ms", "met"] in between["end"]["goals"]
    assert [tile[:2] for tile in between["end"]["tiles"][:2]] == [["users", "2"], ["samples", "100"]]

    view.begin(directory(tmp_path, 2), spec)
    during = message_of(view)
    assert (during["run"], during["starting"], during["end"]) == ("tiny/run-01_2", False, None)
    assert (during["points"], during["now"]) == ([], None)  # nothing of the run before
    assert during["earlier"] == [["sweep-01: level 1 of 2, 5 users", "run-01_1: VALID, p90 1000 ms"]]
    assert "tiny/run-01_2" in page_of(view)
    assert len(view.lines) == 1  # the address is printed once


def test_a_new_viewer_gets_the_clock_of_now_and_no_tables_that_the_last_viewer_left(tmp_path, view, spec):
    view.begin(directory(tmp_path), spec)
    viewer = http.client.HTTPConnection("127.0.0.1", port_of(view), timeout=10)
    viewer.request("GET", "/events")
    answer = viewer.getresponse()
    server = view._server
    becomes(lambda: server.viewer_count, 1)
    view.add([sample()], 5.0)
    shown = json.loads(next(line for line in answer if b'"TOTAL"' in line).removeprefix(b"data:"))
    assert (shown["clock"], shown["now"]["labels"][-1][:2]) == ("0:05 passed, 1:35 left", ["TOTAL", "1"])
    answer.close()
    viewer.close()
    wait_for(lambda: server.publish() or server.viewer_count == 0)  # a write fails: the viewer is gone
    view.add([sample()], 9.0)
    message = message_of(view)
    assert (message["clock"], message["now"]) == ("0:09 passed, 1:31 left", None)


def test_a_run_that_failed_is_listed_with_its_line(view):
    view.announce("run 1 of 2, tiny")
    view.conclude("lth run ended with code 2: no Java")
    assert message_of(view)["earlier"] == [["run 1 of 2, tiny", "lth run ended with code 2: no Java"]]


def test_a_secret_of_the_run_is_on_no_page(tmp_path, view, spec):
    view.begin(directory(tmp_path), spec)
    view.end(summary_of([failed(failure="not s3cret-word")], record()), "run-01_1.md")
    view.announce("next")
    view.begin(directory(tmp_path, 2), spec)
    view.add([failed("Log in s3cret-word", failure="expected s3cret-word")], 1.0)
    view.end(summary_of(two_users(), record()), "run-01_2.md")
    now = message_of(view)["now"]
    assert now["causes"] == [["Log in •••", "402", "expected •••", "1"]]
    assert [row[0] for row in now["labels"]] == ["Log in •••", "TOTAL"]


def test_the_page_draws_the_charts_of_the_table_that_are_live(tmp_path, view, spec, monkeypatch):
    added = CHARTS[-1]._replace(title="Failures <", unit="per s", live=("errors", "p99"))
    monkeypatch.setattr("harness.live.view.CHARTS", (*CHARTS, added))
    view.begin(directory(tmp_path), spec)
    start = page_of(view).rpartition("startLive(")[2].partition(");\n")[0]
    *others, last = json.loads(start)["charts"]
    assert [chart["title"] for chart in others] == ["Response time", "Throughput", "Errors", "Users"]
    assert last == {
        "key": added.name,
        "title": "Failures <",
        "unit": "per s",
        "lines": {"errors": 3, "p99": 7},
        "cells": None,
    }
    assert others[0]["lines"] == {"p50": 4, "p95": 6}
    assert others[0]["cells"] == SECOND.index("cells") == 8
    assert (SECOND[3], SECOND[7]) == ("errors", "p99")
