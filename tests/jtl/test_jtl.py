import csv
import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.jtl import csv as csv_reader
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped, generator_of
from harness.metrics.files import read_samples

HEADER = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    "grpThreads,allThreads,Latency,Connect"
)


CELLS = {
    "start": "1000", "elapsed": "12", "label": "Pay", "code": "201", "message": "Created", "thread": "Users 1-1",
    "success": "true", "failure": "",
}  # fmt: skip


def row(**changes):
    """Return a row; `changes` are cells of CELLS by name."""
    assert changes.keys() <= CELLS.keys()
    return ",".join([*{**CELLS, **changes}.values(), "300,120,1,5,10,1"])


def read(text: str | bytes):
    dropped = Dropped()
    data = text if isinstance(text, bytes) else text.encode()
    return list(parse(io.BytesIO(data), "samples.jtl", dropped)), dropped


def test_a_row_becomes_a_sample_with_its_units():
    (sample,), dropped = read(f"{HEADER}\n{row()}\n")
    assert (sample.start_ms, sample.elapsed_ms, sample.end_ms, sample.label, sample.code) == (
        1000,
        12,
        1012,
        "Pay",
        "201",
    )
    assert (sample.success, sample.received_bytes, sample.sent_bytes, sample.all_threads) == (True, 300, 120, 5)
    assert dropped.count == 0


def test_a_quoted_message_may_contain_commas_quotes_and_newlines():
    samples, dropped = read(
        f"{HEADER}\n{row(failure=chr(34) + 'expected 201, got:' + chr(10) + '402, no' + chr(34))}\n{row()}\n"
    )
    assert [sample.failure for sample in samples] == ["expected 201, got:\n402, no", ""]
    assert dropped.count == 0


def test_doubled_quotes_are_one_quote():
    samples, _ = read(f"{HEADER}\n{row(failure=chr(34) + 'say ' + chr(34) * 2 + 'no' + chr(34) * 3)}\n")
    assert samples[0].failure == 'say "no"'


def test_a_torn_last_row_is_dropped_and_named():
    samples, dropped = read(f"{HEADER}\n{row()}\n1002,13,Pa")
    assert len(samples) == 1
    assert (dropped.count, dropped.first[0][0]) == (1, 3)


def test_a_quote_torn_at_the_end_loses_one_record():
    samples, dropped = read(f"{HEADER}\n{row()}\n{row(success='false', failure=chr(34) + 'expected')[:-25]}")
    assert (len(samples), dropped.count) == (1, 1)


def test_a_quote_torn_in_the_middle_loses_one_record_and_not_the_rest():
    torn = '1001,13,Pay,500,x,Users 1-1,false,"broken off'
    good = [row(failure='"a, ""b"""'), row(), row()]
    samples, dropped = read("\n".join([HEADER, row(), torn, HEADER, *good]) + "\n")
    assert (len(samples), dropped.count) == (4, 1)


def test_a_second_header_is_not_a_sample_and_redefines_the_columns():
    short = "timeStamp,elapsed,label,responseCode,threadName,success"
    samples, dropped = read(f"{HEADER}\n{row()}\n{short}\n2000,7,Pay,200,Users 1-1,true\n")
    assert [sample.elapsed_ms for sample in samples] == [12, 7]
    assert (samples[1].received_bytes, dropped.count) == (None, 0)


@pytest.mark.parametrize("spelled", [HEADER.lower(), HEADER.upper(), HEADER.replace(",", " , "), HEADER.title()])
def test_a_header_in_other_capitals_or_with_blanks_is_read_as_jmeters(spelled):
    assert read(f"{spelled}\n{row()}\n") == read(f"{HEADER}\n{row()}\n")


def test_a_column_whose_exact_name_is_there_too_stays_another_one():
    samples, _ = read(f"{HEADER},Elapsed,threadname\n{row()},99,other\n")
    assert [(one.elapsed_ms, one.thread_name) for one in samples] == [(12, "Users 1-1")]


def test_values_with_blanks_beside_the_delimiters_are_refused_as_such():
    with pytest.raises(UsageError, match="2: blanks are beside the delimiters"):
        read(f"{HEADER}\n{row()}\n".replace(",", ", "))


