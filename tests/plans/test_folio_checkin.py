"""plans/folio-checkin: what it sends to Okapi, what it keeps to itself, and a run on the stand-in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.plan.checks.lint import lint
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.plan.spec import load_profile
from tests.support.ended_run import EndedRun
from tests.support.local_server import serving
from tests.support.paths import ROOT
from tests.support.processes import processes_of

# The user's name is one that must be escaped in JSON.
SECRETS = {"FOLIO_TENANT": "mark_tenant", "FOLIO_USERNAME": 'mark"user\\', "FOLIO_PASSWORD": "mark-password"}
SECRET_TEXTS = ("mark_tenant", 'mark"user', 'mark\\"user', "mark-password")
BARCODES = [f"{number}" for number in range(500_001, 500_013)]
SERVICE_POINTS = ["5bc8fbbc-bde5-4099-8164-d8399f767c45", "d76d4330-f144-4bea-b0c1-1fdecb91ce37"]


@dataclass
class FakeOkapi:
    """Okapi's edge: takes any log-in unless a test sets another answer, and its errors reveal more than they should.

    The first three check-ins are answered together, so that three users take part.
    """

    takes_log_in: bool = True
    calls: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    three: threading.Barrier = field(default_factory=lambda: threading.Barrier(3, timeout=20))
    url: str = ""

    def of(self, path: str) -> list[tuple[dict[str, str], Any]]:
        """Headers, by names in small letters, and body of each call of a path."""
        return [(headers, body) for called, headers, body in self.calls if called == path]


class Handler(BaseHTTPRequestHandler):
    """Answers in the name of a FakeOkapi."""

    protocol_version = "HTTP/1.1"
    okapi: ClassVar[FakeOkapi]

    def do_POST(self) -> None:
        """Note the call and answer it."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with self.okapi.lock:
            self.okapi.calls.append((self.path, headers, body))
        if self.path == "/authn/login":
            taken = self.okapi.takes_log_in
            self.reply(201 if taken else 422, {} if taken else {"errors": [{"message": "Password does not match"}]})
            return
        if body["itemBarcode"] in BARCODES[:3]:
            self.okapi.three.wait()
        if body["itemBarcode"] == BARCODES[3]:
            revealing = f"No item with barcode {body['itemBarcode']} exists for mark-password of mark_tenant"
            self.reply(422, {"errors": [{"message": revealing}]})
        else:
            # One answer is of another item.
            barcode = "0" if body["itemBarcode"] == BARCODES[5] else body["itemBarcode"]
            self.reply(200, {"item": {"barcode": barcode}})

    def reply(self, status: int, body: object) -> None:
        """Send a JSON answer; that to a log-in has a token."""
        data = json.dumps(body).encode()
        self.send_response(status)
        if status == 201:
            self.send_header("x-okapi-token", "token-of-the-log-in")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def okapi() -> Iterator[FakeOkapi]:
    fake = FakeOkapi()
    with serving(Handler, okapi=fake) as port:
        fake.url = f"http://127.0.0.1:{port}"
        yield fake


