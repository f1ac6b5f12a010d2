"""The counter of large JTLs against the plain reader: the same tally of whatever file, torn anywhere."""

import os
import random
from dataclasses import replace
from itertools import pairwise

import pytest

from harness.base.errors import UsageError
from harness.metrics.counter import CsvFile, count_file
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from tests.support.counting import COLUMNS, FEWER, HEAD, lines_of, plain, same

LABELS = ("Pay", "Search", "Add, then pay", 'Say "hi"', "two\nlines", "a|b;c\td", "Größe", "", "long label " * 8)
THREADS = (
    "Users 1-1",
    "setUp 1-1",
    "10.0.0.7:1099-setUp Thread Group 1-1",
    "tearDown 1-1",
    "Upsetter 1-2",
    "tearDown setUp 1",
    "[[job]] import 1-1",
    "[[job] import 1-1",
    "10.0.0.7:1099-[[job]] tearDown 1-1",
)
# Some name a generator, some only look as if they did.
ADDRESSES = (
    "10.0.0.7:1099",
    "10.0.0.8:1099",
    "10.0.0.7",
    "10.0.0.77",
    "10.0.0.1234",
    "10.0.0",
    "[::1]:1099",
    "[fe80::1:2]:65535",
    "[]:1099",
    "[::1]",
    "gen-1.example.org:1",
    "gen_2:65536",
    "gen:0",
    "gen:01099",
    "gen:109999",
    "gen:",
    "gen",
    ":1099",
    "Größe:1099",
    "10.0.0.7-x:80",
    'a "host":80',
)
GROUPS = (
    "Users 1-1",
    "Users 12-345",
    "setUp Thread Group 1-1",
    " 1-1",
    "a-b",
    "Users 1-",
    "Users -1",
    "Users1-1",
    "1-1",
    "",
)
BAD_NUMBERS = (
    b"-1", b"x", b"", b"9" * 14, b" 5", b"5 ", "５".encode(), "１2".encode(), b"+3", b"1_000", b"--1", b"0x1", b"1e3",
    b"1.0", b"-0", b"00", b"007",
)  # fmt: skip
TEARS = (
    "cut",
    "quote",
    "header",
    "torn header",
    "other header",
    "nul",
    "mark",
    "blank",
    "latin",
    "number",
    "field",
    "crlf",
    "swap",
)

pytestmark = pytest.mark.usefixtures("one_process")


def quoted(text, delimiter):
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in f'{delimiter}"\n\r') else text


