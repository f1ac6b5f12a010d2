"""The counter of large JTLs against the plain reader: rare rows, rows that look alike, and columns in any order."""

import random
from contextvars import Context

import pytest

from harness.metrics import counter_process
from harness.metrics.counter import CsvFile, count_file
from harness.metrics.counter_process import CounterError
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from tests.support.counting import COLUMNS, HEAD, lines_of, plain, same

# A test that needs a process of its own runs it in another context.
pytestmark = pytest.mark.usefixtures("one_process")

FIRST_MS = 1_700_000_000_000
IN_QUOTES = b'5,7,"' + b"x\n" * 10_002 + b'",200,T 1-1,true,10,3,1,0\n'
ODD = {
    "a quote over more lines than a record has": lambda: HEAD + lines_of(3000) + IN_QUOTES + lines_of(3000),
    "a torn quote that a later row closes": lambda: (
        HEAD + lines_of(3000) + b'5,7,"Pa\n' + lines_of(900) + b'5,7,"\nPay",2\n'
    ),
    "a record longer than the counter takes": lambda: (
        HEAD + lines_of(3000) + b'5,7,"' + b"x" * 5_000_000 + b'",200,T,true,1,3,1,0\n'
    ),
    "a hole of zeros longer than a part": lambda: HEAD + lines_of(3000) + bytes(6_000_000) + lines_of(3000),
    "more errors than samples": lambda: HEAD + lines_of(3000) + b"5,7,Pay,500,T,false,1,3,2,3\n" + lines_of(3000),
    "impossible time stamps": lambda: (
        HEAD
        + b"".join(
            b"%d,7,Pay,200,T 1-1,true,10,3,1,0\n" % (start if number % 10 == 5 else 1_700_000_000_000 + number)
            for start in (0, 5, 1_700_000_000, 1_430_000_000_000, 4_430_000_000_000, 999_999_999_999_999)
            for number in range(1000)
        )
    ),
    "thousands of labels": lambda: HEAD + b"".join(lines_of(9, f"label {number}") for number in range(5000)),
    "numbers of 8, 9 and more digits": lambda: (
        HEAD
        + lines_of(3000)
        + b"".join(b"1700000000000,7,Pay,200,T,true,%d,3,1,0\n" % 10**digits for digits in range(6, 19))
    ),
}


_SLOW = ("a quote over more lines than a record has", "thousands of labels")


@pytest.mark.real
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.counterpart] if name in _SLOW else []) for name in ODD]
)
def test_rare_rows_are_counted_as_by_the_plain_reader(name, tmp_path, program):
    path = tmp_path / "odd.jtl"
    data = ODD[name]()
    path.write_bytes(data)
    file = CsvFile(path, len(data), "x.jtl")
    tally = count_file(file, program, Scope(), None, lambda *_: None, part_bytes=50_000)
    same(tally, plain(data, Scope()))


@pytest.mark.real
def test_more_labels_than_fit_into_memory_are_an_error(tmp_path, program, monkeypatch, capfd):
    monkeypatch.setattr(counter_process, "_HEAP_MB", 24)
    data = HEAD + b"".join(b"%d,7,label %d,200,T 1-1,true,10,3,1,0\n" % (i, i) for i in range(300_000))
    path = tmp_path / "many.jtl"
    path.write_bytes(data)
    with pytest.raises(CounterError, match="too little memory for so many labels"):
        Context().run(count_file, CsvFile(path, len(data), "x.jtl"), program, Scope(), None, lambda *_: None)
    assert capfd.readouterr() == ("", "")


@pytest.mark.counterpart
def test_two_hours_of_two_thousand_labels_fit_into_memory(tmp_path, program):
    path = tmp_path / "wide.jtl"
    labels = [b"label %d,200,T 1-1,true,10,3,1,0\n" % row for row in range(2000)]
    chance = random.Random(1)
    with path.open("wb") as file:
        file.write(HEAD)
        for number in range(7200):
            start_ms = FIRST_MS + number * 1000
            chosen = chance.choices(labels, k=300)
            file.write(b"".join(b"%d,%d,%s" % (start_ms, 20 + chance.random() ** 2 * 240, label) for label in chosen))
    window = Scope(window_ms=IntervalMs(600_000 + FIRST_MS, 7_200_000 + FIRST_MS), batch_count=20, with_timeline=False)
    one_process = Context()
    for scope in (Scope(then_window=True), window):
        file = CsvFile(path, path.stat().st_size, "x.jtl")
        tally = one_process.run(count_file, file, program, scope, None, lambda *_: None)
        assert len(tally.labels) == 2000


