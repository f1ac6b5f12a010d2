"""What JMeter keeps for each user."""

import subprocess
from pathlib import Path

import pytest

from harness.base.install import toolchain
from harness.plan.adopt.curl import OneRequest
from harness.plan.adopt.one_request import write_requests
from harness.system.histograms import printed_classes
from tests.support.commands import command
from tests.support.hostile_server import HostileServer, hostile_server
from tests.support.processes import meanwhile, processes_of, wait_for

_CONNECTION = "org.apache.http.impl.conn.LoggingManagedHttpClientConnection"


@pytest.mark.real
@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("paths", "least", "most"),
    [
        ((), 1_500, 6_000),
        (("just%208%20KB",), 16_000, 24_000),  # this response, which JMeter keeps, and HttpClient's buffer again
    ],
)
def test_a_user_keeps_a_small_buffer_while_responses_are_small_and_none_of_the_log(
    tmp_path: Path, paths: tuple[str, ...], least: int, most: int
) -> None:
    """Each user waits for a response when the byte arrays of the heap are counted, twice.

    Java's array of buffers outside the heap has 80 bytes for each thread instead of 4 KB, and the rules of all time
    zones are not there.

    With HttpClient's buffers of 8 KB, for reading, for writing and for torn lines, and that of the log it was 38 KB.
    """
    kept = []
    with hostile_server() as server:
        target = "http://{}:{}".format(*server.address)
        requests = [OneRequest(f"{target}/{path}") for path in (*paths, "wait/12000/late")]
        write_requests(requests, tmp_path / "plans", "late", "late")
        load = ("-u", 300, "--loops", 1, "--ramp", 8, "--target", target)
        folders = ("--home", tmp_path, "--reports", tmp_path / "reports")
        with meanwhile(lambda: kept.extend(_counted(tmp_path, server, users, len(requests)) for users in (30, 300))):
            done = command("scripts/run", "late", *load, *folders, JMETER_HOME=str(toolchain.ensure_jmeter()))
    assert done.returncode == 0, done.stdout + done.stderr
    (few_users, few_bytes), (all_users, all_bytes) = kept
    assert all_users - few_users > 200
    assert least < (all_bytes - few_bytes) / (all_users - few_users) < most


def _counted(home: Path, server: HostileServer, users: int, each: int) -> tuple[int, int]:
    """Return how many connections JMeter has, at least so many, and the bytes of its byte arrays."""
    wait_for(lambda: len(server.requests) >= each * users)
    (jmeter,) = (one for one in processes_of(home) if one.name() == "java")
    shown = subprocess.run(["jcmd", str(jmeter.pid), "GC.class_histogram"], capture_output=True, text=True, check=True)
    found = printed_classes(shown.stdout.splitlines())
    threads = found["java.nio.ByteBuffer[]"]
    assert threads.instance_count >= users
    assert threads.size_bytes < 100 * threads.instance_count
    assert "java.time.LocalDate" not in found or found["java.time.LocalDate"].instance_count < 1_000
    return found[_CONNECTION].instance_count, found["byte[]"].size_bytes