def row(rng, columns, delimiter, start_ms):
    is_ok = rng.random() < 0.9
    values = {
        "timeStamp": start_ms,
        "elapsed": rng.choice((0, 7, 1023, 1024, 40_000, rng.randrange(3000))),
        "label": rng.choice(LABELS),
        "responseCode": "200" if is_ok else rng.choice(("500", "Non HTTP response code: java.net.SocketException")),
        "responseMessage": rng.choice(
            (
                "OK",
                "Number of samples in transaction : 3, number of failing samples : 0",
                "Non HTTP response message: Connect to 127.0.0.1:80 failed",
                'Non HTTP response message: "x", 123456',
            )
        ),
        "threadName": thread_name(rng),
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


def thread_name(rng):
    kind = rng.random()
    if kind < 0.2:
        return rng.choice(THREADS)
    if kind < 0.5:
        return f"{rng.choice(ADDRESSES)}{rng.choice('--- :')}{rng.choice(GROUPS)}"
    return f"Users 1-{rng.randrange(20)}"


def torn(rng, lines, delimiter, header):
    """Do some harm to one line of a file."""
    index = rng.randrange(len(lines))
    line = lines[index]
    match rng.choice(TEARS):
        case "cut":
            lines[index] = line[: rng.randrange(len(line) + 1)]
        case "quote":
            at = rng.randrange(len(line) + 1)
            lines[index] = line[:at] + b'"' + line[at:]
        case "header":
            lines.insert(index, header)
        case "other header":
            other = (FEWER if header.startswith(COLUMNS[:40].encode()) else COLUMNS).replace(",", delimiter)
            lines.insert(index, other.encode() + b"\n")
        case "torn header":
            end = rng.randrange(len(header))
            lines.insert(index, header[:end] + (b"" if rng.random() < 0.5 else b"\n"))
        case "nul":
            at = rng.randrange(len(line) + 1)
            lines[index] = line[:at] + b"\0" * rng.randrange(1, 30) + line[at:]
        case "mark":
            lines[index] = b"\xef\xbb\xbf" + line
        case "blank":
            lines.insert(index, rng.choice((b"\n", b"\r\n")))
        case "latin":
            lines[index] = line.replace(b"Pay", b"Gr\xf6\xdfe").replace(b"Users", b"\xff")
        case "number":
            lines[index] = line.replace(b"0", rng.choice(BAD_NUMBERS), 1)
        case "field":
            lines[index] = line.replace(delimiter.encode(), b"", 1) if rng.random() < 0.5 else delimiter.encode() + line
        case "crlf":
            lines[index] = line.replace(b"\n", b"\r\n")
        case "swap":
            lines[index] = line.replace(b"true", rng.choice((b"TRUE", b"True", b'"true"', b"yes", b"1")))


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


# A block for the inner loop, the others with `make test`.
@pytest.mark.real
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(first, last), id=str(first), marks=marks)
        for marks, (first, last) in zip(
            ([], pytest.mark.real, *[pytest.mark.counterpart] * 9), pairwise((0, 4, *range(16, 145, 16))), strict=False
        )
    ],
)
def test_a_randomly_damaged_file_and_its_window_are_counted_as_by_the_plain_reader(seeds, tmp_path, program):
    for seed in seeds:
        data = a_file(seed)
        path = tmp_path / f"{seed}.jtl"
        path.write_bytes(data)
        file = CsvFile(path, len(data), "x.jtl")
        groups = ((), (), ("Users",), ("setUp Thread Group", "Users", "absent"))[seed % 4]
        whole = Scope(("Search",), 3, thread_groups=groups, then_window=True)
        begin_ms = 1_700_000_000_000 + 10_000 * (seed % 9)
        window_ms = IntervalMs(begin_ms, begin_ms + 150_000)
        window = replace(whole, window_ms=window_ms, batch_count=(20, 20, 0)[seed % 3], with_timeline=False)
        for scope in (whole, window):
            try:
                expected = plain(data, scope)
            except UsageError as error:
                with pytest.raises(UsageError) as found:
                    count_file(file, program, scope, None, lambda *_: None, part_bytes=5000)
                assert str(found.value) == str(error), seed
                continue
            same(count_file(file, program, scope, None, lambda *_: None, part_bytes=5000), expected)


