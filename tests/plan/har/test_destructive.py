"""Which requests of a recording a replay repeats only after a question, and how many it sends."""

import json

import pytest

from harness.plan.har.destructive import counts_of, destructive_of
from tests.support.har import entry, steps

JSON = "application/json"


def is_destructive(folder, one) -> bool:
    found = steps(folder, one).steps
    return bool(destructive_of(found, ["it"] * len(found)))


def graphql(query: str, **more):
    return entry("/graphql", method="POST", body=json.dumps({"query": query, **more}), body_type=JSON)


@pytest.mark.parametrize("one", [
    entry("/items/7", method="DELETE"), entry("/items/7", method="PUT", body="{}"), entry("/items/7", method="PATCH"),
    entry("/items/7/delete", method="POST", body="x=1"), entry("/items/delete?id=7"), entry("/removeItem",
    method="POST"),
    entry("/items/7", method="POST", body="_method=DELETE"), entry("/items", method="POST", body="action=remove&id=7"),
    entry("/items/7", method="POST", headers={"X-HTTP-Method-Override": "PATCH"}, body="delete=1&action=drop"),
    entry("/checkout", method="POST", body="x=1"), entry("/api/payments", method="POST", body="{}", body_type=JSON),
    entry("/rpc", method="POST", body='{"jsonrpc": "2.0", "method": "items.delete"}', body_type=JSON),
    graphql("mutation { deleteItem(id: 7) { id } }"), graphql("mutation U($i: In!) { a: updateItem(i: $i) { id } }"),
    entry("/graphql", method="POST", body="mutation { removeItem }", body_type="application/graphql"),
])  # fmt: skip
def test_what_removes_replaces_or_pays_is_destructive(tmp_path, one):
    assert is_destructive(tmp_path, one)


@pytest.mark.parametrize("one", [
    entry("/items"), entry("/login", method="POST", body="user=ann&password=correct"), entry("/wiki/3/pay"),
    entry("/items", method="POST", body="title=Delete+me"), entry("/search", method="POST", body="q=update"),
    entry("/cart/add", method="POST", body="id=7"), entry("/updates?since=3"), entry("/items/7", method="HEAD"),
    graphql("query { deletedItems { id } }"), graphql("mutation { createItem(t: 1) { id } }"),
    graphql("mutation L { login(user: 1) { token } }"), graphql("{ items { id } }"),
])  # fmt: skip
def test_what_reads_logs_in_or_adds_is_not(tmp_path, one):
    assert not is_destructive(tmp_path, one)


def test_a_followed_redirect_is_counted_as_a_get(tmp_path):
    moved = entry("/a", method="POST", body="x=1", status=302, answer_headers={"Location": "/b"})
    found = steps(tmp_path, entry("/"), moved, entry("/b", at_s=0.5), entry("/c", method="DELETE", at_s=1)).steps
    assert counts_of(found) == {"GET": 2, "POST": 1, "DELETE": 1}