def test_a_row_with_a_bad_number_is_dropped_with_the_reason():
    samples, dropped = read(f"{HEADER}\n{row(elapsed='abc')}\n{row()}\n")
    assert len(samples) == 1
    assert dropped.first == [(2, "elapsed 'abc' is not a whole number")]


@pytest.mark.parametrize("delimiter", [",", "|", ";", "\t"])
def test_every_delimiter_of_jmeter_is_detected(delimiter):
    samples, dropped = read(f"{HEADER}\n{row()}\n".replace(",", delimiter))
    assert (len(samples), dropped.count) == (1, 0)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing():
    samples, dropped = read(b"\xef\xbb\xbf" + f"{HEADER}\r\n{row()}\r\n".encode())
    assert (len(samples), samples[0].all_threads, dropped.count) == (1, 5, 0)


def test_bytes_that_are_not_utf8_lose_no_row():
    samples, dropped = read(f"{HEADER}\n{row(label='caf@')}\n".encode().replace(b"@", b"\xe9"))
    assert (len(samples), dropped.count) == (1, 0)


def test_the_thirteen_fields_of_2015_are_read_without_a_header():
    samples, dropped = read("1422891000000|30012|Authorize Payment|202|Thread Group 1-1|true|210|50|50|30011|1|0|abc\n")
    assert (samples[0].label, samples[0].code, samples[0].elapsed_ms, dropped.count) == (
        "Authorize Payment",
        "202",
        30012,
        0,
    )


def test_headers_of_concatenated_files_may_differ_in_order_and_begin_with_a_byte_order_mark():
    other = "\ufeffelapsed,timeStamp,label,success,responseCode"
    samples, dropped = read(f"{HEADER}\n{row()}\n{other}\n9,3000,Pay,true,200\n")
    assert [(sample.start_ms, sample.elapsed_ms) for sample in samples] == [(1000, 12), (3000, 9)]
    assert dropped.count == 0


def test_a_file_with_the_minimum_columns_is_read():
    samples, dropped = read("timeStamp,elapsed,label,success\n1,2,Pay,false\n")
    assert (samples[0].success, samples[0].code, samples[0].thread_name, dropped.count) == (False, "", "", 0)


def test_a_block_of_nul_bytes_is_counted_and_the_row_after_it_kept():
    samples, dropped = read(
        f"{HEADER}\n{row()}\n1001,13,Pa".encode() + b"\0" * 4096 + f"{row(elapsed='14')}\n".encode()
    )
    assert [sample.elapsed_ms for sample in samples] == [12, 14]
    assert dropped.first == [(3, "NUL bytes: data was lost here")]


@pytest.mark.parametrize("elapsed", ["-5", "1700000000000"])
def test_an_impossible_elapsed_time_is_dropped_and_counted(elapsed):
    samples, dropped = read(f"{HEADER}\n{row(elapsed=elapsed)}\n{row()}\n")
    assert [sample.elapsed_ms for sample in samples] == [12]
    assert dropped.first == [(2, f"elapsed {elapsed} ms is impossible")]


@pytest.mark.parametrize("text", ["hello world\n", "a,b,c\n1,2,3\n"])
def test_a_file_that_is_not_a_csv_jtl_is_refused(text):
    with pytest.raises(UsageError, match=r"samples\.jtl:1: not a CSV JTL"):
        read(text)


def test_a_header_without_a_needed_column_is_refused_by_name():
    with pytest.raises(UsageError, match="no column label, success"):
        read("timeStamp,elapsed,threadName\n1,2,t\n")


def test_a_missing_file_is_one_clear_error(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot be read"):
        list(read_samples(tmp_path / "none.jtl", Dropped()))


field = st.text(alphabet=st.sampled_from('ab,"\n\r |é'), max_size=8)


@given(st.lists(st.tuples(field, field), min_size=1, max_size=20))
def test_everything_the_csv_module_writes_is_read_back(pairs):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER.split(","))
    for label, failure in pairs:
        writer.writerow(
            ["1", "2", f"x{label}x", "200", "OK", "Users 1-1", "false", f"x{failure}x", "1", "1", "1", "1", "1", "1"]
        )
    samples, dropped = read(out.getvalue())
    assert [(sample.label, sample.failure) for sample in samples] == [
        (f"x{label}x", f"x{failure}x") for label, failure in pairs
    ]
    assert dropped.count == 0


