"""JMeter's HTTP sampler and the lean one send the same requests and store the same results."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import pytest

from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.cli.verbs import main
from harness.report.setup import setup_lines
from harness.run.jmeter.connections import agent_option, sampler_option
from harness.run.jmeter.process import SAMPLER
from tests.support.factories import record
from tests.support.hostile_server import CASES, CLOSE, CUT_RECORD, NOTIFY, hostile_server
from tests.support.paths import FAKE_JMETER, jmeter_home

_SAVED = ("response_data", "samplerData", "requestHeaders", "responseHeaders", "url", "bytes", "sent_bytes", "encoding")
# Times, which differ between any two runs.
_TIMES = {"t", "it", "lt", "ct", "ts"}
_CLOSES = (CLOSE, NOTIFY, CUT_RECORD)
_TRACE = "Non HTTP response code"
_TIMEOUT_MS = 700


def _path(name: str) -> str:
    return f"/{name.replace(' ', '%20')}"


@dataclass(frozen=True)
class _Request:
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


def _credentials(user: str = "me", password: str = "secret", **more: str) -> list[Mapping[str, str]]:
    """Return an Authorization of the test server, by Basic; `more` are other properties of it."""
    own = {"url": "http://127.0.0.1:${port}", "username": user, "password": password, "mechanism": "BASIC", **more}
    return [{f"Authorization.{name}": own.get(name, "") for name in (*own, "domain", "realm")}]


_ELSEWHERE = _credentials(url="http://127.0.0.1:${port}/other")
_TLS = {"HTTPSampler.protocol": "https", "HTTPSampler.port": "${tls_port}"}
_OVER_TLS = (
    "simple", "torn", "slow body", "too slow", "no response", "large", "chunked", "too short", "gzip", "redirect",
    "connection close", "closed after 20 bytes", "reset after 20 bytes", "closed with a notice", "no length, closed",
    "cut record", "cut record, no length", "cut record in the head", "chunk cut", "no last chunk", "header of 1 MB",
    "no response", "a length of a GB", "continue 5000 times", "trailers, then nothing",
)  # fmt: skip
_WITH_BODY = ("GET", "POST", "PUT", "DELETE", "PATCH")
_FOLLOW = {"HTTPSampler.follow_redirects": "true"}
_SPECIAL = (
    _Request("HEAD", "/simple", "HEAD"),
    _Request("HEAD of chunks", "/chunked", "HEAD"),
    _Request("HEAD, gzip", "/gzip", "HEAD"),
    _Request("HEAD, follows", "/redirect", "HEAD", more=_FOLLOW),
    *(_Request(f"{method} with a body", "/simple", method, "a body: ü€") for method in _WITH_BODY),
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
    *(_Request(f"follows: {name}", _path(name), more=_FOLLOW) for name in CASES if name.startswith("redirect")),
    _Request("follows by itself", "/redirect", more={"HTTPSampler.auto_redirects": "true"}),
    _Request("not kept", "/simple", more={"HTTPSampler.use_keepalive": "false"}),
    _Request("kept again", "/simple"),
    _Request("refused", "/simple", more={"HTTPSampler.port": "1"}),
    _Request("not allowed", "/simple", more={"HTTPSampler.domain": "192.0.2.1"}),
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
    _Request("own agent", "/simple", headers=[("User-Agent", "me"), ("Connection", "close")]),
    _Request("own length", "/simple", "POST", "x", headers=[("Content-Length", "9"), ("Content-Type", "text/x")]),
    _Request("own cookie", "/simple", headers=[("Cookie", "own=1"), ("Authorization", "Basic eDp5")]),
    _Request("expects", "/simple", "POST", "x", headers=[("Expect", "100-continue")]),
    _Request("own transfer encoding", "/simple", headers=[("Transfer-Encoding", "chunked")]),
    *(
        _Request(f"credentials: {name}", _path(name), credentials=_credentials())
        for name in CASES
        if name.startswith(("simple", "torn", "redirect", "status 4", "garbage", "closed after 9 ", "says close"))
        and name not in ("status 401, Digest", "status 407")  # HttpClient answers these
    ),
    _Request("credentials: POST", "/simple", "POST", "x", credentials=_credentials("j\u00fcrgen", "p:\u20ac")),
    _Request("credentials: no password", "/simple", credentials=_credentials("", "")),
    _Request("credentials: follows", "/redirect", more=_FOLLOW, credentials=_credentials()),
    _Request("credentials: of a path", "/simple", credentials=_ELSEWHERE),
    _Request("credentials: of a realm", "/status%20401", credentials=_credentials(realm="a")),
    _Request("credentials: of another realm", "/status%20401", credentials=_credentials(realm="b")),
    _Request("credentials: for Digest", "/status%20401,%20Digest", credentials=_credentials(mechanism="DIGEST")),
    _Request("credentials: either", "/status%20401,%20Digest", credentials=_credentials(mechanism="", realm="a")),
    _Request("credentials: bad URL", "/simple", credentials=_credentials(url="127.0.0.1")),
    _Request("credentials: two", "/simple", credentials=[*_ELSEWHERE, *_credentials("b")]),
    _Request("credentials: own", "/simple", headers=[("Authorization", "Basic eDp5")], credentials=_credentials()),
    _Request("credentials: TLS", "/connection%20close", more=_TLS, credentials=_credentials(url="https://127.0.0.1:${tls_port}")),
    _Request("header with a line end", "/simple", headers=[("X-Lines", "a\nb"), ("", "nameless")]),
)  # fmt: skip


# A configuration applies to a sampler by its class in the user interface.
_PANELS = {
    "ConfigTestElement": "HttpDefaultsGui",
    "HeaderManager": "HeaderPanel",
    "CookieManager": "CookiePanel",
    "AuthManager": "AuthPanel",
}


def _element(kind: str, name: str, properties: str, children: str = "") -> str:
    start = f'<{kind} guiclass="{_PANELS.get(kind, kind)}" testclass="{kind}" testname="{escape(name)}">'
    return f"{start}{properties}</{kind}><hashTree>{children}</hashTree>"


def _property(name: str, value: str, kind: str = "stringProp") -> str:
    return f'<{kind} name="{name}">{escape(value)}</{kind}>'


def _list(name: str, kind: str, entries: Sequence[Mapping[str, str]]) -> str:
    items = "".join(
        f'<elementProp name="" elementType="{kind}">{"".join(_property(*pair) for pair in entry.items())}</elementProp>'
        for entry in entries
    )
    return f'<collectionProp name="{name}">{items}</collectionProp>'


def _arguments(name: str, kind: str, entries: Sequence[Mapping[str, str]]) -> str:
    listed = _list("Arguments.arguments", kind, [{"Argument.metadata": "=", **entry} for entry in entries])
    return f'<elementProp name="{name}" elementType="Arguments">{listed}</elementProp>'


def _headers(headers: Sequence[tuple[str, str]]) -> str:
    entries = [{"Header.name": name, "Header.value": value} for name, value in headers]
    return _element("HeaderManager", "headers", _list("HeaderManager.headers", "Header", entries))


def _pause(delay_ms: int) -> str:
    return _element("ConstantTimer", "pause", _property("ConstantTimer.delay", str(delay_ms)))


def _sampler(request: _Request) -> str:
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
    properties = "".join(_property(*pair) for pair in plain.items())
    children = _headers(request.headers) if request.headers else ""
    if request.credentials:
        listed = _list("AuthManager.auth_list", "Authorization", request.credentials)
        children += _element("AuthManager", "credentials", listed)
    if request.pause_ms:
        children += _pause(request.pause_ms)
    properties += _arguments("HTTPsampler.Arguments", "HTTPArgument", entries)
    return _element("HTTPSamplerProxy", request.name, properties, children)


def _group(name: str, children: str, users: int = 1, loops: int = 1, is_same_user: str = "true") -> str:
    endless = _property("LoopController.continue_forever", "false", "boolProp")
    loop = f"{_property('LoopController.loops', str(loops))}{endless}</elementProp>"
    properties = f'<elementProp name="ThreadGroup.main_controller" elementType="LoopController">{loop}'
    properties += _property("ThreadGroup.num_threads", str(users))
    properties += _property("ThreadGroup.on_sample_error", "continue")
    properties += _property("ThreadGroup.same_user_on_next_iteration", is_same_user, "boolProp")
    return _element("ThreadGroup", name, properties, children)


def _only(user: int, children: str) -> str:
    """Return the elements for one of the group's users."""
    condition = _property("IfController.condition", f"${{__jexl3(${{__threadNum}} == {user})}}")
    return _element(
        "IfController", str(user), condition + _property("IfController.useExpression", "true", "boolProp"), children
    )


