"""What JMeter counted itself, in verdict and warnings: users that died, rows that are missing, pauses of the load."""

import pytest

from harness.run.record import DeathRecord, GeneratorRecord, RowsRecord
from tests.metrics.test_time_checks import START_MS, a_run, codes, even, shifted, summary_of

MEMORY = "java.lang.OutOfMemoryError: Java heap space"
# 500 rows, of which none ends for ten seconds in their middle; and the same rows without such a gap.
WHOLE = even(40)
PAUSED = [one for one in WHOLE if not 15_000 <= one.end_ms - START_MS < 25_000]


def rows(count, *, at_least=False, clock_step_ms=0):
    return RowsRecord(count, at_least, clock_step_ms)


def deaths(*causes, what="user"):
    return tuple(
        DeathRecord(what, count, min(one.start_ms for one in WHOLE) // 1000 * 1000 + 31_400 + 1000 * number, cause)
        for number, (cause, count) in enumerate(causes)
    )


@pytest.mark.parametrize(
    ("died", "reason"),
    [
        (
            deaths((MEMORY, 2)),
            "2 of 10 users died: OutOfMemoryError: Java heap space, first at 31 s; "
            "set heap_mb = 2048 in [generator] of the profile",
        ),
        (
            deaths(("java.lang.StackOverflowError", 1), ("java.lang.AssertionError: a: b", 1)),
            "2 of 10 users died: StackOverflowError; AssertionError: a: b, first at 31 s; "
            "set jvm_args = '-Xss4m' in [generator] of the profile",
        ),
        (deaths(("java.lang.Error", 12)), "12 users died: Error, first at 31 s; jmeter.log has more"),
        (
            deaths(("a.b.CError: x", 1), what="download"),
            "1 download of embedded resources died: CError: x, first at 31 s; jmeter.log has more",
        ),
    ],
)
def test_a_run_in_which_a_user_died_is_invalid_with_cause_number_and_remedy(died, reason):
    summary = summary_of(WHOLE, a_run(44.0, deaths=died))
    assert (summary.verdict.state, summary.verdict.reasons) == ("INVALID", (reason,))


def test_a_run_without_deaths_is_not_invalid():
    assert summary_of(WHOLE, a_run(44.0, deaths=())).verdict.state != "INVALID"


def test_a_silence_in_which_jmeter_wrote_no_row_is_a_pause_of_the_load():
    assert "offered-read" in codes(summary_of(PAUSED, a_run(44.0)))
    summary = summary_of(PAUSED, a_run(44.0, rows=rows(len(PAUSED))))
    assert {"offered-read", "load-paused"} & codes(summary) == {"load-paused"}
    assert summary.verdict.state != "INVALID"


def test_rows_that_jmeter_wrote_and_nobody_read_are_missing_with_their_number():
    few = summary_of(PAUSED[:-3], a_run(44.0, rows=rows(len(PAUSED))))
    (text,) = (warning.text for warning in few.warnings if warning.code == "offered-read" and "wrote" in warning.text)
    assert text.startswith(f"3 of {len(PAUSED)} rows that JMeter wrote are missing. ")
    many = summary_of(PAUSED, a_run(44.0, rows=rows(len(WHOLE), at_least=True)))
    missing = len(WHOLE) - len(PAUSED)
    assert many.verdict.reasons == (f"At least {missing} of {len(WHOLE)} rows that JMeter wrote are missing",)
    assert "offered-read" not in codes(summary_of(WHOLE, a_run(44.0, rows=rows(len(WHOLE) - 1, at_least=True))))


def test_a_clock_that_jmeter_saw_jump_was_set_and_rows_that_are_written_late_are_no_step():
    back = WHOLE[:1000] + shifted(WHOLE[1000:], -5000)
    assert "clock-step" in codes(summary_of(back, a_run(44.0)))
    assert "clock-step" not in codes(summary_of(back, a_run(44.0, rows=rows(len(back)))))
    seen = summary_of(WHOLE, a_run(44.0, rows=rows(len(WHOLE), clock_step_ms=-5000)))
    assert seen.verdict.reasons[0] == "A clock was set by about −5 s during the run"


def test_of_load_generators_elsewhere_nobody_watched_the_clock():
    there = GeneratorRecord("h:1", 10, None, "5.6.3", "17", 0, False)
    summary = summary_of(PAUSED, a_run(44.0, rows=rows(len(PAUSED)), generators=(there,)))
    (text,) = (warning.text for warning in summary.warnings if warning.code == "offered-read")
    assert text.startswith("A clock was set, or the load paused: no sample ended for 10 s of 42 s")


def test_a_heap_dump_is_named_with_its_size():
    summary = summary_of(WHOLE, a_run(44.0, heap_dumps={"java_pid7.hprof": 300_000_000}))
    (text,) = (warning.text for warning in summary.warnings if warning.code == "heap-dump")
    assert text.startswith("JMeter wrote a heap dump of 286 MB, which may contain secrets: run-01_1/java_pid7.hprof.")
