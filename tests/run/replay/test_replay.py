"""Plans of recordings, replayed by a real JMeter."""

from __future__ import annotations

import io
import re
import sys
from base64 import b64encode
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs
from uuid import uuid4

import pytest

from harness.base.errors import UsageError
from harness.base.project import BUILD
from harness.cli.verbs import main
from harness.commands.record import add_forms
from harness.plan.har import needed
from harness.plan.har.recorded import Recorded
from harness.run.replay.proof import varied_rows
from tests.support import real_applications
from tests.support.correlated_apps import outcome_of
from tests.support.har import correlated, entry, write
from tests.support.local_server import serving

TOKEN = "9f3c01aa7be244d1"


def init(home: Path, *arguments: str) -> int:
    return main(["init", "shop", *arguments, "--home", str(home), "--build", str(BUILD)], "lth")


@pytest.mark.real
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.counterpart) for seed in (1, 2))])
def test_the_needed_extractors_of_a_generated_application_are_proven_and_no_others_are_left(tmp_path, seed):
    """Thirty of them: scripts/bench correlation."""
    outcome = outcome_of(seed, tmp_path, 1 + seed % 2)
    assert (outcome.code, outcome.missed, outcome.unnecessary, outcome.not_named) == (0, set(), set(), set())
    assert re.search(r"proven in \d+ passes: 3 users passed with \d extractors", outcome.printed)


@pytest.mark.counterpart
@pytest.mark.real
@pytest.mark.parametrize("seed", [0, 1, 8, 10])
def test_passes_that_leave_out_several_extractors_show_what_one_pass_each_shows(tmp_path, monkeypatch, seed):
    """Extractors, what differs without each, and what is dropped: all lines but those with the numbers of passes."""
    outcomes = []
    for name in ("several", "alone"):
        (tmp_path / name).mkdir()
        outcomes.append(outcome_of(seed, tmp_path / name, 1 + seed % 2))
        monkeypatch.setattr(needed, "groups_of", lambda items: [frozenset((one.name,)) for one in items])
    several, alone = ([line for line in one.printed.splitlines() if "passes" not in line and "127" not in line]
                      for one in outcomes)  # fmt: skip
    assert several == alone
    assert outcomes[0].passes < outcomes[1].passes