def _all_plan(requests: Sequence[_Request]) -> str:
    """Return a plan: a user who sends all requests, one who is new in each iteration, and one who is stopped."""
    new_user = _sampler(_Request("as a new user", "/cookies")) * 2
    now = "".join(_property(f"ActionProcessor.{name}", "2", "intProp") for name in ("action", "target"))
    stop = _only(1, _sampler(_Request("stopped", "/never"))) + _only(
        2, _element("TestAction", "stop", now, _pause(300))
    )
    groups = _group("all", "".join(map(_sampler, requests)))
    # JMeter's HttpClient has the credentials of the first sampler that a thread sends to an address.
    groups += "".join(_group(one.name, _sampler(one), loops=2) for one in requests if one.credentials)
    return _plan(
        groups + _group("new users", new_user, loops=2, is_same_user="false") + _group("stopped", stop, users=2)
    )


def _plan(groups: str) -> str:
    """Return a plan whose requests have time limits, headers and cookies."""
    defaults = {
        "HTTPSampler.domain": "127.0.0.1", "HTTPSampler.port": "${port}", "HTTPSampler.protocol": "http",
        "HTTPSampler.connect_timeout": "2000", "HTTPSampler.response_timeout": str(_TIMEOUT_MS),
    }  # fmt: skip
    shared = _element("ConfigTestElement", "defaults", "".join(_property(*pair) for pair in defaults.items()))
    shared += _headers([("X-All", "${__threadNum}"), ("Accept", "*/*")]) + _element("CookieManager", "cookies", "")
    variables = [{"Argument.name": name, "Argument.value": f"${{__P({name})}}"} for name in ("port", "tls_port")]
    plan = _property("TestPlan.serialize_threadgroups", "true", "boolProp")
    plan += _arguments("TestPlan.user_defined_variables", "Argument", variables)
    tree = _element("TestPlan", "plan", plan, shared + groups)
    return f'<jmeterTestPlan version="1.2"><hashTree>{tree}</hashTree></jmeterTestPlan>'


