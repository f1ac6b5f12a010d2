"""Plans, servers and sides of the comparison of JMeter's HTTP sampler with the lean one."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from harness.base.install import toolchain
from harness.run.jmeter.connections import agent_option, sampler_option
from tests.support.hostile_server import CASES, CLOSE, CUT_RECORD, NOTIFY, hostile_server
from tests.support.paths import jmeter_home

_SAVED = ("response_data", "samplerData", "requestHeaders", "responseHeaders", "url", "bytes", "sent_bytes", "encoding")
# Times, which differ between any two runs.
_TIMES = {"t", "it", "lt", "ct", "ts"}
_CLOSES = (CLOSE, NOTIFY, CUT_RECORD)
_TRACE = "Non HTTP response code"
TIMEOUT_MS = 700


def path_of(name: str) -> str:
    return f"/{name.replace(' ', '%20')}"


@dataclass(frozen=True)
class Request:
    """A sampler of the plan; `more` are other properties, `children` elements below it."""

    name: str
    path: str
    method: str = "GET"
    body: str = ""
    arguments: Sequence[tuple[str, str]] = ()
    more: Mapping[str, str] = field(default_factory=dict)
    headers: Sequence[tuple[str, str]] = ()
    credentials: Sequence[Mapping[str, str]] = ()
    pause_ms: int = 0


def credentials_of(user: str = "me", password: str = "secret", **more: str) -> list[Mapping[str, str]]:
    """Return an Authorization of the test server, by Basic; `more` are other properties of it."""
    own = {"url": "http://127.0.0.1:${port}", "username": user, "password": password, "mechanism": "BASIC", **more}
    return [{f"Authorization.{name}": own.get(name, "") for name in (*own, "domain", "realm")}]


_ELSEWHERE = credentials_of(url="http://127.0.0.1:${port}/other")
TLS = {"HTTPSampler.protocol": "https", "HTTPSampler.port": "${tls_port}"}
OVER_TLS = (
    "simple", "torn", "slow body", "too slow", "no response", "large", "chunked", "too short", "gzip", "redirect",
    "connection close", "closed after 20 bytes", "reset after 20 bytes", "closed with a notice", "no length, closed",
    "cut record", "cut record, no length", "cut record in the head", "chunk cut", "no last chunk", "header of 1 MB",
    "no response", "a length of a GB", "continue 5000 times", "trailers, then nothing",
)  # fmt: skip
_WITH_BODY = ("GET", "POST", "PUT", "DELETE", "PATCH")
_FOLLOW = {"HTTPSampler.follow_redirects": "true"}
SPECIAL = (
    Request("HEAD", "/simple", "HEAD"),
    Request("HEAD of chunks", "/chunked", "HEAD"),
    Request("HEAD, gzip", "/gzip", "HEAD"),
    Request("HEAD, follows", "/redirect", "HEAD", more=_FOLLOW),
    *(Request(f"{method} with a body", "/simple", method, "a body: ü€") for method in _WITH_BODY),
    *(Request(f"{method} without one", "/simple", method) for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS")),
    *(
        Request(f"{method} with arguments", "/simple?x=1", method, arguments=[("a b", "1&2"), ("ü", "é"), ("", "x")])
        for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS")
    ),
    Request("POST in latin1", "/simple", "POST", "é", more={"HTTPSampler.contentEncoding": "ISO-8859-1"}),
    Request("POST in an unknown charset", "/simple", "POST", "é", more={"HTTPSampler.contentEncoding": "none-1"}),
    Request("POST, large", "/simple", "POST", "0123456789" * 5000),
    Request("POST, then 302", "/redirect", "POST", "x=1", more=_FOLLOW),
    Request("TRACE", "/simple", "TRACE"),
    Request("PROPFIND", "/simple", "PROPFIND", "<a/>"),
    Request("an unknown method", "/simple", "FETCH"),
    Request("a lower-case method", "/simple", "get"),
    *(Request(f"follows: {name}", path_of(name), more=_FOLLOW) for name in CASES if name.startswith("redirect")),
    Request("follows by itself", "/redirect", more={"HTTPSampler.auto_redirects": "true"}),
    Request("not kept", "/simple", more={"HTTPSampler.use_keepalive": "false"}),
    Request("kept again", "/simple"),
    Request("refused", "/simple", more={"HTTPSampler.port": "1"}),
    Request("not allowed", "/simple", more={"HTTPSampler.domain": "192.0.2.1"}),
    Request("unknown host", "/simple", more={"HTTPSampler.domain": "none.invalid"}),
    Request("odd host", "/simple", more={"HTTPSampler.domain": "a_b c"}),
    Request("a blank in the path", "/with blank"),
    Request("a bad escape", "/bad%zz"),
    Request("letters in the path", "/gr\u00fc\u00df/\u20ac?q=\u00e9"),
    Request("a fragment", "/simple?a=1#part"),
    Request("dots in the path", "/a/../b//./c"),
    Request("a whole URL", "http://127.0.0.1:${port}/simple"),
    Request("a user in the URL", "http://me:secret@127.0.0.1:${port}/status%20401"),
    Request("checksum", "/large", more={"HTTPSampler.md5": "true"}),
    Request("Java's client", "/simple", more={"HTTPSampler.implementation": "Java"}),
    Request("an unknown client", "/simple", more={"HTTPSampler.implementation": "Curl"}),
    Request("embedded files", "/html", more={"HTTPSampler.image_parser": "true"}),
    Request("through a proxy", "/simple", more={"HTTPSampler.proxyHost": "127.0.0.1", "HTTPSampler.proxyPort": "1"}),
    Request("from an address", "/simple", more={"HTTPSampler.ipSource": "127.0.0.1"}),
    Request("own host", "/simple", headers=[("Host", "shop.example:81"), ("X-Letters", "\u00fc")]),
    Request("own agent", "/simple", headers=[("User-Agent", "me"), ("Connection", "close")]),
    Request("own length", "/simple", "POST", "x", headers=[("Content-Length", "9"), ("Content-Type", "text/x")]),
    Request("own cookie", "/simple", headers=[("Cookie", "own=1"), ("Authorization", "Basic eDp5")]),
    Request("expects", "/simple", "POST", "x", headers=[("Expect", "100-continue")]),
    Request("own transfer encoding", "/simple", headers=[("Transfer-Encoding", "chunked")]),
    *(
        Request(f"credentials: {name}", path_of(name), credentials=credentials_of())
        for name in CASES
        if name.startswith(("simple", "torn", "redirect", "status 4", "garbage", "closed after 9 ", "says close"))
        and name not in ("status 401, Digest", "status 407")  # HttpClient answers these
    ),
    Request("credentials: POST", "/simple", "POST", "x", credentials=credentials_of("j\u00fcrgen", "p:\u20ac")),
    Request("credentials: no password", "/simple", credentials=credentials_of("", "")),
    Request("credentials: follows", "/redirect", more=_FOLLOW, credentials=credentials_of()),
    Request("credentials: of a path", "/simple", credentials=_ELSEWHERE),
    Request("credentials: of a realm", "/status%20401", credentials=credentials_of(realm="a")),
    Request("credentials: of another realm", "/status%20401", credentials=credentials_of(realm="b")),
    Request("credentials: for Digest", "/status%20401,%20Digest", credentials=credentials_of(mechanism="DIGEST")),
    Request("credentials: either", "/status%20401,%20Digest", credentials=credentials_of(mechanism="", realm="a")),
    Request("credentials: bad URL", "/simple", credentials=credentials_of(url="127.0.0.1")),
    Request("credentials: two", "/simple", credentials=[*_ELSEWHERE, *credentials_of("b")]),
    Request("credentials: own", "/simple", headers=[("Authorization", "Basic eDp5")], credentials=credentials_of()),
    Request("credentials: TLS", "/connection%20close", more=TLS, credentials=credentials_of(url="https://127.0.0.1:${tls_port}")),
    Request("header with a line end", "/simple", headers=[("X-Lines", "a\nb"), ("", "nameless")]),
)  # fmt: skip


# A configuration applies to a sampler by its class in the user interface.
_PANELS = {
    "ConfigTestElement": "HttpDefaultsGui",
    "HeaderManager": "HeaderPanel",
    "CookieManager": "CookiePanel",
    "AuthManager": "AuthPanel",
}


def element_of(kind: str, name: str, properties: str, children: str = "") -> str:
    start = f'<{kind} guiclass="{_PANELS.get(kind, kind)}" testclass="{kind}" testname="{escape(name)}">'
    return f"{start}{properties}</{kind}><hashTree>{children}</hashTree>"


def property_of(name: str, value: str, kind: str = "stringProp") -> str:
    return f'<{kind} name="{name}">{escape(value)}</{kind}>'


def _list(name: str, kind: str, entries: Sequence[Mapping[str, str]]) -> str:
    texts = ("".join(property_of(*pair) for pair in entry.items()) for entry in entries)
    items = "".join(f'<elementProp name="" elementType="{kind}">{text}</elementProp>' for text in texts)
    return f'<collectionProp name="{name}">{items}</collectionProp>'


def _arguments(name: str, kind: str, entries: Sequence[Mapping[str, str]]) -> str:
    listed = _list("Arguments.arguments", kind, [{"Argument.metadata": "=", **entry} for entry in entries])
    return f'<elementProp name="{name}" elementType="Arguments">{listed}</elementProp>'


def _headers(headers: Sequence[tuple[str, str]]) -> str:
    entries = [{"Header.name": name, "Header.value": value} for name, value in headers]
    return element_of("HeaderManager", "headers", _list("HeaderManager.headers", "Header", entries))


def _pause(delay_ms: int) -> str:
    return element_of("ConstantTimer", "pause", property_of("ConstantTimer.delay", str(delay_ms)))


def sampler_of(request: Request) -> str:
    entries = [
        {"Argument.name": name, "Argument.value": value, "HTTPArgument.always_encode": "true"}
        for name, value in request.arguments
    ]
    if request.body:
        entries = [{"Argument.value": request.body, "HTTPArgument.always_encode": "false"}]
    plain = {
        "HTTPSampler.path": request.path, "HTTPSampler.method": request.method, "HTTPSampler.use_keepalive": "true",
        "HTTPSampler.postBodyRaw": str(bool(request.body)).lower(), **request.more,
    }  # fmt: skip
    properties = "".join(property_of(*pair) for pair in plain.items())
    children = _headers(request.headers) if request.headers else ""
    if request.credentials:
        listed = _list("AuthManager.auth_list", "Authorization", request.credentials)
        children += element_of("AuthManager", "credentials", listed)
    if request.pause_ms:
        children += _pause(request.pause_ms)
    properties += _arguments("HTTPsampler.Arguments", "HTTPArgument", entries)
    return element_of("HTTPSamplerProxy", request.name, properties, children)


def group_of(name: str, children: str, users: int = 1, loops: int = 1, is_same_user: str = "true") -> str:
    endless = property_of("LoopController.continue_forever", "false", "boolProp")
    loop = f"{property_of('LoopController.loops', str(loops))}{endless}</elementProp>"
    properties = f'<elementProp name="ThreadGroup.main_controller" elementType="LoopController">{loop}'
    properties += property_of("ThreadGroup.num_threads", str(users))
    properties += property_of("ThreadGroup.on_sample_error", "continue")
    properties += property_of("ThreadGroup.same_user_on_next_iteration", is_same_user, "boolProp")
    return element_of("ThreadGroup", name, properties, children)


def _only(user: int, children: str) -> str:
    """Return the elements for one of the group's users."""
    condition = property_of("IfController.condition", f"${{__jexl3(${{__threadNum}} == {user})}}")
    return element_of(
        "IfController", str(user), condition + property_of("IfController.useExpression", "true", "boolProp"), children
    )


