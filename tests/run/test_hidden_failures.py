"""Failures that other samplers than HTTP write as successes, and times that they make up, in runs of real JMeter."""

from __future__ import annotations

import json
import socketserver
import threading
from pathlib import Path

import pytest

from tests.run.test_other_protocols import LOOPS, USERS, plan
from tests.support.off_host import element, flag, text
from tests.support.paths import jmeter_home
from tests.support.tiny import Run, run_json

PLUGINS = ("kg.apc:jmeter-plugins-dummy:0.4", "org.apache.jmeter:ApacheJMeter_native:5.6.3")
TIMES = USERS * LOOPS


class LineServer(socketserver.StreamRequestHandler):
    """Answers each line, but ends the connection at `leave`."""

    def handle(self) -> None:
        while (line := self.rfile.readline()) and line != b"leave\n":
            self.wfile.write(line)


def tcp(name: str, sent: str, below: str = "") -> str:
    fields = {"server": "${__P(host,h)}", "port": "${__P(port,1)}", "request": f"{sent}\n", "EolByte": "10"}
    once = '<boolProp name="TCPSampler.reUseConnection">false</boolProp>'
    return element(
        "TCPSampler", name, once, *(text(f"TCPSampler.{key}", one) for key, one in fields.items()), below=below
    )


def process(name: str, command: str) -> str:
    tables = (("arguments", "Arguments"), ("environment", "Arguments"))
    empty = '<collectionProp name="Arguments.arguments"/>'
    props = [
        f'<elementProp name="SystemSampler.{key}" elementType="{kind}">{empty}</elementProp>' for key, kind in tables
    ]
    return element("SystemSampler", name, text("SystemSampler.command", command), *props)


def size_0() -> str:
    return element("SizeAssertion", "Nothing", text("SizeAssertion.size", "0"), text("SizeAssertion.operator", "1"))


@pytest.mark.counterpart
def test_successes_that_are_none_and_times_that_are_made_up_are_counted(home: Path, tmp_path: Path, run: Run) -> None:
    made_up = text("RESPONSE_TIME", "500"), flag("SUCCESFULL"), text("RESPONSE_CODE", "200")
    steps = (
        tcp("Ask", "sold"),
        tcp("Leave", "leave"),
        tcp("Meant", "leave", size_0()),
        process("True", "/bin/true"),
        process("False", "/bin/false"),
        element("kg.apc.jmeter.samplers.DummySampler", "Made up", *made_up),
    )
    (home / "plans" / "tiny.jmx").write_text(plan(*steps), encoding="utf-8")
    toml = home / "plans" / "tiny.toml"
    more = f"[allow]\nscripts = true\nother_protocols = true\n[jmeter]\nplugins = {json.dumps(PLUGINS)}\n"
    toml.write_text(toml.read_text().replace("duration_s = 2", f"loops = {LOOPS}") + more)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), LineServer) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        target = f"--target=tcp://127.0.0.1:{server.server_address[1]}"
        done = run(target, f"--users={USERS}", f"--loops={LOOPS}", JMETER_HOME=str(jmeter_home()))
        server.shutdown()
    page = json.loads((tmp_path / "reports" / "tiny" / "run-01_1.json").read_text(encoding="utf-8"))
    (load,) = (group for group in page["groups"] if group["name"] == "load")
    assert load["total"]["error_count"] == 0, done.stdout + done.stderr
    read = next(line["right"] for line in page["account"] if line["code"] == "offered-read")
    assert f"; without an answer: {TIMES} (Leave); with an error as exit code: {TIMES} (False)" in read
    (group,) = run_json(tmp_path / "reports")["groups"]
    (beyond,) = group["beyond_ms"]
    assert beyond["label"] == "Made up"
    assert 450 * TIMES < beyond["count"] <= 500 * TIMES
