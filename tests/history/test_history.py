"""Metrics over time: which runs are in one line, and how far each is from those before it."""

import json
import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from harness.base.errors import UsageError
from harness.base.project import Project
from harness.cli.verbs import main
from harness.commands import history as commands_history
from harness.commands.history import history_csv
from harness.history.acceptance import Acceptance
from harness.history.catalogue import runs_of
from harness.history.files import read_catalogue
from harness.history.render import history_chart, history_report, name_axis
from harness.history.series import history
from harness.metrics.metric import metric_of
from harness.report.charts.axes import Axis
from harness.report.charts.svg import WIDTH, Plot, text_width
from harness.run.record import HostRecord
from tests.support.markdown_rows import cells_of, rows_of, tables_of
from tests.support.report_folder import add_run, run_folder


def days(reports, *elapsed_ms, run="tiny/run-07", **changes):
    """Write a run per day whose samples take so many ms, the middle third 1 ms and the last third 2 ms longer."""
    for day, value_ms in enumerate(elapsed_ms, start=1):
        add_run(
            reports,
            f"{run}_{day}",
            elapsed_ms=value_ms,
            started_at=f"2026-01-{day:02}T00:00:00Z",
            **changes,
        )


def history_of(reports, label="TOTAL", metric="average", last=None):
    return history(runs_of(read_catalogue(reports).entries, "tiny"), "tiny", label, metric_of(metric), last)


@pytest.mark.real
def test_the_change_is_against_the_median_of_the_runs_before(tmp_path):
    days(tmp_path, 99, 199, 109, 164)  # averages 100, 200, 110 and 165 ms
    (line,) = history_of(tmp_path).lines
    assert [point.value for point in line.points] == [100, 200, 110, 165]
    assert [point.median_before for point in line.points] == [None, 100, 150, 110]
    # 200/100 - 1, 110/150 - 1, 165/110 - 1
    assert [point.change_ratio for point in line.points] == [None, *map(pytest.approx, (1.0, -4 / 15, 0.5))]


@pytest.mark.real
def test_an_invalid_run_is_listed_but_not_counted(tmp_path):
    days(tmp_path, 99, 199)
    add_run(tmp_path, "tiny/run-07_3", elapsed_ms=5, failures=120, started_at="2026-01-03T00:00:00Z")
    add_run(tmp_path, "tiny/run-07_4", elapsed_ms=149, started_at="2026-01-04T00:00:00Z")
    (line,) = history_of(tmp_path).lines
    assert [point.change_ratio for point in line.points] == [None, 1.0, None, 0.0]  # 150 against (100 + 200) / 2
    assert [point.run for point in line.valid] == ["run-07_1", "run-07_2", "run-07_4"]


@pytest.mark.real
def test_a_doubtful_run_is_listed_with_its_metrics_but_not_counted(tmp_path):
    days(tmp_path, 99, 199)
    add_run(tmp_path, "tiny/run-07_3", elapsed_ms=899, samples=99, started_at="2026-01-03T00:00:00Z")
    add_run(tmp_path, "tiny/run-07_4", elapsed_ms=99, started_at="2026-01-04T00:00:00Z")
    (line,) = history_of(tmp_path).lines
    doubtful, last = line.points[2:]
    assert (doubtful.verdict, doubtful.value, doubtful.median_before, doubtful.change_ratio) == (
        "DOUBTFUL", pytest.approx(900, abs=1), None, None,
    )  # fmt: skip
    assert last.median_before == pytest.approx(150, abs=1)  # of 100 and 200
    assert "run-07_3" not in {point.run for point in line.valid}
    text = history_report(history_of(tmp_path), [None], "", "x")
    assert "| [run-07_3](run-07_3.md) | DOUBTFUL | 2026-01-03 00:00 |" in text
    assert "VALID, including DOUBTFUL ones, are listed with verdict and metrics. They have no change" in text


