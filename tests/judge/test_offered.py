"""What a load asked for over its time and what was missing: users, arrivals and requests of stages, and steps."""

from dataclasses import replace

import pytest

from harness.jtl.sample import Sample
from harness.judge.account import Balance
from harness.judge.loads import LoadTally
from harness.judge.offered import arrivals_missing, users_missing
from harness.judge.summarise import SummaryOptions, summarise, window_of, window_span_ms
from harness.judge.verdict import DOUBTFUL, INVALID
from harness.metrics.tally import Scope
from harness.metrics.window import parse_window
from harness.plan.jmx.steps import PlanStep
from harness.plan.load import OPEN
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import LoadRecord, PlanLoad, load_record
from harness.run.group_counts import NO_DATA, EarlyEnd, GroupCounts, LabelCount
from tests.judge.test_account_lines import a_run, counted, line, open_run, users_of
from tests.judge.test_account_lines import arrivals as samples_of
from tests.support.factories import closed_load, record, sample, tally_of

START_S = 1_700_000_000
# 10 users for a minute, 40 within 20 s more and for a minute, and down to 20.
STEPS = GroupLoad("Buy", (Stage(10, None, 10, 60), Stage(40, None, 20, 60), Stage(20, None, 10, 60)))
STEPS_AT_ONCE = GroupLoad("Buy", (Stage(10, None, 0, 20), Stage(20, None, 0, 20)))
RATES = GroupLoad("Visit", (Stage(None, 5.0, 10, 60), Stage(None, 20.0, 20, 60)))


def curve(load, without=lambda _at_s, level: level):
    """Return the users, or arrivals, of each second as the load asks for them."""
    levels = [load.level_at(at_s + 0.5) for at_s in range(int(load.duration_s))]
    return [without(at_s, level) for at_s, level in enumerate(levels)]


def users(alive):
    return GroupCounts("Buy", START_S, 1, (), 0, tuple(round(1000 * one) for one in alive), None)


def arriving(made):
    return GroupCounts("Visit", START_S, 1, (), 0, (3000,) * len(made), tuple(map(round, made)))


def test_a_load_with_stages_that_follows_its_curve_lacks_nobody_however_it_is_shifted():
    for shift_s in (0, 1, 2):
        late = [0.0] * shift_s + curve(STEPS)
        assert users_missing(STEPS, [users(late)], 0.5).ratio == 0, shift_s
    # Its users begin within the first second.
    assert users_missing(STEPS_AT_ONCE, [users([4, *curve(STEPS_AT_ONCE)[1:]])], 0.5) == (0.0, "")
    # The last users of each level end before it does: each would pause beyond it.
    early = curve(STEPS, lambda at_s, level: level - 3 if 143 <= at_s < 150 or at_s >= 213 else level)
    assert users_missing(STEPS, [users(early)], 4.0).ratio == 0


@pytest.mark.parametrize(
    ("without", "ratio", "text"),
    [
        (lambda at_s, level: 0 if at_s >= 180 else level, 0.13, "up to 20 users fewer than asked, from 180 s to 217 s"),
        (
            lambda _at_s, level: min(level, 30),
            0.11,
            "up to 10 users fewer than asked, from 86 s to 151 s",
        ),
        (
            lambda at_s, level: level - 1 if at_s >= 100 else level,
            0.02,
            "up to 1 user fewer than asked, from 100 s to 217 s",
        ),
    ],
)
def test_users_that_a_stage_lacks_are_counted_and_their_seconds_named(without, ratio, text):
    missing = users_missing(STEPS, [users(curve(STEPS, without))], 0.5)
    assert missing.ratio == pytest.approx(ratio, abs=0.02)
    assert missing.text == text


@pytest.mark.parametrize("scale", [1.0, 1.2])
def test_arrivals_that_scatter_are_not_missing(scale):
    made = [level * scale + (-1) ** at_s for at_s, level in enumerate(curve(RATES))]
    assert arrivals_missing(RATES, [arriving(made)]).ratio == 0


@pytest.mark.parametrize(
    ("fewer", "group_count", "returns", "missing"),
    [(4, 1, None, 0), (5, 1, None, 5), (8, 2, None, 0), (9, 2, None, 9), (31, 1, True, 0), (32, 1, True, 32)],
)
def test_as_many_arrivals_as_asked_for_are_made_but_for_rounding(fewer, group_count, returns, missing):
    load, each = replace(RATES, users_return=returns), curve(RATES)
    each[-10] -= 1775 - sum(map(round, each)) + fewer
    shared = [arriving(each), *[arriving([0])] * (group_count - 1)]
    assert arrivals_missing(load, shared).ratio * 1775 == pytest.approx(missing + 0.5 * bool(missing), abs=1)


