"""The one-file report in a real browser: nothing is loaded, charts zoom, tables sort, paper is light."""

import pytest

from harness.base.install.toolchain import ensure_charts
from harness.site.files import write_report_page, write_run_page
from tests.support.processes import becomes
from tests.support.report_folder import add_run

pytestmark = pytest.mark.real
LABEL = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The address of the one-file report of a run, in a folder of its own as after saving it from mail."""
    folder = tmp_path_factory.mktemp("single")
    page = write_run_page(add_run(folder / "reports", "tiny/run-07_1", label=LABEL, all_threads=2), ensure_charts())
    (folder / "mail").mkdir()
    return page.rename(folder / "mail" / "report.html").as_uri()


@pytest.fixture
def opened(browser, report):
    """The page; the test fails on any error, and on any request but for the page itself."""
    context = browser.new_context(color_scheme="dark", viewport={"width": 1300, "height": 900})
    page = context.new_page()
    wrong = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda sent: wrong.append(sent.url) if sent.url != report and sent.url[:5] != "data:" else None)
    page.on("dialog", lambda dialog: (wrong.append(f"a script ran: {dialog.message}"), dialog.dismiss()))
    page.goto(report)
    yield page
    context.close()
    assert wrong == []


def test_charts_zoom_and_the_tables_sort_in_a_page_that_loads_nothing(opened):
    charts = opened.locator("figure.chart")
    becomes(charts.locator("canvas").count, 3)
    chart = opened.get_by_role("img", name="Response time: ms over time")
    chart.focus()
    chart.press("+")
    becomes(charts.first.locator("output").inner_text, "0:30 to 1:30")
    becomes(opened.locator("img.still:visible").count, 0)
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    goals = opened.locator("article table").last
    assert goals.locator("thead th").count() > 0


def test_on_paper_the_charts_are_images_and_the_page_is_light(opened):
    becomes(opened.locator("figure.chart canvas").count, 3)
    opened.emulate_media(media="print", color_scheme="light")
    becomes(opened.locator("img.still:visible").count, 2)  # that of the distribution is folded
    assert opened.locator("figure.chart canvas:visible").count() == 0
    assert opened.pdf()[:5] == b"%PDF-"


def test_without_javascript_charts_are_images(browser, report):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report)
    page.get_by_text("Distribution of response times").click()
    assert page.locator("img.still:visible").count() == 3
    assert page.locator("dl.tiles dt").first.inner_text() == "users"
    context.close()


def test_a_table_sorts_with_total_last_and_an_image_opens_large(browser, tmp_path):
    path = tmp_path / "sweep-07.md"
    rows = "| a | 9 |\n| b | 1,000 |\n| c |  |\n| d | 70 [^1] |\n| TOTAL | 5000 |\n"
    path.write_text(f"# Sweep\n\n| label | ms [^1] |\n| --- | ---: |\n{rows}\n![levels](sweep-07.svg)\n\n[^1]: why\n")
    (tmp_path / "sweep-07.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="80" height="30"/>')
    page = browser.new_page()
    page.goto(write_report_page(path).as_uri())
    names = page.locator("tbody td:first-child")
    page.get_by_role("button", name="ms").click()
    becomes(names.all_inner_texts, ["b", "d", "a", "c", "TOTAL"])
    page.get_by_role("button", name="ms").click()
    becomes(names.all_inner_texts, ["a", "d", "b", "c", "TOTAL"])
    page.get_by_role("button", name="label").click()
    becomes(names.all_inner_texts, ["a", "b", "c", "d", "TOTAL"])
    page.get_by_role("img", name="levels").click()
    page.get_by_role("button", name="zoom in").click()
    becomes(lambda: page.locator("dialog img").evaluate("image => image.style.width"), "150%")
    page.get_by_role("button", name="close").click()
    becomes(page.locator("dialog").count, 0)
    page.close()
