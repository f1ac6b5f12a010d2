"""The report, the chart and the record of an overload test."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, UsageError
from harness.base.records import build, read_record, to_plain
from harness.cli.verbs import main
from harness.experiment.files import ExperimentFiles, Experiments
from harness.experiment.record import ENDED, FINISHED, RUNNING
from harness.kinds.overload.record import OverloadRecord, VariantRun
from harness.kinds.overload.render import goodput_chart, overload_report, result_line, result_of, write_overload_report
from harness.kinds.overload.result import VariantResult, level_results, recovery_result, requests_per_user
from tests.support.first_screens import assert_first_screen
from tests.support.markdown_rows import tables_of
from tests.support.overloads import LIMIT_MS, RECORD, SERVED_PER_S, levels_with, simulated


def result(queue_most: int) -> VariantResult:
    """Return the result of a simulated variant."""
    found = simulated(queue_most, 15)
    return VariantResult(
        levels=level_results(found, SERVED_PER_S, 15),
        recovery=recovery_result(found, 15),
        requests_per_user=requests_per_user(found, 15),
        most_users=found.most_users,
        time_outs="connect_timeout_ms 1000, response_timeout_ms 5000",
        run_state="VALID",
        run_reasons=(),
    )


@pytest.fixture(scope="module")
def record() -> OverloadRecord:
    """A finished test of two variants."""
    runs = (
        VariantRun("accept_count=10", result(10), run="run-07_1", state=ENDED),
        VariantRun("accept_count=1000", result(1_000_000), run="run-07_2", state=ENDED),
    )
    return replace(RECORD, state=FINISHED, runs=runs)


@pytest.mark.real
def test_the_report_begins_with_the_worst_variant_and_has_a_note(record):
    lines = overload_report(record, "a note").splitlines()
    assert lines[2] == "# A shop: overload (overload-07)"
    answer = (
        "CONGESTION COLLAPSE with accept_count=1000: 0 % of the peak goodput is left at 200 % load; 1 of 2 variants."
    )
    assert lines[4] == f"❌ **{answer}**"
    assert lines[6] == "Goal: an answer within 1000 ms."
    assert "a note" in lines


@pytest.mark.real
def test_the_first_screen_has_its_parts_in_their_order(record):
    assert_first_screen(overload_report(record, ""), "answer", "goals", "chart", "table", "steps")
    nothing = replace(record, state=RUNNING, runs=())
    assert_first_screen(overload_report(nothing, ""), "answer", "goals", "steps")
    assert "⚠️ **INTERRUPTED: 0 of 2 variants measured.**" in overload_report(nothing, "")
    broken = VariantRun("accept_count=10", run="run-07_1", state=ENDED, problem=" ".join(["much"] * 30))
    text = overload_report(replace(record, variants=("accept_count=10",), runs=(broken,)), "")
    assert_first_screen(text, "answer", "goals", "table", "doubts")
    assert "❌ **INVALID.**" in text


def test_an_undecided_test_says_what_to_measure_next(record):
    levels = levels_with((10, 15, 20, 25, 30, 40), seed=1)
    served = replace(record.runs[0], result=replace(record.runs[0].result, levels=levels))
    undecided = replace(record, runs=(served, record.runs[1]), command="lth overload --plan=shop --rate=20")
    steps = [(step.text, step.command) for step in result_of(undecided).next_steps]
    assert ("Offer a higher rate", "lth overload --plan=shop --rate=40") in steps
    alone = replace(undecided, variants=("accept_count=10",), runs=(served,))
    assert result_of(alone).headline == "CANNOT TELL: too little overload at 200 % load."
    assert_first_screen(overload_report(alone, ""), "answer", "goals", "chart", "table", "doubts", "steps")


def test_the_result_has_the_worst_of_the_verdicts(record):
    found = result_of(record)
    assert found.verdict == "CONGESTION COLLAPSE"
    assert [(one.name, one.value) for one in found.key_figures if one.name.startswith("kept")][1] == (
        "kept goodput of accept_count=1000", "0"
    )  # fmt: skip
    assert result_of(replace(record, state=RUNNING)).verdict == "INTERRUPTED"


def test_each_variant_has_a_row_and_a_table_of_its_levels(record):
    text = overload_report(record, "")
    variants, counts, users = tables_of(text)[:3]
    assert [row["verdict"] for row in variants] == ["GRACEFUL", "CONGESTION COLLAPSE"]
    assert variants[0]["run"] == "[run-07_1](run-07_1.md)"
    last, outcomes = record.runs[0].result.levels[-1], ("good", "late", "rejected fast", "rejected slowly", "timed out")
    assert (counts[-1]["load %"], counts[-1]["offered/s"]) == ("200", "40.00")
    count = sum(int(counts[-1][outcome]) for outcome in outcomes)
    assert count == last.sample_count == pytest.approx(600, abs=5)  # 40 per second for 15 s
    assert [*users[-1].values()][-3:] == ["600", str(last.started_user_count), "0"]
    assert "time-outs of the client: connect_timeout_ms 1000, response_timeout_ms 5000" in text.replace("\\_", "_")


def test_an_unfinished_test_lists_what_is_missing_and_a_run_without_requests_is_invalid(record):
    runs = (VariantRun("accept_count=10", run="run-07_1", state=ENDED, problem="no request of the load"),)
    text = overload_report(replace(record, state=RUNNING, runs=runs), "")
    assert "⚠️ **INTERRUPTED: 1 of 2 variants measured; so far INVALID with accept_count=10.**" in text
    assert "- accept_count=10: INVALID, no request of the load." in text
    assert "- Resume the test: `lth overload --plan=shop --resume=07`" in text
    assert goodput_chart(replace(record, runs=runs)) is None
    assert result_line(runs[0], LIMIT_MS) == "run-07_1: INVALID: no request of the load"


def test_the_chart_has_a_line_for_each_variant_and_what_was_offered(record):
    svg = goodput_chart(record).svg
    for text in ("accept_count=10", "accept_count=1000", "offered", "95 % interval", "% of the capacity"):
        assert text in svg
    assert "users" not in svg


def test_the_line_of_a_variant_has_verdict_and_recovery(record):
    assert result_line(record.runs[0], LIMIT_MS).startswith("run-07_1: GRACEFUL: ")
    assert " after the load fell" in result_line(record.runs[0], LIMIT_MS)


def test_a_record_is_read_as_it_was_written(record):
    data = json.loads(json.dumps(to_plain(record)))
    assert build(OverloadRecord, data) == record


def test_a_run_in_another_folder_is_refused(record):
    data = to_plain(record)
    data["runs"][0]["run"] = "../run-07_1"
    with pytest.raises(UsageError, match="not the JSON of an overload test"):
        read_record(OverloadRecord, json.loads(json.dumps(data)), "overload-07.json")


def stored(tmp_path: Path, record: OverloadRecord) -> ExperimentFiles:
    """Write a test with its report, as scripts/overload does at its end."""
    files = ExperimentFiles(tmp_path / "shop" / record.name)
    files.folder.mkdir(parents=True)
    files.write(record)
    write_overload_report(files, record)
    return files


def again(tmp_path: Path, *arguments: str) -> int:
    return main(["overload", *arguments, "--reports", str(tmp_path)], "aggregate.py")


def test_a_killed_test_gets_its_report_unless_another_process_runs_it(record, tmp_path):
    files = stored(tmp_path, replace(record, state=RUNNING, runs=record.runs[:1]))
    files.report.unlink()
    with (
        Experiments(OverloadRecord, tmp_path).locked(files),
        pytest.raises(UsageError, match="overload-07 is running in another process"),
    ):
        again(tmp_path, "overload-07")
    assert not files.report.exists()
    assert again(tmp_path, "overload-07") == EXIT_INTERRUPTED
    assert "**INTERRUPTED: 1 of 2 variants measured; so far GRACEFUL with" in files.report.read_text()


def test_the_exit_code_is_3_when_a_variant_has_no_usable_run(record, tmp_path):
    broken = VariantRun("accept_count=10", run="run-07_1", state=ENDED, problem="no request of the load")
    stored(tmp_path, replace(record, runs=(broken, record.runs[1])))
    assert again(tmp_path, "overload-07") == EXIT_INVALID
