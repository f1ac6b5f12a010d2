"""The Netty back-ends behind each real balancer: the order of requests, the use of connections, the answers."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.etree import ElementTree

import psutil
import pytest

from harness.system.manifest import load_manifest
from harness.system.profile import ProcessProfile
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT
from tests.support.profiling import profiled
from tests.support.programs import program

WEEKLY = pytest.mark.counterpart

pytestmark = pytest.mark.real

MANIFEST = load_manifest(ROOT / "systems" / "lb")


class Client:
    """One persistent connection."""

    def __init__(self, url: str) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)

    def ask(self, path: str, method: str = "GET") -> tuple[int, bytes, str]:
        """Return status, body, and the number of the back-end that answered."""
        self.connection.request(method, path)
        answer = self.connection.getresponse()
        return answer.status, answer.read(), answer.headers["X-Backend"]

    def counts(self) -> dict[str, Any]:
        """What the back-ends have counted."""
        return json.loads(self.ask("/stats")[1])


@contextmanager
def started(logs: Path, **settings: Any) -> Iterator[tuple[Supervisor, Client]]:
    """The system with these settings, and a client of its address."""
    resolved = MANIFEST.resolve_settings(settings)
    with Supervisor(MANIFEST, resolved, build_dir=ROOT / "build", log_dir=logs) as system:
        system.prepare()
        system.start()
        client = Client(system.target_url)
        yield system, client
        client.connection.close()


class Behind(NamedTuple):
    """What the back-ends behind a balancer answered and counted. The system is stopped, and its processes were `pids`.

    `page` is status and body of one more request, `shown` what a profile of the back-ends shows of 1,600 further ones.
    """

    turns: list[int]
    counts: dict[str, Any]
    pids: list[int]
    facts: dict[str, str]
    page: tuple[int, bytes]
    shown: ProcessProfile | None


def behind(balancer: str, logs: Path, *, is_profiled: bool = False) -> Behind:
    with started(logs, balancer=balancer) as (system, client):
        client.ask("/stats/reset", "POST")
        turns = [int(client.ask("/stocks")[2]) for _ in range(50)]
        counts = client.counts()
        page = client.ask("/")[:2]
        shown = profile_of_many(system, logs) if is_profiled else None
        return Behind(turns, counts, list(system.processes.values()), dict(system.facts), page, shown)


def profile_of_many(system: Supervisor, folder: Path) -> ProcessProfile:
    """Ask 1,600 times on four connections; return what the back-ends did meanwhile."""

    def ask_often(_: int) -> set[int]:
        client = Client(system.target_url)
        found = {client.ask("/")[0] for _ in range(400)}
        client.connection.close()
        return found

    def ask_on_four() -> set[int]:
        with ThreadPoolExecutor(4) as pool:
            return set().union(*pool.map(ask_often, range(4)))

    statuses, profile = profiled(system, "backends", folder, ask_on_four)
    assert statuses == {200}
    return profile


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Behind:
    return behind("nginx", tmp_path_factory.mktemp("nginx"), is_profiled=True)


@pytest.fixture
def haproxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Behind:
    """What it answered to a user of Debian, whose PATH lacks the folder of the package."""
    program("haproxy", package="haproxy")
    folders = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(folder for folder in folders if not folder.endswith("sbin")))
    return behind("haproxy", tmp_path)


@pytest.mark.counterpart
@pytest.mark.parametrize(
    "balancer",
    ["nginx", "haproxy", *(pytest.param(one, marks=WEEKLY) for one in ("nginx-seed", "jvm"))],
)
def test_back_ends_get_requests_round_robin_and_nothing_is_left(
    balancer: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(balancer) if balancer in ("nginx", "haproxy") else behind(balancer, tmp_path)
    first = found.turns[0]
    assert found.turns == [(first - 1 + index) % 5 + 1 for index in range(50)]
    counts = found.counts
    assert (counts["requests"], counts["most_apart"], counts["total"]) == ([10] * 5, 0, 50)
    assert counts["shares"] == "10 (20.0 %), 10 (20.0 %), 10 (20.0 %), 10 (20.0 %), 10 (20.0 %)"
    if balancer == "nginx-seed":
        # Each of the requests, the last one for the counts among them, opened a connection.
        assert counts["connection_total"] == 51
    else:
        assert counts["connection_total"] <= 5
    assert len(found.pids) == 2
    assert not any(psutil.pid_exists(pid) for pid in found.pids)
    assert ("nginx/" in found.facts.get("nginx", "")) == balancer.startswith("nginx")


def test_the_profile_of_healthy_back_ends_names_no_lock_and_no_exception_of_theirs(nginx: Behind) -> None:
    profile = nginx.shown
    assert profile is not None
    assert profile.sample_count > 0  # it was recorded
    assert profile.safepoints is not None
    own = tuple(f"{path.stem}." for path in (MANIFEST.folder / "java").glob("*.java"))
    assert [one for one in profile.thrown if one.method.startswith(own)] == []
    assert [one for one in profile.locks if one.method.startswith(own)] == []
    # Netty's leak detector creates a Throwable for one buffer in 128, and throws none.
    assert max((one.count for one in profile.thrown), default=0) < 1600 / 20
    assert profile.wait_ms / 1000 < profile.length_s / 2


def test_an_answer_has_fifteen_quotes(nginx: Behind) -> None:
    status, body = nginx.page
    assert (status, len(body)) == (200, 987)
    quotes = ElementTree.fromstring(body)
    assert (quotes.tag, len(quotes)) == ("quotes", 15)
    assert quotes[0].attrib == {"name": "LT000", "last": "010.00", "diff": "-0.52", "vol": "00100"}


@pytest.mark.counterpart
def test_without_a_balancer_the_first_back_end_answers_with_the_delay_size_and_status_of_the_settings(
    tmp_path: Path,
) -> None:
    settings = {"balancer": "direct", "delay_ms": 100, "body_bytes": 100_000, "status": 503}
    with started(tmp_path, **settings) as (system, client):
        client.connection.connect()
        client.connection.sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.ask("/")
        client.connection.close()
        client.ask("/stats/reset", "POST")
        status, body, backend = client.ask("/")
        assert (status, len(body), backend) == (503, 100_000, "1")
        assert body.endswith(b"</quotes>\n")
        assert client.ask("/stats")[0] == 200
        assert client.counts()["requests"] == [1, 0, 0, 0, 0]
        assert list(system.processes) == ["backends"]