def all_plan(requests: Sequence[Request]) -> str:
    """Return a plan: a user who sends all requests, one who is new in each iteration, and one who is stopped."""
    new_user = sampler_of(Request("as a new user", "/cookies")) * 2
    now = "".join(property_of(f"ActionProcessor.{name}", "2", "intProp") for name in ("action", "target"))
    stop = _only(1, sampler_of(Request("stopped", "/never"))) + _only(
        2, element_of("TestAction", "stop", now, _pause(300))
    )
    groups = group_of("all", "".join(map(sampler_of, requests)))
    # JMeter's HttpClient has the credentials of the first sampler that a thread sends to an address.
    groups += "".join(group_of(one.name, sampler_of(one), loops=2) for one in requests if one.credentials)
    return plan_of(
        groups + group_of("new users", new_user, loops=2, is_same_user="false") + group_of("stopped", stop, users=2)
    )


def plan_of(groups: str) -> str:
    """Return a plan whose requests have time limits, headers and cookies."""
    defaults = {
        "HTTPSampler.domain": "127.0.0.1", "HTTPSampler.port": "${port}", "HTTPSampler.protocol": "http",
        "HTTPSampler.connect_timeout": "2000", "HTTPSampler.response_timeout": str(TIMEOUT_MS),
    }  # fmt: skip
    shared = element_of("ConfigTestElement", "defaults", "".join(property_of(*pair) for pair in defaults.items()))
    shared += _headers([("X-All", "${__threadNum}"), ("Accept", "*/*")]) + element_of("CookieManager", "cookies", "")
    variables = [{"Argument.name": name, "Argument.value": f"${{__P({name})}}"} for name in ("port", "tls_port")]
    plan = property_of("TestPlan.serialize_threadgroups", "true", "boolProp")
    plan += _arguments("TestPlan.user_defined_variables", "Argument", variables)
    tree = element_of("TestPlan", "plan", plan, shared + groups)
    return f'<jmeterTestPlan version="1.2"><hashTree>{tree}</hashTree></jmeterTestPlan>'


