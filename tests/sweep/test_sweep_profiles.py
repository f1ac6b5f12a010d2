"""What a sweep's report contains on where the time went at each level."""

from dataclasses import replace

from harness.judge.verdict import VALID, Verdict
from harness.sweep.analysis import analyse
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.processes import profile_table, statement_table
from harness.sweep.render import SweepPage, sweep_report
from harness.system.profile import Collections, LockWait, MethodUse, ProcessProfile
from harness.system.statements import DatabaseUse, StatementInterval, StatementUse
from tests.support.sweeps import BROKEN

FINE = Verdict(VALID, (), (), ())
METHODS = tuple(MethodUse(f"shop.Cart.m{number}", 40 - number, 50) for number in range(4))
WAIT = LockWait("shop.Till", "shop.Pay.pay", 900, 30_000.0, 40.0, "http-*")
PROFILE = ProcessProfile("shop", 60.0, 200, METHODS, 30_000.0, (WAIT,), 0, (), Collections(10, 600.0, 20.0))


def run(name, *profiles, verdict=FINE):
    return LevelRun(name, Figures(rate_per_s=10.0), verdict, profiles=profiles)


def test_each_level_has_its_top_methods_lock_and_pauses():
    quiet = replace(PROFILE, sample_count=99, wait_ms=0.0, locks=(), collections=Collections(0, 0.0, 0.0))
    levels = levels_of([(1, run("run-07_1", quiet)), (8, run("run-07_2", PROFILE))])
    assert profile_table(levels).splitlines()[2:] == [
        "| 1 | shop | too few samples | none | 0.00 | 0.00 |",
        "| 8 | shop | shop.Cart.m0 20.0, shop.Cart.m1 19.5, shop.Cart.m2 19.0 "
        "| shop.Till at shop.Pay.pay | 0.50 | 1.00 |",
    ]
    sweep = Sweep("tiny/sweep-07", levels)
    text = sweep_report(sweep, analyse(levels, None), SweepPage((), "", "printed", "make"), {})
    part = text.split("<summary>Where the time went</summary>\n\n")[1]
    assert part.startswith(f"{profile_table(levels)}\n\nIn the measurement window of each run. Their")


def test_each_level_has_its_statements_and_their_time_per_request():
    use = StatementUse("SELECT * FROM payments", 300, 900.0, None, None, None, None)
    used = DatabaseUse("till", 1_000, 1_500.0, (use,), interval=StatementInterval(5.0, 25.0, 200))
    level = replace(run("run-07_2"), databases=(used,))
    whole = replace(run("run-07_1"), databases=(replace(used, interval=None),))
    levels = levels_of([(1, whole), (8, level)])
    assert statement_table(levels).splitlines()[2:] == [
        "| 1 | till | SELECT \\* FROM payments |  |  |  |",
        "| 8 | till | SELECT \\* FROM payments | 5.00 | 7.50 | 4.50 |",
    ]
    sweep = Sweep("tiny/sweep-07", levels)
    text = sweep_report(sweep, analyse(levels, None), SweepPage((), "", "printed", "make"), {})
    assert (
        f"<summary>Where the time went</summary>\n\n{statement_table(levels)}\n\nIn the measurement window of each run."
        in text
    )
    assert statement_table(levels_of([(1, run("run-07_1"))])) == ""


def test_levels_without_a_counted_profile_have_no_table():
    levels = levels_of([(1, run("run-07_1")), (8, run("run-07_2", PROFILE, verdict=BROKEN))])
    assert profile_table(levels) == ""
    text = sweep_report(Sweep("tiny/sweep-07", levels), analyse(levels, None), SweepPage((), "", "printed", "make"), {})
    assert "Where the time went" not in text
