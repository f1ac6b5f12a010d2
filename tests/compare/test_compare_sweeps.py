"""aggregate.py compare with two sweeps, level by level."""

import shutil

import pytest

from harness.base.errors import EXIT_REGRESSED, UsageError
from tests.support.spread_runs import make_run, make_sweep

# 15 samples of 100 ms a second.
LAW = "The load generator may be the bottleneck: 2.0 users active, 1.5 busy"


@pytest.mark.real
def test_two_sweeps_are_compared_level_by_level_with_a_verdict_for_each(compare, reports, capsys):
    make_sweep(reports, "11", {1: 50, 2: 50, 4: 50})
    make_sweep(reports, "12", {1: 150, 2: 150, 8: 50})
    assert compare("tiny/sweep-11", "tiny/sweep-12", "--save") == EXIT_REGRESSED
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "REGRESSED: at 1, 2 users"
    assert out[3:] == ["1 user: REGRESSED", "2 users: REGRESSED", "reports/tiny/compare-sweep-11-sweep-12.md"]
    text = (reports / "tiny" / "compare-sweep-11-sweep-12.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("| 2 | 100 | 200 | +99.9 |")]
    assert rows
    assert all(row.endswith("| REGRESSED |") for row in rows)
    assert "\n❌ **REGRESSED: at 1, 2 users. Seen: average +99.9 % over 2 levels.**\n" in text
    assert "4 users" in text
    assert "8 users" in text


@pytest.mark.real
def test_a_level_with_a_doubtful_run_is_not_judged_and_its_warnings_are_listed(compare, reports, capsys):
    make_sweep(reports, "11", {1: 50, 2: 50})
    make_sweep(reports, "12", {1: 50, 2: 50})
    make_run(reports, "tiny/run-12_2", least_ms=50, users=2, is_doubtful=True)
    shutil.rmtree(reports / "tiny" / "run-12_2")
    compare("tiny/sweep-11", "tiny/sweep-12")
    text = capsys.readouterr().out
    assert "⚠️ **CANNOT TELL: a run at 2 users is DOUBTFUL. Seen: average " in text
    assert "CANNOT TELL whether tiny/sweep-12 differs." in text
    assert f"- 2 users, CANNOT TELL: tiny/run-12_2 is DOUBTFUL: {LAW}\n" in text
    assert f"- tiny/run-12_2: {LAW}. Users ÷ throughput" in text
    compare("tiny/sweep-11", "tiny/sweep-12", "--anyway")
    assert "a run at 2 users is DOUBTFUL" not in capsys.readouterr().out


@pytest.mark.real
def test_sweeps_without_a_common_level_are_refused(compare, reports):
    make_sweep(reports, "11", {1: 50, 2: 50})
    make_sweep(reports, "12", {4: 50, 8: 50})
    with pytest.raises(UsageError, match=r"no level in common \(1 and 2 users against 4 and 8 users\)"):
        compare("tiny/sweep-11", "tiny/sweep-12")


@pytest.mark.real
def test_the_command_of_two_sweeps_contains_the_options_of_the_judgement(compare, reports, capsys):
    make_sweep(reports, "11", {1: 50})
    make_sweep(reports, "12", {1: 50})
    compare("tiny/sweep-11", "tiny/sweep-12", "--threshold", "p95=20%", "--anyway")
    command = "lth compare tiny/sweep-11 tiny/sweep-12 --anyway --threshold p95=20%; only"
    assert command in capsys.readouterr().out


def test_a_sweep_is_not_compared_with_a_run(compare):
    with pytest.raises(UsageError, match=r"compare: tiny/sweep-11 is a sweep; compare it with one other sweep"):
        compare("tiny/sweep-11", "tiny/run-07_1")
