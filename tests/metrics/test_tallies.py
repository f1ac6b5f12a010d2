"""Files of any kind and number into one tally."""

import gzip
import os
import subprocess
import sys

import pytest
import zstandard

from harness.base.errors import UsageError
from harness.base.install import toolchain
from harness.base.install.toolchain import ensure_counter
from harness.jtl import readers
from harness.jtl.inputs import Input, resolve
from harness.jtl.readers import Reader
from harness.metrics import files as tallies
from harness.metrics import large_files
from harness.metrics.files import read_tally
from harness.metrics.window import parse_window
from harness.report.jtls import Counting, summary_of_jtls
from tests.support.commands import command
from tests.support.paths import ROOT

HEADER = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,bytes,allThreads"


def row(start_ms=1_700_000_000_000, elapsed=100, label="Pay", users=3, success="true"):
    return f"{start_ms},{elapsed},{label},200,OK,Users 1-1,{success},10,{users}"


def seconds(count, users=3, first_s=1_700_000_000):
    """A row that ends in each of so many seconds."""
    return [row((first_s + second) * 1000, users=users) for second in range(count)]


def write(path, *lines, header=HEADER):
    path.write_text("\n".join([header, *lines] if header else lines) + "\n")
    return path


def run(*arguments, stdin=b""):
    return subprocess.run(
        [sys.executable, ROOT / "aggregate.py", "table", *arguments], input=stdin, capture_output=True, timeout=60
    )


def test_users_and_samples_of_two_generators_add_up(tmp_path):
    first = write(tmp_path / "a.jtl", *seconds(20, users=3))
    second = write(tmp_path / "b.jtl", *seconds(20, users=4))
    summary = summary_of_jtls(resolve([str(first), str(second)]))
    assert summary.groups[0].total.sample_count == 40
    assert set(summary.timeline.active_users) == {7}
    assert summary.littles_law is None  # nobody knows for how long they paused


def test_with_several_files_a_dropped_row_names_its_file(tmp_path):
    first = write(tmp_path / "a.jtl", row())
    second = write(tmp_path / "b.jtl", row(elapsed=101), "torn")
    tally = read_tally(resolve([str(first), str(second)]))
    assert tally.dropped.first == [(3, f"1 fields where the header has 9 ({second})")]


def test_strict_turns_a_dropped_row_into_an_error_that_names_its_line(tmp_path):
    path = write(tmp_path / "a.jtl", row(), "torn", row())
    assert summary_of_jtls(resolve([str(path)])).dropped_count == 1
    with pytest.raises(UsageError, match=r"a\.jtl: 1 record cannot be used \(line 3: 1 fields"):
        summary_of_jtls(resolve([str(path)]), Counting(strict=True))


@pytest.mark.real
def test_time_stamps_in_seconds_are_refused_with_what_was_read(tmp_path):
    path = write(tmp_path / "a.jtl", *(row(1_764_000_000 + second) for second in range(20)))
    found = run(path)
    assert (found.returncode, found.stdout) == (2, b"")
    assert found.stderr.decode() == (
        f"aggregate.py: {path.name}: the time stamps are of 1970-01-21 (the first is 1764000000): JMeter writes "
        "milliseconds, and these are probably seconds; multiply the column timeStamp by 1000\n"
    )


@pytest.mark.parametrize("start_ms", [0, 999_999_000, 1_764_000_000_000])
def test_time_stamps_that_count_milliseconds_from_any_time_are_read(start_ms, tmp_path):
    path = write(tmp_path / "a.jtl", *(row(start_ms + 1000 * second) for second in range(20)))
    assert summary_of_jtls(resolve([str(path)])).groups[0].total.sample_count == 20


def test_one_row_with_a_time_stamp_in_seconds_does_not_refuse_the_others(tmp_path):
    path = write(tmp_path / "a.jtl", row(1_764_000_000), *seconds(20))
    summary = summary_of_jtls(resolve([str(path)]))
    assert summary.groups[0].total.sample_count == 20
    assert "1 of 21 rows of the JTL has an impossible time stamp" in str(summary.account)


def test_given_columns_read_a_file_without_a_header(tmp_path):
    path = write(tmp_path / "a.jtl", "true;Pay;100;1700000000000", header="")
    summary = summary_of_jtls(resolve([str(path)]), Counting(columns=("success", "label", "elapsed", "timeStamp")))
    assert (summary.groups[0].total.sample_count, summary.groups[0].total.average_ms) == (1, 100.0)


