import pytest

from harness.jtl import Dropped
from harness.littles_law import littles_law
from harness.summary import Observed, summarise
from harness.tally import tally_of
from harness.telemetry import Usage
from harness.verdict import headline
from tests.factories import closed_load, failed, record, sample


def summary_of(samples, run=None, usage=()):
    return summarise(
        tally_of(samples, run.once_labels if run else ()), Dropped(), "tiny/run-01_1", run, Observed(usage)
    )


def caveats_of(*arguments, **options):
    return {caveat.code: caveat.text for caveat in summary_of(*arguments, **options).caveats}


def two_users(count=50, elapsed_ms=1000):
    """Two users who wait for one answer after the other: busy all the time."""
    return [
        sample(
            elapsed_ms=elapsed_ms, start_ms=1_000_000 + turn * elapsed_ms, all_threads=2, thread_name=f"Users 1-{user}"
        )
        for turn in range(count)
        for user in (1, 2)
    ]


def test_a_clean_run_within_its_goal_is_valid_and_ends_with_0():
    verdict = summary_of(two_users(elapsed_ms=900), record()).verdict
    assert (verdict.state, verdict.exit_code, verdict.goals_missed) == ("VALID", 0, ())
    assert headline(verdict) == "VALID. Goal met: 90 % line 900 ms, goal 1000 ms; errors 0.00 %, goal 1.00 %."


def test_a_missed_goal_ends_with_1_and_names_the_figure():
    verdict = summary_of(two_users(elapsed_ms=1100), record()).verdict
    assert (verdict.state, verdict.exit_code) == ("VALID", 1)
    assert verdict.goals_missed == ("90 % line 1100 ms, goal 1000 ms",)


def test_a_run_in_which_all_samples_failed_is_invalid_however_fast():
    verdict = summary_of([failed(elapsed_ms=1)] * 10, record()).verdict
    assert (verdict.state, verdict.exit_code) == ("INVALID", 3)
    assert verdict.reasons == ("all 10 samples failed: a fast error is no speed",)


@pytest.mark.parametrize(("failures", "state"), [(50, "VALID"), (51, "INVALID")])
def test_a_run_is_invalid_once_most_of_its_samples_failed(failures, state):
    samples = [failed() for _ in range(failures)] + [sample() for _ in range(100 - failures)]
    assert summary_of(samples, record()).verdict.state == state


def test_a_run_without_a_sample_of_the_load_is_invalid_and_shows_what_failed_before_it():
    samples = [failed("Tenant", code="401", failure="expected 200 or 404", thread_name="setUp 1-1")]
    verdict = summary_of(samples, record()).verdict
    assert verdict.reasons == ("no sample of the load was taken", "Tenant failed: 401 expected 200 or 404")


def test_what_went_wrong_with_the_process_makes_a_run_invalid():
    verdict = summary_of(two_users(), record(stop_reasons=("killbill died during the run with exit code 137",))).verdict
    assert (verdict.state, verdict.reasons) == ("INVALID", ("killbill died during the run with exit code 137",))


def test_a_run_whose_harness_was_killed_is_not_valid():
    assert summary_of(two_users(), record(state="running")).verdict.state == "INVALID"


def test_an_interrupted_run_is_marked_and_ends_with_130():
    verdict = summary_of(two_users(), record(interrupted=True)).verdict
    assert (verdict.state, verdict.exit_code) == ("INTERRUPTED", 130)


def test_busy_users_satisfy_littles_law():
    summary = summary_of(two_users(), record())
    assert summary.littles_law.ratio == pytest.approx(1.0, abs=0.03)
    assert "littles-law" not in {caveat.code for caveat in summary.caveats}


def test_a_starved_client_breaks_littles_law_and_the_report_says_so():
    # The samples last 10 ms of every second: where were the two users for the rest?
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * turn, all_threads=2) for turn in range(50)]
    assert "users were active on average, the samples account" in caveats_of(samples, record())["littles-law"]


def test_a_stretch_too_short_for_littles_law_raises_no_alarm():
    samples = [sample(elapsed_ms=10, start_ms=1_000_000 + 1000 * turn, all_threads=2) for turn in range(5)]
    assert "littles-law" not in caveats_of(samples, record())


def test_seconds_without_an_answer_keep_the_last_known_number_of_users():
    tally = tally_of(
        [sample(start_ms=0, elapsed_ms=500, all_threads=4), sample(start_ms=500, elapsed_ms=9400, all_threads=4)]
    )
    law = littles_law(tally.pulse.by_second(0, 9), span_ms=9900)
    assert (law.active_users, law.peak_users, law.busy_users) == (4.0, 4, 1.0)


def test_fewer_users_than_asked_for_are_a_caveat():
    assert "Only 2 of 5 users" in caveats_of(two_users(), record(load=closed_load(users=5)))["fewer-users"]


def test_a_202_that_counts_as_success_is_a_caveat():
    text = caveats_of([sample(code="202")])["unexpected-success-code"]
    assert text.startswith("Code 202 counts as success (Pay: 1 sample): what it began may not have been done")


def usage(process, cores):
    return Usage(process, 10, cores, cores, cores, 1e9, 10**9, 10**9, 40)


def test_a_generator_that_eats_the_machine_is_a_caveat():
    found = caveats_of(two_users(), record(), usage=(usage("jmeter", 1.7), usage("host", 1.9)))
    assert "85 % of the 2 cores" in found["generator-cpu"]
    assert "95 % busy" in found["host-cpu"]


def test_an_idle_generator_is_no_caveat():
    found = caveats_of(two_users(), record(), usage=(usage("jmeter", 0.2), usage("host", 0.5)))
    assert not {"generator-cpu", "host-cpu"} & set(found)


def test_the_closed_model_is_said_and_the_open_one_is_not():
    assert "closed-model" in caveats_of(two_users(), record())
    open_load = closed_load(users=None, model="open", rate_per_s=2.0)
    assert "closed-model" not in caveats_of(two_users(), record(load=open_load))
