"""A JTL that is cut anywhere: all readers agree on what is left, and a packed file says that it is cut."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
import zstandard

from harness.api.sample_pieces import CsvReader, of_samples
from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.jtl.csv import parse
from harness.jtl.inputs import Input
from harness.jtl.sample import Dropped
from harness.metrics.counter import CsvFile, count_file
from harness.metrics.files import read_tally
from harness.metrics.tally import Scope
from tests.support.counting import COLUMNS, plain, same
from tests.support.paths import ROOT
from tests.support.weekly import often
from tests.support.xml_jtls import END, HEAD, assertion, element

pytestmark = pytest.mark.usefixtures("one_process")

ROW = '{},12,"Pay, ""{}""",200,OK,Users 1-1,text,{},"expected\n1",500,100,1,1,http://a/,10,0,7\n'
ROWS = "".join(ROW.format(1_700_000_000_000 + n, n % 9, str(n % 7 != 2).lower()) for n in range(240))
CSV = f"{COLUMNS}\n{ROWS}".encode()
# What other writers make of it; the last one begins without a header line.
CSVS = {
    "commas": CSV,
    "semicolons": CSV.replace(b",", b";"),
    "line ends of Windows": CSV.replace(b"\n", b"\r\n"),
    "sums": b"label,timeStamp,elapsed,success,SampleCount,ErrorCount\n" + b"Pay,1700000000000,7,false,4,3\n" * 700,
    "transactions": (ROOT / "tests" / "data" / "transactions_with_requests.csv").read_bytes() * 12,
    "impossible times": CSV + b"".join(row.encode() for row in (ROW.format(0, 1, "false"), ROW.format(9, 1, "true"))),
    "no header": ROWS.encode(),
}
XML = (HEAD + "".join(element(f"step {n}", assertion() if n % 3 else "") for n in range(30)) + END).encode()
PACKED = {
    "x.jtl.gz": gzip.compress(CSV, mtime=0),
    "x.jtl.zst": zstandard.compress(CSV),
    "x.xml.gz": gzip.compress(XML, mtime=0),
    "utf-16.jtl": "".join([f"{COLUMNS}\n", *(ROW.format(1_700_000_000_000, n, "true") for n in range(20))]).encode(
        "utf-16"
    ),
}
LINE_END = "\n".encode("utf-16-le")
# More than a row. The counter leaves the beginning of a file to the plain reader.
LAST_BYTES = 120


def check_readers(path: Path, data: bytes, program, step: int) -> None:
    for cut in range(len(data) - LAST_BYTES, len(data) + 1, step):
        text = data[:cut]
        path.write_bytes(text)
        own = plain(text, Scope())
        same(count_file(CsvFile(path, cut, "x.jtl"), program, Scope(), None, lambda *_: None), own)
        reader, found = CsvReader(io.BytesIO(text), "x.jtl", None), list[tuple[object, ...]]()
        while (piece := reader.read(200)) is not None:
            found += piece.drop(columns="line").astype(object).itertuples(index=False, name=None)
        samples = of_samples(list(parse(io.BytesIO(text), "x.jtl", Dropped())))
        assert found == [*samples.drop(columns="line").astype(object).itertuples(index=False, name=None)], cut


def check_packed(path: Path, data: bytes, step: int) -> None:
    path.write_bytes(data)
    whole = read_tally([Input("x", path)])
    row_count = sum(counts.histogram.count for one in whole.labels.values() for counts in one.values())
    assert (row_count > 10, whole.dropped.count) == (True, 0)
    for cut in range(1, len(data), step):
        path.write_bytes(data[:cut])
        try:
            tally = read_tally([Input("x", path)])
        except UsageError as error:
            assert "\n" not in str(error), cut
            continue
        found = sum(counts.histogram.count for one in tally.labels.values() for counts in one.values())
        assert found <= row_count, cut
        is_whole = data[:cut].endswith(LINE_END) or data[cut:].startswith(LINE_END)  # the last row, perhaps
        is_said = tally.dropped.cut_count or tally.dropped.torn_end_count or is_whole
        assert found in (0, row_count) or is_said, cut  # a file without samples is refused later


def check_tally(path: Path, step: int) -> None:
    (path.parent / "a.jtl").write_bytes(CSV)
    assert main(["tally", str(path.parent / "a.jtl"), "-o", str(path)]) == 0
    data = path.read_bytes()
    for cut in range(1, len(data), step):
        path.write_bytes(data[:cut])
        with pytest.raises(UsageError) as refused:
            read_tally([Input("x", path)])
        assert "\n" not in str(refused.value), cut


@pytest.mark.real
@pytest.mark.parametrize("name", often(3, CSVS))
def test_the_readers_agree_on_a_file_that_is_cut_somewhere(name: str, tmp_path: Path, program) -> None:
    check_readers(tmp_path / "x.jtl", CSVS[name], program, 17)


@pytest.mark.counterpart
@pytest.mark.parametrize("name", CSVS)
def test_the_readers_agree_on_a_file_that_is_cut_at_any_byte(name: str, tmp_path: Path, program) -> None:
    check_readers(tmp_path / "x.jtl", CSVS[name], program, 1)


@pytest.mark.real
@pytest.mark.parametrize("name", PACKED)
def test_a_packed_file_that_is_cut_somewhere_says_so(name: str, tmp_path: Path) -> None:
    check_packed(tmp_path / name, PACKED[name], 97)


@pytest.mark.counterpart
@pytest.mark.parametrize("name", PACKED)
def test_a_packed_file_that_is_cut_at_any_byte_says_so(name: str, tmp_path: Path) -> None:
    check_packed(tmp_path / name, PACKED[name], 1)


@pytest.mark.real
def test_a_tally_that_is_cut_somewhere_is_refused_in_one_line(tmp_path: Path) -> None:
    check_tally(tmp_path / "x.tally", 97)


@pytest.mark.counterpart
def test_a_tally_that_is_cut_at_any_byte_is_refused_in_one_line(tmp_path: Path) -> None:
    check_tally(tmp_path / "x.tally", 1)
