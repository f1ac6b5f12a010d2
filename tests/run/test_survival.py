"""A measurement ends with its report, whatever happens to its terminal, its pipes or its folder."""

import contextlib
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.errors import InvalidRunError
from harness.base.guardian import RUNS_VARIABLE
from harness.base.install import toolchain
from harness.base.interrupts import Interrupts
from harness.commands.run import reported
from harness.run.measure import FolderWatch
from harness.run.telemetry.writer import TelemetryWriter
from tests.support.paths import ROOT
from tests.support.processes import processes_of, wait_for
from tests.support.report_folder import add_run
from tests.support.tiny import DUMMY_JMX, SWEEP, is_whole, report, run_json, samples_under_way, sweep_json

SUITE = """format_version = 1
title = "Nights"
budget = "10m"
slack = "30s"
[[run]]
plan = "tiny"
users = 4
duration = 4
"""


@pytest.fixture
def in_terminal(environment) -> Iterator[Callable[..., "Terminal"]]:
    opened: list[Terminal] = []

    def start(argv: list[str], *, ignore_hup: bool = False, **more: str) -> Terminal:
        opened.append(Terminal(argv, {**environment, **more}, ignore_hup))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.process.kill()
        terminal.process.wait()
        terminal.close()


@pytest.fixture
def apart(environment, tmp_path) -> Callable[..., tuple[Path, dict[str, str]]]:
    """Return a function: a folder, and an environment in which a command does not see those that last beside it."""

    def of(name: str, **more: str) -> tuple[Path, dict[str, str]]:
        folder = tmp_path / name
        folder.mkdir()
        return folder, {**environment, RUNS_VARIABLE: str(folder / "runs"), **more}

    return of


class Terminal:
    """A command in a terminal of its own, as a window or an ssh session is; `close` is what closing it does."""

    def __init__(self, argv: list[str], environment: dict[str, str], ignore_hup: bool) -> None:
        self.main, side = pty.openpty()
        self.is_open = True
        if ignore_hup:
            argv = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", *argv]
        # It replaces itself with the command. Popen's own preexec_fn can hang where there are threads.
        argv = ["setsid", "--ctty", *argv]
        self.process = subprocess.Popen(argv, stdin=side, stdout=side, stderr=side, env=environment)
        os.close(side)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while self.is_open:
                if select.select([self.main], [], [], 0.05)[0]:
                    os.read(self.main, 4096)

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            self._reader.join()  # a terminal that is being read is not closed
            os.close(self.main)


@pytest.mark.real
def test_closing_the_terminal_stops_the_run_and_the_report_is_written(in_terminal, command, target, tmp_path):
    terminal = in_terminal(command("run", "--target", target, "--duration", "60"))
    samples_under_way(tmp_path)
    terminal.close()
    assert terminal.process.wait(timeout=60) == 130
    assert "**INTERRUPTED: stopped by hand before its end: the samples so far are saved" in report(tmp_path / "reports")
    facts = run_json(tmp_path / "reports")
    assert (facts["state"], facts["exit_codes"]) == ("finished", {"jmeter": 0})  # on a request, not killed
    assert processes_of(tmp_path) == []


@pytest.mark.counterpart
@pytest.mark.parametrize("ignores", [False, True], ids=["", "nohup"])
def test_closing_the_terminal_of_make_stops_the_run_too(in_terminal, command, target, tmp_path, ignores):
    # As with `ssh -t host make run`: the kernel signals make alone, which waits for its child and passes nothing on.
    recipe = shlex.join(command("run", "--target", target, "--duration", "6" if ignores else "60"))
    (tmp_path / "Makefile").write_text(f"run:\n\t@{recipe}\n")
    terminal = in_terminal(["make", "-f", str(tmp_path / "Makefile"), "run"], ignore_hup=ignores)
    samples_under_way(tmp_path)
    terminal.close()
    terminal.process.wait(timeout=60)
    facts = run_json(tmp_path / "reports")
    assert (facts["state"], facts["interrupted"], facts["exit_codes"]) == ("finished", not ignores, {"jmeter": 0})
    wait_for(lambda: processes_of(tmp_path) == [])


