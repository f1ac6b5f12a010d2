"""The whole report of a run directory, made of literal files: what it contains, and that it is the same every time."""

import re
import shutil
import textwrap

import pytest

from harness.judge.summarise import summarise
from harness.report.charts.run_charts import run_charts
from harness.report.files import write_report
from harness.report.markdown import report
from tests.support.factories import failed, record, sample, tally_of
from tests.support.full_run import (
    CHARTS,
    HEAD,
    START_MS,
    add_profile,
    add_snapshots,
    files_of,
    jtl_row,
    run_directory,
    sections_of,
)
from tests.support.markdown_rows import cells_of, row_of, tables_of
from tests.support.paths import ROOT


def test_the_sections_are_in_reading_order(text):
    found = sections_of(text)
    assert found == [
        "The account", "Errors by cause", "Results", "Full tables", "Goals", "Response codes", "Over time",
        "Distribution of response times", "CPU and memory", "JVM heap", "Exceptions", "Set-up", "Notes", "Warnings",
    ]  # fmt: skip
    example = (ROOT / "docs" / "examples" / "a-whole-report.md").read_text(encoding="utf-8")
    # A run without failed requests, of a system that publishes metrics.
    expected = [section for section in found if section != "Errors by cause"]
    own = "Metrics that the system publishes"
    assert [section for section in sections_of(example) if section != own] == expected
    assert own in sections_of(example)


def test_the_measured_window_and_its_effect_are_above_the_table(text):
    # Both users are there from second 10 on, which is the ramp's last; the last second is the tail.
    assert "Measured window: 11 s to 99 s of 100 s (steady); excluded: ramp-up 11 s, last second." in text
    # The whole run: 10 of one user and 2 * 90 of both, in 99.9 s. The window: 2 a second for 88 s.
    assert "1.90 → 2.00 req/s, 190 → 176 samples." in text
    assert text.index("Measured window:") < text.index("### Load\n") < text.index("### Load, the whole run")


def test_the_table_of_the_load_has_p95_and_p99_and_covers_the_window_only(text):
    load = text[text.index("### Load\n") : text.index("### Load, the whole run")]
    assert re.search(r"p90 ms \| p95 ms \[\^\d+] \| p99 ms \[\^\d+] \|", load)
    times, rates = (rows[-1] for rows in tables_of(text, "### Load")[:2])
    assert cells_of([times], "label", "count", "average ms", "p95 ms", "p99 ms") == [
        ["TOTAL", "176", "900", "900", "900"]
    ]
    assert cells_of([rates], "label", "errors %", "errors", "req/s") == [["TOTAL", "0.57", "1", "2.00"]]
    assert row_of(text, "TOTAL", "### Load, the whole run")["count"] == "190"


def test_errors_have_their_times_and_one_message_if_it_adds_to_the_cause(text):
    assert "| Pay | 500 | no card … | no card 4711 | 1 | 43.0 | 43.0 |" in text
    assert "| Tenant | 201 | x |  | 1 | -3.0 | -3.0 |" in text


def test_every_chart_is_a_file_that_the_report_links_with_a_description(reported, text):
    images = re.findall(r"^!\[(.+)\]\((.+)\)$", text, re.M)
    assert [path for _, path in images] == [f"run-01_1/{name}.svg" for name in CHARTS]  # each once, the first on top
    for description, path in images:
        assert (reported.report.parent / path).read_text().startswith("<svg ")
        assert re.search(r"\d", description), description


def test_charts_over_time_share_one_axis_and_shade_the_window(reported):
    for name in CHARTS:
        chart = (reported.path / f"{name}.svg").read_text()
        if name != "distribution":
            assert "0 to 100 s" in chart, name
            assert "window: 11 to 99 s" in chart, name


def test_heap_and_exceptions_are_reported_and_a_missing_log_does_not_mean_no_exceptions(text):
    # Points at 20, 30 … 90 s, two each: from 100 to 300 MB and back, 200 MB on average over time.
    assert "| shop | 200 | 100-300 | 512 | 512-512 | 1024 | 1024-1024 | 16 |" in text
    assert "- till: the recording till.jfr is missing" in text
    assert (
        "| shop.log | java.lang.IllegalStateException, caused by java.net.SocketTimeoutException: no card 4711 "
        "| 1 | 2 |\n" in text
    )
    assert "Not known: gone.log is missing." in text


