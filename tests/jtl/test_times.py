"""A row whose time stamp is far from those of the file's first rows is named; it is in no span and no rate."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from harness.api import read_jtl
from harness.cli.verbs import main
from harness.jtl.csv import parse
from harness.jtl.sample import Dropped, Sample
from harness.jtl.xml import parse_xml

BEGIN_MS = 1_764_400_000_000
HEADER = "timeStamp,elapsed,label,responseCode,success"
YEAR_MS = 366 * 24 * 3600 * 1000
FAR = {
    0: "timeStamp 0: the sample never started",
    1_764_400_000: "over a year from those of the first rows",
    BEGIN_MS - YEAR_MS - 1_000_000: "over a year from those of the first rows",
    BEGIN_MS + YEAR_MS + 1_000_000: "over a year from those of the first rows",
    -5: "is impossible",
    10**15: "is impossible",
}


def stamps(far: int, count: int = 100) -> list[int]:
    """Each tenth row is far, also the first one."""
    return [BEGIN_MS + 100 * number if number % 10 else far for number in range(count)]


def csv_of(starts: list[int], header: str = f"{HEADER}\n") -> bytes:
    return (header + "".join(f"{start},7,Pay,200,true\n" for start in starts)).encode()


def xml_of(starts: list[int]) -> bytes:
    rows = "".join(f'<sample t="7" ts="{start}" s="true" lb="Pay" rc="200"/>\n' for start in starts)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testResults version="1.2">\n{rows}</testResults>\n'.encode()


def read_csv(data: bytes) -> tuple[list[Sample], Dropped]:
    dropped = Dropped()
    return list(parse(io.BytesIO(data), "x.jtl", dropped)), dropped


def read_xml(data: bytes) -> tuple[list[Sample], Dropped]:
    dropped = Dropped()
    return list(parse_xml(io.BytesIO(data), "x.jtl", dropped)), dropped


@pytest.mark.parametrize("far", FAR)
@pytest.mark.parametrize(("write", "read"), [(csv_of, read_csv), (xml_of, read_xml)])
def test_rows_far_from_the_others_are_dropped_and_named(write, read, far: int) -> None:
    samples, dropped = read(write(stamps(far)))
    assert [sample.start_ms for sample in samples] == [start for start in stamps(far) if start != far]
    assert (dropped.count, dropped.bad_time_count) == (10, 10)
    assert FAR[far] in dropped.first_text


@pytest.mark.parametrize(("write", "read"), [(csv_of, read_csv), (xml_of, read_xml)])
def test_rows_within_a_year_belong_to_a_file(write, read) -> None:
    starts = [BEGIN_MS, BEGIN_MS, BEGIN_MS - YEAR_MS, BEGIN_MS + YEAR_MS]
    samples, dropped = read(write(starts))
    assert ([sample.start_ms for sample in samples], dropped) == (starts, Dropped())


@pytest.mark.parametrize(("write", "read"), [(csv_of, read_csv), (xml_of, read_xml)])
def test_a_file_without_a_real_time_keeps_its_times(write, read) -> None:
    starts = [0, 5, 1_764_400_000, 0]
    samples, dropped = read(write(starts))
    assert ([sample.start_ms for sample in samples], dropped) == (starts, Dropped())


@pytest.mark.real
@pytest.mark.parametrize("far", [far for far in FAR if far >= 0])
@pytest.mark.parametrize("write", [csv_of, xml_of])
def test_the_frame_has_the_rows_that_the_table_counts(tmp_path: Path, write, far: int) -> None:
    jtl = tmp_path / "x.jtl"
    jtl.write_bytes(write(stamps(far, 2000)))
    counted = [start for start in stamps(far, 2000) if start != far]
    starts = [round(1000 * start.timestamp()) for start in read_jtl(jtl).samples()["start_time"]]
    assert starts == counted


@pytest.mark.parametrize("write", [csv_of, xml_of])
def test_a_table_has_the_rates_of_the_other_rows_and_no_clock_that_was_set(tmp_path: Path, write, capsys) -> None:
    jtl = tmp_path / "x.jtl"
    jtl.write_bytes(write([0 if number == 500 else BEGIN_MS + 100 * number for number in range(1000)]))
    assert main(["table", str(jtl)]) == 0
    shown = capsys.readouterr().out
    assert "| TOTAL | 999 | 7.00 | 7 | 7 | 7 | 7 | 0.00 | 0 | 10.00 |" in shown
    assert "1 of 1000 rows of the JTL has an impossible time stamp" in shown
    assert "clock" not in shown
    assert "days apart" not in shown


def test_a_tally_of_the_file_says_the_same(tmp_path: Path, capsys) -> None:
    jtl, tally = tmp_path / "x.jtl", tmp_path / "x.tally"
    jtl.write_bytes(csv_of(stamps(0)))
    assert main(["tally", str(jtl), "-o", str(tally)]) == 0
    capsys.readouterr()
    assert main(["table", str(tally)]) == 0
    assert "INVALID: 10 of 100 rows of the JTL have impossible time stamps" in capsys.readouterr().out
