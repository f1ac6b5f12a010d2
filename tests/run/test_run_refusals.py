"""Bad input of scripts/run: one clear line, exit code 2, and nothing is started or left."""

import socket
import subprocess
import sys
import time

import pytest

from harness.base.errors import UsageError
from harness.plan.spec import parse_target
from harness.run.context import check_target
from tests.support.paths import ROOT
from tests.support.tiny import DUMMY_JMX


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--goal", "Pya: p95<1s"),
            "plans/tiny.jmx: the goal: no sampler or Transaction Controller has the label Pya; did you mean Pay? there",
        ),
        (
            ("--goal", "p96<1s"),
            "--goal=p96<1s: p96: no such metric; did you mean p90, p95 or p99? there are: average, p50, ",
        ),
        (("--goal", "p90<1s", "--p90", "5"), "--goal=p90<1s and --p90 both limit p90; give one of them"),
        (("--stop", "errors>5%"), "--stop=errors>5%: errors>5% is no condition; write errors>50% for 10s, "),
    ],
)
def test_a_wrong_goal_or_stop_condition_is_one_line_and_nothing_is_started(refused, home, tmp_path, arguments, message):
    (home / "plans" / "tiny.jmx").write_text(DUMMY_JMX)
    text = refused(*arguments)
    assert message in text
    assert len(text.splitlines()) == 1
    assert not (tmp_path / "reports").exists()


BAD = [
    (("--plan", "tinny"), "--plan=tinny: unknown; did you mean tiny? there are: folio-checkin"),
    (("--env", "moon"), "--env=moon: unknown; there are: folio, "),
    (("--users", "0"), "--users=0: not a whole number"),
    (("--users", "-1"), "--users=-1: not a whole number"),
    (("--users", "abc"), "--users=abc: not a whole number"),
    (("--users", "1e9"), "--users=1e9: not a whole number"),
    (("--ramp", "30", "--duration", "10"), "--ramp=30 is not shorter than --duration=10"),
    (("--loops", "5", "--duration", "10"), "--loops=5 and --duration=10 cannot be used together"),
    (("--rate", "5", "--users", "10"), "--rate=5 and --users=10 cannot be used together"),
    (("--rate", "0"), "--rate=0: not a number above 0"),
    (("--duration", "soon"), "--duration=soon: not a duration"),
    (("--series", "x"), "--series=x: not a number"),
    (("--series", "0"), "--series=0: not a number"),
    (("--plan", "../plans/tiny"), "--plan=../plans/tiny: unknown"),
    (("--env", "../env/local"), "--env=../env/local: unknown"),
    (("--target", ""), "--target is empty"),
    (("--users", " "), "--users is empty"),
    (("--target", "example"), "--target=example: neither an address nor a name in [targets]"),
    (
        ("--target", "http://192.0.2.1"),
        "--target=http://192.0.2.1:80: 192.0.2.1 is not this machine, and env/local.toml",
    ),
    (("--on", "local:2", "--users", "1"), "--users=1 is less than the 2 generators, so one would have no users; give"),
    (("--on", "local:2", "--part", "1/2"), "--on=local:2 and --part=1/2 cannot be used together; give one"),
    (("--part", "1/2"), "--part=1/2: the parts of a run load one system; give its --target=http://host:port"),
    (
        ("--start-at", "2999-01-01T00:00:00Z"),
        "--start-at=2999-01-01T00:00:00Z is for a part of a run; give --part=1/2 as",
    ),
    (("--on", "ssh:gen1"), "gen1 cannot reach the system that is started here: it listens on 127.0.0.1 only; give"),
    (("--target", "http://127.0.0.1:1"), "--target=http://127.0.0.1:1: nothing answers at http://127.0.0.1:1"),
    (
        ("--target", "mqtt://127.0.0.1:1"),
        "nothing answers at mqtt://127.0.0.1:1 ([Errno 111] Connection refused); start it\n",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_clear_line_and_nothing_is_started_or_left(refused, arguments, message):
    started_s = time.monotonic()
    said = refused(*arguments)
    assert message in said
    assert len(said.strip().splitlines()) == 1
    assert time.monotonic() - started_s < 10


@pytest.mark.parametrize(("has_system", "todo"), [(False, "start it"), (True, "start it, or leave --target out to ")])
def test_to_leave_the_target_out_is_advised_only_where_the_plan_has_a_system(has_system, todo):
    with pytest.raises(UsageError) as error:
        check_target(parse_target("http://127.0.0.1:1"), has_system=has_system)
    assert error.value.todo.startswith(todo) and error.value.todo.endswith("here" if has_system else "it")


def test_the_probe_of_a_target_connects_and_sends_nothing():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        check_target(parse_target(f"http://127.0.0.1:{server.getsockname()[1]}/shop"))
        connection, _ = server.accept()
        with connection:
            assert connection.recv(1000) == b""


def test_a_refusal_sets_the_exit_code_of_the_shell(run):
    done = run("--plan", "tinny")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("scripts/run: --plan=tinny: unknown")


def test_a_port_in_use_is_refused_and_nothing_is_left(refused):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert port in refused("--port", port)


@pytest.mark.real
def test_more_users_than_open_files_are_refused_with_the_command_that_raises_the_limit(home, tmp_path):
    command = f"ulimit -n 1200; exec {sys.executable} {ROOT}/scripts/run --plan tiny --home {home} --users 500"
    done = subprocess.run(
        ["sh", "-c", f"{command} --reports {tmp_path}/reports"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "500 users need 1500 open files, but the limit is 1200; raise it for this shell: " in done.stderr
    assert "prlimit --pid $$ --nofile=1500:1500" in done.stderr
    assert not list((tmp_path / "reports").rglob("run-*"))


def test_a_jmeter_home_without_jmeter_is_refused(refused, tmp_path):
    assert f"JMETER_HOME={tmp_path}: has no bin/jmeter" in refused(JMETER_HOME=str(tmp_path))


def test_a_profile_for_an_unknown_system_is_refused(refused, home):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text() + "[system.tinny]\nheap_max_mb = 1\n")
    assert "env/local.toml: unknown system tinny; did you mean tiny?" in refused()


def test_no_disk_space_is_refused_before_anything_starts(refused, home):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("min_free_mb = 1", "min_free_mb = 999999999"))
    assert "MB free, a run needs 999999999 MB" in refused()
