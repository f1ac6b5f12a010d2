"""The plans with the load of a day: they are the traffic of a plan beside them, in stages."""

import pytest

from harness.plan.checks.lint import lint
from harness.plan.load.model import LoadArguments, SeveralLoads, parse_load, resolve_load
from harness.plan.plan import Plan, load_plan
from harness.run.preflight import check_request
from tests.support.paths import ROOT
from tests.support.requests import request_of

# Each plan with the one whose traffic it has, and its most requests per second.
DAYS = {
    "killbill-day": ("killbill-stripe", 12),
    "lb-day": ("lb-mixed", 200),
    "thruzero-day": ("thruzero", 12),
    "folio-day": ("folio-checkin", 8),
    "llm-day": ("llm-stream", 4),
}


def traffic(plan: Plan) -> tuple[object, ...]:
    """Return what two plans with the same traffic have in common."""
    return (
        plan.jmx_path, plan.system, plan.secrets, plan.properties, plan.embedded_settings, plan.embedded_properties,
        plan.goal, plan.once_labels,
    )  # fmt: skip


@pytest.mark.real
def test_every_system_has_a_plan_with_a_day() -> None:
    plans = {path.stem: load_plan(ROOT / "plans", path.stem) for path in (ROOT / "plans").glob("*.toml")}
    assert {plan.system for plan in plans.values() if plan.system} == {plans[name].system for name in DAYS}


@pytest.mark.parametrize("name", DAYS)
def test_a_day_is_the_traffic_of_another_plan_in_stages(name: str) -> None:
    base, most = DAYS[name]
    request = request_of(ROOT, ROOT / "build", name, "local")
    assert traffic(request.plan) == traffic(load_plan(ROOT / "plans", base))
    load = resolve_load(parse_load(LoadArguments()), request.plan.load)
    assert isinstance(load, SeveralLoads)
    day = load.loads[0]
    assert day.is_shaped
    levels = [stage.requests_per_s or 0 for stage in day.stages]
    assert (max(levels), levels[0]) == (most, levels[-1])
    assert {one.duration_s for one in load.loads} == {day.duration_s}
    assert 300 <= day.duration_s <= 330
    assert levels[1] > levels[3] > levels[2] > levels[0]  # noon, evening, afternoon, night
    check_request(request, load)
    assert lint(request.plan.jmx_path, has_loads=True) == ()
