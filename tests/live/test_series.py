"""One address for all runs of a command: a sweep, whose runs are its own, and a nightly run, which starts others."""

import http.client
import json
import re
import threading
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from harness.base.ports import free_port
from tests.kinds.nightly.test_nightly_driver import SUITE
from tests.support.otlp_receiver import attributes, receiving
from tests.support.processes import output_until
from tests.support.tiny import arguments_of_run, run_json, start_script

pytestmark = pytest.mark.real


class Follower:
    """A viewer of the events of a command that runs; the address is in what it prints."""

    def __init__(self, process):
        found = re.search(r"live page: http://127\.0\.0\.1:(\d+)/\n", output_until(process, "/\n"))
        self.port = int(found[1])
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        self._connection.request("GET", "/events")
        self._answer = self._connection.getresponse()

    def until(self, is_wanted):
        """Return the first message that is wanted, or None at the end of the events."""
        while line := self._answer.readline():
            if line.startswith(b"data:"):
                message = json.loads(line.removeprefix(b"data:"))
                if is_wanted(message):
                    return message
        return None

    def stop(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request("GET", "/")
        page = connection.getresponse().read().decode()
        token = page.rpartition('"token": "')[2].partition('"')[0]
        connection.request("POST", "/stop", headers={"X-Live-Token": token})
        assert connection.getresponse().status == 200
        connection.close()
        return page


class Scrapes:
    """The values that Prometheus would have, by metric and run, summed over labels; it asks until nobody answers."""

    def __init__(self):
        self.port = free_port()
        self.values = {}
        self._thread = threading.Thread(target=self._scrape, daemon=True)
        self._thread.start()

    def joined(self):
        self._thread.join(20)
        return self.values

    def _scrape(self):
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            try:
                connection.request("GET", "/metrics", headers={"X-Prometheus-Scrape-Timeout-Seconds": "1"})
                text = connection.getresponse().read().decode()
            except OSError:
                if self.values:
                    return
            else:
                self._take(text)
            connection.close()
            time.sleep(0.2)

    def _take(self, text):
        found = {}
        for family in text_string_to_metric_families(text):
            for one in family.samples:
                if "run" in one.labels:
                    key = one.name.removeprefix("loadtest_"), one.labels["run"]
                    found[key] = found.get(key, 0) + one.value
        self.values |= found


def sample_count(summary):
    """The samples of the whole load, without setUp and tearDown."""
    return (summary["whole"] or summary["groups"][0])["total"]["sample_count"]


def last_sent(receiver):
    """The requests of the load in the last export of each run."""
    found = {}
    for _, request in receiver.requests:
        run = attributes(request.resource_metrics[0].resource)["loadtest.run"]
        metrics = {metric.name: metric for metric in request.resource_metrics[0].scope_metrics[0].metrics}
        if "loadtest.requests" in metrics:
            found[run] = sum(point.as_int for point in metrics["loadtest.requests"].sum.data_points)
    return found


@pytest.mark.counterpart
def test_a_sweep_has_one_page_one_address_of_metrics_and_one_receiver_for_its_runs(home, tmp_path):
    scrapes = Scrapes()
    with receiving() as receiver:
        levels = ["--users", "1,2", "--duration", "1", "--warmup", "1", "--live", "1"]
        levels += ["--metrics", str(scrapes.port), "--otlp", receiver.url]
        process = start_script("sweep", arguments_of_run(home, tmp_path, levels), tmp_path, "works", {})
        viewer = Follower(process)
        first = viewer.until(lambda message: message["end"])
        assert first["run"] == "tiny/run-01_1"
        reports = tmp_path / "reports" / "tiny"
        total = sample_count(json.loads((reports / "run-01_1.json").read_text()))
        assert sum(point[2] for point in first["points"]) == total  # without those of the warm-up
        second = viewer.until(lambda message: message["run"] == "tiny/run-01_2")
        ((level, line),) = second["earlier"]
        assert level == "tiny/sweep-01: level 1 of 2, 1 user"
        assert line.startswith("tiny/run-01_1: ")
        over = viewer.until(lambda message: message["over"])
        assert [row[0] for row in over["earlier"]] == [level, "tiny/sweep-01: level 2 of 2, 2 users"]
        out, _ = process.communicate(timeout=60)
    assert "live page" not in out  # it was printed once
    assert "report: " in out
    # The target was never lost, or the last values of the second run would be missing.
    scraped, sent = scrapes.joined(), last_sent(receiver)
    for name in ("run-01_1", "run-01_2"):
        total, run = sample_count(json.loads((reports / f"{name}.json").read_text())), f"tiny/{name}"
        assert (scraped["requests_total", run], scraped["run_ended", run], sent[run]) == (total, 1, total)
        assert run_json(tmp_path / "reports", name)["otlp"]["lost_export_count"] == 0


@pytest.mark.counterpart
def test_a_nightly_run_shows_and_sends_a_child_and_the_button_interrupts_the_whole(home, tmp_path):
    suite = home / "env" / "nightly.toml"
    suite.write_text(SUITE.replace("duration = 2", "duration = 60"))
    reports = tmp_path / "reports" / "nightly"
    scrapes = Scrapes()
    with receiving() as receiver:
        command = ["--suite", str(suite), "--home", str(home), "--reports", str(reports), "--live", "1"]
        command += ["--metrics", str(scrapes.port), "--otlp", receiver.url, "--build", str(tmp_path / "build")]
        process = start_script("nightly", command, tmp_path, "works", {})
        viewer = Follower(process)
        during = viewer.until(lambda message: len(message["points"]) > 1 and message["now"])
        assert during["heading"].startswith("run 1 of 1, tiny, 4 users")
        assert during["now"]["labels"]
        assert "Stop the whole nightly run</button>" in viewer.stop()
        over = viewer.until(lambda message: message["over"])
        assert "INTERRUPTED" in over["end"]["verdict"]
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "stop: requested on the live page" in out
    (path,) = (reports / "tiny").glob("run-*.json")
    total, run = sample_count(json.loads(path.read_text())), f"tiny/{path.stem}"
    assert 0 < scrapes.joined()["requests_total", run] <= total
    assert last_sent(receiver) == {run: total}
    assert run_json(reports, path.stem)["otlp"]["lost_export_count"] == 0
