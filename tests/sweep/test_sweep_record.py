"""The record of a sweep: what it wrote it reads again, and it knows what is left."""

import json
from dataclasses import replace

import pytest

from harness.base.errors import UsageError
from harness.base.records import build, read_record, to_plain
from harness.sweep.record import Step, SweepRecord, SweepRun
from tests.support.sweeps import NEW_SWEEP


def test_a_record_reads_back_equal():
    under_way = replace(NEW_SWEEP, runs=(SweepRun(1, 1, "run-07_1"),), under_way=SweepRun(5, 1, "run-07_2"))
    for record in (
        NEW_SWEEP,
        under_way,
        replace(under_way, under_way=None, broken_off=(SweepRun(5, 1, "run-07_2"),)),
    ):
        plain = json.loads(json.dumps(to_plain(record)))
        assert build(SweepRecord, plain) == record


def test_a_record_with_a_missing_or_unknown_key_is_refused():
    plain = to_plain(NEW_SWEEP)
    for broken in ({**plain, "colour": "red"}, {key: value for key, value in plain.items() if key != "runs"}):
        with pytest.raises(UsageError, match=r"sweep-07\.json: not the JSON of a sweep"):
            read_record(SweepRecord, broken, "sweep-07.json")


def test_a_round_covers_all_levels_before_a_level_is_repeated():
    assert NEW_SWEEP.steps == (Step(1, 1), Step(5, 1), Step(1, 2), Step(5, 2))


def test_an_interrupted_run_is_still_to_be_measured():
    record = replace(NEW_SWEEP, runs=(SweepRun(1, 1, "run-07_1"),), broken_off=(SweepRun(5, 1, "run-07_2"),))
    assert record.steps_left == (Step(5, 1), Step(1, 2), Step(5, 2))


def test_a_sweep_has_name_series_and_plan():
    assert (NEW_SWEEP.id, NEW_SWEEP.series) == ("tiny/sweep-07", "07")


def test_another_duration_changes_the_settings_and_progress_does_not():
    assert replace(NEW_SWEEP, runs=(SweepRun(1, 1, "run-07_1"),), name="sweep-08").settings == NEW_SWEEP.settings
    assert replace(NEW_SWEEP, duration_s=21.0).settings != NEW_SWEEP.settings
