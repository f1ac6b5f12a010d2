"""An address or a curl command as a plan: real curl and a real JMeter send the same; headers; secrets stay nowhere."""

import json
import os
import re
import subprocess
import tomllib
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from xml.etree import ElementTree

import pytest
from defusedxml.ElementTree import fromstring

from harness.base.install import toolchain
from harness.base.java import jmeter_environment
from harness.plan.adopt.one_request import read_request, write_requests
from harness.plan.jmx.headers import with_headers
from harness.plan.plan import load_plan
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request, text
from tests.support.shop_runs import make_home

pytestmark = pytest.mark.real
TOKEN = "tk-4711-secret-of-the-day"

LINES = tomllib.loads((Path(__file__).parent / "curl_lines.toml").read_text(encoding="utf-8"))


class Capture(BaseHTTPRequestHandler):
    """Stores what it gets."""

    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.got.append((self.command, self.path, list(self.headers.items()), body))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


for verb in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
    setattr(Capture, f"do_{verb}", Capture.answer)
# What each of the two adds: curl Accept and its User-Agent, JMeter a Connection and its User-Agent.
ADDED = ("host", "connection", "content-length")


def sent(one) -> tuple:
    """Return what was sent without what only the sender decides: framing, and the boundary of a form."""
    method, path, pairs, body = one
    headers = sorted((name.lower(), value) for name, value in pairs if name.lower() not in ADDED)
    own = re.compile(r"accept: \*/\*|user-agent: (curl/|JMeter \(|Apache-HttpClient).*")
    headers = [pair for pair in headers if not own.fullmatch(": ".join(pair))]
    # JMeter does not decode zstd.
    headers = [
        (name, sorted({*value.split(", ")} - {"zstd"}) if name == "accept-encoding" else value)
        for name, value in headers
    ]
    path = re.sub(r"%..", lambda match: match[0].upper(), path)
    kind = dict(headers).get("content-type", "")
    if kind.startswith("multipart/form-data") and "WebKit" not in kind:
        parts = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body).get_payload()
        body = [(part.items(), part.get_payload()) for part in parts]
        headers = [pair for pair in headers if pair[0] != "content-type"]
    return method, path, headers, body


def combined(plans: list[bytes]) -> bytes:
    """Return one plan with the thread group of each of the plans, and the header of the run in it."""
    roots = [fromstring(data) for data in plans]
    tops = [root.find("hashTree/hashTree") for root in roots]
    groups = []
    for top in tops:
        elements = list(top)
        if elements[0].get("testname") == "Headers of the run":
            elements[-1][:0] = elements[:2]
            top[:2] = []
        groups += elements[-2:]
    tops[0][-2:] = groups
    ElementTree.SubElement(
        roots[0].find("hashTree/TestPlan"), "boolProp", name="TestPlan.serialize_threadgroups"
    ).text = "true"
    return ElementTree.tostring(roots[0]).replace(b"\r", b"&#13;")


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """What the server got of curl and of JMeter, by the name of the line."""
    folder = tmp_path_factory.mktemp("request")
    body = folder / "body.txt"
    body.write_text("first\r\nsecond ü $HOME ${x} \\ end\n", newline="")
    environment = {**os.environ, "KIND": "apples-and-pears"}
    by_curl, by_jmeter, plans = [], [], []
    for got in (by_curl, by_jmeter):
        with serving(Capture, got=got) as port:
            secrets: dict[str, str] = {}
            for number, line in enumerate(LINES.values()):
                line = line.replace("ADDRESS", f"http://127.0.0.1:{port}").replace("BODY", str(body))
                if got is by_curl:
                    subprocess.run(["bash", "-c", line], env=environment, check=True, capture_output=True, timeout=30)
                    continue
                made = write_requests([read_request("", line)], folder / "plans", f"p{number}", f"p{number}")
                plan = load_plan(made.folder, made.name)
                plans.append(with_headers(plan.jmx_path.read_bytes(), plan.headers))
                secrets |= made.secrets
            if got is by_jmeter:
                (folder / "all.jmx").write_bytes(combined(plans))
                properties = {"host": "127.0.0.1", "port": port, "users": 1, "loops": 1, "duration_s": 0}
                program = [toolchain.ensure_jmeter() / "bin" / "jmeter", "-n", "-t", "all.jmx", "-l", "all.jtl"]
                options = [f"-J{name}={value}" for name, value in properties.items()]
                done = subprocess.run(
                    [*program, *options], cwd=folder, env={**environment, **jmeter_environment(), **secrets},
                    capture_output=True, text=True, timeout=120,
                )  # fmt: skip
                failed = [row for row in (folder / "all.jtl").read_text().splitlines()[1:] if ",true," not in row]
                assert (done.returncode, failed) == (0, [])
    assert len(by_curl) == len(by_jmeter) == len(LINES)
    return dict(zip(LINES, zip(by_curl, by_jmeter, strict=True), strict=True))


@pytest.mark.parametrize("name", LINES)
def test_jmeter_sends_what_curl_sends(captured, name):
    by_curl, by_jmeter = map(sent, captured[name])
    if name == "path with brackets":  # curl sends what no URL may contain as it is written
        by_curl = (by_curl[0], by_curl[1].replace("a[1]", "a%5B1%5D"), *by_curl[2:])
    if name in ("delete", "post without a body"):  # JMeter adds a type to a request that may have a body
        by_jmeter[2].remove(("content-type", "application/x-www-form-urlencoded; charset=UTF-8"))
    assert by_jmeter == by_curl


