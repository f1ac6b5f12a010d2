"""The result of a report about several runs: its JSON has it, and pages about it read it there."""

import json
from pathlib import Path

import pytest

from harness.experiment.files import ExperimentFiles
from harness.experiment.record import RUNNING
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.judge.result import Result
from harness.kinds.nightly.report_files import write_nightly_report
from harness.kinds.overload.record import OverloadRecord
from harness.kinds.overload.render import write_overload_report
from harness.kinds.trust.known import known
from harness.report.results import stated_result, with_headline, write_result
from harness.run.directory import load_record
from harness.site.files import write_report_page, write_site
from harness.sweep.sources import read_sweep
from tests.support.nightly_runs import ended, nightly_record
from tests.support.overloads import RECORD as OVERLOAD
from tests.support.sweep_reports import save_run, written
from tests.support.sweeps import SWEEP_RECORD


def store(report: Path, **data: str) -> Path:
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("# Title\n\nwords **not this**\n\n**IMPROVED after 2 pairs.** [^1]\n")
    if data:
        report.with_suffix(".json").write_text(json.dumps(data))
    return report


def test_the_json_has_the_result_and_the_markdown_of_it_does_not_matter(tmp_path):
    report = store(tmp_path / "ab-01.md", state="finished", verdict="REGRESSED", headline="p90 of a_b is worse.")
    assert stated_result(report) == Result(verdict="REGRESSED", headline="p90 of a_b is worse.")


def test_a_verdict_of_runs_in_progress_is_interrupted_and_without_a_verdict_there_is_none(tmp_path):
    report = store(tmp_path / "ab-01.md", state="running", verdict="OK", headline="so far *OK*")
    assert stated_result(report) == Result(verdict="INTERRUPTED", headline="so far *OK*")
    report = store(tmp_path / "overload-01.md", state="running", verdict="", headline="1 of 2")
    assert stated_result(report) == Result(headline="1 of 2")


@pytest.mark.parametrize("data", [{}, {"state": "finished"}, {"verdict": "OK"}], ids=["none", "older", "half"])
def test_a_report_of_an_earlier_version_has_its_result_in_its_markdown(tmp_path, data):
    result = stated_result(store(tmp_path / "sweep-01.md", **data))
    assert result == Result(verdict="IMPROVED", headline="IMPROVED after 2 pairs.")


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("OK within 3 %: x", "OK"),
        ("OK, better: x", "OK"),
        ("CANNOT TELL after 4 pairs", "CANNOT TELL"),
        ("INTERRUPTED, so far OK: x", "INTERRUPTED"),
        ("VALID. Goal met.", "VALID"),
        ("50 users meet the goal.", ""),
        ("OKAPI-3: best 3 req/s", "OKAPI"),  # no verdict that anything knows
    ],
)
def test_the_verdict_of_an_earlier_version_is_how_its_headline_begins(tmp_path, line, verdict):
    (tmp_path / "compare-1.md").write_text(f"# x\n\n**{line}**\n")
    assert stated_result(tmp_path / "compare-1.md") == Result(verdict=verdict, headline=line)


def test_a_report_without_a_bold_line_or_without_a_file_has_no_result(tmp_path):
    (tmp_path / "history-1.md").write_text("# Title\n")
    assert stated_result(tmp_path / "history-1.md") == stated_result(tmp_path / "gone.md") == Result()


def test_the_json_beside_a_report_is_written_again_and_any_other_file_there_is_kept(tmp_path):
    report = tmp_path / "levels.md"
    data = {"format_version": 1, "command": "lth sweeps a b"}
    for number in (1, 2):
        write_result(report, {**data, "result": Result(headline=f"answer {number}")})
        assert stated_result(report).headline == f"answer {number}"
    for other in ('{"format_version": 1, "command": "lth sweep", "state": "finished"}', "[1]", "no JSON", '{"a": 1}'):
        report.with_suffix(".json").write_text(other)
        write_result(report, data)
        assert report.with_suffix(".json").read_text() == other
    write_result(tmp_path / "page.json", data)  # a report of this name is not overwritten
    assert not (tmp_path / "page.json").exists()


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("# T\n\n**old**\n\ntext **b**\n", "# T\n\n**n\\*w**\n\ntext **b**\n"),
        ("# T\n\n**old**\n\n**of another variant**\n\n## S\n", "# T\n\n**n\\*w**\n\n## S\n"),
        ("# T\n\n**old**\n", "# T\n\n**n\\*w**\n\n"),
        ("# T\n\n❌ **old**\n\n**What to do next:**\n", "# T\n\n**n\\*w**\n\n**What to do next:**\n"),
        ("# T\n\ntext\n", "# T\n\ntext\n"),
    ],
)
def test_a_report_is_shown_with_the_headline_of_its_result(markdown, shown):
    assert with_headline(markdown, Result(headline="n*w")) == shown
    assert with_headline(markdown, Result()) == markdown


@pytest.fixture
def sweep(tmp_path):
    """The report of a finished sweep, whose first line in bold is another one by now."""
    reports = tmp_path / "reports"
    for number, users in enumerate(SWEEP_RECORD.users, 1):
        save_run(reports / "tiny", f"run-07_{number}", users, 100)
    before = written(reports)
    report = reports / "tiny" / "sweep-07.md"
    result = stated_result(report)
    assert f"\n✅ **{result.headline}**\n" in before
    report.write_text(before.replace(f"**{result.headline}**", "**another one**", 1))
    return report


@pytest.mark.real
def test_summary_and_site_print_the_result_of_a_sweep_from_its_json(sweep, tmp_path, charts):
    headline = stated_result(sweep).headline
    assert read_sweep(sweep.with_suffix(".json")).sweep.record == SWEEP_RECORD  # it is still a record
    write_summary(sweep.parents[1])
    assert f"- [sweep-07](tiny/sweep-07.md): {headline}\n" in (sweep.parents[1] / SUMMARY_NAME).read_text()
    write_site(sweep.parents[1], tmp_path / "site", charts)
    assert headline.partition(":")[0] in (tmp_path / "site" / "index.html").read_text()
    assert "another one" not in (tmp_path / "site" / "index.html").read_text()


def test_the_colour_of_the_banner_is_that_of_the_verdict_in_the_json(tmp_path):
    report = store(tmp_path / "ab-01.md", state="finished", verdict="REGRESSED", headline="worse")
    page = write_report_page(report).read_text()
    assert (
        '<header class="judged bad">\n<p><span class="mark" aria-hidden="true"></span> <strong>worse</strong></p>'
        in page
    )
    assert "IMPROVED" not in page


def test_the_records_of_nightly_runs_and_overload_tests_have_their_result_when_it_is_final(tmp_path):
    nightly = ExperimentFiles(tmp_path / "nightly" / "2026-11-21")
    for state in (RUNNING, "finished"):
        nightly.folder.mkdir(parents=True, exist_ok=True)
        nightly.write(nightly_record(ended(), state=state))
        result = write_nightly_report(nightly, tmp_path, known)
        assert ("result" in json.loads(nightly.record.read_text())) == (state == "finished")
        before = "INTERRUPTED" if state == RUNNING else result.verdict
        assert stated_result(nightly.report).verdict == before
    overload = ExperimentFiles(tmp_path / "shop" / "overload-07")
    overload.folder.mkdir(parents=True)
    overload.write(OVERLOAD)
    write_overload_report(overload, OVERLOAD)
    assert load_record(OverloadRecord, overload.record) == OVERLOAD
    found = stated_result(overload.report)
    assert (found.verdict, found.headline) == ("INTERRUPTED", "INTERRUPTED: 0 of 2 variants measured.")
