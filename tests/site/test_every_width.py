"""Every page in a real browser, on a phone, a tablet and a wide screen, light and dark: nothing overflows, all is read.

axe checks the contrast (at least 4.5:1) and the rules of accessibility.
"""

import pytest
from axe_playwright_python.sync_playwright import Axe

from harness.base.install import toolchain
from harness.site.files import write_report_page, write_run_page, write_site
from tests.support.every_report import COMMANDS, EXPERIMENTS, make_reports, report_path
from tests.support.processes import becomes
from tests.support.report_folder import add_run

pytestmark = pytest.mark.real
OFTEN = ("run", "index", "compare", "sweep")
SELDOM = sorted({*COMMANDS, *EXPERIMENTS} - {*OFTEN})
WIDTHS = (400, 1000, 1600)
# What is wider than the window and cannot be scrolled by itself.
OVERFLOWING = """() => {
  const most = document.documentElement.clientWidth;
  const inScroll = (one) => one.closest(".scroll, pre, .hidden, svg, .frame") !== null;
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > most + 1 && !inScroll(one) && one.checkVisibility())
    .map((one) => `${one.tagName}.${one.className}: ${one.textContent.slice(0, 60)}`);
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The addresses of one page of each kind: the one-file reports, the index and a page of the site."""
    folder = tmp_path_factory.mktemp("pages")
    make_reports(folder)
    long = add_run(folder / "reports", "tiny/run-07_3", label="a label of many words that must wrap " * 4, failures=9)
    found = {"run": write_run_page(long, toolchain.ensure_charts())}
    found |= {kind: write_report_page(report_path(kind, folder)) for kind in (*COMMANDS, *EXPERIMENTS)}
    write_site(folder / "reports", folder / "site", toolchain.ensure_charts())
    found |= {"index": folder / "site" / "index.html", "site": folder / "site" / "tiny" / "run-07_3.html"}
    return {name: path.as_uri() for name, path in found.items()}


@pytest.fixture(scope="module")
def opened(browser):
    """A page that is opened once, in light and in dark."""
    pages = {scheme: browser.new_context(color_scheme=scheme).new_page() for scheme in ("light", "dark")}
    yield pages
    for page in pages.values():
        page.context.close()


@pytest.mark.parametrize("kind", [*OFTEN, *(pytest.param(one, marks=pytest.mark.counterpart) for one in SELDOM)])
def test_a_page_fits_every_width_and_can_be_read_by_everybody(kind, pages, opened):
    wrong = []
    for scheme, page in opened.items():
        page.goto(pages[kind])
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            becomes(lambda page=page: page.evaluate(OVERFLOWING), [])  # charts follow the window a moment later
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{kind} at {width} px"
        found = Axe().run(page).response["violations"]
        wrong += [
            f"{scheme}: {one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]
    assert wrong == []


def test_a_tile_is_never_alone_in_a_row_nor_its_unit_wrapped(pages, opened):
    page = opened["light"]
    page.goto(pages["run"])
    for width in range(360, 1600, 62):
        page.set_viewport_size({"width": width, "height": 900})
        boxes = page.evaluate(
            "[...document.querySelectorAll('.tiles div')].map((one) => one.getBoundingClientRect().y)"
        )
        assert len(boxes) >= 4
        counts = [boxes.count(top) for top in set(boxes)]
        assert min(counts) > 1, f"{counts} at {width} px"
        heights = page.evaluate(
            "[...document.querySelectorAll('.tiles dd span')].map((one) => one.getClientRects().length)"
        )
        assert set(heights) == {1}


def test_a_report_of_one_label_has_at_most_three_pages_on_paper(pages, opened):
    page = opened["light"]
    page.goto(pages["run"])
    assert page.pdf(format="A4").count(b"/Type /Page\n") <= 3
