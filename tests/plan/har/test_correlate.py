"""Which values of a recording come from responses, from a person, or from neither."""

import json
from pathlib import Path
from urllib.parse import urlencode

import pytest

from harness.plan.har.correlate import Correlation
from harness.plan.har.extract import ExtractorKind, looks_dynamic
from harness.plan.har.steps import RecordedStep
from tests.support.har import correlated, entry
from tests.support.web_apps import WebApp, recorded, served

TOKEN, OTHER = "9f3c01aa7be244d1", "0b77e2c9d1844f60"
JSON = "application/json"


def form(token: str, name: str = "t") -> str:
    hidden = f'<input type="hidden" name="{name}" value="{token}">'
    return f'<form method="post" action="/in">{hidden}<input name="q"></form>'


def found(correlation: Correlation) -> list[tuple[str, ExtractorKind, str]]:
    return [(one.name, one.extractor.kind, one.extractor.a) for one in correlation.variables]


def post(body: str, **more):
    return entry("/in", method="POST", body=body, at_s=5, **more)


def test_a_hidden_field_is_read_by_its_name(tmp_path):
    _, correlation = correlated(tmp_path, [entry("/", form(TOKEN)), post(f"t={TOKEN}")])
    assert found(correlation) == [("t", ExtractorKind.CSS, 'input[name="t"]')]
    assert [use.expression for use in correlation.variables[0].uses] == ["${t}"]


def test_of_equal_selectors_the_number_of_the_match_counts(tmp_path):
    _, correlation = correlated(tmp_path, [entry("/", form("aa11bb22cc33dd44") + form(TOKEN)), post(f"t={TOKEN}")])
    assert correlation.variables[0].extractor.number == 2


def test_a_leaf_of_json_is_read_by_its_path_and_sent_in_a_header(tmp_path):
    answer = json.dumps({"list": [{"a": 1}, {"my key": TOKEN}]})
    _, correlation = correlated(
        tmp_path, [entry("/", answer, kind=JSON), entry("/x", at_s=1, headers={"Authorization": f"Bearer {TOKEN}"})]
    )
    assert found(correlation) == [("authorization", ExtractorKind.JSON, "$.list[1]['my key']")]
    assert correlation.variables[0].uses[0].text == TOKEN


def test_a_value_of_a_script_has_boundaries_without_another_value(tmp_path):
    page = f'<script>build = "20261127"; key = "{TOKEN}";</script>'
    _, correlation = correlated(tmp_path, [entry("/", page), entry(f"/x?k={TOKEN}", at_s=1)])
    extractor = correlation.variables[0].extractor
    assert extractor.kind is ExtractorKind.BOUNDARY
    assert "20261127" not in extractor.a
    assert (extractor.a[-7:], extractor.b) == ('key = "', '"')


def test_the_id_in_a_location_is_read_from_the_header(tmp_path):
    _, correlation = correlated(
        tmp_path,
        [
            entry("/new", method="POST", body="a=b", status=303, answer_headers={"Location": "/items/4711"}),
            entry("/items/4711", at_s=0.2), entry("/items/4711/edit", at_s=5),
        ],
    )  # fmt: skip
    assert [(one.name, one.extractor.kind) for one in correlation.variables] == [("items_id", ExtractorKind.HEADER)]


@pytest.mark.parametrize(
    ("in_page", "sent", "expression"),
    [
        ("a%2Fb%2B9f3c01aa", "a/b+9f3c01aa", "${__urldecode(${k})}"),
        ("a&amp;b9f3c01aa&quot;", 'a&b9f3c01aa"', "${__unescapeHtml(${k})}"),
        ("YWRtaW46OWYzYzAx", "admin:9f3c01", '${__groovy(new String(vars.get("k").decodeBase64()))}'),
    ],
    ids=["url", "html", "base64"],
)
def test_encoded_values_are_found_and_decoded(tmp_path, in_page, sent, expression):
    page = f"<script>key = '{in_page}';</script>"
    body = json.dumps({"k": sent})
    _, correlation = correlated(tmp_path, [entry("/", page), post(body, body_type=JSON)])
    assert [one.uses[0].expression for one in correlation.variables] == [expression]


def test_what_is_equal_in_two_recordings_is_a_constant(tmp_path):
    def visit(token):
        page = form(token) + f'<input type="hidden" name="build" value="{"ab12" * 8}">'
        return [entry("/", page), post(f"t={token}&build={'ab12' * 8}")]

    _, once = correlated(tmp_path, visit(TOKEN))
    _, twice = correlated(tmp_path, visit(TOKEN), visit(OTHER))
    assert [one.name for one in once.variables] == ["t", "build"]
    assert [one.name for one in twice.variables] == ["t"]


