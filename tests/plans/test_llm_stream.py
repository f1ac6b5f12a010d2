"""plans/llm-stream.jmx against its stand-in: what it serves, and what the report of a run says of its streams."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.plan.plan import load_plan
from harness.system.manifest import load_manifest
from harness.system.supervisor import Supervisor
from tests.support.paths import ROOT

QUESTION = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "Why?"}]}


def test_the_goal_is_a_first_token_within_a_second() -> None:
    assert load_plan(ROOT / "plans", "llm-stream").goal.limits == {"first_byte_p95_ms": 1000, "error_ratio": 0.01}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {"first_token_median_ms": 20.0, "first_token_sigma": 0.0, "token_median_ms": 10.0, "token_sigma": 0.0}
    manifest = load_manifest(ROOT / "systems" / "llm")
    resolved, logs = manifest.resolve_settings(settings | {"tokens": 30}), tmp_path_factory.mktemp("logs")
    with Supervisor(manifest, resolved, build_dir=ROOT / "build", log_dir=logs) as system:
        system.prepare()
        system.start()
        yield system.target_url


def answer(url: str, question: Mapping[str, object]) -> tuple[str, str]:
    data = json.dumps(question).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{url}/v1/chat/completions", data)) as response:
        return response.headers["Content-Type"], response.read().decode()


@pytest.mark.real
def test_a_stream_has_an_event_per_token_and_ends_with_done(url: str) -> None:
    kind, text = answer(url, QUESTION | {"max_tokens": 15})
    *events, end = text.strip().split("\n\n")
    assert (kind, end, len(events)) == ("text/event-stream", "data: [DONE]", 15)
    words = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"]["content"] for event in events]
    assert "".join(words).startswith("The answer has as many words")


@pytest.mark.real
def test_an_answer_that_is_not_streamed_is_whole_and_a_request_without_messages_refused(url: str) -> None:
    kind, text = answer(url, QUESTION | {"stream": False, "max_tokens": 3})
    assert (kind, json.loads(text)["choices"][0]["message"]["content"]) == ("application/json", "The answer has")
    with pytest.raises(urllib.error.HTTPError, match="400"):
        answer(url, {"stream": True})


@pytest.mark.real
def test_a_run_reports_first_tokens_events_and_gaps(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    command = [sys.executable, "-m", "harness", "run", "llm-stream", "-u", "5", "-d", "12s", f"--reports={reports}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode in (0, 3), done.stdout + done.stderr
    (page,) = (reports / "llm-stream").glob("run-*.json")
    found = json.loads(page.read_text(encoding="utf-8"))
    (stream,) = found["observed"]["streams"]
    (load,) = (group for group in found["groups"] if group["name"] == "load")
    assert (stream["label"], stream["stream_count"]) == ("Chat", load["total"]["sample_count"])
    # 60 tokens and the end on average, a token every 25 ms by the median: 27 a second by the mean.
    assert 30 < stream["event_count"] / stream["stream_count"] < 92
    assert 15 < stream["rate_per_s"] < 40
    first = load["total"]["first_byte_percentiles_ms"]["50"]
    assert 150 < first < 1000 < load["total"]["percentiles_ms"]["50"]
    beside, average = load["total"]["beside"], load["total"]["average_ms"]
    assert 150 < beside["waiting_ms"] < 1000 < beside["receiving_ms"] < average
    assert abs(beside["waiting_ms"] + beside["receiving_ms"] - average) < 20  # the rest is connecting
    # Of each answer the time from its first event to its last one is that of receiving.
    events = stream["event_count"] / stream["stream_count"]
    assert beside["receiving_ms"] * beside["events_per_s"] / 1000 == pytest.approx(events, rel=0.2)
    assert 0 < beside["longest_gap_ms"] < beside["receiving_ms"]
    assert stream["gap_p50_ms"] < load["total"]["percentiles_ms"]["50"]