@pytest.mark.counterpart
def test_with_hup_ignored_the_run_continues_without_its_terminal(in_terminal, command, target, tmp_path):
    terminal = in_terminal(command("run", "--target", target, "--duration", "4"), ignore_hup=True)
    samples_under_way(tmp_path)
    terminal.close()
    assert terminal.process.wait(timeout=60) == 0
    assert is_whole(tmp_path)
    assert run_json(tmp_path / "reports")["interrupted"] is False


def test_a_closed_terminal_is_one_interrupt_although_kernel_and_shell_each_send_hup():
    with Interrupts() as interrupts, interrupts.deferred():
        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGINT):
            os.kill(os.getpid(), number)
        assert interrupts.count == 2


@pytest.mark.real
@pytest.mark.counterpart
def test_with_hup_ignored_sweep_and_capacity_continue_without_their_terminals(in_terminal, command, apart):
    search = ("--most", "2", "--duration", "1", "--warmup", "0")
    started = {}
    for script, levels in (("sweep", SWEEP), ("capacity", search)):
        folder, environment = apart(script)
        argv = command(script, *levels, "--reports", str(folder / "reports"))
        started[folder] = in_terminal(argv, ignore_hup=True, **environment)
    for folder, terminal in started.items():
        samples_under_way(folder)
        terminal.close()
    for folder, terminal in started.items():
        assert terminal.process.wait(timeout=60) == 0, folder
        assert sweep_json(folder)["state"] == "finished"
        assert (folder / "reports" / "tiny" / "sweep-01.md").is_file()


@pytest.mark.real
def test_a_closed_pipe_changes_neither_the_run_nor_its_exit_code(command, apart):
    started = {}
    for mode, *expected in (("works", 0, "goals met."), ("all-failed", 3, "**INVALID")):
        folder, environment = apart(mode, FAKE_JMETER=mode)
        argv = command("run", "--duration", "2", "--reports", str(folder / "reports"))
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
        started[folder] = process, expected
    for process, _ in started.values():
        assert process.stdout.readline()
        process.stdout.close()  # as `| head -1` does
    for folder, (process, (code, verdict)) in started.items():
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == code
        assert verdict in report(folder / "reports")


