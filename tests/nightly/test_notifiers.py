"""Notifiers of nightly runs: a new one is a function in a table, and one that fails stops nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import ServiceError
from harness.commands.nightly import html_page
from harness.nightly import notifiers
from harness.nightly.files import NightlyFiles
from harness.nightly.notice import Notice
from harness.nightly.outcome import nightly_result
from tests.support.commands import command
from tests.support.nightly_runs import ended, entries, nightly_record


@pytest.fixture
def notice(tmp_path: Path) -> Notice:
    files = NightlyFiles(tmp_path / "2026-11-21")
    files.report.write_text("# Nightly\n")
    return Notice(nightly_result(nightly_record(ended()), entries(100.0, 100.0), ()), "OK: 1 run.", files)


def test_an_added_notifier_gets_the_result_and_the_headline_although_another_one_fails(
    notice: Notice, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[str] = []

    def fails(_: Notice) -> None:
        raise ServiceError("chat: the server failed", "the nightly report is written")

    def fake(notice: Notice) -> None:
        got.append(f"{notice.result.verdict} {notice.headline} {notice.files.report.name}")

    monkeypatch.setattr(notifiers, "NOTIFIERS", (*notifiers.NOTIFIERS, fails, fake))
    said: list[str] = []
    notifiers.notify_all(notice, said.append)
    assert got == ["OK OK: 1 run. 2026-11-21.md"]
    assert said == ["chat: the server failed; the nightly report is written"]


def test_a_step_summary_that_cannot_be_written_is_reported(
    notice: Notice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    said: list[str] = []
    notifiers.notify_all(notice, said.append)
    assert said == [f"{tmp_path}: the summary cannot be written (Is a directory); the report is complete"]


def test_without_an_address_nothing_is_sent(notice: Notice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    said: list[str] = []
    notifiers.notify_all(notice, said.append)
    assert said == []
    assert list(notice.files.report.parent.iterdir()) == [notice.files.report]


@pytest.mark.parametrize("missing", ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID", ""])
def test_the_step_summary_links_the_report_as_one_file_only_where_github_stores_it(
    missing: str, notice: Notice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
    notifiers.notify_all(replace(notice, page=tmp_path / "2026-11-21.html"), pytest.fail)
    link = "(https://github.example/owner/name/actions/runs/12#artifacts): `2026-11-21.html` in the artefacts"
    assert (link in summary.read_text()) is (not missing)
    notifiers.notify_all(notice, pytest.fail)
    assert summary.read_text().count(link) == (0 if missing else 1)


def test_the_nightly_report_is_written_again_as_one_html_file(tmp_path: Path) -> None:
    record = nightly_record(ended())
    files = NightlyFiles(tmp_path / record.name)
    files.write(record)
    done = command("aggregate.py", "nightly", record.name, "--reports", tmp_path, "--home", tmp_path, "--html")
    assert f"{record.name}.html: the report as one HTML file of " in done.stdout, done.stderr
    assert '<div class="judged ' in files.report.with_suffix(".html").read_text(encoding="utf-8")


def test_an_html_file_that_cannot_be_written_is_reported_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "2026-11-21.md"
    report.write_text("# Nightly\n\n**OK.**\n")
    (tmp_path / "2026-11-21.html").mkdir()
    assert html_page(report) is None
    assert "2026-11-21.html cannot be written (Is a directory)" in capsys.readouterr().out
    (tmp_path / "2026-11-21.html").rmdir()
    assert html_page(report) == tmp_path / "2026-11-21.html"
