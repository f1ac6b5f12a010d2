"""Every kind of report has its result in its JSON: that of its Markdown, which nobody reads any more."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from harness.commands.comment import read_report
from harness.forge.comment import CommentSubject, comment_text, status_of
from harness.history.files import read_catalogue
from harness.history.summary_files import SUMMARY_NAME, write_summary
from harness.judge.result import Result
from harness.report.charts.run_charts import CHARTS
from harness.report.files import stored_summary
from harness.report.key_figures import FIRST_CHART
from harness.report.results import headline_line, stated_result
from harness.report.run_result import RunResult
from harness.report.tables import cell
from harness.run.directory import RunDirectory, json_text
from harness.site.files import write_report_page, write_run_page, write_site
from tests.support.commands import command
from tests.support.every_report import COMMANDS, EXPERIMENTS, make_reports, report_path
from tests.support.junit_cases import cases_in
from tests.support.report_folder import add_run

VERDICTS = {
    "compare": "CANNOT TELL",
    "compare-sweeps": "REGRESSED",
    "sweeps": "FOUND",
    "release": "REGRESSED",
    "history": "",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a report of every kind."""
    folder = tmp_path_factory.mktemp("results")
    make_reports(folder)
    return folder


def assert_shown(result: Result, report: Path) -> None:
    """Assert that a report begins with the title and the headline of a result, and has its first chart."""
    text = report.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("<!--")]
    first = headline_line(result)
    assert lines[0] == f"# {cell(result.title)}"
    assert lines[1] == first or (result.kind not in ("run", "soak") and first == f"{result.mark} {lines[1]}")
    images = re.findall(r"\]\(([^)]*\.svg)\)", text)
    assert result.first_chart == (images[0] if images else "")
    assert result.first_chart == "" or (report.parent / result.first_chart).is_file()


@pytest.mark.real
@pytest.mark.parametrize("kind", [*COMMANDS, *EXPERIMENTS])
def test_the_json_of_every_report_has_the_result_that_its_markdown_shows(kind, made):
    report = report_path(kind, made)
    result = stated_result(report)
    stored = json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))["result"]
    assert stored == json.loads(json_text(result))
    assert result.kind == kind
    assert result.verdict == (VERDICTS[kind] if kind in VERDICTS else EXPERIMENTS[kind][1])
    assert result.key_figures
    assert_shown(result, report)


@pytest.mark.real
@pytest.mark.parametrize("kind", EXPERIMENTS)
def test_verdict_and_runs_of_every_experiment_are_cases_of_junit(kind, made, tmp_path):
    name, verdict = EXPERIMENTS[kind]
    given = name if kind == "nightly" else made / kind / f"{name}.json"
    arguments = ("experiment", given, f"--reports={made / kind}", f"--junit={tmp_path / 'cases.xml'}")
    assert command("lth", *arguments).returncode in (0, 1)
    cases = cases_in(tmp_path / "cases.xml")
    assert cases["runs"]
    if kind == "nightly":  # it has its own cases
        assert cases == cases_in(made / kind / f"{name}.xml")
    else:
        assert [*cases["verdict"].values()] == [
            {"REGRESSED": "failed", "CANNOT TELL": "skipped"}.get(verdict, "passed")
        ]


@pytest.mark.real
@pytest.mark.parametrize(("is_soak", "kind"), [(False, "run"), (True, "soak")])
def test_the_json_of_a_run_has_the_result_that_its_markdown_shows(is_soak, kind, tmp_path):
    run = add_run(tmp_path, "tiny/run-07_1", samples=6_000, seconds=120, is_soak=is_soak)
    result = stated_result(run.report)
    assert (result.kind, result.verdict, result.headline) == (
        kind,
        "VALID",
        "VALID: p95 102 ms at 50.00 req/s, no errors.",
    )
    # Of 50 samples a second; 100, 101, 102, 100 … ms.
    assert [(one.name, one.value, one.unit) for one in result.key_figures if one.name != "samples"] == [
        ("users", "2", ""), ("throughput", "50.00", "req/s"), ("p50", "101", "ms"), ("p95", "102", "ms"),
        ("p99", "102", "ms"), ("errors", "0.00", "%"), ("max", "102", "ms"),
    ]  # fmt: skip
    assert f"| TOTAL | {result.key_figures[1].value} | 50.00 |" in run.report.read_text()
    assert_shown(result, run.report)
    assert result == stored_summary(run).result


