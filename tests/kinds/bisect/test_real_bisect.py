"""A real JMeter bisects a repository around a small system: one commit is slow, one does not build."""

import json
import re
import sys

import pytest

from harness.cli.verbs import main
from tests.support.ab_tests import commit, git
from tests.support.off_host import jmx, request
from tests.support.tiny import TINY_PLAN, TINY_PROFILE, TINY_SYSTEM

pytestmark = pytest.mark.counterpart  # six commits are built and measured

SERVER = """import http.server, sys, time

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        time.sleep(DELAY_S)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
COMMAND = '["{{ settings.python }}", "-m", "http.server", "{{ ports.http }}", "--bind", "127.0.0.1"]'


def repository(home) -> None:
    """Make a repository of six commits: the fourth waits 40 ms instead of 20, the second does not build.

    The build copies the server to where the system runs it.
    """
    command = '["{{ settings.python }}", "{{ system_dir }}/built.py", "{{ ports.http }}"]'
    build = f'build = ["{sys.executable}", "-m", "py_compile", "systems/tiny/built.py"]\n'
    for name, text in (
        ("plans/tiny.jmx", jmx(request())),
        ("plans/tiny.toml", TINY_PLAN),
        ("env/local.toml", build + TINY_PROFILE),
        ("systems/tiny/system.toml", TINY_SYSTEM.replace(COMMAND, command)),
    ):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(home, "init", "-q")
    for number in range(1, 7):
        server = SERVER.replace("DELAY_S", "0.04" if number >= 4 else "0.02")
        broken = "def broken(:\n" if number == 2 else ""
        (home / "systems" / "tiny" / "built.py").write_text(f"# {number}\n{server}{broken}")
        commit(home, "Wait for a lock" if number == 4 else f"Change {number}")


def test_the_slow_commit_of_six_is_named(tmp_path, capsys):
    home = tmp_path / "home"
    repository(home)
    folders = [f"--home={home}", f"--reports={tmp_path / 'reports'}", f"--build={tmp_path / 'build'}"]
    load = ["--users=2", "--duration=1", "--ramp=0", "--metric=p50", "--max=2m"]
    assert main(["--plan=tiny", "--good=HEAD~5", *load, *folders], "scripts/bisect") == 0
    record = json.loads((tmp_path / "reports" / "bisect" / "tiny" / "bisect-01.json").read_text())
    slow = record["candidates"][3]
    assert slow["subject"] == "Wait for a lock"
    found = re.search(rf" %: {slow['text']} Wait for a lock \(p50 \+(\d+) %, ", record["headline"])
    assert found, capsys.readouterr().out
    assert 60 <= int(found[1]) <= 110
    # On a busy machine two minutes may be too short to be sure.
    assert record["probabilities"][3] >= 0.8
    assert record["verdict"] == "FOUND" or record["stop_reason"].startswith("the budget of 2 min is used up")
    built = {run["candidate"] for run in record["runs"] if run["is_built"]}
    assert {run["candidate"] for run in record["runs"] if not run["is_built"]} <= {1}
    assert 1 not in built
    assert {0, 2, 3, 5} <= built
