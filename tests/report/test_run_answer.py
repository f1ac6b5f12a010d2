"""The first screen of a run: an answer of at most 20 words, and its parts in the same order whatever was measured."""

import re
import tarfile
from dataclasses import replace

import pytest

from harness.jtl.inputs import resolve
from harness.judge.result import MARKS, Tone
from harness.judge.summarise import summarise
from harness.judge.summary import RunSummary
from harness.judge.verdict import DOUBTFUL, INTERRUPTED, INVALID, VALID, WORDS_MOST, Verdict, answer, goals_sentence
from harness.judge.warnings import RunWarning, Severity, warning_kinds
from harness.metrics.figures import LOAD
from harness.plan.goal import Goal
from harness.report.charts.run_charts import run_charts
from harness.report.jtls import summary_of_jtls
from harness.report.key_figures import LABELS_MOST, first_error, result_of, run_result
from harness.report.markdown import report
from harness.run.directory import load_record
from tests.support.factories import closed_load, failed, record, sample, tally_of, two_users
from tests.support.paths import ROOT
from tests.support.summaries import summary_of

DATA = ROOT / "tests" / "data"
# The parts of a first screen, in their order; only the answer is always there.
PARTS = (
    r"\S*\s?\*\*[A-Z]+[:.] .*\*\*$", r"\d+ of \d+ goals|Goal missed: |\| goal \|", r"!\[", r"\| label \|",
    "Load: |Measured window: ", r"\*\*What weakens it:\*\*$", r"\*\*What to do next:\*\*$",
)  # fmt: skip


def summary(samples, run):
    return summarise(tally_of(samples, run.once_labels), "tiny/run-01_1", run)


def first_screen(made: RunSummary) -> str:
    return re.split(r"\n## |\n<details>", report(made, run_charts(made), "", "run-01_1"))[0]


def assert_first_screen(made: RunSummary) -> None:
    """Assert that the answer is short and the first of the parts, which are in order, and that the table is small."""
    result, screen = result_of(made), first_screen(made)
    assert 2 <= len(result.headline.split()) <= WORDS_MOST, result.headline
    lines = screen.splitlines()
    found = [next((at for at, line in enumerate(lines) if re.match(part, line)), None) for part in PARTS]
    assert found[0] is not None, screen
    known = [at for at in found if at is not None]
    assert known == sorted(known), screen
    assert lines[found[0]].startswith(MARKS[result.tone])
    tables = [line for line in lines[found[3] :] if line.startswith("|")] if found[3] else []
    assert len([line for line in tables if not line.startswith(("| ---", "| label |"))]) <= LABELS_MOST + 2
    assert all(line.count(" | ") < 8 for line in tables)


def runs_of_an_earlier_version(folder):
    with tarfile.open(DATA / "experiments.tar.xz") as archive:
        # Those of ab, tune and bisect have made-up metrics alone, and those of trust one and the same result.
        names = [
            name for name in archive.getnames() if re.search(r"^(?!ab|tune|bisect|trust).*/run-[^/]*\.json$", name)
        ]
        archive.extractall(folder, filter="data")
    return [load_record(RunSummary, folder / name) for name in names]


@pytest.mark.real
def test_every_stored_run_of_an_earlier_version_has_a_short_answer_and_the_parts_in_order(tmp_path):
    runs = runs_of_an_earlier_version(tmp_path)
    assert len(runs) == 12
    for made in runs:
        assert_first_screen(made)


def test_a_jtl_of_another_tool_has_a_first_screen_without_next_steps():
    made = summary_of_jtls(resolve([str(DATA / "golden" / "made" / "samples.jtl")]))
    assert_first_screen(made)
    assert "What to do next" not in first_screen(made)


def many_labels(count):
    return [sample(f"Page {number:03}", start_ms=1_000 * number) for number in range(count)]


