"""GitHub shows every Markdown file that is shipped, and every kind of report, without a table wider than its page."""

import re
import subprocess

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from harness.report.files import write_report
from tests.site.test_every_result import COMMANDS, EXPERIMENTS, made, path_of
from tests.support.browser import browser
from tests.support.full_run import add_histograms, add_profile, add_snapshots, full_record, run_directory
from tests.support.paths import ROOT

pytestmark = pytest.mark.real
__all__ = ["browser", "made"]
# What decides the width of a table in GitHub's style sheet; a page of a repository is at most so wide.
PAGE_PX = 1012
STYLE = f"""
* {{ box-sizing: border-box; }}
body {{ margin: 0; }}
article {{ width: {PAGE_PX}px; font: 16px/1.5 -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica,
  Arial, sans-serif; word-wrap: break-word; }}
table {{ display: block; width: max-content; max-width: 100%; overflow: auto; border-collapse: collapse; }}
th, td {{ padding: 6px 13px; border: 1px solid; }}
th {{ font-weight: 600; }}
code {{ padding: .2em .4em; font: 85% ui-monospace, SFMono-Regular, "Liberation Mono", monospace;
  white-space: break-spaces; }}
"""
# The head of each table that has to be scrolled, and by how many px it is too wide; folded parts are open.
WIDE = """() => [...document.querySelectorAll("table")].filter(table => table.scrollWidth > table.clientWidth)
  .map(table => [table.scrollWidth - table.clientWidth, table.rows[0].innerText])"""


def rendered(markdown: str) -> str:
    """Return the page of a Markdown file as GitHub shows it."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).use(footnote_plugin)
    body = reader.render(markdown).replace("<details>", "<details open>")
    return f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style><article>{body}</article>"


@pytest.fixture(scope="module")
def wide_tables(browser):
    page = browser.new_page(viewport={"width": 1400, "height": 900})

    def find(markdown: str) -> list[tuple[int, str]]:
        page.set_content(re.sub(r"<img [^>]*>", "", rendered(markdown)))
        return page.evaluate(WIDE)

    yield find
    page.close()


def shipped() -> list[str]:
    command = ["git", "-C", str(ROOT), "ls-files", "*.md"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [path for path in listed if not path.startswith(("tests/", "reports/"))]


def test_a_table_that_has_to_be_scrolled_is_found(wide_tables):
    row = "| " + " | ".join(["a_long_word_that_cannot_be_broken"] * 4) + " |"
    assert wide_tables(f"{row}\n{'| --- ' * 4}|\n{row}\n") != []
    assert wide_tables("| a | b |\n| --- | --- |\n| " + "words that can be broken " * 20 + "| 1 |\n") == []


@pytest.mark.parametrize("path", shipped())
def test_a_shipped_page_has_no_table_wider_than_the_page(path, wide_tables):
    assert wide_tables((ROOT / path).read_text(encoding="utf-8")) == []


def test_the_report_of_a_run_with_everything_has_no_table_wider_than_the_page(tmp_path, wide_tables):
    run = run_directory(tmp_path, full_record())
    for add in (add_profile, add_snapshots, add_histograms):
        add(run)
    write_report(run)
    text = run.report.read_text(encoding="utf-8")
    assert text.count("<details>") > 6
    assert wide_tables(text) == []


@pytest.mark.parametrize("kind", [*COMMANDS, *EXPERIMENTS])
def test_every_kind_of_report_has_no_table_wider_than_the_page(kind, made, wide_tables):
    assert wide_tables(path_of(kind, made).read_text(encoding="utf-8")) == []
