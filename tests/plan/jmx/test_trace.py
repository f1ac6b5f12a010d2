"""The traceparent header that a traced run adds to a plan, and the plans that cannot carry one."""

from xml.etree import ElementTree

import pytest

from harness.base.errors import UsageError
from harness.plan.jmx.trace import check_traceable, trace_columns, with_traceparent
from harness.plan.jmx.tree import tree_of
from tests.support.off_host import element, jmx, request
from tests.support.tiny import TINY_JMX


def written(folder, text):
    path = folder / "shop.jmx"
    path.write_text(text)
    return path


def test_the_header_is_an_element_of_the_test_plan_so_requests_in_all_controllers_have_it():
    plan = with_traceparent(jmx(element("GenericController", "Visit", below=request())).encode())
    tree = tree_of(ElementTree.fromstring(plan), {})
    manager = tree.children[0]
    assert manager.kind == "HeaderManager"
    assert manager.value("Header.name") == "traceparent"
    half = "${__RandomString(16,0123456789abcdef,trace_parent_id)}"
    whole = f"${{__changeCase({half}${{__RandomString(16,0123456789abcdef,)}},LOWER,trace_id)}}"
    assert manager.value("Header.value") == f"00-{whole}-${{trace_parent_id}}-01"
    assert [node.path for node in tree.walk() if node.kind == "HTTPSamplerProxy"] == ["Off host > Users > Visit > Buy"]


def test_everything_else_of_the_plan_stays():
    text = jmx(request(path="/a?b=1&c=ä"))
    before = tree_of(ElementTree.fromstring(text), {})
    after = tree_of(ElementTree.fromstring(with_traceparent(text.encode())), {})
    assert [ElementTree.tostring(node.element).strip() for node in after.walk_all()][1:] == [
        ElementTree.tostring(node.element).strip() for node in before.walk_all()
    ]


def test_a_plan_without_an_http_request_is_refused(tmp_path):
    with pytest.raises(UsageError) as error:
        check_traceable(written(tmp_path, TINY_JMX))
    assert "shop.jmx has no HTTP request" in str(error.value)


@pytest.mark.parametrize(
    "inside",
    [request(), element("TransactionController", "Visit", below=request()), element("IncludeController", "Other")],
)
def test_a_plan_with_an_http_request_anywhere_is_accepted(tmp_path, inside):
    check_traceable(written(tmp_path, jmx(inside)))


def test_a_disabled_request_does_not_count(tmp_path):
    disabled = request().replace("<HTTPSamplerProxy ", '<HTTPSamplerProxy enabled="false" ', 1)
    with pytest.raises(UsageError):
        check_traceable(written(tmp_path, jmx(disabled)))


def test_the_column_of_trace_ids_is_added_to_those_of_the_user():
    assert trace_columns({"users": "2"}) == {"sample_variables": "trace_id"}
    assert trace_columns({"sample_variables": "order"}) == {"sample_variables": "order,trace_id"}
