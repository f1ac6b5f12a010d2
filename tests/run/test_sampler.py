"""JMeter's HTTP sampler and the lean one send the same requests and store the same results."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from harness.base import toolchain
from harness.run.connections import agent_option, sampler_option
from tests.support.hostile_server import CASES, HostileServer, hostile_server
from tests.support.paths import jmeter_home

_SAVED = ("response_data", "samplerData", "requestHeaders", "responseHeaders", "url", "bytes", "sent_bytes", "encoding")
# Times, which differ between any two runs.
_TIMES = {"t", "it", "lt", "ct", "ts"}
_TRACE = "Non HTTP response code"


@dataclass(frozen=True)
class _Request:
    """A sampler of the plan; `more` are other properties, `children` elements below it."""

    name: str
    path: str
    method: str = "GET"
    body: str = ""
    arguments: Sequence[tuple[str, str]] = ()
    more: Mapping[str, str] | None = None
    headers: Sequence[tuple[str, str]] = ()


_FOLLOW = {"HTTPSampler.follow_redirects": "true"}
_SPECIAL = (
    _Request("HEAD", "/simple", "HEAD"),
    _Request("HEAD of chunks", "/chunked", "HEAD"),
    _Request("HEAD, gzip", "/gzip", "HEAD"),
    _Request("HEAD, follows", "/redirect", "HEAD", more=_FOLLOW),
    *(_Request(f"{method} with a body", "/simple", method, "a body: ü€") for method in ("GET", "POST", "PUT", "DELETE", "PATCH")),
    *(_Request(f"{method} without one", "/simple", method) for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")),
    *(
        _Request(f"{method} with arguments", "/simple?x=1", method, arguments=[("a b", "1&2"), ("ü", "é"), ("", "x")])
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS")
    ),
    _Request("POST in latin1", "/simple", "POST", "é", more={"HTTPSampler.contentEncoding": "ISO-8859-1"}),
    _Request("POST in an unknown charset", "/simple", "POST", "é", more={"HTTPSampler.contentEncoding": "none-1"}),
    _Request("POST, large", "/simple", "POST", "0123456789" * 5000),
    _Request("POST, then 302", "/redirect", "POST", "x=1", more=_FOLLOW),
    _Request("TRACE", "/simple", "TRACE"),
    _Request("PROPFIND", "/simple", "PROPFIND", "<a/>"),
    _Request("an unknown method", "/simple", "FETCH"),
    _Request("a lower-case method", "/simple", "get"),
    *(_Request(f"follows: {name}", f"/{name.replace(' ', '%20')}", more=_FOLLOW) for name in CASES if name.startswith("redirect")),
    _Request("follows by itself", "/redirect", more={"HTTPSampler.auto_redirects": "true"}),
    _Request("not kept", "/simple", more={"HTTPSampler.use_keepalive": "false"}),
    _Request("kept again", "/simple"),
    _Request("refused", "/simple", more={"HTTPSampler.port": "1"}),
    _Request("unknown host", "/simple", more={"HTTPSampler.domain": "none.invalid"}),
    _Request("odd host", "/simple", more={"HTTPSampler.domain": "a_b c"}),
    _Request("a blank in the path", "/with blank"),
    _Request("a bad escape", "/bad%zz"),
    _Request("letters in the path", "/gr\u00fc\u00df/\u20ac?q=\u00e9"),
    _Request("a fragment", "/simple?a=1#part"),
    _Request("dots in the path", "/a/../b//./c"),
    _Request("a whole URL", "http://127.0.0.1:${port}/simple"),
    _Request("a user in the URL", "http://me:secret@127.0.0.1:${port}/status%20401"),
    _Request("checksum", "/large", more={"HTTPSampler.md5": "true"}),
    _Request("Java's client", "/simple", more={"HTTPSampler.implementation": "Java"}),
    _Request("an unknown client", "/simple", more={"HTTPSampler.implementation": "Curl"}),
    _Request("embedded files", "/html", more={"HTTPSampler.image_parser": "true"}),
    _Request("through a proxy", "/simple", more={"HTTPSampler.proxyHost": "127.0.0.1", "HTTPSampler.proxyPort": "1"}),
    _Request("from an address", "/simple", more={"HTTPSampler.ipSource": "127.0.0.1"}),
    _Request("own host", "/simple", headers=[("Host", "shop.example:81"), ("X-Letters", "\u00fc")]),
    _Request("own agent", "/simple", headers=[("User-Agent", "me"), ("Connection", "close"), ("Accept-Encoding", "gzip")]),
    _Request("own length", "/simple", "POST", "x", headers=[("Content-Length", "9"), ("Content-Type", "text/x")]),
    _Request("own cookie", "/simple", headers=[("Cookie", "own=1"), ("Authorization", "Basic eDp5")]),
    _Request("expects", "/simple", "POST", "x", headers=[("Expect", "100-continue")]),
    _Request("own transfer encoding", "/simple", headers=[("Transfer-Encoding", "chunked")]),
    _Request("header with a line end", "/simple", headers=[("X-Lines", "a&#10;b"), ("", "nameless")]),
)  # fmt: skip


# A configuration applies to a sampler by its class in the user interface.
_PANELS = {"ConfigTestElement": "HttpDefaultsGui", "HeaderManager": "HeaderPanel", "CookieManager": "CookiePanel"}


def _element(kind: str, name: str, properties: str, children: str = "") -> str:
    panel = _PANELS.get(kind, f"{kind}Gui")
    start = f'<{kind} guiclass="{panel}" testclass="{kind}" testname="{escape(name)}">'
    return f"{start}{properties}</{kind}><hashTree>{children}</hashTree>"


def _string(name: str, value: str) -> str:
    return f'<stringProp name="{name}">{escape(value).replace("&amp;#10;", "&#10;")}</stringProp>'


def _sampler(request: _Request) -> str:
    arguments = "".join(
        f'<elementProp name="" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">{str(is_form).lower()}'
        f"</boolProp>{_string('Argument.name', name)}{_string('Argument.value', value)}{_string('Argument.metadata', '=')}</elementProp>"
        for name, value, is_form in [*((*pair, True) for pair in request.arguments), *([("", request.body, False)] if request.body else ())]
    )
    plain = {
        "HTTPSampler.path": request.path, "HTTPSampler.method": request.method,
        "HTTPSampler.use_keepalive": "true", **(request.more or {}),
    }  # fmt: skip
    if request.body:
        plain["HTTPSampler.postBodyRaw"] = "true"
    properties = "".join(_string(*pair) for pair in plain.items())
    properties += f'<elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">{arguments}</collectionProp></elementProp>'
    children = _headers(request.headers) if request.headers else ""
    if request.name.startswith("after "):  # the server's close must have arrived
        children += _element("ConstantTimer", "pause", _string("ConstantTimer.delay", "200"))
    return _element("HTTPSamplerProxy", request.name, properties, children)


def _headers(headers: Sequence[tuple[str, str]]) -> str:
    entries = "".join(
        f'<elementProp name="" elementType="Header">{_string("Header.name", name)}{_string("Header.value", value)}</elementProp>'
        for name, value in headers
    )
    return _element("HeaderManager", "headers", f'<collectionProp name="HeaderManager.headers">{entries}</collectionProp>')


def _plan(requests: Sequence[_Request]) -> str:
    """Return a plan with one user, who sends all requests, and then a user who is a new one in each of two iterations."""
    defaults = {
        "HTTPSampler.domain": "127.0.0.1", "HTTPSampler.port": "${port}", "HTTPSampler.protocol": "${scheme}",
        "HTTPSampler.connect_timeout": "2000", "HTTPSampler.response_timeout": "700",
    }  # fmt: skip
    shared = _element("ConfigTestElement", "defaults", "".join(_string(*pair) for pair in defaults.items()))
    shared += _headers([("X-All", "${__threadNum}"), ("Accept", "*/*")])
    shared += _element("CookieManager", "cookies", "")
    variables = "".join(
        f'<elementProp name="{name}" elementType="Argument">{_string("Argument.name", name)}'
        f"{_string('Argument.value', f'${{__P({name})}}')}</elementProp>"
        for name in ("port", "scheme")
    )
    groups = _group("all", 1, "true", "".join(map(_sampler, requests)))
    groups += _group("new users", 2, "false", _sampler(_Request("as a new user", "/cookies")) * 2)
    plan = f'<boolProp name="TestPlan.serialize_threadgroups">true</boolProp><elementProp name="TestPlan.user_defined_variables" elementType="Arguments"><collectionProp name="Arguments.arguments">{variables}</collectionProp></elementProp>'
    return f'<jmeterTestPlan version="1.2" properties="5.0"><hashTree>{_element("TestPlan", "plan", plan, shared + groups)}</hashTree></jmeterTestPlan>'


def _group(name: str, loops: int, same: str, children: str) -> str:
    loop = f'<elementProp name="ThreadGroup.main_controller" elementType="LoopController">{_string("LoopController.loops", str(loops))}<boolProp name="LoopController.continue_forever">false</boolProp></elementProp>'
    properties = _string("ThreadGroup.num_threads", "1") + _string("ThreadGroup.on_sample_error", "continue") + loop
    properties += f'<boolProp name="ThreadGroup.same_user_on_next_iteration">{same}</boolProp>'
    return _element("ThreadGroup", name, properties, children)


def _run(folder: Path, plan: str, server: HostileServer, scheme: str, sampler: str) -> None:
    folder.mkdir()
    (folder / "plan.jmx").write_text(plan, encoding="utf-8")
    home = jmeter_home()
    command = [str(home / "bin" / "jmeter"), "-n", "-t", "plan.jmx", "-l", "results.xml", "-j", "jmeter.log"]
    command += ["-Jjmeter.save.saveservice.output_format=xml", *(f"-Jjmeter.save.saveservice.{name}=true" for name in _SAVED)]
    command += [f"-Jport={server.address[1]}", f"-Jscheme={scheme}", "-Jjmeter.save.saveservice.connect_time=true"]
    command += ["-Jjmeterengine.nongui.maxport=0", "-Jsummariser.name="]
    agent = f"{agent_option(toolchain.ensure_agent(), folder / 'connections.txt', ())} {sampler}"
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    with (folder / "jmeter.out").open("wb") as out:
        environment = {"JDK_JAVA_OPTIONS": agent, "JVM_ARGS": quick, "HEAP": "-Xmx300m", "PATH": "/usr/bin:/bin"}
        subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out, check=True, timeout=60)


@dataclass(frozen=True)
class _Side:
    results: list[ElementTree.Element]
    requests: list[tuple[int, bytes]]
    console: str


def _both(folder: Path, requests: Sequence[_Request], certificate: Path | None = None) -> tuple[_Side, _Side]:
    """Return what JMeter's own sampler stored and sent, and the lean one."""
    lean = sampler_option(toolchain.ensure_sampler(jmeter_home()))
    assert lean
    plan = _plan(requests)

    def side(name: str, sampler: str) -> _Side:
        with hostile_server(certificate) as server:
            _run(folder / name, plan, server, "https" if certificate else "http", sampler)
            text = (folder / name / "results.xml").read_text(encoding="utf-8").replace(f":{server.address[1]}", ":PORT")
            sent = [(number, data.replace(b":%d" % server.address[1], b":PORT")) for number, data in server.requests]
        return _Side(list(ElementTree.fromstring(text)), sent, (folder / name / "jmeter.out").read_text())

    with ThreadPoolExecutor() as pool:
        own, other = pool.submit(side, "own", ""), pool.submit(side, "lean", lean)
        return own.result(), other.result()


