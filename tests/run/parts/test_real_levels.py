"""A sweep in parts with real JMeters: the users of each level are divided among machines that stay up."""

import json
import subprocess
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler

import psutil
import pytest

from harness.base.errors import EXIT_INVALID
from harness.run.directory import RunDirectory
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request, text
from tests.support.paths import ROOT
from tests.support.processes import wait_for, words_of
from tests.support.shop_runs import make_home

ROWS = 60


class Shop(BaseHTTPRequestHandler):
    """Counts the rows that it gets."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.got[self.path.lstrip("/")] += 1
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.real
@pytest.mark.counterpart
def test_each_level_of_a_sweep_is_divided_among_parts_that_stay_up(tmp_path):
    """A level with one user has one part; each level sends each row of the data file once."""
    rows = element(
        "CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "row"), text("recycle", "false"),
        text("stopThread", "true"), text("shareMode", "shareMode.all"),
    )  # fmt: skip
    pause = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "30"))
    home, reports, got = tmp_path / "home", tmp_path / "reports", Counter()
    home.mkdir()
    make_home(home, jmx(request(path="/${row}", name="Row", below=pause), beside=rows))
    (home / "plans" / "rows.csv").write_text("".join(f"r{number}\n" for number in range(ROWS)))
    with serving(Shop, got=got) as port:
        command = [
            sys.executable, ROOT / "harness" / "__main__.py", "sweep", "shop", f"--target=http://127.0.0.1:{port}",
            "--on=local:2", "-u", "1,5", "--duration=20", "--warmup=0", f"--home={home}", f"--reports={reports}",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == EXIT_INVALID, done.stdout + done.stderr  # the rows end before the load
    assert got == {f"r{number}": 2 for number in range(ROWS)}
    folder = reports / "shop"
    [path] = folder.glob("sweep-*.json")
    sweep = json.loads(path.read_text())
    assert [run["users"] for run in sweep["runs"]] == [1, 5]
    directories = [RunDirectory(folder / run["run"]) for run in sweep["runs"]]
    users = [[(one.name, one.users) for one in directory.read_run().generators] for directory in directories]
    assert users == [[("local-1", 1)], [("local-1", 3), ("local-2", 2)]]
    assert [directory.read_run().stop_reasons for directory in directories] == [(), ()]
    counts = [sum(len(one.read_text().splitlines()) - 1 for one in run.all_samples) for run in directories]
    assert counts == [ROWS, ROWS]
    assert directories[1].read_run().command.endswith("--users=5")
    assert " --on=local:2 " in directories[1].read_run().command


@pytest.mark.counterpart
def test_a_part_that_is_killed_in_a_level_is_there_again_in_the_next_one(tmp_path):
    """Its level is INVALID with the part's name."""
    home, reports, got = tmp_path / "home", tmp_path / "reports", Counter()
    home.mkdir()
    make_home(home, jmx(request(below=element("ConstantTimer", "Pause", text("ConstantTimer.delay", "30")))))
    with serving(Shop, got=got) as port:
        command = [
            sys.executable, ROOT / "harness" / "__main__.py", "sweep", "shop", f"--target=http://127.0.0.1:{port}",
            "--on=local:2", "-u", "4,6", "--duration=10", "--warmup=0", f"--home={home}", f"--reports={reports}",
        ]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            wait_for(lambda: got.total() > 30, 120.0)
            relays = [one for one in psutil.Process(process.pid).children() if "relay" in " ".join(words_of(one))]
            assert len(relays) == 2
            relays[1].kill()
            out, _ = process.communicate(timeout=200)
    assert process.returncode == 3, out
    [path] = (reports / "shop").glob("sweep-*.json")
    runs = [RunDirectory(reports / "shop" / run["run"]).read_run() for run in json.loads(path.read_text())["runs"]]
    assert [[one.users for one in run.generators] for run in runs] == [[2, 2], [3, 3]]
    assert runs[1].stop_reasons == ()
    (reason,) = runs[0].stop_reasons
    assert reason.startswith("part local-") and " was lost: " in reason
