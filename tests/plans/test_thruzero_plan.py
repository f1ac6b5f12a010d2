"""plans/thruzero.jmx in a real JMeter: against a site that fails on demand, and as a run against the real site."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs

import pytest

from harness.plan.plan import load_plan
from tests.support.local_server import serving
from tests.support.paths import ROOT, jmeter_home
from tests.support.processes import QUICK_JAVA, processes_of

SHAPE = ROOT / "plans" / "thruzero.jmx"
PAGES = list(csv.DictReader((ROOT / "plans" / "data" / "thruzero-pages.csv").open(encoding="utf-8")))
LABELS = [page["page"] for page in PAGES]


def test_the_page_list_has_22_pages_with_unique_names() -> None:
    assert len(set(LABELS)) == len(LABELS) == 22
    assert all(page["path"].startswith("/") and page["text"] for page in PAGES)
    # A form belongs to the page before it: that page's address, or the one that its own form led to.
    for before, page in pairwise(PAGES):
        if page["form"]:
            assert page["path"] in (before["path"], f"/apps/demo/{before['page']}.jsf")


def test_a_user_visits_every_page_five_times() -> None:
    plan = load_plan(ROOT / "plans", "thruzero")
    assert (plan.load.users, plan.load.ramp_s(25), plan.load.loops) == (25, 25, 5)
    assert plan.goal.each_average_ms == 1000


@dataclass
class FakeSite:
    """Pages with a form each, unless `answers` has another status and text for a path."""

    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    posts: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    cookies: list[str | None] = field(default_factory=list)
    port: int = 0


class Handler(BaseHTTPRequestHandler):
    """Answers with the texts of all pages of a path, and a view state that contains the path."""

    protocol_version = "HTTP/1.1"
    site: ClassVar[FakeSite]

    def do_GET(self) -> None:
        """Open a page."""
        self.answer()

    def do_POST(self) -> None:
        """Take a form."""
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.site.posts.append((self.path, parse_qs(form)))
        self.answer()

    def answer(self) -> None:
        """Answer, and note the cookies."""
        self.site.cookies.append(self.headers["Cookie"])
        texts = " ".join(page["text"] for page in PAGES if page["path"] == self.path)
        state = f'<input type="hidden" name="jakarta.faces.ViewState" id="x" value="{self.path}+1:/=" />'
        # createViewer is reached by the form of crudList, and has the form that leads on.
        status, text = self.site.answers.get(self.path, (200, f"<html>{texts}{state}</html>"))
        body = text.encode()
        self.send_response(status)
        if not self.headers["Cookie"]:
            self.send_header("Set-Cookie", f"JSESSIONID={len(self.site.cookies)}; Path=/")
        if status == 302:
            self.send_header("Location", "/auth/login.jsf")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """A site that listens on a free port of 127.0.0.1."""
    fake = FakeSite()
    with serving(Handler, site=fake) as fake.port:
        yield fake


def samples_of(site: FakeSite, folder: Path, loops: int) -> list[dict[str, str]]:
    """Run plain JMeter with one user, and return what its JTL contains."""
    command = [str(jmeter_home() / "bin" / "jmeter"), "-n", "-t", str(SHAPE), "-l", "samples.jtl", "-j", "jmeter.log"]
    command += [f"-Jport={site.port}", "-Jusers=1", "-Jramp_s=0", f"-Jloops={loops}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "samples.jtl").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def of_load(samples: list[dict[str, str]], success: str) -> Counter[str]:
    of_users = (sample for sample in samples if sample["threadName"].startswith("Users"))
    return Counter(sample["label"] for sample in of_users if sample["success"] == success)


@pytest.mark.real
def test_every_page_is_a_label_and_forms_carry_the_state_of_the_page_before(site: FakeSite, tmp_path: Path) -> None:
    samples = samples_of(site, tmp_path, loops=2)
    assert of_load(samples, "true") == dict.fromkeys(LABELS, 2)
    first = [sample["label"] for sample in samples if sample["threadName"].startswith("setUp")]
    assert first == [f"first: {label}" for label in LABELS]
    before = dict(zip(LABELS[1:], PAGES, strict=False))
    expected = [(page["path"], f"{before[page['page']]['path']}+1:/=") for page in PAGES if page["form"]]
    # Once in setUp, and in two rounds.
    assert [(path, form["jakarta.faces.ViewState"][0]) for path, form in site.posts] == expected * 3
    assert site.posts[2][1]["f:email"] == ["ada@example.com"]
    # One session in setUp and one of the user, each from its first answer on.
    assert Counter(site.cookies) == {None: 2, "JSESSIONID=1": 21, "JSESSIONID=23": 43}


@pytest.mark.real
def test_a_failed_page_is_not_followed_and_an_incomplete_page_has_failed(site: FakeSite, tmp_path: Path) -> None:
    site.answers = {
        "/home.jsf": (200, "<html>News of nine feeds"),  # breaks off
        "/apps/demo/ajax.jsf": (200, "<html>Something else</html>"),
        "/apps/demo/secure/secure2.jsf": (302, ""),
        "/apps/demo/crudList.jsf": (500, "<html>Something went wrong</html>"),
        "/apps/demo/multiPageEx1.jsf": (200, "<html>Step 1 of 2, without a form</html>"),
    }
    samples = samples_of(site, tmp_path, loops=1)
    # Two forms need the page whose state is missing; the third is that of the page after the first.
    left_out = {"crud/createViewer", "crud/updateViewer", "multiPageEx2"}
    failed = {"home", "ajax", "secure/secure2", "crudList"}
    assert of_load(samples, "false") == dict.fromkeys(failed, 1)
    assert of_load(samples, "true") == dict.fromkeys(set(LABELS) - failed - left_out, 1)
    messages = {sample["label"]: sample["failureMessage"] for sample in samples}
    assert messages["ajax"] == "expected a page with: What you type is sent at once"
    assert messages["secure/secure2"] == "expected 200"
    assert {sample["label"] for sample in samples if sample["responseCode"] == "302"} == {
        "secure/secure2",
        "first: secure/secure2",
    }


@pytest.mark.real
def test_a_run_against_the_real_site_has_all_pages_and_no_error(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "run"), "--plan", "thruzero", "--users", "5"]
    command += ["--ramp", "1", "--duration", "5"]
    environment = {**os.environ, **QUICK_JAVA}
    done = subprocess.run(
        [*command, "--reports", str(tmp_path)],
        env=environment, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    directory = tmp_path / "thruzero" / "run-01_1"
    summary = json.loads(directory.with_suffix(".json").read_text())
    groups = {group["name"]: {label["label"]: label for label in group["labels"]} for group in summary["groups"]}
    assert set(groups["load"]) <= set(LABELS)
    assert set(groups["setUp"]) == {f"first: {label}" for label in LABELS}
    assert {label["error_count"] for group in groups.values() for label in group.values()} == {0}
    assert dict(summary["run"]["dump_figures"])["refreshes of one feed at once, at most"] == "1"
    assert summary["observed"]["exceptions"] == []
    report = directory.with_suffix(".md").read_text()
    assert "- faults: none" in report
    assert "average ≤ 1000 ms" in report
    assert str(tmp_path) not in report
    assert processes_of(tmp_path) == []
