"""Loads of a thread group per tenant."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.goal import Goal
from harness.plan.plan import load_plan
from tests.plan.load.test_tables import loads_of

TENANTS = """
[[load]]
group = "Browse"
tenant = "college"
users = 4
duration_s = 60
[[load]]
group = "Browse"
tenant = "school"
users = 2
goal = "p95<2s"
properties = { page = 7 }
[[load]]
group = "Night batch"
users = 0
[[load]]
group = "Buy"
users = 0
"""


def test_a_thread_group_may_have_a_load_per_tenant_each_with_a_goal_of_its_own(plans: Path) -> None:
    loads = loads_of(plans, TENANTS, users="9")
    one, other = loads["Browse (college)"], loads["Browse (school)"]
    assert (one.users, other.users) == (6, 3)
    assert (one.tenant, one.thread_group, other.properties) == ("college", "Browse", {"page": "7"})
    assert load_plan(plans, "tiny").load_goals == {"Browse (school)": Goal(p95_ms=2000)}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'tenant = "school"',
            'tenant = "college"',
            "2 loads drive this thread group; give it one load, or each load its own tenant",
        ),
        ('tenant = "school"', "", "2 loads drive this thread group"),
        ('tenant = "school"', 'tenant = "a/b"', "not a tenant"),
        ("{ page = 7 }", "{ page = [7] }", "page = .7."),
        ("{ page = 7 }", '{ password = "x" }', "password is a secret"),
        ("{ page = 7 }", "{ page = '${__groovy(1)}' }", "page is an expression"),
    ],
)
def test_a_wrong_tenant_is_refused(plans: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        loads_of(plans, TENANTS.replace(old, new))
