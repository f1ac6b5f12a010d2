"""What a reader of the site sees first, as a picture: the newest run, one sign per verdict, values with their unit."""

import re

import pytest

from harness.base.install.toolchain import ensure_charts
from harness.judge.result import MARKS, Tone
from harness.plan.goal import Goal
from harness.report.first_screen import SHAPES
from harness.site.files import write_report_page, write_run_page, write_site
from tests.support.paths import ROOT
from tests.support.report_folder import add_run

CSS = (ROOT / "harness" / "site" / "assets" / "site.css").read_text(encoding="utf-8")
pytestmark = pytest.mark.real


@pytest.fixture
def charts():
    """The real chart library."""
    return ensure_charts()


@pytest.fixture
def reports(tmp_path):
    reports = tmp_path / "reports"
    goal = Goal(p95_ms=50, error_ratio=0.01)
    add_run(reports, "shop/run-01_1", started_at="2026-11-27T10:00:00Z", goal=goal)
    add_run(reports, "other/run-01_1", started_at="2026-11-28T09:00:00Z")
    add_run(reports, "shop/run-01_2", started_at="2026-11-29T10:00:00Z", goal=goal)
    return reports


def opened(browser, path, width):
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(path.resolve().as_uri())
    return page


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_the_index_begins_with_the_newest_run_and_its_verdict(browser, reports, tmp_path, charts, width):
    write_site(reports, tmp_path / "site", charts)
    page = opened(browser, tmp_path / "site" / "index.html", width)
    newest = page.locator("main section").first
    assert newest.inner_text().split("\n")[0].strip() == "shop/run-01_2: VALID. Goal missed: p95 102 ms, goal 50 ms."
    box = newest.bounding_box()
    assert box["y"] + box["height"] < 400 and box["x"] + box["width"] <= width
    heads = page.locator("table.trends thead th").all_inner_texts()
    assert heads[:3] == ["plan", "newest run", "p95"]  # a phone shows these
    # The verdict of a run is the same word, sign and colour in both tables.
    chips = [page.locator(f"{table} tbody tr").first.locator(".state") for table in ("table.trends", "table.runs")]
    assert [one.inner_text() for one in chips] == ["GOAL MISSED", "GOAL MISSED"]
    assert len({one.evaluate("chip => getComputedStyle(chip).color") for one in chips}) == 1
    # No run has an earlier one of a week before with a change: no empty columns.
    cells = page.locator("table.trends tbody tr").first.locator("td").all_inner_texts()
    assert all(text.strip() for text in cells[:2])


def test_two_runs_side_by_side_are_chosen_at_first(browser, reports, tmp_path, charts):
    write_site(reports, tmp_path / "site", charts)
    page = opened(browser, tmp_path / "site" / "compare.html", 1000)
    page.get_by_role("heading", name="Verdict").wait_for()
    chosen = [page.locator(f"select[name={name}]").input_value() for name in ("base", "new")]
    assert chosen == ["shop/run-01_1", "shop/run-01_2"]


@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_a_tile_never_breaks_a_value_from_its_unit_and_all_has_the_same_edges(browser, reports, charts, width):
    for path in (
        write_run_page(reports_run(reports), charts),
        write_report_page(comparison(reports)),
    ):
        page = opened(browser, path, width)
        values = page.locator(".tiles dd:not(.why)")
        for value in values.all():
            assert value.evaluate("one => one.scrollWidth <= one.clientWidth"), value.inner_text()
            assert value.evaluate("one => one.getClientRects().length && one.offsetHeight < 50"), value.inner_text()
        edges = page.evaluate(
            "[...document.querySelectorAll('article > .tiles, article .chart, article .scroll')]"
            ".filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect())"
            ".map((box) => `${Math.round(box.left)} ${Math.round(box.right)}`)"
        )
        assert len(set(edges)) == 1, edges


def reports_run(reports):
    from harness.run.directory import RunDirectory

    return RunDirectory(reports / "shop" / "run-01_2")


def comparison(reports):
    from harness.cli.verbs import main

    main(["compare", "shop/run-01_1", "shop/run-01_2", "--save", f"--reports={reports}"], "aggregate.py")
    return reports / "shop" / "compare-run-01_1-run-01_2.md"


def test_a_line_at_0_ms_stays_in_the_frame_of_its_chart(browser, tmp_path, charts):
    directory = add_run(tmp_path, "fast/run-01_1", elapsed_ms=0, samples=600, seconds=120)
    page = opened(browser, write_run_page(directory, charts), 1000)
    page.locator("figure.chart canvas").first.wait_for()
    inside = page.evaluate(
        "shown.filter((one) => one.spec.cells).map(({ chart }) => chart.data.datasets.every((_, at) =>"
        " chart.getDatasetMeta(at).data.every(({ y }) => y >= chart.chartArea.top && y <= chart.chartArea.bottom)))"
    )
    assert inside == [True]


def test_each_verdict_has_one_sign_and_tone_on_terminal_markdown_and_pages():
    """CSS has no access to the table: so its signs are compared with it."""
    signs = {
        Tone(name): sign for name, sign in re.findall(r'^\.(good|doubt|bad) \.mark::before { content: "(.)"', CSS, re.M)
    }
    assert signs == {tone: shape for tone, shape in SHAPES.items() if shape}
    states = dict(re.findall(r'^\.state[.:](.+)::before { content: "(.) "', CSS, re.M))
    assert states == {
        "valid": SHAPES[Tone.GOOD],
        "is(.doubtful, .interrupted)": SHAPES[Tone.DOUBT],
        "is(.invalid, .goal-missed)": SHAPES[Tone.BAD],
    }
    assert set(MARKS) == set(SHAPES)
    for colours in re.findall(r"--good: .*", CSS):  # a doubt is amber, as in a terminal and as its mark in Markdown
        found = dict(re.findall(r"--(\w+): (#\w+)", colours))
        assert found["doubtful"] == found["warn"]