def _facts(result: ElementTree.Element) -> object:
    """Return all that is stored of a result except its times."""
    attributes = {name: value for name, value in result.attrib.items() if name not in _TIMES}
    texts = {child.tag: child.text for child in result if child.tag not in ("httpSample", "sample")}
    if attributes.get("rc", "").startswith(_TRACE):  # the stack trace names the sampler's own methods
        attributes.pop("by")
        texts["responseData"] = (texts["responseData"] or "").partition("\n")[0]
    return attributes, texts, [_facts(child) for child in result if child.tag in ("httpSample", "sample")]


def _assert_alike(own: _Side, lean: _Side) -> None:
    assert "is used" not in lean.console
    assert [result.get("lb") for result in own.results] == [result.get("lb") for result in lean.results]
    different = [
        f"{ours.get('lb')}:\n  JMeter {expected}\n  lean   {found}"
        for ours, theirs in zip(own.results, lean.results, strict=True)
        if (expected := _facts(ours)) != (found := _facts(theirs))
    ]
    assert not different, "\n".join(different)
    assert lean.requests == own.requests


@pytest.mark.real
def test_results_and_requests_are_those_of_jmeter_whatever_the_server_answers(tmp_path):
    requests = [*(_Request(name, f"/{name.replace(' ', '%20')}") for name in CASES), *_SPECIAL]
    own, lean = _both(tmp_path, requests)
    _assert_alike(own, lean)
    assert len(own.results) == len(requests) + 4
