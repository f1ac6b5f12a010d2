"""A run in parts with real JMeters: here and by a real sshd; parts are killed, frozen, cut off and left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import psutil
import pytest

from harness.base.errors import EXIT_INVALID
from harness.report.files import stored_summary
from harness.run.directory import RunDirectory
from harness.run.group_counts import NO_DATA
from harness.run.record import RowsRecord
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request, text
from tests.support.paths import ROOT
from tests.support.processes import becomes, wait_for, words_of
from tests.support.shop_runs import make_home
from tests.support.ssh_machines import SSHD, ssh_machines

ROWS = 400
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
AHEAD_MS = 700
# libfaketime breaks the sleep of Python 3.11, and with FORCE_MONOTONIC_FIX that of Java.
OTHER_CLOCK = f"""\
import time
wall, wall_ns = time.time, time.time_ns
time.time, time.time_ns = (lambda: wall() + {AHEAD_MS} / 1000), (lambda: wall_ns() + {AHEAD_MS} * 1_000_000)
"""
OTHER_JAVA = f"""\
#!/bin/sh
export FAKETIME_FORCE_MONOTONIC_FIX=0 LD_PRELOAD={FAKETIME} FAKETIME=+{AHEAD_MS / 1000}s DONT_FAKE_MONOTONIC=1
exec {shutil.which("java")} "$@"
"""


class Shop(BaseHTTPRequestHandler):
    """Stores which rows it gets, and when."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.got.append((self.path.lstrip("/"), time.time()))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def shop(tmp_path):
    """The target, the rows that it got, and a home whose plan requests each row of a file once; labels are the rows."""
    got = []
    rows = element(
        "CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "row"), text("recycle", "false"),
        text("stopThread", "true"), text("shareMode", "shareMode.all"),
    )  # fmt: skip
    pause = element("ConstantTimer", "Pause", text("ConstantTimer.delay", "${__P(pause_ms,20)}"))
    (tmp_path / "home").mkdir()
    make_home(tmp_path / "home", jmx(request(path="/${row}", name="${row}", below=pause), beside=rows))
    (tmp_path / "home" / "plans" / "rows.csv").write_text("".join(f"r{number}\n" for number in range(ROWS)))
    with serving(Shop, got=got) as port:
        yield f"http://127.0.0.1:{port}", got, tmp_path / "home"


class Runs:
    """Runs of the shop in parts, in processes of their own."""

    def __init__(self, shop, folder, on, path=""):
        self.target, self.got, self.home = shop
        self.reports, self.cache, self.on = folder / "reports", folder / "cache", on
        own = {"XDG_CACHE_HOME": str(self.cache), "HARNESS_RUNS": str(folder / "runs")}
        self.environment = {**os.environ, **own, "PATH": f"{path}{os.environ['PATH']}"}
        self.out = folder / "out.txt"

    def start(self, *arguments):
        command = [
            sys.executable, ROOT / "harness" / "__main__.py", "run", "shop", f"--target={self.target}", "--users=5",
            f"--on={self.on}", f"--home={self.home}", f"--reports={self.reports}", "--compare=0", *arguments,
        ]  # fmt: skip
        with self.out.open("w") as out:
            return subprocess.Popen(command, env=self.environment, stdout=out, stderr=out)

    def to_the_end(self, *arguments):
        process = self.start(*arguments)
        code = process.wait(timeout=300)
        return code, self.out.read_text()

    def last(self):
        """The newest run."""
        runs = [path for path in (self.reports / "shop").iterdir() if path.is_dir()]
        return RunDirectory(max(runs, key=lambda path: path.stat().st_mtime))

    def wait_for_load(self):
        wait_for(lambda: len(self.got) > 20, 120.0)


def processes_with(text_there, program):
    """Return the processes whose command has a program, and whose environment or command has a text."""
    found = []
    for process in psutil.process_iter():
        try:
            command = " ".join(words_of(process))
            if program in command and (text_there in command or text_there in str(process.environ())):
                found.append(process)
        except psutil.Error:
            continue
    return found


def rows_of(directory):
    return [line for path in directory.all_samples for line in path.read_text().splitlines()[1:]]


