"""What the reports folder is read as, and SUMMARY.md that is made of it."""

import json

import pytest

from harness.history.catalogue import Catalogue, Document, first_line
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.history.summary_page import summary_page
from harness.judge.result import Result
from harness.report.markdown import NOTES_BEGIN, NOTES_END
from harness.run.kinds import level_note
from harness.run.record import RUNNING
from tests.support.markdown_rows import cells_of, row_of, rows_of, tables_of
from tests.support.report_folder import add_run, run_folder


def summary_of(reports):
    write_summary(reports)
    return (reports / SUMMARY_NAME).read_text(encoding="utf-8")


def test_a_run_is_one_row_with_its_metrics(tmp_path):
    # 100, 101, 102, 100 … ms, one a second; without the first and the last second 6 of each are left, in 18 s
    add_run(tmp_path, "tiny/run-07_1", started_at="2026-02-03T04:05:06Z")
    rows = rows_of(summary_of(tmp_path))
    assert cells_of(rows, "run", "verdict", "started UTC", "users", "profile") == [
        ["[run-07_1](tiny/run-07_1.md)", "VALID", "2026-02-03 04:05", "2", "local"]
    ]
    assert cells_of(rows, "samples", "req/s", "average ms", "p50 ms", "p90 ms", "errors %") == [
        ["118", "1.00", "101", "101", "102", "0.00"]
    ]


@pytest.mark.real
def test_plans_are_sorted_by_name_and_series_and_runs_newest_first(tmp_path):
    for run, started_at in (
        ("tiny/run-07_1", "2026-01-03T00:00:00Z"),
        ("tiny/run-07_2", "2026-01-04T00:00:00Z"),
        ("tiny/run-08_1", "2026-01-02T00:00:00Z"),
        ("big/run-01_1", "2026-01-01T00:00:00Z"),
    ):
        add_run(tmp_path, run, started_at=started_at)
    text = summary_of(tmp_path)
    runs = ("big/run-01_1", "tiny/run-07_2", "tiny/run-07_1", "tiny/run-08_1")
    positions = [text.index(f"({run}.md)") for run in runs]
    assert positions == sorted(positions)
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Summary",
        "## big",
        "### run-01",
        "## tiny",
        "### run-07",
        "### run-08",
    ]


def test_with_equal_starts_the_tenth_run_is_newer_than_the_second(tmp_path):
    for run in ("tiny/run-07_2", "tiny/run-07_10"):
        add_run(tmp_path, run)
    text = summary_of(tmp_path)
    assert text.index("run-07_10.md") < text.index("run-07_2.md")


def test_writing_the_page_again_gives_the_same_bytes_and_keeps_notes(tmp_path):
    add_run(tmp_path, "tiny/run-07_1")
    first = summary_of(tmp_path)
    assert summary_of(tmp_path) == first
    page = tmp_path / SUMMARY_NAME
    page.write_text(first.replace(f"{NOTES_BEGIN}\n", f"{NOTES_BEGIN}\n- threads 60 is best\n\n| a | b |\n"))
    add_run(tmp_path, "tiny/run-07_2")
    again = summary_of(tmp_path)
    assert f"{NOTES_BEGIN}\n- threads 60 is best\n\n| a | b |\n{NOTES_END}" in again
    assert "run-07_2.md" in again


@pytest.mark.real
def test_the_first_line_of_a_runs_notes_is_under_its_series_with_working_links(tmp_path):
    run = add_run(tmp_path, "tiny/run-07_1", note="threads 60")
    assert "- [run-07_1](tiny/run-07_1.md): threads 60" in summary_of(tmp_path)
    text = run.report.read_text()
    run.report.write_text(
        text.replace("threads 60", "\n## slower than [07_0](run-07_0.md), see [docs](https://x.org/a)\nmore")
    )
    expected = "[run-07_1](tiny/run-07_1.md): slower than [07_0](tiny/run-07_0.md), see [docs](https://x.org/a)"
    assert f"- {expected}\n" in summary_of(tmp_path)


