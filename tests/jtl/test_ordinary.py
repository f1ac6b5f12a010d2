"""Which lines of a CSV JTL any reader takes apart as ours does."""

import pytest

from harness.jtl.layout import Layout
from harness.jtl.ordinary import find_lines

COLUMNS = "timeStamp,elapsed,label,success,failureMessage"
PLAIN = b"1700000000000,12,Pay,true,"


def ordinary(*lines: bytes, columns: str = COLUMNS, delimiter: str = ",") -> list[bool]:
    text = b"".join(line + b"\n" for line in lines)
    found = find_lines(text, delimiter, Layout.of(columns.split(","), "samples.jtl"))
    assert [text[begin:end] for begin, end in zip(found.starts, found.starts[1:], strict=False)] == [
        line + b"\n" for line in b"\n".join(lines).split(b"\n")
    ]
    return found.ordinary.tolist()


@pytest.mark.parametrize(
    "line",
    [
        b'1700000000000,12,"Pay, then wait",true,',
        b'1700000000000,12,"Pay ""now""",true,""',
        b'1700000000000,12,"""",true,""""""',
        b"1700000000000,12,,true,",
        b"1700000000000,12,M\xfcller,neither, x ",
        b"1700000000000,12,Pay,true,\r",
        b'1700000000000,12,Pay,true,"no"\r',
        "1700000000000,7,Zurück,true,\ufeff".encode(),
        b"1700000000000,0,Pay,true,",
    ],
)
def test_such_a_line_is_ordinary_between_others(line):
    assert ordinary(line) == [True]
    assert ordinary(PLAIN, line, b"torn", line, PLAIN) == [True, True, False, True, True]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\r",
        b"1700000000000,12,Pay,true",
        b"1700000000000,12,Pay,true,,",
        b'1700000000000,12,"Pay,true,',
        b'1700000000000,12,Pay "now",true,',
        b'1700000000000,12,"Pay" now,true,',
        b'1700000000000,12,""Pay"",true,',
        b'1700000000000,12,"Pay"""x"",true,',
        b'1700000000000,12,Pay,true,"x"\r\r',
        b"1700000000000,12,Pa\ry,true,",
        b"1700000000000,12,Pa\0y,true,",
        b"1700000000000,,Pay,true,",
        b"1700000000000, 12,Pay,true,",
        b"1700000000000,12 ,Pay,true,",
        b"1700000000000,-12,Pay,true,",
        b"1700000000000,012,Pay,true,",
        b"1700000000000,00,Pay,true,",
        b"01700000000000,12,Pay,true,",
        b"1700000000000,1234567890123456789,Pay,true,",
        b'"1700000000000",12,Pay,true,',
        b"1700000000000,12,timeStamp,true,elapsed",
        COLUMNS.encode(),
        b"\xef\xbb\xbf1700000000000,12,Pay,true,",
    ],
)
def test_such_a_line_is_left_to_our_reader_and_the_others_are_not(line):
    assert ordinary(line) == [False]
    assert ordinary(PLAIN, PLAIN, line, PLAIN) == [True, True, False, True]


def test_a_newline_in_quotes_makes_both_lines_unusual():
    assert ordinary(PLAIN, b'1700000000000,12,Pay,true,"no,\n"', PLAIN) == [True, False, False, True]


def test_the_first_and_the_last_column_may_be_numbers():
    lines = [
        b"3;Pay;1700000000000;true;12",
        b"x;Pay;1700000000000;true;12",
        b"3;Pay;1700000000000;true;12\r",
        b"3;Pay;1700000000000;true;x",
    ]
    columns = "bytes,label,timeStamp,success,elapsed"
    assert ordinary(*lines, columns=columns, delimiter=";") == [True, False, True, False]
