"""The first rows that are kept while a file is counted are those of another reading."""

import gzip

import pytest

from harness.jtl.inputs import Input
from harness.metrics.files import read_tally
from harness.metrics.first_rows import FirstRows

COUNT, START_MS = 2_000, 1_700_000_000_000
HEAD = "timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads"
ROWS = [f'{START_MS + 7 * at},{at % 90},"Pay, {at % 3}",200,Users 1-{at % 9},true,300,9' for at in range(COUNT)]
XML = "".join(
    f'<httpSample t="{at % 90}" ts="{START_MS + 7 * at}" s="true" lb="Pay" rc="200" tn="Users 1-1" by="3"/>\n'
    for at in range(COUNT)
)
FILES = {
    "csv": "\n".join([HEAD, *ROWS, ""]).encode(),
    "no header": "\n".join([*ROWS, ""]).encode(),
    "gzip": gzip.compress("\n".join([HEAD, *ROWS, ""]).encode()),
    "xml": f'<testResults version="1.2">\n{XML}</testResults>\n'.encode(),
}


@pytest.mark.parametrize("most", [0, 1_500, COUNT, COUNT + 1])
@pytest.mark.parametrize("which", FILES)
def test_rows_are_kept_as_another_reading_finds_them(tmp_path, which, most):
    path, columns = tmp_path / "a.jtl", HEAD.split(",") if which == "no header" else None
    path.write_bytes(FILES[which])
    given = Input("a.jtl", path)
    again = FirstRows(columns, most).of(given)
    kept = FirstRows(columns, most)
    assert read_tally([given], kept=kept, may_be_alike=True).row_count == COUNT
    path.unlink()  # nothing is read again
    assert kept.of(given) == again
    assert len(again.rows) == min(most, COUNT)
    assert (again.end_byte is None) is (which in ("gzip", "xml"))
    if which == "csv" and most:
        assert FILES[which][: again.end_byte].count(b"\n") == 1 + len(again.rows)
