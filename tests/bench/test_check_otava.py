"""What scripts/check-otava compares ours with; Otava itself is not among what the tests need."""

from bench.statistics.otava import OTHER, SAME, SLIP, Answer, histories, line_of, otava_config, verdict
from harness.commands.history import otava_csv
from harness.history.change_points import change_points

# Three steps of 8 %, and what Otava 0.8.0 printed of them: 114.5 is the mean up to a change point that it removed.
STEPS = dict(histories(1))["three steps of +8 %"]


def answers(values):
    return [Answer(change.index, change.before, change.after) for change in change_points(values)]


def test_our_change_points_equal_those_of_otava():
    assert verdict(STEPS, answers(STEPS)) == SAME


def test_the_known_difference_is_distinguished_from_others():
    ours = answers(STEPS)
    assert [change.index for change in ours] == [20, 40, 61]
    assert verdict(STEPS, [ours[0], Answer(40, ours[1].before, 114.507140), ours[2]]) == SLIP
    assert verdict(STEPS, [ours[0], Answer(40, ours[1].before, 114.6), ours[2]]) == OTHER
    assert verdict(STEPS, ours[:2]) == OTHER


def test_a_history_is_exported_with_a_day_for_each_value_and_a_test_of_its_own():
    lines = otava_csv(line_of([100.0, 101.5])).splitlines()
    assert lines == [
        "time,run,commit,average_ms,rate_per_s,error_ratio",
        "2020-01-01T00:00:00Z,run-01_1,,100.0,10.0,0.0",
        "2020-01-02T00:00:00Z,run-01_2,,101.5,10.0,0.0",
    ]
    assert otava_config({"one": "/tmp/1.csv"}).splitlines() == [
        "tests:",
        "  one:",
        "    type: csv",
        "    file: /tmp/1.csv",
        "    time_column: time",
        "    metrics: [average_ms]",
        "    attributes: [run]",
    ]