@pytest.mark.real
def test_a_log_without_exceptions_has_none_and_a_system_without_logs_has_no_section(tmp_path):
    quiet = run_directory(tmp_path / "quiet", record(exception_logs=("shop.log",)))
    (quiet.system_logs / "shop.log").write_text("INFO started\n")
    write_report(quiet)
    assert "None in shop.log, from the system's start to its end" in quiet.report.read_text()
    silent = run_directory(tmp_path / "silent", record())
    write_report(silent)
    assert "Exceptions" not in silent.report.read_text()


def test_every_footnote_is_referenced_and_numbered_in_page_order(text):
    body, notes = text.split("## Warnings")
    numbers = [int(number) for number in re.findall(r"^\[\^(\d+)\]: ", notes, re.M)]
    assert numbers == list(range(1, len(numbers) + 1))
    first_seen = list(dict.fromkeys(int(number) for number in re.findall(r"\[\^(\d+)\]", body)))
    assert first_seen == numbers


def test_warnings_are_marked_at_the_metrics_they_concern(text):
    notes = {note.split(":")[0]: number for number, note in re.findall(r"^\[\^(\d+)\]: (.+)$", text, re.M)}

    def mark(start):
        return f"[^{next(number for note, number in notes.items() if note.startswith(start))}]"

    def line(start):
        return next(line for line in text.splitlines() if line.startswith(start))

    assert mark("Closed model") in line("- load:")
    assert mark("A stand-in") in line("- system:")
    assert mark("The load generator used") in line("| jmeter ")
    assert mark("Other programs used") in line("| host, all processes ")
    assert mark("Code 202") in line("| Pay | 202")
    assert "[^" not in line("| Pay | 201")


def first_screen(text):
    """Return the first 40 lines of a report, 80 columns wide; GitHub hides comments, and rows of tables scroll."""
    lines = [line for line in text.splitlines() if not line.startswith("<!--")]
    return [
        part
        for line in lines
        for part in ([line] if line.startswith("|") or not line else textwrap.wrap(line, 80, subsequent_indent="  "))
    ][:40]


def test_the_first_screen_has_verdict_goals_metrics_and_warnings(text):
    screen = first_screen(text)
    plain = " ".join(part.strip() for part in screen)
    answer = "⚠️ **DOUBTFUL: The load generator used 85 % of the 2 cores, and 1 more doubt.**"
    order = [
        answer,
        "2 of 2 goals met.",
        "![Response time",
        "| TOTAL |",
        "**What weakens it:**",
        "**What to do next:**",
    ]
    positions = [plain.find(part) for part in order]
    assert -1 not in positions
    assert positions == sorted(positions)
    assert "Load: closed model, 2 users, ramp 1 s, 50 loops each. Measured window: 11 s to 99 s" in plain
    # 2 a second for 88 s.
    rows = [row_of("\n".join(screen), name) for name in ("Pay", "TOTAL")]
    expected = ["176", "2.00", "900", "900", "0.57"]
    assert cells_of(rows, "count", "req/s", "p50 ms", "p95 ms", "errors %") == [expected] * 2
    assert "Most frequent error: Pay: 500 no card … (1 time)." in plain
    for line in (
        "- The load generator used 85 % of the 2 cores",
        "- Other programs used 12 % of this machine's CPU",
    ):
        assert line in plain, line
    assert "[^" not in plain


def test_the_first_screen_of_a_run_with_many_labels_has_those_with_errors_and_the_slowest():
    samples = [sample(f"Page {number:02}", elapsed_ms=100 + number, start_ms=START_MS) for number in range(1, 21)]
    made = summarise(tally_of([*samples, failed("Log in", elapsed_ms=1, start_ms=START_MS)]), "x", record())
    screen = first_screen(report(made, run_charts(made), "", "x"))
    labels = [line.split(" | ")[0].removeprefix("| ") for line in screen if line.startswith(("| Page", "| Log"))]
    assert labels == [*(f"Page {number}" for number in range(12, 21)), "Log in"]
    assert "11 more labels with fewer errors or a lower p95: see the full tables." in screen


