"""A site that is written again: it is as one that is written anew, and only what changed is rendered."""

import shutil
import time

import pytest

from harness.base import kept
from harness.history import files
from harness.history.files import read_catalogue
from harness.plan.thresholds import Thresholds
from harness.report.pages import write_page
from harness.site.files import write_site
from harness.site.pages import Site
from tests.support.report_folder import add_run, run_folder

pytestmark = pytest.mark.real  # seconds of CPU


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """Give the test a cache of its own, and let files be old at once."""
    monkeypatch.setattr(kept, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(kept, "_YOUNG_NS", -(10**9))


@pytest.fixture
def reports(tmp_path):
    """A folder of six runs in two plans, one of them without metrics, and a report about several runs."""
    folder = tmp_path / "reports"
    for number in range(1, 6):
        started = f"2026-01-0{number}T00:00:00Z"
        add_run(folder, f"shop/run-01_{number}", elapsed_ms=100 + number, started_at=started)
    run_folder(folder, "idle/run-01_1", state="running", started_at="2026-01-05T00:00:00Z")
    (folder / "shop/sweep-01.md").write_text("# Sweep\n\n**50 users.** See [it](run-01_3.md), [that](run-01_8.md).\n")
    (folder / "shop/sweep-01.json").unlink(missing_ok=True)
    return folder


@pytest.fixture
def rendered(monkeypatch):
    """The ids of the runs whose page was rendered."""
    ids = []
    real = Site.run

    def run(self, entry, *rest):
        ids.append(entry.id)
        return real(self, entry, *rest)

    monkeypatch.setattr(Site, "run", run)
    return ids


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def charts_of(tmp_path):
    charts = tmp_path / "charts/chart/1/dist"
    charts.mkdir(parents=True, exist_ok=True)
    (charts / "chart.min.js").write_text("")
    (charts.parent / "LICENSE.md").write_text("")
    return tmp_path / "charts"


def written(reports, tmp_path, name="site", thresholds=None):
    time.sleep(0.02)  # longer than the resolution of the times of files
    write_site(reports, tmp_path / name, charts_of(tmp_path), lambda _plan: thresholds or Thresholds())
    return tree(tmp_path / name)


def anew(reports, tmp_path, thresholds=None):
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    return written(reports, tmp_path, "anew", thresholds)


def add_newest(reports):
    add_run(reports, "shop/run-01_8", elapsed_ms=250, started_at="2026-01-08T00:00:00Z")


def add_first(reports):
    add_run(reports, "shop/run-01_9", elapsed_ms=90, started_at="2025-12-08T00:00:00Z")


def remove_one(reports):
    for path in (reports / "shop").glob("run-01_3*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def change_notes(reports):
    page = reports / "shop/run-01_2.md"
    write_page(page, lambda _: page.read_text() + "\nAnother line.\n")


def change_numbers(reports):
    path = reports / "shop/run-01_4.json"
    path.write_text(path.read_text().replace('"average_ms":', '"average_ms": 1', 1))


def rename_one(reports):
    for path in sorted((reports / "shop").glob("run-01_2*")):
        path.rename(path.with_name(path.name.replace("run-01_2", "run-02_1")))


def change_kept(reports):
    """The cache is of another version, cut short, or has no sense; no run changed."""
    for number, path in enumerate(sorted((reports.parent / "cache/kept").iterdir())):
        text = path.read_text()
        path.write_text(text[: len(text) // 2] if number else text.replace('"result":{', '"result":[{}],"other":{'))


def remove_kept(reports):
    shutil.rmtree(reports.parent / "cache")


def link_plan(reports):
    (reports / "shop").rename(reports.parent / "elsewhere")
    (reports / "shop").symlink_to(reports.parent / "elsewhere")
    add_image(reports)


def damage(reports):
    (reports / "shop/run-01_5.json").write_text("{")


def add_metrics(reports):
    shutil.rmtree(reports / "idle/run-01_1")
    add_run(reports, "idle/run-01_1", started_at="2026-01-05T00:00:00Z")


def change_document(reports):
    (reports / "shop/sweep-01.md").write_text("# Sweep\n\n**60 users.**\n")


def add_image(reports):
    (reports / "shop/run-01_1/later.svg").write_text("<svg/>")
    page = reports / "shop/run-01_1.md"
    page.write_text(page.read_text() + "\n![later](run-01_1/later.svg)\n")


OFTEN = (add_newest, rename_one, change_numbers)
SELDOM = (
    remove_one,
    change_document,
    remove_kept,
    add_first,
    change_notes,
    damage,
    add_metrics,
    add_image,
    link_plan,
    change_kept,
)


@pytest.mark.parametrize("change", [*OFTEN, *(pytest.param(one, marks=pytest.mark.counterpart) for one in SELDOM)])
def test_a_site_that_is_written_again_is_as_one_that_is_written_anew(reports, tmp_path, change):
    written(reports, tmp_path)
    change(reports)
    again = written(reports, tmp_path)
    assert again == anew(reports, tmp_path)
    assert written(reports, tmp_path) == again


def test_an_image_that_a_page_shows_is_copied_again_when_it_changes(reports, tmp_path):
    add_image(reports)
    written(reports, tmp_path)
    time.sleep(0.02)
    (reports / "shop/run-01_1/later.svg").write_text("<svg >")
    assert written(reports, tmp_path)["shop/run-01_1/later.svg"] == b"<svg >"
    (reports / "shop/run-01_1/later.svg").unlink()
    assert written(reports, tmp_path) == anew(reports, tmp_path)


def test_a_report_that_changes_while_it_is_young_is_rendered_again(reports, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_YOUNG_NS", 3600 * 10**9)
    written(reports, tmp_path)
    page = reports / "shop/sweep-01.md"
    page.write_text(page.read_text() + "\nAnother line.\n")
    assert b"Another line." in written(reports, tmp_path)["shop/sweep-01.html"]


def test_other_thresholds_make_other_pages(reports, tmp_path):
    written(reports, tmp_path)
    wide = Thresholds().changed({"average": 0.9, "p95": 0.9, "p90": 0.9})
    again = written(reports, tmp_path, thresholds=wide)
    assert again == anew(reports, tmp_path, wide)


def test_a_page_that_was_changed_by_hand_is_written_again(reports, tmp_path):
    before = written(reports, tmp_path)
    time.sleep(0.02)
    (tmp_path / "site/shop/run-01_2.html").write_text("<script>alert(1)</script>")
    assert written(reports, tmp_path) == before


def test_one_new_run_among_many_costs_its_page_and_that_of_its_neighbour(reports, tmp_path, rendered, monkeypatch):
    written(reports, tmp_path)
    assert len(rendered) == 6
    rendered.clear()
    written(reports, tmp_path)
    assert rendered == []
    read = []
    real = files.read_entry
    monkeypatch.setattr(files, "read_entry", lambda directory: read.append(directory.name) or real(directory))
    add_newest(reports)
    written(reports, tmp_path)
    assert sorted(rendered) == ["shop/run-01_5", "shop/run-01_8"]
    assert read == ["run-01_8"]


def test_a_copy_of_a_run_under_another_name_is_no_run(reports):
    shutil.copytree(reports / "shop/run-01_2", reports / "shop/run-01_2.old")
    assert len(read_catalogue(reports).entries) == 6


def test_many_runs_are_listed_as_few_are(reports, monkeypatch):
    paths = [reports / "shop" / f"run-01_{number}" for number in (3, 5, 1)]
    few = files.entries_at(reports, paths)
    monkeypatch.setattr(files, "_MANY", 2)
    for _ in range(2):
        assert files.entries_at(reports, paths) == [files._brief(entry) for entry in few]


def test_runs_that_are_kept_are_those_that_are_read(reports):
    first = read_catalogue(reports)
    assert read_catalogue(reports) == first
    assert any(entry.result for entry in first.entries)
    assert any(entry.problem for entry in first.entries)
