import re
from dataclasses import replace

from harness.judge.summarise import summarise
from harness.judge.summary import StoredFailures
from harness.report.charts.run_charts import run_charts
from harness.report.exchanges import failures_page
from harness.report.markdown import report as rendered
from harness.report.notes import NOTES_BEGIN, NOTES_END, notes_of
from tests.support.exchanges import ONE
from tests.support.factories import closed_load, failed, record, sample, tally_of, two_users


def summary_of(samples, run=None):
    return summarise(tally_of(samples, run.once_labels if run else ()), "tiny/run-01_1", run)


def report(summary, notes):
    return rendered(summary, run_charts(summary), notes, "run-01_1")


def test_a_report_states_its_verdict_before_any_metric():
    text = report(summary_of([sample("Create"), *two_users()], record()), "")
    positions = [text.index(part) for part in ("VALID", "2 of 2 goals", "| Pay |", "## Results", "| goal |", "Set-up")]
    assert positions == sorted(positions)
    assert text.index("## Results") < text.index("### Once per user") < text.index("<summary>Set-up")
    assert "- heap: 512 MB" in text
    assert "<!-- command: lth run --plan=tiny -->" in text


def test_a_report_lists_errors_and_codes():
    text = report(summary_of([sample(), failed()], record()), "")
    assert "| Pay | 402 | 1 | 1 |" in text
    assert "| Pay | 402 | expected 201 | 1 | 0.0 | 0.0 |" in text  # the message says no more than the cause


def test_codes_and_causes_are_escaped_and_left_aligned():
    text = report(summary_of([sample(), failed()], record()), "")
    assert "| label | code | cause | count | first s | last s |\n| --- | --- | --- | ---: | ---: | ---: |" in text


def test_the_table_of_errors_links_the_stored_failures_of_a_cause():
    summary = summary_of([sample(), failed(), failed("Visit")], record())
    stored = (StoredFailures("Visit", "402", "expected 201", 3), StoredFailures("Pay", "500", "other", 1))
    text = report(replace(summary, stored_failures=stored), "")
    rows = [line for line in text.splitlines() if "| 402 | expected 201 |" in line]
    assert [row.rpartition("| 0.0 |")[2] for row in rows] == ["  |", " [3](run-01_1/failures.html#error-2) |"]
    assert "*stored*: the first failed requests" in text
    assert "stored" not in report(summary, "")


def test_the_page_of_failures_has_the_sections_of_the_table_and_then_other_causes():
    summary = summary_of([sample(), failed(), failed("Visit")], record())
    visit = replace(ONE, label="Visit", code="402", failure="expected 201")
    page = failures_page(summary, (ONE, visit, visit))
    headings = re.findall(r"<h2 id=\"([^\"]+)\">([^<]+)", page)
    assert headings == [
        ("error-2", "Visit: 402 expected 201 (1 failure; the first 2)"),
        ("error-3", "Buy: 500 Server Error (not in the table of errors; the first 1)"),
    ]
    assert page.count("<details") == 3


def test_a_run_without_samples_has_a_report():
    text = report(summary_of([], record(stop_reasons=("jmeter.log: no such plugin",))), "")
    assert "❌ **INVALID: the load has no samples, and 1 more reason.**" in text
    assert "**What weakens it:**\n\n- jmeter.log: no such plugin" in text
    assert "No sample of the load." in text


def test_codes_of_setup_are_left_out_unless_they_failed():
    quiet = sample("Find Tenant", code="500", thread_name="setUp 1-1")
    loud = failed("Create Tenant", code="409", thread_name="setUp 1-1")
    text = report(summary_of([quiet, loud, sample()], record()), "")
    assert "| Find Tenant | 500 |" not in text
    assert "| Create Tenant | 409 | 1 | 1 |" in text


def test_littles_law_is_not_applied_to_an_open_load():
    open_load = closed_load(users=None, model="open", rate_per_s=2.0)
    text = report(summary_of([sample(start_ms=0), sample(start_ms=900)], record(load=open_load)), "")
    assert "users busy on average" in text
    assert "accounted for" not in text


def test_a_note_that_contains_the_end_mark_loses_nothing():
    note = f"before {NOTES_END} behind"
    assert notes_of(report(summary_of([sample()], record()), note)) == note


def test_notes_survive_rendering_and_a_report_without_a_block_has_none():
    text = report(summary_of([sample()], record()), "plugin threads raised\n\nsee run-01_2")
    assert notes_of(text) == "plugin threads raised\n\nsee run-01_2"
    assert (text.count(NOTES_BEGIN), text.count(NOTES_END)) == (1, 1)
    assert notes_of("# nothing") is None


def test_a_transaction_that_fails_with_its_samples_does_not_repeat_their_causes():
    message = "Number of samples in transaction : 2, number of failing samples : 1"
    checkout = sample("Checkout", code="", message=message, success=False, error_count=1)
    asserted = failed("Checkout", message=message, failure="took longer than 200 ms")
    text = report(summary_of([failed(), checkout, asserted], record()), "")
    section = text.split("## Errors by cause\n")[1].split("\n## ")[0]
    assert "| Pay | 402 | expected 201 |" in section
    assert "| Checkout | 402 | took longer than 200 ms |" in section
    assert "Number of samples in transaction" not in section
    assert "Transaction Controllers that failed because of their samples: Checkout 1." in section
    alone = report(summary_of([checkout], record()), "")
    assert message in alone
    assert "Transaction Controllers that failed" not in alone


def test_the_length_of_an_interval_is_stated_and_that_of_the_heat_map_where_it_is_longer():
    def text_of(seconds):
        samples = [sample(start_ms=1_000_000 + 50 * number) for number in range(20 * seconds)]
        return report(summary_of(samples), "")

    assert "each point covers 1 s.\n" in text_of(119)
    assert "each point covers 1 s, of the response times 2 s.\n" in text_of(130)