def test_a_torn_quote_closed_by_a_later_message_loses_no_good_row():
    torn = row(failure='"tor').split("tor")[0] + "tor"
    begins_with_a_newline = row(failure='"\nexpected 201"', success="false")
    samples, dropped = read(f"{HEADER}\n{row()}\n{torn}\n{row()}\n{row()}\n{begins_with_a_newline}\n")
    assert len(samples) == 4
    assert dropped.first == [(3, "8 fields where the header has 14")]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ("1000,5,a,true,2,3", "ErrorCount 3 of SampleCount 2 is impossible"),
        ("1000,5,a,true,2,-1", "ErrorCount -1 of SampleCount 2 is impossible"),
        ("-7,5,a,true,1,0", "timeStamp '-7' is impossible"),
        ("999999999999999,5,a,true,1,0", "timeStamp '999999999999999' is impossible"),
        (f"1000,5,a,true,{'9' * 400},0", f"SampleCount '{'9' * 40}…' is beyond JMeter's range"),
        (f"1000,{'x' * 5000},a,true,1,0", f"elapsed '{'x' * 40}…' is not a whole number"),
    ],
)
def test_impossible_numbers_are_dropped_and_quoted_in_short(values, reason):
    samples, dropped = read(f"timeStamp,elapsed,label,success,SampleCount,ErrorCount\n{values}\n")
    assert samples == []
    assert dropped.first == [(2, reason)]


@pytest.mark.parametrize(
    ("thread_name", "generator"),
    [
        ("10.0.0.7:1099-Users 1-1", "10.0.0.7:1099"),
        ("10.0.0.7-Users 1-1", "10.0.0.7"),
        ("gen-1.example.org:65535-setUp Thread Group 1-12", "gen-1.example.org:65535"),
        ("[::1]:1099-Users 1-1", "[::1]:1099"),
        ("gen:1099- 1-1", "gen:1099"),
        ("gen:1099-two\nlines 1-1", "gen:1099"),
    ],
)
def test_a_generator_is_detected_by_the_address_before_the_thread_group(thread_name, generator):
    assert generator_of(thread_name) == generator


@pytest.mark.parametrize(
    "thread_name",
    [
        "Users 1-1",
        "",
        "gen-Users 1-1",
        "a:b-Users 1-1",
        "gen:0-Users 1-1",
        "gen:65536-Users 1-1",
        "gen:01099-Users 1-1",
        "gen:1099-Users",
        "gen:1099-1-1",
        "gen:1099 Users 1-1",
        "my gen:1099-Users 1-1",
        "10.0.0-Users 1-1",
        "::1:1099-Users 1-1",
        "gen:\uff11\uff10-Users 1-1",
    ],
)
def test_a_thread_group_that_looks_like_an_address_is_not_a_generator(thread_name):
    assert generator_of(thread_name) == ""


NUMBERS = ("timeStamp", "elapsed", "bytes", "sentBytes", "allThreads", "Latency", "Connect")


@pytest.mark.parametrize(
    "text", ["1_000", "+7", " 7", "7 ", "７", "１２", "0x7", "7.0", "1e3", "--7", "", "٣", "-0", "00", "007"]
)
@pytest.mark.parametrize("column", NUMBERS)
def test_only_numbers_in_jmeters_notation_are_accepted(column, text):
    fields = row().split(",")
    fields[HEADER.split(",").index(column)] = text
    samples, dropped = read(f"{HEADER}\n{row()}\n{','.join(fields)}\n")
    assert (len(samples), dropped.count) == (1, 1)
    assert column in dropped.first_text


