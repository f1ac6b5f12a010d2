"""The counter of large JTLs against the plain reader: the same tally of whatever file, torn anywhere."""

import io
import random
from itertools import pairwise

import pytest

from harness.base.errors import UsageError
from harness.base.java import java_context
from harness.base.toolchain import ensure_counter
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped
from harness.metrics import counter as counting
from harness.metrics.counter import CounterError, CsvFile, Program, count_file
from harness.metrics.tally import Scope

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
    b"1.0",
)  # fmt: skip
TEARS = ("cut", "quote", "header", "other header", "nul", "mark", "blank", "latin", "number", "field", "crlf", "swap")


@pytest.fixture(scope="module")
def program():
    return Program(java_context()["java"], ensure_counter())


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
            lines[place] = line.replace(b"0", rng.choice(BAD_NUMBERS), 1)
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
    assert tally.batches == other.batches
    assert list(tally.by_thread_group) == list(other.by_thread_group)
    for group, own in tally.by_thread_group.items():
        same(own, other.by_thread_group[group])


# A block for the inner loop, the others with `make test`.
@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(first, last), id=str(first), marks=[pytest.mark.real] if first else [])
        for first, last in pairwise((0, 4, *range(16, 145, 16)))
    ],
)
def test_a_randomly_damaged_file_is_counted_as_by_the_plain_reader(seeds, tmp_path, program):
    for seed in seeds:
        data = a_file(seed)
        path = tmp_path / f"{seed}.jtl"
        path.write_bytes(data)
        window_ms = (1_700_000_050_000, 1_700_000_200_000) if seed % 4 == 0 else None
        groups = ((), ("Users",), ("setUp Thread Group", "Users", "absent"))[seed % 3]
        scope = Scope(("Search",), 3, window_ms, batch_count=20 if seed % 8 == 0 else 0, thread_groups=groups)
        try:
            expected, expected_dropped = plain(data, scope)
        except UsageError as error:
            with pytest.raises(UsageError) as found:
                count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=5000)
            assert str(found.value) == str(error), seed
            continue
        tally, dropped = count_file(
            CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=5000
        )
        same(tally, expected)
        assert dropped == expected_dropped, seed


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
    expected, expected_dropped = plain(data, Scope())
    tally, dropped = count_file(
        CsvFile(path, len(data), "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=1_000_000
    )
    same(tally, expected)
    assert dropped == expected_dropped


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
    tally, _ = count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=90_000)
    same(tally, plain(data, scope)[0])
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


def test_without_a_timeline_only_times_per_second_are_not_counted(tmp_path, program):
    data = HEAD + lines_of(3000)
    path = tmp_path / "x.jtl"
    path.write_bytes(data)
    expected, _ = plain(data, Scope())
    scope = Scope(with_timeline=False)
    tally, _ = count_file(CsvFile(path, len(data), "x.jtl"), program, scope, None, lambda *_: None, part_bytes=50_000)
    assert (tally.labels, tally.requests.seconds) == (expected.labels, expected.requests.seconds)
    assert tally.requests.users == expected.requests.users
    counted = sum(histogram.count for histogram in tally.requests.buckets.values())
    assert counted < 3000  # those alone that the plain reader counted


