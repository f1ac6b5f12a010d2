"""An Arrivals Thread Group ends, and makes all its arrivals, although it notifies users before they wait."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.agent_runs import Agent, controlled, does, tree
from tests.support.off_host import collection, text

_GROUP = "com.blazemeter.jmeter.threads.arrivals.FreeFormArrivalsThreadGroup"
_CONTROLLER = (
    '<elementProp name="ThreadGroup.main_controller" '
    'elementType="com.blazemeter.jmeter.control.VirtualUserController"/>'
)
RATE, LENGTH_S = 1500, 4


@pytest.mark.counterpart
@pytest.mark.real
def test_each_arrival_is_made_and_the_group_ends(tmp_path: Path) -> None:
    rows = f'<collectionProp name="Schedule">{collection("row", str(RATE), str(RATE), str(LENGTH_S))}</collectionProp>'
    group = controlled(_GROUP, "Shop", _CONTROLLER, does(""), rows, text("Unit", "S"))
    agent = Agent(tmp_path / "run", tree(group)).ended()
    assert "... end of run" in (tmp_path / "run" / "jmeter.out").read_text()
    (counts,) = agent.noted.groups
    assert counts.arrivals is not None
    assert len(agent.rows) == sum(counts.arrivals) == pytest.approx(RATE * LENGTH_S, rel=0.1)
    assert len({row.split(",")[5] for row in agent.rows}) < len(agent.rows) / 2  # users come back
