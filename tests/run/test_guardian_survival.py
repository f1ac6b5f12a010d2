"""A guardian that is killed, and a harness that is killed with it: no process is left, and the run goes on."""

import signal
import subprocess
import sys

import psutil
import pytest

from harness.base.guardian import RUNS_VARIABLE, Guardian, owned_processes
from harness.run.network.kernel_guard import group_path
from harness.run.network.watch import RUN_VARIABLE
from tests.support.paths import ROOT
from tests.support.processes import is_running, processes_of, wait_for, words_of
from tests.support.tiny import SWEEP, is_whole, samples_under_way, sweep_json


def guardian_of(pid: int, besides: int = 0) -> psutil.Process:
    """The guardian of a harness that runs, not the process `besides`; a new one may be about to start."""

    def found() -> psutil.Process | None:
        own = [child for child in psutil.Process(pid).children() if child.pid != besides]
        return next((child for child in own if any("guardian.py" in word for word in words_of(child))), None)

    return wait_for(found, 40)


@pytest.mark.real
def test_a_guardian_that_dies_is_replaced_and_the_run_continues(start_run, tmp_path):
    process = start_run("--duration", "3")  # with a system
    samples_under_way(tmp_path)
    guardian_of(process.pid).kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert err.splitlines() == ["the guardian process ended (exit code -9); starting another one"]
    assert "  met  " in out
    assert is_whole(tmp_path)
    assert processes_of(tmp_path) == []


@pytest.mark.counterpart
def test_a_replaced_guardian_knows_everything_registered_before(start_run, home, tmp_path):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = start_run("--duration", "60", TMPDIR=str(temporary), SHOP_PASSWORD="hunter2hunter2")
    directory = samples_under_way(tmp_path).parent
    first = guardian_of(process.pid)
    first.kill()
    wait_for(lambda: not first.is_running(), 40)  # the harness has seen it
    guardian_of(process.pid, besides=first.pid)
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: processes_of(tmp_path) == [] and list(temporary.iterdir()) == [], 40)
    wait_for(lambda: "logs in with •••" in (directory / "jmeter.log").read_text())


# A harness that dies as soon as the second guardian has been started: a third message is too long for its pipe.
DIE = """
import os, signal, subprocess, sys
from pathlib import Path
from harness.base.guardian import Guardian
guardian = Guardian()
guardian.remove_at_end(Path(sys.argv[1]))
guardian.watch(int(sys.argv[2]))
with guardian.masking(Path(sys.argv[1]), ["x" * 50_000]):
    guardian._process.kill()
    guardian._process.wait()
    def started(*arguments, start=subprocess.Popen, **options):
        start(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    subprocess.Popen = started
    guardian.keep_up()
"""


@pytest.mark.real
def test_a_harness_killed_while_it_replaces_its_guardian_leaves_nothing(tmp_path):
    (folder := tmp_path / "temporary").mkdir()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as left:
        harness = subprocess.run([sys.executable, "-c", DIE, str(folder), str(left.pid)], cwd=ROOT, timeout=20)
        try:
            assert harness.returncode == -signal.SIGKILL
            left.wait(10)
        finally:
            left.kill()
    wait_for(lambda: not folder.exists(), 40)


@pytest.mark.counterpart
def test_a_sweep_whose_guardian_dies_measures_all_its_levels(command, environment, tmp_path):
    process = subprocess.Popen(
        command("sweep", *SWEEP), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    samples_under_way(tmp_path)
    guardian_of(process.pid).kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert [run["run"] for run in sweep_json(tmp_path)["runs"]] == ["run-01_1", "run-01_2"]
    assert (tmp_path / "reports" / "tiny" / "sweep-01.md").is_file()
    assert processes_of(tmp_path) == []
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.real
def test_a_harness_and_its_guardian_killed_at_once_leave_no_process(start_run, tmp_path):
    process = start_run("--duration", "60")
    samples_under_way(tmp_path)
    both = guardian_of(process.pid), psutil.Process(process.pid)
    started = [child for child in both[1].children() if child.pid != both[0].pid]
    assert len(started) == 2  # JMeter and the system
    for one in both:
        one.kill()
    wait_for(lambda: not any(is_running(child.pid) for child in started), 40)
    process.communicate(timeout=60)


LEAVE = """
import os, subprocess, sys
from harness.base.guardian import Guardian
guardian = Guardian()
environment = {**os.environ, **guardian.environment}
subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True, env=environment)
print(guardian.owner_id, guardian._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.real
def test_the_next_harness_ends_what_a_dead_one_left_and_leaves_a_living_one_alone(capfd, monkeypatch):
    pipe = subprocess.PIPE
    dead, alive = (
        subprocess.Popen([sys.executable, "-c", LEAVE], cwd=ROOT, stdin=pipe, stdout=pipe, text=True) for _ in range(2)
    )
    owner = ""
    try:
        owner, guardian_pid = dead.stdout.readline().split()
        others_owner = alive.stdout.readline().split()[0]
        (left,), (others,) = (wait_for(lambda of=of: owned_processes(of)) for of in (owner, others_owner))
        guardian = psutil.Process(int(guardian_pid))
        guardian.kill()
        dead.kill()  # and nobody looks at it: it stays a zombie, as below a container's first process
        wait_for(lambda: not is_running(guardian.pid) and not is_running(dead.pid))
        with monkeypatch.context() as elsewhere:
            elsewhere.setenv(RUNS_VARIABLE, "another folder of runs")
            with Guardian():
                assert left.status() != psutil.STATUS_ZOMBIE
        with Guardian():
            wait_for(lambda: not is_running(left.pid), 40)
            assert others.status() != psutil.STATUS_ZOMBIE
        assert f"ended processes left by a killed harness: sleep (pid {left.pid})" in capfd.readouterr().err
    finally:
        for process in (dead, alive):
            process.kill()
            process.communicate()
        for sleeping in owned_processes(owner):
            sleeping.kill()


def test_what_a_dead_harness_left_is_its_guardians_while_that_lives(capfd):
    dead = subprocess.Popen([sys.executable, "-c", LEAVE], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    owner, guardian_pid = dead.stdout.readline().decode().split()
    (left,), guardian = wait_for(lambda: owned_processes(owner)), psutil.Process(int(guardian_pid))
    try:
        guardian.suspend()  # one that has much to do
        dead.kill()
        dead.communicate()
        with Guardian():
            assert left.status() != psutil.STATUS_ZOMBIE
        assert capfd.readouterr().err == ""
    finally:
        guardian.resume()
    wait_for(lambda: not is_running(left.pid), 40)


@pytest.mark.real
def test_no_cgroup_of_a_killed_harness_is_left(start_run, tmp_path):
    process = start_run("--duration", "60")
    samples_under_way(tmp_path)
    names = [name for name in (one.environ().get(RUN_VARIABLE) for one in processes_of(tmp_path)) if name]
    group = group_path(f"lth-{names[0]}")
    if group is None or not group.is_dir():
        pytest.skip("NOT TESTED that no cgroup is left: none can be made here")
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not group.exists(), 40)
