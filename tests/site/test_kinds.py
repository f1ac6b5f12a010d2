"""The table of kinds of reports: what is added to it is numbered, listed in SUMMARY.md, and has a page in the site."""

from __future__ import annotations

import pytest

from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.run import kinds
from harness.run.directory import next_series, reserve
from harness.site.files import write_site
from tests.support.report_folder import add_run

DRILL = kinds.Kind("fire drill", "Fire drills", "drill", has_series=True)
PARADE = kinds.Kind("parade", "Parades", "parade", folder="parades", has_series=True)


@pytest.fixture(autouse=True)
def _added(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, DRILL, PARADE))


def add_report(reports, path, headline):
    report = reports / path
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(f"# {report.stem}\n\n**{headline}**\n", encoding="utf-8")


def test_an_added_kind_is_listed_in_the_summary(tmp_path):
    add_run(tmp_path, "tiny/run-07_1")
    add_report(tmp_path, "tiny/drill-07.md", "All left in time.")  # the series of the run
    add_report(tmp_path, "tiny/drill-08.md", "Two stayed.")
    add_report(tmp_path, "parades/tiny/parade-01.md", "In step.")
    write_summary(tmp_path)
    text = (tmp_path / SUMMARY_NAME).read_text(encoding="utf-8")
    assert "Fire drills:\n\n- [drill-08](tiny/drill-08.md): Two stayed.\n" in text
    assert "Parades:\n\n- [parade-01](parades/tiny/parade-01.md): In step.\n" in text
    assert "### run-07\n\n- [drill-07](tiny/drill-07.md): All left in time.\n" in text


def test_an_added_kind_has_pages_in_the_site_and_is_in_its_list(tmp_path, charts):
    add_run(tmp_path / "reports", "tiny/run-07_1")
    add_report(tmp_path / "reports", "tiny/drill-07.md", "All left in time.")
    add_report(tmp_path / "reports", "parades/tiny/parade-01.md", "In step.")
    write_site(tmp_path / "reports", tmp_path / "site", charts)
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    for title, page in (("Fire drills", "tiny/drill-07"), ("Parades", "parades/tiny/parade-01")):
        assert title in index
        assert f'href="{page}.html"' in index
        assert (tmp_path / "site" / f"{page}.html").is_file()


def test_the_runs_beside_an_added_kind_have_its_series_and_no_other_run_joins_them(tmp_path):
    for name in ("run-01_1", "drill-02", "run-02_1", "parade-03"):  # parades have a folder of their own
        (tmp_path / "tiny" / name).mkdir(parents=True)
    assert next_series(tmp_path / "tiny") == "03"
    assert reserve(tmp_path, "tiny", None).name == "run-01_2"


def test_a_name_belongs_to_one_kind():
    names = {kind.named("07"): kind for kind in kinds.KINDS}
    assert len(names) == len(kinds.KINDS)
    for name, kind in names.items():
        assert [one for one in kinds.KINDS if one.numbered.fullmatch(name)] == [kind]
        assert kind.rest_of(name) == "07"