def test_an_extractor_must_find_the_value_of_each_recording(tmp_path):
    """In the first recording the second match is the value, in the other one the first: only the name tells."""

    def visit(before, token):
        page = f'{before}<a data-key="{token}" id="go">x</a>'
        return [entry("/", page), entry(f"/x?k={token}", at_s=1)]

    _, correlation = correlated(
        tmp_path, visit('<a data-key="ffffffff00000000" id="no">y</a>', TOKEN), visit("", OTHER)
    )
    assert found(correlation) == [("k", ExtractorKind.CSS, 'a[id="go"]')]


def test_steps_that_only_one_recording_has_are_named_and_the_others_still_compared(tmp_path):
    first = [entry("/", form(TOKEN)), entry("/extra", at_s=1), post(f"t={TOKEN}")]
    _, correlation = correlated(tmp_path, first, [entry("/", form(OTHER)), post(f"t={OTHER}")])
    assert (correlation.unmatched, [one.name for one in correlation.variables]) == ([1], ["t"])


def test_a_word_of_the_application_is_no_value(tmp_path):
    page = '<a href="/products/search">Search</a> {"sort": "ascending"}'
    _, correlation = correlated(tmp_path, [entry("/", page), entry("/products/search?sort=ascending", at_s=1)])
    assert correlation.variables == []


def test_cookies_are_left_to_jmeter(tmp_path):
    _, correlation = correlated(
        tmp_path,
        [
            entry("/", answer_headers={"Set-Cookie": f"sid={TOKEN}"}),
            entry("/x", at_s=1, headers={"Cookie": f"sid={TOKEN}"}),
        ],
    )
    assert (correlation.variables, correlation.unexplained) == ([], [])


def test_a_known_value_is_replaced_in_the_referer(tmp_path):
    headers = {"Referer": f"http://127.0.0.1:8080/x?k={TOKEN}"}
    page = f"<script>key = '{TOKEN}';</script>"
    visit = [entry("/", page), entry(f"/x?k={TOKEN}", at_s=1), entry("/y", at_s=2, headers=headers)]
    _, correlation = correlated(tmp_path, visit)
    assert [(use.step, use.key[1]) for use in correlation.variables[0].uses] == [(1, "k"), (2, "Referer")]


@pytest.mark.parametrize(
    ("value", "guess", "todo"),
    [
        ("1795737600123", "time in ms", "write ${__time()}"),
        ("1795737600", "time in s", "write ${__time(/1000)}"),
        ("0d5a1f0e-4d8e-4d53-9b1e-0a3f6a1b2c3d", "UUID", "write ${__UUID}"),
        ("9f3c01aa7be244d1", "random hexadecimal number, or a hash", "if random, write ${__RandomString(16,"),
        ("xK9-vQ2.Lm4_Tz8", "random text", "find in the page's scripts how it is made, and write that"),
    ],
)
def test_a_value_without_a_source_is_named_with_what_it_may_be(tmp_path, value, guess, todo):
    _, correlation = correlated(tmp_path, [entry("/"), entry(f"/ping?at={value}", at_s=1)])
    (one,) = correlation.unexplained
    assert (one.where, one.value, one.guess) == ("query at", value, guess)
    assert one.todo.startswith(todo)


def test_what_a_form_repeats_is_the_same_column(tmp_path):
    visit = [
        entry("/", form(TOKEN)), post(f"t={TOKEN}&q=blue+shoes"), entry("/s?query=blue+shoes", at_s=9),
    ]  # fmt: skip
    _, correlation = correlated(tmp_path, visit)
    assert [(typed.column, [use.step for use in uses]) for typed, uses in correlation.typed.items()] == [("q", [1, 2])]


def test_names_and_passwords_in_json_are_typed(tmp_path):
    body = json.dumps({"user": {"email": "ann@example.org", "password": "opensesame"}, "remember": True})
    _, correlation = correlated(tmp_path, [entry("/"), post(body, body_type=JSON)])
    assert [tuple(typed)[:3] for typed in correlation.typed] == [
        ("email", "ann@example.org", False), ("password", "opensesame", True),
    ]  # fmt: skip


def test_a_key_in_a_header_that_nothing_gave_is_a_secret(tmp_path):
    _, correlation = correlated(tmp_path, [entry("/", headers={"Authorization": "Bearer abcdef0123456789"})])
    assert [tuple(typed)[:3] for typed in correlation.typed] == [("authorization", "abcdef0123456789", True)]


@pytest.mark.parametrize("value", ["9f3c01aa7be244d1", "4711", "QmFzZTY0IHRva2Vu", "0d5a1f0e-4d8e-4d53"])
def test_values_that_look_dynamic(value):
    assert looks_dynamic(value)


@pytest.mark.parametrize("value", ["ascending", "v2", "en-US", "application", "stockpartxx", "MainMenu"])
def test_values_that_do_not_look_dynamic(value):
    assert not looks_dynamic(value)


