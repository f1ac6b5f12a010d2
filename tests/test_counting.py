"""The counter of large JTLs against the plain reader: the same tally of whatever file, torn anywhere."""

import io
import random

import pytest

from harness.errors import UsageError
from harness.io.counting import count_file
from harness.io.java import java_context
from harness.io.toolchain import ensure_counter
from harness.jtl import Dropped, parse
from harness.tally import Scope

COLUMNS = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
    "sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect"
)
FEWER = "timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads,SampleCount,ErrorCount"
LABELS = ("Pay", "Search", "Add, then pay", 'Say "hi"', "two\nlines", "a|b;c\td", "Größe", "", "long label " * 8)
THREADS = (
    "Users 1-1",
    "setUp 1-1",
    "10.0.0.7:1099-setUp Thread Group 1-1",
    "tearDown 1-1",
    "Upsetter 1-2",
    "tearDown setUp 1",
)
TEARS = ("cut", "quote", "header", "other header", "nul", "mark", "blank", "latin", "number", "field", "crlf", "swap")


@pytest.fixture(scope="module")
def program():
    return java_context()["java"], ensure_counter()


def quoted(text, delimiter):
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in f'{delimiter}"\n\r') else text


def row(rng, columns, delimiter, start_ms):
    is_ok = rng.random() < 0.9
    values = {
        "timeStamp": start_ms,
        "elapsed": rng.choice((0, 7, 1023, 1024, 40_000, rng.randrange(3000))),
        "label": rng.choice(LABELS),
        "responseCode": "200" if is_ok else rng.choice(("500", "Non HTTP response code: java.net.SocketException")),
        "responseMessage": rng.choice(("OK", "Number of samples in transaction : 3, number of failing samples : 0")),
        "threadName": rng.choice(THREADS) if rng.random() < 0.2 else f"Users 1-{rng.randrange(20)}",
        "dataType": "text",
        "success": "true" if is_ok else "false",
        "failureMessage": ""
        if is_ok
        else rng.choice(("expected 200", 'not "ok",\nbut\r\nworse', "id 123456 failed", "id 654321 failed")),
        "bytes": rng.randrange(100_000),
        "sentBytes": rng.randrange(999),
        "grpThreads": 5,
        "allThreads": rng.randrange(20),
        "URL": rng.choice(("null", "http://127.0.0.1/?timeStamp=1&label=2")),
        "Latency": rng.randrange(100),
        "IdleTime": 0,
        "Connect": rng.randrange(9),
        "SampleCount": rng.choice((1, 1, 4)),
        "ErrorCount": 0 if is_ok else 1,
    }
    return delimiter.join(quoted(str(values[column]), delimiter) for column in columns.split(","))


def torn(rng, lines, delimiter, header):
    """Do some harm to one line of a file."""
    place = rng.randrange(len(lines))
    line = lines[place]
    match rng.choice(TEARS):
        case "cut":
            lines[place] = line[: rng.randrange(len(line) + 1)]
        case "quote":
            at = rng.randrange(len(line) + 1)
            lines[place] = line[:at] + b'"' + line[at:]
        case "header":
            lines.insert(place, header)
        case "other header":
            other = (FEWER if header.startswith(COLUMNS[:40].encode()) else COLUMNS).replace(",", delimiter)
            lines.insert(place, other.encode() + b"\n")
        case "nul":
            at = rng.randrange(len(line) + 1)
            lines[place] = line[:at] + b"\0" * rng.randrange(1, 30) + line[at:]
        case "mark":
            lines[place] = b"\xef\xbb\xbf" + line
        case "blank":
            lines.insert(place, rng.choice((b"\n", b"\r\n")))
        case "latin":
            lines[place] = line.replace(b"Pay", b"Gr\xf6\xdfe").replace(b"Users", b"\xff")
        case "number":
            lines[place] = line.replace(b"0", rng.choice((b"-1", b"x", b"", b"9" * 14, b" 5", "５".encode(), b"+3")), 1)
        case "field":
            lines[place] = line.replace(delimiter.encode(), b"", 1) if rng.random() < 0.5 else delimiter.encode() + line
        case "crlf":
            lines[place] = line.replace(b"\n", b"\r\n")
        case "swap":
            lines[place] = line.replace(b"true", rng.choice((b"TRUE", b"True", b'"true"', b"yes", b"1")))


def a_file(seed):
    rng = random.Random(seed)
    delimiter = rng.choice(",,,|;\t")
    columns = rng.choice((COLUMNS, COLUMNS, FEWER))
    header = columns.replace(",", delimiter).encode() + b"\n"
    lines = [header] if columns == FEWER or rng.random() < 0.8 else []
    start_ms = 1_700_000_000_000
    for _ in range(rng.randrange(1, 400)):
        start_ms += rng.randrange(-50, 3000)
        lines.append(row(rng, columns, delimiter, start_ms).encode() + b"\n")
    if seed % 3:
        for _ in range(rng.randrange(1, 6)):
            torn(rng, lines, delimiter, header)
    if rng.random() < 0.2:
        lines = [line.replace(b"\n", b"\r\n") for line in lines]
    data = b"".join(lines)
    return data[: rng.randrange(len(data))] if rng.random() < 0.2 else data


def plain(data, scope):
    tally, dropped = scope.tally(), Dropped()
    for sample in parse(io.BytesIO(data), "x.jtl", dropped):
        tally.add(sample)
    return tally, dropped


def same(tally, other):
    assert tally.labels == other.labels
    assert list(tally.labels) == list(other.labels)
    assert (tally.codes, tally.kinds, tally.first_ms) == (other.codes, other.kinds, other.first_ms)
    assert (tally.requests, tally.transactions) == (other.requests, other.transactions)


@pytest.mark.parametrize("seeds", [range(first, first + 12) for first in range(0, 96, 12)], ids=str)
def test_a_file_torn_at_random_is_counted_as_the_plain_reader_counts_it(seeds, tmp_path, program):
    for seed in seeds:
        data = a_file(seed)
        path = tmp_path / f"{seed}.jtl"
        path.write_bytes(data)
        window_ms = (1_700_000_050_000, 1_700_000_200_000) if seed % 4 == 0 else None
        scope = Scope(("Search",), 3, window_ms)
        try:
            expected, expected_dropped = plain(data, scope)
        except UsageError as error:
            with pytest.raises(UsageError) as found:
                count_file(path, len(data), "x.jtl", program, scope, None, lambda *_: None, part_bytes=5000)
            assert str(found.value) == str(error), seed
            continue
        tally, dropped = count_file(path, len(data), "x.jtl", program, scope, None, lambda *_: None, part_bytes=5000)
        same(tally, expected)
        assert dropped == expected_dropped, seed
