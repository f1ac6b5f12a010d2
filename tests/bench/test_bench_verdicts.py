"""The bench of verdicts: how its tables count, and which plans it runs."""

import pytest

from bench.runs.verdicts import embedded_plans, verdict_aims, verdicts_table
from harness.judge.verdict import DOUBTFUL, VALID, Verdict


def verdicts(valid_count: int, doubtful_count: int) -> list[Verdict]:
    doubtful = Verdict(DOUBTFUL, ("not steady",), (), ())
    return [Verdict(VALID, (), (), ())] * valid_count + [doubtful] * doubtful_count


def test_a_plan_with_more_than_one_false_alarm_in_ten_misses_the_aim_and_so_do_all_with_one_in_fifty():
    found = verdict_aims({"good": verdicts(9, 1), "bad": verdicts(8, 2)})
    assert [(aim.what, aim.measured, aim.is_met) for aim in found] == [
        ("good", "9 of 10 VALID", True),
        ("bad", "8 of 10 VALID", False),
        ("all runs", "17 of 20 VALID", False),
    ]
    assert verdict_aims({"a": verdicts(49, 1)})[-1].is_met
    assert not verdict_aims({"a": verdicts(48, 2)})[-1].is_met


def test_the_reasons_are_counted():
    assert verdicts_table({"lb": verdicts(1, 2)}).splitlines()[-1] == "| lb | 3 | 1 | 2 DOUBTFUL | not steady (2) |"


@pytest.mark.real
def test_a_plan_without_a_system_of_its_own_is_left_out():
    plans = embedded_plans()
    assert "killbill-stripe" in plans
    assert "lb-gwlb" not in plans
