"""Files that other tools wrote for a load on one small server, against the summary that each tool printed of it.

Every request waited 12 ms and an exponential time with a mean of 12 ms; one in twenty was answered with 500. The name
of a file has the version of its tool. Of hey and oha the files and the summaries are of two loads.
"""

from __future__ import annotations

import json
import re
import statistics

import pytest

from harness.cli.verbs import main
from tests.support.tool_files import refusal, table, text_of


@pytest.mark.parametrize("name", ["k6-0.54.0.json.xz", "k6-0.54.0.csv.xz"])
def test_k6_has_our_count_errors_and_percentiles(put, capsys, name):
    stated = json.loads(text_of("k6-0.54.0-summary.json"))["metrics"]
    total, texts = table(capsys, put(name))
    assert total["sample_count"] == stated["http_reqs"]["count"] == 434
    assert total["error_count"] == stated["http_req_failed"]["passes"] == 27
    assert total["average_ms"] == pytest.approx(stated["http_req_duration"]["avg"], abs=0.5)
    # k6 interpolates between the two samples around a percentile, JMeter takes the next sample.
    for percentile, theirs in (("50", "med"), ("75", "p(75)"), ("90", "p(90)"), ("95", "p(95)"), ("99", "p(99)")):
        assert total["percentiles_ms"][percentile] == pytest.approx(stated["http_req_duration"][theirs], abs=1.2)
    assert ("whole seconds instead of exact times" in texts) is (".csv" in name)


@pytest.mark.parametrize("name", ["k6-0.54.0.json.xz", "k6-0.54.0.csv.xz"])
@pytest.mark.parametrize("left_out", [2, 50])  # beside 217 iterations that were made
def test_arrivals_that_k6_left_out_for_lack_of_users_are_missing(put, capsys, name, left_out):
    def with_dropped(text):
        is_one = re.compile(rb'iterations,|"metric":"iterations","type":"Point"').search
        one = next(line for line in text.splitlines(keepends=True) if is_one(line))
        return text + left_out * one.replace(b"iterations", b"dropped_iterations")

    _, texts = table(capsys, put(name, with_dropped))
    assert ("50 of 267 arrivals were not made: no user of the tool was free" in texts) is (left_out == 50)


def test_the_summary_of_k6_names_arrivals_that_were_left_out(put, capsys):
    metrics = json.loads(text_of("k6-0.54.0-summary.json"))["metrics"]
    for count in (0, 2):
        text = json.dumps({"metrics": {**metrics, "dropped_iterations": {"count": count}}}).encode()
        assert main(["table", put("k6-0.54.0-summary.json", lambda _, text=text: text)]) == 0
        assert ("2 arrivals were not made" in capsys.readouterr().out) is (count > 0)


@pytest.mark.parametrize("name", ["vegeta-12.13.0.json.xz", "vegeta-12.13.0.csv.xz"])
def test_vegeta_has_our_count_errors_and_percentiles(put, capsys, name):
    stated = json.loads(text_of("vegeta-12.13.0-report.json"))
    total, _ = table(capsys, put(name))
    assert (
        (total["sample_count"], total["error_count"])
        == (stated["requests"], stated["status_codes"]["500"])
        == (360, 15)
    )
    assert total["average_ms"] == pytest.approx(stated["latencies"]["mean"] / 1e6, abs=0.5)
    assert total["received_bytes_mean"] == stated["bytes_in"]["mean"]
    for percentile, theirs in (("50", "50th"), ("90", "90th"), ("95", "95th"), ("99", "99th")):
        # Vegeta interpolates between the values of a t-digest; ours are whole milliseconds.
        assert total["percentiles_ms"][percentile] == pytest.approx(stated["latencies"][theirs] / 1e6, abs=1)


