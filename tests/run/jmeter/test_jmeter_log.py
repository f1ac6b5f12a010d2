"""The reasons in jmeter.log for a run that does not match its request."""

import pytest

from harness.run.jmeter.process import has_dead_thread, lost_samples, plan_messages, reason_from_logs

STARTED = "2026-11-21 10:27:04,001 INFO o.a.j.t.JMeterThread: Thread started: Users 1-4\n"


@pytest.fixture
def log(tmp_path):
    def write(text):
        (tmp_path / "jmeter.log").write_text(text)
        return tmp_path, "jmeter.log"

    return write


def test_an_error_logged_by_the_plan_is_reported_once_for_all_users(log):
    line = "2026-11-21 10:27:05,643 ERROR o.a.j.f.LogFunction: Users 1-{}  :  none left: a run needs one each\n"
    assert plan_messages(*log(STARTED + line.format(4) + line.format(2))) == ("none left: a run needs one each",)


def test_information_logged_by_a_plan_is_not_a_reason(log):
    text = "2026-11-21 10:27:05,643 INFO o.a.j.f.LogFunction: Users 1-4  :  half of them are used\n"
    assert plan_messages(*log(STARTED + text)) == ()


def test_an_exception_that_ends_a_thread_is_reported(log):
    where = log(
        STARTED
        + "2026-11-21 10:27:11,628 ERROR o.a.j.t.JMeterThread: Test failed!\n"
        + "java.lang.IllegalArgumentException: Could not read file header line for file none.csv\n"
        + "\tat org.apache.jmeter.services.FileServer.reserveFile(FileServer.java:283)\n"
    )
    assert has_dead_thread(*where)
    assert reason_from_logs(*where) == (
        "Test failed!; java.lang.IllegalArgumentException: Could not read file header line for file none.csv"
    )


def test_a_run_without_errors_or_log_has_no_reasons(log, tmp_path):
    where = log(STARTED)
    assert (plan_messages(*where), has_dead_thread(*where)) == ((), False)
    assert (plan_messages(tmp_path, "none.log"), has_dead_thread(tmp_path, "none.log")) == ((), False)


THROWN = """2026-11-21 10:27:11,628 ERROR o.a.j.t.JMeterThread: Error while processing sampler: '{}'.
java.lang.{}
\tat com.acme.Buy.sample(Buy.java:7)
"""


def test_samples_that_an_exception_kept_from_having_a_row_are_counted_by_step(log):
    cause = 'NullPointerException: "response" is null'
    others = THROWN.format("It's", "Error: x") + THROWN.format("Buy", "X")
    where = log(STARTED + THROWN.format("Buy", cause) * 2 + others)
    assert lost_samples(*where) == (
        "4 samples without a row, as an exception ended their sampler: Buy (3), It's (1); "
        'java.lang.NullPointerException: "response" is null'
    )
    assert not has_dead_thread(*where)


@pytest.mark.parametrize("text", ["", STARTED, THROWN.format("Buy", "InterruptedException: null")])
def test_a_sampler_that_is_interrupted_at_the_end_has_lost_nothing(log, text):
    assert lost_samples(*log(text)) == ""
