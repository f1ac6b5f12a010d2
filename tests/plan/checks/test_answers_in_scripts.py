"""A text of an answer that JMeter puts into a script needs the plan's permission; the agent restricts JEXL 3."""

from xml.sax.saxutils import escape

import pytest

from harness.plan.checks.reach import functions_with_code
from harness.plan.jmx.tree import enabled_nodes, plan_tree
from harness.plan.jmx.values import Values
from tests.support.off_host import element, jmx, request, text


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


def user_parameters(*texts):
    def strings(name, values):
        texts = "".join(text("value", escape(value)) for value in values)
        return f'<collectionProp name="{name}">{texts}</collectionProp>'

    users = "".join(strings("user", [value]) for value in texts)
    return element(
        "UserParameters", "Users",
        strings("UserParameters.names", ["role"]),
        f'<collectionProp name="UserParameters.thread_values">{users}</collectionProp>',
    )  # fmt: skip


TOKEN = element("RegexExtractor", "Token", text("RegexExtractor.refname", "token"))
ROLE_AS_COUNTER = element("CounterConfig", "Count", text("CounterConfig.name", "role"))
ROLE_OF_A_PROPERTY = "${__P(role,reader)}"


@pytest.mark.parametrize(
    ("elements", "is_code"),
    [
        (user_parameters("reader", "editor"), False),
        (user_parameters("reader", ROLE_OF_A_PROPERTY), False),
        (user_parameters("reader", "${token}") + TOKEN, True),
        (user_parameters("reader") + TOKEN.replace(">token<", ">role<"), True),
        (user_parameters("reader", "${__FileToString(role.txt)}"), True),
        (user_parameters("reader", "${__V(token)}"), True),
        (user_parameters("reader", '" + "id".execute() + "'), True),
        (user_parameters("reader", "${never_set}"), True),
        (ROLE_AS_COUNTER, False),
        (TOKEN, True),
    ],
)
@pytest.mark.parametrize("call", ['${__groovy("${role}" == "editor")}', '${__javaScript("${role}" == "editor")}'])
def test_texts_of_user_parameters_need_permission_only_where_they_may_be_code(tmp_path, elements, is_code, call):
    path = tmp_path / "shop.jmx"
    path.write_text(jmx(elements + request(path=f"/{call}")))
    nodes = enabled_nodes(plan_tree(path))
    values = Values.of(nodes, {}, tmp_path)
    assert any(any(functions_with_code(node, values)) for node in nodes) == is_code


@pytest.mark.parametrize(("value", "is_code"), [("reader", False), ("${token}", True), ("${__groovy(1)}", True)])
def test_a_text_of_user_parameters_is_evaluated_again_only_where_the_plan_says_all_of_it(tmp_path, value, is_code):
    path = tmp_path / "shop.jmx"
    path.write_text(jmx(user_parameters(value) + request(path="/${__eval(${role})}")))
    nodes = enabled_nodes(plan_tree(path))
    values = Values.of(nodes, {}, tmp_path)
    assert any(name == "__eval" for node in nodes for name in functions_with_code(node, values)) == is_code
