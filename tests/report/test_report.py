"""The whole report of a run directory, made of literal files: what stands in it, and that it is the same every time."""

import gzip
import json
import re
import shutil
import textwrap
from pathlib import Path

import jsonschema
import pytest

from harness.jtl.sample import Dropped
from harness.report.charts.gallery import gallery
from harness.report.files import write_report
from harness.report.markdown import report
from harness.report.schema import generate
from harness.report.summarise import SummaryOptions, summarise
from harness.report.summary import FORMAT_VERSION, RunSummary
from harness.report.warnings import WarningCode
from harness.run.directory import RunDirectory, json_text
from tests.support.factories import closed_load, failed, record, sample, tally_of
from tests.support.paths import ROOT

SCHEMA = json.loads((ROOT / "harness" / "report" / "schema" / "summary.schema.json").read_text(encoding="utf-8"))
START_MS = 1_700_000_000_000
HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,allThreads"
)
CHARTS = ("response-time", "throughput", "errors", "users", "distribution", "cpu", "memory", "heap")
LOG = """INFO started
java.lang.IllegalStateException: no card 4711
\tat shop.Till.pay(Till.java:7)
Caused by: java.net.SocketTimeoutException: Read timed out
\tat java.net.Socket.read(Socket.java:1)
"""


def jtl_row(second, user, *, elapsed_ms=900, code="201", failure="", label="Pay", thread="Users", users=2):
    success, message = ("false", "no") if failure else ("true", "Created")
    return (
        f"{START_MS + 1000 * second},{elapsed_ms},{label},{code},{message},{thread} 1-{user},{success},{failure},"
        f"300,100,{users}"
    )


def samples_of_100_s():
    """Two users, the second from second 10 on, one sample each a second; one error; setUp before, a step once."""
    rows = [jtl_row(-5, 1, label="Tenant", thread="setUp"), jtl_row(-3, 1, label="Tenant", thread="setUp", failure="x")]
    rows.append(jtl_row(0, 1, label="Create", users=1))
    for second in range(100):
        rows.append(jtl_row(second, 1, users=1 if second < 10 else 2))
        if second >= 10:
            is_bad = second == 43
            rows.append(jtl_row(second, 2, code="500" if is_bad else "202", failure="no card 4711" if is_bad else ""))
    return "\n".join([HEAD, *rows, "torn,row"]) + "\n"


def telemetry_of_100_s():
    rows = ["time_ms,process,cpu_cores,rss_bytes,thread_count,iowait_cores,runnable_threads"]
    for second in range(-5, 105):
        time_ms = START_MS + 1000 * second
        rows += [f"{time_ms},host,1.950,900000000,,0.050,3", f"{time_ms},jmeter,1.700,200000000,40,,"]
    return "\n".join(rows) + "\n"


def heap_of_100_s():
    rows = ["time_ms,process,used_bytes,committed_bytes,reserved_bytes"]
    for second in range(0, 100, 10):
        time_ms, mb = START_MS + 1000 * second, 1024**2
        rows += [
            f"{time_ms},shop,{300 * mb},{512 * mb},{1024 * mb}",
            f"{time_ms + 5},shop,{100 * mb},{512 * mb},{1024 * mb}",
        ]
    return "\n".join(rows) + "\n"


def add_profile(directory):
    """Add what a profiled run leaves: 200 samples of a method, a lock wait, an allocation, a statement."""
    second = START_MS // 1000 + 50
    lines = [
        "P\tshop", "S\t0\tshop.Cart.sum;shop.Page.show", f"E\tcpu\t{second}\t0\t\t\t200\t0\t0",
        f"E\tlock\t{second}\t0\tshop.Till\tmain\t1\t5000000\t5000000",
        f"E\talloc\t{second}\t0\tbyte[]\t\t1\t1048576\t1048576",
    ]  # fmt: skip
    directory.profile.write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    (directory.system_logs / "statements-till.tsv").write_text("statement\tcount\ttotal_ms\nCOMMIT\t380\t95.0\n")


