"""The rows of a real JMeter that collects them: those of one that writes each at once, and all but the last second."""

import csv
import os
import signal
import subprocess
import time
from collections import Counter

import pytest

from harness.base.install import toolchain
from harness.base.project import SHIPPED
from harness.run.jmeter.connections import ACTIVE_USERS_NAME, FOREIGN_NAME, agent_argument
from harness.run.jmeter.exchanges import STORE_FAILURES
from tests.support.processes import QUICK_JAVA, wait_for
from tests.support.tiny import DUMMY_JMX

pytestmark = pytest.mark.real

LOOPS, USERS = 40, 5
AT_ONCE = "jmeter.save.saveservice.autoflush=true"


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Return a function that starts JMeter with the harness's settings in a folder of its own."""

    def started(loops, *properties, with_agent=True, times_ms="5"):
        folder = tmp_path_factory.mktemp("rows")
        ends = f">{loops}</stringProp><boolProp name='LoopController.continue_forever'>false</boolProp>"
        plan = DUMMY_JMX.replace(">-1</stringProp>", ends).replace(">50</stringProp>", f">{times_ms}</stringProp>")
        (folder / "plan.jmx").write_text(plan)
        agent = (
            f'"{agent_argument(toolchain.ensure_agent(), folder / FOREIGN_NAME)}" {STORE_FAILURES}'
            if with_agent
            else ""
        )
        command = [
            toolchain.ensure_jmeter() / "bin" / "jmeter",
            "-n",
            "-t",
            "plan.jmx",
            "-l",
            "samples.jtl",
            "-j",
            "log",
        ]
        command += ["-q", SHIPPED / "jmeter" / "jmeter.properties", "-Jduration_s=30", f"-Jusers={USERS}"]
        options = f"{QUICK_JAVA['JDK_JAVA_OPTIONS']} {agent} -Xlog:class+load:file=classes.log"
        process = subprocess.Popen(
            [*command, *(f"-J{one}" for one in properties)], cwd=folder, stdout=(folder / "out").open("w"),
            stderr=subprocess.STDOUT, env={**os.environ, "HEAP": "-Xmx256m", "JDK_JAVA_OPTIONS": options},
        )  # fmt: skip
        return process, folder / "samples.jtl"

    return started


def rows_of(samples):
    with samples.open(newline="") as lines:
        return list(csv.reader(lines))


def without_times(rows):
    """Return how often each row occurs, without the columns that differ between two runs."""
    header = rows[0]
    columns = [
        header.index(name) for name in ("label", "responseCode", "responseMessage", "threadName", "success", "bytes")
    ]
    return header, Counter(tuple(row[index] for index in columns) for row in rows[1:])


@pytest.fixture(scope="module")
def both(start):
    """The JTLs of a run as ours and of one that writes each row at once, without the agent."""
    ours, plain = start(LOOPS), start(LOOPS, AT_ONCE, with_agent=False)
    for process, _ in (ours, plain):
        assert process.wait(timeout=60) == 0
    return ours[1], plain[1]


def test_collected_rows_are_those_of_a_jmeter_that_writes_each_at_once(both):
    ours, plain = both
    header, found = without_times(rows_of(ours))
    assert (header, found) == without_times(rows_of(plain))
    assert found.total() == LOOPS * USERS
    assert all(len(row) == len(header) for row in rows_of(ours))


def test_jmeter_starts_with_the_stored_class_data_with_and_without_the_agent(both):
    loaded = [samples.with_name("classes.log").read_text() for samples in both]
    for text in loaded:
        assert " org.apache.jmeter.JMeter source: shared objects file (top)" in text
        assert text.count("shared objects file (top)") > 1000
    assert [samples.with_name("out").read_text().count("[warning]") for samples in both] == [0, 0]


def test_the_active_users_are_known_while_their_requests_hang(start):
    # The first user's first request takes 5 ms, all others a minute; the fifth user starts after four seconds.
    process, samples = start(-1, "ramp_s=5", times_ms="${__jexl3(${__counter(FALSE,)} == 1 ? 5 : 60000)}")
    users = samples.with_name(ACTIVE_USERS_NAME)
    try:
        wait_for(lambda: users.is_file() and users.read_text() == str(USERS), 40)
        header, *rows = rows_of(samples)
        assert len(rows) == 1  # so no row says that all of them are there
        assert int(rows[0][header.index("allThreads")]) < USERS
    finally:
        process.kill()
        process.wait()


def test_kill_9_of_jmeter_loses_at_most_a_second_of_rows(start):
    process, samples = start(-1)
    wait_for(lambda: samples.is_file() and samples.stat().st_size > 4_000, 40)
    time.sleep(0.7)
    killed_ms = time.time() * 1000
    process.send_signal(signal.SIGKILL)
    process.wait()
    whole = [row for row in rows_of(samples)[1:] if len(row) == len(rows_of(samples)[0])]
    last_ms = max(int(row[0]) + int(row[1]) for row in whole)
    assert killed_ms - last_ms < 1000
    assert len(rows_of(samples)) - 1 - len(whole) <= 1