def run_jmeter(folder: Path, plan: str, ports: Mapping[str, int], sampler: str, files: Mapping[str, str] = {}) -> None:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "plan.jmx").write_text(plan, encoding="utf-8")
    command = [str(jmeter_home() / "bin" / "jmeter"), "-n", "-t", "plan.jmx", "-l", "results.xml", "-j", "jmeter.log"]
    saved = {**dict.fromkeys(_SAVED, "true"), "output_format": "xml"}
    command += [f"-Jjmeter.save.saveservice.{name}={value}" for name, value in saved.items()]
    command += [
        *(f"-J{name}={port}" for name, port in ports.items()),
        "-Jjmeterengine.nongui.port=0",
        "-Jsummariser.name=",
    ]
    agent = f"{agent_option(toolchain.ensure_agent(), folder / 'connections.txt', ())} {sampler}"
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    environment = {**os.environ, "JDK_JAVA_OPTIONS": agent, "JVM_ARGS": quick, "HEAP": "-Xmx300m"}
    with (folder / "jmeter.out").open("wb") as out:
        done = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out, check=False, timeout=180)
    assert done.returncode == 0, (folder / "jmeter.out").read_text(errors="replace")


@dataclass(frozen=True)
class _Side:
    results: list[ElementTree.Element]
    requests: list[tuple[int, bytes]]
    console: str