SHOP = """
[headers]
"X-Tenant" = "plan"
"X-Place" = "plan"
"""
OWN = element(
    "HeaderManager", "Own",
    '<collectionProp name="HeaderManager.headers"><elementProp name="" elementType="Header">'
    f"{text('Header.name', 'x-tenant')}{text('Header.value', 'jmx')}</elementProp>"
    f'<elementProp name="" elementType="Header">{text("Header.name", "X-Own")}{text("Header.value", "jmx")}'
    "</elementProp></collectionProp>",
)  # fmt: skip


def lth(folder: Path, *arguments: object, verb: str = "run", **environment: str):
    home = ("--home", folder, *(("--reports", folder / "reports") if verb == "run" else ()))
    environment |= {"JMETER_HOME": str(toolchain.ensure_jmeter())}
    return command(f"scripts/{verb}", *arguments, *home, "--build", folder / "build", **environment)


def files_with(folder: Path, text: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@pytest.mark.counterpart
def test_each_request_of_a_plan_carries_the_headers_and_no_file_has_their_secrets(tmp_path):
    make_home(tmp_path, jmx(request(name="A", path="/a", below=OWN) + request(name="B", path="/b")), SHOP)
    (tmp_path / "loadtest.toml").write_text('format_version = 1\n[headers]\n"X-Place" = "project"\n"X-Site" = "s"\n')
    given = ["-H", "Authorization: Bearer $SHOP_TOKEN", "-H", "X-TENANT: line", "-H", "X-Api-Key: literal-key-77"]
    got: list = []
    with serving(Capture, got=got) as port:
        target = ("--target", f"http://127.0.0.1:{port}")
        checked = lth(tmp_path, "shop", *target, *given, verb="check", SHOP_TOKEN=TOKEN)
        done = lth(tmp_path, "shop", *target, *given, "-u", 1, "--loops", 2, SHOP_TOKEN=TOKEN)
    assert (checked.returncode, done.returncode) == (0, 0), checked.stderr + done.stderr
    assert [one[1] for one in got] == ["/a", "/b"] * 3
    wanted = {"authorization": f"Bearer {TOKEN}", "x-place": "plan", "x-site": "s", "x-api-key": "literal-key-77"}
    for _, path, pairs, _ in got:
        sent_headers = [(name.lower(), value) for name, value in pairs]
        assert set(sent_headers) >= {*wanted.items(), ("x-tenant", "line")}
        assert [value for name, value in sent_headers if name == "x-tenant"] == ["line"]
        assert (("x-own", "jmx") in sent_headers) == (path == "/a")
    assert files_with(tmp_path / "reports", TOKEN) == files_with(tmp_path / "reports", "literal-key-77") == []
    assert TOKEN not in checked.stdout + done.stdout
    report = next((tmp_path / "reports" / "shop").glob("run-01_1*.md")).read_text()
    assert "Authorization: Bearer $SHOP_TOKEN" in report
    record = json.loads(next((tmp_path / "reports" / "shop").glob("run-01_1*/run.json")).read_text())
    assert record["headers"]["X-Api-Key"] == "•••"


def test_an_address_and_a_curl_command_run_in_an_empty_folder_and_are_stored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    got: list = []
    with serving(Capture, got=got) as port:
        address = f"http://127.0.0.1:{port}/api/items?x=1&api_key=key-in-the-address"
        curl = f"curl '{address}' -H 'authorization: Bearer {TOKEN}' --data-raw '{{\"password\":\"hunter22-x\"}}'"
        first = lth(tmp_path, address, "-u", 2, "--loops", 1, "-H", "X-Tenant: t")
        second = lth(tmp_path, "--curl", curl, "-u", 1, "--loops", 1)
        assert lth(tmp_path, "items", "--curl", curl, verb="init").returncode == 0
        third = lth(tmp_path, "items", "--target", f"http://127.0.0.1:{port}", "-u", 1, "--loops", 1)
    assert (first.returncode, second.returncode, third.returncode) == (0, 0, 0), (first, second, third)
    path = "/api/items?x=1&api_key=key-in-the-address"
    assert [(one[0], one[1], one[3]) for one in got] == [
        *[("GET", path, b"")] * 2, *[("POST", path, b'{"password":"hunter22-x"}')] * 2
    ]  # fmt: skip
    assert [dict(one[2]).get("authorization") for one in got] == [None, None, *[f"Bearer {TOKEN}"] * 2]
    names = {path.name for path in (tmp_path / "reports").iterdir()}
    assert names == {"127.0.0.1-api-items", "127.0.0.1-api-items-post", "items"}
    assert len(list((tmp_path / "reports").glob("*/run-01_1*/effective.jmx"))) == 3
    for secret in (TOKEN, "hunter22-x"):
        assert files_with(tmp_path, secret) == [tmp_path / "secrets.toml"]
    assert files_with(tmp_path / "reports", "key-in-the-address") == []
    run = json.loads(next((tmp_path / "reports" / "127.0.0.1-api-items").glob("run-01_1*/run.json")).read_text())
    assert (
        run["command"]
        == f"lth run '--plan={address.replace('key-in-the-address', '•••')}' '--header=X-Tenant: t' --users=2 --loops=1"
    )
