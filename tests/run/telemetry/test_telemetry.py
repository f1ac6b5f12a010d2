import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from harness.metrics.downsampling import SERIES_POINTS_MOST
from harness.metrics.interval import IntervalMs
from harness.run.telemetry.table import COLUMNS, ProcessStop, UsageSeries, read_telemetry
from harness.run.telemetry.writer import TelemetryWriter
from tests.support.processes import becomes

ROWS = """time_ms,process,cpu_cores,rss_bytes,thread_count
1000,jmeter,0.500,100,10
1000,host,1.000,5000,
2000,jmeter,1.500,300,12
3000,jmeter,0.100,900,99
2000,jme"""


def test_use_is_averaged_over_the_given_interval_and_torn_rows_are_skipped():
    jmeter, host = read_telemetry(ROWS.splitlines(), IntervalMs(0, 9000), IntervalMs(1000, 2000)).usages
    assert (jmeter.process, jmeter.second_count, jmeter.cpu_cores_mean, jmeter.cpu_cores_max) == ("jmeter", 2, 1.0, 1.5)
    assert (jmeter.rss_bytes_mean, jmeter.rss_bytes_max, jmeter.thread_count_max) == (200.0, 300, 12)
    assert (host.process, host.thread_count_max) == ("host", None)


def test_the_series_of_a_process_is_in_seconds_after_the_start_of_the_run():
    jmeter, host = read_telemetry(ROWS.splitlines(), IntervalMs(500, 2000), IntervalMs(1000, 1000)).series
    assert jmeter == UsageSeries("jmeter", (0.5, 1.5), (0.5, 1.5), (100, 300))
    assert host == UsageSeries("host", (0.5,), (1.0,), (5000,))


