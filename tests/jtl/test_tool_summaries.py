"""Summaries of other tools: what failed is counted once, rates and times are right or left out, and gaps are named.

The files are of real tools against a server that resets connections, answers with 500 and is late.
"""

from __future__ import annotations

import json

import pytest

from harness.cli.verbs import main
from harness.jtl.inputs import resolve
from tests.support.tool_files import TOOL_FILES as FILES
from tests.support.tool_files import refusal


def summary_of(capsys, name):
    """Return TOTAL, the labels' rows by label, and the remarks of a summary as one text."""
    assert main(["table", "--format", "json", str(FILES / name)]) == 0
    printed = json.loads(capsys.readouterr().out)
    labels = {row["label"]: row for row in printed["labels"]}
    return printed["total"], labels, "\n".join(printed["remarks"])


# Count and errors as the server saw them, but for what a comment says.
@pytest.mark.parametrize(
    ("name", "count", "errors", "rate_per_s", "p50_ms"),
    [
        ("wrk-4.1.0-some-reset.txt", 337, 33, 337 / 3.16, 27.93),
        ("wrk-4.1.0-all-reset.txt", 208, 208, 208 / 3.05, None),
        ("wrk-4.1.0-timeouts.txt", 44, 12, 5.41, 8.18),
        ("ab-2.3-more-failures-than-requests.txt", 200, 20, 96.30, 18),
        ("autocannon-9.0.0.json", 119, 0, 119 / 6.07, 0),
        ("autocannon-9.0.0-lost-connections.json", 1015, 101, 1015 / 3.03, None),  # 1019 with 4 at the end
        ("autocannon-9.0.0-rate.json", 302, 30, 302 / 3.05, None),  # 306
        ("artillery-2.0.20.json", 180, 18, 180 / 3.004, 16.9),
        ("bombardier-1.2.6.json", 200, 11, 200 / 0.602864932, 11.062),  # 210, 21: ten were sent again
        ("siege-4.0.7.json", 200, 20, None, None),
        ("locust-2.47.0-json-file.json", 172, 17, 172 / 2.6112592, 14),
        ("locust-2.47.0-reset-stats_stats_history.csv", 616, 0, 616 / 9, 58),
        ("jmeter-5.6.3-statistics.json", 20, 1, 5.1033427, 109.5),
        ("jmeter-5.6.3-aggregate-report-german.csv", 20, 1, 5.10334, 109),
        ("jmeter-5.6.3-summary-report.csv", 20, 1, 5.10334, None),
        ("jmeter-plugins-2.2-synthesis.csv", 20, 1, 5.1, None),
    ],
)
def test_a_summary_counts_what_failed_once_and_has_the_rate_of_all(capsys, name, count, errors, rate_per_s, p50_ms):
    total, _, _ = summary_of(capsys, name)
    assert (total["sample_count"], total["error_count"]) == (count, errors)
    assert rate_per_s is None or total["rate_per_s"] == pytest.approx(rate_per_s, rel=1e-6)
    assert total["percentiles_ms"].get("50") == p50_ms


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrk-4.1.0.txt", "the output of 2 runs; save each run in its own file"),
        ("wrk2-4.0.0.txt", "the output of 2 runs"),
        ("ab-2.3.txt", "the output of 2 runs"),
        ("hey-0.1.5.txt", "the output of 2 runs"),
        ("oha-1.16.0.json", "a damaged summary"),
        ("k6-0.54.0-summary.json", "a damaged summary"),
        ("locust-2.47.0_stats.csv", "a damaged summary"),
        ("ab-2.3-percentages.csv", "a damaged summary"),
    ],
)
def test_the_output_of_two_runs_in_one_file_is_refused(put, capsys, name, text):
    # As of `wrk … >> file`: counts were those of the first run, and percentiles those of the last.
    assert text in refusal(capsys, "table", put(name, lambda whole: whole + whole))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wrk-4.1.0-timeouts.txt", "Late responses are not in its times: 12 of 44 came after --timeout."),
        ("wrk-4.1.0-some-reset.txt", "Requests without a response are not in its times and its own count: 17 failed."),
        ("ab-2.3-more-failures-than-requests.txt", "190 responses are not as long as the first one"),
        ("autocannon-9.0.0-lost-connections.json", "after a lost connection (here 50)"),
        ("autocannon-9.0.0-rate.json", "with a rate it adds made-up ones (21,074 for 287 responses)"),
        ("artillery-2.0.20.json", "Its times end with the first byte of a response"),
        ("artillery-2.0.20.json", "Requests without a response are not in its times: 9."),
        ("bombardier-1.2.6.json", "sent again, up to five times"),
        ("siege-4.0.7.json", "siege rounds its times to 10 ms"),
        ("locust-2.47.0_stats.csv", "the last second is missing. locust --json-file NAME has all requests."),
        ("locust-2.47.0-reset-stats_stats_history.csv", "--reset-stats dropped the requests of the first seconds."),
        ("jmeter-5.6.3-statistics.json", "aggregate_rpt_pct1 to 3 may have set others."),
    ],
)
def test_a_summary_says_what_it_hides(capsys, name, text):
    assert text in summary_of(capsys, name)[2]
    assert main(["table", str(FILES / name)]) == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize(
    "name", ["wrk-4.1.0.txt", "ab-2.3.txt", "autocannon-9.0.0.json", "locust-2.47.0-json-file.json"]
)
def test_a_summary_that_hides_nothing_says_nothing(capsys, name):
    assert summary_of(capsys, name)[2] == ""


