"""The reader of a growing JTL reads what `parse` reads of the whole file, wherever the chunks end."""

import io
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.jtl import csv as csv_reader
from harness.jtl.csv import GrowingCsv, parse
from harness.jtl.sample import TRACE_COLUMN, Dropped

COLUMNS = [
    "timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "success", "failureMessage",
    "bytes", "sentBytes", "grpThreads", "allThreads", "Latency", "Connect",
]  # fmt: skip
CELLS = {
    "timeStamp": "1000000", "elapsed": "100", "label": "Pay", "responseCode": "200", "responseMessage": "OK",
    "threadName": "Users 1-1", "success": "true", "failureMessage": "", "bytes": "10", "sentBytes": "20",
    "grpThreads": "1", "allThreads": "3", "Latency": "9", "Connect": "1", TRACE_COLUMN: "0a" * 16, "URL": "/",
    "SampleCount": "1",
}  # fmt: skip
# JMeter's way for a column of its own, and the names of sample variables, which JMeter quotes; in any order.
LAYOUTS = st.one_of(
    st.just(COLUMNS),
    st.just([*COLUMNS, f'"{TRACE_COLUMN}"']),
    st.permutations([*COLUMNS, TRACE_COLUMN, '"URL"']),
    st.just([*COLUMNS, "SampleCount"]),
    st.just([one for one in COLUMNS if one != "sentBytes"]),
)
ODD = st.sampled_from(
    ["", "\n", "\r", "\0", '"', '""', '"a', 'b"', '"a\nb"', "\ufeff", ",", "x", "-1", "٣", "1_0", "9" * 20, "TRUE"]
)
CHANGES = st.dictionaries(st.sampled_from(sorted(CELLS)), ODD | st.just('"a, b"'), max_size=2)
ENDS = st.sampled_from(["\n", "\r\n"])


def row(columns, changes=None):
    cells = CELLS | (changes or {})
    return ",".join(cells[column.strip('"')] for column in columns)


def whole(data: bytes):
    """Return the samples of a file, or the text of the error."""
    try:
        return list(parse(io.BytesIO(data), "samples.jtl", Dropped()))
    except UsageError as error:
        return str(error)


def grown(data: bytes, sizes=()):
    """Return the samples of a file that is read in chunks of so many lines, or the text of the error."""
    reader, samples, lines = GrowingCsv("samples.jtl"), [], io.BytesIO(data).readlines()
    try:
        for size in [*sizes, len(lines)]:
            chunk, lines = b"".join(lines[:size]), lines[size:]
            samples += reader.samples(chunk) if chunk else []
        return [*samples, *reader.rest()]
    except UsageError as error:
        return str(error)


def text(columns, *rows):
    return "".join(f"{one}\n" for one in (",".join(columns), *rows)).encode()


def test_plain_rows_are_read():
    data = text(COLUMNS, row(COLUMNS), row(COLUMNS, {"elapsed": "7", "label": "Zurück", "success": "false"}))
    assert grown(data) == whole(data)
    assert [one.label for one in grown(data)] == ["Pay", "Zurück"]


def test_bytes_that_are_not_utf_8_are_read_as_by_parse():
    data = text(COLUMNS) + row(COLUMNS, {"label": "M\xfcller"}).encode("latin-1") + b"\n"
    assert grown(data) == whole(data)
    assert grown(data)[0].label == "M\\xfcller"


def test_a_later_header_line_sets_the_columns_of_all_rows_after_it():
    other = [*reversed(COLUMNS)]
    data = text(COLUMNS, row(COLUMNS), ",".join(other), row(other), row(other))
    assert grown(data, [2, 1, 1]) == whole(data)
    assert [one.elapsed_ms for one in grown(data, [2, 1, 1])] == [100, 100, 100]


@pytest.mark.real
@given(LAYOUTS, st.lists(st.one_of(st.just({}), CHANGES), min_size=1, max_size=5), st.data(), ENDS)
def test_whatever_the_rows_and_chunks_are_the_samples_are_those_of_the_whole_file(columns, changes, data, end):
    rows = [row(columns, one) for one in changes]
    rows.insert(data.draw(st.integers(0, len(rows))), data.draw(st.sampled_from(["", ",".join(columns)])))
    header = data.draw(st.sampled_from([[",".join(columns)], []]))
    content = end.join([*header, *rows, ""]).encode()
    sizes = data.draw(st.lists(st.integers(1, 3), max_size=4))
    assert grown(content, sizes) == whole(content)


@pytest.mark.real
@given(LAYOUTS, st.lists(st.one_of(st.just({}), CHANGES), min_size=1, max_size=5), ENDS)
def test_lines_that_are_read_at_once_are_those_of_a_closer_look(columns, changes, end):
    def read():
        dropped = Dropped()
        try:
            return list(parse(io.BytesIO(content), "samples.jtl", dropped)), dropped
        except UsageError as error:
            return str(error)

    content = end.join([",".join(columns), *(row(columns, one) for one in changes), ""]).encode()
    with patch.object(csv_reader, "_plain_fields", return_value=None):
        looked_at = read()
    assert read() == looked_at
