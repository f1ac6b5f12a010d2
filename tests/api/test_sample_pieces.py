"""Whatever is in a JTL, the quick reader returns what our own reader does, row by row."""

import gzip
import io
from pathlib import Path

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.api import UsageError, read_jtl, sample_pieces
from harness.api.sample_pieces import CsvReader, of_samples
from harness.jtl import csv
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,Latency,Connect"
)
OTHER_HEADERS = [
    "label,timeStamp,elapsed,success",
    "timeStamp,elapsed,label,success,bytes,SampleCount,ErrorCount",
    "elapsed,success,URL,URL,label,trace_id,timeStamp",
    "timeStamp,elapsed,label",  # lacks a column: an error
]
ROW = "170000{n:04}000,{n},Pay,200,OK,Users 1-{n},true,,10,20,1,3,9,1"


def own(data: bytes, columns=None) -> list[tuple]:
    return rows_of(of_samples(list(parse(io.BytesIO(data), "samples.jtl", Dropped(), columns))))


def quick(data: bytes, line_limit: int, columns=None) -> list[tuple]:
    reader, found = CsvReader(io.BufferedReader(io.BytesIO(data), 16), "samples.jtl", columns), []
    while (piece := reader.read(line_limit)) is not None:
        found += rows_of(piece)
    return found


def rows_of(frame: pandas.DataFrame) -> list[tuple]:
    named = frame.drop(columns="line").astype(object)
    named = named[sorted(named)]
    rows = named.itertuples(index=False)
    return [tuple(zip(named, (None if value is pandas.NA else value for value in row), strict=True)) for row in rows]


def outcome(read, *arguments):
    try:
        return read(*arguments)
    except UsageError as error:
        return str(error)


