"""Each text of a recording, an OpenAPI file, a curl command and a JMX, one at a time: no plan evaluates it.

What of them a server gets: tests/run/test_foreign_texts.py.
"""

from __future__ import annotations

import copy
import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring, tostring

from harness.base.errors import HarnessError
from harness.base.plain_text import CONTROL
from harness.cli.verbs import main
from harness.plan.adopt.curl import _WITH_VALUE
from tests.run.test_foreign_texts import JMX_CANNOT, OURS, openapi, visit
from tests.support.off_host import element, flag, host, jmx, request, text, variables
from tests.support.poisoned import bombs

pytestmark = pytest.mark.real
ORIGIN = "http://127.0.0.1:8080"
GETENV = re.compile(r'\$\{__groovy\(System\.getenv\("SHOP_\w*"\)\)')
Made = Callable[[list[str]], str]


def places(node: Any, found: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the path of each text and each key of a JSON value; True for a key."""
    for key, one in node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ():
        if isinstance(node, dict):
            yield (*found, key), True
        if isinstance(one, str):
            yield (*found, key), False
        yield from places(one, (*found, key))


def with_bomb(node: Any, path: tuple[Any, ...], bomb: str, *, is_key: bool) -> Any:
    """Return a copy of a JSON value with the bomb at one place."""
    made = copy.deepcopy(node)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if is_key:
        inner[f"{path[-1]}{bomb}"] = inner.pop(path[-1])
    else:
        inner[path[-1]] += bomb
    return made


@pytest.fixture
def bomb(tmp_path: Path) -> str:
    (tmp_path / "hidden.txt").write_text("hidden")
    return "|".join(bombs(str(tmp_path / "marker"), str(tmp_path / "hidden.txt")).values())


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Made:
    """Return what init says of a source; a plan that it makes calls only functions of ours."""

    def made(arguments: list[str]) -> str:
        home = tmp_path / "home"
        try:
            main(
                ["init", "shop", *arguments, "--home", str(home), "--build", str(tmp_path / "build"), "--force"], "lth"
            )
            text = (home / "plans" / "shop.jmx").read_text()
            assert set(re.findall(r"\$\{__(\w+)", text)) <= OURS
            assert all(GETENV.match(text, at.start()) for at in re.finditer(r"\$\{__groovy", text))
            plan = tomllib.loads((home / "plans" / "shop.toml").read_text())
            assert "scripts" not in plan.get("allow", {})
            error = ""
        except HarnessError as refused:
            error = str(refused)
            assert "\n" not in error
        said = "".join(capsys.readouterr()) + error
        assert not CONTROL.search(said), said
        assert not (tmp_path / "marker").exists()
        return said

    return made


def recording() -> dict[str, Any]:
    """A recording with texts that browsers add: pages, cookies, queries, sockets, initiators, and the user of a URL."""
    entries = visit(ORIGIN)
    socket = copy.deepcopy(entries[0])
    socket["request"]["url"] = "ws://127.0.0.1:8080/live"
    socket["_webSocketMessages"] = [{"type": "send", "time": 1, "opcode": 1, "data": "hello"}]
    socket["response"] |= {"status": 101, "statusText": "Switching"}
    other = copy.deepcopy(entries[0])
    other["request"]["url"] = "https://cdn.example.org/a.png"
    call = {"functionName": "f", "scriptId": "7", "url": f"{ORIGIN}/a.js", "lineNumber": 1, "columnNumber": 2}
    entries[3] |= {
        "_initiator": {"type": "script", "url": f"{ORIGIN}/a.js", "stack": {"callFrames": [call]}},
        "_priority": "High", "_resourceType": "xhr", "_securityDetails": {"protocol": "TLS 1.3"}, "comment": "an order",
    }  # fmt: skip
    cookie = {"name": "sid", "value": "a", "path": "/", "domain": "127.0.0.1", "expires": "2027-01-01T00:00:00Z"}
    entries[3]["request"]["cookies"], entries[3]["response"]["cookies"] = [cookie], [cookie]
    entries[3]["response"]["headers"] += [
        {"name": "Set-Cookie", "value": "sid=a; Path=/; Secure"}, {"name": "Content-Encoding", "value": "br"},
    ]  # fmt: skip
    entries[4]["request"]["postData"] |= {"encoding": "base64", "text": "eyJ0IjogImMwZmZlZTEyMzQ1Njc4OTAifQ=="}
    entries += [socket, other]
    entries[0] |= {
        "pageref": "page_1",
        "serverIPAddress": "127.0.0.1",
        "connection": "443",
        "_initiator": {"type": "x"},
    }
    entries[0]["request"] |= {
        "httpVersion": "HTTP/1.1", "cookies": [{"name": "sid", "value": "a"}], "comment": "seen",
        "queryString": [{"name": "cat", "value": "new"}],
    }  # fmt: skip
    entries[0]["request"]["url"] = entries[0]["request"]["url"].replace("://", "://ann:pw@") + "#part"
    entries[1]["response"]["redirectURL"] = "/shop/done?ok=yes"
    entries[2]["response"]["content"] |= {"encoding": "base64", "text": "PGh0bWw+"}
    page = {"id": "page_1", "title": "List", "startedDateTime": entries[0]["startedDateTime"], "pageTimings": {}}
    tool = {"name": "browser", "version": "1"}
    return {"log": {"version": "1.2", "creator": tool, "browser": tool, "pages": [page], "entries": entries}}


@pytest.mark.counterpart  # test_foreign_texts.py sends all at once in each make test
def test_each_text_of_a_recording(tmp_path, bomb, made):
    whole, path, found = recording(), tmp_path / "visit.har", [*places(recording())]
    for place, is_key in found:
        path.write_text(json.dumps(with_bomb(whole, place, bomb, is_key=is_key)))
        made(["--har", str(path), "--no-replay"])
    assert len(found) == 370


def wide_openapi() -> dict[str, Any]:
    """A file with what few files have: variables of servers, links, callbacks, references, and each kind of login."""
    made = openapi(ORIGIN)
    made["info"] |= {
        "description": "All *of* it",
        "contact": {"name": "Ann", "url": f"{ORIGIN}/who"},
        "x-own": {"a": "b"},
    }
    variables = {"tier": {"default": "v2", "enum": ["v2", "v3"], "description": "which"}}
    made["servers"].append({"url": f"{ORIGIN}/{{tier}}", "description": "other", "variables": variables})
    made["tags"] = [{"name": "all", "description": "every one", "externalDocs": {"url": f"{ORIGIN}/docs"}}]
    made["webhooks"] = {"sold": {"post": {"operationId": "sold", "responses": {"200": {"description": "ok"}}}}}
    cat = {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}, "at": {"type": "string",
           "format": "date-time"}, "sku": {"type": "string", "pattern": "^[a-c]{3}$"}}}  # fmt: skip
    schemas = {"Cat": cat, "Dog": copy.deepcopy(cat) | {"title": "Dog", "description": "a dog"}}
    media = {
        "schema": {
            "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
            "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat", "dog": "Dog"}},
        },
        "examples": {"one": {"$ref": "#/components/examples/One"}, "far": {"externalValue": f"{ORIGIN}/far.json"}},
    }
    made["paths"]["/pets"] = {
        "summary": "pets", "parameters": [{"$ref": "#/components/parameters/Trace"}],
        "post": {
            "operationId": "add", "summary": "add one", "description": "adds", "tags": ["all"], "x-own": "own",
            "requestBody": {"$ref": "#/components/requestBodies/Pet"},
            "responses": {"201": {"$ref": "#/components/responses/Made"}},
            "security": [{"login": ["write"]}, {"basic": []}],
            "callbacks": {"done": {"{$request.body#/url}": {"post": {"responses": {"200": {"description": "ok"}}}}}},
        },
    }  # fmt: skip
    made["paths"]["/pets/{pet}"] = {
        "get": {
            "operationId": "pet",
            "parameters": [{"name": "pet", "in": "path", "required": True, "schema": {"type": "string"}}],
            "responses": {"200": {"description": "ok"}}, "security": [{"bearer": []}, {"query": [], "head": []}],
        }
    }  # fmt: skip
    trace = {"name": "X-Trace", "in": "header", "required": True, "schema": {"type": "string", "enum": ["on"]}}
    link = {"operationId": "pet", "parameters": {"pet": "$response.body#/id"}, "description": "it"}
    made["components"] |= {
        "schemas": schemas, "parameters": {"Trace": trace},
        "requestBodies": {"Pet": {"content": {"application/json": media}}},
        "examples": {"One": {"summary": "one", "value": {"kind": "cat", "name": "Tom"}}},
        "responses": {
            "Made": {
                "description": "made", "links": {"it": link},
                "headers": {"Location": {"schema": {"type": "string"}, "description": "where"}},
                "content": {"application/json": {"schema": {"properties": {"id": {"type": "string"}}}}},
            }
        },
    }  # fmt: skip
    made["components"]["securitySchemes"] |= {
        "basic": {"type": "http", "scheme": "basic"},
        "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "head": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "query": {"type": "apiKey", "in": "query", "name": "k"},
        "login": {"type": "oauth2", "flows": {"password": {"tokenUrl": f"{ORIGIN}/t", "scopes": {"write": "all"}}}},
    }  # fmt: skip
    return made


@pytest.mark.counterpart
def test_each_text_of_an_openapi_file(tmp_path, bomb, made):
    whole, path, found = wide_openapi(), tmp_path / "api.json", [*places(wide_openapi())]
    for place, is_key in found:
        path.write_text(json.dumps(with_bomb(whole, place, bomb, is_key=is_key)))
        made(["--openapi", str(path), "--only", "*", ORIGIN])
    assert len(found) == 490


# Each option of curl that init takes, with a value where it has one.
CURL = (
    [
        "curl",
        "-X",
        "POST",
        f"{ORIGIN}/c?q=1",
        "-H",
        "X-Part: two",
        "-H",
        "Accept-Language: de",
        "-b",
        "k=v",
        "-A",
        "me",
    ],
    ["curl", f"{ORIGIN}/c", "-u", "ann:pw", "-e", "http://there/", "--data-raw", "a=b"],
    ["curl", f"{ORIGIN}/c", "--data-urlencode", "a=b", "-d", "c=d", "--url-query", "e=f"],
    ["curl", f"{ORIGIN}/c", "-F", "note=a note", "-F", "type=x;type=text/plain", "-F", "file=@list.csv;filename=l.csv"],
    ["curl", "--json", '{"a":"b"}', "--url", f"{ORIGIN}/c", "--oauth2-bearer", "abc", "-G"],
)


# A value of each option that has one, as it is used alone.
VALUES = {
    "cookie": "k=v",
    "form": "a=b",
    "form-string": "a=b",
    "header": "X-Part: two",
    "request": "PUT",
    "user": "a:b",
}


def test_each_word_of_a_curl_command(bomb, made):
    count = 0
    others = [name for name in _WITH_VALUE if name != "url"]
    alone = (["curl", f"--{name}", VALUES.get(name, "x"), f"{ORIGIN}/c"] for name in others)
    for words in (*CURL, *alone):
        for at in range(1, len(words)):
            made(["--curl", shlex.join([*words[:at], words[at] + bomb, *words[at + 1 :]])])
            count += 1
    assert count == 39 + 3 * len(others)
    assert len(others) == 15


# What every kind of element that init reads has; and TOML.
JMX = jmx(
    element("CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "id"), flag("recycle"))
    + element("ConstantTimer", "Wait", text("ConstantTimer.delay", "500"))
    + request(
        host("shop.test"), path="/a?b=1", below=element("RegexExtractor", "Next", text("RegexExtractor.regex", "a"))
    ),
    variables(first="one", password="opensesame"),
)
INJECTED = '"]\n[allow]\nscripts = true\n"""\n'


@pytest.mark.counterpart
def test_each_text_of_a_jmx_is_a_text_in_toml_and_on_the_terminal(tmp_path, capsys):
    """Its expressions stay expressions of that JMX, which a check refuses or asks about: here they are no scripts."""
    texts = {kind: bomb for kind, bomb in bombs("/tmp/marker", "/etc/hostname").items() if kind != "a script"}
    bomb = JMX_CANNOT.sub("", "|".join(texts.values())) + INJECTED
    found = [(number, name) for number, node in enumerate(fromstring(JMX).iter()) for name in (*node.attrib, "")]
    count, source, home = 0, tmp_path / "shop.jmx", tmp_path / "home"
    for number, name in found:
        root = fromstring(JMX)
        node = [*root.iter()][number]
        if not name and not (node.text or "").strip():
            continue
        if name:
            node.set(name, f"{node.get(name)}{bomb}")
        else:
            node.text = f"{node.text}{bomb}"
        source.write_bytes(tostring(root))
        count += 1
        error = ""
        try:
            main(["init", str(source), "--fix", "--home", str(home), "--build", str(tmp_path / "b"), "--force"], "lth")
            plan = tomllib.loads((home / "plans" / "shop.toml").read_text())
            assert "scripts" not in plan.get("allow", {}), (node.tag, name)
        except HarnessError as refused:
            error = str(refused)
            assert "\n" not in error
        said = "".join(capsys.readouterr()) + error
        assert not CONTROL.search(said), said
    assert count == 113