def full_record():
    return record(
        plan_notes=("A stand-in takes the bank's place.",),
        dump_figures=(("live threads", "63"),),
        exception_logs=("shop.log", "gone.log"),
        heap_unknown=(("till", "the recording till.jfr is missing"),),
        note="first try",
        took_s=106.0,  # setUp begins 5 s before the load
        ended_at="2026-01-01T00:01:46Z",
    )


def run_directory(folder: Path, run=None, samples=None):
    """Return a run directory with everything that a run leaves."""
    path = folder / "reports" / "tiny" / "run-01_1"
    (path / "system").mkdir(parents=True)
    for name, text in (
        ("run.json", json_text((run or full_record()).to_json())),
        ("samples.jtl", samples_of_100_s() if samples is None else samples),
        ("telemetry.csv", telemetry_of_100_s()),
        ("heap.csv", heap_of_100_s()),
        ("system/shop.log", LOG),
    ):
        (path / name).write_text(text)
    return RunDirectory(path)


def files_of(directory):
    """The bytes of the report, its JSON and its charts, by name."""
    paths = [directory.report, directory.summary_json, *directory.path.glob("*.svg")]
    return {path.name: path.read_bytes() for path in paths}


@pytest.fixture
def directory(tmp_path):
    made = run_directory(tmp_path)
    write_report(made)
    return made


@pytest.fixture
def text(directory):
    return directory.report.read_text(encoding="utf-8")


def sections_of(markdown):
    return [line.removeprefix("## ") for line in markdown.splitlines() if line.startswith("## ")]


def test_the_sections_are_in_reading_order(text):
    found = sections_of(text)
    assert found == [
        "Summary", "Results", "Response codes", "Errors by cause", "Over time", "Distribution of response times",
        "CPU and memory", "JVM heap", "Exceptions", "Set-up", "Notes", "Warnings",
    ]  # fmt: skip
    assert text.index("**DOUBTFUL: ") < text.index("## Summary")
    example = (ROOT / "docs" / "example-report.md").read_text(encoding="utf-8")
    assert sections_of(example) == [section for section in found if section != "Errors by cause"]


def test_the_measured_window_and_its_effect_are_above_the_table(text):
    # Both users are there from second 10 on, which is the ramp's last; the last second is the tail.
    assert "Measured window: 11 s to 99 s of 100 s (steady); excluded: ramp-up 11 s, last second." in text
    # The whole run: 10 of one user and 2 * 90 of both, in 99.9 s. The window: 2 a second for 88 s.
    assert "1.90 → 2.00 req/s, 190 → 176 samples." in text
    assert text.index("Measured window:") < text.index("### Load\n") < text.index("### Load, the whole run")


def test_the_table_of_the_load_has_p95_and_p99_and_covers_the_window_only(text):
    load = text[text.index("### Load\n") : text.index("### Load, the whole run")]
    assert re.search(r"90 % ms \| 95 % ms \[\^\d+] \| 99 % ms \[\^\d+] \|", load)
    assert "| TOTAL | 176 | 900 | 900 | 900 | 900 | 900 | 900 | 900 | 0.57 | 1 | 2.00 |" in load
    assert "| TOTAL | 190 |" in text[text.index("### Load, the whole run") :]


def test_errors_have_their_times_and_one_message_if_it_adds_to_the_cause(text):
    assert "| Pay | 500 | no card … | no card 4711 | 1 | 43.0 | 43.0 |" in text
    assert "| Tenant | 201 | x |  | 1 | -3.0 | -3.0 |" in text


def test_every_chart_is_a_file_that_the_report_links_with_a_description(directory, text):
    images = re.findall(r"^!\[(.+)\]\((.+)\)$", text, re.M)
    assert [path for _, path in images] == [f"run-01_1/{name}.svg" for name in CHARTS]
    for words, path in images:
        assert (directory.report.parent / path).read_text().startswith("<svg ")
        assert re.search(r"\d", words), words