def test_a_process_that_a_signal_stopped_is_recorded_until_it_continues(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as process:
        writer = TelemetryWriter(tmp_path / "telemetry.csv", {"jmeter": process.pid})
        lines, now_ms = [",".join(COLUMNS)], 1000
        for number, state in (
            (0, "sleeping"),
            (signal.SIGSTOP, "stopped"),
            (0, "stopped"),
            (signal.SIGCONT, "sleeping"),
        ):
            process.send_signal(number)
            becomes(psutil.Process(process.pid).status, state)
            rows = [(now_ms, *row[1:]) for row in writer.rows(1.0)]
            lines += [",".join(map(str, row)) for row in rows]
            now_ms += 1000
        process.kill()
    found = read_telemetry(lines, IntervalMs(0, 9000), IntervalMs(0, 9000))
    assert found.stops == (ProcessStop("jmeter", 1.0, 3.0),)


@pytest.mark.parametrize(("cores", "processes"), [("0.000", ["host"]), ("0.250", ["host", "stolen"])])
def test_stolen_time_is_listed_only_when_there_is_any(cores, processes):
    rows = f"{','.join(COLUMNS)}\n1000,host,1.000,5000,\n1000,stolen,{cores},0,\n"
    found = read_telemetry(rows.splitlines(), IntervalMs(0, 2000), IntervalMs(0, 2000))
    assert [usage.process for usage in found.usages] == processes
    assert [one.process for one in found.series] == processes


@pytest.mark.parametrize(("steal", "host", "stolen"), [(0.0, 1.5, 0.0), (0.5, 1.0, 0.5)])
def test_stolen_time_is_not_the_use_of_the_host(tmp_path, monkeypatch, steal, host, stolen):
    # Two cores that were busy for 1.5 of 2 s; of that the hypervisor took `steal`.
    times = namedtuple("times", "user idle iowait steal guest")
    ticks = iter([times(0.0, 0.0, 0.0, 0.0, 0.0), times(1.5 - steal, 0.5, 0.0, steal, 0.0)])
    monkeypatch.setattr(psutil, "cpu_times", lambda: next(ticks))
    writer = TelemetryWriter(tmp_path / "telemetry.csv", {})
    writer.rows(1.0)
    found = {row[1]: float(row[2]) for row in writer.rows(1.0)}
    assert (found["host"], found["stolen"]) == (host, stolen)


def test_a_long_series_is_drawn_as_means_of_a_few_seconds():
    # 1,500 seconds become means of four: 0..3 s, 4..7 s, …, each with one second of 4 cores and three idle ones.
    rows = [f"{1000 * second},jmeter,{4 if second % 4 == 0 else 0},{second},9" for second in range(1500)]
    (jmeter,) = read_telemetry([ROWS.splitlines()[0], *rows], IntervalMs(0, 2_000_000), IntervalMs(0, 0)).series
    assert len(jmeter.seconds) == 375 <= SERIES_POINTS_MOST
    assert set(jmeter.cpu_cores) == {1.0}
    assert (jmeter.seconds[:2], jmeter.rss_bytes[1], jmeter.seconds[-1]) == ((1.5, 5.5), 6, 1497.5)


def test_resources_of_the_system_and_the_host_have_values_per_part_of_the_window_and_limits():
    # A window of one minute: a part is one second. The shop has no limit of its own, and the host had 3,000 bytes left.
    rows = [
        "1000,host,1.0,5000,,,,,8000,700,1000",
        "1000,shop,0.5,100,10,30,1024,4,,,",
        "2000,shop,0.5,120,11,,,,,,",
        "2000,jmeter,0.5,900,99,,,,,,",
        "90000,shop,0.5,999,99,,,,,,",
    ]
    head = "time_ms,process,cpu_cores,rss_bytes,thread_count,"
    head += "open_files,open_files_limit,sockets,memory_limit_bytes,disk_used_bytes,disk_size_bytes"
    found = {
        (one.process, one.resource): (one.points, one.limit)
        for one in read_telemetry([head, *rows], IntervalMs(0, 99_999), IntervalMs(0, 59_999)).resources
    }
    assert found == {
        ("host", "rss_bytes"): (((1.5, 5000.0),), 8000),
        ("host", "disk_used_bytes"): (((1.5, 700.0),), 1000),
        ("shop", "rss_bytes"): (((1.5, 100.0), (2.5, 120.0)), 3120.0),
        ("shop", "thread_count"): (((1.5, 10.0), (2.5, 11.0)), None),
        ("shop", "open_files"): (((1.5, 30.0),), 1024),
        ("shop", "sockets"): (((1.5, 4.0),), None),
    }


@contextmanager
def busy_shell() -> Iterator[subprocess.Popen[bytes]]:
    """Start a shell that waits for a busy child; the child has started, so the first look at its family finds it."""
    command = f"{sys.executable} -c 'while True: pass' & echo; wait"
    with subprocess.Popen(["sh", "-c", command], start_new_session=True, stdout=subprocess.PIPE) as shell:
        assert shell.stdout
        shell.stdout.readline()
        yield shell


@pytest.mark.real
def test_cpu_of_busy_processes_and_their_children_is_measured(tmp_path):
    path = tmp_path / "telemetry.csv"
    with busy_shell() as shell, TelemetryWriter(path, {"nginx": shell.pid, "gone": 2**22 - 1}):
        begin_s, own_s = time.monotonic(), time.process_time()
        while time.monotonic() < begin_s + 2.3:
            sum(range(1000))
        (child,) = psutil.Process(shell.pid).children()
        took_s = time.monotonic() - begin_s
        own_cores, child_cores = (time.process_time() - own_s) / took_s, child.cpu_times().user / took_s
        os.killpg(shell.pid, signal.SIGKILL)
    uses = read_telemetry(path.read_text().splitlines(), IntervalMs(0, 2**63), IntervalMs(0, 2**63)).usages
    found = {usage.process: usage for usage in uses}
    assert set(found) - {"stolen"} == {"nginx", "harness", "host"}
    # On a machine that does other things as well nobody gets a whole core.
    assert found["harness"].cpu_cores_mean == pytest.approx(own_cores, abs=0.3)
    assert found["harness"].cpu_cores_max > 0.1
    assert found["harness"].rss_bytes_min > 1_000_000
    assert found["harness"].thread_count_max >= 2
    # The shell waits and uses nothing; the busy process that it started is counted with it.
    assert found["nginx"].cpu_cores_mean == pytest.approx(child_cores, abs=0.3)
    assert found["nginx"].cpu_cores_max > 0.1
    assert found["nginx"].thread_count_max == 2


def test_an_ended_process_without_memory_has_no_row(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as child:
        writer = TelemetryWriter(tmp_path / "telemetry.csv", {"jmeter": child.pid})
        assert "jmeter" in {row[1] for row in writer.rows(1.0)}
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and remains as a zombie
        assert psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE
        assert "jmeter" not in {row[1] for row in writer.rows(1.0)}