def _run(folder: Path, plan: str, ports: Mapping[str, int], sampler: str) -> None:
    folder.mkdir()
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
        subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=out, check=True, timeout=60)


@dataclass(frozen=True)
class _Side:
    results: list[ElementTree.Element]
    requests: list[tuple[int, bytes]]
    console: str


def _side(folder: Path, plan: str, certificate: Path | None, sampler: str) -> _Side:
    with hostile_server() as plain, hostile_server(certificate) as tls:
        ports = {"port": plain.address[1], "tls_port": tls.address[1]}
        _run(folder, plan, ports, sampler)
        text = (folder / "results.xml").read_text(encoding="utf-8")
        sent = [*plain.requests, *tls.requests]
    for name, port in ports.items():
        text = text.replace(f":{port}", f":{name}")
        sent = [(number, data.replace(b":%d" % port, name.encode())) for number, data in sent]
    return _Side(list(ElementTree.fromstring(text)), sent, (folder / "jmeter.out").read_text())


def _facts(result: ElementTree.Element) -> object:
    """Return all that is stored of a result except its times."""
    attributes = {name: value for name, value in result.attrib.items() if name not in _TIMES}
    if attributes["lb"] == "stopped":  # the other user may have ended, or not
        del attributes["ng"], attributes["na"]
    texts = {child.tag: child.text for child in result if child.tag not in ("httpSample", "sample")}
    if attributes.get("rc", "").startswith(_TRACE):  # the stack trace names the sampler's own methods
        attributes.pop("by")
        texts["responseData"] = (texts["responseData"] or "").partition("\n")[0]
    return attributes, texts, [_facts(child) for child in result if child.tag in ("httpSample", "sample")]


def _assert_alike(own: _Side, lean: _Side) -> None:
    assert "is used" not in lean.console
    assert "cannot be patched" not in lean.console
    assert [result.get("lb") for result in own.results] == [result.get("lb") for result in lean.results]
    different = [
        f"{ours.get('lb')}:\n  JMeter {expected}\n  lean   {found}"
        for ours, theirs in zip(own.results, lean.results, strict=True)
        if (expected := _facts(ours)) != (found := _facts(theirs))
    ]
    assert not different, "\n".join(different)
    assert lean.requests == own.requests


def _cases() -> Iterator[_Request]:
    """Yield a request for each case; where the server has closed a connection, its close must have arrived."""
    names = [name for name in CASES if name != "never"]
    for before, name in pairwise(["simple", *names]):
        is_closed = CASES[before][-1] in _CLOSES and not re.fullmatch(r"closed after \d+ bytes", before)
        yield _Request(name, _path(name), pause_ms=100 if is_closed else 0)


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


