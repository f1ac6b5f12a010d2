"""scripts/run as a user calls it, with a fake JMeter at the edge of the process."""

import json
import os
import re
import signal
import subprocess
import sys
from datetime import datetime

import psutil
import pytest

from harness.base.guardian import RUNS_VARIABLE
from harness.run.jmeter import drive
from tests.support.commands import command
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.processes import is_running, output_until, processes_of, wait_for, words_of
from tests.support.tiny import DUMMY_JMX, arguments_of_run, report, run_json, samples_under_way


@pytest.mark.real
def test_a_run_starts_the_system_and_writes_directory_report_and_json(run, tmp_path):
    done = run("--users", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    # 2 s are too few for a check; other tests may use the CPU.
    assert re.search("^! tiny/run-01_1: DOUBTFUL: ", done.stdout, re.MULTILINE)
    assert "Too short to judge: " in done.stdout
    reports = tmp_path / "reports"
    directory = reports / "tiny" / "run-01_1"
    for name in ("run.json", "samples.jtl", "jmeter.log", "effective.jmx", "telemetry.csv"):
        assert (directory / name).stat().st_size > 0, name
    facts = run_json(reports)
    assert (facts["state"], facts["exit_codes"], facts["interrupted"]) == ("finished", {"jmeter": 0}, False)
    assert (facts["load"]["users"], facts["properties"]["users"], facts["properties"]["duration_s"]) == (3, "3", "2")
    assert facts["command"] == "lth run --plan=tiny --users=3"
    assert {"cpu_model", "cpu_count", "memory_bytes", "kernel"} <= set(facts["host"])
    text = report(reports)
    assert "| Pay |" in text
    assert "| jmeter |" in text
    assert "| web |" in text
    assert str(tmp_path) not in text
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_a_load_ends_after_about_the_requested_samples_and_is_valid(run, target, tmp_path):
    done = run("--target", target, "--duration", "60", "--requests", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of 5 samples done" in done.stdout
    assert run_json(tmp_path / "reports")["load"]["requests"] == 5
    assert "or about 5 samples, whichever is first" in report(tmp_path / "reports")
    assert run_json(tmp_path / "reports")["took_s"] < 30


@pytest.mark.real
def test_a_secret_reaches_jmeter_and_no_stored_file(run, home, target, tmp_path):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    refused = run("--target", target, SHOP_PASSWORD="")
    assert refused.returncode == 2
    assert "the plan needs SHOP_PASSWORD" in refused.stderr
    done = run("--target", target, "--duration", "1", SHOP_PASSWORD="hunter2hunter2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "masked secrets in jmeter.log" in done.stdout
    stored = [path for path in (tmp_path / "reports").rglob("*") if path.is_file()]
    assert [path for path in stored if b"hunter2hunter2" in path.read_bytes()] == []
    assert "logs in with •••" in (tmp_path / "reports" / "tiny" / "run-01_1" / "jmeter.log").read_text()


@pytest.mark.real
def test_after_kill_9_no_secret_is_left_in_the_runs_files(start_run, home, target, tmp_path):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().replace("[load]", 'secrets = ["SHOP_PASSWORD"]\n[load]'))
    process = start_run("--target", target, "--duration", "60", SHOP_PASSWORD="hunter2hunter2")
    directory = samples_under_way(tmp_path).parent
    assert "hunter2hunter2" in (directory / "jmeter.log").read_text()
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: "logs in with •••" in (directory / "jmeter.log").read_text())
    assert [path for path in directory.rglob("*") if path.is_file() and b"hunter2" in path.read_bytes()] == []


@pytest.mark.counterpart
def test_consecutive_runs_continue_the_given_series_and_do_not_see_each_other(run, target, tmp_path, monkeypatch):
    monkeypatch.setenv(RUNS_VARIABLE, str(tmp_path / "runs"))
    done = [run("--target", target, "--duration", "1", *arguments) for arguments in (("--series", "7"), ())]
    assert [one.returncode for one in done] == [0, 0]
    plan = tmp_path / "reports" / "tiny"
    assert sorted(path.name for path in plan.glob("*.md")) == ["run-07_1.md", "run-07_2.md"]
    assert not any("another run" in one.stdout for one in done)
    names = ("run-07_1", "run-07_2")
    assert [run_json(tmp_path / "reports", name)["other_runs"] for name in names] == [[], []]
    # Each names its report; the second one also a command that compares it with the first.
    first, second = (one.stdout.splitlines()[-3:] for one in done)
    assert [line[:9] for line in first[1:]] == ["report:  ", "next:    "]
    assert [line[:9] for line in second] == ["report:  ", "compare: ", "next:    "]
    command = second[1].removeprefix("compare: ")
    assert command.startswith("lth compare tiny/run-07_1 tiny/run-07_2 --reports ")
    compared = subprocess.run(f"scripts/{command}", shell=True, cwd=ROOT, capture_output=True, text=True, check=False)
    assert compared.returncode == 0, compared.stdout + compared.stderr
    assert (plan / "compare-run-07_1-run-07_2.md").is_file()


@pytest.mark.real
def test_a_report_is_rendered_again_with_the_same_bytes_and_keeps_its_notes(run, target, tmp_path):
    assert run("--target", target, "--duration", "1", "--note", "before the fix").returncode == 0
    directory = tmp_path / "reports" / "tiny" / "run-01_1"
    path = directory.with_suffix(".md")
    path.write_text(path.read_text().replace("before the fix", "before the fix\n\nsee also run-02_1"))
    before = path.read_bytes(), directory.with_suffix(".json").read_bytes()
    assert command("aggregate.py", "report", directory).returncode == 0
    assert (path.read_bytes(), directory.with_suffix(".json").read_bytes()) == before
    (directory / "samples.jtl").unlink()  # as in a fresh clone: the JSON alone is left
    (directory / "run.json").unlink()
    assert command("aggregate.py", "report", directory).returncode == 0
    assert path.read_bytes() == before[0]
    assert b"see also run-02_1" in before[0]


@pytest.mark.real
@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("dies", "CannotResolveClass kg.apc.Gone"),
        pytest.param("silent", "the load has no samples", marks=pytest.mark.real),
        pytest.param("all-failed", "response times of errors are not meaningful", marks=pytest.mark.real),
    ],
)
def test_a_run_that_measured_nothing_ends_with_3_and_the_reason(run, target, tmp_path, mode, reason):
    done = run("--target", target, "--duration", "1", mode=mode)
    assert done.returncode == 3, done.stderr
    assert "INVALID" in done.stdout
    assert reason in done.stdout
    assert reason in report(tmp_path / "reports")