@pytest.fixture(autouse=True, scope="module")
def tiny_parts():
    """Let pandas read two lines, and read few bytes at a time, so that every border is met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_pieces, "_FEW_LINES", 1)
        patch.setattr(sample_pieces, "_BLOCK_BYTES", 100)
        patch.setattr(sample_pieces, "HEAD_BYTES", 400)
        patch.setattr(csv, "HEAD_BYTES", 400)
        yield


# What a field, or a line, can be in a file that JMeter, a spreadsheet or a full disk has written.
FIELDS = st.sampled_from(
    [
        "Pay", "", '"Pay, now"', '"two\nlines"', '"two\r\nlines"', '"""x"""', '""', '"', 'a"b', '"a"b', " Pay",
        "true", "TRUE", "tRue", "1", "-1", "-0", "+1", " 1", "1 ", "1x1", "1_0", "1.0", "007", "٣", "NA", "nan",
        "0", "1700000000", "1430000000000", "4430000000000", "999999999999999999", "9999999999999999999",
        "timeStamp", "elapsed",
        "\0", "\ufeff", "\r", "\t", "ü", "\udcff", "\udce2\udc82", "#", "\\",
    ]
)  # fmt: skip
ROWS = st.builds(lambda n: ROW.format(n=n), st.integers(0, 3))
CHANGED = st.builds(
    lambda row, at, field: ",".join([*row.split(",")[:at], field, *row.split(",")[at + 1 :]]),
    ROWS,
    st.integers(0, 13),
    FIELDS,
)
SHORT = st.sampled_from(
    [
        "Pay,1700000000001,7,true", "1700000000001,7,Pay,true,10,1,0", "1700000000001,7,Pay,false,10,4,3",
        "1700000000001,7,Pay,true,10,4,5", "7,true,a,b,Pay,4bf9,1700000000001", '7,true,"a",b,"Pay,",,1700000000001',
    ]
)  # fmt: skip
LINES = st.one_of(ROWS, ROWS, CHANGED, SHORT, st.sampled_from([HEADER, *OTHER_HEADERS, "", "\r", '"', ",", ROW[:40]]))


@given(
    st.sampled_from([HEADER, HEADER, HEADER, *OTHER_HEADERS[:3], None]),
    st.lists(LINES, max_size=8),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.integers(0, 3),
    st.integers(1, 9),
)
@pytest.mark.real
def test_both_readers_return_the_same_rows_or_the_same_error(header, lines, newline, torn_bytes, line_limit):
    text = newline.join([*([header] if header else []), *lines]) + newline
    data = text.encode("utf-8", errors="surrogateescape")[: -torn_bytes or None]
    assert outcome(quick, data, line_limit) == outcome(own, data)


@pytest.mark.parametrize("field", ["1.0", "10.00", "1e3", "1e2", "1E2", "1_0", "0x1", ".5", "5."])
@pytest.mark.parametrize("at", [0, 1, 8, 9, 11, 12, 13])
def test_what_pandas_takes_for_a_whole_number_is_none(at, field):
    fields = ROW.format(n=1).split(",")
    changed = ",".join([*fields[:at], field, *fields[at + 1 :]])
    data = "\n".join([HEADER, ROW.format(n=0), changed, ROW.format(n=2), ""]).encode()
    assert outcome(quick, data, 9) == outcome(own, data)


@pytest.mark.parametrize("delimiter", ["|", ";", "\t"])
def test_other_delimiters_are_read(delimiter):
    data = "\n".join([HEADER, ROW.format(n=1), ROW.format(n=2)]).replace(",", delimiter).encode()
    assert quick(data, 10) == own(data)
    assert len(own(data)) == 2


@pytest.mark.parametrize("columns", [HEADER.split(","), None])
def test_a_file_without_a_header_line_is_read(columns):
    row = ROW if columns else ROW.replace("true,,", "text,true,,").replace(",9,1", ",http://x/,9,0,1")
    data = "\n".join(row.format(n=n) for n in range(5)).encode()
    assert quick(data, 2, columns) == own(data, columns)
    assert len(own(data, columns)) == 5


@pytest.mark.real
def test_only_the_lines_that_are_not_ordinary_are_read_one_by_one(monkeypatch):
    lines = [ROW.format(n=n) for n in range(1000)]
    lines[300] = lines[300].replace("true,", 'false,"no\nmore"')
    lines[600:600] = ["torn", HEADER]
    lines[900] = lines[900].replace(",10,", ",1x1,")  # ordinary at first sight
    data = "\n".join([HEADER, *lines]).encode()
    expected = own(data)
    read = []

    def counted(samples, numbers=None):
        read.append(len(samples))
        return of_samples(samples, numbers)

    monkeypatch.setattr(sample_pieces, "of_samples", counted)
    assert quick(data, 2000) == expected
    assert len(expected) == 999
    assert sum(read) <= 4


@pytest.mark.real
def test_packed_files_and_chunks_have_the_same_rows(tmp_path):
    lines = [ROW.format(n=n) for n in range(40)]
    lines[7] = lines[7].replace("true,", 'false,"no\nmore"')
    data = "\n".join([HEADER, *lines]).encode()
    paths = [tmp_path / "one.jtl", tmp_path / "two.jtl.gz"]
    paths[0].write_bytes(data)
    paths[1].write_bytes(gzip.compress(data.replace(b",9,1", b",8,1").replace(b"170000", b"170001")))
    whole = read_jtl(*paths).samples()
    assert [*whole.file.cat.categories] == ["one.jtl", "two.jtl.gz"]
    assert len(whole) == 80
    for chunk_rows in (1, 7, 40, 79):
        chunks = [*read_jtl(*paths).samples(chunk_rows=chunk_rows)]
        assert [len(chunk) for chunk in chunks[:-1]] == [chunk_rows] * (len(chunks) - 1)
        together = pandas.concat([chunk.astype(object) for chunk in chunks], ignore_index=True)
        assert together.equals(whole.astype(object))


def test_the_categories_of_a_chunk_are_its_texts_in_order_of_appearance(tmp_path):
    labels = ["Pay", "Cart", "Pay", "About"]
    path = Path(tmp_path / "samples.jtl")
    path.write_text("\n".join([HEADER, *(ROW.format(n=1).replace("Pay", label) for label in labels)]))
    first, second = read_jtl(path).samples(chunk_rows=3)
    assert [*first.label.cat.categories] == ["Pay", "Cart"]
    assert [*second.label.cat.categories] == ["About"]