def test_the_result_of_a_run_without_one_in_its_json_is_computed(tmp_path):
    run = add_run(tmp_path, "tiny/run-07_1")
    result = stated_result(run.report)
    data = json.loads(run.summary_json.read_text())
    del data["result"]
    run.summary_json.write_text(json.dumps(data))
    (entry,) = read_catalogue(tmp_path).entries
    assert entry.result.stated == result == RunResult.of(stored_summary(run)).stated
    assert CHARTS[0].name == FIRST_CHART


@pytest.mark.real
def test_the_page_of_a_run_without_json_has_the_headline_of_its_markdown_with_its_goals(tmp_path, charts):
    run = add_run(tmp_path / "reports", "tiny/run-07_1", samples=6_000, seconds=120)
    shutil.rmtree(run.path)
    run.summary_json.unlink()
    write_site(tmp_path / "reports", tmp_path / "site", charts)
    page = (tmp_path / "site" / "tiny" / "run-07_1.html").read_text(encoding="utf-8")
    answer = "VALID: p95 102 ms at 50.00 req/s, no errors."
    mark = '<span class="mark" aria-hidden="true"></span>'
    assert f'<header class="judged good">\n<p>{mark} <strong>{answer}</strong></p>\n</header>' in page
    assert page.count("<strong>VALID") == 1
    assert "<dt>throughput</dt>\n<dd>50.00 <span>req/s</span></dd>" in page


def changed(report: Path) -> str:
    """Change the headline in the JSON of a report, and return it; the Markdown still has the other one."""
    data = json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))
    data["result"]["headline"] = "CHANGED: *a* < b."
    report.with_suffix(".json").write_text(json.dumps(data))
    return stated_result(report).headline


@pytest.mark.real
@pytest.mark.parametrize("kind", [*COMMANDS, *EXPERIMENTS])
def test_page_site_and_summary_show_the_headline_of_the_json(kind, made, tmp_path, charts):
    source = report_path(kind, made)
    folder = made / ("reports" if kind in COMMANDS else kind)
    reports = shutil.copytree(folder, tmp_path / "reports" / "nightly" if kind == "nightly" else tmp_path / "reports")
    report = reports / source.relative_to(folder)
    old = stated_result(report).headline
    assert changed(report) == "CHANGED: *a* < b."
    page = write_report_page(report).read_text(encoding="utf-8")
    assert "<strong>CHANGED: *a* &lt; b.</strong></p>\n</header>" in page
    assert f"<strong>{old}" not in page
    assert page.count("<img ") == len(re.findall(r"!\[", report.read_text(encoding="utf-8")))
    if kind == "nightly":
        return  # listed elsewhere
    write_summary(reports)
    assert r": CHANGED: \*a\* \< b." in (reports / SUMMARY_NAME).read_text(encoding="utf-8")
    write_site(reports, tmp_path / "site", charts)
    assert "CHANGED: *a* &lt; b." in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    page = tmp_path / "site" / report.relative_to(reports).with_suffix(".html")
    assert "<strong>CHANGED: *a* &lt; b.</strong></p>\n</header>" in page.read_text(encoding="utf-8")


def test_the_page_of_a_run_shows_the_headline_and_the_key_figures_of_the_json(tmp_path, charts):
    run = add_run(tmp_path, "tiny/run-07_1")
    changed(run.report)
    data = json.loads(run.summary_json.read_text())
    data["result"]["key_figures"] = [{"name": "a figure", "value": "7", "unit": "s", "warning_count": 0}]
    run.summary_json.write_text(json.dumps(data))
    page = write_run_page(RunDirectory(run.path), charts).read_text(encoding="utf-8")
    assert "<strong>CHANGED: *a* &lt; b.</strong></p>\n</header>" in page
    assert "<strong>VALID" not in page
    assert re.findall("<dt>(.*)</dt>\n<dd>(.*)</dd>", page) == [("a figure", "7 <span>s</span>")]


@pytest.mark.real
def test_the_comment_and_the_status_of_a_commit_have_the_headline_of_the_json(made, tmp_path):
    report = tmp_path / "ab-01.md"
    for suffix in (".md", ".json"):
        shutil.copyfile(report_path("ab", made).with_suffix(suffix), report.with_suffix(suffix))
    old = stated_result(report).headline
    changed(report)
    found, subject = read_report(report), CommentSubject("performance")
    text = comment_text(found, subject, "", 60_000)
    assert "\n\n\u274c **CHANGED: \\*a\\* \\< b.**\n\n| label | metric | A | B |" in text
    assert old not in text
    assert status_of(found, subject).text == "REGRESSED: CHANGED: *a* < b."
    assert replace(found.result, headline=old) == stated_result(report_path("ab", made))