@pytest.mark.real
def test_a_doubtful_run_ends_with_3_when_it_must_be_sure(run, target):
    done = run("--target", target, "--duration", "1", "--sure")
    assert done.returncode == 3, done.stderr
    assert ": DOUBTFUL: " in done.stdout
    assert "too short to tell" in done.stdout


@pytest.mark.real
def test_a_stop_condition_ends_a_run_with_1_and_the_report_and_the_result_file_have_the_reason(run, target, tmp_path):
    result = tmp_path / "result.json"
    arguments = ("--duration", "60", "--stop", "errors>50% for 1s", "--result", str(result))
    done = run("--target", target, *arguments, mode="all-failed")
    assert done.returncode == 1, done.stdout + done.stderr
    why = "Stopped early: errors above 50 % for 1 s; errors 100.00 % in the last second"
    assert f"{why.replace('Stopped', 'stopping')}: JMeter finishes its running samples" in done.stdout
    facts = run_json(tmp_path / "reports")
    assert (f"Stopped early: {facts['stopped_early']}", facts["exit_codes"]) == (why, {"jmeter": 0})
    assert facts["command"] == f"lth run --plan=tiny --target={target} --duration=60 '--stop=errors>50% for 1s'"
    assert facts["took_s"] < 30
    ended = json.loads(result.read_text())
    assert (ended["exit_code"], ended["verdict"], ended["reasons"][0]) == (1, "DOUBTFUL", why)
    assert why in report(tmp_path / "reports")
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_a_jmeter_that_hangs_after_a_stop_condition_is_killed_and_its_samples_are_reported(
    home, target, tmp_path, monkeypatch
):
    monkeypatch.setattr(drive, "GRACEFUL_S", 1.0)
    monkeypatch.setattr(drive, "_TERM_S", 0.5)
    arguments = ["--target", target, "--duration", "60", "--stop", "errors>50% for 1s"]
    environment = {"JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "failing-hangs"}
    done = command("scripts/run", *arguments_of_run(home, tmp_path, arguments), **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    facts = run_json(tmp_path / "reports")
    assert (facts["exit_codes"], facts["stop_reasons"], facts["took_s"] < 30) == ({"jmeter": -9}, [], True)
    text = report(tmp_path / "reports")
    assert "**DOUBTFUL. 2 goals missed. Stopped early: errors above 50 % for 1 s" in text
    assert "Stopped early: errors above 50 % for 1 s; errors 100.00 % in the last second" in text
    rows = (tmp_path / "reports" / "tiny" / "run-01_1" / "samples.jtl").read_text().count(",Pay,")
    assert f"| Pay | 500 | {rows} | {rows} |" in text
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_a_run_without_a_goal_for_errors_misses_the_default_goal(run, home, target, tmp_path):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text().partition("[goal]")[0])
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)  # its sampler is Pay
    done = run("--target", target, "--duration", "1", "--goal", "Pay: p95<1ms, throughput>1/s")
    assert done.returncode == 1, done.stdout + done.stderr
    text = report(tmp_path / "reports")
    assert "| errors ≤ 1 % (the default) | 0.00 % | met |" in text
    assert "| Pay: p95 ≤ 1 ms | 20 ms | **missed** |" in text
    assert "| throughput ≥ 1 req/s |" in text
    goal = "'--goal=Pay: p95<1ms, throughput>1/s'"
    assert f"command: lth run --plan=tiny --target={target} --duration=1 {goal} -->" in text


