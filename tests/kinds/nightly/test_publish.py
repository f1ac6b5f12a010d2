"""A report that is published after the runs: as one HTML file, and in the step summary of a workflow."""

from argparse import Namespace
from pathlib import Path

import pytest

from harness.experiment.files import ExperimentFiles
from harness.report.junit_files import JUnitFile
from harness.site.html_option import publish
from tests.support.commands import command
from tests.support.nightly_runs import ended, nightly_record


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "2026-11-21.md"
    path.write_text("# Nightly\n\n**OK.**\n")
    return path


def test_a_step_summary_that_cannot_be_written_is_reported(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    publish(report, Namespace(html=False, junit=JUnitFile()))
    said = f"{tmp_path}: the summary cannot be written (Is a directory); the report is complete\n"
    assert capsys.readouterr().out == said


def test_without_an_address_nothing_is_written(
    report: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert publish(report, Namespace(html=False, junit=JUnitFile())) is None
    assert capsys.readouterr().out == ""
    assert list(report.parent.iterdir()) == [report]


@pytest.mark.parametrize("missing", ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", ""])
def test_the_step_summary_links_the_report_as_one_file_only_where_github_stores_it(
    missing: str, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    for name, value in (
        ("GITHUB_STEP_SUMMARY", str(summary)),
        ("GITHUB_SERVER_URL", "https://github.example"),
        ("GITHUB_REPOSITORY", "owner/name"),
        ("GITHUB_RUN_ID", "12"),
    ):
        if name == missing:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    publish(report, Namespace(html=True, junit=JUnitFile()))
    link = "(https://github.example/owner/name/actions/runs/12#artifacts): `2026-11-21.html` in the artefacts"
    assert (link in summary.read_text()) is (not missing)
    publish(report, Namespace(html=False, junit=JUnitFile()))
    assert summary.read_text().count(link) == (0 if missing else 1)


def test_the_nightly_report_is_written_again_as_one_html_file(tmp_path: Path) -> None:
    record = nightly_record(ended())
    files = ExperimentFiles(tmp_path / record.name)
    files.write(record)
    done = command("aggregate.py", "nightly", record.name, "--reports", tmp_path, "--home", tmp_path, "--html")
    assert f"{record.name}.html: the report as one HTML file of " in done.stdout, done.stderr
    assert '<header class="judged ' in files.report.with_suffix(".html").read_text(encoding="utf-8")


def test_an_html_file_that_cannot_be_written_is_reported_and_ends_nothing(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    page = tmp_path / "2026-11-21.html"
    page.mkdir()
    assert publish(report, Namespace(html=True, junit=JUnitFile())) is None
    assert "2026-11-21.html cannot be written (Is a directory)" in capsys.readouterr().out
    page.rmdir()
    assert publish(report, Namespace(html=True, junit=JUnitFile())) == page