def _side(folder: Path, plan: str, certificate: Path | None, sampler: str, files: Mapping[str, str] = {}) -> _Side:
    with hostile_server() as plain, hostile_server(certificate) as tls:
        ports = {"port": plain.address[1], "tls_port": tls.address[1]}
        run_jmeter(folder, plan, ports, sampler, files)
        text = (folder / "results.xml").read_text(encoding="utf-8")
        sent = [*plain.requests, *tls.requests]
    for name, port in ports.items():
        text = text.replace(f":{port}", f":{name}")
        sent = [(number, data.replace(b":%d" % port, name.encode())) for number, data in sent]
    return _Side(list(ElementTree.fromstring(text)), sent, (folder / "jmeter.out").read_text())


def facts_of(result: ElementTree.Element) -> object:
    """Return all that is stored of a result except its times."""
    attributes = {name: value for name, value in result.attrib.items() if name not in _TIMES}
    if attributes["lb"] == "stopped":  # the other user may have ended, or not
        del attributes["ng"], attributes["na"]
    texts = {child.tag: child.text for child in result if child.tag not in ("httpSample", "sample")}
    if attributes.get("rc", "").startswith(_TRACE):  # the stack trace names the sampler's own methods
        attributes.pop("by")
        texts["responseData"] = (texts["responseData"] or "").partition("\n")[0]
    return attributes, texts, [facts_of(child) for child in result if child.tag in ("httpSample", "sample")]


