"""A JMX as people write them, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.plan.adopt.adopt import Adoption, adopt
from harness.plan.jmx.tree import Node, plan_tree

OWN = Path(__file__).parent / "a_users_own.jmx"


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plans")


@pytest.fixture(scope="module")
def adoption(plans: Path) -> Adoption:
    return adopt(OWN, "shop", plans)


@pytest.fixture(scope="module")
def fixed(adoption: Adoption, plans: Path) -> dict[str, Node]:
    """The elements of the fixed plan by their paths."""
    (plans / "shop.jmx").write_bytes(adoption.draft.text())
    for file in adoption.data:
        (plans / file.name).parent.mkdir(parents=True, exist_ok=True)
        (plans / file.name).write_text(file.text)
    return {node.path.removeprefix("Shop > "): node for node in plan_tree(plans / "shop.jmx").walk()}
