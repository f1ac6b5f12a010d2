"""The supervisor with tiny processes: starts that succeed and fail, stops, ports, preparing, and crashes."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from harness.base.errors import StartError, UsageError
from harness.base.guardian import OWNER_VARIABLE, Guardian, owned_processes
from harness.base.once import stamp_of
from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT
from tests.support.processes import wait_for

pytestmark = pytest.mark.real

SYSTEMS = ROOT / "tests" / "support" / "systems"

Start = Callable[..., Supervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Start]:
    """A function that makes the supervisor of a tests' system; whatever it started is stopped after the test."""
    made: list[Supervisor] = []

    def make_one(name: str = "web", **options: object) -> Supervisor:
        ports = options.pop("fixed_ports", None)
        guardian = options.pop("guardian", None)
        manifest = load_manifest(SYSTEMS / name)
        settings = manifest.resolve_settings(options)
        made.append(
            Supervisor(
                manifest,
                settings,
                build_dir=tmp_path / "build",
                log_dir=tmp_path / "logs",
                fixed_ports=ports,
                guardian=guardian,
            )
        )
        return made[-1]

    yield make_one
    for supervisor in made:
        supervisor.stop()


def answer_of(supervisor: Supervisor) -> str:
    with urllib.request.urlopen(supervisor.target_url, timeout=5) as answer:
        return answer.read().decode()


def test_a_started_system_answers_at_its_target(make: Start) -> None:
    with make() as system:
        system.start()
        assert answer_of(system).startswith("state: good")
        assert list(system.processes) == ["web"]
        assert system.facts == (("Mode", "good"),)
        assert system.check() == ()


def test_after_stop_only_the_log_is_left(make: Start, tmp_path: Path) -> None:
    system = make()
    system.start()
    process, work = psutil.Process(system.processes["web"]), Path(process_work(system))
    assert (work / "texts" / "greeting.txt").read_text() == f"hello from {system.target_url.rpartition(':')[2]}\n"
    system.stop()
    system.stop()
    assert not process.is_running()
    assert not work.exists()
    assert (tmp_path / "logs" / "web.log").read_text().startswith("mode is good")


def test_recordings_and_logs_with_exceptions_are_those_of_the_started_processes(make: Start, tmp_path: Path) -> None:
    with make() as system:
        assert (dict(system.recordings), system.exception_logs) == ({}, ())
        system.start()
        assert dict(system.recordings) == {"web": tmp_path / "logs" / "good.jfr"}
        assert system.exception_logs == ("web.log", "catalina.log")
        # A database inside the process has a name of its own.
        port = system.target_url.rstrip("/").rpartition(":")[2]
        assert {name: (one.read, one.snapshot) for name, one in system.statement_commands.items()} == {
            "store": (("print-statements", port),) * 2
        }


def test_a_process_without_its_database_has_no_statement_commands(make: Start) -> None:
    with make(cpus=1) as system:
        system.start()
        assert dict(system.statement_commands) == {}


def process_work(system: Supervisor) -> str:
    return psutil.Process(system.processes["web"]).cwd()


def test_a_process_that_ends_early_is_reported_at_once_with_the_end_of_its_log(make: Start) -> None:
    started_s = time.monotonic()
    with pytest.raises(StartError) as caught:
        make(mode="dies").start()
    assert time.monotonic() - started_s < 2.5  # well before the deadline of 3 s
    assert "web: web ended with code 3" in caught.value.what
    assert "cannot read the licence file" in caught.value.detail
    assert caught.value.exit_code == 3


@pytest.mark.real
def test_a_process_that_is_never_ready_fails_at_its_deadline_and_is_stopped(make: Start) -> None:
    with Guardian() as guardian:
        system = make(mode="silent", guardian=guardian)
        with pytest.raises(StartError, match="web is not ready after 3 s") as caught:
            system.start()
        assert "waiting for a database that never comes" in caught.value.detail
        assert owned_processes(guardian.owner_id) == []


@pytest.mark.real
def test_a_response_that_drips_is_not_ready_at_the_deadline(make: Start) -> None:
    with pytest.raises(StartError, match=r"web is not ready after 3 s.*its answer is not complete after 2 s"):
        make(mode="drips").start()


@pytest.mark.real
def test_a_wrong_response_is_not_ready_and_is_quoted(make: Start) -> None:
    with pytest.raises(StartError, match="answers 503, not 200"):
        make(mode="unhealthy").start()


def test_a_listener_that_other_machines_can_reach_is_refused(make: Start) -> None:
    with Guardian() as guardian:
        with pytest.raises(StartError, match=r"web listens on 0\.0\.0\.0:\d+, which other machines can reach"):
            make(mode="exposed", guardian=guardian).start()
        assert owned_processes(guardian.owner_id) == []


@pytest.mark.real
def test_a_process_that_ignores_term_is_killed_after_its_deadline(make: Start) -> None:
    system = make(mode="stubborn")
    system.start()
    process = psutil.Process(system.processes["web"])
    started_s = time.monotonic()
    system.stop()
    assert 0.4 < time.monotonic() - started_s < 5
    assert not process.is_running()