@pytest.mark.real
@pytest.mark.parametrize("packed", [gzip.compress, zstandard.ZstdCompressor().compress, bytes])
def test_a_large_file_gives_the_same_result_in_any_compression(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(tallies, "LARGE_BYTES", 1000)  # so that a file of some rows goes the way of a large one
    path = write(tmp_path / "a.jtl", *seconds(60), "torn", *seconds(60, first_s=1_700_000_060))
    plain = read_tally([Input("a", path)])
    path.write_bytes(packed(path.read_bytes()))
    tally = read_tally([Input("a", path)])
    assert tally.labels == plain.labels
    assert tally.requests == plain.requests
    assert tally.dropped.first == [(62, "1 fields where the header has 9")]


def test_without_a_jdk_the_plain_reader_is_used(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jtl", *seconds(60))
    counted = read_tally([Input("a", path)])
    monkeypatch.setattr(tallies, "LARGE_BYTES", 1000)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    tally = read_tally([Input("a", path)])
    assert (tally.labels, tally.requests) == (counted.labels, counted.requests)


def test_without_a_writable_build_folder_the_plain_reader_is_used(tmp_path, monkeypatch, capsys):
    path = write(tmp_path / "a.jtl", *seconds(60))
    counted = read_tally([Input("a", path)])
    monkeypatch.setattr(tallies, "LARGE_BYTES", 1000)
    (tmp_path / "build").write_text("a file: nothing can be put into it")
    monkeypatch.setattr(toolchain, "BUILD", tmp_path / "build")
    tally = read_tally([Input("a", path)])
    assert (tally.labels, tally.requests) == (counted.labels, counted.requests)
    assert "without the counter for large JTLs, which takes longer: " in capsys.readouterr().err


def test_when_the_counter_fails_the_plain_reader_takes_over_and_says_why(tmp_path, monkeypatch, capsys):
    ensure_counter()  # while there is a JDK still: classes that are not there would be another reason
    path = write(tmp_path / "a.jtl", *seconds(60), "torn")
    expected = read_tally([Input("a", path)])
    monkeypatch.setattr(tallies, "LARGE_BYTES", 1000)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\nexit 3\n")
    java.chmod(0o755)
    for name, data in (("a.jtl", path.read_bytes()), ("a.jtl.gz", gzip.compress(path.read_bytes()))):
        (tmp_path / name).write_bytes(data)
        tally = read_tally([Input(name, tmp_path / name)])
        assert (tally.labels, tally.requests) == (expected.labels, expected.requests)
        assert tally.dropped.first == [(62, "1 fields where the header has 9")]
        assert "too little memory for so many labels" in capsys.readouterr().err


@pytest.mark.real
def test_a_window_of_a_truncated_archive_from_standard_input_warns():
    data = gzip.compress("\n".join([HEADER, *seconds(3000)]).encode())
    done = run("-", "--window", "0..10", "--strict", stdin=data[: len(data) // 2])
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"standard input" in done.stderr
    assert b"the gzip data is cut off" in done.stderr


@pytest.mark.real
def test_sigterm_removes_a_temporary_unpacked_file(tmp_path):
    program = [sys.executable, ROOT / "aggregate.py", "table", "-"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(program, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    process.stdin.write((HEADER + "\n").encode() + (row() + "\n").encode() * 200_000)
    process.stdin.flush()  # all but a pipe's length has been read: the file is there
    assert [path.name[:4] for path in tmp_path.iterdir()] == ["jtl-"]
    process.terminate()
    assert process.wait(20) == 130
    assert process.stderr.read().count(b"\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_truncated_archive_counts_up_to_its_end_and_warns(tmp_path):
    path = tmp_path / "a.jtl.gz"
    data = gzip.compress("\n".join([HEADER, *seconds(3000)]).encode())
    path.write_bytes(data[: len(data) // 2])
    tally = read_tally([Input("a", path)])
    assert 100 < sum(label.sample_count for group in tally.groups() for label in group.labels) < 3000
    assert any(line == 0 and "gzip" in reason for line, reason in tally.dropped.first)


@pytest.mark.real
def test_a_window_of_standard_input_needs_no_second_pipe(tmp_path):
    data = write(tmp_path / "a.jtl", *seconds(60)).read_bytes()
    done = run("-", "--window", "10..20", "--only", "TOTAL", stdin=data)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"| TOTAL | 10 |" in done.stdout


def test_a_window_excludes_samples_that_end_outside_of_it(tmp_path):
    path = write(tmp_path / "a.jtl", *seconds(60))
    summary = summary_of_jtls(resolve([str(path)]), Counting(window=parse_window("10..20")))
    assert summary.groups[0].total.sample_count == 10
    assert summary.whole.total.sample_count == 60


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.jtl", b"", "empty"),
        ("header.jtl", HEADER.encode() + b"\n", "no samples"),
        ("plan.jmx", b'<?xml version="1.0"?>\n<jmeterTestPlan version="1.2">', "a JMeter plan"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8, "a PNG image"),
        ("notes.txt", b"hello world\n", "not a CSV JTL: it begins with 'hello world'"),
    ],
)
def test_a_file_that_is_not_a_jtl_ends_with_code_2_and_one_line(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    done = command("aggregate.py", "table", path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert message in done.stderr


def test_a_file_that_grows_while_it_is_read_is_an_error(tmp_path, monkeypatch):
    path = write(tmp_path / "a.jtl", *seconds(60))

    def growing(*arguments):
        with path.open("a") as more:
            more.write(row() + "\n")
        return readers.CSV.read(*arguments)

    monkeypatch.setattr(readers, "READERS", (readers.XML, Reader("csv", lambda _: True, growing)))
    with pytest.raises(UsageError, match="the run is still in progress"):
        read_tally([Input("a.jtl", path)])


@pytest.mark.parametrize(
    ("harm", "message"),
    [(lambda path: path.unlink(), "was removed"), (lambda path: os.truncate(path, 2000), "was truncated")],
    ids=["removed", "cut off"],
)
def test_a_large_file_removed_while_it_is_counted_is_one_clear_error(harm, message, tmp_path, monkeypatch, capfd):
    path = write(tmp_path / "a.jtl", *seconds(60))
    monkeypatch.setattr(tallies, "LARGE_BYTES", 1000)

    def harmed(*arguments):
        harm(path)
        return original(*arguments)

    original = large_files.count_file
    monkeypatch.setattr(large_files, "count_file", harmed)
    with pytest.raises(UsageError, match=f"a.jtl: {message} while it was read"):
        read_tally([Input("a.jtl", path)])
    assert capfd.readouterr() == ("", "")
