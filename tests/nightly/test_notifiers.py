"""Notifiers of nightly runs: a new one is a function in a table, and one that fails stops nothing."""

from pathlib import Path

import pytest

from harness.base.errors import ServiceError
from harness.nightly import notifiers
from harness.nightly.files import NightlyFiles
from harness.nightly.notice import Notice
from harness.nightly.outcome import nightly_result
from tests.support.nights import ended, entries, night


@pytest.fixture
def notice(tmp_path: Path) -> Notice:
    files = NightlyFiles(tmp_path / "2026-11-21")
    files.report.write_text("# Nightly\n")
    return Notice(nightly_result(night(ended()), entries(100.0, 100.0), ()), "OK: 1 run.", files)


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