@pytest.mark.parametrize("torn", ["timeStamp,elapsed,", "timeStamp,elapsed,label,respo", f"timeStamp,elapsed,{HEADER}"])
def test_a_header_line_that_is_torn_within_a_file_is_one_bad_row(torn):
    samples, dropped = read(f"{HEADER}\n{row()}\n{torn}\n{row()}\n{row()}\n")
    assert (len(samples), dropped.count) == (3, 1)
    assert dropped.first == [(3, f"a torn header line: {torn.count(',') + 1} fields where the header has 14")]


def test_a_header_line_without_a_needed_column_is_an_error():
    for text in ("timeStamp,elapsed,label\n", f"{HEADER}\n{row()}\n{HEADER.replace('success', 'ok')}\n"):
        with pytest.raises(UsageError, match="no column success"):
            read(text)


class OneLine(io.RawIOBase):
    """A header, a row, and then a line of so many bytes without its end."""

    def __init__(self, size_bytes):
        self._before, self._left_bytes = f"{HEADER}\n{row()}\n".encode(), size_bytes

    def readable(self):
        return True

    def readinto(self, buffer):
        data = self._before[: len(buffer)] or b"x" * min(len(buffer), self._left_bytes)
        if self._before:
            self._before = self._before[len(data) :]
        else:
            self._left_bytes -= len(data)
        buffer[: len(data)] = data
        return len(data)


@pytest.mark.real
def test_a_line_of_any_length_is_one_dropped_record_and_costs_little_memory():
    tracemalloc.start()
    dropped = Dropped()
    samples = list(parse(io.BufferedReader(OneLine(300_000_000)), "samples.jtl", dropped))
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(samples), dropped.count, dropped.first) == (1, 1, [(3, "a line longer than 16 MB")])
    assert peak_bytes < 80_000_000


@pytest.mark.parametrize("begin", ["", f'{row()},"', '"'])
def test_rows_after_a_long_line_are_read_and_their_lines_are_numbered(begin, monkeypatch):
    monkeypatch.setattr(csv_reader, "LINE_BYTES_MAX", 1000)
    long_line = begin + "x" * 3500
    samples, dropped = read(f"{HEADER}\n{row()}\n{long_line}\n{row()}\n{row()}\ntorn\n{row()}\n")
    assert len(samples) == 4
    assert [line for line, _ in dropped.first] == [3, 6]


def test_a_quote_that_stays_open_looks_no_further_than_a_long_line(monkeypatch):
    monkeypatch.setattr(csv_reader, "LINE_BYTES_MAX", 1000)
    samples, dropped = read(f"{HEADER}\n{row(failure=chr(34))}\n" + f"{row()}\n" * 100)
    assert (len(samples), dropped.count) == (100, 1)


@pytest.mark.parametrize("column", NUMBERS)
def test_a_negative_size_or_time_is_dropped_and_named(column):
    fields = row().split(",")
    fields[HEADER.split(",").index(column)] = "-5"
    samples, dropped = read(f"{HEADER}\n{row()}\n{','.join(fields)}\n")
    assert (len(samples), dropped.count) == (1, 1)
    assert f"{column} " in dropped.first_text
    assert dropped.first_text.endswith("is impossible")


def test_labels_that_differ_only_in_bytes_that_are_not_utf8_stay_distinct():
    first, second = (f"{HEADER}\n{row(label='Gr?e')}\n".encode().replace(b"?", byte) for byte in (b"\xf6", b"\xe4"))
    samples, dropped = read(first + second)
    assert ([sample.label for sample in samples], dropped.count) == (["Gr\\xf6e", "Gr\\xe4e"], 0)


def test_a_date_with_non_ascii_digits_is_refused():
    samples, dropped = read(f"{HEADER}\n{row(start='２026/01/01 00:00:00')}\n")
    assert (samples, dropped.count) == ([], 1)


def test_a_record_whose_texts_are_column_names_is_no_header_line():
    lines = [
        b"timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
        b"allThreads,Latency,Connect\n",
        b"1700000000000,5,timeStamp,200,elapsed,Users 1-1,true,,1,1,1,1,1\n",
    ]
    dropped = Dropped()
    assert [sample.label for sample in parse(io.BytesIO(b"".join(lines)), "samples.jtl", dropped)] == ["timeStamp"]
    assert dropped.header_lines == []
