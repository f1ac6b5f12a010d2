from harness.plan.plan import Dump
from harness.run.measure import read_figures

THREADS = ("gauges", "threads.count", "value")


def test_a_value_is_read_from_the_dump_and_a_missing_one_is_reported(tmp_path):
    (tmp_path / "before.json").write_text('{"gauges": {"threads.count": {"value": 61}}}')
    (tmp_path / "after.json").write_text('{"gauges": {}}')
    (tmp_path / "torn.json").write_text('{"gauges": {')
    dumps = [Dump(name, f"{name}.json", THREADS) for name in ("before", "after", "torn", "gone")]
    assert read_figures(tmp_path, dumps) == (
        ("before", "61"),
        ("after", "not known (after.json does not contain it)"),
        ("torn", "not known (torn.json does not contain it)"),
        ("gone", "not known (gone.json does not contain it)"),
    )
