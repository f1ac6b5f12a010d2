"""The site in a real browser, opened from the disk."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT
from tests.support.processes import becomes, wait_for
from tests.support.report_folder import add_run, run_folder

pytestmark = pytest.mark.real

LABEL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a site of seven runs in three plans, as make site leaves it."""
    folder = tmp_path_factory.mktemp("site")
    reports = folder / "reports"
    for run, elapsed_ms, changes in (
        ("shop/run-07_1", 100, {"started_at": "2026-01-01T00:00:00Z", "note": "threads 60"}),
        ("shop/run-07_2", 150, {"started_at": "2026-01-02T00:00:00Z", "system_facts": (("heap", "1024 MB"),)}),
        ("shop/run-07_10", 80, {"started_at": "2026-01-03T00:00:00Z", "users": 50, "failures": 120}),
        ("doubt/run-01_1", 85, {"started_at": "2025-12-30T00:00:00Z"}),
        ("doubt/run-01_2", 120, {"started_at": "2025-12-31T00:00:00Z", "samples": 60}),
    ):
        add_run(reports, run, **{"elapsed_ms": elapsed_ms, "samples": 120, "seconds": 60, **changes})
    evil = {"note": f"{LABEL} [x](javascript:alert(2)) ![p](https://example.org/p.png)", "plan_title": LABEL}
    add_run(reports, "evil/run-01_1", label=LABEL, started_at="2026-01-04T00:00:00Z", **evil)
    run_folder(reports, "evil/run-01_2", state="running", started_at="2026-01-05T00:00:00Z")
    (reports / "shop" / "sweep-07.md").write_text("# Sweep\n\n**50 users.**\n\n| users | req/s |\n| --- | ---: |\n")
    subprocess.run(
        [sys.executable, str(ROOT / "aggregate.py"), "site", str(reports), "--output", str(folder / "out")], check=True
    )
    return (folder / "out").as_uri()


@pytest.fixture(params=["light"])
def page(browser, site, request):
    """A page that fails the test on any error, on any request that leaves the site, and on any script of a label's."""
    context = browser.new_context(color_scheme=request.param, viewport={"width": 1300, "height": 900})
    opened = context.new_page()
    wrong = []
    opened.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda sent: None if sent.url.startswith(site) else wrong.append(sent.url))
    opened.on("requestfailed", lambda sent: wrong.append(f"not there: {sent.url}"))
    opened.on("dialog", lambda dialog: (wrong.append(f"a script ran: {dialog.message}"), dialog.dismiss()))
    yield opened
    context.close()
    assert wrong == []


def shown(page):
    return page.locator("#runs tbody tr:visible th a").all_inner_texts()


def test_the_list_has_every_run_newest_first_and_filters_narrow_it(page, site):
    page.goto(f"{site}/index.html")
    everything = ["evil/run-01_2", "evil/run-01_1", "shop/run-07_10", "shop/run-07_2", "shop/run-07_1"]
    everything += ["doubt/run-01_2", "doubt/run-01_1"]
    becomes(lambda: shown(page), everything)
    page.get_by_label("Plan").select_option("shop")
    becomes(lambda: shown(page), everything[2:5])
    page.get_by_label("Verdict").select_option("invalid")
    becomes(lambda: shown(page), ["shop/run-07_10"])
    becomes(page.locator("#shown").inner_text, "1 of 7 shown")
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Verdict").select_option("doubtful")
    becomes(lambda: shown(page), ["doubt/run-01_2"])
    page.get_by_role("button", name="Clear").click()
    becomes(lambda: shown(page), everything)
    page.get_by_label("Text").fill("THREADS")
    becomes(lambda: shown(page), ["shop/run-07_1"])
    page.get_by_label("Text").fill("")
    page.get_by_label("Users").select_option("50")
    becomes(lambda: shown(page), ["shop/run-07_10"])


def test_a_column_title_sorts_by_number_with_unknown_values_last(page, site):
    page.goto(f"{site}/index.html")
    head = page.locator("th", has_text="average ms")
    head.get_by_role("button").click()
    becomes(lambda: head.get_attribute("aria-sort"), "descending")
    slowest_first = shown(page)
    assert slowest_first[:2] == ["shop/run-07_2", "doubt/run-01_2"]
    assert sorted(slowest_first[2:4]) == ["evil/run-01_1", "shop/run-07_1"]  # equally slow
    assert slowest_first[4:] == ["doubt/run-01_1", "shop/run-07_10", "evil/run-01_2"]
    head.get_by_role("button").press("Enter")
    becomes(lambda: head.get_attribute("aria-sort"), "ascending")
    assert (shown(page)[0], shown(page)[-1]) == ("shop/run-07_10", "evil/run-01_2")
    page.locator("#runs th", has_text="run").first.get_by_role("button").click()
    becomes(lambda: shown(page)[4:], ["shop/run-07_1", "shop/run-07_2", "shop/run-07_10"])  # not 1, 10, 2


def test_a_run_has_its_report_and_charts_that_zoom_together(page, site):
    page.goto(f"{site}/index.html")
    page.get_by_role("link", name="shop/run-07_2").click()
    assert page.locator("h1").inner_text() == "shop/run-07_2"
    assert page.locator("article strong").first.inner_text().startswith("VALID")
    charts = page.locator("figure.chart")
    assert charts.count() == 3  # response times, throughput, distribution
    ranges = charts.locator("output")
    becomes(ranges.all_inner_texts, [""] * 3)
    charts.first.scroll_into_view_if_needed()
    box = charts.first.locator("canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 80)
    page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 90)
    page.mouse.up()
    wait_for(ranges.first.inner_text)
    first = ranges.first.inner_text()
    low, high = (
        int(minutes) * 60 + int(seconds) for minutes, seconds in (end.split(":") for end in first.split(" to "))
    )
    assert 15 < low < 30 < high < 45  # of 60 s
    becomes(ranges.all_inner_texts, [first] * 2 + [""])  # the distribution is not over time
    page.get_by_role("button", name="Throughput: show all").click()
    becomes(ranges.all_inner_texts, [""] * 3)


