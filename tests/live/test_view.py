"""The live page of a run whose port is taken, and what a stop does."""

import http.client
from types import SimpleNamespace

import pytest

from harness.live.server import LiveServer
from harness.live.view import LiveRun
from harness.plan.goal import Goal
from harness.run.directory import RunDirectory
from tests.support.factories import closed_load, sample


@pytest.fixture
def charts(tmp_path):
    """A chart library of one empty script."""
    (tmp_path / "charts" / "chart.js" / "1.0" / "dist").mkdir(parents=True)
    (tmp_path / "charts" / "chart.js" / "1.0" / "dist" / "chart.min.js").write_text("// nothing")
    (tmp_path / "charts" / "chart.js" / "1.0" / "LICENSE.md").write_text("MIT")
    return tmp_path / "charts"


@pytest.fixture
def spec(monkeypatch):
    monkeypatch.setattr("harness.live.view.load_record", lambda *_: closed_load())
    plan = SimpleNamespace(goal=Goal(), once_labels=(), load=None)
    return SimpleNamespace(plan=plan, load=SimpleNamespace(duration_s=10.0))


def test_a_taken_port_is_one_line_and_the_run_goes_on(tmp_path, charts, spec):
    other = LiveServer(0, lambda *_: {}, lambda: None)
    lines = []
    with LiveRun(other.port, charts, pytest.fail, lines.append) as live:
        live.begin(RunDirectory(tmp_path / "tiny" / "run-01_1"), spec)
        live.add([sample()], 1.0)
    other.end()
    why = "Address already in use"
    assert lines == [f"LIVE: port {other.port} cannot be used ({why}); the run has no live page"]


def test_a_second_request_to_stop_does_not_end_jmeter_at_once(tmp_path, charts, spec):
    lines, stops = [], []
    with LiveRun(0, charts, lambda: stops.append(1), lines.append) as live:
        live.begin(RunDirectory(tmp_path / "tiny" / "run-01_1"), spec)
        port = int(lines[0].rstrip("/").rpartition(":")[2])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/")
        page = connection.getresponse().read().decode()
        token = page.rpartition('"token": "')[2].partition('"')[0]
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("POST", "/stop", headers={"X-Live-Token": token})
            assert connection.getresponse().status == 200
    assert stops == [1]
    assert lines[1:] == ["stop: asked for on the live page"]


def test_a_row_that_cannot_be_counted_ends_the_page_and_not_the_run(tmp_path, charts, spec):
    lines = []
    with LiveRun(0, charts, pytest.fail, lines.append) as live:
        live.begin(RunDirectory(tmp_path / "tiny" / "run-01_1"), spec)
        live.add([sample(sample_count=0)], 1.0)
        live.add([sample()], 2.0)
    assert len(lines) == 2
    assert lines[1].startswith("LIVE: the page is not updated any more (ZeroDivisionError(")