@pytest.mark.real
def test_a_file_cut_off_while_it_is_counted_is_an_error(tmp_path, program, capfd):
    data = HEAD + lines_of(10_000)
    path = tmp_path / "cut.jtl"
    path.write_bytes(data)
    with pytest.raises(CounterError, match="the file has changed"):
        file = CsvFile(path, len(data) + 1_000_000, "x.jtl")
        Context().run(count_file, file, program, Scope(), None, lambda *_: None, part_bytes=50_000)
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
        {"users": "3 "}, {"users": " 3"}, {"received": "1.5"},
        *({name: text} for name in ("elapsed", "received", "users") for text in ("0", "-0", "00", "007", "0" * 8)),
        {"start": "0000000000005"}, {"start": "0700000000000"}, {"start": "00000005"}, {"start": "0"},
        {"start": 1_430_000_000_000}, {"start": 4_430_000_000_000}, {"start": 1_700_000_000},
        {"elapsed": "7\t"}, {"url": "a\tb"}, {"url": "a\0b"},
    ],
    "errors": [
        {"ok": "false", "code": 500, "failure": '"expected ""200"",\nbut 500"'}, {"ok": "false"}, {"ok": "FALSE"},
        {"ok": "false", "message": "Bad Gateway", "code": 502}, {"failure": "not empty"},
        *({"ok": "false", "failure": f"number {number}"} for number in range(50)),
        # The failure message of the next two rows is known only from requests without an answer when it is one's cause.
        {"ok": "false", "failure": "expected 200", "message": "Non HTTP response message: Read timed out", "code": "N"},
        {"ok": "false", "failure": "expected 200", "code": 500}, {"ok": "false", "code": 500},
        {"ok": "false", "message": "Non HTTP response message: Read timed out", "code": "N"},
        {"failure": "expected 200", "message": "Non HTTP response message"}, {"message": "Non HTTP response message:"},
    ],
    "failures of the sampler itself": [
        {"ok": "false", "failure": "expected 2xx", "message": message, "code": code}
        for message in ("", "OK", "UNAVAILABLE", "Number of samples in transaction : 2", '"a, ""b"""')
        for code in ("", "200", "302", "404", "2x0", "20", "2000", "42P01 0", "14", '"2,0"', "-20", "299")
    ],
    "transactions": [
        {"message": '"Number of samples in transaction : 2, number of failing samples : 0"'},
        {"message": "Number of samples in transaction : 2"}, {"message": "Number of samples"},
    ],
    "rows that are longer than a part": [
        {"url": "x" * 70_000}, {"label": "y" * 70_000}, {"failure": "z" * 600, "ok": "false"},
    ],
    "columns that seldom change": [
        *({"users": "12345678"[:length]} for length in range(9)),
        *({"url": "abcdefgh"[:length]} for length in range(9)),
        {"users": 31}, {"users": "3x"}, {"url": "ab"}, {"url": "abx"}, {"url": '"ab"'}, {"url": "3"}, {"users": "03"},
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
    file = CsvFile(path, len(data), "x.jtl")
    tally = count_file(file, program, Scope(), None, lambda *_: None, part_bytes=part_bytes)
    same(tally, plain(data, Scope()))


def test_a_delimiter_that_was_overwritten_is_no_delimiter(tmp_path, program):
    *usual, last = alike([{}]).splitlines(keepends=True)
    positions = [position for position, byte in enumerate(last) if byte == ord(",")]
    torn = [last[:position] + b";" + last[position + 1 :] for position in positions]
    assert len(torn) == 16
    assert_counted_as_by_the_plain_reader(b"".join([*usual, *torn, last]), tmp_path / "x.jtl", program)


@pytest.mark.real
@pytest.mark.parametrize("name", NEARLY_ALIKE)
def test_rows_that_nearly_look_like_others_are_counted_as_by_the_plain_reader(name, tmp_path, program):
    assert_counted_as_by_the_plain_reader(alike(NEARLY_ALIKE[name]), tmp_path / "x.jtl", program)


@pytest.mark.real
def test_line_ends_and_cut_rows_are_counted_as_by_the_plain_reader(tmp_path, program):
    changes = [{}, {"label": "Search"}]
    for data in (alike(changes, "\r\n"), alike(changes)[:-1], alike(changes)[:-9], alike(changes, "\r\n")[:-1]):
        assert_counted_as_by_the_plain_reader(data, tmp_path / "x.jtl", program)


@pytest.mark.real
@pytest.mark.parametrize(
    "columns",
    [
        "success,label,elapsed,timeStamp",
        "timeStamp,elapsed,success,failureMessage,threadName,label,responseCode,responseMessage",
        "timeStamp,elapsed,responseCode,threadName,label,success",
        "elapsed,timeStamp,label,success",
        "timeStamp,elapsed,label,responseCode,responseMessage,success,failureMessage,bytes,threadName",
        "label,responseCode,threadName,success,timeStamp,elapsed,dataType,SampleCount,ErrorCount",
    ],
)
def test_columns_in_any_order_are_counted_as_by_the_plain_reader(columns, tmp_path, program):
    rng = random.Random(3)
    lines = [columns]
    for number in range(900):
        values = {
            "timeStamp": 1_700_000_000_000 + 90 * number, "elapsed": rng.randrange(2000), "responseCode": "200",
            "label": rng.choice(("Pay", '"Add, then pay"', "Größe")), "responseMessage": "OK", "bytes": number,
            "success": rng.choice(("true", "true", "false")), "threadName": f"Users 1-{number % 9}", "dataType": "a",
            "failureMessage": rng.choice(("", '"no, ""never"""')), "SampleCount": rng.choice("1113"), "ErrorCount": 0,
        }  # fmt: skip
        lines.append(",".join(str(values[column]) for column in columns.split(",")))
    assert_counted_as_by_the_plain_reader("\n".join([*lines, ""]).encode(), tmp_path / "x.jtl", program)