@pytest.mark.real
def test_a_window_reads_again_only_where_it_or_a_batch_begins_or_ends(tmp_path, program):
    rows = [
        b"%d,%d,%s,20%d,T 1-1,true,10,3,1,0\n"
        % (1_700_000_000_000 + 10 * index, index % 97, (b"Pay", b"Buy")[index % 2], index // 7000)
        for index in range(20_000)
    ]
    data, path = HEAD + b"".join(rows), tmp_path / "x.jtl"
    path.write_bytes(data)
    file, at_ns = CsvFile(path, len(data), "x.jtl"), path.stat().st_mtime_ns
    window = Scope(window_ms=IntervalMs(1_700_000_030_000, 1_700_000_130_000), batch_count=4, with_timeline=False)
    # Of the first batch, 30 to 55 s, and no JTL any more: nobody may look at it again.
    spoiled = data.replace(b"".join(rows[3500:5000]), len(b"".join(rows[3500:5000])) * b"?")
    count_file(file, program, Scope(then_window=True), None, lambda *_: None, part_bytes=100_000)
    path.write_bytes(spoiled)
    os.utime(path, ns=(at_ns, at_ns))
    tally = count_file(file, program, window, None, lambda *_: None, part_bytes=100_000)
    same(tally, plain(data, window))
    assert tally.dropped.count == 0
    (pay, *_) = tally.batches.values()
    assert [set(pay[at].codes) for at in range(4)] == [{"200"}, {"200", "201"}, {"201"}, {"201"}]
    os.utime(path, ns=(at_ns, at_ns + 1_000_000_000))
    changed = count_file(file, program, window, None, lambda *_: None, part_bytes=100_000)
    same(changed, plain(spoiled, window))


@pytest.mark.real
def test_records_across_two_chunks_are_counted_as_by_the_plain_reader(tmp_path, program):
    rng = random.Random(7)
    lines = [COLUMNS.encode() + b"\n"]
    lines += [row(rng, COLUMNS, ",", 1_700_000_000_000 + 90 * number).encode() + b"\n" for number in range(15_000)]
    for _ in range(20):
        torn(rng, lines, ",", lines[0])
    data = b"".join(lines)
    assert len(data) > 1_500_000
    path = tmp_path / "long.jtl"
    path.write_bytes(data)
    file = CsvFile(path, len(data), "x.jtl")
    tally = count_file(file, program, Scope(), None, lambda *_: None, part_bytes=1_000_000)
    same(tally, plain(data, Scope()))


@pytest.mark.real
def test_thread_groups_are_counted_apart_in_one_pass(tmp_path, program):
    rows = [
        f"{1_700_000_000_000 + 90 * number},{number % 7},{label},{code},OK,{group} 1-{number % 3},"
        f"text,{ok},,10,5,{users},9,null,1,0,1\n"
        for number, (label, code, group, ok, users) in enumerate(
            [("Page", 200, "Browse", "true", 2), ("Buy", 200, "Buy", "true", 1), ("Page", 500, "Buy", "false", 4)]
            * 5000
        )
    ]
    data = (COLUMNS + "\n" + "".join(rows)).encode()
    path = tmp_path / "x.jtl"
    path.write_bytes(data)
    scope = Scope(thread_groups=("Buy", "Browse"))
    tally = count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=90_000)
    same(tally, plain(data, scope))
    buy, browse = tally.by_thread_group["Buy"], tally.by_thread_group["Browse"]
    counts = [
        {key[1]: sum(one.histogram.count for one in by_source.values()) for key, by_source in own.labels.items()}
        for own in (buy, browse, tally)
    ]
    assert counts == [{"Buy": 5000, "Page": 5000}, {"Page": 5000}, {"Page": 10_000, "Buy": 5000}]
    assert [max(*by_second.values()) for own in (buy, browse, tally) for by_second in own.requests.users.values()] == [
        4, 2, 9,
    ]  # fmt: skip
    assert list(buy.kinds) == [("Page", "500", "OK")]


@pytest.mark.real
def test_without_a_timeline_only_times_per_second_are_not_counted(tmp_path, program):
    data = HEAD + lines_of(3000)
    path = tmp_path / "x.jtl"
    path.write_bytes(data)
    expected = plain(data, Scope())
    scope = Scope(with_timeline=False)
    tally = count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=50_000)
    assert (tally.labels, tally.requests.seconds) == (expected.labels, expected.requests.seconds)
    assert tally.requests.users == expected.requests.users
    counted = sum(histogram.count for histogram in tally.requests.buckets.values())
    assert counted < 3000  # those alone that the plain reader counted


@pytest.mark.real
def test_time_stamps_that_go_back_are_detected_across_parts_and_header_lines(tmp_path, program):
    rows = [b"%d,7,Pay,200,T 1-1,true,10,3,1,0\n" % (1_700_000_000_000 + 10 * index) for index in range(6000)]
    back = HEAD + b"".join(rows[3000:]) + HEAD + b"".join(rows[:3000])
    path = tmp_path / "back.jtl"
    path.write_bytes(back)
    expected = plain(back, Scope())
    assert expected.back_ms == 59_990  # the last row ends 5,999 x 10 ms after the first
    assert expected.dropped.header_lines == [3002]
    file = CsvFile(path, len(back), "x.jtl")
    tally = count_file(file, program, Scope(), None, lambda *_: None, part_bytes=20_000)
    assert (tally.back_ms, tally.dropped) == (59_990, expected.dropped)


@pytest.mark.real
def test_rows_from_several_generators_need_no_order(tmp_path, program):
    rows = [
        b"%d,7,Pay,200,10.0.0.7:1099-T 1-1,true,10,3,1,0\n" % (1_700_000_000_000 - 10 * index) for index in range(6000)
    ]
    path = tmp_path / "two.jtl"
    path.write_bytes(HEAD + b"".join(rows))
    size = path.stat().st_size
    tally = count_file(CsvFile(path, size, "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=20_000)
    assert (plain(path.read_bytes(), Scope()).back_ms, tally.back_ms) == (0, 0)
