"""Logs of Gatling, text and binary, against the summary that Gatling printed of the same load."""

from __future__ import annotations

import json
import re

import pytest

from harness.cli.verbs import main
from harness.jtl.sample import Dropped
from harness.metrics.files import read_samples
from tests.support.tool_files import refusal, table, text_of


def test_gatling_has_our_count_errors_and_percentiles(put, capsys):
    stated = {
        name.strip(): int(value)
        for name, value in re.findall(r"> (.+?) +(\d+) \(OK=", text_of("gatling-3.10.5.txt").decode())
    }
    total, _ = table(capsys, put("gatling-3.10.5.log.xz"))
    assert total["sample_count"] == stated["request count"] == 725
    assert total["error_count"] == 41
    assert (total["min_ms"], total["max_ms"]) == (stated["min response time"], stated["max response time"])
    assert total["average_ms"] == pytest.approx(stated["mean response time"], abs=0.5)
    for percentile in ("50", "75", "95"):
        assert total["percentiles_ms"][percentile] == stated[f"response time {percentile}th percentile"]
    # Gatling 3.10 reads percentiles off a t-digest: 229 ms lies between two samples.
    assert total["percentiles_ms"]["99"] == pytest.approx(stated["response time 99th percentile"], rel=0.02)


def test_groups_of_gatling_are_transactions_and_users_are_counted(put, capsys):
    assert main(["table", "--format", "json", put("gatling-3.10.5.log.xz")]) == 0
    printed = json.loads(capsys.readouterr().out)
    (load,) = printed["groups"]
    labels = {label["label"]: label for label in load["labels"]}
    assert list(labels) == ["List", "Buy / Pay", "Buy"]
    assert labels["Buy"]["is_transaction"] is True
    assert labels["Buy"]["sample_count"] == labels["Buy / Pay"]["sample_count"] == 360
    assert "neither response codes nor sizes" in json.dumps(printed["caveats"])
    assert "unexpected-success-code" not in json.dumps(printed["caveats"])


def test_a_binary_log_of_gatling_has_the_count_errors_and_percentiles_of_its_summary(put, tmp_path, capsys):
    assert main(["table", "--format", "json", "--percentiles", "50,75,95,99", put("gatling-3.15.1.log.xz")]) == 0
    printed = json.loads(capsys.readouterr().out)
    (load,) = printed["groups"]
    total = load["total"]
    assert (total["sample_count"], total["error_count"], total["max_ms"]) == (59, 3, 3680)
    assert total["average_ms"] == pytest.approx(382, abs=0.5)
    # Gatling says 131, 222, 2431 and 3680: it takes the sample after JMeter's where the rank is not whole.
    assert {name: total["percentiles_ms"][name] for name in ("50", "75", "95", "99")} == {
        "50": 131, "75": 214, "95": 2405, "99": 3209,
    }  # fmt: skip
    counts = {label["label"]: (label["sample_count"], label["is_transaction"]) for label in load["labels"]}
    assert counts == {
        "List": (32, False), "Buy / Card / Pay €": (27, False), "Buy / Card": (27, True), "Buy": (27, True),
    }  # fmt: skip
    samples = read_samples(tmp_path / "results.txt", Dropped())
    failures = [one.failure for one in samples if not one.success and not one.is_transaction]
    get = "status.find.in([200, 209], 304), found 500"
    assert sorted(failures) == [get, get, "status.find.is(200), found 500"]
    assert "neither response codes nor sizes" in json.dumps(printed["caveats"])


def test_all_records_of_a_binary_log_of_gatling_3_13_are_read(put, capsys):
    total, texts = table(capsys, put("gatling-3.13.5.log.xz"))
    assert (total["sample_count"], total["error_count"]) == (973, 51)
    assert "could not be used" not in texts


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda log: log[: len(log) // 2], "cut off"),
        (lambda log: log[: len(log) // 2] + bytes(400), "damaged, and nothing after it can be read"),
        (lambda log: log[: len(log) // 2] + b"\xff" * 400, "damaged, and nothing after it can be read"),
    ],
)
def test_a_binary_log_that_is_cut_off_or_damaged_keeps_what_was_read(put, capsys, change, reason):
    total, texts = table(capsys, put("gatling-3.13.5.log.xz", change))
    assert 450 < total["sample_count"] < 520
    assert "A file ends early: its last rows are missing. " in texts
    assert reason in texts


@pytest.mark.parametrize(
    ("text", "version"),
    [
        (b"RUN\tshop.Buy\tbuy\t1700000000000\t \t4.0.1\nREQUEST\t\tList\t1\t2\tOK\t \n", "4.0.1"),
        (b"RUN\tshop.Buy\tbuy\t1500000000000\t \t2.0\nREQUEST\t1\t\tList\t1\t2\tOK\t \n", "2.0"),
        (text_of("gatling-3.13.5.log.xz").replace(b"3.13.5", b"3.16.0"), "3.16.0"),
    ],
)
def test_a_gatling_log_of_another_version_is_refused_in_one_line(tmp_path, capsys, text, version):
    (tmp_path / "simulation.log").write_bytes(text)
    line = refusal(capsys, "table", str(tmp_path / "simulation.log"))
    assert f"Gatling {version}, which is not read" in line
    assert line.endswith("run Gatling 3.0 to 3.15, or upgrade this tool")


def test_the_log_of_gatling_3_0_with_user_ids_is_read(tmp_path, capsys):
    log = (
        "RUN\tshop.Buy\tbuy\t1700000000000\t \t3.0.3\n"
        "USER\tShop\t1\tSTART\t1700000000000\t1700000000000\n"
        "REQUEST\t1\tCart,Pay\tCard\t1700000000010\t1700000000030\tKO\tstatus 500\n"
        "GROUP\t1\tCart,Pay\t1700000000010\t1700000000050\t20\tKO\n"
        "USER\tShop\t1\tEND\t1700000000000\t1700000000060\n"
    )
    (tmp_path / "simulation.log").write_text(log)
    assert main(["table", str(tmp_path / "simulation.log")]) == 0
    out = capsys.readouterr().out
    assert "\n| Cart / Pay / Card | 1 | 20 | 20 |" in out
    assert "\n| Cart / Pay | 1 | 40 | 40 |" in out


def test_requests_of_gatling_that_were_never_built_are_failures(put, capsys):
    assert main(["table", "--format", "json", put("gatling-3.15.1-two-of-three-never-sent.log")]) == 0
    (load,) = json.loads(capsys.readouterr().out)["groups"]
    labels = {label["label"]: label for label in load["labels"]}
    assert (labels["never sent (ERROR records)"]["error_count"], load["total"]["sample_count"]) == (5, 10)


def test_an_error_record_in_the_text_log_of_gatling_is_a_failure_with_its_message(tmp_path):
    log = (
        "RUN\tshop.Buy\tbuy\t1700000000000\t \t3.10.5\nUSER\tShop\tSTART\t1700000000000\n"
        "ERROR\tNo attribute named 'id' is defined \t1700000000500\n"
        "REQUEST\t\tList\t1700000000010\t1700000000030\tOK\t \n"
    )
    (tmp_path / "simulation.log").write_text(log)
    failed, listed = read_samples(tmp_path / "simulation.log", Dropped())
    assert (failed.start_ms, failed.elapsed_ms, failed.success) == (1_700_000_000_500, 0, False)
    assert failed.failure == "No attribute named 'id' is defined"
    assert (listed.label, listed.success) == ("List", True)
