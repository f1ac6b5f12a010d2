"""Secrets of a plan in a real JMeter: no script engine reads them, and nothing shows or stores them."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler

import psutil
import pytest

from harness.base.install import toolchain
from harness.plan.jmx.environment import with_properties_for
from tests.support.agent_runs import Agent, group, tree
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import host, jmx, request, text
from tests.support.shop_runs import make_home

pytestmark = pytest.mark.real

# Neither JMeter's functions nor files of properties may change it.
SECRET = r"p\u0041,w=${x} #!: é€"
READ = '${__groovy(System.getenv("SHOP_PW"))}'
# Classes of its script engine; JMeter itself lists the engines that there are.
_ENGINES = ("groovy.lang.", "org.codehaus.groovy.control.")


class Shop(BaseHTTPRequestHandler):
    """Notes the password of each request, and the command lines of all processes."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.seen.append(body)
        if len(self.seen) == 1:
            for process in psutil.process_iter():
                try:
                    self.commands.extend(process.cmdline())
                except psutil.Error:
                    continue
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


def login(*props: str) -> str:
    """A request whose body is the secret."""
    value = text("Argument.value", READ) + text("Argument.metadata", "=")
    argument = f'<elementProp name="" elementType="HTTPArgument">{value}</elementProp>'
    arguments = f'<collectionProp name="Arguments.arguments">{argument}</collectionProp>'
    body = f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments">{arguments}</elementProp>'
    raw = '<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>'
    encoding = text("HTTPSampler.contentEncoding", "UTF-8")
    return request(raw, body, encoding, *props, name="login").replace(">GET<", ">POST<")


@pytest.mark.counterpart
def test_no_script_engine_starts_for_a_secret(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PW", SECRET)
    seen = []
    with serving(Shop, seen=seen, commands=[]) as port:
        plan = tree(group("users", login(host("127.0.0.1"), text("HTTPSampler.port", str(port)))))
        classes = {}
        for name, sent in (("groovy", plan), ("property", with_properties_for(plan.encode(), ["SHOP_PW"]).decode())):
            options = "-Dharness.environment=SHOP_PW -Xlog:class+load:file=classes.txt"
            Agent(tmp_path / name, sent, java=options).ended()
            lines = (tmp_path / name / "classes.txt").read_text().splitlines()
            classes[name] = [line for line in lines if any(engine in line for engine in _ENGINES)]
    assert seen == [SECRET, SECRET]
    assert len(classes["groovy"]) > 100
    assert classes["property"] == []


def test_a_secret_of_a_run_is_sent_and_is_in_no_command_and_no_file(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PW", SECRET)
    seen: list[str] = []
    commands: list[str] = []
    make_home(tmp_path, jmx(login()))
    toml = tmp_path / "plans" / "shop.toml"
    toml.write_text(toml.read_text().replace("[load]", 'secrets = ["SHOP_PW"]\n[load]', 1))
    with serving(Shop, seen=seen, commands=commands) as port:
        folders = ("--home", tmp_path, "--reports", tmp_path / "reports", "--target", f"http://127.0.0.1:{port}")
        load = ("--users", "2", "--loops", "3")
        done = command("scripts/run", "--plan", "shop", *folders, *load, JMETER_HOME=str(toolchain.ensure_jmeter()))
    assert set(seen) == {SECRET}
    assert commands
    assert [one for one in commands if SECRET[:8] in one] == []
    folder = tmp_path / "reports"
    stored = [path for path in folder.rglob("*") if path.is_file() and SECRET[:8].encode() in path.read_bytes()]
    assert stored == []
    effective = next(folder.rglob("effective.jmx")).read_text()
    assert "__groovy" not in effective
    assert "${__P(harness.environment.SHOP_PW,)}" in effective
    assert SECRET[:8] not in done.stdout + done.stderr
