"""Several loads: how they are written in a plan, scaled by a command line, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.division import check_users
from harness.plan.goal import Goal
from harness.plan.load import MIXED
from harness.plan.load.groups import GroupLoad, SeveralLoads, Stage
from harness.plan.load.model import LoadArguments, PlanLoad, load_record, parse_load, resolve_load
from harness.plan.load.scaling import in_whole_seconds, shares
from harness.plan.plan import load_plan
from tests.support.several import BROWSE, BUY, HEAD, group, several_jmx

SEVERAL = """
[[load]]
group = "Browse"
users = 20
ramp_s = 10
duration_s = 300
think_time_s = 1.5

[[load]]
group = "Night batch"
stages = [{users = 10, for = "1m"}, {users = 50, over = "30s", for = "2m"}, {users = 10, over = 10}]

[[load]]
group = "Buy"
rate_per_s = 5
"""


def loads_of(plans: Path, text: str = SEVERAL, **arguments: str) -> dict[str, GroupLoad]:
    """Return the loads of a plan by thread group, scaled by the arguments."""
    (plans / "tiny.toml").write_text(HEAD + text)
    found = resolve_load(parse_load(LoadArguments(**arguments)), load_plan(plans, "tiny").load)
    assert isinstance(found, SeveralLoads)
    return {load.group: load for load in found.loads}


def test_a_load_has_users_stages_or_a_rate_and_lasts_as_long_as_the_longest(plans: Path) -> None:
    loads = loads_of(plans)
    assert loads["Browse"] == GroupLoad("Browse", (Stage(20, None, 10, 290),), 1.5)
    assert loads["Night batch"].stages == (Stage(10, None, 0, 60), Stage(50, None, 30, 120), Stage(10, None, 10, 0))
    assert loads["Buy"].stages == (Stage(None, 5.0, 0, 300),)


SHAPED = SEVERAL.replace(
    'stages = [{users = 10, for = "1m"}, {users = 50, over = "30s", for = "2m"}, {users = 10, over = 10}]',
    'users = 50\nstages = [{requests_per_s = 4, for = "1m"}, {requests_per_s = 40, over = "30s", for = "2m"}]',
)


def test_stages_of_requests_scale_with_their_users_and_end_by_time(plans: Path) -> None:
    load = loads_of(plans, SHAPED)["Night batch"]
    assert load.stages == (Stage(50, None, 0, 60, 4.0), Stage(50, None, 30, 120, 40.0))
    assert (load.users, load.is_paced, load.is_open, load.is_staged) == (50, True, False, True)
    assert load.text() == "4 requests/s for 60 s, 40 requests/s over 30 s for 120 s; by 50 users, 210 s in all"
    half = loads_of(plans, SHAPED, users="35", duration="75")["Night batch"]
    assert half.stages == (Stage(25, None, 0, 15, 2.0), Stage(25, None, 8, 30, 20.0))
    few = loads_of(plans, SHAPED, users="7")["Night batch"]
    assert [stage.requests_per_s for stage in few.stages] == [1.0, 4.0]  # the timer's least, and a tenth
    only = SHAPED.partition('[[load]]\ngroup = "Buy"')[0] + '[[load]]\ngroup = "Buy"\nusers = 0\n'
    for arguments, message in (
        ({"requests": "9"}, "--requests=9: JMeter cannot end the load Night batch gracefully"),
        ({"loops": "3"}, "--loops=3: the load Night batch has stages"),
    ):
        with pytest.raises(UsageError, match=message):
            loads_of(plans, only, **arguments)


def test_the_record_sums_the_loads_up(plans: Path) -> None:
    loads = SeveralLoads(tuple(loads_of(plans).values()))
    record = load_record(loads, PlanLoad(70, 0.0, 300.0, 0.0))
    assert (record.model, record.users, record.rate_per_s, record.duration_s) == (MIXED, 70, 5.0, 300.0)
    assert record.loads == loads.loads
    assert record.think_time_s == 0.429  # of 20 users 1.5 s, of 50 none


def test_users_scale_all_loads_in_proportion_and_stages_with_their_greatest(plans: Path) -> None:
    loads = loads_of(plans, users="35")
    assert loads["Browse"].users == 10
    assert [stage.users for stage in loads["Night batch"].stages] == [5, 25, 5]
    assert loads["Buy"].rate_per_s == 5


def test_a_rate_scales_open_loads_and_a_duration_all_times(plans: Path) -> None:
    loads = loads_of(plans, rate="2", duration="30")
    assert loads["Buy"].stages == (Stage(None, 2.0, 0, 30),)
    assert loads["Browse"].stages == (Stage(20, None, 1, 29),)
    # Of 220 s in 300 s 22 remain: 0-6, 6-9-21, 21-22.
    assert [(stage.over_s, stage.for_s) for stage in loads["Night batch"].stages] == [(0, 6), (3, 12), (1, 0)]


def test_a_ramp_is_that_of_loads_without_stages(plans: Path) -> None:
    loads = loads_of(plans, ramp="60")
    assert (loads["Browse"].ramp_s, loads["Browse"].duration_s) == (60, 300)
    assert loads["Night batch"].stages[1].over_s == 30
    with pytest.raises(UsageError, match="--ramp=300 is not shorter than the load Browse"):
        loads_of(plans, ramp="300")


def test_the_stages_of_a_closed_load_begin_at_whole_seconds(plans: Path) -> None:
    loads = loads_of(plans, duration="37")
    ends = [load.duration_s for load in loads.values()]
    assert all(float(end).is_integer() for end in ends[:2])
    assert ends == [37, 27, 37]  # 220 of 300 s are 27.1 of 37


@pytest.mark.parametrize(
    ("weights", "total", "parts"),
    [
        ((20, 10, 1), 100, (65, 32, 3)),  # 64.5, 32.3, 3.2: the greatest remainder gets the last one
        ((50, 1, 1), 3, (1, 1, 1)),
        ((50, 1, 1), 10, (8, 1, 1)),  # 0.2 of a user is one
        ((5, 0, 1), 4, (3, 0, 1)),
        ((1, 1, 1), 4, (2, 1, 1)),
    ],
)
def test_users_are_divided_by_the_largest_remainder(
    weights: tuple[int, ...], total: int, parts: tuple[int, ...]
) -> None:
    assert shares(weights, total) == parts


@given(st.lists(st.integers(0, 500), min_size=1, max_size=6).filter(any), st.integers(0, 10_000))
def test_no_user_is_lost_and_no_load_is_without_one(weights: list[int], more: int) -> None:
    total = sum(weight > 0 for weight in weights) + more
    parts = shares(weights, total)
    assert sum(parts) == total
    assert [part > 0 for part in parts] == [weight > 0 for weight in weights]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"users": "1"}, "--users=1 is less than the 2 loads with users, so one would have none; give more users"),
        (
            {"loops": "3"},
            "--loops=3: the load Night batch has stages, which end by time; give --duration, or leave --loops out",
        ),
        ({"requests": "9"}, "--requests=9: JMeter cannot end the open load Buy gracefully; give a time, such as"),
        ({"duration": "auto"}, "--duration=auto: JMeter cannot end the open load Buy gracefully; give a time, such as"),
        ({"duration": "auto", "loops": "3"}, "--loops=3 and --duration=auto cannot be used together; give one"),
        ({"most": "5m"}, "--max=300: needs --duration=auto"),
    ],
)
def test_what_several_loads_cannot_do_is_refused(plans: Path, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        loads_of(plans, **arguments)
    assert str(error.value).startswith(message)


OPEN = '[[load]]\ngroup = "Buy"\nrate_per_s = 1\n[[load]]\ngroup = "Browse"\nusers = 1\nduration_s = 9\n'
STAGED = '[[load]]\ngroup = "Browse"\nstages = [{users = 1, for = 9}, {users = 2, for = 9}]\n'
LEFT_OUT = '[[load]]\ngroup = "%s"\nusers = 0\n'


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (
            OPEN + LEFT_OUT % "Night batch",
            {"loops": "2"},
            "--loops=2: users of the open load Buy arrive until its time is over; give --duration",
        ),
        (
            STAGED + LEFT_OUT % "Buy" + LEFT_OUT % "Night batch",
            {"duration": "auto"},
            "--duration=auto: the load Browse has stages, so the run has no steady state; give a time",
        ),
    ],
)
def test_loads_that_only_time_ends_are_named(plans: Path, text: str, arguments: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        loads_of(plans, text, **arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


TWO = """
[[load]]
group = "Browse"
users = 20
ramp_s = 10
duration_s = 300