@pytest.mark.real
def test_results_and_requests_are_those_of_jmeter_whatever_the_server_answers(tmp_path):
    certificate = bad_certificate(tmp_path)
    requests = [
        *_cases(),
        *_SPECIAL,
        *(_Request(f"{name}, TLS", _path(name), more=_TLS) for name in _OVER_TLS),
    ]
    ours, theirs = _both(tmp_path, _all_plan(requests), certificate)
    _assert_alike(ours, theirs)
    with_credentials = [one for one in requests if one.credentials]
    assert len(ours.results) == len(requests) + 2 * len(with_credentials) + 4 + 1
    for side in (ours, theirs):  # the server waits for 200 ms before the body, and for 400 within it
        slow = next(result for result in side.results if result.get("lb") == "slow body")
        assert int(slow.get("lt", "")) >= 190
        assert int(slow.get("t", "")) - int(slow.get("lt", "")) >= 150
        # Not over TLS, where Java waits once more when it closes.
        plain = [result for result in side.results if not result.get("lb", "").endswith("TLS")]
        timed_out = [int(result.get("t", "")) for result in plain if "SocketTimeout" in result.get("rc", "")]
        assert len(timed_out) > 8
        assert min(timed_out) >= _TIMEOUT_MS - 5, timed_out  # JMeter corrects its clock now and then
        assert max(timed_out) < 2 * _TIMEOUT_MS, timed_out
        connects = {result.get("lb"): int(result.get("ct", "")) for result in side.results}
        assert connects["simple, TLS"] > 0 == connects["torn, TLS"]
        assert next(result for result in side.results if result.get("lb") == "simple, TLS").get("s") == "true"
    counts = _counts(tmp_path)
    assert counts["lean"] > len(CASES)
    assert 5 < counts["jmeter"] < 40  # one of each kind that the lean sampler does not send, and two of some


def _both(folder: Path, plan: str, certificate: Path | None = None) -> tuple[_Side, _Side]:
    """Return what JMeter's sampler and the lean one send, and store."""
    lean = sampler_option(toolchain.ensure_sampler(jmeter_home()))
    with ThreadPoolExecutor() as pool:
        own, ours = (
            pool.submit(_side, folder / name, plan, certificate, one) for name, one in (("own", ""), ("lean", lean))
        )
        return own.result(), ours.result()


def _counts(folder: Path) -> Mapping[str, int]:
    """Return how many requests the lean sampler sent, and how many it left to JMeter's own."""
    counts: Mapping[str, int] = json.loads((folder / "lean" / ".http-requests.json").read_text())
    return counts


@pytest.mark.real
def test_each_request_has_the_credentials_that_jmeter_sends_where_a_thread_has_several(tmp_path):
    """HttpClient keeps those of earlier requests to an address, and may prefer them."""
    one, other, realm = _credentials("one"), _credentials("other", "x"), _credentials("third", realm="a")
    changing = _credentials("user-${round}")
    rounds = {"start": "1", "incr": "1", "name": "round"}
    counter = _element("CounterConfig", "c", "".join(_property(f"CounterConfig.{key}", rounds[key]) for key in rounds))
    turns = [one, other, (), realm, one, changing, realm, other, changing, (), other, one]
    samplers = [_sampler(_Request(f"turn {at}", "/simple", credentials=turn)) for at, turn in enumerate(turns)]
    wrong = _sampler(_Request("wrong", "/status%20401", credentials=one))
    starts = (_group("a", counter + "".join(samplers[at:]), loops=4) for at in range(len(turns)))
    anew = _group("new users", counter + "".join(samplers), loops=4, is_same_user="false")
    own, lean = _both(tmp_path, _plan("".join([*starts, anew, _group("w", wrong)])))
    _assert_alike(own, lean)
    counts = _counts(tmp_path)
    assert counts["lean"] > 0.4 * len(own.requests)


_CHALLENGES = [
    _Request(f"credentials: {name}", _path(name), credentials=_credentials())
    for name in ("status 401, Digest", "status 407")
]
_CHALLENGES.append(_Request("credentials: realm", "/status%20401,%20Digest", credentials=_credentials(realm="a")))


