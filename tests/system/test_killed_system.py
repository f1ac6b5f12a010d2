"""kill -9 and Ctrl-C of the harness: its guardian ends the processes of the system and removes its folders."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from harness.base.guardian import Guardian, owned_processes
from harness.run.network.kernel_guard import group_path
from tests.support.paths import ROOT
from tests.support.processes import wait_for
from tests.system.test_supervisor import SYSTEMS

HARNESS = """
import signal
import sys
from pathlib import Path
from harness.base.guardian import Guardian
from harness.system.supervisor import Supervisor
from harness.system.manifest import load_manifest

# In the background SIGINT is inherited as ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
manifest = load_manifest(Path(sys.argv[1]))
settings = manifest.resolve_settings({"mode": sys.argv[3]})
folder = Path(sys.argv[2])
with (
    Guardian(sys.argv[4]) as guardian,
    Supervisor(manifest, settings, build_dir=folder, log_dir=folder, guardian=guardian) as system,
):
    system.start()
    print("ready", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], str]]]:
    """A function that starts a harness of its own, with a system in the given mode; returns it and its owner id."""
    started: list[subprocess.Popen[str]] = []
    # On a busy machine the 3 s for the start may be over before the signal of a test arrives.
    system = shutil.copytree(SYSTEMS / "web", tmp_path / "source" / "web")
    manifest = system / "system.toml"
    text = manifest.read_text()
    assert " deadline_s = 3 }" in text
    manifest.write_text(text.replace(" deadline_s = 3 }", " deadline_s = 30 }"))

    def start(mode: str) -> tuple[subprocess.Popen[str], str]:
        owner = f"test-{os.getpid()}-{tmp_path.name}"
        argv = [sys.executable, "-c", HARNESS, str(system), str(tmp_path), mode, owner]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(argv, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True))
        return started[-1], owner

    yield start
    for process in started:
        process.kill()
        process.communicate()


def only_process_of(owner: str) -> psutil.Process:
    wait_for(lambda: owned_processes(owner))
    return owned_processes(owner)[0]


@pytest.mark.real
@pytest.mark.parametrize(
    "mode", ["good", *(pytest.param(one, marks=pytest.mark.real) for one in ("stubborn", "scattering"))]
)
def test_kill_9_of_the_harness_leaves_no_process_and_no_work_folder(
    harness: Callable[[str], tuple[subprocess.Popen[str], str]], mode: str
) -> None:
    process, owner = harness(mode)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    work = Path(only_process_of(owner).cwd())
    assert work.is_dir()
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not owned_processes(owner) and not work.exists())


@pytest.mark.real
def test_kill_9_while_the_system_starts_leaves_no_process(
    harness: Callable[[str], tuple[subprocess.Popen[str], str]],
) -> None:
    process, owner = harness("silent")
    work = Path(only_process_of(owner).cwd())
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not owned_processes(owner) and not work.exists())


@pytest.mark.real
def test_ctrl_c_while_the_system_starts_stops_everything(
    harness: Callable[[str], tuple[subprocess.Popen[str], str]],
) -> None:
    process, owner = harness("silent")
    work = Path(only_process_of(owner).cwd())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert not owned_processes(owner)
    assert not work.exists()


@pytest.mark.real
def test_a_guardian_starts_with_its_first_instruction_and_not_again(tmp_path: Path) -> None:
    def started() -> int:
        return len(psutil.Process().children()) - before

    before = len(psutil.Process().children())
    (tmp_path / "left").touch()
    with Guardian() as guardian:
        guardian.keep_up()
        assert started() == 0
        guardian.remove_at_end(tmp_path / "left")
        assert started() == 1
        assert guardian.environment
        assert started() == 1
    assert (started(), list(tmp_path.iterdir())) == (0, [])
    assert guardian.environment
    assert started() == 0


@pytest.mark.real
def test_a_guardian_removes_a_cgroup_whose_last_process_is_still_ending(tmp_path: Path) -> None:
    group = group_path(f"lth-test-{tmp_path.name}-{os.getpid()}")
    if group is None or not os.access(group.parent, os.W_OK):
        pytest.skip("this user makes no cgroups of version 2 here")
    with Guardian() as guardian:
        guardian.remove_at_end(group)
        group.mkdir()
        member = subprocess.Popen(["sleep", "0.7"])
        (group / "cgroup.procs").write_text(str(member.pid))
    assert member.wait(timeout=60) == 0
    assert not group.exists()


@pytest.mark.real
def test_a_guardian_ends_every_process_with_its_environment() -> None:
    with Guardian() as guardian:
        child = subprocess.Popen(["sleep", "600"], env={**os.environ, **guardian.environment})
        wait_for(lambda: owned_processes(guardian.owner_id))  # in the middle of its exec it shows no environment
        assert [process.pid for process in owned_processes(guardian.owner_id)] == [child.pid]
    assert child.wait(timeout=60) == -signal.SIGTERM


@pytest.mark.real
def test_a_process_without_owner_id_is_ended_with_its_session() -> None:
    # As nginx, which writes its title over its environment.
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    with Guardian() as guardian:
        guardian.watch(process.pid)
    assert process.wait(timeout=60) == -signal.SIGTERM
