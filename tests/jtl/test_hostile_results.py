"""Hostile files of other tools: each has a table, or is refused in one line that names it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from tests.jtl.test_other_tools import FILES, text_of

HUGE = "9" * 30
CUT_BYTES = 6000
NUMBER = re.compile(rb"\d+(?:\.\d+)?")
ODD = (
    b"NaN",
    b"-1",
    b"1e999",
    b"[]",
    b"null",
    b'"x"',
    b"\x1b[2J",
    b"9" * 400,
    b"\0",
    b"\xff",
    b"Aggregated",
    b",",
    b'"',
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
Read = Callable[..., str]


def outcome(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return all that a table of a file prints, or its refusal, which is one line; other errors are raised."""
    try:
        main(["table", str(path)])
    except UsageError as error:
        assert str(error).count("\n") == 0
        assert path.name in str(error)
        capsys.readouterr()
        return str(error)
    return "".join(capsys.readouterr())


@pytest.fixture
def read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Read:
    """Return what is said of a file in which the first match of a pattern, or each one, is another text."""

    def read(name: str, change: str, count: int = 1) -> str:
        pattern, _, text = change.partition(" -> ")
        path = tmp_path / "results.txt"
        path.write_bytes(re.sub(pattern.encode(), text.encode(), text_of(name), count=count, flags=re.MULTILINE))
        return outcome(path, capsys)

    return read


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("k6-0.54.0.csv.xz", '^http_req_duration,(.*),GET -> http_req_duration,\\1,"G"ET'),
        ("oha-1.16.0.csv", '^0.000742568 -> "0.0"007'),
        ("hey-0.1.5.csv", f"^0.0149 -> {HUGE}"),
        ("oha-1.16.0.csv", f",6,200$ -> ,{HUGE},200"),
        ("oha-1.16.0.csv", ",6,200$ -> ,-6,200"),
        ("ab-2.3-samples.tsv", f"13$ -> {HUGE}"),
        ("vegeta-12.13.0.csv.xz", f",0,6, -> ,0,{HUGE},"),
        ("vegeta-12.13.0.json.xz", f'"bytes_in":6 -> "bytes_in":{HUGE}'),
        ("k6-0.54.0.json.xz", '(duration","type":"Point".*)"name":"List" -> \\1"name":{"a":1}'),
        ("k6-0.54.0.json.xz", f'(duration","type":"Point".*"value":)[\\d.]+ -> \\g<1>{"[" * 100_000}'),
    ],
)
def test_an_impossible_value_of_a_row_is_one_dropped_record(read, name, change):
    assert re.search(r"^DOUBTFUL: 1 of \d+ rows of the JTL could not be read\.$", read(name, change), re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("oha-1.16.0.json", '"average": [\\d.]+ -> "average": "x"'),
        ("oha-1.16.0.json", '"requestsPerSec": [\\d.]+ -> "requestsPerSec": "fast"'),
        ("oha-1.16.0.json", '"requestsPerSec": [\\d.]+ -> "requestsPerSec": true'),
        ("vegeta-12.13.0-report.json", '"rate":[\\d.]+ -> "rate":NaN'),
        ("vegeta-12.13.0-report.json", f'"requests":360 -> "requests":{HUGE * 20}'),
        ("vegeta-12.13.0-report.json", f'"mean":\\d+ -> "mean":{"[" * 100_000}'),
        ("k6-0.54.0-summary.json", '"p\\(90\\)" -> "p(\\\\u001b[2J)"'),
        ("locust-2.47.0_stats.csv", '^POST,Pay -> "PO"ST,Pay'),
        ("locust-2.47.0_stats_history.csv", "Aggregated -> Other"),
    ],
)
def test_a_summary_with_an_impossible_value_is_refused_in_one_line(read, name, change):
    assert "a damaged summary of another tool" in read(name, change, 0)


@pytest.mark.real
@pytest.mark.parametrize("name", sorted(path.name for path in FILES.iterdir()))
def test_a_file_that_was_changed_at_random_has_a_table_or_is_refused(tmp_path, capsys, name):
    chance, path = random.Random(name), tmp_path / "results.txt"
    whole = text_of(name) if name.endswith(".json") else text_of(name)[:CUT_BYTES]
    for _ in range(20):
        text = bytearray(whole)
        for _ in range(chance.choice((1, 1, 2, 5))):
            change(text, chance)
        path.write_bytes(text or b"x")
        assert not CONTROL.search(outcome(path, capsys)), bytes(text)


def change(text: bytearray, chance: random.Random) -> None:
    """Change a byte, leave some out, put an odd text between, cut the rest off, or replace a number."""
    at = chance.randrange(len(text) + 1)
    match chance.randrange(5):
        case 0:
            text[at : at + 1] = bytes([chance.randrange(256)])
        case 1:
            del text[at : at + chance.randrange(1, 40)]
        case 2:
            text[at:at] = chance.choice(ODD)
        case 3:
            del text[at:]
        case _:
            if places := [number.span() for number in NUMBER.finditer(text)]:
                start, end = chance.choice(places)
                text[start:end] = chance.choice(ODD)