@pytest.mark.real
def test_a_server_that_asks_for_other_credentials_gets_them_as_jmeter_sends_them(tmp_path):
    plain = _sampler(_Request("after it", "/simple"))
    groups = [_group(one.name, _sampler(one) + plain, loops=2) for one in _CHALLENGES]
    own, lean = _both(tmp_path, _plan("".join(groups)))
    _assert_alike(own, lean)
    sent = [data for _, data in own.requests]
    assert sum(b"\r\nAuthorization: Digest " in data for data in sent) == 4
    assert sum(b"\r\nProxy-Authorization: Basic " in data for data in sent) == 2


@pytest.mark.real
def test_a_server_that_asks_for_more_after_it_took_credentials_gets_one_request_more(tmp_path):
    """Until then the lean sampler sends the requests, and afterwards JMeter's own."""
    accepted = _Request("accepted", "/simple", credentials=_credentials())
    own, lean = _both(tmp_path, _plan(_group("all", "".join(map(_sampler, [accepted, _CHALLENGES[0]])), loops=3)))
    assert [_facts(one) for one in lean.results] == [_facts(one) for one in own.results]
    first = next(data for _, data in own.requests if b"Digest" in data)
    more = Counter(data for _, data in lean.requests) - Counter(data for _, data in own.requests)
    assert more == {first: 1}
    assert b"\r\nAuthorization: Basic " in first
    counts = _counts(tmp_path)
    assert counts == {"lean": 3, "jmeter": 4}


@pytest.mark.real
def test_a_response_at_the_time_limit_is_whole_or_a_timeout_and_never_one_of_the_next_request(tmp_path):
    user = "${__threadNum}"
    wait_ms = f"${{__jexl3({user} < 6 ? 400 : {user} > 15 ? 1000 : {_TIMEOUT_MS} - 11 + {user})}}"
    requests = [_Request(f"{n}x{user}", f"/wait/{wait_ms if n == 2 else 1}/{n}x{user}") for n in (1, 2, 3)]
    plan = _plan(_group("all", "".join(map(_sampler, requests)), users=20, loops=2))
    lean = sampler_option(toolchain.ensure_sampler(jmeter_home()))
    with hostile_server() as server:
        _run(tmp_path / "lean", plan, {"port": server.address[1]}, lean)
        last_of = {number: data.partition(b" HTTP")[0].rpartition(b"/")[2] for number, data in server.requests}
    results = list(ElementTree.parse(tmp_path / "lean" / "results.xml").getroot())
    late = [result for result in results if result.get("s") == "false"]
    assert len(results) == len(server.requests) == 3 * 2 * 20
    assert {result.get("rm") for result in late} == {"Non HTTP response message: Read timed out"}
    assert 2 * 5 <= len(late) <= 2 * 15
    assert all(result.get("lb", "").startswith("2x") for result in late)
    assert all(result.findtext("responseData") == result.get("lb") for result in results if result not in late)
    # Each timeout ends a connection, and nothing else does.
    assert len(last_of) == 20 + len(late)
    assert sum(name.startswith(b"2x") for name in last_of.values()) == len(late)


@pytest.mark.parametrize(
    ("sampler", "counts", "shown"),
    [
        ("lean", {"lean": 3, "jmeter": 0}, "JMeter 5.6.3 (lean HTTP sampler), "),
        ("lean", {"lean": 3, "jmeter": 2}, "JMeter 5.6.3 (lean HTTP sampler for 3 of 5 HTTP requests), "),
        ("lean", {"lean": 0, "jmeter": 2}, "JMeter 5.6.3 (lean HTTP sampler for 0 of 2 HTTP requests), "),
        ("lean", {}, "JMeter 5.6.3 (lean HTTP sampler, requests not counted), "),  # JMeter was killed
        ("jmeter", {}, "JMeter 5.6.3 (JMeter's own HTTP sampler), "),
        (None, {}, "JMeter 5.6.3, "),  # a run of an earlier version
    ],
)
def test_the_set_up_of_a_report_says_what_sent_the_requests(sampler, counts, shown):
    versions = {"java": "17", "jmeter": "5.6.3", **({SAMPLER: sampler} if sampler else {})}
    assert dict(setup_lines(record(versions=versions, http_requests=counts)))["generator"].startswith(shown)


def test_another_jmeter_uses_its_own_sampler():
    assert toolchain.ensure_sampler(FAKE_JMETER) is None
    assert sampler_option(None) == ""


def test_an_unknown_sampler_is_refused():
    with pytest.raises(UsageError, match=r"^--sampler=fast: no HTTP sampler; give lean or jmeter$"):
        main(["run", "lb-direct", "--sampler", "fast"], "lth")
