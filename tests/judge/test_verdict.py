import pytest

from harness.judge.summarise import summarise
from harness.judge.verdict import Verdict, answer, headline
from harness.judge.warnings import Severity, warning_kinds
from harness.plan.goal import Goal, GoalRule
from tests.support.factories import closed_load, failed, record, sample, tally_of, two_users


def summary_of(samples, run=None):
    return summarise(tally_of(samples, run.once_labels if run else ()), "tiny/run-01_1", run)


def test_a_clean_run_within_its_goal_is_valid_and_ends_with_0():
    verdict = summary_of(two_users(elapsed_ms=900), record()).verdict
    assert (verdict.state, verdict.exit_code, verdict.goals_missed) == ("VALID", 0, ())
    assert headline(verdict) == "VALID. 2 of 2 goals met."


def test_a_missed_goal_ends_with_1_and_names_the_metric():
    verdict = summary_of(two_users(elapsed_ms=1100), record()).verdict
    assert (verdict.state, verdict.exit_code) == ("VALID", 1)
    assert verdict.goals_missed == ("p90 1100 ms, goal 1000 ms",)


def test_a_goal_may_be_set_for_the_average():
    samples = two_users(elapsed_ms=900)
    met = summary_of(samples, record(goal=Goal(average_ms=900))).verdict
    assert (met.goals_met, met.exit_code) == (("average 900 ms, goal 900 ms",), 0)
    missed = summary_of(samples, record(goal=Goal(average_ms=899))).verdict
    assert (missed.goals_missed, missed.exit_code) == (("average 900 ms, goal 899 ms",), 1)


def test_a_goal_may_be_set_for_the_average_of_each_label():
    samples = [sample(label, elapsed_ms=ms) for label, ms in (("A", 500), ("B", 1001), ("C", 3000)) for _ in range(9)]
    one_user = closed_load(users=1)
    missed = summary_of(samples, record(goal=Goal(each_average_ms=1000), load=one_user)).verdict
    assert missed.goals_missed == ("2 of 3 labels above 1000 ms on average, the slowest is C with 3000 ms",)
    met = summary_of(samples, record(goal=Goal(each_average_ms=3000), load=one_user)).verdict
    assert met.goals_met == ("each of 3 labels within 3000 ms on average",)


def test_a_mostly_failing_label_is_never_within_its_goal():
    samples = [sample("A", elapsed_ms=500)] * 9 + [failed("B", elapsed_ms=1)] * 2 + [sample("B", elapsed_ms=1)]
    verdict = summary_of(samples, record(goal=Goal(each_average_ms=1000), load=closed_load(users=1))).verdict
    assert verdict.goals_missed == (
        "1 of 2 labels above 1000 ms on average or mostly failed, the slowest is B with 1.00 ms",
    )


def test_a_run_whose_samples_all_failed_is_invalid():
    verdict = summary_of([failed(elapsed_ms=1)] * 10, record()).verdict
    assert (verdict.state, verdict.exit_code) == ("INVALID", 3)
    assert verdict.reasons == ("all 10 samples failed: response times of errors are not meaningful",)


@pytest.mark.parametrize(("failures", "is_invalid"), [(50, False), (51, True)])
def test_a_run_is_invalid_once_most_of_its_samples_failed(failures, is_invalid):
    samples = [failed() for _ in range(failures)] + [sample() for _ in range(100 - failures)]
    assert (summary_of(samples, record(load=closed_load(users=1))).verdict.state == "INVALID") is is_invalid


def test_a_run_without_a_sample_of_the_load_is_invalid_and_shows_what_failed_before_it():
    samples = [failed("Tenant", code="401", failure="expected 200 or 404", thread_name="setUp 1-1")]
    verdict = summary_of(samples, record()).verdict
    assert verdict.reasons == ("the load has no samples", "Tenant failed: 401 expected 200 or 404")


def test_a_failure_of_the_process_makes_a_run_invalid():
    verdict = summary_of(two_users(), record(stop_reasons=("killbill died during the run with exit code 137",))).verdict
    assert (verdict.state, verdict.reasons) == ("INVALID", ("killbill died during the run with exit code 137",))


def test_a_run_whose_harness_was_killed_is_not_valid():
    assert summary_of(two_users(), record(state="running")).verdict.state == "INVALID"


def test_an_interrupted_run_is_marked_and_ends_with_130():
    verdict = summary_of(two_users(), record(interrupted=True)).verdict
    assert (verdict.state, verdict.exit_code) == ("INTERRUPTED", 130)


def test_a_warning_makes_a_run_doubtful_without_changing_goal_and_exit_code():
    verdict = summary_of(two_users(count=49), record()).verdict
    assert (verdict.state, verdict.reasons) == ("DOUBTFUL", ("Too few samples: 98 measured, 100 needed",))
    assert (verdict.exit_code, verdict.exit_code_if(sure=True)) == (0, 3)
    assert headline(verdict) == "DOUBTFUL: Too few samples: 98 measured, 100 needed. 2 of 2 goals met."
    missed = summary_of(two_users(count=49, elapsed_ms=1100), record()).verdict
    assert (missed.state, missed.exit_code, missed.exit_code_if(sure=True)) == ("DOUBTFUL", 1, 3)