@pytest.mark.real
def test_runs_of_other_users_profile_machine_or_target_are_separate(tmp_path):
    days(tmp_path, 99)
    other_host = HostRecord("Other CPU", 2, 8 * 1024**3, "Linux 6", "3.11.7")
    for number, changes in enumerate(
        ({"users": 5}, {"profile": "t2.small"}, {"host": other_host}, {"target": "http://x:1"}), start=2
    ):
        add_run(tmp_path, f"tiny/run-07_{number}", started_at=f"2026-01-0{number}T00:00:00Z", **changes)
    newer_kernel = HostRecord("Test CPU", 2, 8 * 1024**3, "Linux 7", "3.11.8")
    add_run(tmp_path, "tiny/run-07_9", host=newer_kernel, started_at="2026-01-09T00:00:00Z")
    lines = history_of(tmp_path).lines
    assert [[point.run for point in line.points] for line in lines] == [
        ["run-07_1", "run-07_9"],
        ["run-07_5"],
        ["run-07_4"],
        ["run-07_3"],
        ["run-07_2"],
    ]


@pytest.mark.real
def test_last_keeps_the_newest_and_their_medians_of_all_before(tmp_path):
    days(tmp_path, 99, 199, 109)
    (line,) = history_of(tmp_path, last=1).lines
    assert [(point.run, point.median_before) for point in line.points] == [("run-07_3", 150)]


