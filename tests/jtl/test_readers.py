"""The table of readers: what is added to it is read by the table of results and by the Python interface."""

from __future__ import annotations

import pytest

from harness.api import read_jtl
from harness.cli.verbs import main
from harness.jtl import readers
from harness.jtl.readers import CSV, XML, Reader, kind_of
from tests.support.factories import sample

BELLS = b"bells 1\nPay 40\nPay 60 failed\nRefund 10\n"


def read_bells(stream, _name, _dropped, _columns):
    for number, line in enumerate(stream.read().decode().splitlines()[1:]):
        label, elapsed_ms, *failed = line.split()
        yield sample(
            label,
            int(elapsed_ms),
            start_ms=1_700_000_000_000 + 100 * number,
            success=not failed,
            error_count=len(failed),
        )


@pytest.fixture(autouse=True)
def _added(monkeypatch):
    bells = Reader("bells", lambda text: text.startswith(b"bells "), read_bells)
    monkeypatch.setattr(readers, "READERS", (bells, *readers.READERS))


def test_an_added_reader_fills_the_table(tmp_path, capsys):
    (tmp_path / "ring.txt").write_bytes(BELLS)
    assert main(["table", str(tmp_path / "ring.txt")]) == 0
    out = capsys.readouterr().out
    assert "\n| Pay | 2 | 50 | 40 | 60 | 40 | 60 | 50.00 | 1 | 12.50 |" in out
    assert "\n| Refund | 1 | 10 | 10 | 10 | 10 | 10 | 0.00 | 0 | 100.00 |" in out
    assert "\n| TOTAL | 3 | 37 |" in out


def test_an_added_reader_is_one_of_the_python_interface(tmp_path):
    (tmp_path / "ring.txt").write_bytes(BELLS)
    (samples,) = read_jtl(tmp_path / "ring.txt").samples(chunk_rows=10)
    assert list(samples["label"]) == ["Pay", "Pay", "Refund"]


def test_each_file_has_one_reader_and_the_last_one_gets_what_is_left():
    assert kind_of(b"<testResults version='1.2'>", "a.jtl") == XML.name
    assert kind_of(b"timeStamp,elapsed,label\n", "a.jtl") == CSV.name
    assert kind_of(BELLS, "ring.txt") == "bells"
    assert readers.READERS[-1] is CSV