@pytest.mark.real
def test_a_killed_jmeter_makes_the_run_invalid_and_its_torn_row_is_counted(run, target, tmp_path):
    done = run("--target", target, "--duration", "1", mode="torn")
    assert done.returncode == 3, done.stderr
    why = "JMeter was killed by signal 9 (SIGKILL)"
    assert run_json(tmp_path / "reports")["stop_reasons"] == [why]  # no harmless line of the log is quoted
    for text in (done.stdout, report(tmp_path / "reports")):
        assert "INVALID" in text
        assert why in text
    assert "| 10 rows read, 1 torn at the end |" in report(tmp_path / "reports")


@pytest.mark.real
def test_a_jmeter_that_hangs_is_stopped_and_the_run_is_invalid(run, home, target, tmp_path, monkeypatch):
    monkeypatch.setattr(drive, "_BRIEF_S", 1.0)
    monkeypatch.setattr(drive, "_TERM_S", 0.5)
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 1"))
    done = run("--target", target, "--duration", "1", mode="hangs")
    assert done.returncode == 3
    assert "did not end by itself within 1 s" in done.stdout
    assert processes_of(tmp_path) == []


@pytest.mark.real
@pytest.mark.parametrize(
    "number",
    [signal.SIGINT, *(pytest.param(one, marks=pytest.mark.counterpart) for one in (signal.SIGTERM, signal.SIGHUP))],
)
def test_an_interrupt_keeps_the_samples_and_marks_the_report(start_run, target, tmp_path, number):
    process = start_run("--target", target, "--duration", "60")
    samples_under_way(tmp_path)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "INTERRUPTED" in out
    text = report(tmp_path / "reports")
    assert "**INTERRUPTED: stopped by hand before its end: the samples so far are saved" in text
    assert "| Pay |" in text
    assert run_json(tmp_path / "reports")["exit_codes"] == {"jmeter": 0}  # on a request, not killed
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_a_second_interrupt_does_not_wait_for_an_unresponsive_jmeter(start_run, target, tmp_path):
    process = start_run("--target", target, "--duration", "60", mode="hangs")
    samples_under_way(tmp_path)
    process.send_signal(signal.SIGINT)
    output_until(process, "stopping: ")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_kill_9_of_the_harness_leaves_no_process_and_the_samples_can_be_reported(start_run, tmp_path):
    process = start_run("--duration", "60")  # with the system started here
    samples = samples_under_way(tmp_path)
    assert len(processes_of(tmp_path)) >= 2
    process.kill()
    process.wait()
    wait_for(lambda: not processes_of(tmp_path), 40)
    assert command("aggregate.py", "report", samples.parent).returncode == 0
    assert "INVALID: the harness was killed before this run ended" in report(tmp_path / "reports")


@pytest.mark.real
def test_a_system_that_dies_ends_the_run_as_invalid(start_run, tmp_path):
    process = start_run("--duration", "60")
    samples_under_way(tmp_path)
    (server,) = [
        found for found in psutil.Process(process.pid).children(recursive=True) if "http.server" in words_of(found)
    ]
    server.kill()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "web died during the run" in out


@pytest.mark.real
def test_term_during_set_up_leaves_no_process_behind(tmp_path):
    # A set-up step that would last for a minute, stopped as `kill` stops it.
    log = tmp_path / "log"
    code = (
        "from pathlib import Path\nfrom harness.base.install.setup_step import run, step\n"
        "from harness.base.interrupts import Interrupts\n"
        f"with Interrupts(), step('a minute', Path({str(log)!r})) as one:\n"
        "    run(['sh', '-c', 'sleep 61 & echo up; wait'], one, Path.cwd(), '')"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=subprocess.DEVNULL)
    wait_for(lambda: log.is_file() and log.read_text() == "up\n")
    mine = psutil.Process(process.pid).children(recursive=True)
    process.terminate()
    process.wait(timeout=60)
    assert len(mine) == 2
    wait_for(lambda: not any(is_running(child.pid) for child in mine), 40)


