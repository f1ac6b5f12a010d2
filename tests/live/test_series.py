"""One address for all runs of a command: a sweep, whose runs are its own, and a nightly run, which starts others."""

import http.client
import json
import re

import pytest

from tests.nightly.test_nightly_driver import SUITE
from tests.support.processes import output_until
from tests.support.tiny import arguments_of_run, start_script

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


def test_the_page_of_a_sweep_shows_its_runs_one_after_the_other(home, tmp_path):
    levels = ("sweep", "--users", "1,2", "--duration", "1", "--warmup", "1", "--live", "1")
    process = start_script(levels[0], arguments_of_run(home, tmp_path, levels[1:]), tmp_path, "works", {})
    viewer = Follower(process)
    first = viewer.until(lambda message: message["end"])
    assert first["run"] == "tiny/run-01_1"
    counted = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text())
    total = (counted["whole"] or counted["groups"][0])["total"]["sample_count"]
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


def test_the_page_of_a_nightly_run_shows_a_child_and_its_button_interrupts_the_whole(home, tmp_path):
    suite = home / "env" / "nightly.toml"
    suite.write_text(SUITE.replace("duration = 2", "duration = 60"))
    reports = tmp_path / "reports" / "nightly"
    command = ["--suite", str(suite), "--home", str(home), "--reports", str(reports), "--live", "1"]
    process = start_script("nightly", [*command, "--build", str(tmp_path / "build")], tmp_path, "works", {})
    viewer = Follower(process)
    during = viewer.until(lambda message: len(message["points"]) > 1 and message["now"])
    assert during["heading"].startswith("run 1 of 1, tiny, 4 users")
    assert during["now"]["labels"]
    assert "Stop the whole nightly run</button>" in viewer.stop()
    over = viewer.until(lambda message: message["over"])
    assert "INTERRUPTED" in over["end"]["verdict"]
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert "stop: asked for on the live page" in out
