"""A load that a client of `lth mcp` started ends when the request, the client or the server ends; nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys

import psutil
import pytest

from tests.support.late import Late
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import processes_of, wait_for, words_of
from tests.support.tiny import report, run_json, tiny_home

mcp = Late("mcp")

pytestmark = pytest.mark.real
LOAD = {"plan": "tiny", "users": 2, "duration": "90s"}


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("JMETER_HOME", str(FAKE_JMETER))
    monkeypatch.setenv("FAKE_JMETER", "works")
    home = tiny_home(tmp_path)
    (home / "reports").mkdir()
    return home


def served(home):
    folders = (f"--home={home}", f"--reports={home / 'reports'}")
    arguments = ["-m", "harness", "mcp", *folders, "--allow-run", "10m"]
    return mcp.StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ), cwd=ROOT)


def is_loaded(home, number):
    samples = home / "reports" / "tiny" / f"run-01_{number}" / "samples.jtl"
    return samples.is_file() and samples.stat().st_size > 1000


def assert_kept(home, number):
    """Fail unless a run soon ends with its samples and a report that calls it INTERRUPTED, and leaves no process."""
    reports = home / "reports"
    wait_for((reports / "tiny" / f"run-01_{number}.md").is_file, 40)
    facts = run_json(reports, f"run-01_{number}")
    assert (facts["state"], facts["interrupted"], facts["exit_codes"]) == ("finished", True, {"jmeter": 0})
    kept = "**INTERRUPTED: stopped by hand before its end: the samples so far are saved"
    assert kept in report(reports, f"run-01_{number}")
    wait_for(lambda: [one for one in processes_of(home) if "mcp" not in words_of(one)] == [])


async def load_under_way(client, home, number):
    """Start a load and return its call once there are samples."""
    call = asyncio.create_task(client.call_tool("run", LOAD))
    await asyncio.to_thread(wait_for, lambda: is_loaded(home, number), 30)
    return call


def server_of(home):
    (server,) = (one for one in psutil.Process().children() if f"--home={home}" in words_of(one))
    return server


@pytest.mark.counterpart
def test_a_cancelled_request_ends_its_load_and_the_end_of_the_server_by_kill_9_the_next(project):
    async def talk():
        async with mcp.Client(served(project)) as client:
            call = await load_under_way(client, project, 1)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            await asyncio.to_thread(assert_kept, project, 1)
            call = await load_under_way(client, project, 2)
            server_of(project).send_signal(signal.SIGKILL)
            with contextlib.suppress(Exception):
                await call

    asyncio.run(talk())
    assert_kept(project, 2)


@pytest.mark.counterpart
def test_the_load_ends_when_the_client_leaves(project):
    async def talk():
        async with mcp.Client(served(project)) as client:
            (await load_under_way(client, project, 1)).cancel()

    asyncio.run(talk())
    assert_kept(project, 1)
