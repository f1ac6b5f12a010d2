"""A server's answer that JMeter puts into a JEXL expression never runs as code; ordinary expressions go on."""

import os
import subprocess
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

import pytest

from harness.base.install import toolchain
from harness.run.jmeter.connections import agent_argument
from tests.support.local_server import serving
from tests.support.off_host import element, jmx, request, text

pytestmark = pytest.mark.real
CODE = 'x" != new("java.io.FileOutputStream", "{marker}").toString() || "'
# Expressions that users have, and the values that JMeter gives without rules.
VALUES = {
    '"${id}" == "7"': "true",
    "${id} * 3 + 1": "22",
    '"${id}".length()': "1",
    'vars.get("id").concat("x").toUpperCase()': "7X",
    'vars.get("missing") == null': "true",
    "size([1, 2, 3])": "3",
    "[1, 2].contains(2)": "true",
    '"a-b".split("-")[1]': "b",
    'new("java.util.Date", 5).getTime()': "5",
    'new("java.math.BigDecimal", "1.50").setScale(1)': "1.5",
    "{1 : 2}.entrySet().size()": "1",
    "ctx.getThreadNum()": "0",
    "sampleResult.isSuccessful()": "true",
}


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        self.paths.append(unquote(self.path))
        body = f"id=(7) token=[{CODE.format(marker=self.marker)}]".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def extractor(name, regex):
    return element(
        "RegexExtractor", name, text("RegexExtractor.refname", name), text("RegexExtractor.regex", regex),
        text("RegexExtractor.template", "$1$"), text("RegexExtractor.default", "NOT_FOUND"),
    )  # fmt: skip


def escaped(expression):
    return expression.replace(",", "\\,")


def plan():
    below = extractor("token", r"token=\[(.*)\]") + extractor("id", r"id=\((.)\)")
    condition = '${__jexl3("${token}" != "NOT_FOUND")}'
    values = "".join(
        request(name=f"Value {at}", path=f"/value/{at}/${{__jexl3({escaped(one)})}}") for at, one in enumerate(VALUES)
    )
    return jmx(
        request(name="Login", path="/login", below=below)
        + element(
            "IfController", "If", text("IfController.condition", condition),
            '<boolProp name="IfController.useExpression">true</boolProp>',
            '<boolProp name="IfController.evaluateAll">false</boolProp>', below=request(name="Inside", path="/inside"),
        )
        + request(name="Path", path=f"/path/{condition}")
        + values
    )  # fmt: skip


@pytest.mark.parametrize("is_permitted", [False, pytest.param(True, marks=pytest.mark.counterpart)])
def test_code_in_an_answer_runs_only_where_scripts_may_and_ordinary_expressions_have_their_values(
    tmp_path, is_permitted
):
    paths, marker = [], tmp_path / "marker"
    (tmp_path / "shop.jmx").write_text(plan())
    options = agent_argument(toolchain.ensure_agent(), tmp_path / "list.txt")
    options += " -Dharness.scripts=true" if is_permitted else ""
    with serving(Shop, paths=paths, marker=marker) as port:
        start = [str(toolchain.ensure_jmeter() / "bin" / "jmeter"), "-n", "-t", "shop.jmx", "-j", "log.txt"]
        environment = os.environ | {"JDK_JAVA_OPTIONS": options, "HEAP": "-Xmx256m"}
        subprocess.run([*start, f"-Jport={port}"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert marker.exists() == is_permitted
    values = {int(path.split("/")[2]): path.split("/")[3] for path in paths if path.startswith("/value/")}
    assert [values.get(at) for at in range(len(VALUES))] == list(VALUES.values())
    assert ("/path/true" if is_permitted else "/path/") in paths  # where it failed, the user goes on
