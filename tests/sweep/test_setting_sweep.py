"""A sweep over a setting: SET is split into levels, and the report is about the values of the setting."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, to_plain
from harness.cli.verbs import main
from harness.judge.verdict import DOUBTFUL, Verdict
from harness.plan.goal import Goal
from harness.sweep.analysis import analyse
from harness.sweep.charts import overlay_charts, sweep_charts
from harness.sweep.level_axis import LevelAxis
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.record import SweepRecord, SweepRun
from harness.sweep.setting_findings import contrasts, setting_answers, setting_findings
from harness.sweep.sources import find_sweeps
from harness.sweep.swept_set import requests_of, set_of_level
from tests.support.markdown_rows import cells_of, rows_of
from tests.support.requests import options_of
from tests.support.spread_runs import make_sweep
from tests.support.sweep_reports import LEVELS, SVG, run, save_record, save_run, texts_of, written
from tests.support.sweeps import BROKEN, SWEEP_RECORD, measured_level
from tests.support.tiny import TINY_SYSTEM, run_json, sweep_json

SETTINGS = 'delay_ms = 0\nkind = "plain"\nwords = []\n'
VALUES = ("delay_ms=10", "delay_ms=20", "delay_ms=40")
RECORD = replace(
    SWEEP_RECORD,
    command='lth sweep --plan=tiny --set="delay_ms=10,20,40" --users=4',
    users=(4,),
    fresh=True,
    values=VALUES,
    given={"set": "delay_ms=10,20,40"},
    runs=tuple(measured_level(4, 1, f"run-07_{number}", value) for number, value in enumerate(VALUES, start=1)),
)


@pytest.fixture
def home(home):
    """The home of the tiny plan, whose system has settings of several types."""
    (home / "systems" / "tiny" / "system.toml").write_text(TINY_SYSTEM + SETTINGS)
    return home


@pytest.fixture
def reports(tmp_path, monkeypatch):
    """A reports folder with a sweep over delay_ms: four users wait 400, 800 and 2000 ms."""
    monkeypatch.chdir(tmp_path)
    for number, (value, elapsed_ms) in enumerate(zip(VALUES, (400, 800, 2000), strict=True), start=1):
        settings = {"delay_ms": int(value.partition("=")[2]), "heap_mb": 512}
        save_run(tmp_path / "reports" / "tiny", f"run-07_{number}", 4, elapsed_ms, system_settings=settings)
    save_record(tmp_path / "reports", RECORD)
    return tmp_path / "reports"


def split(home: Path, tmp_path: Path, text: str, *, is_split: bool = True):
    return requests_of(options_of(home, tmp_path, "tiny", set=text), is_split=is_split)


def levels(rates_per_s: dict[str, tuple[float, ...]], **changes: object):
    """Return levels at 4 users, one run for each throughput; the average (ms) is 4000 ÷ throughput."""
    return levels_of(
        (4, LevelRun("run", Figures(rate_per_s=rate, average_ms=4000 / rate), setting=value, **changes))
        for value, rates in rates_per_s.items()
        for rate in rates
    )


def test_the_values_of_one_setting_are_the_levels(home, tmp_path):
    found = split(home, tmp_path, "kind=odd tiny.delay_ms=10,20,40")
    assert [request.settings["delay_ms"] for request in found.values()] == [10, 20, 40]
    assert {request.settings["kind"] for request in found.values()} == {"odd"}
    assert list(found) == ["tiny.delay_ms=10", "tiny.delay_ms=20", "tiny.delay_ms=40"]
    assert found["tiny.delay_ms=20"].set_values.shown == ("tiny.kind=odd", "tiny.delay_ms=20")


def test_a_list_and_a_set_that_is_not_split_are_one_level(home, tmp_path):
    assert split(home, tmp_path, "words=a,b")[""].settings["words"] == ["a", "b"]
    assert split(home, tmp_path, "kind=a,b", is_split=False)[""].settings["kind"] == "a,b"
    assert list(split(home, tmp_path, "words=a,b delay_ms=1,2")) == ["delay_ms=1", "delay_ms=2"]


@pytest.mark.parametrize(
    ("text", "is_split", "message"),
    [
        ("delay_ms=10,20 kind=a,b", True, "a sweep has several values of one setting; give the others one"),
        ("delay_ms=10,,20", True, "delay_ms=10,,20: a value is empty; give values such as delay_ms=10,20,40"),
        ("delay_ms=10,10", True, "delay_ms=10,10: 10 is listed twice; give --repeat=2"),
        ("delay_ms=10,soon", True, "setting delay_ms = 'soon' is not a whole number"),
        ("delay_ms=10,20", False, 'lth sweep --users=50 --set="delay_ms=10,20"'),
        ("delay=10,20", True, "delay is neither a setting of tiny nor a property of tiny.jmx"),
    ],
)
def test_wrong_values_are_one_clear_error(home, tmp_path, text, is_split, message):
    with pytest.raises(UsageError) as caught:
        split(home, tmp_path, text, is_split=is_split)
    assert message in str(caught.value)


def test_the_command_of_a_level_has_its_value_alone():
    assert set_of_level("kind='a b' delay_ms=10,20 x=1", "delay_ms=20") == "'kind=a b' delay_ms=20 x=1"
    assert set_of_level(None, "") == ""


def test_a_record_with_values_reads_back_equal_and_plans_rounds():
    assert build(SweepRecord, to_plain(RECORD)) == RECORD
    assert "setting" not in to_plain(SWEEP_RECORD)["runs"][0]
    left = replace(RECORD, repeat=2, runs=RECORD.runs[:2])
    assert left.steps_left == (SweepRun(4, 1, VALUES[2]), *(SweepRun(4, 2, value) for value in VALUES))
    assert left.steps_left[0].text == "delay_ms=40"
    assert replace(RECORD, values=()).resolved != RECORD.resolved


def test_levels_are_sorted_by_numbers_and_texts_stay_in_order():
    found = levels({"delay_ms=100": (1,), "delay_ms=20": (2,)})
    assert [level.text for level in found] == ["delay_ms=20", "delay_ms=100"]
    found = levels({"gc=Z": (1,), "gc=G1": (2,)})
    assert [level.value for level in found] == ["Z", "G1"]


def test_levels_that_differ_by_more_than_repeats_are_distinguished():
    # The means of the logarithms differ by ln 2. Within the levels each value is ln(1.1) / 2 from its mean, so the
    # standard error is 0.0674 with two degrees of freedom, and Student's t 4.303.
    rate, average = contrasts(levels({"delay_ms=10": (100, 110), "delay_ms=20": (200, 220)}))
    assert rate.interval == pytest.approx((0.4966, 1.6728), abs=1e-4)
    assert (rate.is_certain, average.is_certain) == (True, True)
    text = setting_findings(levels({"delay_ms=10": (100, 110), "delay_ms=20": (200, 220)}), None)["throughput"]
    assert text == ("105.00 req/s at delay_ms=10, 210.00 req/s at delay_ms=20: +100.0 % (95 % interval +50 to +167 %)")


def test_levels_within_the_scatter_of_repeats_are_not_distinguished():
    found = levels({"delay_ms=10": (100, 110), "delay_ms=20": (105, 112)})
    assert setting_findings(found, None)["throughput"].startswith("CANNOT TELL the levels apart: 105.00 req/s")
    assert not contrasts(found)[0].is_certain


def test_the_extremes_of_many_levels_are_not_distinguished_like_two_chosen_ones():
    # Two of 20 levels are 12 % apart, and runs of a level 6 %: 2.8 standard errors, of 190 pairs no surprise.
    rates = {f"threads={number}": (97.0, 103.0) for number in range(2, 20)}
    chosen = {"threads=1": (91.0, 97.0), "threads=99": (103.0, 109.0)}
    found = contrasts(levels({**rates, **chosen}))[0]
    assert (found.least.text, found.most.text) == ("threads=1", "threads=99")
    assert found.change_ratio == pytest.approx(0.128, abs=1e-3)
    assert not found.is_certain


def test_single_runs_and_doubtful_runs_are_never_certain():
    single = levels({"delay_ms=10": (100,), "delay_ms=20": (400,)})
    assert "of one run each: repeat, --repeat=3" in setting_findings(single, None)["throughput"]
    assert not contrasts(single)[0].is_certain
    doubtful = levels(
        {"delay_ms=10": (100, 110), "delay_ms=20": (200, 220)}, verdict=Verdict(DOUBTFUL, ("busy",), (), ())
    )
    assert not contrasts(doubtful)[0].is_certain
    assert next(setting_answers(doubtful)) == (
        "a run is DOUBTFUL; seen: 105.00 req/s at delay_ms=10, 210.00 req/s at delay_ms=20"
    )
    assert setting_findings(levels({"delay_ms=10": (100,)}), None)["throughput"].startswith("unknown: needs")


def test_an_invalid_level_is_no_contrast():
    found = levels({"delay_ms=10": (100,), "delay_ms=20": (200,)}, verdict=BROKEN)
    assert contrasts(found) == ()


def test_the_report_is_about_the_values_and_has_no_findings_about_users(reports):
    text = written(reports, RECORD)
    assert [row["delay_ms"] for row in rows_of(text, LEVELS)] == ["10", "20", "40"]
    findings = text[text.index("## Findings") : text.index("## All numbers")]
    assert [line.partition(":")[0] for line in findings.splitlines() if line.startswith("- ")] == [
        "- throughput", "- average", "- p90", "- goal",
    ]  # fmt: skip
    assert "- goal: delay_ms=40: p90 2000 ms" in findings
    assert "\nGoal met at delay_ms=10 and 20, missed at delay_ms=40: p90 ≤ 1000 ms, errors ≤ 1 %.\n" in text
    assert re.search(r"\*\*CANNOT TELL: one run per level; seen: .* at delay_ms=40, .* at delay_ms=10\.", text)
    assert "closed model, 4 users, ramp" in text
    assert "The runs differ in system settings" not in text
    for word in ("plateau", "knee", "Scalability", "capacity"):
        assert word not in text


def test_another_setting_that_differs_is_a_warning(reports):
    save_run(reports / "tiny", "run-07_2", 4, 800, system_settings={"delay_ms": 20, "heap_mb": 1024})
    assert "The runs differ in system settings: {'heap_mb': 512}, {'heap_mb': 1024}." in written(reports, RECORD)


def test_a_level_without_a_readable_run_is_missing(reports):
    (reports / "tiny" / "run-07_2.json").unlink()
    assert "Missing: delay_ms=20. The findings cover only the other levels." in written(reports, RECORD)


def test_exports_name_the_setting(reports, capsys):
    code, out = run(capsys, "tiny/sweep-07", "--format", "csv", "--reports", str(reports))
    assert (code, out.splitlines()[0].split(",")[:4]) == (0, ["sweep", "users", "setting", "run_count"])
    assert out.splitlines()[1].startswith("tiny/sweep-07,4,delay_ms=10,1,")
    code, out = run(capsys, "tiny/sweep-07", "--format", "json", "--reports", str(reports))
    assert '"setting": "delay_ms=40"' in out


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A folder of two sweeps over delay_ms; in the second one 10 and 20 take twice as long, and 80 is new."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "tiny").mkdir()
    make_sweep(folder, "07", {"delay_ms=10": 50, "delay_ms=20": 50, "delay_ms=40": 50})
    make_sweep(folder, "08", {"delay_ms=10": 150, "delay_ms=20": 150, "delay_ms=80": 250})
    return folder


@pytest.mark.real
def test_two_sweeps_over_a_setting_are_compared_value_by_value(two, capsys):
    assert main(["compare", "tiny/sweep-07", "tiny/sweep-08", "--reports", str(two)]) == 1
    text = capsys.readouterr().out
    assert "**REGRESSED: at delay_ms=10, 20. Seen: average +99." in text
    assert "- Only tiny/sweep-07 has delay_ms=40: not compared." in text
    assert "- Only tiny/sweep-08 has delay_ms=80: not compared." in text
    rows = rows_of(text, "## tiny/sweep-08 against tiny/sweep-07")
    assert cells_of(rows, "delay_ms", "verdict") == [["10", "REGRESSED"], ["20", "REGRESSED"]]
    rows = rows_of(text, "**average ms**")
    assert cells_of(rows, "delay_ms", "tiny/sweep-07", "tiny/sweep-08") == [
        ["10", "100", "200"],
        ["20", "100", "200"],
        ["40", "100", ""],
        ["80", "", "300"],
    ]


@pytest.mark.real
def test_the_comparison_at_a_value_is_that_of_its_runs(two, capsys):
    found = json_of(capsys, ["compare", "tiny/sweep-07", "tiny/sweep-08", "--reports", str(two), "--format", "json"])
    (compared,) = found["comparisons"]
    assert [(level["setting"], level["verdict"]) for level in compared["verdicts"]] == [
        ("delay_ms=10", "REGRESSED"), ("delay_ms=20", "REGRESSED"),
    ]  # fmt: skip
    assert (compared["only_base_settings"], compared["only_new_settings"]) == (["delay_ms=40"], ["delay_ms=80"])
    runs = json_of(capsys, ["compare", "tiny/run-07_2", "tiny/run-08_2", "--reports", str(two), "--format", "json"])
    assert compared["verdicts"][1]["reason"] == "; ".join(runs["reasons"])


def json_of(capsys, arguments):
    main(arguments)
    return json.loads(capsys.readouterr().out)


@pytest.mark.real
def test_the_charts_of_several_sweeps_have_the_values_of_the_setting(two):
    sweeps = [one.sweep for one in find_sweeps(["tiny/sweep-07", "tiny/sweep-08"], two)]
    charts = overlay_charts(sweeps, [analyse(one.levels, None) for one in sweeps])
    chart = ElementTree.fromstring(charts[0].svg)
    assert {"delay_ms", "80"} <= set(texts_of(chart)) and "users" not in texts_of(chart)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (
            SWEEP_RECORD,
            "tiny/sweep-07 is a sweep over delay_ms, tiny/sweep-09 is a sweep over users; give sweeps over the same",
        ),
        (
            replace(RECORD, values=("delay_ms=99",), runs=(measured_level(4, 1, "run-07_1", "delay_ms=99"),)),
            r"no level in common \(delay_ms=10, 20 and 40 against delay_ms=99\); compare sweeps over some of the same",
        ),
    ],
)
def test_sweeps_without_a_common_value_are_refused(reports, other, message):
    save_record(reports, replace(other, name="sweep-09"))
    with pytest.raises(UsageError, match=message):
        main(["compare", "tiny/sweep-07", "tiny/sweep-09", "--reports", str(reports)])


def chart_of(found):
    sweep = Sweep("x", found)
    chart = next(one for one in sweep_charts(sweep, analyse(found, Goal())) if one.name == "throughput.svg")
    return ElementTree.fromstring(chart.svg)


def test_the_axis_of_a_chart_has_the_values_of_the_setting():
    chart = chart_of(levels({"delay_ms=10": (100,), "delay_ms=40": (50,)}))
    assert {"delay_ms", "40"} <= set(texts_of(chart))
    assert "users" not in texts_of(chart)
    assert "most 100 at delay_ms=10" in chart.findtext(f"{SVG}desc")


def test_texts_are_at_equal_distances_and_no_line_joins_them():
    found = levels({"gc=G1": (100,), "gc=Z": (50,), "gc=Serial": (70,)})
    chart = chart_of(found)
    assert {"gc", "G1", "Z", "Serial"} <= set(texts_of(chart))
    assert [path for path in chart.iter(f"{SVG}path") if (path.get("class") or "").startswith("line")] == []
    assert [LevelAxis.of(found).x(level) for level in found] == [1, 2, 3]


@pytest.mark.real
def test_each_value_runs_on_a_system_with_that_setting(finished, tmp_path):
    command = ("sweep", "--set", "kind=odd delay_ms=10,20", "--duration", "1", "--warmup", "0")
    code, out = finished(*command)
    assert code == 0, out
    assert out.count(": ready after") == 2  # started for each level
    assert "level 1 of 2, delay_ms=10" in out
    assert [run["setting"] for run in sweep_json(tmp_path)["runs"]] == ["delay_ms=10", "delay_ms=20"]
    runs = [run_json(tmp_path / "reports", name) for name in ("run-01_1", "run-01_2")]
    assert [run["system_settings"]["delay_ms"] for run in runs] == [10, 20]
    assert [run["load"]["users"] for run in runs] == [2, 2]  # those of the plan
    assert runs[1]["command"] == "lth run --plan=tiny --duration=1 '--set=kind=odd delay_ms=20' --users=2"
    report = (tmp_path / "reports" / "tiny" / "sweep-01.md").read_text()
    assert "- --set: tiny.kind=odd, tiny.delay_ms=10; tiny.kind=odd, tiny.delay_ms=20" in report
    code, out = finished("sweep", "--resume", "01")
    assert code == 2
    assert "tiny/sweep-01 is finished; leave it out to start a new sweep" in out