def assert_alike(own: _Side, lean: _Side) -> None:
    assert "is used" not in lean.console
    assert "cannot be patched" not in lean.console
    assert [result.get("lb") for result in own.results] == [result.get("lb") for result in lean.results]
    different = [
        f"{ours.get('lb')}:\n  JMeter {expected}\n  lean   {found}"
        for ours, theirs in zip(own.results, lean.results, strict=True)
        if (expected := facts_of(ours)) != (found := facts_of(theirs))
    ]
    assert not different, "\n".join(different)
    assert lean.requests == own.requests


def case_requests() -> Iterator[Request]:
    """Yield a request for each case; where the server has closed a connection, its close must have arrived."""
    names = [name for name in CASES if name != "never"]
    for before, name in pairwise(["simple", *names]):
        is_closed = CASES[before][-1] in _CLOSES and not re.fullmatch(r"closed after \d+ bytes", before)
        yield Request(name, path_of(name), pause_ms=100 if is_closed else 0)


def bad_certificate(folder: Path) -> Path:
    """Return a certificate, with its key, that is self-signed, of another host and expired: JMeter trusts all."""
    certificate, request = folder / "tls.pem", folder / "request.pem"
    new = ["openssl", "req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other.example"]
    subprocess.run([*new, "-keyout", certificate, "-out", request], check=True, capture_output=True)
    sign = ["openssl", "x509", "-req", "-in", request, "-signkey", certificate, "-days", "-1"]
    signed = subprocess.run(sign, check=True, capture_output=True)
    with certificate.open("ab") as out:
        out.write(signed.stdout)
    return certificate


def both_sides(folder: Path, plan: str, certificate: Path | None = None) -> tuple[_Side, _Side]:
    """Return what JMeter's sampler and the lean one send, and store."""
    own, lean = sides_of(folder, plan, {"own": "", "lean": lean_option()}, certificate)
    return own, lean


def lean_option() -> str:
    return sampler_option(toolchain.ensure_sampler(jmeter_home()))


def sides_of(
    folder: Path, plan: str, options: Mapping[str, str], certificate: Path | None = None, files: Mapping[str, str] = {}
) -> list[_Side]:
    """Return what JMeters with these options, by the names of their folders, send and store."""
    with ThreadPoolExecutor() as pool:
        sides = [pool.submit(_side, folder / name, plan, certificate, one, files) for name, one in options.items()]
        return [side.result() for side in sides]


def request_counts(folder: Path) -> Mapping[str, int]:
    """Return how many requests the lean sampler sent, and how many it left to JMeter's own."""
    counts: Mapping[str, int] = json.loads((folder / "lean" / ".http-requests.json").read_text())
    return counts