CASES = {
    "valid": summary(two_users(), record()),
    "goal missed": summary(two_users(), record(goal=Goal(p90_ms=900, p99_ms=800, average_ms=700, error_ratio=0.0))),
    "some failed": summary([failed(elapsed_ms=1000, all_threads=2), *two_users()[1:]], record()),
    "all failed": summary([failed()] * 200, record()),
    "nothing measured": summary([], record()),
    "nothing measured yet": summary([], record(state="running", ended_at=None, took_s=None, exit_codes={})),
    "only setUp": summary([failed(thread_name="setUp 1-1")], record()),
    "interrupted": summary(two_users(), record(interrupted=True)),
    "stopped early": summary(two_users(), record(stopped_early="more than 5 % of the samples of 10 s failed")),
    "other load": summary(two_users(), record(load=closed_load(users=5))),
    "long reasons": summary(two_users(), record(stop_reasons=("jmeter.log: " + "word " * 60, "JMeter ended with 1"))),
    "many labels": summary(many_labels(90), record(load=closed_load(users=1))),
    "soak": summary(two_users(), record(is_soak=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_first_screen_has_a_short_answer_and_the_parts_in_order(case):
    assert_first_screen(CASES[case])


@pytest.mark.parametrize(
    ("case", "headline", "goals"),
    [
        ("valid", "VALID: p95 1000 ms at 2.00 req/s, no errors.", "2 of 2 goals met."),
        ("all failed", "INVALID: all 200 samples failed: response times of errors are not meaningful.", ""),
        ("nothing measured yet", "INVALID: the load has no samples, and 1 more reason.", ""),
        ("interrupted", "INTERRUPTED: stopped by hand before its end: the samples so far are saved.", ""),
    ],
)
def test_the_answer_is_the_measurement_or_the_first_reason(case, headline, goals):
    result = result_of(CASES[case])
    assert (result.headline, result.goals) == (headline, goals)


def test_an_answer_without_errors_is_not_given_when_the_ramp_up_had_some():
    made = CASES["some failed"]
    verdict = replace(made.verdict, state=VALID, reasons=())
    clean = replace(made.group(LOAD).total, error_count=0, error_ratio=0.0)
    assert answer(verdict, clean).endswith(", 1.00 % errors.")
    assert answer(replace(verdict, goals=()), clean).endswith(", no errors.")


def test_a_missed_goal_is_bad_although_the_run_is_valid_and_is_named():
    result = result_of(CASES["goal missed"])
    assert (result.verdict, result.is_missed, result.tone) == (VALID, True, Tone.BAD)
    assert result.goals == (
        "3 of 4 goals missed: average 1000 ms, goal 700 ms; p90 1000 ms, goal 900 ms; p99 1000 ms, goal 800 ms."
    )
    assert goals_sentence(Verdict(VALID, (), ("a",), ("b",))) == "Goal missed: b."
    assert goals_sentence(Verdict(VALID, (), (), tuple("abcde"))) == "5 of 5 goals missed: a; b; c; and 2 more."
    assert goals_sentence(Verdict(VALID, (), (), ())) == ""


@pytest.mark.parametrize(
    "brief", [kind.brief for kind in warning_kinds().values() if kind.severity is Severity.DOUBTFUL]
)
def test_every_doubt_fits_into_the_answer_with_others_behind_it(brief):
    said = answer(Verdict(DOUBTFUL, (brief, *"abcdefghijkl"), (), ()), None)
    assert said == f"DOUBTFUL: {brief}, and 12 more doubts."
    assert len(said.split()) <= WORDS_MOST


def test_a_long_reason_is_cut_between_clauses_and_is_below_in_full():
    reason = "1 user at the peak, not the requested 2: run longer than the ramp-up, and look in jmeter.log for its end"
    made = replace(CASES["valid"], verdict=Verdict(INVALID, (reason,), (), ()))
    assert result_of(made).headline == "INVALID: 1 user at the peak, not the requested 2."
    assert f"**What weakens it:**\n\n- {reason}\n" in first_screen(made)


def next_steps_of(state, *warnings, goals=(), **changes):
    verdict = Verdict(state, tuple(one.brief for one in warnings), (), tuple(goal.text for goal in goals), goals)
    steps = run_result("tiny/run-01_1", record(**changes), verdict, None, warnings).next_steps
    return [(step.text, step.command) for step in steps]


SHORT = RunWarning("too-short", "Too short to judge. Run again with --duration=70s.")
AGAIN = "lth run --plan=tiny --duration=70s"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("lth run --plan=tiny", AGAIN),
        ("lth run --duration=8 --plan=tiny", AGAIN),
        ("lth run tiny --duration=8s", "lth run tiny --duration=70s"),
        ("lth run --plan=tiny --duration=8s --users=5", "lth run --plan=tiny --users=5 --duration=70s"),
        ("scripts/run --plan tiny", "scripts/run --plan tiny --duration=70s"),
        ("lth sweep --plan=tiny --duration=8", ""),
    ],
)
def test_a_run_that_was_too_short_is_repeated_long_enough_with_its_own_command(command, expected):
    assert next_steps_of(DOUBTFUL, SHORT, command=command) == [("Run long enough", expected)]


def test_every_verdict_has_a_next_step():
    assert next_steps_of(VALID) == [("Compare later runs with this one", "lth pin tiny/run-01_1")]
    assert next_steps_of(VALID, command="lth run tiny")[0][1] == "lth pin tiny/run-01_1"
    assert next_steps_of(INTERRUPTED)[0][1] == next_steps_of(INVALID)[0][1] == "lth run --plan=tiny"
    unsteady, busy = (RunWarning(code, "") for code in ("one-state", "host-cpu"))
    load = closed_load(duration_s=60.0)
    assert next_steps_of(DOUBTFUL, unsteady, load=load) == [("Run longer", "lth run --plan=tiny --duration=120s")]
    assert next_steps_of(DOUBTFUL, busy)[0][0] == "Remove the cause of the first doubt, and run again"


def test_a_missed_goal_leads_to_the_failures_and_to_where_the_time_goes():
    goals = CASES["goal missed"].verdict.goals
    slow = [goal for goal in goals if not goal.is_met]
    bad = [replace(goal, is_met=False) for goal in goals if goal.metric == "error_ratio"]
    assert next_steps_of(VALID, goals=slow) == [("See where the time goes", "lth run --plan=tiny --profile")]
    assert next_steps_of(VALID, goals=slow, is_profiled=True) == [("Read where the time went, below", "")]
    assert next_steps_of(VALID, goals=slow, target="http://127.0.0.1:1") == []
    read = "Read the failed requests with their responses in failures.html of the run directory"
    assert [text for text, _ in next_steps_of(VALID, goals=bad)] == [read]
    # At night the failures are read before anything is run again.
    assert [text for text, _ in next_steps_of(DOUBTFUL, SHORT, goals=bad)] == [read, "Run long enough"]


def test_an_invalid_run_with_failed_requests_leads_to_them_first():
    verdict = Verdict(INVALID, ("100 % of the load's samples failed",), (), ())
    summary = summary_of([failed(start_ms=1_000_000)], record())
    failing = summary.group("load").total
    steps = run_result("tiny/run-01_1", record(), verdict, failing, []).next_steps
    assert [step.text.split()[:4] for step in steps] == [
        ["Read", "the", "failed", "requests"],
        ["Read", "the", "logs", "in"],
    ]


@pytest.mark.parametrize(
    ("code", "message", "meaning"),
    [
        ("org.apache.http.NoHttpResponseException", "127.0.0.1:80 failed to respond", "closes idle connections"),
        ("java.net.SocketException", "Broken pipe (Write failed)", "the server's log has it. Or it had closed an idle"),
        ("java.net.SocketException", "Connection reset", ""),
        ("java.net.SocketTimeoutException", "Read timed out", ""),
    ],
)
def test_the_first_error_says_what_an_exception_about_a_connection_does_not(code, message, meaning):
    names = {"code": f"Non HTTP response code: {code}", "message": f"Non HTTP response message: {message}"}
    text = first_error(summary_of([failed(start_ms=1_000_000, failure="", **names)], record()))
    named, _, more = text.partition(" (1 time).")
    assert named.endswith(message)
    assert (meaning in more) if meaning else not more


def test_the_first_error_says_that_a_parent_transaction_has_no_body():
    named = {"message": "Number of samples in transaction : 2, number of failing samples : 0", "code": "200"}
    text = first_error(summary_of([failed(start_ms=1_000_000, failure="Response was null", **named)], record()))
    assert text.endswith(
        "A parent transaction (Generate parent sample) never has one: move the assertion below its requests."
    )