def test_errors_change_by_percentage_points(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", started_at="2026-01-01T00:00:00Z")
    add_run(tmp_path, "tiny/run-07_2", failures=2, started_at="2026-01-02T00:00:00Z")
    (line,) = history_of(tmp_path, metric="errors").lines
    assert line.points[1].change_ratio == pytest.approx(1 / 118)  # the first error is left out with the first second


def test_runs_without_metrics_or_without_the_label_are_named(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", label="Pay")
    add_run(tmp_path, "tiny/run-07_2", label="Refund")
    run_folder(tmp_path, "tiny/run-07_3")
    found = history_of(tmp_path, label="Refund")
    assert [point.run for line in found.lines for point in line.points] == ["run-07_2"]
    assert [run for run, _ in found.left_out] == ["run-07_1", "run-07_3"]
    text = history_report(found, [None], "", "x")
    assert "- run-07_1: it has no label Refund" in text


def test_the_table_has_the_newest_run_first_and_links_to_the_reports(tmp_path):
    days(tmp_path, 99, 199)
    text = history_report(history_of(tmp_path), [None], "", "x")
    newest = cells_of(rows_of(first_screen(text)), "run", "verdict", "average ms", "change %")
    assert newest == [
        ["[run-07_2](run-07_2.md)", "VALID", "200", "+100.00"],
        ["[run-07_1](run-07_1.md)", "VALID", "100", ""],
    ]
    rows, changes = tables_of(text.split("<summary>Runs<")[1])
    # without the first and the last second 19 samples are counted over 19 s: 6 of 199, 7 of 200 and 6 of 201 ms
    assert cells_of(rows[:1], "run", "verdict", "started UTC", "commit") == [
        ["[run-07_2](run-07_2.md)", "VALID", "2026-01-02 00:00", "0123456789ab"]
    ]
    assert cells_of(rows[:1], "samples", "req/s", "average ms", "p50 ms", "p90 ms") == [
        ["118", "1.00", "200", "200", "201"]
    ]
    assert cells_of(rows, "errors %") == [["0.00"], ["0.00"]]
    assert cells_of(changes, "change %") == [["+100.00"], [""]]


def test_a_metric_without_a_column_of_its_own_gets_one(tmp_path):
    days(tmp_path, 99)
    text = history_report(history_of(tmp_path, metric="99"), [None], None, "x")
    assert "The change compares the p99 with the median" in text
    rows, changes = tables_of(text.split("<summary>Runs<")[1])
    assert cells_of(rows, "errors %") == [["0.00"]]
    assert cells_of(changes, "p99 ms", "change %") == [["101", ""]]


@pytest.mark.real
def test_the_chart_has_a_dot_for_each_valid_run_and_names_the_last(tmp_path):
    days(tmp_path, 99, 199, 109)
    (line,) = history_of(tmp_path).lines
    svg = ElementTree.fromstring(history_chart(line, "TOTAL", metric_of("average")))
    space = "{http://www.w3.org/2000/svg}"
    assert [dot.findtext(f"{space}title") for dot in svg.iter(f"{space}circle")] == [
        "run-07_1: 100", "run-07_2: 200", "run-07_3: 110",
    ]  # fmt: skip
    assert "run-07_3" in [text.text for text in svg.iter(f"{space}text")]
    assert "3 runs: least 100, most 200, run-07_3 110." in svg.findtext(f"{space}desc")


def test_a_chart_of_a_hundred_runs_labels_few_of_them_and_the_last(tmp_path):
    days(tmp_path, 99)
    (line,) = history_of(tmp_path).lines
    points = tuple(replace(line.points[0], run=f"run-07_{number}") for number in range(1, 101))
    names = re.findall(
        r">(run-07_\d+)</text>", history_chart(replace(line, points=points), "TOTAL", metric_of("average"))
    )
    assert len(names) <= 9
    assert names[-1] == "run-07_100"


def test_csv_has_full_precision_and_quotes_what_it_must(tmp_path):
    days(tmp_path, 99, 199, profile='a,"b"')
    lines = history_csv(history_of(tmp_path)).splitlines()
    assert len(lines) == 3
    assert ',"a,""b""",' in lines[1]
    assert lines[2].endswith(",average,200.0,100.0,1.0,,")


def test_the_command_writes_markdown_with_its_chart_and_removes_old_charts(tmp_path):
    days(tmp_path, 99, 199)
    page = tmp_path / "tiny" / "history-TOTAL-p90.md"
    stale = tmp_path / "tiny" / "history-TOTAL-p90-2.svg"
    stale.write_text("<svg/>")
    assert main(["history", str(tmp_path), "--plan", "tiny", "--metric", "p90", "--save"]) == 0
    assert "(history-TOTAL-p90.svg)" in page.read_text()
    assert "[run-07_2](run-07_2.md)" in page.read_text()
    assert (tmp_path / "tiny" / "history-TOTAL-p90.svg").exists()
    assert not stale.exists()


def test_a_plan_is_taken_where_a_folder_is_expected_unless_there_is_one(tmp_path, monkeypatch, capsys):
    days(tmp_path / "reports", 99)
    monkeypatch.setattr(commands_history, "current_project", lambda: Project(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert main(["history", "tiny"]) == 0
    assert "run-07_1" in capsys.readouterr().out
    assert main(["history", "reports", "--plan", "tiny"]) == 0
    with pytest.raises(UsageError, match="nope: no such folder"):
        main(["history", "nope"])


def test_json_on_standard_output_says_what_was_left_out(tmp_path, capsys):
    days(tmp_path, 99)
    run_folder(tmp_path, "tiny/run-07_9")
    assert main(["history", str(tmp_path), "--plan", "tiny", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [run["value"] for run in data["runs"]] == [100]
    assert data["left_out"] == [{"run": "run-07_9", "reason": "it has no report yet; lth report tiny/run-07_9"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plan", "tinny"], "--plan tinny: has no runs in"),
        (["--plan", "tiny", "--users", "3"], "--users 3: tiny has no such run; there are runs of: 2"),
        (["--plan", "tiny", "--label", "pay"], "--label pay: no run of tiny has it; did you mean Pay?"),
        (["--plan", "tiny", "--metric", "p91"], "--metric p91: no such metric"),
        (["--plan", "tiny", "--last", "0"], "--last=0: not a whole number from 1"),
        (["--plan", "tiny", "--output", "/no/where.md"], "/no/where.md: its folder does not exist"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path, arguments, message):
    days(tmp_path, 99)
    with pytest.raises(UsageError) as error:
        main(["history", str(tmp_path), *arguments])
    assert message in str(error.value)


def first_screen(text):
    return text.split("\n## ")[0]


@pytest.mark.real
def test_lasting_changes_are_in_table_chart_and_data(tmp_path):
    days(tmp_path, *[99, 100, 98, 99, 100, 98, 99, 100], *[149, 150, 148, 149, 150, 148, 149, 150])
    accepted = Acceptance("2026-01-09", "tiny", None, None, None, None, "checked twice")
    found = history(
        runs_of(read_catalogue(tmp_path).entries, "tiny"), "tiny", "TOTAL", metric_of("average"), None, [accepted]
    )
    (line,) = found.lines
    (change,) = line.changes
    # the means of eight runs each: 99.125 + 1 and 149.125 + 1 ms
    assert (change.index, change.before, change.after) == (
        8,
        pytest.approx(100.125, abs=0.01),
        pytest.approx(150.125, abs=0.01),
    )
    row = "| run-07_9 | 2026-01-09 00:00 | checked twice | 100 | 150 | +49.9 % |"
    text = history_report(found, [None], "", "x")
    assert row in first_screen(text)
    assert text.count(row) == 1
    assert "\n**16 runs; average: 1 lasting change, the newest since run-07_9: +49.9 %.**\n" in text
    assert text.count("`lth compare --base=tiny/run-07_8 --new=tiny/run-07_9`") == 1
    assert "+49.9 %, accepted" in history_chart(line, "TOTAL", metric_of("average"))
    marked = [line for line in history_csv(found).splitlines() if line.endswith(",checked twice")]
    assert len(marked) == 1
    assert ",run-07_9," in marked[0]


@pytest.mark.real
def test_an_accepted_change_begins_with_its_nightly_run_although_earlier_runs_started_after_midnight(tmp_path):
    for name, started_at in (
        ("run-260108_1", "2026-01-08T23:58:00Z"),
        ("run-260108_2", "2026-01-09T00:01:00Z"),
        ("run-260109_1", "2026-01-09T23:58:00Z"),
    ):
        add_run(tmp_path, f"tiny/{name}", started_at=started_at)
    accepted = Acceptance("2026-01-09", "tiny", None, None, None, None, "checked twice")
    (line,) = history(
        runs_of(read_catalogue(tmp_path).entries, "tiny"), "tiny", "TOTAL", metric_of("average"), None, [accepted]
    ).lines
    assert [line.valid[index].run for index, _ in line.accepted] == ["run-260109_1"]


@pytest.mark.real
def test_the_newest_runs_keep_the_changes_among_them(tmp_path):
    days(tmp_path, *[99, 100, 98, 99, 100, 98, 99, 100], *[149, 150, 148, 149, 150, 148, 149, 150])
    assert [change.index for change in history_of(tmp_path, last=10).lines[0].changes] == [2]
    assert history_of(tmp_path, last=8).lines[0].changes[0].index == 0
    assert history_of(tmp_path, last=7).lines[0].changes == ()


@pytest.mark.parametrize("count", [2, 6, 7, 20, 31, 59, 60, 68])
def test_axis_labels_never_touch_although_the_last_one_is_shifted(count):
    names = [f"run-2611{number:02}_4" for number in range(count)]
    plot = Plot(name_axis(names), Axis(0, 1, ((0, "0"),)), 0, 100)
    svg = ElementTree.fromstring(f"<g>{''.join(plot.axes(''))}</g>")
    half = text_width(names[0]) / 2
    columns = [float(text.get("x")) for text in svg.iter("text") if text.text in names]
    assert columns[-1] + half <= WIDTH
    assert all(right - left > 2 * half + 8 for left, right in pairwise(columns))


@pytest.mark.real
def test_otava_gets_a_column_of_numbers_for_each_metric(tmp_path, capsys):
    days(tmp_path, 99, 199)
    add_run(tmp_path, "tiny/run-07_3", users=5, started_at="2026-01-01T00:00:00Z")
    assert main(["history", str(tmp_path), "--plan", "tiny", "--format", "otava"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "time,run,commit,average_ms,p50_ms,p75_ms,p90_ms,p95_ms,p99_ms,rate_per_s,error_ratio",
        "2026-01-01T00:00:00Z,run-07_1,0123456789abcdef,100.0,100,101,101,101,101,1.0,0.0",
        "2026-01-02T00:00:00Z,run-07_2,0123456789abcdef,200.0,200,201,201,201,201,1.0,0.0",
    ]
    assert printed.err == "1 other set of conditions left out: --users selects one\n"
