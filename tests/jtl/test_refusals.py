"""Files that are no results are refused in one line that names what is read; times in other forms, too."""

from __future__ import annotations

import pytest

from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from tests.support.tool_files import refusal, table

HEAD = "timeStamp,elapsed,label,success\n"


@pytest.mark.parametrize(
    ("text", "instant_ms"),
    [
        ("2023-11-14T22:13:20.250Z", 1_700_000_000_250),
        ("2023-11-14T23:13:20.250+01:00", 1_700_000_000_250),
        ("2023-11-14T22:13:20", 1_700_000_000_000),
        ("2023/11/14 22:13:20.250", 1_700_000_000_250),
        ("11/14/23 22:13:20", 1_700_000_000_000),
        ("14.11.2023 22:13:20", 1_700_000_000_000),
    ],
)
def test_times_in_iso_form_or_as_jmeter_writes_them_are_read(tmp_path, text, instant_ms):
    (tmp_path / "a.csv").write_text(f"{HEAD}{text},5,GET /a,true\n")
    (sample,) = read_samples(tmp_path / "a.csv", Dropped())
    assert sample.start_ms == instant_ms


@pytest.mark.parametrize(
    "text", ["14/11/2023 22:13:20", "11/14/2023 10:13:20 PM", "Tue Nov 14 22:13:20 UTC 2023", "22:13"]
)
def test_times_in_other_forms_are_refused_with_those_that_are_read(tmp_path, capsys, text):
    (tmp_path / "a.csv").write_text(HEAD + f"{text},5,GET /a,true\n" * 20)
    line = refusal(capsys, "table", str(tmp_path / "a.csv"))
    assert f"20 records dropped, the first: line 2: timeStamp '{text}' is neither a whole number nor a date as" in line
    assert "2026-01-31T23:59:59.999Z, 2026/01/31 23:59:59.999, 31.01.2026 23:59:59 or 01/31/26 23:59:59" in line


def test_a_header_line_without_a_time_is_refused_as_such(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("elapsed,label,responseCode,success\n5,GET /a,200,true\n")
    line = refusal(capsys, "table", str(tmp_path / "a.csv"))
    assert "a.csv:1: its header line has no column timeStamp; run again with jmeter.save.saveservice.timestamp" in line


@pytest.mark.parametrize(
    ("text", "what", "todo"),
    [
        ("2026-11-29 06:40:15,976 INFO o.a.j.JMeter: Version 5.6.3\n", "JMeter's log", "jmeter -l FILE"),
        ("Creating summariser <summary>\nsummary + 10 in 1s\n", "JMeter's console", "jmeter -l FILE"),
        ("  execution: local\n     http_req_duration..: avg=1ms\n", "k6's console", "k6 run --out json=FILE"),
        ("Simulation Shop started...\n\n=====\n", "Gatling's console", "its simulation.log"),
        ("Bombarding http://a:80/ with 2 requests\n", "bombardier's console", "--print r --format json"),
        ("Requests      [total, rate, throughput]  1, 2, 3\n", "a report of Vegeta", "vegeta report -type json"),
        ("Summary:\n  Success rate:\t100.00%\n", "a report of oha", "oha --output-format json"),
        ("Test run id: abc\nPhase started\n", "Artillery's console", "artillery run --output FILE"),
        ("Running 10s test @ http://a\n10 connections\n\n┌─┐\n", "autocannon's console", "autocannon --json"),
        ("Transactions:\t\t 180 hits\n", "siege's console", "siege --json-output"),
        ("starting benchmark...\nspawning thread\n", "h2load's console", "h2load --log-file FILE"),
        ("[2026-11-29 06:43:06,484] vm/INFO/locust.main: Starting\n", "Locust's console", "locust --json-file NAME"),
    ],
)
def test_what_a_tool_prints_is_refused_with_the_option_that_writes_a_file_that_is_read(
    tmp_path, capsys, text, what, todo
):
    (tmp_path / "out.txt").write_text(text)
    line = refusal(capsys, "table", str(tmp_path / "out.txt"))
    assert f"{what}, which is not read; a file that is read: " in line
    assert todo in line


@pytest.mark.parametrize(
    "text", ["hello\nworld, this\n", '127.0.0.1 - - [10/Oct/2000:13:55:36] "GET / HTTP/1.0" 200 6\n']
)
def test_another_text_is_refused_with_its_beginning(tmp_path, capsys, text):
    (tmp_path / "notes").write_text(text)
    line = refusal(capsys, "table", str(tmp_path / "notes"))
    assert f"notes:1: not a CSV JTL: it begins with '{text[:5]}" in line
    assert line.endswith("name a JTL that JMeter wrote, or a file of another tool in lth help other-tools")


def test_a_jtl_whose_labels_look_like_a_console_is_read(tmp_path, capsys):
    rows = "".join(f"{1_700_000_000_000 + number * 100},5,Bombarding me,true\n" for number in range(20))
    (tmp_path / "a.csv").write_text(f"{HEAD}{rows}")
    assert table(capsys, str(tmp_path / "a.csv"))[0]["sample_count"] == 20
