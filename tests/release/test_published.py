"""Published figures: the tables of four documents and two newer public reports, laid out without loss."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.release.published import parse_published, published_tables
from tests.support.markdown_rows import tables_of
from tests.support.paths import ROOT

FILES = sorted((ROOT / "tests" / "data" / "published").glob("*.csv"))
HEAD = "release,workload,users,subject,metric,value\n"


def test_the_four_documents_and_two_newer_reports_are_there():
    names = {path.stem for path in FILES}
    assert names == {"killbill", "load-balancer", "thruzero", "folio-goldenrod", "folio-kiwi", "folio-sunflower-csp1"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_figure_of_a_report_is_on_the_page_as_it_was_published(path):
    figures = parse_published(path.read_text(), path.name)
    with path.open() as lines:
        expected = Counter((row["metric"], row["subject"], row["users"], row["release"], row["value"])
                           for row in csv.DictReader(lines))  # fmt: skip
    releases = {one.release for one in figures}
    found: Counter[tuple[str, ...]] = Counter()
    seen = set()
    for one in published_tables(figures):
        for row in chain.from_iterable(tables_of(one.table)):
            for name in releases & row.keys():
                # A wide table has several parts, each with the columns of its rows and of the first release.
                key = (one.title, row.get("subject", ""), row.get("users", ""), row.get("workload", ""), name)
                if row[name] and key not in seen:
                    seen.add(key)
                    found[(*key[:3], name, row[name].replace("\\", ""))] += 1
    assert found == expected
    assert sum(expected.values()) == len(figures) > 10


def test_the_published_differences_are_those_of_the_page():
    path = next(path for path in FILES if path.stem == "folio-goldenrod")
    (average,) = (one for one in published_tables(parse_published(path.read_text(), "x")) if one.title == "average ms")
    rows = tables_of(average.table)[0]
    changes = [row["change %"] for row in rows]
    # The published differences: of the eight one does not fit its row, which has 978 instead of 975 ms.
    assert changes == ["+10.87", "+5.75", "-0.59", "+14.57", "+12.93", "+10.95", "+11.04", "+16.10"]


@pytest.mark.real
def test_the_page_of_published_figures_judges_nothing_and_is_there_in_all_formats(tmp_path, capsys):
    path = tmp_path / "kiwi.csv"
    path.write_text(HEAD + "Lotus,check-in,1,,average s,0.73\nKiwi,check-in,1,,average s,0.838\n")
    assert main(["release", str(path), "--reports", str(tmp_path)]) == 0
    assert [Path(line).name for line in capsys.readouterr().out.split()] == [
        "release-kiwi.md", "release-kiwi.html", "release-kiwi.confluence.xml"
    ]  # fmt: skip
    text = (tmp_path / "release-kiwi.md").read_text()
    assert "**Published figures of Lotus beside Kiwi: no verdict.**" in text
    assert "| check-in | 1 | 0.73 | 0.838 | -12.89 |" in text
    for word in ("REGRESSED", "IMPROVED", "faster", "slower"):
        assert word not in text
    assert "without runs nothing says whether a change is noise" in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, "x.csv: has no figures"),
        ("release,users,value\nA,1,2\n", "x.csv:1: the columns are release, users, value; give release, workload"),
        (HEAD + "A,w,1,,average ms\n", "x.csv:2: 5 cells for 6 columns"),
        (HEAD + "A,w,1,,average ms,\n", "x.csv:2: a cell is empty; give release, metric and value"),
        (HEAD + "A,w,1,,average ms,1\nA,w,1,,average ms,2\n", "x.csv:3: average ms of A is given twice"),
    ],
)
def test_a_wrong_csv_is_one_line_that_names_the_line(text, words):
    with pytest.raises(UsageError) as error:
        parse_published(text, "x.csv")
    assert words in str(error.value)
    assert "\n" not in str(error.value)
