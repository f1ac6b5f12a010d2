"""Jobs in a real JMeter: each end that a job can have, in one run, and how far they stay out of the load."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from harness.base.install import toolchain
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.processes import interrupted_after
from tests.support.several import BROWSE, HEAD, several_jmx
from tests.support.tiny import TINY_PROFILE

pytestmark = pytest.mark.real

GARBAGE = "<html>no {state} here: \"quoted\", and 'more'</html>\nsecond line"
# What the polls of a job answer, one after the other; the last answer is repeated.
ANSWERS = {
    "good": ["RUN", "RUN", "DONE"],
    "bad": ["RUN", "ERROR"],
    "endless": ["RUN"],
    "garbage": ["RUN", "", "", ""],
    "recovering": ["", "", "RUN", "", "", "DONE"],
    "later": ["DONE"],
}
JOB = """
[[job]]
name = "{name}"
{more}
records = 50
limit = 2
start = {{ path = "/start/{name}", id = "$.id", body = '{{"rows": {{records}}, "who": "${{tenant}}"}}' }}
poll = {{ path = "/jobs/{{id}}", state = "$.state", period_s = 0.2 }}
done = "DONE"
failed = "ERROR"
"""
MORE = {"good": 'tenant = "college"\nrepeat = 2', "bad": "at = 1", "later": 'after = "good"', "nameless": ""}


class Jobs(BaseHTTPRequestHandler):
    """Starts jobs and answers polls; `bodies` gets what was sent."""

    protocol_version = "HTTP/1.1"
    bodies: list[bytes]
    counts: dict[str, int]

    def do_POST(self) -> None:
        name = self.path.rpartition("/")[2]
        self.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.counts["starts"] += 1
        self._answer("{}" if name == "nameless" else json.dumps({"id": f"{name}-{self.counts['starts']}"}))

    def do_GET(self) -> None:
        job = self.path.rpartition("/")[2]
        answers = ANSWERS[job.partition("-")[0]]
        state = answers[min(self.counts[job], len(answers) - 1)]
        self.counts[job] += 1
        self._answer(json.dumps({"state": state}) if state else GARBAGE)

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, list[bytes]]]:
    """Run three users for four seconds beside all jobs; give the run directory, the output and the bodies."""
    folder = tmp_path_factory.mktemp("jobs")
    load = '[[load]]\ngroup = "Browse"\nusers = 3\nduration_s = 4\n'
    jobs = "".join(JOB.format(name=name, more=MORE.get(name, "")) for name in (*ANSWERS, "nameless"))
    for name, text in (
        ("plans/tiny.jmx", several_jmx(BROWSE)),
        ("plans/tiny.toml", HEAD + load + jobs),
        ("env/local.toml", TINY_PROFILE.replace("overrun_s = 1", "overrun_s = 60")),
    ):
        path = folder / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folders = ["--home", str(folder / "home"), "--reports", str(folder / "reports"), "--build", str(folder / "build")]
    bodies: list[bytes] = []
    with serving(Jobs, bodies=bodies, counts=defaultdict(int)) as port, interrupted_after(120):
        arguments = ("--plan", "tiny", *folders, "--target", f"http://127.0.0.1:{port}")
        done = command("scripts/run", *arguments, JMETER_HOME=str(toolchain.ensure_jmeter()))
    assert done.returncode == 3, done.stdout + done.stderr
    yield folder / "reports" / "tiny" / "run-01_1", done.stdout + done.stderr, bodies


@pytest.fixture(scope="module")
def summary(ran: tuple[Path, str, list[bytes]]) -> Any:
    return json.loads(ran[0].with_suffix(".json").read_text())


def jobs_of(summary: Any, name: str) -> list[Any]:
    return [job for job in summary["jobs"] if job["name"] == name]


def test_each_end_of_a_job_is_named(summary: Any) -> None:
    states = {job["name"]: job["state"] for job in summary["jobs"]}
    assert states == {
        "good": "done", "bad": "failed", "endless": "limit", "garbage": "unanswered", "recovering": "done",
        "later": "done", "nameless": "unanswered",
    }  # fmt: skip


def test_unreadable_answers_are_named_with_their_first_characters_and_make_the_run_invalid(summary: Any) -> None:
    reasons, first = summary["verdict"]["reasons"], GARBAGE.splitlines()[0]
    said = f"no $.state in the answer, which begins: {first}"
    assert f"job garbage: its state is not known: 3 polls in a row: {said}" in reasons
    assert "job nameless: its state is not known: its start: no $.id in the answer, which begins: {}" in reasons
    causes = {(kind["label"], kind["cause"]) for kind in summary["errors"]}
    assert ("garbage: poll", said) in causes


def test_durations_and_repetitions_are_those_of_the_server(summary: Any) -> None:
    first, second = jobs_of(summary, "good")
    assert (first["repetition"], second["repetition"], first["tenant"], first["records"]) == (1, 2, "college", 50)
    for job in (first, second):  # three polls, each after 0.2 s
        assert 0.6 <= job["duration_s"] < 1.5
        assert job["records_per_s"] == pytest.approx(50 / job["duration_s"], abs=0.01)
    assert second["started_ms"] >= first["started_ms"] + 1000 * first["duration_s"] - 1
    (later,), (bad,), (endless,) = (jobs_of(summary, name) for name in ("later", "bad", "endless"))
    assert 0 <= later["started_ms"] - (second["started_ms"] + 1000 * second["duration_s"]) < 1000
    assert bad["started_ms"] >= 1000 * summary["origin_s"] + 900
    assert (endless["duration_s"], endless["records_per_s"]) == (None, None)


def test_two_unreadable_answers_in_a_row_are_survived(summary: Any) -> None:
    (job,) = jobs_of(summary, "recovering")
    assert 1.2 <= job["duration_s"] < 2.5  # six polls


def test_a_job_that_never_ends_is_ended_at_its_limit(ran: tuple[Path, str, list[bytes]]) -> None:
    with (ran[0] / "samples.jtl").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["threadName"].startswith("[[job]] endless ")]
    assert rows[-2]["failureMessage"] == "limit: not done within 2 s: $.state is RUN"
    assert 2000 <= int(rows[-1]["elapsed"]) < 3000
    assert "## Jobs" in ran[0].with_suffix(".md").read_text()


def test_jobs_are_no_users_and_no_samples_of_the_load(ran: tuple[Path, str, list[bytes]], summary: Any) -> None:
    with (ran[0] / "samples.jtl").open(newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["threadName"].startswith("Browse ")]
    assert max(int(row["allThreads"]) for row in rows) == 3
    load = next(group for group in summary["groups"] if group["name"] == "load")
    assert load["total"]["sample_count"] == len(rows) and load["total"]["error_count"] == 0
    (job,) = jobs_of(summary, "endless")
    (around,) = job["loads"]
    assert around["load"] == "Browse" and around["during_count"] >= 100 and around["during_p95_ms"] >= 40


def test_the_requests_of_a_job_have_its_records_and_its_tenant(ran: tuple[Path, str, list[bytes]]) -> None:
    assert [json.loads(body) for body in ran[2]].count({"rows": 50, "who": "college"}) == 2
