"""HAR files written by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from harness.plan.har.correlate import correlate
from harness.plan.har.correlation import Correlation
from harness.plan.har.read import read_har
from harness.plan.har.steps import RecordedStep, Steps, steps_of

ORIGIN = "http://127.0.0.1:8080"
FORM = "application/x-www-form-urlencoded"


def entry(
    url: str,
    response: str = "",
    *,
    method: str = "GET",
    kind: str = "text/html",
    status: int = 200,
    body: str = "",
    body_type: str = FORM,
    at_s: float = 0.0,
    headers: dict[str, str] | None = None,
    answer_headers: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Return an entry; a URL without a host is one of ORIGIN."""
    return {
        "startedDateTime": (datetime(2026, 11, 27, tzinfo=UTC) + timedelta(seconds=at_s)).isoformat(),
        "time": 100,
        "request": {
            "method": method, "url": url if ":" in url.partition("?")[0] else ORIGIN + url,
            "headers": [{"name": name, "value": value} for name, value in (headers or {}).items()],
            **({"postData": {"mimeType": body_type, "text": body}} if body else {}),
        },
        "response": {
            "status": status, "content": {"mimeType": kind, "text": response},
            "headers": [{"name": name, "value": value} for name, value in (answer_headers or {}).items()],
        },
        **more,
    }  # fmt: skip


def write(path: Path, *entries: dict[str, Any]) -> Path:
    """Write a HAR file and return its path."""
    path.write_text(json.dumps({"log": {"version": "1.2", "entries": list(entries)}}))
    return path


def steps(folder: Path, *entries: dict[str, Any], host: str = "") -> Steps:
    """Return the steps of entries."""
    return steps_of(read_har(write(folder / "visit.har", *entries)), host)


def correlated(folder: Path, *recordings: list[dict[str, Any]]) -> tuple[tuple[RecordedStep, ...], Correlation]:
    """Return the steps of the first recording, and what varies in all."""
    found = [steps(folder, *entries).steps for entries in recordings]
    return found[0], correlate(found)
