"""A text of an answer that JMeter puts into a script needs the plan's permission; the agent restricts JEXL 3."""

import pytest

from harness.plan.checks.reach import functions_with_code
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from harness.plan.jmx.values import Values
from tests.support.off_host import jmx, request


@pytest.mark.parametrize(
    ("call", "is_code"),
    [
        ('${__groovy("${token}" != "a")}', True),
        ('${__jexl2("${token}" != "a")}', True),
        ('${__javaScript("${token}" != "a")}', True),
        ('${__BeanShell("${token}" != "a")}', True),
        ('${__groovy(vars.get("token") != "a")}', False),
        ('${__jexl3("${token}" != "a")}', False),
    ],
)
def test_a_text_that_only_the_run_knows_needs_permission(tmp_path, call, is_code):
    path = tmp_path / "shop.jmx"
    path.write_text(jmx(request(path=f"/{call}")))
    nodes = enabled_nodes(plan_tree(path))
    values = Values.of(nodes, {}, tmp_path)
    assert any(any(functions_with_code(node, values)) for node in nodes) == is_code