def of_part(steps: tuple[RecordedStep, ...], correlation: Correlation) -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Return the fields with a variable, and those that are unexplained, by the part of the application."""
    fields: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for variable in correlation.variables:
        for use in variable.uses:
            fields.setdefault(("found", steps[use.step].path.split("/")[1]), set()).add(use.key)
    for one in correlation.unexplained:
        where = tuple(one.where.split(" ", 1))
        fields.setdefault(("unexplained", steps[one.step].path.split("/")[1]), set()).add(where)
    return fields


@pytest.mark.real
@pytest.mark.parametrize("recording_count", [1, 2])
def test_the_values_of_thirty_generated_applications_are_found(tmp_path: Path, recording_count: int):
    """What is found too much only the replay tells: tests/run/replay/test_replay.py."""
    needed, missed, wrong = 0, [], []
    for seed in range(30):
        app = WebApp(seed)
        with served(app) as origin:
            visits = [recorded(app, origin)["log"]["entries"] for _ in range(recording_count)]
        fields = of_part(*correlated(tmp_path, *visits))
        for prefix, part in app.parts.items():
            needed += len(part.needed)
            missed += [(seed, prefix, one) for one in part.needed - fields.get(("found", prefix[1:]), set())]
            unexplained = fields.get(("unexplained", prefix[1:]), set())
            wrong += [(seed, prefix, one) for one in part.script_made ^ unexplained]
    assert needed > 130
    assert len(missed) <= 0.05 * needed, missed
    assert wrong == []


def test_a_typed_text_in_json_is_spelled_as_in_json_also_in_a_field_of_a_form(tmp_path):
    rich = '{"blocks": [{"key": "ib4ko", "text": "Bread & \\"butter\\"", "type": "unstyled"}]}'
    page = '<form method="post" action="/in"><input type="hidden" name="body" value="null"></form>'
    _, correlation = correlated(tmp_path, [entry("/", page), post(urlencode({"body": rich}))])
    assert [(typed.column, typed.value) for typed in correlation.typed] == [("text", r"Bread & \"butter\"")]
    assert correlation.unexplained == []


def test_a_typed_name_in_a_path_is_its_column_but_a_word_of_the_application_is_not(tmp_path):
    body = json.dumps({"username": "admin", "name": "baker"})
    visit = [entry("/admin/"), post(body, body_type=JSON), entry("/admin/roles/baker", at_s=9)]
    _, correlation = correlated(tmp_path, visit)
    uses = {typed.column: [(use.step, use.key) for use in uses] for typed, uses in correlation.typed.items()}
    assert uses == {"username": [(1, ("body", ""))], "name": [(1, ("body", "")), (2, ("path", "2"))]}


@pytest.mark.parametrize("body", [{"name": "checkout"}, {"query": "{ shop }"}, {"filter": {"term": "shoes"}}])
def test_a_member_of_a_program_that_is_named_like_something_typed_is_not(tmp_path, body):
    visit = [entry("/"), post(json.dumps(body), body_type=JSON), entry("/end", at_s=9)]
    _, correlation = correlated(tmp_path, visit)
    assert correlation.typed == {}
    (value,) = [text for text in json.dumps(body).split('"') if text in ("checkout", "{ shop }", "shoes")]
    _, shown = correlated(tmp_path, [*visit[:2], entry("/end", f"<p>{value}</p>", at_s=9)])
    assert [typed.value for typed in shown.typed] == [value]


def test_a_small_number_is_read_for_a_field_that_is_named_as_an_id_only(tmp_path):
    answer = entry("/", '{"revision_id": 1}', kind=JSON)
    _, flag = correlated(tmp_path, [answer, entry("/x?hydrate=1", at_s=1)])
    _, key = correlated(tmp_path, [answer, entry("/x?loaded_revision_id=1", at_s=1)])
    assert (found(flag), found(key)) == ([], [("loaded_revision_id", ExtractorKind.JSON, "$.revision_id")])


def test_a_field_of_the_same_name_is_better_than_a_text_of_an_earlier_page(tmp_path):
    listing = f"<script>newest = '{TOKEN}';</script>"
    _, correlation = correlated(tmp_path, [entry("/", listing), entry("/edit", form(TOKEN, "last")),
                                           post(f"loaded_last={TOKEN}")])  # fmt: skip
    assert [(one.source, one.extractor.a) for one in correlation.variables] == [(1, 'input[name="last"]')]


def test_the_index_of_a_segment_is_no_name_of_a_leaf(tmp_path):
    _, correlation = correlated(tmp_path, [entry("/", '["a", "roles"]', kind=JSON), entry("/x/roles", at_s=1)])
    assert correlation.variables == []


def test_a_pair_of_pkce_needs_nothing(tmp_path):
    address = "/auth?code_challenge=WpQNmK2GEmn8l4jtf6UDgZuZUE491xwMRP86pIQmQiY"
    _, correlation = correlated(tmp_path, [entry("/"), entry(address, at_s=1)])
    assert [(one.guess, one.todo) for one in correlation.unexplained] == [
        ("PKCE, RFC 7636", "nothing to do: every user may send the recorded pair")
    ]
