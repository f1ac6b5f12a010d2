"""Texts of servers on every surface: nothing of them is active there, and the structure of the surface stays."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from junitparser import JUnitXml
from markdown_it import MarkdownIt
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from harness.base.plain_text import CONTROL
from harness.cli.verbs import main
from harness.compare.sources import read_summary
from harness.forge.comment import CommentSubject, ComparisonReport, comment_text
from harness.jtl.sample import JOB_MARK
from harness.judge.goals import GoalResult
from harness.judge.verdict import VALID, Verdict
from harness.kinds.nightly.outcome import nightly_result
from harness.kinds.nightly.report_files import nightly_xml
from harness.live.otlp.messages import RUN_ATTRIBUTE, Export, Messages
from harness.live.page_address import LiveAddress
from harness.live.run_counts import RunCounts
from harness.live.view import LiveView
from harness.notify.message import CHATS, Message, plain_text
from harness.release.confluence import storage_format
from harness.report.files import write_report
from harness.report.results import stated_result
from harness.run.directory import RunDirectory
from harness.site.files import write_run_page
from tests.live.test_view import message_of, page_of
from tests.support.commands import command
from tests.support.factories import sample
from tests.support.nightly_runs import ended, entry, load, nightly_record
from tests.support.report_folder import HEAD, START_MS, run_folder

TEXTS = (
    "<script>alert(1)</script>", "</td></tr></table><img src=x onerror=alert(1)>", "<!-- --> <b>bold", "]]><x/>",
    "[click](javascript:alert(1))", "![pixel](http://evil.example/p.png)", "[ref]: http://evil.example",
    "a | b | c |", "`code` ``` ~~~", "# heading", "- [ ] item", "> quote", "***", "@everyone @channel <!here>",
    "@org/team /close", "\x1b[2J\x1b]0;owned\x07red", "\x9b31m", "\u202egnp.exe\u2066", "nul\0nul",
    "two\r\nlines\rand\n\nmore",
    "\u2028separated\u2029", '=cmd|"/c calc"!A0', "+1+1", "-2+3", "@SUM(1)", "\t=1+1", "=HYPERLINK(\"http://evil.example\")",
    "{{7*7}} {% raw %}", "${__groovy(new File('x'))} $HOME `id` $(id)", "javascript:alert(1)",
    "&lt;script&gt; &amp; &#60;",
    'quote " and \\ "} 1', "<https://evil.example>", "x" * 5000, "\ud7ff\ufffe\uffff", "%n%s%x",
    "__proto__", "constructor",
    "<details><summary>x</summary>", "</details>", "[^1]: note", "$\\unsafe$", "~~gone~~", "::set-output name=x::y",
)  # fmt: skip
FORMULA = re.compile(r"^[=+\-@\t\r]")


def row(number: int, text: str) -> list[object]:
    is_ok = number % 3 > 0
    failure = "" if is_ok else text
    return [
        START_MS + 1000 * number,
        100 + number % 7,
        text,
        text if not is_ok else 200,
        text,
        text,
        str(is_ok).lower(),
        failure,
        5,
        7,
    ]


def exchange(number: int, text: str) -> dict[str, object]:
    texts = [
        "message",
        "failure",
        "method",
        "url",
        "request_headers",
        "cookies",
        "request_body",
        "response_headers",
        "response_body",
    ]
    return {
        "label": text, "thread": text, "start_ms": START_MS + number, "elapsed_ms": 5, "is_success": False,
        "code": text, **dict.fromkeys(texts, text), "request_characters": 5, "response_bytes": 5,
        "assertions": [[text, False, text]], "variables": {text: [text, text]},
    }  # fmt: skip


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> Path:
    """Two runs whose labels, codes, messages, threads, hosts, titles and failed requests are hostile texts."""
    reports = tmp_path_factory.mktemp("hostile") / "reports"
    for run in ("tiny/run-01_1", "tiny/run-01_2"):
        several = " ".join(TEXTS)
        facts = tuple((text[:80], text) for text in TEXTS[:30])
        directory = run_folder(
            reports, run, plan_title=several, profile_title=several, command=several, system_facts=facts,
            stopped_early=several, plan_notes=TEXTS, stop_reasons=(several,), other_runs=TEXTS,
            set_values=TEXTS, headers={"X-Name": several}, dump_figures=facts, exception_logs=TEXTS[:10],
            unknown={"heap": facts, several: facts},
        )  # fmt: skip
        out = io.StringIO(newline="")
        lines = csv.writer(out, lineterminator="\n")
        lines.writerow(HEAD.split(","))
        lines.writerows(row(number, text) for number, text in enumerate(TEXTS * 6))
        directory.samples.write_text(out.getvalue(), encoding="utf-8")
        failures = "".join(json.dumps(exchange(number, text)) + "\n" for number, text in enumerate(TEXTS))
        directory.failures.write_text(failures, encoding="utf-8")
        write_report(directory)
    return reports


def check_plain(text: str) -> None:
    assert [text[max(0, one.start() - 200) : one.end() + 20] for one in CONTROL.finditer(text)][:2] == []


class Html(HTMLParser):
    """What of a page is active: scripts, handlers, addresses; and what is open at its end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.active: list[str] = []
        self.scripts = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        if tag in ("iframe", "object", "embed", "base", "foreignobject"):
            self.active.append(tag)
        for name, value in attrs:
            address = (value or "").strip().lower()
            is_foreign = "evil.example" in address and name in ("src", "srcset", "background", "xlink:href")
            if (
                name.startswith("on")
                or (name in ("href", "src", "action") and address.startswith("javascript:"))
                or is_foreign
            ):
                self.active.append(f"{tag} {name}={value}")