def test_a_rate_that_begins_within_a_second_lacks_no_arrivals():
    load = GroupLoad("Visit", (Stage(None, 1000.0, 0, 12),))
    assert arrivals_missing(load, [arriving([100, *[1000] * 11, 900])]) == (0.0, "")


@pytest.mark.parametrize(
    ("without", "text"),
    [
        (lambda _at_s, level: level / 2, "918 of 1,775 arrivals were not made"),
        (lambda at_s, level: 0 if at_s >= 100 else level, "1,000 of 1,775 arrivals were not made"),
        # As many as asked for in all, but not when they were asked for.
        (lambda at_s, level: 0 if 90 <= at_s < 110 else 40 if 110 <= at_s < 130 else level, " s to "),
    ],
)
def test_arrivals_that_are_missing_in_all_or_in_a_part_are_found(without, text):
    missing = arrivals_missing(RATES, [arriving(curve(RATES, without))])
    assert missing.ratio > 0.05
    assert text in missing.text


@pytest.mark.real
@pytest.mark.parametrize(("each_s", "balance"), [(300, Balance.BALANCED), (20, Balance.DOUBT), (8, Balance.INVALID)])
def test_few_arrivals_that_are_missing_here_and_there_are_no_chance(each_s, balance):
    made = counted([3] * 300, arrivals=tuple(2 if at_s % each_s else 0 for at_s in range(300)))
    found = line(open_run(samples_of(2), rate_per_s=2.0, groups=(made,)), "asked-offered")
    assert found.balance is balance


def several(loads, groups, samples, **more):
    tally = Scope(thread_groups=tuple(load.thread_names for load in loads)).tally()
    for one in sorted(samples, key=lambda one: one.end_ms):
        tally.add(one)
    load = load_record(SeveralLoads(loads), PlanLoad(20, 0.0, 300.0, 0.0))
    run = record(load=load, once_labels=(), took_s=225.0, groups=groups, **more)
    return summarise(tally, "x", run, options=SummaryOptions(loads=[LoadTally.of(one, tally, None) for one in loads]))


def requests_of(load, per_s=lambda _at_s, level: level, name=""):
    """Return a request a second of each of its users; or as many as the rate."""
    for at_s, level in enumerate(curve(load)):
        count = round(per_s(at_s, level))
        for number in range(count):
            start_ms = (START_S + at_s) * 1000 + 1000 * number // count
            thread = f"{name or load.group} 1-{number + 1}"
            yield sample("Pay", 50, start_ms, thread_name=thread, all_threads=round(level), group_threads=round(level))


@pytest.mark.real
def test_each_of_several_loads_is_compared_with_its_own_stages():
    left = curve(STEPS, lambda at_s, level: max(0, level - 15) if at_s >= 110 else level)
    ended = GroupCounts(
        "Buy", START_S, 1, (), 0, tuple(round(1000 * one) for one in left), None,
        ended_early=(EarlyEnd(NO_DATA, "users.csv", 15, 0),),
    )  # fmt: skip
    loads, samples = (STEPS, RATES), [*requests_of(STEPS), *requests_of(RATES)]
    good = line(several(loads, (users(curve(STEPS)), arriving(curve(RATES))), samples), "asked-offered")
    assert (good.balance, good.right) == (Balance.BALANCED, "as asked")
    summary = several(loads, (ended, arriving(curve(RATES))), samples)
    found = line(summary, "asked-offered")
    assert found.balance is Balance.INVALID
    assert found.text.startswith("Buy: up to 15 users fewer than asked, from 110 s to ")
    fewer = line(
        several(loads, (users(curve(STEPS)), arriving([one / 2 for one in curve(RATES)])), samples), "asked-offered"
    )
    assert (fewer.balance, fewer.text) == (Balance.INVALID, "Visit: 918 of 1,775 arrivals were not made")


