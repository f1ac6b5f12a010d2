"""Several loads on several load generators: each has its part, and all parts together are the loads of the plan."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.division import parts
from harness.plan.jmx.thread_groups import with_loads
from harness.plan.load.groups import GroupLoad, Stage
from harness.run.remote.load import SharedPlan, shared_plan
from tests.support.several import BROWSE, BUY, SPIKE, several_jmx

LOADS = (
    GroupLoad("Browse", (Stage(5, None, 2.0, 8.0),), 0.5),
    GroupLoad("Night batch", (Stage(2, None, 0, 3), Stage(7, None, 2, 3), Stage(0, None, 0, 1), Stage(2, None, 0, 1))),
    GroupLoad("Buy", (Stage(None, 9.0, 0, 10.0),)),
)
READ = re.compile(r"\$\{__P\((part_\d+),[^)]*\)\}")


@pytest.fixture
def jmx(tmp_path: Path) -> Path:
    path = tmp_path / "shop.jmx"
    path.write_text(several_jmx(BROWSE, SPIKE, BUY))
    return path


def of_generator(plan: SharedPlan, number: int) -> str:
    """Return the plan as a generator reads it."""
    return READ.sub(lambda match: plan.properties[number][match[1]], plan.jmx.decode())


def test_each_generator_reads_its_part_of_every_load(jmx: Path) -> None:
    plan = shared_plan(jmx, LOADS, 2)
    texts = [of_generator(plan, number) for number in range(2)]
    assert [re.findall(r'num_threads">(\d+)<', text) for text in texts] == [["3"], ["2"]]
    assert plan.jmx.count(b"rate(4.5/sec)") == 1  # both the same: no property
    # 7 users are 4 + 3, and 2 are 1 + 1: the rows are those of a plan with these stages alone.
    assert texts[0] == with_loads(jmx, parts(LOADS, 2)[0]).decode()
    assert texts[1] == with_loads(jmx, parts(LOADS, 2)[1]).decode()


def test_a_generator_with_fewer_rows_has_rows_without_users_at_the_end(jmx: Path) -> None:
    loads = (LOADS[0], GroupLoad("Night batch", (Stage(2, None, 0, 3), Stage(3, None, 0, 3))), LOADS[2])
    plan = shared_plan(jmx, loads, 2)
    users = [
        re.findall(r'"row \d+">\s*<stringProp name="users">(\d+)', of_generator(plan, number)) for number in (0, 1)
    ]
    assert users == [["1", "1"], ["1", "0"]]


def test_requests_are_divided_as_their_users(jmx: Path) -> None:
    load = GroupLoad("Browse", (Stage(5, None, 0, 3, 10.0), Stage(5, None, 2, 3, 50.0)), is_paced=True)
    found = parts([load], 2)
    assert [part[0].stages[1] for part in found] == [Stage(3, None, 2, 3, 30.0), Stage(2, None, 2, 3, 20.0)]
    with pytest.raises(UsageError, match=r"the load Browse has a stage of 0\.4 requests/s for each of 2 gen"):
        parts([replace(load, stages=(Stage(5, None, 0, 3, 1.0),))], 2)
    plan = shared_plan(jmx, (load, *LOADS[1:]), 2)
    assert [of_generator(plan, number).count('"to_per_s">30<') for number in range(2)] == [3, 0]


def test_a_load_with_fewer_users_than_generators_is_refused(jmx: Path) -> None:
    with pytest.raises(UsageError, match="the load Browse has 5 of the users, less than the 6 generators; give"):
        shared_plan(jmx, LOADS, 6)


def test_a_load_without_users_stays_out(jmx: Path) -> None:
    loads = (GroupLoad("Browse", (Stage(0, None, 0, 5),)), *LOADS[1:])
    assert '<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Browse" enabled="false">' in (
        shared_plan(jmx, loads, 2).jmx.decode()
    )


@given(
    st.lists(st.integers(min_value=0, max_value=50), min_size=1, max_size=5).filter(lambda users: max(users) >= 4),
    st.integers(min_value=1, max_value=4),
)
def test_all_parts_together_are_the_load_in_every_stage(users: list[int], count: int) -> None:
    load = GroupLoad("Browse", tuple(Stage(number, None, 1.0, 1.0) for number in users))
    found = [part[0].stages for part in parts([load], count)]
    assert [sum(stages[index].users or 0 for stages in found) for index in range(len(users))] == users
    for index in range(len(users)):
        each = [stages[index].users or 0 for stages in found]
        assert max(each) - min(each) <= 1