def test_charts_over_time_share_one_axis_and_shade_the_window(directory):
    for name in CHARTS:
        chart = (directory.path / f"{name}.svg").read_text()
        if name != "distribution":
            assert "0 to 100 s" in chart, name
            assert "window: 11 to 99 s" in chart, name


def test_heap_and_exceptions_are_reported_and_a_missing_log_does_not_mean_no_exceptions(text):
    # Points at 20, 30 … 90 s, two each: from 100 to 300 MB and back, 200 MB on average over time.
    assert "| shop | 200 | 100-300 | 512 | 512-512 | 1024 | 1024-1024 | 16 |" in text
    assert "- till: the recording till.jfr is missing" in text
    assert (
        "| shop.log | java.lang.IllegalStateException | java.net.SocketTimeoutException | no card 4711 | 1 | 2 |"
        in text
    )
    assert "Not known: gone.log is missing." in text


def test_a_log_without_exceptions_says_none_and_a_system_without_logs_has_no_section(tmp_path):
    quiet = run_directory(tmp_path / "quiet", record(exception_logs=("shop.log",)))
    (quiet.system_logs / "shop.log").write_text("INFO started\n")
    write_report(quiet)
    assert "None in shop.log, from the system's start to its end" in quiet.report.read_text()
    silent = run_directory(tmp_path / "silent", record())
    write_report(silent)
    assert "Exceptions" not in silent.report.read_text()


def test_every_footnote_is_referenced_and_numbered_in_page_order(text):
    body, notes = text.split("## Warnings")
    numbers = [int(number) for number in re.findall(r"^\[\^(\d+)\]: ", notes, re.M)]
    assert numbers == list(range(1, len(numbers) + 1))
    first_seen = list(dict.fromkeys(int(number) for number in re.findall(r"\[\^(\d+)\]", body)))
    assert first_seen == numbers


def test_warnings_are_marked_at_the_metrics_they_concern(text):
    notes = {words.split(":")[0]: number for number, words in re.findall(r"^\[\^(\d+)\]: (.+)$", text, re.M)}

    def mark(start):
        return f"[^{next(number for words, number in notes.items() if words.startswith(start))}]"

    def line(start):
        return next(line for line in text.splitlines() if line.startswith(start))

    assert mark("1 record of the JTL") in line("| label | count [^")
    assert mark("Closed model") in line("- load:")
    assert mark("A stand-in") in line("- system:")
    assert mark("The generator used") in line("| jmeter ")
    assert mark("The 2 cores") in line("| host, all processes ")
    assert mark("Code 202") in line("| Pay | 202")
    assert "[^" not in line("| Pay | 201")


def first_screen(text):
    """Return the first 40 lines of a report, 80 columns wide; GitHub hides comments, and rows of tables scroll."""
    lines = [line for line in text.splitlines() if not line.startswith("<!--")]
    return [
        part
        for line in lines
        for part in ([line] if line.startswith("|") or not line else textwrap.wrap(line, 80, subsequent_indent="  "))
    ][:40]


def test_the_first_screen_has_verdict_goals_figures_and_doubts_in_words(text):
    screen = first_screen(text)
    plain = " ".join(part.strip() for part in screen)
    assert re.search(r"\*\*DOUBTFUL: .*the load generator used nearly all of the CPU.* Goals met: 2 of 2\.\*\*", plain)
    assert "| p90 ≤ 1000 ms | 900 ms | met |" in plain
    assert "Load: closed model, 2 users, ramp 1 s, 100 s in all. Measured window: 11 s to 99 s" in plain
    # 2 a second for 88 s.
    assert "| Pay | 176 | 2.00 | 900 | 900 | 900 | 0.57 |" in screen
    assert "| TOTAL | 176 | 2.00 | 900 | 900 | 900 | 0.57 |" in screen
    assert "Most frequent error: Pay: 500 no card … (1 time)." in plain
    for words in (
        "- The generator used 85 % of the 2 cores",
        "- The 2 cores",
        "- 1 record of the JTL could not be used",
    ):
        assert words in plain, words
    assert "too few for a p95 (1000)" in plain
    assert "[^" not in plain


