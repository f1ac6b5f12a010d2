"""What to do after a comparison: commands that can be pasted, by its verdict and what the sides differ in."""

from dataclasses import replace

import pytest

from harness.compare.advice import next_steps
from harness.compare.comparison import CANNOT_TELL, INVALID, OK, REGRESSED, Comparison
from harness.judge.verdict import DOUBTFUL, Verdict
from tests.support.factories import record
from tests.support.results import label_result, run_result

COMMAND = "lth run --plan=tiny --users=2 --duration=2m '--note=a b'"


def steps(verdict, changes=(), reasons=(), state=None, further_runs=None, command=COMMAND):
    """Return the next steps of two runs; `changes` are those of the contender's record."""
    sides = [
        run_result("tiny/run-1", label_result(), run=record(command=command)),
        run_result("tiny/run-2", label_result(), run=record(command=command, **dict(changes))),
    ]
    if state:
        sides[1] = run_result(
            "tiny/run-2", label_result(), run=record(command=command), verdict=Verdict(state, (), (), ())
        )
    found = Comparison(("tiny/run-1",), ("tiny/run-2",), verdict, tuple(reasons), None, (), (), (), (), further_runs)
    return [(step.text, step.command) for step in next_steps(found, sides[:1], sides[1:])]


def test_nothing_is_to_do_when_nothing_regressed():
    assert steps(OK) == steps("IMPROVED") == []


def test_a_regression_is_profiled_and_confirmed_by_pairs_of_what_the_sides_differ_in():
    commit = {"git_commit": "abcdef0123456789"}
    assert steps(REGRESSED, commit) == [
        ("Find the cause: measure both sides with a profile", f"{COMMAND} --profile"),
        (
            "Let alternating pairs of runs confirm it",
            "lth ab --a=0123456789ab --b=abcdef012345 --plan=tiny --users=2 --duration=2m",
        ),
    ]
    (_, confirm) = steps(REGRESSED, {"profile": "staging", **commit})
    assert confirm[1] == "lth ab --a=local --b=staging --plan=tiny --users=2 --duration=2m"
    assert [text for text, _ in steps(REGRESSED)] == ["Find the cause: measure both sides with a profile"]


@pytest.mark.parametrize("with_record", [True, False])
@pytest.mark.parametrize("verdict", [REGRESSED, CANNOT_TELL, INVALID])
@pytest.mark.parametrize("further", [None, 4])
@pytest.mark.parametrize("work", [(), ("pay: 6,666 samples → none",)])
def test_every_verdict_but_the_good_ones_has_a_next_step(with_record, verdict, further, work):
    run = record(command=COMMAND) if with_record else None
    sides = [[run_result(name, label_result(), run=run)] for name in ("a.jtl", "b.jtl")]
    found = Comparison(
        ("a.jtl",), ("b.jtl",), verdict, work, None, (), (), (), (), None if work else further, work=work
    )
    steps = [step.text for step in next_steps(found, *sides)]
    assert len(steps) == 1
    if work and verdict == REGRESSED:
        assert steps == ["Find out why b.jtl no longer sends it: errors before it, data, or the plan"]
    elif work and verdict == CANNOT_TELL:
        assert steps == ["Measure both sides again with the same requests and load"]


def test_runs_without_a_record_are_measured_again_and_named_together():
    sides = [[run_result(name, label_result(), run=None)] for name in ("a.jtl", "b.jtl")]
    found = Comparison(("a.jtl",), ("b.jtl",), CANNOT_TELL, (), None, (), (), (), (), 4)
    [step] = next_steps(found, *sides)
    assert step.text == "Measure 4 more runs a side, alternating between the sides; --base and --new take several"
    found = replace(found, verdict=INVALID, reasons=("b.jtl has no request: nothing was measured",), further_runs=None)
    sides[1] = [run_result("b.jtl", total=label_result("TOTAL", None, sample_count=0), run=None)]
    [step] = next_steps(found, *sides)
    assert step.text == "Remove the cause, then measure b.jtl again"


def test_what_cannot_be_told_needs_more_runs():
    assert steps(CANNOT_TELL, further_runs=3) == [
        ("Measure 3 more runs a side, alternating between the sides", COMMAND)
    ]
    assert steps(CANNOT_TELL, further_runs=1)[0][0] == "Measure 1 more run a side, alternating between the sides"
    assert steps(CANNOT_TELL) == [("Run longer, alternating between the sides", COMMAND)]


@pytest.mark.parametrize(
    ("verdict", "state", "text"),
    [
        (CANNOT_TELL, DOUBTFUL, "Measure tiny/run-2 again"),
        (INVALID, INVALID, "Remove the cause, then measure tiny/run-2 again"),
    ],
)
def test_a_doubtful_or_invalid_run_is_measured_again(verdict, state, text):
    assert steps(verdict, reasons=(f"tiny/run-2 is {state}: why",), state=state) == [(text, COMMAND)]
