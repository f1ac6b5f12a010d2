"""A part that lies, floods or falls silent: one line names it in bounded time, and nothing is written elsewhere."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.base.plain_text import CONTROL
from harness.run.parts import messages, relay, stored_files
from harness.run.parts.channel import Channel, Rows
from harness.run.parts.kubernetes import former_pods
from harness.run.parts.launchers import parse_places
from harness.run.parts.messages import KINDS
from harness.run.parts.places import Place

# Reads the relay's program as a real one does; then `say` sends a message.
BEGIN = """\
import json, os, sys, time
source = sys.stdin.buffer
source.read(int(source.readline()))
def say(kind, payload=b"", **fields):
    head = json.dumps({"is": kind, "size": len(payload), **fields}).encode()
    os.write(1, head + b"\\n" + payload)
"""
HELLO = 'say("hello", system="Linux", machine="m", tool="")\n'


def channel_to(program):
    return Channel(Place("evil", (sys.executable, "-S", "-c", BEGIN + program)))


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    monkeypatch.setattr(messages, "_FILES_BYTES", 2**23)


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    monkeypatch.setattr(messages, "_FILES_BYTES", 2**23)


def lost(program, within_s=15.0):
    """Return why a part is lost that runs a program; at its end nothing of it runs."""
    began_s = time.monotonic()
    channel = channel_to(program)
    while channel.receive("never", within_s):
        pass
    channel.close()
    assert channel._process.returncode is not None
    assert time.monotonic() - began_s < within_s
    assert not CONTROL.search(channel.lost) and "\n" not in channel.lost
    assert len(channel.lost) < 400
    return channel.lost


NAMES = [
    "../x", "/etc/x", "a/../../x", "..", ".", "", "a\0b", "a\\..\\b", "x" * 300, "\u202egnp.exe", "a\x1b[2Jb", "a\nb",
    7, None, ["a"], "a/\x9b31m",
]  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("os.write(1, b'{\"is\": nonsense\\n')", "a message that is no JSON"),
        ("os.write(1, b'{\"is\": ' + b'[' * 60000 + b'\\n')", "a message that is no JSON: nested too deeply"),
        ("os.write(1, b'{\"is\": \\xff\\xfe}\\n')", "a message that is no JSON"),
        ("say('boom')", "an unknown message: boom"),
        ("say(['beat'])", "an unknown message"),
        ("say('rows', size=-1)", "a message rows of -1 bytes"),
        ("say('rows', size=10**12)", "a message rows of 1000000000000 bytes"),
        ("say('rows', size=True)", "a message rows of True bytes"),
        ("say('rows', size='9')", "a message rows of 9 bytes"),
        ("say('hello', system=7, machine='', tool='')", "a message hello with a wrong system"),
        ("say('pong', ms=float('nan'))", "a message that is no JSON: NaN"),
        ("say('pong', ms='now')", "a message pong with a wrong ms"),
        ("say('pong', ms=1e300)", "a message pong with a wrong ms"),
        ("say('beat', users='many')", "a message beat with a wrong users"),
        ("say('beat', users=-5)", "a message beat with a wrong users"),
        ("say('ended', code='0', reason='')", "a message ended with a wrong code"),
        ("say('ended', code=0, reason=['x'])", "a message ended with a wrong reason"),
        ("say('lacks', names='tool')", "a message lacks with a wrong names"),
        ("say('ready', b'x' * (17 * 2**20))", "a message ready of 17825792 bytes"),
        ("while True: os.write(1, b'{\"is\": ' + b'x' * 2**16)", "a message of more than 64 KB"),
        ("while True: os.write(1, b'motd ' * 9999 + b'\\n')", "it printed more than 4 MB beside its messages"),
        ("while True: os.write(1, b'x' * 2**16)", "it printed more than 4 MB beside its messages"),
        ("while True: say('pong', ms=1.0)", "it sent too many messages|no answer"),
        ("while True: say('file', b'x' * 2**22, name='a')", "more than 512 MB or 10000 files"),
        ("for number in range(10001): say('file', name=str(number))", "more than 512 MB or 10000 files"),
        ("[os.write(2, b'y' * 2**16) for _ in range(99)]; sys.exit('\\n\\x1b]0;x\\x07\\x9b31m no route')", "no route"),
        ("sys.exit('\\u202eetuor on')", "etuor on"),
        ("os.kill(os.getpid(), 9)", "the connection ended with code -9"),
        *((f"say('file', b'x', name={name!r})", "a message file with a wrong name") for name in NAMES),
    ],
)  # fmt: skip
def test_a_message_that_no_relay_sends_loses_the_part_with_its_reason(program, why):
    assert any(one in lost(HELLO + program) for one in why.split("|"))


@pytest.mark.real
def test_what_a_shell_prints_around_the_messages_is_not_read_as_one():
    program = 'os.write(1, b\'Welcome! {"is": "ended"}\\n\\x1b[2J\\0\\n\'); ' + HELLO + "os.write(1, b'bye\\n')"
    channel = channel_to(program)
    assert channel.receive("hello", 10.0)[0]["machine"] == "m"
    channel.close()


@pytest.mark.real
def test_a_part_that_does_not_read_or_end_holds_up_neither_sending_nor_the_end(monkeypatch):
    monkeypatch.setattr("harness.run.parts.channel._END_S", 0.5)
    channel = channel_to(HELLO + "time.sleep(600)")
    assert channel.receive("hello", 10.0)
    began_s = time.monotonic()
    channel.send("folder", b"x" * 2**26, name="tool")
    assert channel.receive("has", 0.3) is None
    assert channel.lost == "no answer for 0 s"
    channel.close()
    assert channel._process.returncode is not None
    assert time.monotonic() - began_s < 5.0


@pytest.mark.real
def test_a_flood_of_other_messages_does_not_prolong_the_wait():
    channel = channel_to(HELLO + "while True: say('has', name='x'); time.sleep(0.01)")
    began_s = time.monotonic()
    assert channel.receive("lacks", 1.0) is None
    assert time.monotonic() - began_s < 5.0
    channel.close(at_once=True)


def test_rows_of_another_time_are_a_problem_and_a_row_that_never_ends_an_error(tmp_path):
    now_ms = time.time() * 1000
    head = b"timeStamp,elapsed,label\n"

    def problem(text, ahead_ms=0):
        rows = Rows(tmp_path / "samples.jtl", ahead_ms, now_ms)
        rows.write(head + text)
        rows.close()
        return rows.problem

    for ahead_ms in (0, 86_400_000, -700):
        good = b"%d,5,Pay\n" % (now_ms + 5_000 + ahead_ms)
        assert problem(good * 3, ahead_ms) == problem(b'%d,5,"a\n1,b"\n' % (now_ms + ahead_ms), ahead_ms) == ""
        for other in (b"1,5,Pay\n", b"9999999999999,5,Pay\n", b"99999999999999999999,5,Pay\n", b"0,1,x\n"):
            assert problem(good + other + good, ahead_ms).startswith("it sent rows of another time")
            assert problem(b'%d,5,"a""b"\n' % now_ms + other, ahead_ms).startswith("it sent rows of another time")
    rows = Rows(tmp_path / "samples.jtl", 0, now_ms)
    with pytest.raises(ValueError, match="a row of more than 1 MB"):
        for _ in range(20):
            rows.write(b"1" * 2**16)


@pytest.mark.parametrize(
    "host",
    ["-oProxyCommand=touch x", "-F", "-Fevil.conf", "-lroot", "gen1,-Fevil.conf", "-x@gen1", "root@-oProxyCommand",
     "--", "gen1:-22", "gen1:22 -v", "gen1 -v", "gen1;id", "$(id)", "gen1\n-v", "@gen1", "-", "gen1:999999"],
)  # fmt: skip
def test_a_host_that_ssh_would_read_as_an_option_is_refused(host):
    with pytest.raises(UsageError, match="is no host"):
        parse_places(f"ssh:{host}")


def test_a_host_follows_the_end_of_the_options():
    argv = parse_places("ssh:perf@gen2:2222")[0].argv
    assert argv[argv.index("--") + 1] == "perf@gen2"


@pytest.mark.parametrize("namespace", ["--all", "-n", "a b", "A", "a/b/2", "perf\n", "--kubeconfig=x"])
def test_a_namespace_that_kubectl_would_read_as_an_option_is_refused(namespace):
    with pytest.raises(UsageError):
        parse_places(f"k8s:{namespace}/2")


@pytest.mark.parametrize("pods", [["--all-0-abcde"], ["load-test-0123abcd-0-abcde", "--all-1-x"], ["other-0-abcde"],
                                  ["load-test-0123abcd-0-abcde", "load-test-99999999-1-abcde"]])  # fmt: skip
def test_a_stored_name_that_is_no_pod_of_a_run_reaches_no_command(pods, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a command was started"))
    with pytest.raises(UsageError, match="no pods of a run"), former_pods(parse_places("k8s:perf/2"), pods, print):
        pass


@pytest.mark.parametrize("name", ["../../x", "/etc", "..", ".", "", "a/b", "-r", "a\0", "a\n"])
def test_the_relay_removes_no_folder_but_that_of_a_run(name):
    with pytest.raises(ValueError, match="is no run"):
        relay.run_name(name)
    assert relay.run_name("0123abcd-1") == "0123abcd-1"


@pytest.mark.parametrize(
    ("name", "is_copied"),
    [("run.json", False), ("samples.jtl", False), ("samples-2.jtl", False), ("samples-9.jtl.gz", False),
     ("failures.html", False), ("compared.json", False), ("x.svg", False), (".exchanges.jsonl", False),
     ("answers/1.json", True), ("plan.log", True)],
)  # fmt: skip
def test_a_file_of_a_part_replaces_no_result_of_the_whole_run(name, is_copied):
    assert stored_files.is_copied(name) is is_copied


def test_the_relay_itself_sends_only_what_the_launcher_accepts():
    sent = re.findall(r'self\.send\(\s*"(\w+)"', Path(relay.__file__).read_text())
    assert set(sent) == set(KINDS)
