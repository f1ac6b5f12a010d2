"""Labels and messages of others control no terminal, break no table of Markdown, and are no HTML."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

from tests.support.commands import command
from tests.support.poisoned import bombs, strings_of

BAD = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BOMB = "|".join(bombs("/tmp/marker", "/etc/hostname").values()) + "<script>a</script>\u202e\x9b31m`x`"
LINES = {
    "jtl": lambda: csv_of(
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes",
        [1700000000000, 10, f"L{BOMB}", f"5{BOMB}", f"M{BOMB}", f"U{BOMB} 1-1", "text", "false", f"F{BOMB}", 100],
    ),
    "locust": lambda: csv_of(
        "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
        "Max Response Time,Average Content Size,Requests/s,Failures/s,"
        "50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%",
        ["GET", f"L{BOMB}", 5, 1, 10, 10, 1, 20, 100, 1.0, 0.1, *[10] * 11],
    ),
    "k6": lambda: "\n".join(
        json.dumps(one, separators=(",", ":"))
        for one in (
            {"type": "Metric", "data": {"name": "http_req_duration", "type": "trend", "contains": "time"}},
            *({"metric": "http_req_duration", "type": "Point", "data": {
                "time": f"2026-11-27T10:00:0{number}Z", "value": 12.5,
                "tags": {"name": f"L{BOMB}", "method": "GET", "status": "500", "url": f"U{BOMB}", "error": BOMB,
                         "expected_response": "false"}}} for number in range(5)),
        )
    ),
}  # fmt: skip


def csv_of(head: str, row: list[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(row)
    return f"{head}\n{text.getvalue()}"


@pytest.mark.parametrize("tool", LINES)
@pytest.mark.parametrize("options", [(), ("--format", "markdown"), ("--format", "csv"), ("--format", "json")])
def test_a_label_of_another_tool_is_only_shown(tmp_path, tool, options):
    path = tmp_path / f"{tool}.{'json' if tool == 'k6' else 'csv'}"
    path.write_text(LINES[tool]() + "\n")
    done = command("aggregate.py", "table", path, *options)
    assert done.returncode == 0, done.stderr
    assert not BAD.search(done.stderr)
    if {"csv", "json"} & {*options}:  # for programs: the very label
        rows = list(csv.reader(io.StringIO(done.stdout, newline=""))) if "csv" in options else json.loads(done.stdout)
        assert any(BOMB in text for text in strings_of(rows) if "groovy" in text)
    else:
        assert not BAD.search(done.stdout)
    if "markdown" in options:
        (row,) = [line for line in done.stdout.splitlines() if line.startswith("| L") or "groovy" in line]
        assert "<script" not in row.replace("\\<", "")
