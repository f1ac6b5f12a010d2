"""The table of a run's charts: what is added to it is in the report, its folder, the site, and the single file."""

import json

import pytest

from harness.report.charts import run_charts
from harness.report.charts.over_time import series
from harness.report.charts.run_charts import MACHINE, RunChart
from harness.report.charts.run_data import Plotted
from harness.report.files import write_report
from harness.site.files import write_run_page, write_site
from tests.support.report_folder import add_run


def halves(source):
    """Yield two charts: half of the samples of each bucket, and the other half."""
    for number, name in ((1, "first"), (2, "second")):
        counts = [count / 2 for count in source.timeline.sample_count]
        yield Plotted([series(f"the {name} half", source.middles_s, counts)], name, number)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run whose report has the added charts."""
    added = RunChart("halves", MACHINE, "The {} half", "samples", halves)
    monkeypatch.setattr(run_charts, "CHARTS", (*run_charts.CHARTS, added))
    return add_run(tmp_path / "reports", "tiny/run-07_1", samples=20)


def test_an_added_chart_is_in_the_report_and_in_its_folder(run):
    text = run.report.read_text(encoding="utf-8")
    part = text.split("<summary>CPU and memory</summary>\n")[1].split("</details>")[0]
    assert "![The first half: samples over time since the load began" in part
    assert "(run-07_1/halves-1.svg)" in part
    svg = (run.path / "halves-2.svg").read_text(encoding="utf-8")
    assert ">The second half</title>" in svg
    assert "the second half: least 0.5, most 0.5, last 0.5." in svg


def test_an_added_chart_can_be_zoomed_in_the_site_and_in_the_single_file(run, tmp_path, charts):
    write_site(tmp_path / "reports", tmp_path / "site", charts)
    page = (tmp_path / "site" / "tiny" / "run-07_1.html").read_text(encoding="utf-8")
    script = (tmp_path / "site" / "data" / "tiny" / "run-07_1.js").read_text(encoding="utf-8")
    single = write_run_page(run, charts).read_text(encoding="utf-8")
    for html in (page, single):
        assert '<figure class="chart" data-chart="halves-1">' in html
    data = json.loads(script.removeprefix("addRun(").removesuffix(");\n"))
    (chart,) = [one for one in data["charts"] if one["key"] == "halves-2"]
    assert (chart["title"], chart["unit"], chart["xUnit"]) == ("The second half", "samples", "s")
    assert chart["lines"][0]["x"][:2] == [0.5, 1.5]
    assert chart["lines"][0]["y"][:2] == [0.5, 0.5]


def test_a_chart_that_has_no_data_any_more_is_deleted(run, monkeypatch):
    *others, added = run_charts.CHARTS
    monkeypatch.setattr(run_charts, "CHARTS", (*others, added._replace(data=lambda _source: ())))
    (run.path / "foreign.svg").write_text("<svg/>")
    write_report(run)
    assert not list(run.path.glob("halves*"))
    assert (run.path / "foreign.svg").is_file()
    assert "halves" not in run.report.read_text(encoding="utf-8")


def test_the_first_chart_is_the_one_at_the_top_of_the_page():
    assert run_charts.CHARTS[0].name == "response-time"


def test_no_chart_needs_a_section_that_the_report_does_not_have():
    assert {kind.section for kind in run_charts.CHARTS} == set(run_charts.SECTIONS)
