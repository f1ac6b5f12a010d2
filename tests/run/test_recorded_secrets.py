"""Secrets of recordings: they are in secrets.toml alone, and what else looks random is listed with file and line."""

from __future__ import annotations

import json
import re
import tomllib
from base64 import b64encode
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from harness.base.project import BUILD
from harness.cli.verbs import main
from tests.support.har import ORIGIN, entry, write
from tests.support.local_server import serving

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"
JSON, XML = "application/json", "application/xml"
SECRET = "Zq8Lw0Xn4Tb7Rk2Vy6"


def init(home: Path, *entries: dict[str, Any], more: tuple[str, ...] = ("--no-replay",), recordings: int = 1) -> int:
    home.mkdir(exist_ok=True)
    hars = [["--har", str(write(home.parent / f"visit-{number}.har", *entries))] for number in range(recordings)]
    words = [
        "init",
        "shop",
        *(word for har in hars for word in har),
        *more,
        "--home",
        str(home),
        "--build",
        str(BUILD),
        "--force",
    ]
    return main(words, "lth")


def assert_only_in_secrets(home: Path, printed: str, secret: str) -> None:
    """Nothing that git stores and nothing that was printed has a part of the secret that tells anything."""
    texts = {str(path): path.read_bytes().decode(errors="replace") for path in home.rglob("*") if path.is_file()}
    stored = "".join(text for name, text in texts.items() if name.endswith("secrets.toml"))
    values = "\n".join(map(str, tomllib.loads(stored).values()))
    spelled = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    assert any(one in values for one in spelled), values
    others = {name: text for name, text in texts.items() if not name.endswith("secrets.toml")} | {"printed": printed}
    for name, text in {**others, **{f"name {name}": name for name in texts}}.items():
        for part in {secret[:8], secret[-8:], secret[4:12]} if len(secret) > 8 else {secret}:
            assert part not in text, (name, part)


PLACES = {
    "query": (entry(f"/a?api_key={SECRET}&page=2"), SECRET),
    "json": (entry("/a", method="POST", body=json.dumps({"a": [{"access_token": SECRET}]}), body_type=JSON), SECRET),
    "refresh": (entry("/a", method="POST", body=json.dumps({"refresh_token": JWT}), body_type=JSON), JWT),
    "number": (entry("/a", method="POST", body='{"otp": 482913, "amount": 77}', body_type=JSON), "482913"),
    "form": (entry("/a", method="POST", body="user=ann&otp=482913"), "482913"),
    "escaped": (entry("/a", method="POST", body=json.dumps({"password": 'a"b\\c${d}e/f'}), body_type=JSON),
    'a"b\\c${d}e/f'),
    "emoji": (entry("/a", method="POST", body=f"password={quote('pass😀wörd 1')}"), "pass😀wörd 1"),
    "del": (entry("/a", method="POST", body="password=pass%7Fword"), "pass\x7fword"),
    "header": (entry("/a", headers={"x-session": SECRET}), SECRET),
    "bearer": (entry("/a", headers={"Authorization": f"Bearer {SECRET}"}), SECRET),
    "basic": (entry("/a", headers={"Authorization": f"Basic {b64encode(b'ann:pw1234567').decode()}"}),
              b64encode(b"ann:pw1234567").decode()),
    "digest": (entry("/a", headers={"Authorization": f'Digest username="ann", response="{SECRET}"'}), SECRET),
    "aws": (entry("/a", method="POST", body="note=AKIAIOSFODNN7EXAMPLE&x=1"), "AKIAIOSFODNN7EXAMPLE"),
    "referer": (entry("/a", headers={"referer": f"{ORIGIN}/b?token={SECRET}"}), SECRET),
    "path": (entry(f"/reset-token/{SECRET}/form"), SECRET),
    "matrix": (entry(f"/a;jsessionid={SECRET}?x=1"), SECRET),
    "redirect": (entry("/a", status=302, answer_headers={"Location": f"/b?token={SECRET}"}), ""),
    "graphql": (entry("/graphql", method="POST", body_type=JSON,
                      body=json.dumps({"query": f'mutation {{ login(password: "{SECRET}") {{ id }} }}'})), SECRET),
    "variables": (entry("/graphql", method="POST", body_type=JSON, body=json.dumps(
                  {"query": "mutation A { login }", "variables": {"input": {"password": SECRET}}})), SECRET),
    "nested": (entry("/a", method="POST", body_type=JSON, body=json.dumps({"b": json.dumps({"secret": SECRET})})),
    SECRET),
    "json field": (entry("/a", method="POST", body=f"data={quote(json.dumps({'token': SECRET}))}"), SECRET),
    "json query": (entry(f"/a?data={quote(json.dumps({'token': SECRET}))}"), SECRET),
    "xml": (entry("/a", method="POST", body=f"<a><password>{SECRET}</password></a>", body_type=XML), SECRET),
    "attribute": (entry("/a", method="POST", body=f'<a sessionToken="{SECRET}"/>', body_type=XML), SECRET),
    "key": (entry("/a", method="POST",
    body=json.dumps({"k": "-----BEGIN PRIVATE KEY-----\nMIIBVgIBADAN\n-----END PRIVATE KEY-----"}),
                  body_type=JSON), "-----BEGIN PRIVATE KEY-----\nMIIBVgIBADAN\n-----END PRIVATE KEY-----"),
    "multipart": (entry("/a", method="POST", body_type="multipart/form-data; boundary=x", body=(
                  f'--x\r\nContent-Disposition: form-data; name="api_token"\r\n\r\n{SECRET}\r\n--x--\r\n')), SECRET),
    "user": (entry(f"http://ann:{SECRET}@127.0.0.1:8080/a"), b64encode(f"ann:{SECRET}".encode()).decode()),
    "title": (entry(f"/a?token={SECRET}", f"<title>Reset {SECRET}</title>"), SECRET),
}  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("recordings", [1, 2])
@pytest.mark.parametrize("place", [name for name, (_, secret) in PLACES.items() if secret])
def test_a_secret_of_a_recording_is_in_secrets_toml_alone(tmp_path, capsys, place, recordings):
    one, secret = PLACES[place]
    assert init(tmp_path / "home", entry("/", "<title>Start</title>"), one, recordings=recordings) == 0
    printed = capsys.readouterr()
    assert_only_in_secrets(tmp_path / "home", printed.out + printed.err, secret)