def test_samples_of_ab_have_the_percentiles_of_its_summary(put, capsys):
    stated = dict(re.findall(r"^ +(\d\d)% +(\d+)$", text_of("ab-2.3.txt").decode(), re.MULTILINE))
    total, texts = table(capsys, put("ab-2.3-samples.tsv"))
    assert total["sample_count"] == 400
    assert total["average_ms"] == pytest.approx(32, abs=0.5)
    rows = sorted(int(line.split("\t")[4]) for line in text_of("ab-2.3-samples.tsv").decode().splitlines()[1:])
    for percentile in ("50", "75", "90", "95", "99"):
        # ab takes the sample after ours: of 400 the 397th is its p99, the 396th is JMeter's.
        rank = 400 * int(percentile) // 100
        assert rows[rank] == int(stated[percentile])
        assert total["percentiles_ms"][percentile] == rows[rank - 1]
    assert "neither which requests failed nor when exactly they began" in texts


@pytest.mark.parametrize(
    ("name", "tool", "time", "status", "errors"),
    [("hey-0.1.5.csv", "hey", 0, 6, 22), ("oha-1.16.0.csv", "oha", 4, 6, 19)],
)
def test_samples_of_hey_and_oha_are_those_of_their_files(put, capsys, name, tool, time, status, errors):
    rows = [line.split(",") for line in text_of(name).decode().splitlines()[1:]]
    times = sorted(float(row[time]) * 1000 for row in rows)
    total, texts = table(capsys, put(name))
    assert total["sample_count"] == len(rows) == 400
    assert total["error_count"] == sum(row[status] == "500" for row in rows) == errors
    assert total["average_ms"] == pytest.approx(statistics.mean(times), abs=0.5)
    for percentile in (50, 95, 99):
        assert total["percentiles_ms"][str(percentile)] == pytest.approx(times[4 * percentile - 1], abs=0.5)
    assert f"The CSV file of {tool} omits requests without a response" in texts


@pytest.mark.parametrize(
    ("name", "count", "errors", "p50", "p99"),
    [
        ("wrk-4.1.0.txt", 1427, 81, 25.42, 80.76),
        ("ab-2.3.txt", 400, 17, 27, 93),
        ("hey-0.1.5.txt", 400, 14, 32.1, 207.3),
        ("oha-1.16.0.json", 400, 21, 20.657902, 59.864561),
        ("wrk2-4.0.0.txt", 2670, 140, 543.74, 867.84),
        ("locust-2.47.0_stats.csv", 521, 29, 27, 140),
        ("k6-0.54.0-summary.json", 434, 27, 25.288878, 77.85672357),
        ("vegeta-12.13.0-report.json", 360, 15, 26.954626, 88.329365),
    ],
)
def test_a_summary_has_its_numbers_and_no_verdict(put, capsys, name, count, errors, p50, p99):
    assert main(["table", "--format", "json", put(name)]) == 0
    printed = json.loads(capsys.readouterr().out)
    total = printed["total"]
    assert (total["sample_count"], total["error_count"]) == (count, errors)
    assert (total["percentiles_ms"]["50"], total["percentiles_ms"]["99"]) == (pytest.approx(p50), pytest.approx(p99))
    assert printed["verdict"] == "no verdict: this file has no samples"


def test_a_summary_is_a_table_with_the_columns_that_it_states(put, capsys):
    assert main(["table", put("locust-2.47.0_stats.csv"), "--percentiles", "95"]) == 0
    out = capsys.readouterr().out
    assert "| label | count | average ms | p50 ms | p90 ms | p95 ms | min ms |" in out
    assert "\n| GET List | 356 | 33 | 27 | 55 | 74 | 13 | 182 | 5.62 | 20 | 70.91 | 0.42 |" in out
    assert "\n| TOTAL | 521 | 34 | 27 | 57 | 75 | 13 | 217 | 5.57 | 29 | 103.77 | 0.61 |" in out
    assert "\n\nSummary of Locust: no verdict: this file has no samples.\n\n" in out