def test_time_stamps_that_go_back_are_detected_across_parts_and_header_lines(tmp_path, program):
    rows = [b"%d,7,Pay,200,T 1-1,true,10,3,1,0\n" % (1_700_000_000_000 + 10 * place) for place in range(6000)]
    back = HEAD + b"".join(rows[3000:]) + HEAD + b"".join(rows[:3000])
    path = tmp_path / "back.jtl"
    path.write_bytes(back)
    expected, expected_dropped = plain(back, Scope())
    assert expected.back_ms == 59_990  # the last row ends 5,999 x 10 ms after the first
    assert expected_dropped.header_lines == [3002]
    tally, dropped = count_file(
        CsvFile(path, len(back), "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=20_000
    )
    assert (tally.back_ms, dropped) == (59_990, expected_dropped)


def test_rows_from_several_generators_need_no_order(tmp_path, program):
    rows = [
        b"%d,7,Pay,200,10.0.0.7:1099-T 1-1,true,10,3,1,0\n" % (1_700_000_000_000 - 10 * place) for place in range(6000)
    ]
    path = tmp_path / "two.jtl"
    path.write_bytes(HEAD + b"".join(rows))
    size = path.stat().st_size
    tally, _ = count_file(CsvFile(path, size, "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=20_000)
    assert (plain(path.read_bytes(), Scope())[0].back_ms, tally.back_ms) == (0, 0)


def lines_of(count, label="Pay"):
    return b"".join(b"%d,7,%s %d,200,T 1-1,true,10,3,1,0\n" % (i, label.encode(), i % 9) for i in range(count))


HEAD = FEWER.encode() + b"\n"
IN_QUOTES = b'5,7,"' + b"x\n" * 10_002 + b'",200,T 1-1,true,10,3,1,0\n'
ODD = {
    "a quote over more lines than a record has": lambda: HEAD + lines_of(3000) + IN_QUOTES + lines_of(3000),
    "a torn quote that a later row closes": lambda: (
        HEAD + lines_of(3000) + b'5,7,"Pa\n' + lines_of(900) + b'5,7,"\nPay",2\n'
    ),
    "a record longer than the counter takes": lambda: (
        HEAD + lines_of(3000) + b'5,7,"' + b"x" * 5_000_000 + b'",200,T,true,1,3,1,0\n'
    ),
    "a hole of zeros longer than a part": lambda: HEAD + lines_of(3000) + bytes(20_000_000) + lines_of(3000),
    "more errors than samples": lambda: HEAD + lines_of(3000) + b"5,7,Pay,500,T,false,1,3,2,3\n" + lines_of(3000),
    "thousands of labels": lambda: HEAD + b"".join(lines_of(9, f"label {number}") for number in range(5000)),
    "numbers of 8, 9 and more digits": lambda: (
        HEAD
        + lines_of(3000)
        + b"".join(b"1700000000000,7,Pay,200,T,true,%d,3,1,0\n" % 10**digits for digits in range(6, 19))
    ),
}


_SLOW = ("a quote over more lines than a record has", "thousands of labels")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.real] if name in _SLOW else []) for name in ODD]
)
def test_rare_rows_are_counted_as_by_the_plain_reader(name, tmp_path, program):
    path = tmp_path / "odd.jtl"
    data = ODD[name]()
    path.write_bytes(data)
    expected, expected_dropped = plain(data, Scope())
    tally, dropped = count_file(
        CsvFile(path, len(data), "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=50_000
    )
    same(tally, expected)
    assert dropped == expected_dropped


@pytest.mark.real
def test_more_labels_than_fit_into_memory_are_an_error(tmp_path, program, monkeypatch, capfd):
    monkeypatch.setattr(counting, "_HEAP_MB", 24)
    data = HEAD + b"".join(b"%d,7,label %d,200,T 1-1,true,10,3,1,0\n" % (i, i) for i in range(300_000))
    path = tmp_path / "many.jtl"
    path.write_bytes(data)
    with pytest.raises(CounterError, match="too little memory for so many labels"):
        count_file(CsvFile(path, len(data), "x.jtl"), program, Scope(), None, lambda *_: None)
    assert capfd.readouterr() == ("", "")


def test_a_file_cut_off_while_it_is_counted_is_an_error(tmp_path, program, capfd):
    data = HEAD + lines_of(10_000)
    path = tmp_path / "cut.jtl"
    path.write_bytes(data)
    with pytest.raises(CounterError, match="the file has changed"):
        count_file(
            CsvFile(path, len(data) + 1_000_000, "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=50_000
        )
    assert capfd.readouterr() == ("", "")


# Rows that look alike, which the counter recognises by their bytes, and after them rows that nearly do.
ALIKE = "{start},{elapsed},{label},{code},{message},{thread},text,{ok},{failure},{received},5,3,{users},{url},2,0,1"
USUAL = {
    "elapsed": 7, "label": "Pay", "code": 200, "message": "OK", "thread": "Users 1-1", "ok": "true", "failure": "",
    "received": 10, "users": 3, "url": "http://127.0.0.1/pay",
}  # fmt: skip
NEARLY_ALIKE = {
    "labels that begin alike": [{"label": f"{'https://example.com/' * 2}{'x' * n}"} for n in range(70)],
    "a label that is the beginning of another": [{"label": label} for label in ("Pay", "Pay more", "Pa", "P")],
    "quoted fields": [
        {"label": '"Pay"'}, {"label": '"Pay, then go"'}, {"label": '"a ""b"" c"'}, {"label": '""'}, {"message": '"OK"'},
        {"label": '"two\nlines"'}, {"label": '"two\r\nlines"'}, {"url": '"http://127.0.0.1/?a=1,2"'}, {"url": '"a""b"'},
        {"url": '"x,2,0,1\ny"'}, {"elapsed": "x"},
        {"ok": '"true"'}, {"elapsed": '"7"'}, {"thread": '"Users, all 1-1"'}, {"thread": '"Users 1-1"'}, {"url": 'a"b'},
    ],
    "empty fields": [
        {"label": ""}, {"code": ""}, {"message": ""}, {"thread": ""}, {"url": ""}, {"elapsed": ""}, {"users": ""},
        {"ok": ""}, {"label": "", "code": "", "message": ""},
    ],
    "bytes beyond ASCII": [
        {"label": "Größe"}, {"label": "支付 🙂"}, {"thread": "Größe 1-1"}, {"message": "é" * 40}, {"elapsed": "７"},
    ],
    "names of threads": [
        {"thread": thread}
        for thread in (
            "Users 1-12345678", "Users 1-123456789", "Users 1-", "Users 1-1-2", "Users -1", "setUp Users 1-1",
            "10.0.0.7:1099-Users 1-3", "10.0.0.7-Users 1-4", "10.0.0.7-4", "tearDown 1-9", "gen:70000-Users 1-1", "7",
        )
    ],
    "numbers of any length": [
        *({"elapsed": 10**digits} for digits in range(9)), *({"received": 10**digits} for digits in range(12)),
        {"start": 999_999_999_999}, {"start": 1}, {"start": -1}, {"start": "01700000000000"}, {"elapsed": "-7"},
        {"users": "3 "}, {"users": " 3"}, {"received": "1.5"}, {"elapsed": "7\t"}, {"url": "a\tb"}, {"url": "a\0b"},
    ],
    "errors": [
        {"ok": "false", "code": 500, "failure": '"expected ""200"",\nbut 500"'}, {"ok": "false"}, {"ok": "FALSE"},
        {"ok": "false", "message": "Bad Gateway", "code": 502}, {"failure": "not empty"},
        *({"ok": "false", "failure": f"number {number}"} for number in range(50)),
    ],
    "transactions": [
        {"message": '"Number of samples in transaction : 2, number of failing samples : 0"'},
        {"message": "Number of samples in transaction : 2"}, {"message": "Number of samples"},
    ],
    "rows that are longer than a part": [
        {"url": "x" * 70_000}, {"label": "y" * 70_000}, {"failure": "z" * 600, "ok": "false"},
    ],
    "more labels than are remembered": [{"label": f"label {number}"} for number in range(1500)],
}  # fmt: skip


def alike(changes, line_end="\n"):
    """Return a JTL of usual rows with each changed row three times between them.

    The plain reader reads the first 16 KB of a file itself.
    """
    rows = []
    for number in range(400 + 6 * len(changes)):
        change = changes[number // 2 % len(changes)] if number >= 400 and number % 2 else {}
        values = {"start": 1_700_000_000_000 + 90 * number, **USUAL, "received": number % 900, **change}
        rows.append(ALIKE.format(**values))
    return line_end.join([COLUMNS, *rows, ""]).encode()


def assert_counted_as_by_the_plain_reader(data, path, program, part_bytes=30_000):
    path.write_bytes(data)
    expected, expected_dropped = plain(data, Scope())
    tally, dropped = count_file(
        CsvFile(path, len(data), "x.jtl"), program, Scope(), None, lambda *_: None, part_bytes=part_bytes
    )
    same(tally, expected)
    assert dropped == expected_dropped


def test_a_delimiter_that_was_overwritten_is_no_delimiter(tmp_path, program):
    *usual, last = alike([{}]).splitlines(keepends=True)
    places = [place for place, byte in enumerate(last) if byte == ord(",")]
    torn = [last[:place] + b";" + last[place + 1 :] for place in places]
    assert len(torn) == 16
    assert_counted_as_by_the_plain_reader(b"".join([*usual, *torn, last]), tmp_path / "x.jtl", program)


@pytest.mark.parametrize("name", NEARLY_ALIKE)
def test_rows_that_nearly_look_like_others_are_counted_as_by_the_plain_reader(name, tmp_path, program):
    assert_counted_as_by_the_plain_reader(alike(NEARLY_ALIKE[name]), tmp_path / "x.jtl", program)


def test_line_ends_and_cut_rows_are_counted_as_by_the_plain_reader(tmp_path, program):
    changes = [{}, {"label": "Search"}]
    for data in (alike(changes, "\r\n"), alike(changes)[:-1], alike(changes)[:-9], alike(changes, "\r\n")[:-1]):
        assert_counted_as_by_the_plain_reader(data, tmp_path / "x.jtl", program)


@pytest.mark.parametrize(
    "columns",
    [
        "success,label,elapsed,timeStamp",
        "timeStamp,elapsed,success,failureMessage,threadName,label,responseCode,responseMessage",
        "timeStamp,elapsed,responseCode,threadName,label,success",
        "elapsed,timeStamp,label,success",
        "timeStamp,elapsed,label,responseCode,responseMessage,success,failureMessage,bytes,threadName",
        "label,responseCode,threadName,success,timeStamp,elapsed,Hostname,SampleCount,ErrorCount",
    ],
)
def test_columns_in_any_order_are_counted_as_by_the_plain_reader(columns, tmp_path, program):
    rng = random.Random(3)
    lines = [columns]
    for number in range(900):
        values = {
            "timeStamp": 1_700_000_000_000 + 90 * number, "elapsed": rng.randrange(2000), "responseCode": "200",
            "label": rng.choice(("Pay", '"Add, then pay"', "Größe")), "responseMessage": "OK", "bytes": number,
            "success": rng.choice(("true", "true", "false")), "threadName": f"Users 1-{number % 9}", "Hostname": "a",
            "failureMessage": rng.choice(("", '"no, ""never"""')), "SampleCount": rng.choice("1113"), "ErrorCount": 0,
        }  # fmt: skip
        lines.append(",".join(str(values[column]) for column in columns.split(",")))
    assert_counted_as_by_the_plain_reader("\n".join([*lines, ""]).encode(), tmp_path / "x.jtl", program)