@pytest.mark.real
def test_two_parts_here_are_one_run_with_each_row_once(shop, tmp_path):
    runs = Runs(shop, tmp_path, "local:2")
    code, out = runs.to_the_end("--duration=60")
    assert code == EXIT_INVALID, out
    assert "INVALID: All 5 users ended at " in out
    assert "5 users had no more rows of a data file" in out
    directory = runs.last()
    run = directory.read_run()
    assert Counter(row for row, _ in runs.got) == {f"r{number}": 1 for number in range(ROWS)}
    assert len(rows_of(directory)) == ROWS
    assert (run.rows, run.deaths) == (RowsRecord(ROWS, at_least=False, clock_step_ms=0), ())
    (users,) = run.groups
    assert (users.name, users.pause_count, sum(users.pause_ms)) == ("Users", ROWS, 20 * ROWS)
    assert 20 * ROWS < sum(users.alive_ms) <= 5 * 1000 * len(users.alive_ms)
    assert [end.cause for end in users.ended_early] == [NO_DATA]
    assert users.ended_early[0].count == 5
    assert [(one.name, one.users, one.is_local, one.clock_ahead_ms) for one in run.generators] == [
        ("local-1", 3, True, 0),
        ("local-2", 2, True, 0),
    ]
    assert (run.load.users, run.stop_reasons, run.other_runs, run.interrupted) == (5, (), (), False)
    assert run.exit_codes == {"generator local-1": 0, "generator local-2": 0}
    first_s = [int(path.read_text().splitlines()[1][:13]) / 1000 for path in directory.all_samples]
    assert abs(first_s[0] - first_s[1]) < 3.0  # both began at one moment, before their first answers
    telemetry = (directory.path / "telemetry.csv").read_text()
    assert all(f",{name}," in telemetry for name in ("host", "generator local-1", "generator local-2"))
    assert ",host local-1," not in telemetry  # it is this machine, which has its rows
    assert not list((runs.cache / "load-test-harness" / "parts" / "runs").iterdir())


SECOND = "127.0.0.3"
DRIVING = {"java": "ApacheJMeter", "harness": "__main__.py run", "relay": "r=sys.stdin"}


@pytest.fixture
def ssh_runs(shop, tmp_path):
    """Runs on two machines by ssh; the clock of the second is ahead. Nothing is left there."""
    if not (SSHD and FAKETIME.is_file()):
        pytest.skip("openssh-server or faketime is not installed")
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text(OTHER_CLOCK)
    (other / "java").write_text(OTHER_JAVA)
    (other / "java").chmod(0o755)
    caches = {address: str(tmp_path / f"cache-{address}") for address in ("127.0.0.2", SECOND)}
    own = {name: {"XDG_CACHE_HOME": cache, "HARNESS_RUNS": f"{cache}-runs"} for name, cache in caches.items()}
    own[SECOND] |= {"PATH": f"{other}:{os.environ['PATH']}", "PYTHONPATH": str(other)}
    with ssh_machines(tmp_path, own) as path:
        runs = Runs(shop, tmp_path, f"ssh:127.0.0.2,{SECOND}", f"{path}:")
        runs.caches = caches
        yield runs
        for cache in caches.values():
            becomes(lambda cache=cache: processes_with(cache, ""), [], 60.0)