def check_html(text: str, scripts: int) -> None:
    page = Html(text)
    assert page.active == []
    assert page.scripts == scripts
    check_plain(text)


# The HTML that templates write: folded parts and comments.
OUR_HTML = r"(?:</?details>|<summary>[\w ,-]+</summary>|<!--(?:(?!-->).)*-->|<br>|\s)*"


def check_markdown(text: str) -> None:
    """GitHub's rules: no HTML but the folds, no images or links of the texts, tables with all their columns."""
    check_plain(text)
    reader = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = reader.parse(text)
    flat = [one for token in tokens for one in (token, *(token.children or ()))]
    for token in flat:
        if token.type.startswith("html_"):
            assert re.fullmatch(OUR_HTML, token.content, re.DOTALL), token.content[:300]
        for name in ("href", "src"):
            assert not re.match(r"javascript:|data:|https?://evil", str(token.attrGet(name) or "")), token
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(widths) == 1, table[:500]


def markdown_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.md"))


@pytest.mark.real
def test_the_markdown_of_reports_summary_and_history(reports, capsys):
    for arguments in (
        ["summary"],
        ["history", "--plan=tiny", "--save"],
        ["compare", "tiny/run-01_1", "tiny/run-01_2", "--save"],
    ):
        where = [f"--reports={reports}"] if arguments[0] == "compare" else [str(reports)]
        assert main([*arguments, *where]) in (0, 1, 2, 3)
    capsys.readouterr()
    pages = markdown_files(reports)
    assert len(pages) >= 4
    for page in pages:
        check_markdown(page.read_text(encoding="utf-8"))


@pytest.mark.real
def test_the_html_of_failures_a_run_and_the_site(reports, tmp_path, charts):
    check_html((reports / "tiny" / "run-01_1" / "failures.html").read_text(encoding="utf-8"), 0)
    page = write_run_page(RunDirectory(reports / "tiny" / "run-01_1"), charts).read_text(encoding="utf-8")
    clean = re.sub(r"<script>.*?</script>", "<script></script>", page, flags=re.DOTALL)
    assert Html(clean).active == []
    assert command("aggregate.py", "site", reports, "--output", tmp_path / "site").returncode == 0
    pages = sorted((tmp_path / "site").rglob("*.html"))
    assert len(pages) >= 3
    for one in pages:
        found = Html(one.read_text(encoding="utf-8"))
        assert found.active == []
    for drawing in [*reports.rglob("*.svg"), *(tmp_path / "site").rglob("*.svg")]:
        text = drawing.read_text(encoding="utf-8")
        ElementTree.fromstring(text)
        check_html(text, 0)