[[load]]
group = "Night batch"
users = 5
ramp_s = 200
duration_s = 250

[[load]]
group = "Buy"
rate_per_s = 0
"""


def several_of(plans: Path, **arguments: str) -> SeveralLoads:
    """Return two closed loads without stages, scaled by the arguments; a third one does not run."""
    (plans / "tiny.toml").write_text(HEAD + TWO)
    found = resolve_load(parse_load(LoadArguments(**arguments)), load_plan(plans, "tiny").load)
    assert isinstance(found, SeveralLoads)
    return found


def test_loops_end_each_load_instead_of_its_time(plans: Path) -> None:
    found = several_of(plans, loops="3", users="10", ramp="400")
    assert found.driven == (
        GroupLoad("Browse", (Stage(8, None, 400, 0),), loops=3),
        GroupLoad("Night batch", (Stage(2, None, 400, 0),), loops=3),
    )
    record = load_record(found, PlanLoad(25, 0.0, 300.0, 0.0))
    assert (record.model, record.users, record.duration_s, record.loops, record.ramp_s) == ("closed", 10, None, 3, 400)
    assert found.driven[0].text() == "8 users, ramp 400 s, 3 loops each"


def test_auto_gives_all_loads_the_same_length_and_cuts_ramps_to_a_quarter_of_it(plans: Path) -> None:
    found = several_of(plans, duration="auto", most="200")
    assert [load.stages for load in found.driven] == [(Stage(20, None, 10, 190),), (Stage(5, None, 50, 150),)]
    record = load_record(found, PlanLoad(25, 0.0, 300.0, 0.0))
    assert (record.is_auto, record.duration_s) == (True, 200)
    assert several_of(plans, duration="auto").duration_s == 600
    with pytest.raises(UsageError, match="--max=20: too short for --duration=auto"):
        several_of(plans, duration="auto", most="20")


def test_a_number_of_requests_ends_closed_loads(plans: Path) -> None:
    found = several_of(plans, requests="5000")
    assert (found.requests, found.duration_s, found.is_auto) == (5000, 300, False)
    assert load_record(found, PlanLoad(25, 0.0, 300.0, 0.0)).requests == 5000


def test_a_closed_load_lasts_a_second_however_short_the_run_is() -> None:
    loads = (GroupLoad("a", (Stage(1, None, 0, 0.3),)), GroupLoad("b", (Stage(1, None, 2, 28),)))
    assert [load.duration_s for load in in_whole_seconds(loads)] == [1, 30]


def test_all_loads_are_full_only_while_each_has_its_greatest_users() -> None:
    spike = GroupLoad("a", (Stage(2, None, 0, 20), Stage(9, None, 5, 10), Stage(9, None, 0, 5), Stage(2, None, 0, 20)))
    plain = GroupLoad("b", (Stage(3, None, 28, 32),))
    loads = SeveralLoads((spike, plain))
    full = [second for second in range(60) if loads.is_full(second, second + 1)]
    assert full == list(range(28, 40))  # the spike is at 9 users from 25 to 40 s
    assert not loads.is_full(39.5, 40.5)


def test_a_think_time_per_transaction_is_that_of_its_load(plans: Path) -> None:
    text = TWO.replace("users = 5", 'users = 5\nthink_time_s = 6\nthink_time_per = "transaction"')
    loads = loads_of(plans, text)
    assert [load.think_time_per for load in loads.values()] == [None, "transaction", None]
    assert loads["Night batch"].text().endswith("think time 6 s per transaction")
    with pytest.raises(UsageError, match=r'\[\[load\]\] Night batch: think_time_per = "page"; give "request" or'):
        loads_of(plans, text.replace('"transaction"', '"page"'))


def test_each_load_needs_a_user_for_every_load_generator(plans: Path) -> None:
    loads = SeveralLoads(tuple(loads_of(plans).values()))
    check_users(loads, 2)
    check_users(loads, 0)
    few = SeveralLoads((GroupLoad("Browse", (Stage(1, None, 0, 9),)), GroupLoad("Idle", (Stage(0, None, 0, 9),))))
    with pytest.raises(UsageError, match="the load Browse has 1 of the users, less than the 2 generators"):
        check_users(few, 2)


def two(first: str, second: str = 'group = "Buy"\nusers = 1\nduration_s = 9', third: str = "users = 1") -> str:
    return f'[[load]]\n{first}\n[[load]]\n{second}\n[[load]]\ngroup = "Night batch"\n{third}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (two('group = "Brwse"\nusers = 1'), "plans/tiny.toml [[load]] Brwse: plans/tiny.jmx has no enabled thread "
         "group of this name; did you mean Browse? there are: Browse, Night batch, Buy"),
        (two("users = 1"), "plans/tiny.toml [[load]]: group is missing"),
        (two('group = "Buy"\nusers = 1'), "plans/tiny.toml [[load]] Buy: 2 loads drive this thread group"),
        (two('group = "Browse"\nusers = 0', 'group = "Buy"\nrate_per_s = 0\nduration_s = 9', "users = 0"),
         "plans/tiny.toml [[load]]: the loads have 0 users in all; give one of them users or a rate"),
        (two('group = "Browse"\nusers = 1\nrate_per_s = 1'), "plans/tiny.toml [[load]] Browse: needs one of users, "),
        (two('group = "Browse"'), "plans/tiny.toml [[load]] Browse: needs one of users, rate_per_s, stages"),
        (two('group = "Browse"\nusers = 1\nusers_return = true'),
         "plans/tiny.toml [[load]] Browse: users_return needs rate_per_s; leave it out: the users of a closed load"),
        (two('group = "Browse"\nstages = [{users = 1, for = 9}]\nusers_return = true'),
         "plans/tiny.toml [[load]] Browse: users_return needs rate_per_s"),
        (two('group = "Browse"\nusers = 1', 'group = "Buy"\nusers = 1'), "plans/tiny.toml [[load]]: no load has a "),
        (two('group = "Browse"\nusers = 1\nramp_s = 9'), "plans/tiny.toml [[load]] Browse: ramp_s = 9 is not shorter "),
        (two('group = "Browse"\nuser = 1'), "plans/tiny.toml [[load]] Browse: unknown key user; did you mean users?"),
        (two('group = "Browse"\nstages = []'), "plans/tiny.toml [[load]] Browse: stages is empty; write stages = ["),
        (two('group = "Browse"\nstages = [{users = 1}]'), "plans/tiny.toml [[load]] Browse stage 1: takes no time"),
        (two('group = "Browse"\nstages = [{for = 1}]'), "plans/tiny.toml [[load]] Browse stage 1: needs one of us"),
        (two('group = "Browse"\nstages = [{users = 1, for = "x"}]'),
         "plans/tiny.toml [[load]] Browse stage 1: for=x: not a duration"),
        (two('group = "Browse"\nstages = [{users = 1, for = 9}, {rate_per_s = 1, for = 9}]'),
         "plans/tiny.toml [[load]] Browse: some stages have users, some a rate"),
        (two('group = "Browse"\nduration_s = 9\nstages = [{users = 1, for = 9}]'),
         "plans/tiny.toml [[load]] Browse: has stages and duration_s"),
        (two('group = "Browse"\nstages = [{requests_per_s = 5, for = 9}]'),
         "plans/tiny.toml [[load]] Browse: stages of requests_per_s need users, who send them; write users = 50 and"),
        (two('group = "Browse"\nusers = 9\nthink_time_s = 1\nstages = [{requests_per_s = 5, for = 9}]'),
         "plans/tiny.toml [[load]] Browse: has stages of requests_per_s and think_time_s; leave it out, a timer sets"),
        (two('group = "Browse"\nusers = 9\nstages = [{requests_per_s = 5, for = 9}, {users = 1, for = 9}]'),
         "plans/tiny.toml [[load]] Browse: some stages have users, some a rate; give all of them the sam"),
        (two('group = "Browse"\nusers = 9\nstages = [{requests_per_s = 0.5, for = 9}]'),
         "plans/tiny.toml [[load]] Browse stage 1: requests_per_s = 0.5"),
        ('[[load]]\ngroup = "Browse"\nusers = 1\nduration_s = 9\n',
         "plans/tiny.toml [[load]]: Night batch, Buy: no load drives this thread group of plans/tiny.jmx; add"),
    ],
)  # fmt: skip
def test_a_load_that_makes_no_sense_is_refused_with_one_line(plans: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        loads_of(plans, text)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_thread_group_whose_samples_could_not_be_distinguished_is_refused(plans: Path) -> None:
    (plans / "tiny.jmx").write_text(several_jmx(BROWSE, BROWSE))
    with pytest.raises(UsageError, match="2 thread groups of plans/tiny"):
        loads_of(plans, '[[load]]\ngroup = "Browse"\nusers = 1\nduration_s = 9\n')
    (plans / "tiny.jmx").write_text(several_jmx(group("After setUp", "")))
    with pytest.raises(UsageError, match="JMeter counts threads with setUp in their name as those of setUp"):
        loads_of(plans, '[[load]]\ngroup = "After setUp"\nusers = 1\nduration_s = 9\n')


def test_a_load_has_goals_of_its_own(plans: Path) -> None:
    browse = 'group = "Browse"\nusers = 1\ngoal = {p95_ms = 800, error_ratio = 0.01}'
    text = two(browse, third='users = 1\ngoal = "p90<2s"')
    (plans / "tiny.toml").write_text(HEAD + text)
    goals = load_plan(plans, "tiny").load_goals
    assert goals == {"Browse": Goal(p95_ms=800, error_ratio=0.01), "Night batch": Goal(p90_ms=2000)}
    (plans / "tiny.toml").write_text(HEAD + text.replace("p95_ms", "p95"))
    with pytest.raises(UsageError, match=r"Browse goal \[goal\]: unknown key p95; did you mean p95_ms"):
        load_plan(plans, "tiny")


def test_a_disabled_thread_group_needs_no_load(plans: Path) -> None:
    off = BROWSE.replace("<ThreadGroup ", '<ThreadGroup enabled="false" ')
    (plans / "tiny.jmx").write_text(several_jmx(off, BUY, group("setUp", "", "SetupThreadGroup")))
    assert set(loads_of(plans, '[[load]]\ngroup = "Buy"\nusers = 1\nduration_s = 9\n')) == {"Buy"}


def test_a_profile_cannot_change_several_loads(plans: Path) -> None:
    (plans / "tiny.toml").write_text(HEAD + SEVERAL)
    with pytest.raises(UsageError, match="the profile changes users of a plan with several loads; give --users"):
        load_plan(plans, "tiny", {"users": 3})
