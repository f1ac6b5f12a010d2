"""The last lines of a run in a terminal."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from harness.judge.result import NextStep, Result
from harness.judge.stored_comparisons import ComparedRun
from harness.judge.verdict import Verdict
from harness.judge.warnings import RunWarning
from harness.plan.goal import Goal
from harness.report.screen import closing, shortened, show_closing
from tests.support.factories import closed_load, failed, record, sample, two_users
from tests.support.summaries import summary_of

TOO_FEW = "Too few samples: 61 measured, 100 needed."
LONG = "Authorize, capture and refund a payment of a customer in a second country"


@pytest.fixture
def printed(monkeypatch):
    """Return what a run prints at its end; `environment` and `console` describe where."""

    def text_of(summary, compare="", environment=(), **console):
        for name in ("COLUMNS", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        for name, value in dict(environment).items():
            monkeypatch.setenv(name, value)
        out = io.StringIO()
        show_closing(Console(file=out, **console), summary, "reports/tiny/run-01_1.md", compare)
        return out.getvalue()

    return text_of


def many(*labels, error=None):
    """Return a run of one user with 60 samples of each label, each longer than those before; one of `error` fails."""
    samples, start_ms = [], 1_000_000
    for index, label in enumerate(labels * 60):
        samples.append(sample(label, elapsed_ms=100 + 10 * (index % len(labels)), start_ms=start_ms))
        start_ms += samples[-1].elapsed_ms
    bad = [failed(error, start_ms=start_ms)] if error else []
    load = closed_load(users=1, duration_s=start_ms / 1000 - 1000, loops=None)
    return summary_of([*samples, *bad], record(load=load))


def test_all_that_a_person_needs_is_in_the_last_lines(printed):
    summary = summary_of(two_users(), record(goal=Goal(p90_ms=900, error_ratio=0.01)))
    text = printed(summary, compare="lth compare --base=tiny/run-01_0 --new=tiny/run-01_1")
    assert text.splitlines() == [
        "",
        "✘ tiny/run-01_1: VALID. Goal missed: p90 1000 ms, goal 900 ms.",
        "  missed  p90 1000 ms, goal 900 ms",
        "  met     errors 0.00 %, goal 1.00 %",
        "",
        "                      p50   p95   max  errors",
        "label  count  req/s    ms    ms    ms       %",
        "─" * 45,
        "Pay      100   2.00  1000  1000  1000    0.00",
        "TOTAL    100   2.00  1000  1000  1000    0.00",
        "Measured window: the whole run, 51 s.",
        "The account. Balanced: offered = read, read = counted, users' time = waiting + pausing. "
        "Not known: asked = offered, counted = one state.",
        "",
        "warning: 100 samples: too few for a p95 (1000) or p99 (5000). "
        "Run longer before you compare these percentiles.",
        "",
        "report:  reports/tiny/run-01_1.md",
        "compare: lth compare --base=tiny/run-01_0 --new=tiny/run-01_1",
        "next:    See where the time goes: lth run --plan=tiny --profile",
    ]


def test_the_verdict_on_each_reference_is_one_line_above_the_report(printed):
    compared = (
        ComparedRun("tiny/run-01_0", "previous run", verdict="OK", headline="OK, better: TOTAL: average -9.00 %."),
        ComparedRun("tiny/run-07_1", "pinned as baseline", problem="it no longer exists"),
    )
    lines = printed(replace(summary_of(two_users(), record()), compared=compared)).splitlines()
    assert lines[-5:-1] == [
        "",
        "compared with tiny/run-01_0 (previous run): OK, better: TOTAL: average -9.00 %.",
        "not compared with tiny/run-07_1 (pinned as baseline): it no longer exists",
        "report:  reports/tiny/run-01_1.md",
    ]


def test_the_table_is_as_wide_as_the_terminal_and_labels_lose_their_middle(printed):
    summary = many(LONG, LONG.replace("second", "third"), error="Log in")
    for columns in (None, 60, 80, 140):
        lines = printed(summary, environment={"COLUMNS": str(columns)} if columns else {}).splitlines()
        rule = next(index for index, line in enumerate(lines) if line.startswith("─"))
        rows = lines[rule - 2 : rule + 5]
        assert max(map(len, rows)) <= (columns or 80), rows
        assert len(lines[rule]) > (columns or 80) - 2 or columns == 140
        assert ("…" in lines[rule + 1]) == (columns != 140)
        assert lines[rule + 1].startswith("Authorize")
        assert "nd country " in lines[rule + 1]
        assert "rd country " in lines[rule + 2]


def test_a_label_is_shortened_in_the_middle_and_wide_letters_count_twice():
    assert shortened("abcdefghij", 10) == "abcdefghij"
    assert shortened("abcdefghijk", 10) == "abcde…hijk"
    assert shortened("abcdefghijk", 9) == "abcd…hijk"

    def width(text):
        return sum(2 if letter > "\u2e80" else 1 for letter in text)

    assert shortened("支付支付支付ab", 9) == "支付…付ab"
    assert width(shortened("支付支付支付", 8)) <= 8


def test_the_two_most_important_warnings_are_printed_and_the_others_counted(printed):
    summary = many("Pay", error="Pay")
    codes = {str(warning.code) for warning in summary.warnings}
    assert codes == {"too-few-samples", "errors-in-figures", "closed-model"}
    text = printed(replace(summary, warnings=(*summary.warnings, RunWarning("growth", "Growth."))))
    assert text.count("\nwarning: ") == 2
    assert text.index(f"warning: {TOO_FEW}") < text.index("warning: Growth.")  # it concerns the whole run
    assert "1 more warning: see the report." in text  # a note is none
    assert "Most frequent error: Pay: 402 expected 201 (1 time)." in text


def test_missed_goals_are_printed_first_and_ten_in_all():
    summary = replace(many("Pay"), verdict=Verdict("VALID", (), tuple(map(str, range(9))), ("a", "b")))
    lines = ["".join(text for text, _ in line.parts) for line in closing(summary, "x.md", "", 80).above]
    assert lines[2:5] == ["  missed  a", "  missed  b", "  met     0"]
    assert lines[11:] == ["  met     7", "  1 more goal: see the report.", ""]


@pytest.mark.parametrize(
    ("state", "missed", "shape"),
    [
        ("VALID", (), "\x1b[1;32m✔ "),
        ("VALID", ("p90",), "\x1b[1;31m✘ "),
        ("DOUBTFUL", (), "\x1b[1;33m! "),
        ("DOUBTFUL", ("p90",), "\x1b[1;31m✘ "),
        ("INVALID", (), "\x1b[1;31m✘ "),
        ("INTERRUPTED", (), "\x1b[1;33m! "),
    ],
)
def test_the_verdict_has_a_shape_and_a_colour_and_a_missed_goal_is_bad(printed, state, missed, shape):
    summary = replace(many("Pay"), verdict=Verdict(state, (), (), missed))
    assert shape in printed(summary, force_terminal=True, color_system="standard")
    valid = "VALID: p95 100 ms at 10.00 req/s, no errors."
    answer = f"{state}. Goal missed: p90." if missed else valid if state == "VALID" else f"{state}."
    assert f"{shape[-2:]}tiny/run-01_1: {answer}\n" in printed(summary)


def test_an_output_that_is_not_utf_8_has_no_shape():
    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show_closing(Console(file=out), many("Pay"), "reports/tiny/run-01_1.md")
    out.seek(0)
    assert out.read().startswith("\ntiny/run-01_1: DOUBTFUL")


def test_the_answer_is_that_of_the_result_and_its_next_steps_are_last(printed):
    steps = (NextStep("Run longer", "lth run tiny -d 1m"), NextStep("Find the slow requests."))
    result = Result(verdict="DOUBTFUL", headline="DOUBTFUL: 8 s are too short.", next_steps=steps)
    lines = printed(replace(many("Pay"), result=result)).splitlines()
    assert lines[1] == "! tiny/run-01_1: DOUBTFUL: 8 s are too short."
    assert lines[-2:] == ["next:    Run longer: lth run tiny -d 1m", "next:    Find the slow requests."]


def test_a_run_without_a_sample_has_its_verdict_and_the_path_of_its_report(printed):
    text = printed(summary_of([], record(stop_reasons=("jmeter.log: no such plugin",))))
    first = "✘ tiny/run-01_1: INVALID: the load has no samples, and 1 more reason.\n"
    assert f"{first}  jmeter.log: no such plugin\n\nreport:  " in text
    assert "label" not in text
    assert "\nreport:  reports/tiny/run-01_1.md\nlogs:    reports/tiny/run-01_1/\nnext:    Read the logs" in text


def test_colour_is_for_terminals_only_and_no_color_is_respected(printed):
    summary, terminal = many("Pay", error="Pay"), {"force_terminal": True, "color_system": "standard"}
    assert "\x1b[" not in printed(summary)
    yellow = "\x1b[1;33mDOUBTFUL"
    assert yellow in printed(summary, **terminal)
    without = printed(summary, environment={"NO_COLOR": "1"}, **terminal)
    assert yellow not in without
    assert "DOUBTFUL" in without


def test_text_is_wrapped_at_words_on_a_terminal_and_commands_never(printed):
    command = "lth compare --base=" + "b" * 40 + " --new=" + "n" * 40
    summary = many("Pay", error="Pay")
    narrow = {"COLUMNS": "60"}
    lines = printed(summary, command, narrow, force_terminal=True, color_system=None).splitlines()
    assert f"compare: {command}" in lines
    assert max(len(line) for line in lines if not line.startswith(("compare: ", "next: "))) <= 60
    warning = next(index for index, line in enumerate(lines) if line.startswith(f"warning: {TOO_FEW[:20]}"))
    assert lines[warning + 1].startswith("  ")
    # Elsewhere a sentence stays in one line: programs search for it.
    lines = printed(summary, command, narrow).splitlines()
    assert any(line.startswith(f"warning: {TOO_FEW}") and "Run again with " in line for line in lines)


def test_a_label_cannot_act_on_the_terminal(printed):
    text = printed(many("\x1b]0;title\x07[bold]", error="\x1b[2J"))
    assert "\x1b" not in text
    assert "[bold]" in text


def test_a_run_with_many_labels_prints_ten_of_them():
    last = closing(many(*(f"Page {number}" for number in range(12))), "x.md", "", 80)
    assert [label for label, _ in last.tables[0].rows] == [*(f"Page {number}" for number in range(2, 12)), "TOTAL"]
    assert "2 more labels with fewer errors or a lower p95: see the report." in last.below[0].parts[0][0]
