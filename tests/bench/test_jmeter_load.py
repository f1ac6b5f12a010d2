"""A JMeter that loads a system for a benchmark."""

from bench.runs.jmeter_load import LoadingJMeter


def test_rows_of_a_growing_file_are_counted_once(tmp_path):
    path = tmp_path / "samples.jtl"
    path.write_text("header\n1\n2")
    rows = LoadingJMeter(path, None)
    rows.read()
    with path.open("a") as out:
        out.write("\n3\n")
    rows.read()
    rows.read()
    assert rows.count == 4