def test_a_grandchild_in_its_own_session_is_ended_too(make: Start) -> None:
    system = make(mode="scattering")
    system.start()
    (grandchild,) = psutil.Process(system.processes["web"]).children()
    owner = grandchild.environ()[OWNER_VARIABLE]
    system.stop()
    assert owned_processes(owner) == []


def test_a_process_that_dies_while_the_system_runs_is_reported_once(make: Start) -> None:
    with make() as system:
        system.start()
        psutil.Process(system.processes["web"]).kill()
        wait_for(lambda: psutil.Process(system.processes["web"]).status() == psutil.STATUS_ZOMBIE)
        (ended,) = system.check()
        assert (ended.name, ended.exit_code) == ("web", -signal.SIGKILL)
        assert "mode is good" in ended.log_tail
        assert system.check() == ()


@pytest.mark.parametrize(
    ("text", "is_tried"),
    [
        ('command = ["no-such-program"]', True),
        ('command = ["sleep", "10"]\n[facts]\nversion = { command = ["no-such-program", "-v"] }', False),
    ],
)
def test_a_program_that_is_not_installed_is_wrong_use(text: str, is_tried: bool, tmp_path: Path) -> None:
    folder = tmp_path / "systems" / "absent"
    folder.mkdir(parents=True)
    start = 'format_version = 1\ntitle = "x"\ntarget = "x"\n[[process]]\nname = "a"\n'
    (folder / "system.toml").write_text(start + text)
    system = Supervisor(load_manifest(folder), {}, build_dir=tmp_path, log_dir=tmp_path / "logs")
    with pytest.raises(UsageError, match=r"cannot start no-such-program .* install it or put it on PATH"):
        system.start()
    assert system.processes == {}
    assert (tmp_path / "logs" / "a.log").exists() == is_tried  # facts are asked before anything is started


def test_a_port_in_use_is_refused_with_its_owner(make: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=rf"port {port} \(http\) is in use by .*\(pid {os.getpid()}\)"):
            make(fixed_ports={"http": port}).start()


def test_an_unknown_port_is_refused(make: Start) -> None:
    with pytest.raises(UsageError, match="has no port 'htpt'; its ports: http"):
        make(fixed_ports={"htpt": 8080}).start()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")
@pytest.mark.real
def test_a_system_is_limited_to_the_cpus_of_its_profile_and_the_harness_is_not(make: Start) -> None:
    ours = os.sched_getaffinity(0)
    with make(cpus=1) as system:
        system.start()
        assert answer_of(system) == "state: good; cpus: 1"
    assert os.sched_getaffinity(0) == ours
    with pytest.raises(UsageError, match="cpus = 4096, but only"):
        make(cpus=4096).start()


def test_processes_start_in_order_and_in_their_environment(make: Start) -> None:
    with make("workshop", journal="hello") as system:
        begun: list[list[str]] = []
        system.start(lambda: begun.append(list(system.processes)))
        assert begun == [["store", "web"]]
        assert list(system.processes) == ["store", "web"]
        environment = psutil.Process(system.processes["web"]).environ()
        assert environment["GREETING"] == "hello"
        # No compiled file beside a program is read: consent covers the program's text.
        assert not Path(environment["PYTHONPYCACHEPREFIX"]).is_relative_to(SYSTEMS)
        assert environment["PYTHONPYCACHEPREFIX"].endswith("/pycache")


def test_a_process_that_does_not_apply_is_not_started_and_not_waited_for(make: Start) -> None:
    with make("workshop", has_store=False) as system:
        system.start()
        assert list(system.processes) == ["web"]


@pytest.mark.real
def test_a_command_before_is_left_out_when_its_work_is_done(make: Start, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    for _ in range(2):
        with make("workshop", marker=str(marker)) as system:
            system.start()
    assert marker.read_text() == "seeded\n"


@pytest.mark.real
def test_preparation_runs_once_for_two_harnesses_and_again_when_an_input_changes(make: Start, tmp_path: Path) -> None:
    source, journal, logged = tmp_path / "input", tmp_path / "journal", []
    source.write_text("one")

    def prepare() -> None:
        with make("workshop", input=str(source), journal=str(journal)) as system:
            system.prepare(logged.append)

    threads = [threading.Thread(target=prepare) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    prepare()
    assert journal.read_text() == "prepared\n"
    assert sum("tool, one-time preparation" in line for line in logged) == 1
    source.write_text("two")
    prepare()
    assert journal.read_text() == "prepared\nprepared\n"


def test_an_input_that_is_a_folder_counts_with_all_files_in_it(tmp_path: Path) -> None:
    (tmp_path / "src" / "java").mkdir(parents=True)
    stamps = {stamp_of([tmp_path / "src"])}
    for name, text in (("java/A.java", "a"), ("java/A.java", "b"), ("B.java", "b")):
        (tmp_path / "src" / name).write_text(text)
        stamps.add(stamp_of([tmp_path / "src"]))
    assert len(stamps) == 4
    assert stamp_of([tmp_path / "src"]) in stamps


def test_the_error_of_a_failed_step_has_the_end_of_its_log(make: Start) -> None:
    with pytest.raises(StartError, match=r"broken tool: .* ended with code 1") as caught:
        make("workshop", step_fails=True).prepare()
    assert "no such artefact" in caught.value.detail
