"""The quick reader of plain rows reads what `parse` reads, or leaves the whole chunk to it."""

import io

from hypothesis import given
from hypothesis import strategies as st

from harness.jtl.csv import PlainRows, parse
from harness.jtl.sample import Dropped

HEADER = (
    b"timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    b"grpThreads,allThreads,Latency,Connect\n"
)
ROW = "{start},{elapsed},{label},200,OK,Users 1-1,{success},{failure},10,20,1,{users},9,1"


def row(start="1000000", elapsed="100", label="Pay", success="true", failure="", users="3"):
    return ROW.format(start=start, elapsed=elapsed, label=label, success=success, failure=failure, users=users)


def parsed(data: bytes):
    return list(parse(io.BytesIO(HEADER + data), "samples.jtl", Dropped()))


def quick(data: bytes, header: bytes = HEADER):
    return PlainRows(header, "samples.jtl").samples(data)


def test_plain_rows_are_read():
    data = f"{row()}\n{row(elapsed='7', label='Zurück', success='false', failure='no')}\n".encode()
    assert quick(data) == parsed(data)
    assert [one.label for one in quick(data)] == ["Pay", "Zurück"]


def test_bytes_that_are_not_utf_8_are_read_as_by_parse():
    data = row(label="M\xfcller").encode("latin-1") + b"\n"
    assert quick(data) == parsed(data)
    assert quick(data)[0].label == "M\\xfcller"


def test_a_file_without_a_usual_header_is_left_to_parse():
    data = f"{row()}\n".encode()
    assert quick(data, data) is None
    assert quick(data, b"timeStamp,elapsed,label,success\n") is None
    assert quick(data, HEADER.replace(b"\n", b"\r\n")) is None


ODD = st.sampled_from(
    ["", "\n", "\r", "\0", '"', '""', "\ufeff", ",", "x", "-1", "٣", "1_0", "99999999999999999999", "TRUE"]
)
ROWS = st.builds(
    row,
    start=st.one_of(st.just("1000000"), ODD),
    elapsed=st.one_of(st.integers(0, 10**9).map(str), ODD),
    label=st.one_of(st.just("Pay"), ODD),
    success=st.one_of(st.just("false"), ODD),
    failure=st.one_of(st.just(""), ODD),
    users=st.one_of(st.just("1"), ODD),
)


@given(st.lists(st.one_of(st.just(row()), ROWS, st.just(""), st.just(HEADER.decode().strip())), min_size=1, max_size=4))
def test_whatever_the_rows_are_nothing_is_read_in_another_way(rows):
    data = "".join(f"{one}\n" for one in rows).encode()
    found = quick(data)
    assert found is None or found == parsed(data)