STARTING = """
import os, signal, subprocess
from pathlib import Path
from harness.base import process; from harness.base.install import setup_step
from harness.base.interrupts import Interrupts

class Interrupted(subprocess.Popen):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

subprocess.Popen = Interrupted
with Interrupts(), setup_step.step("a minute", Path("step.log")) as step:
    if {is_step}:
        setup_step.run(["sleep", "62"], step, Path.cwd(), "")
    process.run(process.Launch("a minute", ["sleep", "62"], Path.cwd(), {{}}, Path("log")))
"""


@pytest.mark.real
@pytest.mark.parametrize("is_step", [True, False])
def test_term_while_a_process_starts_ends_that_process(tmp_path, is_step):
    command = [sys.executable, "-c", STARTING.format(is_step=is_step)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=50)
    assert "KeyboardInterrupt" in done.stderr
    (pid,) = map(int, done.stdout.split())
    assert not is_running(pid)


@pytest.mark.real
def test_jmeter_starts_while_the_system_starts_and_loads_it_when_it_is_ready(run, home, tmp_path):
    code = (
        "import glob, runpy, time\n"
        f"while not glob.glob('{tmp_path}/reports/*/*/jmeter.log'): time.sleep(0.02)\n"
        "time.sleep(1)\n"
        "runpy.run_module('http.server', run_name='__main__', alter_sys=True)"
    )
    manifest = home / "systems" / "tiny" / "system.toml"
    manifest.write_text(manifest.read_text().replace('"-m", "http.server"', f'"-c", {json.dumps(code)}'))
    done = run("--users", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    began = datetime.fromisoformat(run_json(tmp_path / "reports")["started_at"]).timestamp()
    (samples,) = (tmp_path / "reports").rglob("samples.jtl")
    first_ms = int(samples.read_text().splitlines()[1].partition(",")[0])
    log = samples.with_name("jmeter.log").stat()
    assert log.st_mtime < began  # the fake JMeter writes it when it starts
    assert first_ms / 1000 >= began
    assert processes_of(tmp_path) == []


@pytest.mark.real
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_end_while_the_system_starts_leaves_no_jmeter_that_waits(start_run, home, tmp_path, number):
    manifest = home / "systems" / "tiny" / "system.toml"
    manifest.write_text(manifest.read_text().replace('"-m", "http.server"', '"-c", "import time; time.sleep(60)"'))
    process = start_run()
    wait_for(lambda: bool(list((tmp_path / "reports").glob("*/*/jmeter.log"))), 40)
    assert len(processes_of(tmp_path)) >= 2
    process.send_signal(number)
    assert process.wait(timeout=60) == (130 if number == signal.SIGINT else -number)
    wait_for(lambda: not processes_of(tmp_path), 40)
    if number == signal.SIGINT:
        assert not list((tmp_path / "reports").rglob("run-*"))


@pytest.mark.real
def test_a_system_that_never_gets_ready_shows_its_log_and_ends_with_3(run, home, tmp_path):
    code = "import time; time.sleep(1); raise SystemExit('no licence')"  # by then JMeter waits
    manifest = home / "systems" / "tiny" / "system.toml"
    manifest.write_text(manifest.read_text().replace('"-m", "http.server"', f'"-c", "{code}"'))
    done = run()
    assert done.returncode == 3
    assert "no licence" in done.stderr
    assert not list((tmp_path / "reports").rglob("run-*"))
    stored = tmp_path / "build" / "failed-start"
    assert stored.is_dir()
    assert f"before the system was ready; see {os.path.relpath(stored)}\n" in done.stderr
    assert processes_of(tmp_path) == []


@pytest.mark.real
def test_properties_of_the_command_line_are_in_run_json_and_in_the_report(run, tmp_path):
    done = run("--duration", "1", "--properties", "httpclient4.retrycount=1 api_token=hunter2hunter2")
    assert done.returncode == 0, done.stdout + done.stderr
    facts = run_json(tmp_path / "reports")
    assert facts["properties"]["httpclient4.retrycount"] == "1"
    assert (facts["properties"]["api_token"], facts["given_properties"]) == (
        "•••",
        ["httpclient4.retrycount", "api_token"],
    )
    assert facts["command"] == "lth run --plan=tiny '--properties=httpclient4.retrycount=1 api_token=•••' --duration=1"
    assert "- --properties: httpclient4.retrycount=1, api_token=•••\n" in report(tmp_path / "reports")
    stored = [path for path in (tmp_path / "reports").rglob("*") if path.is_file()]
    assert [path for path in stored if b"hunter2hunter2" in path.read_bytes()] == []