def test_the_history_of_locust_has_the_totals_of_its_last_second(put, capsys):
    assert main(["table", put("locust-2.47.0_stats_history.csv"), "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    # What Locust's own _stats.csv of this load says, but for the rate, which is 63.5/s there.
    get, post = printed["labels"]
    assert (get["label"], get["sample_count"], post["label"], post["sample_count"]) == (
        "GET List",
        454,
        "POST Pay",
        248,
    )
    total = printed["total"]
    assert (total["sample_count"], total["error_count"], total["average_ms"]) == (702, 40, 58.23573156837551)
    # The percentiles of a history are those of the last ten seconds: of the whole load there is only the median.
    assert total["percentiles_ms"] == {"50": 43}
    assert total["rate_per_s"] == pytest.approx(63.5, rel=0.03)


def test_the_percentages_of_ab_are_percentiles_without_a_count(put, capsys):
    assert main(["table", put("ab-2.3-percentages.csv"), "--format", "csv"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "label,p50_ms,p75_ms,p90_ms,p95_ms,p99_ms"
    stated = dict(line.split(",") for line in text_of("ab-2.3-percentages.csv").decode().splitlines())
    assert row == ",".join(["TOTAL", *(stated[percentile] for percentile in ("50", "75", "90", "95", "99"))])


def test_a_summary_beside_the_samples_says_where_it_differs(put, capsys):
    samples = put("ab-2.3-samples.tsv", to="samples.tsv")
    _, texts = table(capsys, samples, put("ab-2.3.txt"))
    assert "ab itself: 17 errors (here 0), p99 93.0 ms (here 86 ms)." in texts
    samples = put("vegeta-12.13.0.json.xz", to="samples.json")
    _, texts = table(capsys, samples, put("vegeta-12.13.0-report.json"))
    assert "Vegeta itself: the same count, errors and percentiles." in texts


def test_compare_shows_a_summary_and_does_not_judge_it(put, capsys):
    samples = put("vegeta-12.13.0.json.xz", to="samples.json")
    assert main(["compare", "--format", "json", "--anyway", samples, put("wrk-4.1.0.txt")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["verdict"] == "CANNOT TELL"
    assert "Summary of wrk: no verdict: this file has no samples." in json.dumps(printed)


@pytest.mark.real
def test_two_files_with_samples_are_compared_like_jtls(tmp_path, capsys):
    for name, slower_ms in (("a", 0), ("b", 20)):
        lines = (
            f"{1_700_000_000_000_000_000 + number * 10**7},200,{(40 + number * 7919 % 13 + slower_ms) * 10**6},0,6,,,,"
            f"{number},GET,http://shop/a,\n"
            for number in range(12_000)
        )
        (tmp_path / name).write_text("".join(lines))
    assert main(["compare", "--format", "json", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    printed = json.loads(capsys.readouterr().out)
    average = next(one for one in printed["total"]["metrics"] if one["metric"] == "average")
    assert average["verdict"] == "REGRESSED"
    assert average["low_ratio"] <= 20 / 46 <= average["high_ratio"]


def test_a_file_with_samples_becomes_a_run_with_report_and_history(put, tmp_path, capsys):
    runs = tmp_path / "reports" / "shop"
    for number, name in ((1, "vegeta-12.13.0.json.xz"), (2, "hey-0.1.5.csv")):
        assert main(["report", put(name), "--into", str(runs / f"run-01_{number}")]) == 0
    report = (runs / "run-01_1.md").read_text(encoding="utf-8")
    assert "| POST http://127.0.0.1:18977/b |" in report
    capsys.readouterr()
    assert main(["history", "--plan", "shop", "--format", "json", "--reports", str(tmp_path / "reports")]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [(row["run"], row["sample_count"]) for row in printed["runs"]] == [("run-01_1", 299), ("run-01_2", 400)]
    assert printed["runs"][0]["load"] == "unknown load"


def test_a_summary_becomes_no_run(put, tmp_path, capsys):
    into = tmp_path / "reports" / "shop" / "run-01_1"
    line = refusal(capsys, "report", put("wrk-4.1.0.txt"), "--into", str(into))
    assert "no verdict: this file has no samples (a summary of wrk)" in line
    assert not into.exists()


def test_a_file_that_is_cut_off_keeps_what_was_read_and_warns(put, capsys):
    half = text_of("k6-0.54.0.json.xz")[: len(text_of("k6-0.54.0.json.xz")) // 2]
    *whole, cut = half.decode().split("\n")
    assert cut
    total, texts = table(capsys, put("k6-0.54.0.json.xz", lambda text: text[: len(text) // 2]))
    points = [line for line in whole if '"http_req_duration","type":"Point"' in line]
    assert total["sample_count"] == len(points) > 200
    assert f"line {len(whole) + 1}: cut off" in texts


def test_a_damaged_line_is_dropped_and_named(put, capsys):
    damaged = put("hey-0.1.5.csv", lambda text: text.replace(b"\n0.0231,", b"\n0.0231;", 1))
    total, texts = table(capsys, damaged)
    assert total["sample_count"] == 399
    assert "line 3: damaged" in texts


def test_binary_results_of_vegeta_are_refused_with_the_command_that_converts_them(put, capsys):
    line = refusal(capsys, "table", put("vegeta-12.13.0.bin.xz"))
    assert "Vegeta's binary results; convert them: vegeta encode --to json" in line


def test_a_damaged_summary_is_refused_in_one_line(put, capsys):
    line = refusal(capsys, "table", put("vegeta-12.13.0-report.json", lambda text: text[:100]))
    assert "a damaged summary of another tool" in line


def test_what_a_file_does_not_say_is_stored_in_its_tally(put, tmp_path, capsys):
    tally = str(tmp_path / "ab.tally")
    assert main(["tally", put("ab-2.3-samples.tsv"), "-o", tally]) == 0
    capsys.readouterr()
    total, texts = table(capsys, tally)
    assert total["sample_count"] == 400
    assert "neither which requests failed nor when exactly they began" in texts


def test_a_field_of_vegeta_may_have_quotes_commas_and_line_breaks(put, tmp_path, capsys):
    row = '1795883894089446690,200,{},0,8,,,"an ""odd"", \n name",{},GET,http://a/ok?x="1",\n'
    (tmp_path / "vegeta.csv").write_text("".join(row.format(number * 10**6, number) for number in range(1, 13)))
    total, texts = table(capsys, str(tmp_path / "vegeta.csv"))
    assert (total["sample_count"], total["error_count"], total["max_ms"]) == (12, 0, 12)
    assert "could not be read" not in texts
    total, _ = table(capsys, put("vegeta-12.13.0-name-with-quote.json"))
    lines = [json.loads(line) for line in text_of("vegeta-12.13.0-name-with-quote.json").splitlines()]
    failed = sum(line["code"] != 200 for line in lines)
    assert (total["sample_count"], total["error_count"]) == (len(lines), failed) == (12, 6)


def test_a_file_that_ends_in_a_quoted_field_is_read_up_to_there(put, capsys):
    total, texts = table(capsys, put("vegeta-12.13.0-cut-in-quotes.csv"))
    assert total["sample_count"] == 11
    assert "A file ends early: its last rows are missing. " in texts


def test_samples_of_h2load_are_those_of_its_log(put, capsys):
    rows = [line.split("\t") for line in text_of("h2load-1.52.0.tsv").decode().splitlines()]
    total, texts = table(capsys, put("h2load-1.52.0.tsv"))
    assert total["sample_count"] == len(rows) == 76  # the server had 80: four connections were reset
    assert total["error_count"] == sum(row[1] == "500" for row in rows) == 4
    assert total["average_ms"] == pytest.approx(statistics.mean(int(row[2]) for row in rows) / 1000, abs=0.5)
    assert "h2load omits requests without a response" in texts


@pytest.mark.parametrize(
    "name", ["k6-0.54.0.csv.xz", "hey-0.1.5.csv", "oha-1.16.0.csv", "ab-2.3-samples.tsv", "gatling-3.10.5.log.xz"]
)
def test_the_samples_of_two_runs_in_one_file_are_told_by_the_second_header(put, capsys, name):
    _, texts = table(capsys, put(name, lambda text: text + text))
    assert "The JTL contains 2 runs, one after the other. A header is repeated in line" in texts
    assert "could not be read" not in texts