@pytest.mark.real
@pytest.mark.parametrize(
    ("group", "stages", "text"),
    [
        ("Buy", (Stage(10, None, 0, 225),), "9 of 10 users of Buy only paused for most of the load (Rest)"),
        ("Buy", (Stage(10, None, 0, 100), Stage(8, None, 0, 125)), ""),  # users of stages come and go
        ("Visit", (Stage(None, 10.0, 0, 225),), ""),
    ],
)
def test_idle_users_of_one_of_several_loads_are_a_doubt(group, stages, text):
    loads = GroupLoad("Sell", (Stage(20, None, 0, 225),)), GroupLoad(group, stages)
    agents = [arriving(curve(load)) if load.is_open else users(curve(load)) for load in loads]
    agents = [replace(one, name=load.group) for load, one in zip(loads, agents, strict=True)]
    samples = [one for load in loads for one in requests_of(load)]
    one_idle = replace(agents[0], idle=(LabelCount("Rest", 1),))
    nine_idle = replace(agents[1], idle=(LabelCount("Rest", 9),))
    found = line(several(loads, (one_idle, nine_idle), samples), "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT if text else Balance.BALANCED, text)


@pytest.mark.real
@pytest.mark.parametrize(("share", "balance"), [(1.0, Balance.BALANCED), (0.93, Balance.DOUBT), (0.5, Balance.INVALID)])
def test_requests_per_second_that_a_timer_does_not_send_are_missing(share, balance):
    stages = (Stage(20, None, 10, 60, requests_per_s=50.0), Stage(20, None, 10, 60, requests_per_s=100.0))
    load = GroupLoad("Buy", stages)

    def rate(at_s, _level):
        return share * (50 if at_s < 70 else 100) * (at_s / 10 if at_s < 10 else 1)

    samples = list(requests_of(load, rate, "Buy-ThreadStarter"))
    found = line(several((load,), (), [one._replace(group_threads=20) for one in samples]), "asked-offered")
    assert found.balance is balance, found


@pytest.mark.real
def test_an_open_load_that_pauses_and_catches_up_did_not_arrive_as_asked():
    made = [0 if 100 <= at_s < 130 else 60 if 130 <= at_s < 160 else 30 for at_s in range(300)]
    summary = open_run(samples_of(30), groups=(counted([3] * 300, arrivals=tuple(made)),))
    found = line(summary, "asked-offered")
    assert found.balance is Balance.DOUBT
    assert found.text.endswith(" or more arrivals were not made from 100 s to 130 s")


@pytest.mark.parametrize(
    ("due", "made", "text"),
    [
        ({"Rate": 1200}, {"Rate": 600}, "The timer Rate asked for 1,200 samples, and 600 were sent"),
        ({"Rate": 1200}, {"Rate": 1100}, "The timer Rate asked for 1,200 samples, and 1,100 were sent"),
        ({"Rate": 1200}, {}, "The timer Rate asked for 1,200 samples, and 0 were sent"),
        # One schedule for two: each has half of the rate of the first.
        ({"A": 600, "B": 60}, {"A": 300, "B": 300}, "The timer B asked for 60 samples, and 300 were sent"),
        ({"Rate": 1200}, {"Rate": 1150}, ""),
        ({"Rate": 60}, {"Rate": 47}, ""),  # by chance
        ({"Rate": 1200}, {"Rate": 1350}, ""),  # users who came late catch up
        ({"A": 600, "B": 60}, {"A": 60, "B": 60}, ""),  # one after the other: the second has what it asks for
    ],
)
def test_the_samples_of_a_throughput_timer_are_compared_with_its_rate(due, made, text):
    counts = {
        name: tuple(LabelCount(*pair) for pair in of.items()) for name, of in (("paced", made), ("paced_due", due))
    }
    paused = replace(users([20] * 300), name="Users", pause_ms=(900_000, *[0] * 299), pause_count=900, **counts)
    load = closed_load(users=20, ramp_s=0.0, duration_s=300.0, loops=None, is_paced=True)
    found = line(a_run(load=load, groups=(paused,)), "asked-offered")
    assert (found.text, found.balance) == (text, Balance.DOUBT if text else Balance.BALANCED)


@pytest.mark.real
def test_arrivals_that_one_of_several_loads_left_out_are_named():
    load = LoadRecord(
        OPEN, None, 30.0, 0.0, 300.0, None, 0.0, loads=(GroupLoad("Users", (Stage(None, 30.0, 0, 300),)),)
    )
    run = record(load=load, once_labels=(), left_out_arrivals=900, users_most=2000)
    tally = Scope(thread_groups=("Users",)).tally()
    for one in samples_of(30):
        tally.add(one)
    loads = [LoadTally.of(load.loads[0], tally, None)]
    found = line(summarise(tally, "x", run, options=SummaryOptions(loads=loads)), "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT, "900 arrivals were not made: 2,000 users were waiting")
    assert found.difference_ratio == pytest.approx(0.1)


# Steps of the plan


STEPS_OF_PLAN = (PlanStep("Pay", False), PlanStep("Ship  it", False), PlanStep("Return", True))


def test_a_step_that_was_never_sent_is_a_doubt_unless_the_plan_may_skip_it():
    summary = a_run(steps=STEPS_OF_PLAN)
    found = line(summary, "asked-offered")
    assert (found.balance, found.text) == (Balance.DOUBT, "Never sent: 1 step of the plan (Ship  it)")
    assert found.right.endswith("; never sent, by the plan's logic: Return")
    assert summary.verdict.state == DOUBTFUL
    both = [*users_of(), sample("Ship it", 100, START_S * 1000, thread_name="Users 1-1", all_threads=20)]
    found = line(a_run(sorted(both, key=Sample.end_ms.fget), steps=STEPS_OF_PLAN), "asked-offered")
    assert found.balance is Balance.BALANCED
    assert found.right.endswith("; never sent, by the plan's logic: Return")


def test_a_step_that_logic_skips_for_a_variable_that_nothing_sets_is_a_doubt():
    steps = (PlanStep("Pay", False), PlanStep("Ship it", True, unset="paid"), PlanStep("Return", True))
    found = line(a_run(steps=steps), "asked-offered")
    assert (found.balance, found.text) == (
        Balance.DOUBT, "Never sent: Ship it; controllers read ${paid}, which nothing sets"
    )  # fmt: skip
    both = [*users_of(), sample("Ship it", 100, START_S * 1000, thread_name="Users 1-1", all_threads=20)]
    assert line(a_run(sorted(both, key=Sample.end_ms.fget), steps=steps), "asked-offered").text == ""


@pytest.mark.parametrize(("count", "is_off"), [(2000, True), (400, True), (100, False), (0, False)])
def test_a_header_that_is_sent_as_data_is_a_doubt_if_it_is_much_of_a_step(count, is_off):
    paused = replace(users([20] * 300), name="Users", pause_ms=(900_000, *[0] * 299), pause_count=900)
    heads = (LabelCount("Pay", count),) if count else ()
    found = line(a_run(groups=(replace(paused, head_sent=heads),)), "asked-offered")
    assert ("header sent as data: Pay" in found.right) is bool(count)
    said = f"The header of a data file was sent as data by {count} samples (Pay)"
    assert (found.balance, found.text) == ((Balance.DOUBT, said) if is_off else (Balance.BALANCED, ""))


@pytest.mark.parametrize(
    ("variable", "label", "is_off"), [("think", "Pay", True), ("", "Pay", False), ("think", "Gone", False)]
)
def test_pauses_of_what_nothing_sets_are_a_doubt_where_they_are_sent(variable, label, is_off):
    found = line(a_run(steps=(PlanStep(label, label == "Gone", unset_pause=variable),)), "asked-offered")
    said = "Pauses of 0 ms read ${think}, which nothing sets (Pay)"
    assert (found.balance, found.text) == ((Balance.DOUBT, said) if is_off else (Balance.BALANCED, ""))


@pytest.mark.parametrize(("label", "is_off"), [("Pay", True), ("Gone", False)])
def test_shares_of_what_nothing_sets_are_a_doubt_where_they_are_sent(label, is_off):
    found = line(a_run(steps=(PlanStep(label, True, unset_share="part"),)), "asked-offered")
    said = "Throughput Controllers read ${part}, which nothing sets (Pay)"
    assert (found.balance, found.text) == ((Balance.DOUBT, said) if is_off else (Balance.BALANCED, ""))


def two_steps(is_sent):
    """Return samples of 20 users, of whom each sends Pay and Ship it in turn, and Ship it only at some seconds."""
    ships = [one._replace(label="Ship it", start_ms=one.start_ms + 100) for one in users_of()]
    both = [*users_of(), *(one for one in ships if is_sent(one.start_ms / 1000 - START_S))]
    return sorted(both, key=Sample.end_ms.fget)


@pytest.mark.real
def test_a_step_that_is_no_longer_sent_while_users_go_on_is_a_doubt():
    summary = a_run(two_steps(lambda second: second < 150), steps=STEPS_OF_PLAN)
    found = line(summary, "asked-offered")
    assert (found.balance, found.text) == (
        Balance.DOUBT, "No longer sent: 1 step of the plan (Ship it, after 150 s)"
    )  # fmt: skip
    assert found.text in summary.verdict.reasons


@pytest.mark.real
@pytest.mark.parametrize(("buy_s", "ended"), [(225, True), (150, True), (100, False)])
def test_a_step_of_one_of_several_loads_that_is_no_longer_sent_is_a_doubt_unless_its_load_may_have_ended(buy_s, ended):
    loads = GroupLoad("Sell", (Stage(20, None, 0, 225),)), GroupLoad("Buy", (Stage(10, None, 0, buy_s),))
    ships = [one._replace(label="Ship it") for one in requests_of(loads[1]) if one.start_ms < (START_S + 100) * 1000]
    samples = [*(one for load in loads for one in requests_of(load)), *ships]
    groups = [replace(users(curve(load)), name=load.group) for load in loads]
    found = line(several(loads, groups, samples, steps=STEPS_OF_PLAN), "asked-offered")
    assert ("No longer sent: 1 step of the plan (Ship it, after 100 s)" in found.text) is ended


@pytest.mark.real
@pytest.mark.parametrize(
    "is_sent",
    [
        # All users send it together, each minute; at the start only; and until seconds before the end.
        lambda second: second % 60 < 1,
        lambda second: second < 50,
        lambda second: second < 287,
    ],
)
def test_a_step_that_is_sent_in_turns_or_at_the_start_has_not_ended(is_sent):
    found = line(a_run(two_steps(is_sent), steps=STEPS_OF_PLAN), "asked-offered")
    assert found.balance is Balance.BALANCED


@pytest.mark.real
@pytest.mark.parametrize("step", [PlanStep("Ship it", True), PlanStep("Ship it", False, may_end=True)])
def test_a_step_that_the_plan_may_skip_or_leave_has_not_ended(step):
    steps = (PlanStep("Pay", False), step)
    found = line(a_run(two_steps(lambda second: second < 150), steps=steps), "asked-offered")
    assert found.balance is Balance.BALANCED


@pytest.mark.real
def test_a_step_that_a_cache_answers_is_named_and_no_doubt():
    steps = (PlanStep("Pay", False), PlanStep("Ship it", False, may_be_cached=True))
    for second, is_named in ((2, True), (50, True), (160, False), (300, False)):
        found = line(a_run(two_steps(lambda at_s, end_s=second: at_s < end_s), steps=steps), "asked-offered")
        assert ("; answered by the Cache Manager: Ship it, from " in found.right) is is_named
        assert found.balance is (Balance.DOUBT if second == 160 else Balance.BALANCED)
    found = line(a_run(two_steps(lambda second: second < 2), steps=STEPS_OF_PLAN), "asked-offered")
    assert "Cache Manager" not in found.right


@pytest.mark.real
@pytest.mark.parametrize(("until_s", "is_named"), [(50, True), (160, False), (300, False)])
def test_a_step_that_logic_sends_only_at_first_is_named_and_no_doubt(until_s, is_named):
    steps = (PlanStep("Pay", False), PlanStep("Ship it", True))
    found = line(a_run(two_steps(lambda second: second < until_s), steps=steps), "asked-offered")
    assert ("; no longer sent, by the plan's logic: Ship it, from " in found.right) is is_named
    assert found.balance is Balance.BALANCED


def test_nothing_is_said_of_steps_where_rows_are_missing_or_the_load_was_ended():
    stopped = a_run(users_of(length_s=150), steps=STEPS_OF_PLAN, stopped_early="errors above 50 %")
    assert line(stopped, "asked-offered").balance is Balance.BALANCED
    half = line(a_run(users_of(length_s=150), steps=STEPS_OF_PLAN), "asked-offered")
    assert (half.balance, "Never" in half.text) == (Balance.INVALID, False)
    assert a_run(users_of(length_s=150), steps=STEPS_OF_PLAN).verdict.state == INVALID


def test_a_line_that_another_explains_says_so_and_is_no_second_doubt():
    # Two of 20 users leave at a quarter, and the system is then five times slower: the rest is no part of the window.
    fair = users_of(left=lambda user, second: user < 2 and second >= 75)
    at_ms = (START_S + 75) * 1000
    samples = [one._replace(elapsed_ms=4 * one.elapsed_ms) if one.start_ms >= at_ms else one for one in fair]
    samples.sort(key=lambda one: one.end_ms)
    run = record(
        load=closed_load(users=20, ramp_s=0.0, duration_s=300.0, think_time_s=0.1), once_labels=(), took_s=303.0
    )
    tally = tally_of(samples)
    window = window_of(tally, parse_window("steady"), run)
    counted_tally = Scope(window_ms=window_span_ms(tally, window)).tally()
    for one in samples:
        counted_tally.add(one)
    summary = summarise(tally, "x", run, options=SummaryOptions(window=window, counted=counted_tally))
    follow = [line(summary, code) for code in ("read-counted", "one-state")]
    assert Balance.DOUBT in {one.balance for one in follow}
    assert all(one.causes == ("asked-offered",) for one in follow if one.balance is Balance.DOUBT)
    assert "2 of 20 users ended at" in summary.verdict.reasons[0]
    assert not {"read-counted", "one-state"} & {one.code for one in summary.warnings}
