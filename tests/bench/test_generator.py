"""The table of JMeter's variants: ratios are medians of the ratios within a round."""

from bench.generator import Speed, _Rows, speeds_table


def test_ratios_compare_runs_of_the_same_round():
    # The second round ran on a machine of half the speed: only ratios within a round are 0.8 and 1.25.
    speeds = {
        "before": [Speed(50, 20_000), Speed(100, 10_000), Speed(60, 18_000)],
        "current settings": [Speed(40, 25_000), Speed(80, 12_500), Speed(66, 9_000)],
    }
    assert speeds_table(speeds).splitlines()[2:] == [
        "| before | 60.0 | 1.00 | 18000 | 1.00 |",
        "| current settings | 66.0 | 0.80 | 12500 | 1.25 |",
    ]


def test_rows_of_a_growing_file_are_counted_once(tmp_path):
    path = tmp_path / "samples.jtl"
    path.write_text("header\n1\n2")
    rows = _Rows(path)
    rows.read()
    with path.open("a") as out:
        out.write("\n3\n")
    rows.read()
    rows.read()
    assert rows.count == 4