def test_charts_can_be_zoomed_and_moved_with_the_keyboard_alone(page, site):
    page.goto(f"{site}/shop/run-07_2.html")
    chart = page.get_by_role("img", name="Response time: ms over time")
    ranges = page.locator("figure.chart output")
    chart.focus()
    chart.press("+")
    becomes(ranges.first.inner_text, "0:15 to 0:45")
    chart.press("ArrowRight")
    becomes(ranges.first.inner_text, "0:23 to 0:53")
    chart.press("-")
    becomes(ranges.first.inner_text, "")
    chart.press("+")
    chart.press("0")
    becomes(ranges.first.inner_text, "")


def test_two_runs_chosen_in_the_list_are_side_by_side_with_their_change(page, site):
    page.goto(f"{site}/index.html")
    page.get_by_label("shop/run-07_2 for side by side").check()
    page.get_by_label("evil/run-01_1 for side by side").check()
    page.get_by_label("shop/run-07_1 for side by side").check()  # a third takes the place of the first
    page.get_by_label("evil/run-01_1 for side by side").uncheck()
    page.get_by_label("shop/run-07_2 for side by side").check()
    page.locator("#choice").get_by_role("link", name="Side by side").click()
    page.get_by_role("heading", name="TOTAL of the load").wait_for()
    total = page.locator("section", has_text="TOTAL of the load").locator("table").first
    assert total.locator("thead th").all_inner_texts() == ["", "shop/run-07_1", "shop/run-07_2", "change %"]
    rows = {row[0]: row[1:] for row in (line.split("\t") for line in total.locator("tbody tr").all_inner_texts())}
    # In the measurement window as many of 100 as of 101 and 102 ms. A change that cannot be told has no sign.
    assert rows["average ms"] == ["101", "151", ""]
    assert rows["errors %"] == ["0.00", "0.00", ""]
    setup = page.locator("section", has_text="Set-up differences").locator("tbody tr")
    becomes(setup.all_inner_texts, ["heap\t512 MB\t1024 MB"])
    becomes(page.locator("figure.chart canvas").count, 4)  # p50, p95, throughput, distribution
    page.get_by_role("button", name="Swap").click()
    becomes(total.locator("thead th").all_inner_texts, ["", "shop/run-07_2", "shop/run-07_1", "change %"])


def test_next_to_a_doubtful_run_nothing_is_marked_and_the_verdict_comes_first(page, site):
    page.goto(f"{site}/compare.html#doubt/run-01_1&doubt/run-01_2")
    verdict = page.locator(".verdict")
    becomes(verdict.inner_text, "CANNOT TELL: doubt/run-01_2 is DOUBTFUL.")
    assert page.locator(".delta", has_text="+").count() == 0
    assert page.locator(".delta.worse, .delta.better").count() == 0
    assert page.get_by_text("Nothing differs.").count() == 0
    page.get_by_text("doubt/run-01_2: Too few samples: 58 ").wait_for()


def test_runs_of_other_loads_are_reported_as_not_comparable(page, site):
    page.goto(f"{site}/compare.html#shop/run-07_1&shop/run-07_10")
    page.get_by_text("These runs differ in plan or load").wait_for()


def test_an_address_cannot_make_the_page_load_anything_but_runs_of_the_site(page, site):
    page.goto(f"{site}/compare.html#../evil&https://example.org/x")
    assert page.get_by_label("Baseline").input_value() == ""
    assert page.locator("#comparison").inner_text() == ""


def test_a_label_that_contains_a_script_is_shown_as_text(page, site):
    for path in ("evil/run-01_1.html", "index.html", "compare.html#evil/run-01_1&shop/run-07_1"):
        page.goto(f"{site}/{path}")
        page.get_by_text(LABEL).first.wait_for()
    assert page.locator("section", has_text="TOTAL").get_by_role("rowheader", name=LABEL).count() == 1


def test_a_sweep_is_linked_and_has_a_page(page, site):
    page.goto(f"{site}/index.html")
    page.get_by_role("link", name="shop/sweep-07").click()
    assert page.locator("thead th").all_inner_texts() == ["users", "req/s"]


@pytest.mark.parametrize("page", ["dark"], indirect=True)
def test_the_dark_scheme_applies_to_page_and_charts(page, site):
    page.goto(f"{site}/shop/run-07_1.html")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    colours = page.evaluate("shown[0].chart.data.datasets.map((line) => line.borderColor)")
    assert colours == ["#f0f6fc", "#f28c45"]
    page.emulate_media(color_scheme="light")
    becomes(lambda: page.evaluate("shown[0].chart.data.datasets[1].borderColor"), "#d9620b")


def test_tables_work_without_javascript(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/index.html")
    assert len(shown(page)) == 7
    assert page.locator("#filters").is_hidden()
    page.get_by_role("link", name="shop/run-07_1", exact=True).click()
    assert page.locator("article table").first.locator("tbody tr").count() == 2
    assert page.get_by_text("samples/s over time since the load began").first.is_visible()  # a chart, in words
    context.close()
