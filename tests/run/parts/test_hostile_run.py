"""A whole run whose part, behind an ssh of our own on PATH, lies: INVALID with the part's name, and nothing outside."""

import json
import os
import re
import sys

import pytest

from harness import __version__
from harness.base.plain_text import CONTROL
from harness.run.directory import json_text
from tests.support.factories import record as run_record

# Loopback addresses: a load of this machine. The second one lies.
HOSTS = ("127.0.0.2", "127.0.0.3")
HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes\\n"
# What a relay does, in short; LIE is a program that changes it on one machine.
RELAY = """\
import json, os, sys, time
name = next(word for word in sys.argv if word.startswith("127."))
os.write(1, b"** MOTD **\\x1b[2J\\n")
source = sys.stdin.buffer
source.read(int(source.readline()))
state = {"record": open(os.environ["RECORD"]).read(), "rows": 60, "ahead_ms": 0}
def say(kind, payload=b"", **fields):
    head = json.dumps({"is": kind, "size": len(payload), **fields}).encode()
    os.write(1, head + b"\\n" + payload)
def now_ms():
    return int(time.time() * 1000) + state["ahead_ms"]
def rows():
    now = now_ms()
    times = range(now - 9 * state["rows"], now, 9)
    return "".join(f"{ms},{name[-1]}0,Pay,200,OK,Users 1-1,true,,5,7\\n" for ms in times)
def files():
    say("file", state["record"].encode(), name="run.json")
def ended():
    say("ended", code=0, reason="")
def going():
    say("rows", (HEAD + rows()).encode())
    time.sleep(0.3)
    files()
    ended()
def heard(message):
    pass
HEAD = os.environ["HEAD"].replace("\\\\n", "\\n")
if name == "127.0.0.3":
    exec(os.environ["LIE"])
say("hello", system="Linux", machine=name, tool=os.environ["VERSION"])
while line := source.readline():
    message = json.loads(line)
    source.read(message["size"])
    heard(message)
    match message["is"]:
        case "begin": say("lacks", names=[])
        case "ping": say("pong", ms=now_ms())
        case "start": say("ready", state["record"].encode()); say("held")
        case "go": going()
"""


@pytest.fixture
def lied_to(run, target, tmp_path):
    """Run the tiny plan on two machines of which one lies; return the exit code, what was printed, and the report."""
    folder = tmp_path / "bin"
    folder.mkdir()
    ssh = folder / "ssh"
    ssh.write_text(f"#!{sys.executable} -S\n{RELAY}")
    ssh.chmod(0o755)
    record = tmp_path / "record.json"
    record.write_text(json_text(run_record(versions={"jmeter": "5.6.3", "java": "17.0.1"}, other_runs=())))

    def to_the_end(lie: str):
        done = run(
            f"--on=ssh:{','.join(HOSTS)}", f"--target={target}", "--duration=1", "--compare=0",
            LIE=lie, RECORD=str(record), HEAD=HEAD, VERSION=__version__,
            PATH=f"{folder}{os.pathsep}{os.environ['PATH']}",
        )  # fmt: skip
        said = done.stdout + done.stderr
        assert not CONTROL.search(said)
        assert "Traceback" not in said, said
        found = sorted((tmp_path / "reports").rglob("run-*.json"))
        return done.returncode, said, json.loads(found[0].read_text()) if found else None

    return to_the_end


