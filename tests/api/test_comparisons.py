"""compare: the figures of aggregate.py compare as a DataFrame."""

import json

import pandas
import pytest

from harness.api import ComparedSweeps, UsageError, compare, open_run, read_jtl
from harness.cli.verbs import main
from harness.history.pin_files import write_pins
from harness.metrics.metric import METRICS
from tests.support.spread_runs import make_sweep

NAMES = ("tiny/run-07_1", "tiny/run-07_2")


def json_of(reports, capsys, *options, names=NAMES):
    """Return the JSON of aggregate.py compare."""
    main(["compare", *names, "--reports", str(reports), "--format", "json", *options])
    return json.loads(capsys.readouterr().out)


def rows_of(comparison):
    """Return a row per label and metric of the JSON, with the id of the metric."""
    return [
        {
            **metric,
            "label": label["label"],
            "is_transaction": label["is_transaction"],
            "base_sample_count": label["base_sample_count"],
            "new_sample_count": label["new_sample_count"],
        }
        for label in (comparison["total"], *comparison["labels"])
        for metric in label["metrics"]
    ]


def check(result, expected):
    """Check that every cell of a comparison is that of the JSON."""
    frame = result.table()
    ids = {metric.key: metric.id for metric in METRICS}
    found = [
        {key: None if pandas.isna(value) else value for key, value in row.items()} for row in frame.to_dict("records")
    ]
    totals = [row.pop("is_total") for row in found]
    for row in found:
        row["metric"] = ids[row["metric"]]
    assert found == rows_of(expected)
    assert totals == [label == "TOTAL" for label in frame.label]
    assert result.verdict == expected["verdict"]
    assert [*result.warnings] == expected["caveats"]


@pytest.mark.real
def test_every_cell_is_that_of_the_command(reports, capsys):
    expected = json_of(reports, capsys)
    assert expected["verdict"] == "REGRESSED"
    check(compare(*NAMES, reports=reports), expected)


@pytest.mark.real
def test_opened_runs_are_compared_like_their_names(reports, capsys):
    before, after = (open_run(name, reports) for name in NAMES)
    expected = json_of(reports, capsys)
    check(compare(before, after), expected)
    check(compare([before], [NAMES[1]], reports=reports), expected)


@pytest.mark.real
def test_jtls_are_compared_like_their_paths(reports, capsys):
    paths = [str(reports / name / "samples.jtl") for name in NAMES]
    check(compare(*map(read_jtl, paths)), json_of(reports, capsys, names=paths))


@pytest.mark.real
def test_a_pin_means_its_run(reports, tmp_path):
    copied = tmp_path / "reports"
    (copied / "tiny").mkdir(parents=True)
    for name in NAMES:
        (copied / f"{name}.json").write_bytes((reports / f"{name}.json").read_bytes())
    write_pins(copied / "tiny", {"baseline": "run-07_1"})
    assert compare("baseline", "run-07_2", reports=copied).comparison.baseline == ("tiny/run-07_1",)
    assert open_run("baseline", copied).name == "tiny/run-07_1"


def test_thresholds_are_those_of_the_plan_unless_given(reports, home):
    plan = home / "plans" / "tiny.toml"
    plan.write_text(plan.read_text() + "[compare]\np90 = 0.3\n")

    def threshold(**given):
        table = compare(*NAMES, reports=reports, project=home, **given).table()
        return table[table.is_total & (table.metric == "p90_ms")].threshold_ratio.item()

    assert threshold() == 0.3
    assert threshold(thresholds={"p90": 0.2}) == 0.2


@pytest.mark.parametrize(
    ("base", "new", "options", "text"),
    [
        (NAMES[0], NAMES[0], {}, "given twice"),
        (NAMES[0], "tiny/run-08_1", {}, "neither a file nor a run"),
        (*NAMES, {"thresholds": {"p9": 0.1}}, "p9"),
    ],
)
def test_wrong_input_is_an_error(reports, base, new, options, text):
    with pytest.raises(UsageError, match=text):
        compare(base, new, reports=reports, **options)


@pytest.mark.real
@pytest.mark.parametrize(
    ("levels", "named", "reason"),
    [
        ((1, 2, 4), ["1 user", "2 users", "4 users"], "1, 2 users"),
        (
            ("delay_ms=10", "delay_ms=20", "delay_ms=40"),
            ["delay_ms=10", "delay_ms=20", "delay_ms=40"],
            "delay_ms=10, 20",
        ),
    ],
)
def test_two_sweeps_are_compared_level_by_level(tmp_path, levels, named, reason):
    (tmp_path / "tiny").mkdir()
    make_sweep(tmp_path, "07", dict.fromkeys(levels[:2], 50))
    make_sweep(tmp_path, "08", dict.fromkeys(levels, 150))
    result = compare("tiny/sweep-07", "tiny/sweep-08", reports=tmp_path)
    assert result.verdict == "REGRESSED"
    assert result.headline == f"REGRESSED: at {reason}. Seen: average +99.9 % over 2 levels."
    assert isinstance(result, ComparedSweeps)
    table = result.table()
    assert [*table.level.cat.categories] == named[:2]
    assert result.warnings[0].startswith(f"Only tiny/sweep-08 has {named[2]}: not compared.")
    of_runs = compare("tiny/run-07_2", "tiny/run-08_2", reports=tmp_path).table()
    of_level = table[table.level == named[1]].drop(columns=["level", "users"]).reset_index(drop=True)
    assert of_level.astype(object).fillna("").equals(of_runs.astype(object).fillna(""))


def test_a_sweep_is_not_compared_with_a_run(reports):
    with pytest.raises(UsageError, match="compare: tiny/sweep-07 is a sweep; compare it with one other sweep"):
        compare("tiny/sweep-07", open_run(NAMES[0], reports), reports=reports)
