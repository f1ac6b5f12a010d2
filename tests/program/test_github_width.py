"""GitHub shows every Markdown file that is shipped, and every kind of report, without a table wider than its page."""

import re
import subprocess

import pytest
from markdown_it import MarkdownIt
from mdit_py_plugins.footnote import footnote_plugin

from harness.judge.summarise import summarise
from harness.metrics.generators import GeneratorFigures
from harness.metrics.resource_growth import GROWS, RSS, Growth
from harness.report import machine
from harness.report.columns import DEFAULT, Column, columns_of
from harness.report.files import write_report
from harness.report.markdown import LOAD_PERCENTILES
from harness.report.run_tables import growth_table
from harness.report.tables import page_tables
from harness.run.telemetry.table import MachineFigure
from harness.system.flight_recording import RecordedUse
from tests.support.browser import browser
from tests.support.every_report import COMMANDS, EXPERIMENTS, make_reports, report_path
from tests.support.factories import sample, tally_of
from tests.support.full_run import add_histograms, add_profile, add_snapshots, full_record, run_directory
from tests.support.paths import ROOT

pytestmark = pytest.mark.real
__all__ = ["browser"]
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
# The column of a goal for each label.
EACH = ("each_average_ms", lambda _: 1.0, lambda _: "**missed**")
# The head of each table that has to be scrolled, and by how many px it is too wide; folded parts are open.
WIDE = """() => [...document.querySelectorAll("table")].filter(table => table.scrollWidth > table.clientWidth)
  .map(table => [table.scrollWidth - table.clientWidth, table.rows[0].innerText])"""


def rendered(markdown: str) -> str:
    """Return the page of a Markdown file as GitHub shows it."""
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).use(footnote_plugin)
    body = reader.render(markdown).replace("<details>", "<details open>")
    return f"<!DOCTYPE html><meta charset=utf-8><style>{STYLE}</style><article>{body}</article>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a report of every kind."""
    folder = tmp_path_factory.mktemp("made")
    make_reports(folder)
    return folder


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
    assert wide_tables(report_path(kind, made).read_text(encoding="utf-8")) == []


def test_the_widest_tables_of_a_run_are_not_wider_than_the_page(wide_tables):
    process, gb = "a-service-with-a-long-name", 123 * 1024**3
    use = RecordedUse(process, 600.0, 12_345, 123_456.7, 12_345.6, gb, gb, gb, 0.999, 0.999, 0.999)
    generator = GeneratorFigures(
        "generator-10.example:1099", 1_234_567, 123_456, 0.01, {"average_ms": 12_345.6, "p90_ms": 12_345.0},
        12_345.67, 12_345, 12_345.6, 123_456.7,
    )  # fmt: skip
    grown = Growth(process, RSS, 60, gb, 2 * gb, gb, gb / 2, 2 * gb, GROWS, 4 * gb, 48.0, 24.0, 96.0)
    figures = [MachineFigure(process, one.figure, 123_456_789.0, 1.0, 987_654_321.0) for one in machine.COLUMNS]
    columns = (*columns_of(DEFAULT, LOAD_PERCENTILES), Column("average ≤ 12345 ms", *EACH))
    label = summarise(tally_of([sample("Authorize a payment of a customer", elapsed_ms=123_456)]), "x").groups[0]
    texts = [
        machine.recorded_table([use]), machine.generator_table([generator]), growth_table([grown]),
        machine.machine_table(figures), page_tables(label, columns),
    ]  # fmt: skip
    assert wide_tables("\n\n".join(texts)) == []