def run(reports: Path, *arguments: str, **environment: str) -> EndedRun:
    """Run scripts/run with the real JMeter to its end."""
    command = [sys.executable, str(ROOT / "scripts" / "run"), "--plan", "folio-checkin", "--reports", str(reports)]
    done = subprocess.run(
        [*command, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )
    return EndedRun(done, reports, "folio-checkin")


@pytest.fixture(scope="module")
def few_barcodes(okapi: FakeOkapi, tmp_path_factory: pytest.TempPathFactory) -> EndedRun:
    """Three users who find twelve barcodes, and would go on for 30 s."""
    home = tmp_path_factory.mktemp("home")
    for name in ("plans", "systems"):
        (home / name).symlink_to(ROOT / name)
    (home / "barcodes.csv").write_text("\n".join(["barcode", *BARCODES]) + "\n")
    (home / "service-points.csv").write_text("\n".join(["id", *SERVICE_POINTS]) + "\n")
    (home / "env").mkdir()
    (home / "env" / "mine.toml").write_text(
        'format_version = 1\ntitle = "Mine"\n[plan.folio-checkin]\nproperties = { '
        f'barcodes_file = "{home}/barcodes.csv", service_points_file = "{home}/service-points.csv" }}\n'
    )
    arguments = ("--users", "3", "--duration", "30", "--ramp", "0", "--target", okapi.url, "--env", "mine")
    return run(tmp_path_factory.mktemp("reports"), *arguments, "--home", str(home), **SECRETS)


def test_the_plan_passes_the_linter() -> None:
    assert lint(ROOT / "plans" / "folio-checkin.jmx") == ()


@pytest.mark.parametrize(
    ("env", "users", "ramp_s", "duration_s"),
    [("folio", 1, 1, 1800), ("folio", 8, 80, 1800), ("folio", 20, 200, 1800), ("local", 1, 1, 60), ("local", 8, 8, 60)],
)
def test_ramp_and_duration_are_those_of_the_published_runs_and_a_minute_here(
    env: str, users: int, ramp_s: int, duration_s: int
) -> None:
    plan = load_plan(ROOT / "plans", "folio-checkin", load_profile(ROOT / "env", env).plan_changes["folio-checkin"])
    load = resolve_load(parse_load(LoadArguments(users=str(users))), plan.load)
    assert (load.ramp_s, load.duration_s) == (ramp_s, duration_s)


def test_the_included_barcodes_are_unique() -> None:
    head, *barcodes = (ROOT / "plans" / "data" / "folio-barcodes.csv").read_text().split()
    assert head == "barcode"
    assert len(barcodes) == len(set(barcodes)) == 45_000


@pytest.mark.real
def test_one_thread_logs_in_once_and_all_users_have_its_token(okapi: FakeOkapi, few_barcodes: EndedRun) -> None:
    ((headers, body),) = okapi.of("/authn/login")
    assert headers["x-okapi-tenant"] == "mark_tenant"
    assert body == {"username": 'mark"user\\', "password": "mark-password"}
    threads = {sample["threadName"] for sample in few_barcodes.rows if sample["label"] == "Check In"}
    assert len(threads) == 3
    for headers, _ in okapi.of("/circulation/check-in-by-barcode"):
        assert (headers["x-okapi-tenant"], headers["x-okapi-token"]) == ("mark_tenant", "token-of-the-log-in")


@pytest.mark.real
@pytest.mark.usefixtures("few_barcodes")
def test_each_barcode_is_used_once_and_nothing_is_sent_that_the_schema_forbids(okapi: FakeOkapi) -> None:
    bodies = [body for _, body in okapi.of("/circulation/check-in-by-barcode")]
    assert sorted(body["itemBarcode"] for body in bodies) == BARCODES
    assert {tuple(body) for body in bodies} == {("itemBarcode", "servicePointId", "checkInDate")}
    assert {body["servicePointId"] for body in bodies} == set(SERVICE_POINTS)
    for body in bodies:
        # In UTC and 24 hours: after noon an hour of 12 would be half a day away.
        sent = datetime.strptime(body["checkInDate"].partition(".")[0].rstrip("Z"), "%Y-%m-%dT%H:%M:%S")
        assert abs(datetime.now(UTC) - sent.replace(tzinfo=UTC)) < timedelta(minutes=5)
        assert body["checkInDate"].endswith("Z")


@pytest.mark.real
def test_a_200_without_the_item_and_a_422_are_failures_with_their_cause(few_barcodes: EndedRun) -> None:
    failed = [(row["responseCode"], row["failureMessage"]) for row in few_barcodes.rows if row["success"] != "true"]
    assert sorted(code for code, _ in failed) == ["200", "422"]
    causes = dict(failed)
    assert causes["422"] == "expected 200: No item with barcode 500004 exists for ••• of •••"
    assert re.search(r"\$\.item\.barcode.*'0'", causes["200"])


@pytest.mark.real
def test_a_file_with_fewer_barcodes_than_the_run_needs_makes_it_invalid_and_is_named(few_barcodes: EndedRun) -> None:
    assert few_barcodes.done.returncode == 3
    assert "INVALID: the plan says: the file of barcodes (barcodes_file) has none left" in few_barcodes.done.stdout


@pytest.mark.real
def test_no_stored_file_contains_tenant_user_or_password(few_barcodes: EndedRun) -> None:
    stored = {path.name: path.read_text(errors="replace") for path in few_barcodes.reports.rglob("*") if path.is_file()}
    assert {"samples.jtl", "run.json", "run-01_1.json", "run-01_1.md", "effective.jmx", "jmeter.log"} <= stored.keys()
    assert {name for name, text in stored.items() if any(secret in text for secret in SECRET_TEXTS)} == set()
    assert "masked" in few_barcodes.done.stdout
    assert not any(secret in few_barcodes.done.stdout + few_barcodes.done.stderr for secret in SECRET_TEXTS)


@pytest.mark.counterpart
def test_a_refused_log_in_ends_the_run_before_the_load(okapi: FakeOkapi, tmp_path: Path) -> None:
    okapi.calls.clear()
    okapi.takes_log_in = False
    try:
        ended = run(tmp_path, "--users", "1", "--duration", "20", "--target", okapi.url, **SECRETS)
    finally:
        okapi.takes_log_in = True
    assert okapi.of("/circulation/check-in-by-barcode") == []
    assert ended.done.returncode == 3
    assert "expected 201: Password does not match" in ended.done.stdout
    assert "the plan says: the log-in gave no token" in ended.done.stdout


def test_without_its_secrets_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "")
    arguments = ["--plan=folio-checkin", f"--reports={tmp_path}", "--target=http://127.0.0.1:9"]
    with pytest.raises(UsageError, match="the plan needs FOLIO_TENANT, FOLIO_USERNAME, FOLIO_PASSWORD"):
        main(arguments, "scripts/run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real
@pytest.mark.counterpart
def test_twenty_users_on_the_stand_in_of_a_release_wait_as_published(tmp_path: Path) -> None:
    ended = run(tmp_path, "--env", "folio-goldenrod", "--users", "20", "--ramp", "1", "--duration", "14")
    assert ended.done.returncode == 0, ended.done.stdout + ended.done.stderr
    (load,) = [group for group in ended.summary["groups"] if group["name"] == "load"]
    assert [label["label"] for label in load["labels"]] == ["Check In"]
    # Goldenrod, second round, 20 users: 988 ms on average, 75 % line 1072 ms.
    # A run whose report warns that others used the CPU may be slower; none may be faster.
    is_disturbed = any("CPU" in reason for reason in ended.summary["verdict"]["reasons"])
    slowest = 1.5 if is_disturbed else 1.1
    assert 0.9 * 988 <= load["total"]["average_ms"] <= slowest * 988
    assert 0.9 * 1072 <= load["total"]["percentiles_ms"]["75"] <= slowest * 1072
    assert Counter(row["responseCode"] for row in ended.rows if row["label"] == "Check In").keys() == {"200"}
    report = ended.directory.with_suffix(".md").read_text()
    assert "A stand-in replaces FOLIO" in report
    assert "- release: Goldenrod\n" in report
    assert "standin_" not in report + (ended.directory / "run.json").read_text()
    assert processes_of(tmp_path) == []