@pytest.mark.real
@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ("HEAD = 'x' * 99 + '\\n'", "part evil was lost: it sent rows without the header"),
        ("rows = lambda: '1,5,Pay,200,OK,Users 1-1,true,,5,7\\n' * 9", "part evil: it sent rows of another time"),
        ("ended = lambda: say('ended', code=None, reason='\\x1b]0;x\\x07\\u202e \\x9b')", "part evil died: "),
        ("files = lambda: say('file', b'{', name='run.json')", "part evil: run.json of evil is no JSON"),
        ("files = lambda: say('file', b'x', name='../../owned')", "part evil was lost: it sent a message"),
        ("files = lambda: [say('file', b'x', name=n) for n in ('a', 'a/b')]", "part evil: its file a/b cannot be"),
        ("name = '127.0.0.2'; now_ms = lambda: 1000 * int(time.time())", None),
        ("going = lambda: [os.write(1, b'y' * 65536) for _ in range(999)]", "part evil was lost: it printed more"),
        *(pytest.param(*one, marks=pytest.mark.counterpart) for one in (
            ("ended = lambda: None", "part evil was lost: no answer"),
            ("ended = lambda: say('ended', code=3, reason='no\\x9b disk')", "part evil ended with code 3: no"),
            ("files = lambda: say('file', b'[' * 9999, name='run.json')", "part evil: run.json of evil is no JSON"),
            ("files = lambda: say('file', b'x\\n1', name='telemetry.csv')", "part evil: its telemetry.csv is damaged"),
            ("files = lambda: say('file', b'[' * 9999 + b'\\n{}\\n\\xff', name='failures.jsonl')", None),
            ("going = lambda: os._exit(0)", "part evil was lost: the connection ended with code 0"),
        )),
    ],
)  # fmt: skip
def test_a_part_that_lies_makes_the_run_invalid_with_its_name(lied_to, lie, why, tmp_path, monkeypatch):
    monkeypatch.setattr("harness.run.parts.channel.SILENCE_S", 2.0)
    before = {path for path in tmp_path.rglob("*") if "reports" not in path.parts}
    why = why and why.replace("evil", HOSTS[1])
    code, said, report = lied_to(lie)
    assert why is None or code == 3
    if why:
        assert why in said
        assert any(why in reason for reason in report["verdict"]["reasons"])
    left = {path for path in tmp_path.rglob("*") if "reports" not in path.parts} - before
    assert [path for path in left if not re.search("build|bin|record.json", str(path))] == []


@pytest.mark.real
@pytest.mark.parametrize(
    ("lie", "why"),
    [
        ("state['record'] = 'x'", "run.json of evil is no JSON"),
        ("state['record'] = '{}'", "run.json of evil: not the JSON of a run"),
        ("state['record'] = state['record'].replace('17.0.1', '\\\\u001b[2J9')", "has Java 17.0.1, evil has"),
        ("heard = lambda message: say('lacks', names=['../x'])", "--on: evil cannot be used: it asks for ../x"),
        ("say('gone'); os._exit(1)", "--on: evil cannot be used: the connection ended with code 1"),
    ],
)  # fmt: skip
def test_a_machine_that_cannot_be_used_is_one_line_and_exit_code_2(lied_to, lie, why):
    code, said, report = lied_to(lie)
    assert (code, report) == (2, None)
    assert why.replace("evil", HOSTS[1]) in said


# What the report of a run reads of its folder.
READ = (
    "telemetry.csv", "heap.csv", "recording.csv", "cloudwatch.csv", "services.json", "profile.tsv.gz",
    "histograms.tsv.gz", "failures.jsonl", "jmeter.log", "foreign-connections.txt", "compared.json", "system/web.log",
    "statements.json", "waits.json", "metrics.csv", "plan.log",
)  # fmt: skip
GARBAGE = {
    "binary": "bytes(range(256)) * 64",
    "deep": "b'[' * 100_000",
    "table": "b'time_ms,process,cpu_cores,rss_bytes,threads\\n9,\\x1b[2J,nan,1e999,-1\\n' + b'9' * 200_000",
    "packed": "__import__('gzip').compress(b'0\\t' * 10**7)",
    "empty": "b''",
}


@pytest.mark.real
@pytest.mark.parametrize("content", GARBAGE.values(), ids=GARBAGE)
def test_garbage_in_the_files_of_a_part_ends_with_a_report(lied_to, content):
    code, said, report = lied_to(f"data = {content}\nfiles = lambda: [say('file', data, name=name) for name in {READ}]")
    assert code in (0, 3), said
    assert report["groups"][0]["total"]["sample_count"] == 120


@pytest.mark.real
def test_a_part_that_never_ends_is_stopped_and_the_run_is_invalid(lied_to, home, monkeypatch):
    profile = home / "env" / "local.toml"
    profile.write_text(profile.read_text().replace("overrun_s = 30", "overrun_s = 1"))
    monkeypatch.setattr("harness.run.parts.drive._LAST_S", 0.5)
    monkeypatch.setattr("harness.run.jmeter.drive._BRIEF_S", 0.5)
    monkeypatch.setattr("harness.run.jmeter.drive._TERM_S", 0.5)
    beats = "[(say('beat', users=1), time.sleep(0.1)) for _ in range(900)]"
    thread = f"threading.Thread(target=lambda: {beats}, daemon=True)"
    code, said, report = lied_to(f"import threading\n{thread}.start()\nended = lambda: None")
    assert code == 3, said
    assert f"part {HOSTS[1]} was lost: it did not end" in report["verdict"]["reasons"]
