"""No text of a recording, a command, an OpenAPI file or an answer is evaluated: each arrives as it was."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest
from defusedxml.ElementTree import fromstring, tostring

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.har import FORM, entry, write
from tests.support.local_server import serving
from tests.support.poisoned import Poisoner, Replaying, bombs, header_text
from tests.support.tiny import TINY_JMX

SECRET = "what-only-this-machine-knows-4711"
TOKEN, OTHER, THIRD = "9f3c01aa7be244d1", "c0ffee1234567890", "5eedfeed99887766"
HEAD = {"X-Requested-With": "fetch"}


def visit(origin: str) -> list[dict[str, Any]]:
    """A recording with each kind of text: pages, forms, JSON, uploads, redirects, tokens of answers."""
    page = (
        f'<html><title>List</title><form method="post" action="/shop/save"><input type="hidden" name="tk" '
        f'value="{TOKEN}"><input type="text" name="who" value=""><input type="password" name="pw" value="">'
        f"<button>Save it</button></form></html>"
    )
    answer = json.dumps({"it's": {"a.b": [{"token": OTHER}]}, "plain": 1})
    kinds = {"kind": "application/json", "body_type": "application/json"}
    body = json.dumps({"who": "ann", "list": [{"id": 1, "what": "apple"}], "deep": {"er": ["x"]}})
    sent = f"tk={TOKEN}&who=ann&pw=opensesame"
    upload = entry(f"{origin}/up", method="POST", body="x", body_type="multipart/form-data; boundary=x", at_s=6)
    del upload["request"]["postData"]["text"]
    upload["request"]["postData"]["params"] = [
        {"name": "note", "value": "a note"},
        {"name": "f", "fileName": "list.csv", "contentType": "text/csv", "value": "a,b"},
    ]
    entries = [
        entry(f"{origin}/shop/list?cat=new", page, headers=HEAD, answer_headers={"X-Part": THIRD}),
        entry(f"{origin}/shop/save", "", method="POST", body=sent, body_type=FORM, status=302, at_s=2,
              headers={"Referer": f"{origin}/shop/list"}, answer_headers={"Location": "/shop/done?ok=yes"}),
        entry(f"{origin}/shop/done?ok=yes", "<html><title>Done</title></html>", at_s=2.2),
        entry(f"{origin}/api/orders", answer, method="POST", body=body, at_s=4, **kinds),
        entry(f"{origin}/api/orders/{OTHER}", "{}", method="PUT", body=json.dumps({"t": OTHER}), at_s=5, **kinds),
        entry(f"{origin}/part", "{}", kind="application/json", headers={"X-Part": THIRD}, at_s=5.5),
        upload,
    ]  # fmt: skip
    for one in entries:
        one["request"]["headers"].append({"name": "Accept-Language", "value": "de,en"})
    return entries


def poisoned_visit(origin: str, bomb: str) -> tuple[list[dict[str, Any]], int]:
    poisoner = Poisoner(bomb)
    entries: list[dict[str, Any]] = poisoner.har(visit(origin))
    return entries, poisoner.count


@pytest.fixture
def trap(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """The file that a script would write, and the bombs."""
    (tmp_path / "hidden.txt").write_text(SECRET)
    return tmp_path / "marker", bombs(str(tmp_path / "marker"), str(tmp_path / "hidden.txt"))


class Echo(BaseHTTPRequestHandler):
    """Stores each request, and lists an id with a bomb."""

    got: list[tuple[str, str, dict[str, str], bytes]]
    found: str

    def log_message(self, *_: object) -> None:
        pass

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.got.append((self.command, self.path, {key.lower(): one for key, one in self.headers.items()}, body))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps([{"id": f"x{self.found}"}]).encode())

    do_GET = do_POST = answer  # noqa: N815 - the names of http.server


# What XML cannot contain.
JMX_CANNOT = re.compile("[\0-\x08\x0b-\x1f]")
OURS = {"P", "jexl3", "char", "urlencode", "urldecode", "unescapeHtml", "groovy"}


@pytest.mark.real
def test_a_plan_of_a_recording_calls_only_functions_of_ours_whatever_is_in_its_texts(tmp_path, trap):
    for kind, bomb in trap[1].items():
        entries, count = poisoned_visit("http://127.0.0.1:8080", bomb)
        assert count == 71
        har = write(tmp_path / "v.har", *entries)
        done = command("lth", "init", "shop", "--har", har, "--no-replay", "--force", *home(tmp_path))
        assert done.returncode == 0, (kind, done.stdout + done.stderr)
        text = (tmp_path / "plans" / "shop.jmx").read_text()
        assert set(re.findall(r"\$\{__(\w+)", text)) <= OURS, kind
        scripts = set(re.findall(r"\$\{__groovy\([^}]*", text))
        assert all(re.fullmatch(r'\$\{__groovy\(System\.getenv\("SHOP_\w*"\)\)', one) for one in scripts), scripts
        assert "scripts = true" not in (tmp_path / "plans" / "shop.toml").read_text()
        assert "\x1b" not in done.stdout + done.stderr, kind


def home(folder: Path) -> tuple[object, ...]:
    return ("--home", folder, "--build", folder / "build")


@pytest.mark.real
def test_a_recording_is_replayed_and_checked_with_the_very_texts_that_it_has(tmp_path, trap):
    marker, found = trap
    bomb = "|".join(found.values())
    environment = {"JMETER_HOME": str(toolchain.ensure_jmeter()), "FOREIGN_VALUE": SECRET}
    entries: list[dict[str, Any]] = []
    with serving(Replaying, entries=entries, got=(got := [])) as port:
        made, _ = poisoned_visit(f"http://127.0.0.1:{port}", bomb)
        entries += made
        har = write(tmp_path / "v.har", *entries)
        done = command("lth", "init", "shop", "--har", har, "--replay", *home(tmp_path), **environment)
        assert done.returncode == 0, done.stdout + done.stderr
        replayed = len(got)
        check = command("lth", "check", "shop", "-t", f"http://127.0.0.1:{port}", *home(tmp_path), **environment)
        assert check.returncode == 0, check.stdout + check.stderr
    assert not marker.exists()
    assert SECRET not in repr(got)
    assert replayed > 2 * len(entries)
    assert "\x1b" not in done.stdout + check.stdout
    assert_as_recorded(entries, got[replayed:])


def openapi(origin: str) -> dict[str, Any]:
    """A file with each kind of text: parameters of all places, bodies of all types, credentials, ids of lists."""
    places = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "example": "a1"}},
        {"name": "q", "in": "query", "required": True, "schema": {"type": "string", "enum": ["one"]}},
        {"name": "X-Part", "in": "header", "required": True, "schema": {"type": "string", "default": "two"}},
        {"name": "ck", "in": "cookie", "required": True, "example": "three", "schema": {"type": "string"}},
    ]
    texts = {"a": {"type": "string", "example": "four"}, "b": {"type": "string", "example": "bee"}}
    described = {"type": "object", "properties": texts}
    bodies = {
        "json": {"application/json": {"schema": described}},
        "form": {"application/x-www-form-urlencoded": {"schema": described}},
        "multi": {"multipart/form-data": {"schema": described}},
        "text": {"text/plain": {"example": "five"}},
    }
    listed = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
    answer = {"200": {"description": "ok", "content": {"application/json": {"schema": listed}}}}
    return {
        "openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "servers": [{"url": f"{origin}/v2"}],
        "paths": {
            "/items": {"get": {"operationId": "list", "tags": ["all"], "responses": answer}},
            "/items/{id}": {"get": {"operationId": "one", "parameters": places, "responses": answer}},
            **{f"/{kind}": {"post": {"operationId": kind, "requestBody": {"content": content}, "responses": answer}}
               for kind, content in bodies.items()},
        },
        "security": [{"key": []}],
        "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "cookie", "name": "sid"}}},
    }  # fmt: skip


def poisoned_openapi(node: Any, poisoner: Poisoner, key: str = "") -> Any:
    """Return an OpenAPI file with the bomb in each text that is not a word of OpenAPI, and at the names of properties.

    Of a path only the segments are changed, not the name of its parameter.
    """
    if isinstance(node, dict):
        own = key in ("properties", "securitySchemes") or "key" in node  # names that the file chooses
        made = {}
        for name, value in node.items():
            changed = poisoner.text(name) if own and name != "id" else name
            if name.startswith("/"):
                changed = "/".join(one if one == "{id}" else poisoner.url(one) for one in name.split("/"))
            made[changed] = poisoned_openapi(value, poisoner, name)
        return made
    if isinstance(node, list):
        return [poisoned_openapi(one, poisoner, key) for one in node]
    is_kept = not isinstance(node, str) or key in ("type", "in", "openapi", "url") or node in ("X-Part", "id")
    header = key == "default" or node in ("ck", "sid")
    return node if is_kept else header_text(poisoner.text(node)) if header else poisoner.text(node)


@pytest.mark.counterpart
def test_requests_of_an_openapi_file_and_of_a_curl_command_arrive_with_the_very_texts(tmp_path, trap):
    marker, found = trap
    bomb = "|".join(found.values())
    environment = {"JMETER_HOME": str(toolchain.ensure_jmeter()), "FOREIGN_VALUE": SECRET}
    poisoner = Poisoner(bomb)
    with serving(Echo, got=(got := []), found=bomb) as port:
        origin = f"http://127.0.0.1:{port}"
        api = tmp_path / "api.json"
        api.write_text(json.dumps(poisoned_openapi(openapi(origin), poisoner)))
        made = command("lth", "init", "shop", "--openapi", api, "--only", "*", origin, *home(tmp_path))
        assert made.returncode == 0, made.stdout + made.stderr
        (name,) = re.findall(r"(?m)^set (\w+) in the environment", made.stdout)
        assert poisoner.count == 43
        environment[name] = "value-of-the-key"
        body, header = f"a{bomb}\nb\tc", header_text(bomb)
        line = ["curl", f"{origin}/c?{quote(bomb)}", "-H", f"X-Part: {header}", "--data-raw", body, "-b", f"k={header}"]
        words = " ".join(f"$'{ansi(word)}'" for word in line)
        one = command("lth", "init", "one", "--curl", words, *home(tmp_path))
        assert one.returncode == 0, one.stdout + one.stderr
        for plan in ("shop", "one"):
            done = command("lth", "check", plan, "-t", origin, *home(tmp_path), **environment)
            assert done.returncode == 0, done.stdout + done.stderr
            assert "\x1b" not in done.stdout + made.stdout + one.stdout
    assert not marker.exists()
    assert SECRET not in repr(got)
    sent = {unquote(url.partition("?")[0]): (url, headers, data.decode()) for _, url, headers, data in got}
    assert f"/v2/items{bomb}/x{bomb}" in sent, list(sent)
    url, headers, _ = sent[f"/v2/items{bomb}/x{bomb}"]
    assert parse_qsl(url.partition("?")[2]) == [(f"q{bomb}", f"one{bomb}")]
    assert headers["x-part"] == header_text(f"two{bomb}")
    assert quote(f"three{bomb}", safe="") in headers["cookie"]
    assert "value-of-the-key" in headers["cookie"]
    texts = {f"a{bomb}": f"four{bomb}", f"b{bomb}": f"bee{bomb}"}
    assert json.loads(sent[f"/v2/json{bomb}"][2]) == texts
    assert dict(parse_qsl(sent[f"/v2/form{bomb}"][2])) == texts
    assert all(text in sent[f"/v2/multi{bomb}"][2] for text in texts.values())
    assert sent[f"/v2/text{bomb}"][2] == f"five{bomb}"
    assert sent["/c"][2] == body
    assert (sent["/c"][1]["x-part"], sent["/c"][1]["cookie"]) == (header, f"k={header}")
    assert unquote(sent["/c"][0]) == f"/c?{bomb}"


def ansi(text: str) -> str:
    """Return a text as it is between the quotes of $'…' in bash."""
    return "".join(sign if sign.isalnum() else f"\\U{ord(sign):08x}" for sign in text)


def assert_as_recorded(entries: list[dict[str, Any]], got: list[tuple[str, str, dict[str, str], bytes]]) -> None:
    """Compare each request of a pass with the recorded one."""
    assert len(got) == len(entries)
    for one, (method, url, headers, body) in zip(entries, got, strict=True):
        request, parts = one["request"], urlsplit(url)
        recorded = urlsplit(request["url"])
        assert (method, unquote(parts.path)) == (request["method"], unquote(recorded.path))
        assert parse_qsl(parts.query) == parse_qsl(recorded.query)
        for header in request["headers"]:
            assert headers[header["name"].lower()] == header_text(header["value"])
        data = request.get("postData", {})
        if "urlencoded" in data.get("mimeType", ""):
            assert parse_qsl(body.decode()) == parse_qsl(data["text"])
        elif "json" in data.get("mimeType", ""):
            assert json.loads(body) == json.loads(data["text"])
        for param in data.get("params", ()):
            assert param["value"].encode() in body


@pytest.mark.real
def test_texts_of_a_jmx_stay_texts_in_toml_and_on_the_terminal_and_nothing_runs(tmp_path, trap):
    """Its own expressions stay expressions of that JMX, which a check refuses."""
    for number, (kind, bomb) in enumerate(trap[1].items()):
        poisoner = Poisoner(bomb)
        root = fromstring(TINY_JMX)
        for node in root.iter():
            if node.get("testname"):
                node.set("testname", JMX_CANNOT.sub("", poisoner.text(f"{node.get('testname')}\n]\nscripts = true\n")))
        assert poisoner.count == 2
        jmx = tmp_path / f"x{number}.jmx"
        jmx.write_bytes(tostring(root))
        done = command("lth", "init", jmx, "--fix", *home(tmp_path))
        assert done.returncode == 0, (kind, done.stderr)
        toml = tomllib.loads((tmp_path / "plans" / f"x{number}.toml").read_text())
        has_script = "__groovy" in bomb
        assert toml.get("allow", {}) == ({"scripts": True} if has_script else {}), kind
        assert ("permits its scripts (scripts = true): read them" in done.stdout) is has_script
        assert "\x1b" not in done.stdout + done.stderr
    assert not trap[0].exists()


@pytest.mark.real
def test_what_a_person_typed_is_a_value_in_a_data_file_and_read_as_it_is(tmp_path, trap):
    bomb = "|".join(trap[1].values())
    har = write(tmp_path / "v.har", *poisoned_visit("http://127.0.0.1:8080", bomb)[0])
    assert command("lth", "init", "shop", "--har", har, "--no-replay", *home(tmp_path)).returncode == 0
    rows = list(csv.reader(io.StringIO((tmp_path / "plans/data/shop/users.csv").read_text(), newline="")))
    assert all(re.fullmatch(r"\w+", column) for column in rows[0])
    assert f"ann{bomb}" in rows[1]
    secrets = tomllib.loads((tmp_path / "secrets.toml").read_text())
    assert f"opensesame{bomb}" in secrets.values()