@pytest.mark.counterpart
def test_a_run_works_with_closed_standard_descriptors(command, apart, target):
    started = {}
    for number, closed in enumerate(("<&- >&- 2>&-", "<&-", ">&-", "2>&-")):
        folder, environment = apart(str(number))
        argv = command("run", "--target", target, "--duration", "1", "--reports", str(folder / "reports"))
        shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *argv]
        process = subprocess.Popen(shell, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started[closed] = folder, process
    for closed, (folder, process) in started.items():
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, closed + out + err
        assert is_whole(folder), closed
        assert "Traceback" not in err
        files = [path for path in (folder / "reports").rglob("*") if path.is_file()]
        assert [path for path in files if b"closed model, 2 users, ramp" in path.read_bytes()[:200]] == []


@pytest.mark.counterpart
def test_a_full_disk_at_standard_output_is_one_line_and_keeps_the_exit_code(command, environment, target, tmp_path):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command("run", "--target", target, "--duration", "1"),
            env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == "scripts/run: not all of the output could be written (No space left on device)\n"
    assert is_whole(tmp_path)


@pytest.mark.counterpart
def test_a_nightly_without_standard_output_writes_report_and_junit_file(in_terminal, home, apart):
    (home / "env" / "nightly.toml").write_text(SUITE)
    argv = [sys.executable, str(ROOT / "scripts" / "nightly"), "--suite", str(home / "env" / "nightly.toml")]
    (unread, environment), (unseen, of_terminal) = apart("reader"), apart("terminal")

    def nightly(folder: Path) -> list[str]:
        folders = {"home": home, "reports": folder / "reports" / "nightly", "build": folder / "build"}
        return [*argv, *(word for name, path in folders.items() for word in (f"--{name}", str(path)))]

    process = subprocess.Popen(nightly(unread), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    terminal = in_terminal(nightly(unseen), **of_terminal)
    process.stdout.readline()
    process.stdout.close()
    (samples,) = wait_for(lambda: list((unseen / "reports" / "nightly" / "tiny").glob("run-*_1/samples.jtl")), 60)
    wait_for(lambda: samples.read_text().count("\n") > 3)
    terminal.close()
    assert terminal.process.wait(timeout=90) == 130
    assert process.wait(timeout=90) in (0, 3)  # 3 where the machine was so busy that the run is DOUBTFUL
    for folder in (unread, unseen):
        (page,) = (folder / "reports" / "nightly").glob("20*.md")
        assert "run-" in page.read_text()
        assert len(list(page.parent.glob("20*.xml"))) == 1
        assert processes_of(folder) == []


def test_telemetry_on_a_full_disk_has_no_traceback(capfd):
    with TelemetryWriter(Path("/dev/full"), {}) as writer:
        wait_for(lambda: writer.problem, 40)
    assert writer.problem == "No space left on device"
    assert "Traceback" not in capfd.readouterr().err


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """Return the reports' folder on a disk of 4 MB."""
    folder = tmp_path / "reports"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"NOT TESTED on a full disk: none can be mounted ({done.stderr.strip()})")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    with contextlib.suppress(OSError), (folder / "filler").open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


@pytest.mark.real
def test_a_disk_that_fills_while_the_system_starts_is_one_line(run, home, small_disk):
    manifest = home / "systems" / "tiny" / "system.toml"
    server = "python3 -m http.server --bind 127.0.0.1 {{ ports.http }} >/dev/null 2>&1"
    code = f"dd if=/dev/zero of={small_disk}/filler 2>/dev/null; exec {server}"
    command = f'command = ["sh", "-c", "{code}"]'
    lines = [command if line.startswith("command") else line for line in manifest.read_text().splitlines()]
    manifest.write_text("\n".join(lines))
    done = run("--duration", "1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert re.search(r"run-01_1/\S+ cannot be written \(No space left on device\); free disk space, and", done.stderr)


def test_a_disk_that_fills_during_the_load_is_said_once(small_disk):
    lines: list[str] = []
    watch = FolderWatch(small_disk, lines.append)
    assert watch.failures() == ()
    assert lines == []
    fill(small_disk)
    for _ in range(3):
        assert watch.failures() == ()
    wanted = "reports cannot be written (its disk is full): samples are being lost; free disk space"
    assert lines == [f"warning: {wanted}"]


@pytest.mark.real
def test_a_disk_that_fills_during_the_load_leaves_an_invalid_report(start_run, target, tmp_path, small_disk):
    process = start_run("--target", target, "--duration", "5", "--users", "50")
    samples = samples_under_way(tmp_path)
    fill(small_disk)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (3, "")
    for text in (out, report(small_disk)):
        assert re.search(r"INVALID: the disk was full at \d\d:\d\d:\d\d UTC", text)
        (found,) = set(re.findall(r"the disk was full at \S+ UTC: (\d+) rows? of samples are stored, later ones", text))
        assert int(found) == samples.read_text().count("\n") - 1
    facts = run_json(small_disk)
    assert (facts["state"], len(facts["stop_reasons"])) == ("finished", 1)
    assert not list(samples.parent.glob(".*"))  # what kept the space


@pytest.mark.real
def test_a_disk_without_space_for_the_report_leaves_the_verdict_on_the_terminal(small_disk):
    directory = add_run(small_disk, "tiny/run-01_1")
    for path in (directory.report, directory.summary_json):
        path.unlink()
    fill(small_disk)
    lines: list[str] = []
    with pytest.raises(InvalidRunError, match=r"run-01_1\.json cannot be written .* the samples so far are saved"):
        reported(directory, lines.append)
    assert lines == ["tiny/run-01_1: VALID. 2 of 2 goals met."]


@pytest.mark.real
def test_a_removed_run_folder_is_reported(start_run, target, tmp_path):
    process = start_run("--target", target, "--duration", "600")
    folder = samples_under_way(tmp_path).parent
    subprocess.run(["rm", "-r", str(folder)], check=False)
    out, err = process.communicate(timeout=60)  # it does not drive a load whose samples are gone
    assert process.returncode == 3
    assert "stopping: the run's folder was removed while it ran" in out
    assert err == "scripts/run: tiny/run-01_1: the run's folder was removed while it ran; its samples are gone\n"


@pytest.mark.counterpart
def test_a_sweep_in_which_a_run_folder_is_removed_writes_its_report(command, environment, tmp_path):
    process = subprocess.Popen(
        command("sweep", *SWEEP), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    folder = tmp_path / "reports" / "tiny" / "run-01_2"
    wait_for(lambda: (folder / "samples.jtl").is_file(), 60)
    subprocess.run(["rm", "-r", str(folder)], check=False)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert err == "scripts/sweep: tiny/run-01_2: the run's folder was removed while it ran; its samples are gone\n"
    assert "[run-01_1](run-01_1.md)" in (tmp_path / "reports" / "tiny" / "sweep-01.md").read_text()


# Root may write everywhere; without this capability the rights of a folder restrict it like anybody else.
AS_ORDINARY = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []


@pytest.mark.real
@pytest.mark.parametrize("script", ["run", pytest.param("capacity", marks=pytest.mark.counterpart)])
def test_a_plans_folder_that_cannot_be_written_is_one_line_and_code_2(command, environment, target, tmp_path, script):
    folder = tmp_path / "reports" / "tiny"
    folder.mkdir(parents=True)
    folder.chmod(0o555)
    done = subprocess.run(
        [*AS_ORDINARY, *command(script, "--target", target)],
        env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    wanted = "tiny/ cannot be written (Permission denied); give yourself write permission, or choose another folder"
    assert done.stderr.splitlines() == [f"scripts/{script}: {tmp_path}/reports/{wanted}"]


@pytest.mark.real
def test_a_build_folder_that_cannot_be_written_is_one_line_and_code_2(home, refused, tmp_path):
    manifest = home / "systems" / "tiny" / "system.toml"
    step = '[[prepare]]\nname = "tool"\ncommand = ["true"]\n'
    manifest.write_text(manifest.read_text().replace("[[process]]", f"{step}[[process]]"))
    (tmp_path / "build").write_text("a file: nothing can be put into it")
    folder = tmp_path / "build" / "systems" / "tiny"
    assert refused() == (
        f"scripts/run: {folder}/ cannot be written (Not a directory); give yourself write permission, or choose "
        "another folder\n"
    )


@pytest.mark.counterpart
def test_a_report_into_an_unwritable_folder_is_a_one_line_error(run, target, tmp_path):
    assert run("--target", target, "--duration", "1").returncode == 0
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    directory.parent.chmod(0o555)
    argv = [*AS_ORDINARY, sys.executable, str(ROOT / "aggregate.py"), "report", str(directory)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    directory.parent.chmod(0o755)
    assert done.returncode == 2
    wanted = "tiny/run-01_1.json cannot be written (Permission denied); give yourself write permission"
    assert done.stderr == f"aggregate.py: {wanted}, or choose another folder\n"


@pytest.mark.counterpart
def test_a_real_run_survives_its_reader_and_its_terminal(in_terminal, command, apart, home, target):
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    jmeter = str(toolchain.ensure_jmeter())
    (unread, environment), (unseen, of_terminal) = (apart(name, JMETER_HOME=jmeter) for name in ("head", "terminal"))
    argv = command("run", "--target", target, "--duration")
    # After ten seconds a line of progress meets the closed pipe.
    line = " ".join(f"'{word}'" for word in (*argv, "12", "--reports", str(unread / "reports")))
    pipe = ["bash", "-c", f"set -o pipefail; {line} | head -1"]
    head = subprocess.Popen(pipe, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    terminal = in_terminal([*argv, "60", "--reports", str(unseen / "reports")], **of_terminal)
    samples_under_way(unseen, seconds=60)
    terminal.close()
    assert terminal.process.wait(timeout=60) == 130
    assert "INTERRUPTED" in report(unseen / "reports")
    assert (head.communicate(timeout=120)[1], head.returncode) == (b"", 0)
    assert is_whole(unread)
    for folder in (unread, unseen):
        assert run_json(folder / "reports")["exit_codes"] == {"jmeter": 0}