@pytest.mark.real
@pytest.mark.parametrize("verb", ["table", "report", "compare", "history", "summary", "list"])
def test_what_the_terminal_gets(reports, verb):
    one, two = reports / "tiny" / "run-01_1", reports / "tiny" / "run-01_2"
    arguments = {
        "table": [one], "report": [one], "compare": [one, two], "history": [reports, "--plan=tiny"],
        "summary": [reports], "list": ["--reports", reports],
    }[verb]  # fmt: skip
    done = command("aggregate.py", verb, *arguments)
    assert done.returncode in (0, 1, 3), done.stderr
    check_plain(done.stdout + done.stderr)


@pytest.mark.real
def test_tables_for_spreadsheets_have_all_columns_and_no_formula(reports, tmp_path):
    one = reports / "tiny" / "run-01_1"
    texts = [command("aggregate.py", "table", one, "--format=csv").stdout]
    assert command("aggregate.py", "export", one, "--format=csv", f"--into={tmp_path / 'out'}").returncode == 0
    texts += [path.read_text(encoding="utf-8") for path in (tmp_path / "out").glob("*.csv")]
    assert len(texts) >= 3
    for text in texts:
        head, *rows = csv.reader(io.StringIO(text, newline=""))
        assert rows
        for cells in rows:
            assert len(cells) == len(head)
            assert not [cell for cell in cells if FORMULA.match(cell) and not re.fullmatch(r"-?[\d.e+-]+", cell)], cells


@pytest.mark.real
def test_openmetrics_have_each_label_in_its_quotes(reports, tmp_path):
    one = reports / "tiny" / "run-01_1"
    done = command("aggregate.py", "export", one, "--format=openmetrics", f"--into={tmp_path / 'out'}")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "openmetrics.txt").read_bytes().decode()
    value = r'"((?:[^"\\\n]|\\[\\"n])*)"'
    samples = [line for line in text.split("\n")[:-1] if not line.startswith("#")]
    assert [line for line in samples if not re.fullmatch(rf"\w+\{{\w+={value}(?:,\w+={value})*\}} \S+ \d+", line)] == []
    unescaped = {r"\n": "\n", r"\"": '"', "\\\\": "\\"}
    labels = {re.sub(r"\\.", lambda one: unescaped[one[0]], one) for one in re.findall(rf"\blabel={value}", text)}
    assert {text for text in TEXTS if "\0" not in text} - labels == set()


def said_in(chat: str, message: Message) -> str:
    data = CHATS[chat](message)
    if chat == "teams":
        return "\n".join(block["text"] for block in data["attachments"][0]["content"]["body"])
    return str(data["text"])


@pytest.mark.parametrize("chat", CHATS)
def test_a_message_has_no_mention_link_or_line_of_a_text(chat):
    report = "https://reports.example/1"
    for text in TEXTS:
        message = Message(f"REGRESSED: {text}", (text, f"label {text}"), report)
        said = said_in(chat, message)
        assert not CONTROL.search(said)
        assert len(said.splitlines()) <= 4
        if chat == "mattermost":
            flat = [one for token in MarkdownIt("commonmark").parse(said) for one in token.children or ()]
            assert [one.attrGet("href") for one in flat if one.type == "link_open"] == [report]
            assert {one.type for one in flat} <= {
                "text",
                "softbreak",
                "strong_open",
                "strong_close",
                "link_open",
                "link_close",
            }
            assert not re.search(r"@\w", said)
        elif chat == "slack":  # <!here>, <@U1> and <https://…> are all that is active
            assert said.count("<") == 1
            assert said.endswith(f"<{report}|report>")
        else:
            assert "](" not in said
        assert len(plain_text(message).splitlines()) == 4
        assert not CONTROL.search(plain_text(message))


@pytest.mark.real
def test_a_comment_mentions_nobody_and_commands_nothing(reports):
    for page in markdown_files(reports):
        text = comment_text(
            ComparisonReport(page.read_text(encoding="utf-8"), stated_result(page)), CommentSubject("x"), "", 65_536
        )
        check_markdown(text)
        assert not re.search(r"(?<![\w`\\])@\w|^/\w", text, re.MULTILINE), page
        assert not re.search(r"!\[|<img|<script", re.sub(r"\\.", "", text))


