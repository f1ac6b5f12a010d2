"""A report as one HTML file: its order, its key metrics, and that it loads nothing."""

import base64
import hashlib
import html
import re

import pytest
from markupsafe import Markup

from harness.judge.result import Result
from harness.report.files import write_report
from harness.site import files
from harness.site.body import chart_script, report_body
from harness.site.files import write_report_page, write_run_page, write_site
from harness.site.html import prose
from harness.site.single import embedded, single_page, smaller
from tests.support.commands import command
from tests.support.report_folder import HEAD, START_MS, add_run, run_folder

_NO_TARGETS = (lambda _: None, lambda *_: None)


def text_of(page: str) -> str:
    """Return the text of a page, without scripts, styles and tags."""
    bare = re.sub(r"<(script|style)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(bare).split())


@pytest.fixture
def page(tmp_path, charts):
    """The page of a VALID run of 120 samples in as many seconds, of 100, 101, 102, 100 … ms."""
    return write_run_page(add_run(tmp_path, "tiny/run-07_1"), charts).read_text(encoding="utf-8")


def test_the_page_loads_nothing_and_has_everything(page):
    assert re.findall(r'(?:src|href|url)="?(?!data:|#)[^"\s>]+', re.sub(r"<(script|style)>.*?</\1>", "", page)) == []
    assert "<link" not in page
    assert "default-src 'none'; script-src 'sha256-" in page
    assert page.count('<img class="still" src="data:image/svg+xml;base64,') == 3
    assert "MIT" in page  # the licence of the chart library
    assert len(page.encode()) < files.LIMIT_BYTES


def test_only_the_scripts_and_the_style_of_the_page_may_run(page):
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    for tag, directive in (("script", "script-src"), ("style", "style-src")):
        texts = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        allowed = next(part for part in policy.split("; ") if part.startswith(directive))
        assert allowed == " ".join([directive, *(f"'sha256-{digest}'" for digest in digests)])


def test_verdict_goals_key_metrics_and_response_times_come_first_and_the_set_up_after_all_charts(page):
    text = text_of(page)
    order = [
        "tiny/run-07_1 VALID: p95 102 ms at 1.00 req/s, no errors.",
        "users 2 samples 118 throughput 1.00 req/s p50 101 ms p95 102 ms ? 1 warning p99 102 ms ? 1 warning errors",
        "2 of 2 goals met.",
        "Response time: ms over time",
        "Results Whole run → measured window",
        "Throughput: samples/s over time",
        "Set-up",
        "Warnings",
    ]
    positions = [text.find(part) for part in order]
    assert -1 not in positions, text
    assert positions == sorted(positions)
    assert text.count("Response time: ms over time") == 1  # moved, not repeated


@pytest.mark.real
def test_the_warnings_of_a_doubtful_run_are_at_its_verdict_and_at_the_metrics_that_they_question(tmp_path, charts):
    doubtful = write_run_page(add_run(tmp_path, "tiny/run-07_1", samples=99), charts).read_text(encoding="utf-8")
    assert '<header class="judged doubt">' in doubtful
    head = text_of(doubtful[: doubtful.index("</header>")])
    assert "DOUBTFUL: Too few samples: 97 measured, 100 needed." in head
    screen = text_of(doubtful[: doubtful.index("<details>")])
    assert "Averages and percentiles of so few depend on chance. Run again with --duration=" in screen
    questioned = re.findall(r'<div class="questioned">\n<dt>([^<]+)</dt>', doubtful)
    assert questioned[:2] == ["samples", "throughput"]
    assert doubtful.count('<h2 id="warnings">') == 1


@pytest.mark.real
def test_a_run_without_warnings_has_no_mark(tmp_path, charts):
    run = add_run(tmp_path, "tiny/run-07_1", samples=6_000, seconds=120)
    page = write_run_page(run, charts).read_text(encoding="utf-8")
    assert '<header class="judged good">' in page
    assert "questioned" not in page[page.index("</style>") :]
    assert 'class="why"' not in page


def test_a_report_without_a_verdict_stays_as_it_is():
    body = report_body("# t2.medium\n\n## Results\n", Result(), *_NO_TARGETS)
    assert body == "<h1>t2.medium</h1>\n<h2>Results</h2>\n"


def test_no_name_can_end_the_script_of_the_data():
    script = chart_script("</script><script>alert(1)", None, (), {"verdict": "<!--"})
    assert "<" not in script
    assert script.isascii()


def test_a_label_that_contains_a_script_is_text(tmp_path, charts):
    evil = "</script><script>alert(1)</script>"
    page = write_run_page(add_run(tmp_path, "tiny/run-07_1", label=evil, note=evil), charts).read_text("utf-8")
    assert "<script>alert" not in page
    assert text_of(page).count(evil) >= 2


def test_links_to_other_files_become_text_and_those_to_the_web_stay():
    markdown = "[a](run-07_2.md) [b](https://example.org/x) ![c](d/e.svg) ![f](g.svg)"
    body = prose(markdown, lambda _: None, embedded({"g.svg": b"<svg/>"}, frozenset()))
    assert body == (
        '<p>a <a href="https://example.org/x">b</a> c '
        '<img class="picture" src="data:image/svg+xml;base64,PHN2Zy8+" alt="f"></p>\n'
    )


def test_a_page_beyond_the_limit_has_no_images_of_charts_that_are_drawn_anyway(tmp_path, charts, monkeypatch):
    run = add_run(tmp_path, "tiny/run-07_1")
    monkeypatch.setattr(files, "LIMIT_BYTES", 10_000)
    page = write_run_page(run, charts).read_text(encoding="utf-8")
    assert "data:image" not in page
    assert 'data-chart="response-time"><figcaption>Response time: ms over time' in page


def test_a_report_about_several_runs_has_its_charts_in_it(tmp_path):
    report = tmp_path / "sweep-07.md"
    report.write_text("# Sweep\n\n**50 users.**\n\n![levels](sweep-07/levels.svg)\n\n![two](sweep-07.svg)\n")
    (tmp_path / "sweep-07").mkdir()
    (tmp_path / "sweep-07" / "levels.svg").write_text("<svg/>")
    (tmp_path / "sweep-07.svg").write_text("<svg/>")
    page = write_report_page(report)
    assert page == tmp_path / "sweep-07.html"
    assert page.read_text().count('src="data:image/svg+xml;base64,PHN2Zy8+"') == 2
    assert "Chart" not in page.read_text()  # nothing of the chart library


def test_the_same_report_gives_the_same_bytes(tmp_path, charts):
    run = add_run(tmp_path, "tiny/run-07_1")
    assert write_run_page(run, charts).read_bytes() == write_run_page(run, charts).read_bytes()


def test_the_site_has_the_same_content_of_a_run(tmp_path, charts):
    run = add_run(tmp_path / "reports", "tiny/run-07_1")
    alone = text_of(write_run_page(run, charts).read_text(encoding="utf-8"))
    write_site(tmp_path / "reports", tmp_path / "site", charts)
    on_site = text_of((tmp_path / "site" / "tiny" / "run-07_1.html").read_text(encoding="utf-8"))
    assert alone.removeprefix("tiny/run-07_1 ") in on_site


@pytest.mark.real
def test_report_writes_the_page_and_names_it_with_its_size(tmp_path, charts, monkeypatch):
    monkeypatch.setattr("harness.commands.report.ensure_charts", lambda: charts)
    directory = add_run(tmp_path, "tiny/run-07_1")
    done = command("aggregate.py", "report", "tiny/run-07_1", "--html", "--reports", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    size_kb = round((tmp_path / "tiny" / "run-07_1.html").stat().st_size / 1024)
    assert lines[-1].endswith(f"run-07_1.html: the report as one HTML file of {size_kb} KB")
    (tmp_path / "tiny" / "run-07_1.html").unlink()
    assert command("aggregate.py", "report", directory.path, "--reports", tmp_path).returncode == 0
    assert not (tmp_path / "tiny" / "run-07_1.html").exists()


def test_a_page_has_a_title_that_is_escaped():
    assert "<title>a &lt;b&gt;</title>" in single_page("a <b>", Markup(""), "", ())


@pytest.mark.counterpart
def test_a_run_of_3000_labels_has_a_page_below_the_limit_that_names_what_it_leaves_out(tmp_path, charts):
    run = run_folder(tmp_path, "tiny/run-07_1")
    rows = [
        f"{START_MS + number * 40},{100 + number % 7},Request number {number % 3000},200,OK,Users 1-1,true,,300,100"
        for number in range(3000)
    ]
    run.samples.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    write_report(run)
    page = write_run_page(run, charts).read_text(encoding="utf-8")
    assert len(page.encode()) <= files.LIMIT_BYTES
    text = text_of(page)
    left_out = re.search(r"Request number (\d+) [^R]*?([\d]+) more rows: see run-07_1\.md TOTAL (\d+) ", text)
    shown, more, total = map(int, left_out.groups())
    assert total <= 3000
    assert shown < 3000
    assert more > 1000
    assert page.count('<img class="still"') == 3


def test_a_short_table_is_never_cut():
    body = prose("| label | ms |\n| --- | ---: |\n| a | 1 |\n| TOTAL | 2 |\n", *_NO_TARGETS)
    assert all("more rows" not in one and "<td>a</td>" in one for one in smaller(body, "x.md"))


def test_a_cut_table_has_its_first_rows_a_count_and_total():
    rows = "".join(f"| r{number} | {number} |\n" for number in range(40))
    body = prose(f"| label | ms |\n| --- | ---: |\n{rows}| TOTAL | 2 |\n", *_NO_TARGETS)
    *_, least = smaller(body, "x.md")
    assert "<td>r29</td>" in least
    assert "<td>r30</td>" not in least
    assert '<tr><td colspan="2">10 more rows: see x.md</td></tr>\n<tr>\n<td>TOTAL</td>' in least
