import os
import time

from harness.io.telemetry import TelemetryWriter
from harness.telemetry import usages

ROWS = """time_ms,process,cpu_cores,rss_bytes,thread_count
1000,jmeter,0.500,100,10
1000,host,1.000,5000,
2000,jmeter,1.500,300,12
3000,jmeter,0.100,900,99
2000,jme"""


def test_use_is_averaged_over_the_stretch_asked_for_and_torn_rows_are_passed_over():
    jmeter, host = usages(ROWS.splitlines(), 1000, 2000)
    assert (jmeter.process, jmeter.second_count, jmeter.cpu_cores_mean, jmeter.cpu_cores_max) == ("jmeter", 2, 1.0, 1.5)
    assert (jmeter.rss_bytes_mean, jmeter.rss_bytes_max, jmeter.thread_count_max) == (200.0, 300, 12)
    assert (host.process, host.thread_count_max) == ("host", None)


def test_a_busy_process_is_measured_with_about_one_core(tmp_path):
    path = tmp_path / "telemetry.csv"
    with TelemetryWriter(path, {"jmeter": os.getpid(), "gone": 2**22 - 1}):
        end_s = time.monotonic() + 2.3
        while time.monotonic() < end_s:
            sum(range(1000))
    found = {usage.process: usage for usage in usages(path.read_text().splitlines(), 0, 2**63)}
    assert set(found) == {"jmeter", "harness", "host"}
    assert 0.3 < found["jmeter"].cpu_cores_max <= 1.3
    assert found["jmeter"].rss_bytes_min > 1_000_000
    assert found["jmeter"].thread_count_max >= 2