def test_a_missed_goal_is_in_the_headline_beside_a_doubt():
    doubt = "Too few samples: 98 measured, 100 needed"
    (missed, others, later) = ("p90 1000 ms, goal 500 ms",), ("p95 1 s, goal 500 ms", "x"), ("A second doubt", "B")
    assert answer(Verdict("DOUBTFUL", (doubt,), (), missed), None) == (
        "DOUBTFUL. Goal missed: p90 1000 ms, goal 500 ms. Too few samples: 98 measured, 100 needed."
    )
    assert answer(Verdict("DOUBTFUL", (doubt, *later), ("met",), (*missed, *others)), None) == (
        "DOUBTFUL. 3 goals missed. Too few samples: 98 measured, 100 needed, and 2 more doubts."
    )
    assert answer(Verdict("VALID", (), (), missed), None) == "VALID. Goal missed: p90 1000 ms, goal 500 ms."


@pytest.mark.parametrize(
    ("users", "what"),
    [(1, "2 users at the peak, not the requested 1"), (5, "2 users at the peak, not the requested 5")],
)
def test_a_run_with_other_users_than_requested_is_invalid(users, what):
    verdict = summary_of(two_users(), record(load=closed_load(users=users))).verdict
    assert verdict.state == "INVALID"
    assert verdict.reasons[0].startswith(what)


@pytest.mark.parametrize(("failures", "is_doubtful"), [(10, False), (11, True)])
def test_many_errors_without_a_goal_for_them_are_a_warning(failures, is_doubtful):
    samples = [
        *two_users(count=100 - failures),
        *(failed(all_threads=2, start_ms=1_000_000) for _ in range(failures * 2)),
    ]
    found = summary_of(samples, record(goal=Goal()))
    assert ("many-errors" in {warning.code for warning in found.warnings}) is is_doubtful
    assert "many-errors" not in {warning.code for warning in summary_of(samples, record()).warnings}


def of_labels(failures, count=200, others=4):
    """Return the samples of two users: so many labels of which all succeed, and Pay of which so many of 40 fail."""
    samples = [sample(label=f"Step {at % others}", all_threads=2, start_ms=1_000_000 + 50 * at) for at in range(count)]
    return samples + [
        (failed if at < failures else sample)(label="Pay", all_threads=2, start_ms=1_000_000 + 200 * at)
        for at in range(40)
    ]


def brief_of_errors(samples, goal):
    found = summary_of(samples, record(goal=goal)).warnings
    return [warning.brief for warning in found if warning.code == "many-errors"]


def errors_of(label, limit):
    return GoalRule("error_ratio", label, max=limit)


@pytest.mark.parametrize(
    ("failures", "count", "goal", "brief"),
    [
        (40, 400, Goal(), ["40 of 40 samples of Pay failed, and no goal tells it"]),
        (21, 400, Goal(), ["21 of 40 samples of Pay failed, and no goal tells it"]),
        # The goal of TOTAL is met, although a step never worked.
        (40, 4_000, Goal(error_ratio=0.01), ["40 of 40 samples of Pay failed, and no goal tells it"]),
        (40, 400, Goal(p95_ms=500), ["40 of 40 samples of Pay failed, and no goal tells it"]),
        (40, 400, Goal(errors_of("Ship", 0.5)), ["40 of 40 samples of Pay failed, and no goal tells it"]),
        (40, 200, Goal(), ["16.67 % of the samples failed, and no goal limits errors"]),
    ],
)
def test_a_label_of_which_most_failed_is_a_doubt_though_few_of_all_did(failures, count, goal, brief):
    assert brief_of_errors(of_labels(failures, count), goal) == brief


@pytest.mark.parametrize(
    ("failures", "goal"),
    [
        (20, Goal()),
        (4, Goal()),
        # A goal tells it: that of TOTAL is missed, or one allows it.
        (40, Goal(error_ratio=0.01)),
        (40, Goal(error_ratio=0.5)),
        (40, Goal(errors_of("Pay", 1.0))),
        (40, Goal(errors_of("P.*", 0.2))),
    ],
)
def test_labels_of_which_less_failed_or_that_have_a_goal_are_no_doubt(failures, goal):
    assert brief_of_errors(of_labels(failures, 400), goal) == []


def test_four_failures_of_a_rare_label_are_no_doubt_and_several_labels_are_named():
    rare = [failed(label="Rare", all_threads=2, start_ms=1_000_000 + 99 * at) for at in range(4)]
    assert brief_of_errors(of_labels(0, 400) + rare, Goal()) == []
    more = [failed(label="Ship", all_threads=2, start_ms=1_000_000 + 99 * at) for at in range(5)]
    brief = "Most samples of 2 labels (Pay, Ship) failed, and no goal tells it"
    assert brief_of_errors(of_labels(40, 500) + more, Goal()) == [brief]


def test_a_busy_machine_alone_does_not_make_a_run_doubtful():
    assert warning_kinds()["host-cpu"].severity is Severity.WARNING