def test_the_first_screen_of_a_run_with_many_labels_has_those_with_errors_and_the_slowest():
    samples = [sample(f"Page {number:02}", elapsed_ms=100 + number, start_ms=START_MS) for number in range(1, 21)]
    made = summarise(tally_of([*samples, failed("Log in", elapsed_ms=1, start_ms=START_MS)]), Dropped(), "x", record())
    screen = first_screen(report(made, gallery(made), "", "x"))
    labels = [line.split(" | ")[0].removeprefix("| ") for line in screen if line.startswith(("| Page", "| Log"))]
    assert labels == [*(f"Page {number}" for number in range(12, 21)), "Log in"]
    assert "11 more labels with fewer errors or a lower p95: see the full table below." in screen


def test_a_warning_with_text_of_the_system_cannot_break_the_page(tmp_path):
    made = run_directory(tmp_path, record(plan_notes=("*bold* [^1]: <b> | x",)))
    write_report(made)
    assert r"\*bold\* \[^1\]: \<b\> \| x" in made.report.read_text()


def test_the_same_run_in_another_folder_gives_the_same_bytes(tmp_path, directory):
    other = run_directory(tmp_path / "somewhere" / "else")
    write_report(other)
    assert files_of(other) == files_of(directory)
    assert len(files_of(other)) == 2 + len(CHARTS)
    assert not any(str(tmp_path).encode() in content for content in files_of(other).values())


def test_a_report_is_rendered_again_from_its_json_alone_with_the_same_bytes(directory):
    before = files_of(directory)
    shutil.rmtree(directory.path)  # as in a clone without the run directories
    write_report(directory)
    assert files_of(directory) == before
    directory.report.unlink()
    write_report(directory)  # the note of run.json comes back
    assert files_of(directory) == before


def test_notes_are_kept_and_obsolete_charts_are_removed(directory):
    directory.report.write_text(directory.report.read_text().replace("first try", "second thoughts"))
    (directory.path / "plan-of-the-site.svg").write_text("<svg/>")
    directory.heap.unlink()
    write_report(directory)
    assert "second thoughts" in directory.report.read_text()
    assert not (directory.path / "heap.svg").exists()
    assert (directory.path / "plan-of-the-site.svg").exists()


def test_a_run_without_a_sample_of_the_load_has_a_report_without_charts(tmp_path):
    made = run_directory(tmp_path, samples="\n".join([HEAD, jtl_row(0, 1, label="Tenant", thread="setUp")]) + "\n")
    summary = write_report(made)
    text = made.report.read_text()
    assert summary.timeline is None
    assert "## Over time" not in text
    assert "![" not in text
    assert "No sample of the load." in text
    assert list(made.path.glob("*.svg")) == []


def test_git_keeps_the_charts_of_a_run_and_nothing_else_of_its_directory():
    lines = (ROOT / ".gitignore").read_text().splitlines()
    assert lines.index("reports/*/run-*/*") < lines.index("!reports/*/run-*/*.svg")


def summaries():
    dropped = Dropped()
    dropped.note(7, "torn record")
    return {
        "a bare JTL of one sample": summarise(tally_of([sample()]), Dropped(), "samples.jtl"),
        "columns that are not there": summarise(
            tally_of([sample(sent_bytes=None, all_threads=None, latency_ms=None)]), dropped, "samples.jtl"
        ),
        "no sample at all": summarise(tally_of([]), Dropped(), "tiny/run-01_1", record()),
        "setUp alone": summarise(tally_of([failed(thread_name="setUp 1-1")]), Dropped(), "tiny/run-01_1", record()),
        "open load": summarise(
            tally_of([sample(), failed()]),
            Dropped(),
            "tiny/run-01_1",
            record(load=closed_load(users=None, model="open", rate_per_s=2.0), target="http://shop", git_commit=None),
        ),
        "percentiles that were asked for": summarise(
            tally_of([sample()]), Dropped(), "samples.jtl", options=SummaryOptions(percentiles=("50", "90", "99.99"))
        ),
    }