def test_a_warning_with_text_of_the_system_cannot_break_the_page(tmp_path):
    made = run_directory(tmp_path, record(plan_notes=("*bold* [^1]: <b> | x",)))
    write_report(made)
    assert r"\*bold\* \[^1\]: \<b\> \| x" in made.report.read_text()


def test_the_same_run_in_another_folder_gives_the_same_bytes(tmp_path, directory):
    other = run_directory(tmp_path / "somewhere" / "else")
    write_report(other)
    assert files_of(other) == files_of(directory)
    assert len(files_of(other)) == 2 + len(CHARTS)
    assert not any(str(tmp_path).encode() in content for content in files_of(other).values())


def test_a_report_is_rendered_again_from_its_json_alone_with_the_same_bytes(directory):
    before = files_of(directory)
    shutil.rmtree(directory.path)  # as in a clone without the run directories
    write_report(directory)
    assert files_of(directory) == before
    directory.report.unlink()
    write_report(directory)  # the note of run.json comes back
    assert files_of(directory) == before


def test_notes_are_preserved_and_obsolete_charts_are_removed(directory):
    directory.report.write_text(directory.report.read_text().replace("first try", "second thoughts"))
    (directory.path / "plan-of-the-site.svg").write_text("<svg/>")
    (directory.path / "heap.csv").unlink()
    write_report(directory)
    assert "second thoughts" in directory.report.read_text()
    assert not (directory.path / "heap.svg").exists()
    assert (directory.path / "plan-of-the-site.svg").exists()


def test_a_run_without_a_sample_of_the_load_has_a_report_without_charts(tmp_path):
    made = run_directory(tmp_path, samples="\n".join([HEAD, jtl_row(0, 1, label="Tenant", thread="setUp")]) + "\n")
    summary = write_report(made)
    text = made.report.read_text()
    assert summary.timeline is None
    assert "## Over time" not in text
    assert "![" not in text
    assert "No sample of the load." in text
    assert list(made.path.glob("*.svg")) == []


def test_git_keeps_the_charts_of_a_run_and_nothing_else_of_its_directory():
    lines = (ROOT / ".gitignore").read_text().splitlines()
    assert lines.index("reports/*/run-*/*") < lines.index("!reports/*/run-*/*.svg")


@pytest.mark.real
def test_a_profiled_run_shows_where_the_time_went(directory):
    add_profile(directory)
    write_report(directory)
    text = directory.report.read_text(encoding="utf-8")
    sections = sections_of(text)
    assert sections[sections.index("JVM heap") + 1 :][:3] == [
        "Where the time went",
        "Methods, statements and slowest samples",
        "Metrics that the system publishes",
    ]
    assert "| shop.Cart.sum | 100.0 | 100.0 |" in text
    assert "2.0 per sample of the load" in text
    assert "| in use |  | 30 | 20-40 |  |  |\n| pauses | ms |  |  | 10 | 200 |" in text
    assert text.count("| Pay | Users 1-") == 20
    add_snapshots(directory)
    write_report(directory)
    # Two samples end each second: 1.96 of them in the 980 ms of the first, 78 in 39 s, 1 in 500 ms of the last.
    text = directory.report.read_text(encoding="utf-8")
    assert "Statements: 162 in 40.5 s of the window, from 20 s to 60.5 s after the start of the load" in text
    assert "in which 81 requests ended, 2.0 per request; together 40 ms." in text
    assert "| COMMIT | 162 | 2.00 | 40 | 0.50 | 0.25 | ≤ 9.00 |" in text


def test_the_machine_has_a_row_for_each_figure_that_is_known(directory):
    write_report(directory)
    report = directory.report.read_text(encoding="utf-8")
    rows = (
        "| host, all processes | iowait % of one core | 5.0 | 5.0-5.0 |",
        "| host, all processes | run queue | 3.0 | 3.0-3.0 |",
    )
    assert "\n".join(("| machine | resource | mean | range |", "| --- | --- | ---: | ---: |", *rows, "")) in report