def test_compare_says_what_a_summary_hides(capsys):
    main(["compare", "--anyway", str(FILES / "wrk-4.1.0.txt"), str(FILES / "wrk-4.1.0-timeouts.txt")])
    assert "12 of 44 came after --timeout" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["wrk-4.1.0-all-reset.txt", "hey-0.1.5-refused.txt"])
def test_times_of_no_response_are_unknown_and_not_0(capsys, name):
    total, _, _ = summary_of(capsys, name)
    assert (total["average_ms"], total["max_ms"], total["percentiles_ms"]) == (None, None, {})


def test_an_ab_that_gave_up_is_refused_with_its_reason(capsys):
    line = refusal(capsys, "table", str(FILES / "ab-2.3-gave-up.txt"))
    assert "ab gave up: apr_socket_recv: Connection reset by peer (104); run it again with -r" in line


def test_names_of_locust_with_line_breaks_quotes_and_commas_are_labels(capsys):
    total, labels, _ = summary_of(capsys, "locust-2.47.0-name-with-line-break_stats.csv")
    assert (total["sample_count"], total["error_count"]) == (38, 10)
    assert labels['GET line\nbreak "q"']["sample_count"] == 2
    assert labels["GET comma, name"]["sample_count"] == 3


def test_a_request_of_locust_that_is_named_aggregated_is_not_the_total(capsys):
    total, labels, _ = summary_of(capsys, "locust-2.47.0-request-named-Aggregated_stats.csv")
    assert total["sample_count"] == sum(row["sample_count"] for row in labels.values()) == 168
    assert "GET Aggregated" in labels


def test_the_json_file_of_locust_has_the_average_and_the_rounded_percentiles(capsys):
    total, labels, _ = summary_of(capsys, "locust-2.47.0-json-file.json")
    assert total["average_ms"] == pytest.approx(2889.347554998949 / 172)
    # Of 172 times the 155th is 22 ms, the 163rd 28 ms, and the 170th 80 ms.
    assert [total["percentiles_ms"][name] for name in ("50", "90", "95", "99")] == [14, 22, 28, 80]
    assert labels["GET /mix"]["sample_count"] == 172


def test_numbers_of_a_table_are_read_with_commas_of_the_users_language(capsys):
    _, labels, _ = summary_of(capsys, "jmeter-5.6.3-aggregate-report-german.csv")
    row = labels["Pay, card"]
    assert (row["sample_count"], row["error_count"], row["average_ms"]) == (5, 0, 108)
    assert row["rate_per_s"] == pytest.approx(1.50784)
    assert row["received_bytes_per_s"] == pytest.approx(0.74 * 1024)
    assert {name: row["percentiles_ms"][name] for name in ("50", "90", "95", "99")} == {
        "50": 108, "90": 112, "95": 116, "99": 116,
    }  # fmt: skip


def test_the_folder_of_a_dashboard_is_its_statistics_and_its_page_names_them(tmp_path, capsys):
    statistics = tmp_path / "dashboard" / "statistics.json"
    statistics.parent.mkdir()
    statistics.write_bytes((FILES / "jmeter-5.6.3-statistics.json").read_bytes())
    (given,) = resolve([str(statistics.parent)])
    assert given.path == statistics
    page = tmp_path / "dashboard" / "index.html"
    page.write_text('<!DOCTYPE html>\n<html lang="en">\n<head><title>Apache JMeter Dashboard</title></head></html>\n')
    assert refusal(capsys, "table", str(page)).endswith("a web page, not a JTL; name statistics.json beside it")