@pytest.mark.parametrize("name", summaries())
def test_the_json_of_any_summary_is_valid_and_reads_back_equal(name):
    summary = summaries()[name]
    data = json.loads(json_text(summary.to_json()))
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert RunSummary.from_json(data) == summary


def test_a_profiled_run_says_where_the_time_went(directory):
    add_profile(directory)
    write_report(directory)
    text = directory.report.read_text(encoding="utf-8")
    sections = sections_of(text)
    assert sections.index("Where the time went") == sections.index("JVM heap") + 1
    assert "| shop.Cart.sum | 100.0 | 100.0 |" in text
    assert "2.0 per sample of the load" in text
    assert text.count("| Pay | Users 1-") == 20


def test_the_json_of_a_complete_run_is_valid_and_reads_back_equal(directory):
    add_profile(directory)
    write_report(directory)
    text = directory.summary_json.read_text(encoding="utf-8")
    data = json.loads(text)
    jsonschema.Draft202012Validator(SCHEMA).validate(data)
    assert data["format_version"] == FORMAT_VERSION
    assert min(len(values) for values in data["observed"].values() if isinstance(values, list)) > 0
    assert data["whole"]["total"]["sample_count"] == 190
    assert json_text(RunSummary.from_json(data).to_json()) == text


def test_the_machine_has_one_row_with_the_figures_that_are_known(directory):
    write_report(directory)
    report = directory.report.read_text(encoding="utf-8")
    assert "| machine, mean (range) | iowait % of one core | run queue |" in report
    assert "| host, all processes | 5.0 (5.0-5.0) | 3.0 (3.0-3.0) |" in report


def test_an_unknown_or_missing_key_is_refused(directory):
    data = json.loads(directory.summary_json.read_text(encoding="utf-8"))
    for broken in ({**data, "extra": 1}, {key: value for key, value in data.items() if key != "window"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.Draft202012Validator(SCHEMA).validate(broken)


def objects_of(schema):
    """Every object that the schema describes by its properties."""
    if isinstance(schema, list):
        return [found for item in schema for found in objects_of(item)]
    if not isinstance(schema, dict):
        return []
    here = [schema] if schema.get("type") == "object" and "properties" in schema else []
    return here + [found for item in schema.values() for found in objects_of(item)]


def test_the_schema_is_strict_and_describes_every_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = objects_of(SCHEMA)
    assert len(found) > 20
    for schema in found:
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) == set(schema["properties"])
        for name, described in schema["properties"].items():
            assert "description" in described or "$ref" in described, name
    assert all("description" in definition for definition in SCHEMA["$defs"].values())


def test_the_schema_is_the_one_that_the_types_give():
    assert generate.SCHEMA.read_text(encoding="utf-8") == generate.schema_text(), (
        "run: python -m harness.report.schema.generate"
    )


def test_the_format_page_describes_every_key_of_the_schema():
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    names = {name for schema in objects_of(SCHEMA) for name in schema["properties"]}
    assert sorted(name for name in names if f"`{name}`" not in text) == []


def test_the_schema_lists_exactly_the_existing_warning_codes():
    codes = SCHEMA["properties"]["caveats"]["items"]["properties"]["code"]["enum"]
    assert sorted(codes) == sorted(WarningCode)


def test_a_time_series_is_one_line_of_the_json(directory):
    lines = directory.summary_json.read_text(encoding="utf-8").splitlines()
    assert sum(line.lstrip().startswith('"seconds": [') for line in lines) == 3  # two processes and a heap
    assert len(lines) < 700