@pytest.mark.counterpart
def test_the_rows_of_a_machine_whose_clock_is_ahead_have_the_times_of_this_one(ssh_runs):
    code, out = ssh_runs.to_the_end("--duration=60")
    assert code == 0, out
    directory = ssh_runs.last()
    first, second = directory.read_run().generators
    assert (first.clock_ahead_ms, first.clock_moved_ms) == (pytest.approx(0, abs=20), pytest.approx(0, abs=20))
    assert (second.clock_ahead_ms, second.clock_moved_ms) == (pytest.approx(AHEAD_MS, abs=20), pytest.approx(0, abs=20))
    assert Counter(row for row, _ in ssh_runs.got) == {f"r{number}": 1 for number in range(ROWS)}
    got_ms = {row: at_s * 1000 for row, at_s in ssh_runs.got}
    for path in directory.all_samples:
        rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
        late_ms = sorted(got_ms[label] - int(start_ms) for start_ms, _, label, *_ in rows)
        assert 0 <= late_ms[len(rows) // 2] < AHEAD_MS / 2  # without the correction one would be outside
    assert "clocks-apart" not in {warning.code for warning in stored_summary(directory).warnings}
    for cache in ssh_runs.caches.values():
        assert not list(Path(cache, "load-test-harness", "parts", "runs").iterdir())


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("programs", "number", "reason"),
    [
        (("java",), signal.SIGKILL, f"part {SECOND}: JMeter was killed by signal 9 (SIGKILL)"),
        (("harness",), signal.SIGKILL, f"part {SECOND} died: its harness was killed by signal 9"),
        (("relay",), signal.SIGKILL, f"part {SECOND} was lost: the connection ended with code 255"),
        (("relay", "harness", "java"), signal.SIGSTOP, f"part {SECOND} was lost: no answer for 20 s"),
    ],
)
def test_a_part_that_dies_or_freezes_is_named_and_the_run_is_invalid(ssh_runs, programs, number, reason):
    process = ssh_runs.start("--duration=120", "--properties=pause_ms=500")
    ssh_runs.wait_for_load()
    hit = [one for name in programs for one in processes_with(ssh_runs.caches[SECOND], DRIVING[name])]
    for one in hit:
        one.send_signal(number)
    assert process.wait(timeout=120) == 3
    for one in hit:
        if number == signal.SIGSTOP:
            one.send_signal(signal.SIGCONT)
    run = ssh_runs.last().read_run()
    assert run.stop_reasons == (reason,)
    assert f"INVALID: {reason}" in ssh_runs.out.read_text()
    assert all(len(path.read_text().splitlines()) > 2 for path in ssh_runs.last().all_samples)


@pytest.mark.counterpart
def test_a_part_without_its_link_ends_by_itself_and_is_named(ssh_runs):
    process = ssh_runs.start("--duration=120", "--properties=pause_ms=500")
    ssh_runs.wait_for_load()
    (client,) = (one for one in psutil.Process(process.pid).children() if SECOND in words_of(one))
    client.send_signal(signal.SIGSTOP)
    becomes(lambda: processes_with(ssh_runs.caches[SECOND], "ApacheJMeter"), [], 45.0)
    assert client.status() == psutil.STATUS_STOPPED
    assert process.wait(timeout=120) == 3
    assert ssh_runs.last().read_run().stop_reasons == (f"part {SECOND} was lost: no answer for 20 s",)


@pytest.mark.counterpart
def test_a_jmeter_that_was_frozen_for_a_while_makes_the_run_doubtful_and_is_named(ssh_runs):
    process = ssh_runs.start("--duration=120", "--properties=pause_ms=500")
    ssh_runs.wait_for_load()
    (java,) = processes_with(ssh_runs.caches[SECOND], "ApacheJMeter")
    java.send_signal(signal.SIGSTOP)
    time.sleep(6)
    java.send_signal(signal.SIGCONT)
    process.wait(timeout=120)
    summary = stored_summary(ssh_runs.last())
    found = {warning.code: warning.text for warning in summary.warnings}
    assert f"stopped generator {SECOND}: it sent nothing" in found["generator-stopped"]
    assert "clock-step" not in found
    assert summary.verdict.state == "DOUBTFUL"


@pytest.mark.counterpart
def test_what_parts_have_of_a_run_whose_launcher_was_killed_is_fetched_by_the_same_command(ssh_runs):
    process = ssh_runs.start("--duration=120", "--properties=pause_ms=500")
    ssh_runs.wait_for_load()
    process.kill()
    process.wait()
    for cache in ssh_runs.caches.values():
        becomes(lambda cache=cache: processes_with(cache, ""), [], 60.0)
    left, got = ssh_runs.last(), [row for row, _ in ssh_runs.got]
    code, out = ssh_runs.to_the_end("--duration=120", "--properties=pause_ms=500")
    assert code == 0, out
    assert f"shop/{left.name}: its launcher was killed; fetching what its parts have" in out
    run = left.read_run()
    assert (run.state, run.interrupted, run.stop_reasons) == ("finished", True, ())
    assert sorted(row.split(",")[2] for row in rows_of(left)) == sorted(got)
    assert "INTERRUPTED" in left.report.read_text()
    assert ssh_runs.last().name != left.name
