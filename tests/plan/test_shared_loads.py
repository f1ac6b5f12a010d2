"""Several loads in parts: each has its share, and all parts together are the loads of the plan."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.plan.division import parts
from harness.plan.load.groups import GroupLoad, Stage

LOADS = (
    GroupLoad("Browse", (Stage(5, None, 2.0, 8.0),), 0.5),
    GroupLoad("Night batch", (Stage(2, None, 0, 3), Stage(7, None, 2, 3), Stage(0, None, 0, 1), Stage(2, None, 0, 1))),
    GroupLoad("Buy", (Stage(None, 9.0, 0, 10.0),)),
)


def test_requests_are_divided_as_their_users() -> None:
    load = GroupLoad("Browse", (Stage(5, None, 0, 3, 10.0), Stage(5, None, 2, 3, 50.0)), is_paced=True)
    found = parts([load], 2)
    assert [part[0].stages[1] for part in found] == [Stage(3, None, 2, 3, 30.0), Stage(2, None, 2, 3, 20.0)]
    with pytest.raises(UsageError, match=r"the load Browse has a stage of 0\.4 requests/s for each of 2 gen"):
        parts([replace(load, stages=(Stage(5, None, 0, 3, 1.0),))], 2)


def test_a_load_with_fewer_users_than_parts_is_refused() -> None:
    with pytest.raises(UsageError, match="the load Browse has 5 of the users, less than the 6 generators; give"):
        parts(LOADS, 6)


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