def test_a_secret_is_replaced_wherever_a_later_request_repeats_it(tmp_path, capsys):
    log_in = entry("/in", method="POST", body=json.dumps({"api_key": SECRET}), body_type=JSON)
    again = [entry(f"/x/{SECRET}?a={SECRET}", at_s=3, headers={"X-Note": f"by {SECRET}"}),
             entry("/y", method="POST", body=f"note={SECRET}", at_s=4)]  # fmt: skip
    assert init(tmp_path / "home", log_in, *again) == 0
    assert_only_in_secrets(tmp_path / "home", capsys.readouterr().out, SECRET)
    assert len(tomllib.loads((tmp_path / "home" / "secrets.toml").read_text())) == 2  # and format_version


def test_a_secret_that_a_response_gave_is_read_from_it_and_stored_nowhere(tmp_path, capsys):
    given = entry("/in", json.dumps({"access_token": SECRET}), method="POST", body="user=ann", kind=JSON)
    used = entry("/a", headers={"Authorization": f"Bearer {SECRET}"}, at_s=3)
    assert init(tmp_path / "home", given, used) == 0
    assert not (tmp_path / "home" / "secrets.toml").exists()
    texts = [path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not any(SECRET[:8] in text for text in [*texts, capsys.readouterr().out])


def test_an_upload_with_a_secret_name_has_another_one_and_its_content_is_named(tmp_path, capsys):
    part = f'Content-Disposition: form-data; name="f"; filename="backup-{SECRET}.txt"\r\nContent-Type: text/plain'
    body = f"--x\r\n{part}\r\n\r\nfirst\napi_key={SECRET}\r\n--x--\r\n"
    assert (
        init(tmp_path / "home", entry("/", method="POST", body_type="multipart/form-data; boundary=x", body=body)) == 0
    )
    printed = capsys.readouterr().out
    assert SECRET[:8] not in printed + (tmp_path / "home/plans/shop.jmx").read_text()
    assert "plans/data/shop/upload-1.txt:2: the upload has what looks like a secret" in printed
    assert (tmp_path / "home/plans/data/shop/upload-1.txt").is_file()


class Checking(BaseHTTPRequestHandler):
    """Accepts only the requests that were recorded, byte by byte."""

    recorded: list[tuple[str, str, str, str]]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        is_known = (self.command, self.path, self.headers.get("X-Session") or "", body) in self.recorded
        page = b"<title>ok</title>"
        self.send_response(200 if is_known else 403)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_POST = do_GET  # noqa: N815


@pytest.mark.real
def test_the_replay_sends_the_recorded_secrets_from_the_environment(tmp_path, capsys):
    key, page = "a/b+c==" + SECRET, "<title>ok</title>"
    bodies = [
        (json.dumps({"otp": 482913, "a": [{"refresh_token": 'q"u\\o${x}te' + SECRET}]}), JSON),
        (json.dumps({"query": f'mutation {{ login(password: "{SECRET}") {{ id }} }}'}), JSON),
        (f"<a><password>{SECRET}</password></a>", XML),
    ]
    paths = [f"/a?api_key={quote(key, safe='')}&x=1", f"/reset-token/{SECRET}/form"]
    wanted = [("GET", paths[0], HEX, ""), ("GET", paths[1], "", "")]
    wanted += [("POST", f"/b{number}", "", body) for number, (body, _) in enumerate(bodies)]
    with serving(Checking, recorded=wanted) as port:
        origin = f"http://127.0.0.1:{port}"
        entries = [entry(origin + paths[0], page, headers={"X-Session": HEX}), entry(origin + paths[1], page, at_s=3)]
        entries += [entry(f"{origin}/b{number}", page, method="POST", body=body, body_type=kind, at_s=6 + number,
                          headers={"Content-Type": kind}) for number, (body, kind) in enumerate(bodies)]  # fmt: skip
        code = init(tmp_path / "home", *entries, more=("--replay",))
    printed = capsys.readouterr()
    assert code == 0, printed.out
    for secret in (SECRET, HEX, "482913"):
        assert_only_in_secrets(tmp_path / "home", printed.out + printed.err, secret)


HEX, UUID = "9f3c01aa7be244d10b77e2c9d1844f60", "1b4e28ba-2fa1-41d2-883f-b9a761bde3fb"


def test_harmless_values_stay_and_the_random_ones_are_listed_with_their_lines(tmp_path, capsys):
    body = {
        "csrf_token": HEX[::-1],
        "date": "2026-11-28T10:00:00.000Z",
        "version": "1.2.3-beta.4+build.5678",
        "orderId": UUID,
    }
    steps = [entry(f"/orders/{UUID}?v=3f2a9c1b&page_token=abc", at_s=1, headers={"x-request-id": "17"}),
             entry("/a", method="POST", body=json.dumps(body), body_type=JSON, at_s=2),
             entry(f"/static/app?hash={HEX}", at_s=3)]  # fmt: skip
    assert init(tmp_path / "home", entry("/", "<title>Start</title>"), *steps, recordings=2) == 0
    printed = capsys.readouterr().out
    assert not (tmp_path / "home" / "secrets.toml").exists()
    jmx = (tmp_path / "home/plans/shop.jmx").read_text().splitlines()
    for value in (HEX[::-1], HEX):
        line = next(number for number, text in enumerate(jmx, 1) if value in text and "testname" not in text)
        assert re.search(rf"plans/shop\.jmx:{line}: looks random and stays in the plan", printed), printed
        assert value[:6] not in printed


def test_an_unexplained_value_is_masked_and_has_its_line(tmp_path, capsys):
    assert init(tmp_path / "home", entry("/"), entry(f"/go?n={HEX}&t=1795737600123", at_s=3)) == 0
    printed = capsys.readouterr().out
    found = re.search(r"unexplained: GET /go, query n: ••• \(.*\[plans/shop\.jmx:(\d+)\]", printed)
    assert HEX in (tmp_path / "home/plans/shop.jmx").read_text().splitlines()[int(found[1]) - 1]
    assert HEX[:4] not in printed