def test_html_in_notes_is_shown_as_text(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", note="<img src=x onerror=alert(1)> a < b, `<b>`, <https://x.org/> </td>")
    expected = "&lt;img src=x onerror=alert(1)> a < b, `<b>`, <https://x.org/> &lt;/td>"
    assert f"- [run-07_1](tiny/run-07_1.md): {expected}\n" in summary_of(tmp_path)


@pytest.mark.parametrize(
    ("notes", "line"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("- pool: false helps", "pool: false helps"),
        ("### 1. Why\nbecause", "Why"),
        ("```\nTOTAL | 1\n```", "TOTAL | 1"),
        ("**major** slow-ness", "**major** slow-ness"),
        ("---\n* dao.maxActive=50", "dao.maxActive=50"),
        ("| a | b |\n|---|---|\nafter the table", "after the table"),
    ],
)
def test_the_first_line_of_notes_is_the_first_non_empty_one(notes, line):
    assert first_line(notes) == line


def broken(directory, text):
    directory.summary_json.write_text(text)


@pytest.mark.real
def test_runs_without_metrics_are_listed_with_the_reason(tmp_path):
    add_run(tmp_path, "tiny/run-07_1")
    run_folder(tmp_path, "tiny/run-07_2", state=RUNNING, ended_at=None)
    run_folder(tmp_path, "tiny/run-07_3")
    torn = add_run(tmp_path, "tiny/run-07_4")
    torn.summary_json.write_text(torn.summary_json.read_text()[:500])
    newer = add_run(tmp_path, "tiny/run-07_5")
    newer.summary_json.write_text(json.dumps({**json.loads(newer.summary_json.read_text()), "format_version": 99}))
    other = add_run(tmp_path, "tiny/run-07_6")
    other.summary_json.write_text('{"format_version": 3, "groups": 5}')
    (tmp_path / "tiny" / "run-07_7.md").write_text("# An old one\n\n|  | #count | average |\n")
    text = summary_of(tmp_path)
    assert sum(len(rows) for rows in tables_of(text)) == 7
    assert "7 runs: 6 without metrics." in text
    for run, why in (
        (2, "still running, or killed; if killed: lth report tiny/run-07_2"),
        (3, "it has no report yet; lth report tiny/run-07_3"),
        (4, "its JSON cannot be read; lth report tiny/run-07_4"),
        (5, "its JSON is of a newer format; use the version of the harness that wrote it"),
        (6, "its JSON is not a run's; lth report tiny/run-07_6"),
    ):
        line = next(
            line for line in text.splitlines() if line.startswith(("- run-07_", "- [run-07_")) and f"_{run}" in line
        )
        assert line.endswith(f": {why}")
    facts = {"run": "run-07_2", "verdict": "no metrics", "started UTC": "2026-01-01 00:00", "users": "2"}
    row = row_of(text, "run-07_2")
    assert row == {**dict.fromkeys(row, ""), **facts, "profile": "local"}


def test_a_markdown_report_of_2015_has_metrics_and_no_verdict(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "run-07_1.md").write_text(
        "# t2.medium\n\n|       | #count | average | median | 90% | min |  max |  errors | bandwidth |\n"
        "| ----- | ------ | ------- | ------ | --- | --- | ---- | ------- | --------- |\n"
        "| TOTAL |    100 |     712 |    650 |   0 |  18 | 9000 | 0.0000% |    6.33/s |\n"
    )
    row = row_of(summary_of(tmp_path), "[run-07_1](tiny/run-07_1.md)")
    known = {"verdict": "not judged", "samples": "100", "average ms": "712", "p50 ms": "650", "errors %": "0.00"}
    assert row == {**dict.fromkeys(row, ""), "run": row["run"], **known}


@pytest.mark.real
def test_a_non_numeric_metric_is_reported_as_broken_json(tmp_path):
    for number, value in enumerate(("fast", True, float("nan")), start=1):
        run = add_run(tmp_path, f"tiny/run-07_{number}")
        data = json.loads(run.summary_json.read_text())
        data["groups"][0]["total"]["average_ms"] = value
        run.summary_json.write_text(json.dumps(data))
    text = summary_of(tmp_path)
    assert "3 runs: 3 without metrics." in text
    assert text.count("its JSON is not a run's") == 2
    assert text.count("its JSON cannot be read") == 1  # NaN is not JSON


def test_invalid_runs_and_missed_goals_are_named_in_their_row_and_in_the_count(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", failures=120)
    add_run(tmp_path, "tiny/run-07_2", elapsed_ms=1500)
    text = summary_of(tmp_path)
    assert "INVALID: all 120 samples failed: response times of errors are not meaningful |" in text
    assert "VALID, goal missed |" in text
    assert "2 runs: 1 INVALID, 1 with a goal missed." in text


def test_doubtful_runs_are_named_in_their_row_and_in_the_count(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", samples=99)
    add_run(tmp_path, "tiny/run-07_2", samples=99, elapsed_ms=1500)
    text = summary_of(tmp_path)
    assert "| DOUBTFUL: Too few samples: 97 measured, 100 needed |" in text
    assert "| DOUBTFUL: Too few samples: 98 measured, 100 needed, goal missed |" in text
    assert "2 runs: 2 DOUBTFUL, 1 with a goal missed." in text


def test_sweeps_are_listed_with_their_series_and_comparisons_with_the_plan(tmp_path):
    add_run(tmp_path, "tiny/run-07_1")
    (tmp_path / "tiny" / "sweep-07.md").write_text("# Sweep\n\n**50 users are within the goal.** More.\n")
    (tmp_path / "tiny" / "sweep-09.md").write_text("# Sweep\n")
    (tmp_path / "tiny" / "compare-run-07_1-run-07_2.md").write_text("**OK.** Nothing changed.\n")
    (tmp_path / "tiny" / "readme.md").write_text("not a report\n")
    text = summary_of(tmp_path)
    series = text[text.index("### run-07") :]
    assert "- [sweep-07](tiny/sweep-07.md): 50 users are within the goal.\n" in series
    head = text[: text.index("### run-07")]
    assert "Sweeps:\n\n- [sweep-09](tiny/sweep-09.md)\n" in head
    assert "Comparisons:\n\n- [compare-run-07_1-run-07_2](tiny/compare-run-07_1-run-07_2.md): OK.\n" in head
    assert "readme" not in text


@pytest.mark.real
def test_an_ab_test_is_listed_with_its_plan_and_not_with_a_series_of_the_same_number(tmp_path):
    add_run(tmp_path, "tiny/run-01_1")
    (tmp_path / "ab" / "tiny").mkdir(parents=True)
    (tmp_path / "ab" / "tiny" / "ab-01.md").write_text("# A/B\n\n**OK within 4.2 % of [A](run-01_2.md).**\n")
    (tmp_path / "ab" / "other").mkdir()
    (tmp_path / "ab" / "other" / "ab-01.md").write_text("# A/B\n")
    add_run(tmp_path, "ab/run-01_1")  # no place for a run, and no reason to lose it
    text = summary_of(tmp_path)
    head = text[text.index("## tiny") : text.index("### run-01", text.index("## tiny"))]
    assert "A/B tests:\n\n- [ab-01](ab/tiny/ab-01.md): OK within 4.2 % of A.\n" in head
    assert "## other\n\nA/B tests:\n\n- [ab-01](ab/other/ab-01.md)\n" in text
    assert "| [run-01_1](ab/run-01_1.md) |" in text


@pytest.mark.real
def test_a_level_does_not_repeat_the_name_of_its_sweep(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "sweep-07.md").write_text("# Sweep\n\n**50 users are within the goal.**\n")
    add_run(tmp_path, "tiny/run-07_1", note=level_note("sweep-07"))
    add_run(tmp_path, "tiny/run-07_2", note=f"threads 60\n\n{level_note('sweep-07')}")
    text = summary_of(tmp_path)
    assert "A level of" not in text
    assert "- [run-07_2](tiny/run-07_2.md): threads 60\n" in text


def test_the_reason_for_missing_metrics_does_not_repeat_the_run(tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "run-07_1.md").write_text("torn")
    assert "- [run-07_1](tiny/run-07_1.md): a Markdown file without a table;" in summary_of(tmp_path)


def test_a_title_cannot_break_the_page(tmp_path):
    add_run(tmp_path, "tiny/run-07_1", plan_title="a | b <b>c</b>\n# d", profile="x|y")
    text = summary_of(tmp_path)
    assert "a \\| b \\<b\\>c\\</b\\> # d" in text
    assert "| x\\|y |" in text


def test_an_empty_folder_has_an_empty_page():
    assert "# Summary\n\n0 runs.\n\n<!-- notes" in summary_page(Catalogue((), ()), "")
    assert "[sweep-01](sweeps/sweep-01.md)" in summary_page(
        Catalogue((), (Document("sweeps", "sweep-01", "sweep", Result()),)), ""
    )