@pytest.mark.real
def test_the_storage_format_of_confluence_is_xml_without_macros_of_a_text(reports):
    for page in markdown_files(reports):
        text = storage_format(page.read_text(encoding="utf-8"))
        spaces = 'xmlns:ac="http://a.example" xmlns:ri="http://r.example"'
        root = ElementTree.fromstring(f"<page {spaces}>{text}</page>")
        names = {one.get("{http://a.example}name") for one in root.iter("{http://a.example}structured-macro")}
        assert names <= {"toc", "status", "expand", "warning", "code"}
        assert {one.tag for one in root.iter()} & {"script", "img", "iframe"} == set()
        addresses = [one.get("href") or "" for one in root.iter("a")]
        assert not [one for one in addresses if one.startswith(("javascript:", "http://evil"))]


def test_the_junit_file_of_a_night_has_a_case_per_text_and_no_control_character():
    runs = [ended(number, run=None, problem=text) for number, text in enumerate(TEXTS, 1)]
    goals = tuple(
        GoalResult(text, "p90_ms", 1000, None, 900, text, 0, 0, number % 2 > 0, f"{text}: p90 900 ms")
        for number, text in enumerate(TEXTS)
    )
    record = nightly_record(ended(99), *runs, title=" ".join(TEXTS), loads=(load(title=" ".join(TEXTS)),))
    found = entry(number=99, verdict=Verdict(VALID, (), (), (), goals))
    text = nightly_xml(nightly_result(replace(record, labels=TEXTS, storage_problems=TEXTS), [found], ()))
    check_plain(text)
    suites = {suite.name: list(suite) for suite in JUnitXml.fromstring(text.encode())}
    assert [len(suites[name]) for name in ("runs", "goals", "storage")] == [1 + len(TEXTS), len(TEXTS), 1]
    assert {type(result).__name__ for cases in suites.values() for case in cases for result in case.result} <= {
        "Error", "Failure", "Skipped"
    }  # fmt: skip


def live_samples():
    for number, text in enumerate(TEXTS * 2):
        one = sample(text, start_ms=1_000_000 + 100 * number, trace_id=f"{number + 1:032x}", thread_name="Users 1-1")
        wrong = {"code": text, "message": text, "failure": text, "success": False, "error_count": 1}
        yield one._replace(**wrong) if number % 2 else one


def every_text(value):
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from every_text(one)


@pytest.mark.real
def test_the_texts_of_the_live_page_are_plain_and_its_script_writes_no_html(reports, charts):
    lines, several = [], " ".join(TEXTS)
    hostile = RunDirectory(reports / "tiny" / "run-01_1")
    with LiveView(LiveAddress(), charts, "the load", pytest.fail, lines.append) as view:
        view.lines = lines
        view.show(hostile, hostile.read_run(), ())
        view.add(list(live_samples()), 10.0)
        view.announce(several)
        view.conclude(several)
        view.end(read_summary(hostile.summary_json), several)
        message, page = message_of(view), page_of(view)
    assert len(message["now"]["labels"]) > 30
    assert len(message["now"]["causes"]) == 10
    assert message["end"]["goals"] is not None
    for text in every_text(message):
        check_plain(text)
    check_html(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL), 0)
    script = (resources.files("harness.live") / "assets" / "live.js").read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(", script)


def test_otlp_has_each_text_as_the_value_of_one_attribute():
    counts = RunCounts(())
    samples = list(live_samples())
    counts.add(samples)
    messages = Messages({"service.name": " ".join(TEXTS), RUN_ATTRIBUTE: TEXTS[0]}, 0, "1")
    sent = ExportMetricsServiceRequest.FromString(messages.metrics(Export(1, counts.snapshot())))
    points = [
        point
        for metric in sent.resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "loadtest.requests"
        for point in metric.sum.data_points
    ]
    labels = [one.value.string_value for point in points for one in point.attributes if one.key == "label"]
    assert sorted(labels) == sorted({one.label for one in samples})
    spans = ExportTraceServiceRequest.FromString(messages.spans(samples)).resource_spans[0].scope_spans[0].spans
    assert [one.name for one in spans] == [one.label for one in samples]


def test_the_set_has_no_mark_that_the_harness_gives_a_meaning():
    assert not [text for text in TEXTS if JOB_MARK in text]
