"""The record of a sweep: what it wrote it reads again, and it knows what is left."""

import json
from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, read_record, to_plain
from harness.experiment.record import UNDER_WAY
from harness.sweep.record import SweepRecord, SweepRun
from tests.support.sweeps import NEW_SWEEP, measured_level


def test_a_record_reads_back_equal():
    left = SweepRun(5, 1, run="run-07_2")
    under_way = replace(NEW_SWEEP, runs=(measured_level(1, 1, "run-07_1"), left))
    for record in (NEW_SWEEP, under_way):
        plain = json.loads(json.dumps(to_plain(record)))
        assert build(SweepRecord, plain) == record


def test_a_record_with_a_missing_or_unknown_key_is_refused():
    plain = to_plain(NEW_SWEEP)
    for broken in ({**plain, "colour": "red"}, {key: value for key, value in plain.items() if key != "runs"}):
        with pytest.raises(UsageError, match=r"sweep-07\.json: not the JSON of a sweep"):
            read_record(SweepRecord, broken, "sweep-07.json")


def test_a_record_of_a_version_whose_runs_had_no_state_is_read():
    plain = json.loads(json.dumps(to_plain(NEW_SWEEP)))
    for key in ("budget_s", "started_at", "spent_s", "git_changed", "stop_reason", "resumed_at", "undelivered"):
        del plain[key]
    runs = [{"users": users, "repeat": 1, "run": f"run-07_{number}"} for number, users in enumerate((1, 5, 5), start=1)]
    earlier = {**plain, "runs": runs[:1], "broken_off": runs[1:2], "under_way": runs[2]}
    record = read_record(SweepRecord, earlier, "sweep-07.json")
    assert record.measured == (measured_level(1, 1, "run-07_1"),)
    assert [(run.run, run.state) for run in record.runs[1:]] == [("run-07_2", UNDER_WAY), ("run-07_3", UNDER_WAY)]
    assert record.resolved == NEW_SWEEP.resolved
    assert read_record(SweepRecord, {**earlier, "under_way": None}, "sweep-07.json").runs == record.runs[:2]


def test_a_round_covers_all_levels_before_a_level_is_repeated():
    assert NEW_SWEEP.steps == (SweepRun(1, 1), SweepRun(5, 1), SweepRun(1, 2), SweepRun(5, 2))


def test_an_interrupted_run_is_still_to_be_measured():
    record = replace(NEW_SWEEP, runs=(measured_level(1, 1, "run-07_1"), SweepRun(5, 1, run="run-07_2")))
    assert record.steps_left == (SweepRun(5, 1), SweepRun(1, 2), SweepRun(5, 2))


def test_a_sweep_has_name_series_and_plan():
    assert (NEW_SWEEP.id, NEW_SWEEP.series) == ("tiny/sweep-07", "07")


def test_other_levels_change_what_is_resumed_and_progress_does_not():
    assert replace(NEW_SWEEP, runs=(measured_level(1, 1, "run-07_1"),), name="sweep-08").resolved == NEW_SWEEP.resolved
    assert replace(NEW_SWEEP, users=(1, 6)).resolved != NEW_SWEEP.resolved