class OneTime(BaseHTTPRequestHandler):
    """A page with a token, and a page that accepts only a number that a script made: never an old one."""

    seen: set[str]
    hosts: list[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.hosts.append(self.path)
        number = self.path.partition("n=")[2]
        is_old = bool(number) and number in self.seen
        self.seen.add(number)
        body = b"used" if is_old else b"<title>Page</title>"
        self.send_response(410 if is_old else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.mark.real
def test_a_plan_that_does_not_pass_is_kept_and_the_step_is_named(tmp_path, capsys):
    seen = {"1795737600123"}
    with serving(OneTime, seen=seen, hosts=[]) as port:
        origin = f"http://127.0.0.1:{port}"
        har = write(
            tmp_path / "v.har", entry(f"{origin}/", "<title>Page</title>"),
            entry(f"{origin}/go?n=1795737600123", "<title>Page</title>", at_s=3),
            entry("https://cdn.example.org/x.js", kind="text/javascript", at_s=3.1),
        )  # fmt: skip
        assert init(tmp_path, "--har", str(har)) == 1
    printed = capsys.readouterr().out
    assert "v.har: left out: 1 to cdn.example.org" in printed
    assert "unexplained: GET /go, query n: 1795737600123 (time in ms); write ${__time()}" in printed
    assert "not proven: the replay differs from the recording:\n  step 2 GET /go: expected 200, got 410" in printed
    assert (tmp_path / "plans" / "shop.jmx").is_file()


class Either(BaseHTTPRequestHandler):
    """A page with two tokens, of which either one suffices, once."""

    given: set[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        tokens = (uuid4().hex, uuid4().hex)
        inputs = "".join(
            f'<input type="hidden" name="{name}" value="{token}">' for name, token in zip("ab", tokens, strict=True)
        )
        self.given.update(tokens)
        self.answer(200, f'<title>Edit</title><form method="post" action="/go">{inputs}</form>')

    def do_POST(self) -> None:
        fields = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        is_good = any(fields[name][0] in self.given for name in "ab")
        self.answer(200 if is_good else 403, "<title>Done</title>")

    def answer(self, code: int, page: str) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page.encode())


@pytest.mark.real
@pytest.mark.counterpart
def test_two_extractors_of_which_one_suffices_are_both_kept(tmp_path, capsys):
    a, b = "9f3c01aa7be244d1", "0b77e2c9d1844f60"
    form = f'<title>Edit</title><form method="post" action="/go"><input type="hidden" name="a" value="{a}">'
    form += f'<input type="hidden" name="b" value="{b}"></form>'
    with serving(Either, given=set()) as port:
        origin = f"http://127.0.0.1:{port}"
        body = f"a={a}&b={b}"
        done = entry(f"{origin}/go", "<title>Done</title>", method="POST", body=body, at_s=3)
        assert init(tmp_path, "--har", str(write(tmp_path / "v.har", entry(f"{origin}/", form), done))) == 0
    printed = capsys.readouterr().out
    assert printed.count("users pass without it, but not without others, too") == 2
    assert "not needed" not in printed
    assert "3 users passed with 2 extractors" in printed


def test_without_a_replay_nothing_is_sent_and_nothing_is_proven(tmp_path, capsys):
    page = f'<form action="/in"><input type="hidden" name="t" value="{TOKEN}"></form>'
    with serving(OneTime, seen=set(), hosts=(asked := [])) as port:
        origin = f"http://127.0.0.1:{port}"
        har = write(tmp_path / "v.har", entry(f"{origin}/", page), entry(f"{origin}/in?t={TOKEN}", at_s=3))
        assert init(tmp_path, "--har", str(har), "--no-replay") == 0
    printed = capsys.readouterr().out
    assert asked == []
    assert re.search(r't +GET / +GET /in \(query\) +CSS input\[name="t"\]@value +not proven\n', printed)
    assert f"nothing is proven (--no-replay); lth init --har … --target {origin} --force replays the plan" in printed


class Terminal(io.StringIO):
    """What a person types, or reads, at a terminal."""

    def isatty(self) -> bool:
        return True


def visit_that_deletes(folder: Path, origin: str) -> list[str]:
    page = f'<form action="/in"><input type="hidden" name="t" value="{TOKEN}"></form>'
    entries = [entry(f"{origin}/", page), entry(f"{origin}/in?t={TOKEN}", at_s=3)]
    return ["--har", str(write(folder / "v.har", *entries, entry(f"{origin}/items/7", method="DELETE", at_s=6)))]


@pytest.mark.parametrize("typed", [None, "\n", "n\n", ""])
def test_a_replay_that_deletes_is_sent_only_when_a_person_agrees(tmp_path, capsys, monkeypatch, typed):
    if typed is not None:
        monkeypatch.setattr(sys, "stdin", Terminal(typed))
        monkeypatch.setattr(sys, "stderr", Terminal())
    with serving(OneTime, seen=set(), hosts=(asked := [])) as port:
        origin = f"http://127.0.0.1:{port}"
        assert init(tmp_path, *visit_that_deletes(tmp_path, origin)) == 0
    printed = capsys.readouterr().out
    assert asked == []
    assert re.search(
        rf"The replay sends at most \d+ GET and \d+ DELETE to {origin} \(3 users, 4 to \d+ passes\)", printed
    )
    assert "the recording removes, changes, pays or sends: DELETE /items/7" in printed
    assert f"lth init --har … --target {origin} --force --replay replays the plan" in printed
    assert (tmp_path / "plans" / "shop.jmx").is_file()


def test_replay_and_no_replay_exclude_each_other(tmp_path):
    with pytest.raises(UsageError, match="--replay and --no-replay cannot be used together"):
        init(tmp_path, *visit_that_deletes(tmp_path, "http://127.0.0.1:1"), "--replay", "--no-replay")


class Counting(BaseHTTPRequestHandler):
    """A page with a token, which /in requires; counts the requests by method."""

    sent: Counter[str]
    given: set[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.sent[self.command] += 1
        code, token = 200, uuid4().hex
        if self.path.startswith("/in"):
            code = 200 if self.path.partition("t=")[2] in self.given else 403
        self.given.add(token)
        page = f'<form action="/in"><input type="hidden" name="t" value="{token}"></form>'
        self.send_response(code)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page.encode())

    do_DELETE = do_GET  # noqa: N815


@pytest.mark.real
def test_an_agreed_replay_sends_at_most_what_was_printed(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with serving(Counting, sent=(sent := Counter()), given=set()) as port:
        assert init(tmp_path, *visit_that_deletes(tmp_path, f"http://127.0.0.1:{port}")) == 0
    printed = capsys.readouterr().out
    gets, deletes = re.search(r"at most (\d+) GET and (\d+) DELETE", printed).groups()
    passes = int(re.search(r"proven in (\d+) passes", printed)[1])
    assert sent == {"GET": 2 * passes, "DELETE": passes}
    assert sent["GET"] <= int(gets) and sent["DELETE"] <= int(deletes)
    assert passes == 4  # three users with the extractor, and one without it


def test_a_target_that_is_not_allowed_is_refused_before_anything_is_written(tmp_path):
    har = write(tmp_path / "v.har", entry("https://shop.example.org/"))
    with pytest.raises(UsageError, match=r"shop\.example\.org is not this machine"):
        init(tmp_path, "--har", str(har))
    assert not (tmp_path / "plans").exists()


def test_three_recordings_and_a_jmx_beside_one_are_refused(tmp_path):
    har = ["--har", str(write(tmp_path / "v.har", entry("/")))]
    with pytest.raises(UsageError, match="3 recordings: two show what varies"):
        init(tmp_path, *har, *har, *har)
    with pytest.raises(UsageError, match="--har excludes a JMX, an address and a second name"):
        init(tmp_path, *har, "--jmx", "x.jmx")


def test_a_data_file_with_rows_of_its_own_is_kept(tmp_path):
    form = '<form method="post" action="/in"><input name="who"></form>'
    har = write(tmp_path / "v.har", entry("/", form), entry("/in", method="POST", body="who=ann", at_s=3))
    assert init(tmp_path, "--har", str(har), "--no-replay") == 0
    data = tmp_path / "plans" / "data" / "shop" / "users.csv"
    assert data.read_text() == "who\nann\n"
    data.write_text("who\nbob\neve\n")
    assert init(tmp_path, "--har", str(har), "--no-replay", "--force") == 0
    assert data.read_text() == "who\nbob\neve\n"


def test_a_form_with_a_file_that_the_recorder_kept_is_sent_with_the_same_bytes(tmp_path, capsys):
    """Chromium's HAR has nothing of such a form."""
    headers = {"content-type": "multipart/form-data; boundary=x"}
    har = write(tmp_path / "v.har", entry("/", "<title>Photos</title>"),
                entry("/up", method="POST", at_s=3, headers=headers))  # fmt: skip
    assert init(tmp_path, "--har", str(har), "--no-replay") == 0
    assert "POST /up: the recording lacks the form with a file that it sends" in capsys.readouterr().out
    content = bytes(range(256))
    file = {"name": "f", "fileName": "a.png", "contentType": "image/png", "base64": b64encode(content).decode()}
    add_forms(har, [("http://127.0.0.1:8080/up", [{"name": "title", "value": "Photo"}, file])])
    assert init(tmp_path, "--har", str(har), "--no-replay", "--force") == 0
    assert "lacks" not in capsys.readouterr().out
    assert (tmp_path / "plans" / "data" / "shop" / "a.png").read_bytes() == content
    assert "data/shop/a.png" in (tmp_path / "plans" / "shop.jmx").read_text()


@pytest.mark.parametrize(("origin", "cookie", "is_named"), [
    ("http://127.0.0.1:8080", "sid=1; Path=/; Secure; SameSite=None", True),
    ("https://127.0.0.1:8443", "sid=1; Path=/; Secure; SameSite=None", False),
    ("http://127.0.0.1:8080", "secure=1; Path=/secure", False),
])  # fmt: skip
def test_cookies_that_jmeter_does_not_send_over_http_are_named(tmp_path, capsys, origin, cookie, is_named):
    har = write(tmp_path / "v.har", entry(f"{origin}/", answer_headers={"Set-Cookie": cookie}))
    assert init(tmp_path, "--har", str(har), "--no-replay") == 0
    assert ("record the https address" in capsys.readouterr().out) == is_named


@pytest.mark.counterpart
@pytest.mark.real
def test_the_admin_of_django_recorded_by_chromium_passes_for_twenty_users(tmp_path):
    """More applications: scripts/bench correlation --real."""
    outcome = real_applications.outcome_of(real_applications.APPLICATIONS["django"], tmp_path)
    assert (outcome.code, outcome.run_code, outcome.extractors, outcome.unexplained) == (0, 0, 5, 0)
    assert outcome.errors == 0 < outcome.requests
    assert outcome.columns == ["username", "name", "name_2"]
    assert "secrets.toml, which git ignores, has the values of: SHOP_PASSWORD" in outcome.printed
    assert len(re.findall(r"csrfmiddlewaretoken\S* .* answers 403\n", outcome.printed)) == 4
    assert re.search(r"group_id +POST /admin/auth/group/add/ .*boundary", outcome.printed)


def test_the_texts_of_each_user_of_a_replay_end_with_a_number_of_its_own(tmp_path):
    form = '<form method="post" action="/in"><input name="title"><input name="slug"></form>'
    body = "title=Fresh+bread&slug=fresh-bread"
    first, found = correlated(tmp_path, [entry("/", form), entry("/in", method="POST", body=body, at_s=3)])
    head, *rows = varied_rows(Recorded("shop", first, found, [0.0, 1.0]), 2).splitlines()
    assert head == "title,slug"
    numbers = [re.fullmatch(r"Fresh bread (\d+),fresh-bread-(\d+)", row).groups() for row in rows]
    assert [one == two for one, two in numbers] == [True, True]
    assert numbers[0] != numbers[1]


class Wire(BaseHTTPRequestHandler):
    """Stores each request, and answers with a page."""

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.got.append((self.command, self.path, self.headers.get("Content-Type", ""), body))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    do_GET = do_POST = do_PUT = answer  # noqa: N815

    def log_message(self, *_):
        pass


EMPTY = [("POST", "text/plain"), ("PUT", "application/json"), ("GET", "application/json")]
NAMES = ["übung.txt", "日本 (1).png", "it's, 50 % & more.csv"]


@pytest.mark.real
@pytest.mark.parametrize("sampler", ["lean", pytest.param("jmeter", marks=pytest.mark.counterpart)])
def test_an_upload_is_sent_under_its_recorded_name_and_an_empty_body_with_its_type(tmp_path, sampler):
    got: list = []
    with serving(Wire, got=got) as port:
        origin = f"http://127.0.0.1:{port}"
        entries = [entry(origin + "/", "ok")]
        for at, (method, kind) in enumerate(EMPTY):
            headers = {"Content-Type": kind}
            entries.append(entry(f"{origin}/empty/{at}", "ok", method=method, headers=headers, at_s=3 + at))
        for at, name in enumerate(NAMES):
            one = entry(
                f"{origin}/up/{at}", "ok", method="POST", body="x", body_type="multipart/form-data", at_s=9 + at
            )
            file = {"name": "f", "fileName": name, "contentType": "text/plain", "value": f"content {at}"}
            one["request"]["postData"] = {"mimeType": "multipart/form-data; boundary=x", "params": [file]}
            entries.append(one)
        assert init(tmp_path, "--har", str(write(tmp_path / "v.har", *entries)), "--no-replay") == 0
        words = [
            "check",
            "shop",
            f"--target={origin}",
            f"--sampler={sampler}",
            f"--home={tmp_path}",
            f"--build={BUILD}",
        ]
        assert main(words, "lth") == 0
    empty = [(method, kind, body) for method, path, kind, body in got if path.startswith("/empty/")]
    assert empty == [(method, kind, b"") for method, kind in EMPTY]
    sent = [body.decode() for _, path, _, body in got if path.startswith("/up/")]
    assert [re.findall(r'filename="(.*?)"', body) for body in sent] == [[name] for name in NAMES]
    assert all(f"content {at}" in body for at, body in enumerate(sent))
