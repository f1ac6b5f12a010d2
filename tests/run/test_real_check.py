"""`scripts/check` with a real JMeter: one run that has everything."""

import json
import re
import shutil
from http.server import BaseHTTPRequestHandler

import pytest

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.off_host import ENDS, element, jmx, request, text
from tests.support.shop_runs import make_home

pytestmark = pytest.mark.real
TOKEN = "tk-4711-secret-of-the-day"
PICTURE = b"\x89PNG\0\1\2" * 10


class Shop(BaseHTTPRequestHandler):
    """A log-in that returns a token, a page, a picture, and an order that fails."""

    def do_GET(self):
        body = PICTURE if self.path == "/picture" else b"<p>page \x1b[31m" + b"x" * 5000
        self.answer(200, "image/png" if self.path == "/picture" else "text/html", body)

    def do_POST(self):
        self.posted.append((self.path, self.rfile.read(int(self.headers["Content-Length"])).decode()))
        if self.path == "/login":
            self.answer(201, "application/json", json.dumps({"access_token": TOKEN}).encode())
        else:
            self.answer(500, "text/plain", b"<script>alert(1)</script> out of apples")

    def answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def post(name: str, path: str, body: str, below: str = "") -> str:
    argument = f'<elementProp name="" elementType="HTTPArgument">{text("Argument.value", body)}</elementProp>'
    raw = '<boolProp name="HTTPSampler.postBodyRaw">true</boolProp><elementProp name="HTTPsampler.Arguments" '
    arguments = f'elementType="Arguments"><collectionProp name="Arguments.arguments">{argument}</collectionProp>'
    made = request(f"{raw}{arguments}</elementProp>", name=name, path=path, below=below)
    return made.replace('"HTTPSampler.method">GET', '"HTTPSampler.method">POST')


CODE_200 = element(
    "ResponseAssertion",
    "Code 200",
    '<collectionProp name="Asserion.test_strings"><stringProp name="1">200</stringProp></collectionProp>',
    text("Assertion.test_field", "Assertion.response_code"),
    '<intProp name="Assertion.test_type">8</intProp>',
)
TOKEN_OF_LOG_IN = element(
    "RegexExtractor",
    "Token",
    text("RegexExtractor.refname", "order_key"),
    text("RegexExtractor.regex", '"access_token": "([^"]+)"'),
    text("RegexExtractor.template", "$1$"),
    text("RegexExtractor.default", "NOT_FOUND"),
)
NEVER = element(
    "IfController",
    "Never",
    text("IfController.condition", "false"),
    '<boolProp name="IfController.useExpression">true</boolProp>',
    below=request(name="Never reached"),
)
SET_UP = element(
    "SetupThreadGroup",
    "setUp",
    text("ThreadGroup.num_threads", "1"),
    text("ThreadGroup.ramp_time", "1"),
    '<elementProp name="ThreadGroup.main_controller" elementType="LoopController" testclass="LoopController">'
    f"{text('LoopController.loops', '1')}{ENDS}</elementProp>",
    below=request(name="Warm up", path="/warm"),
)
PLAN = jmx(
    post("Log in", "/login", '{"user":"bob","password":"hunter22"}', TOKEN_OF_LOG_IN)
    + request(name="Page", path="/page", below=CODE_200)
    + request(name="Picture", path="/picture")
    + post("Order", "/order", "key=${order_key}", CODE_200)
    + NEVER,
    SET_UP,
)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """One check: what it prints, its page, and what the server got."""
    folder, posted = tmp_path_factory.mktemp("check"), []
    make_home(folder, PLAN)
    page = folder / "check.html"
    with serving(Shop, posted=posted) as port:
        arguments = ("--plan", "shop", "--target", f"http://127.0.0.1:{port}", "--home", folder, "--html", page)
        done = command("scripts/check", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()), COLUMNS="200")
    yield done, page.read_text(), posted
    shutil.rmtree(folder)


def test_each_request_is_printed_once_in_order_and_a_failure_gives_code_1(checked):
    done, _, posted = checked
    assert done.returncode == 1, done.stdout + done.stderr
    titles = re.findall(r"^([A-Z][\w ]+): (passed|FAILED), (\d+)", done.stdout, re.MULTILINE)
    assert titles == [
        ("Warm up", "passed", "200"),
        ("Log in", "passed", "201"),
        ("Page", "passed", "200"),
        ("Picture", "passed", "200"),
        ("Order", "FAILED", "500"),
    ]
    assert [path for path, _ in posted] == ["/login", "/order"]
    assert "shop: 5 requests, 1 failed" in done.stdout
    assert "not reached in one pass: Never reached" in done.stdout


def test_a_request_has_headers_and_body_and_its_response_too(checked):
    text = checked[0].stdout
    assert re.search(r"^  > POST http://127\.0\.0\.1:\d+/order$", text, re.MULTILINE)
    assert "  < HTTP/1.0 500 Internal Server Error" in text
    assert "  < <script>alert(1)</script> out of apples" in text
    assert "  assertion Code 200: passed" in text
    assert re.search(r"  assertion Code 200: FAILED: .*expected to equal", text)


def test_a_binary_body_is_its_size_and_a_long_one_is_cut(checked):
    text = checked[0].stdout
    assert f"  < (binary, {len(PICTURE)} bytes)" in text
    assert "  < … (cut, 5013 bytes in all)" in text
    assert "\x1b" not in text


def test_an_extracted_variable_is_shown_before_and_after_and_secrets_are_masked_everywhere(checked):
    done, page, posted = checked
    assert posted[1] == ("/order", f"key={TOKEN}")
    assert "  variable order_key: not set → •••" in done.stdout
    assert "  > key=•••" in done.stdout
    for output in (done.stdout, done.stderr, page):
        assert TOKEN not in output
        assert "hunter22" not in output
    assert "variable host" not in done.stdout


def test_the_page_is_one_inert_file(checked):
    page = checked[1]
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; out of apples" in page
    assert page.count("<details") == 5
    assert not re.search(r"""(?:src|href)=["']""", page)


@pytest.mark.counterpart
def test_a_variable_without_a_name_hides_no_request(tmp_path):
    """A plugin such as di-kafkameter stores one whose name its plan does not give."""
    code = text("script", "vars.put(null, 'x')") + text("scriptLanguage", "groovy")
    plan = jmx(request(name="Page", path="/page", below=element("JSR223PostProcessor", "Store", code)))
    make_home(tmp_path, plan, "[allow]\nscripts = true\n")
    with serving(Shop, posted=[]) as port:
        arguments = ("--plan", "shop", "--target", f"http://127.0.0.1:{port}", "--home", tmp_path)
        done = command("scripts/check", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()), LTH_TRUST="1")
    assert "shop: 1 request, 0 failed" in done.stdout, done.stdout + done.stderr
