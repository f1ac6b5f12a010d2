"""Steps of a recording: which requests, their transactions, names, pauses and fields."""

import pytest

from harness.base.errors import UsageError
from harness.plan.har.steps import Where
from tests.support.har import FORM, entry, steps

SIGN_IN = (
    '<title>Welcome</title><form action="/in" method="post"><input type="hidden" name="t" value="x7">'
    '<input name="user"><input type="password" name="pw"><button>Sign in</button></form>'
)
OWN_PAGE = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
OF_SCRIPT = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}


def paths(found) -> list[str]:
    return [step.path for step in found.steps]


def test_only_requests_to_the_host_of_the_first_document_are_steps(tmp_path):
    found = steps(
        tmp_path, entry("https://cdn.example.org/a.json", kind="application/json"), entry("/", at_s=1),
        entry("https://ads.example.net/x", at_s=2), entry("/two", at_s=3),
    )  # fmt: skip
    assert (found.origin, paths(found)) == ("http://127.0.0.1:8080", ["/", "/two"])
    assert found.hosts == {"cdn.example.org": 1, "ads.example.net": 1}


def moved(goal: str) -> dict[str, str]:
    return {"status": 302, "answer_headers": {"Location": goal}}


@pytest.mark.parametrize("goal", ["https://shop.example.org/", "https://shop.example.org:443/#top"])
def test_a_first_document_that_redirects_to_the_host_with_more_requests_is_left_out(tmp_path, goal):
    shop = "https://shop.example.org"
    pages = [entry(f"{shop}{path}", at_s=at) for at, path in enumerate(("/", "/catalogue", "/item?id=7"), 1)]
    found = steps(tmp_path, entry("http://old.example.org/", **moved(goal)), *pages)
    assert (found.origin, paths(found)) == (shop, ["/", "/catalogue", "/item"])
    assert found.hosts == {"old.example.org": 1}


def test_a_log_in_elsewhere_before_the_pages_is_not_the_host(tmp_path):
    sign_on = "https://id.example.org/start"
    back = entry(sign_on, at_s=1, **moved("http://127.0.0.1:8080/home"))
    pages = [entry("/home", at_s=2), entry("/two", at_s=3)]
    found = steps(tmp_path, entry("/", **moved(sign_on)), back, *pages)
    assert (found.origin, paths(found)) == ("http://127.0.0.1:8080", ["/", "/home", "/two"])


def test_the_scheme_with_most_requests_to_a_host_is_that_of_the_steps(tmp_path):
    shop = "shop.example.org"
    pages = [entry(f"https://{shop}{path}", at_s=at) for at, path in enumerate(("/", "/two"), 1)]
    found = steps(tmp_path, entry(f"http://{shop}/", **moved(f"https://{shop}/")), *pages)
    assert (found.origin, paths(found), found.hosts) == (f"https://{shop}", ["/", "/two"], {f"http://{shop}": 1})


def test_the_port_of_the_scheme_is_no_other_host(tmp_path):
    found = steps(tmp_path, entry("https://h.example.org:443/"), entry("https://h.example.org/two", at_s=1))
    assert (found.origin, paths(found)) == ("https://h.example.org", ["/", "/two"])


def test_the_host_can_be_given(tmp_path):
    found = steps(tmp_path, entry("/"), entry("https://api.example.org/x", at_s=1), host="api.example.org")
    assert paths(found) == ["/x"]


def test_a_host_without_requests_is_an_error_that_lists_the_others(tmp_path):
    with pytest.raises(UsageError, match=r"no request to h; give one of its hosts as --target: 127\.0\.0\.1:8080"):
        steps(tmp_path, entry("/"), host="h")


def test_static_files_are_counted_and_left_out(tmp_path):
    found = steps(
        tmp_path, entry("/"), entry("/a.css", kind="text/css"), entry("/logo", kind="image/png"),
        entry("/app.js", kind=""), entry("/api.js", kind="application/json"),
    )  # fmt: skip
    assert (paths(found), found.static) == (["/", "/api.js"], 3)


def test_redirects_within_the_target_are_one_step(tmp_path):
    found = steps(
        tmp_path, entry("/old", status=301, answer_headers={"Location": "/new"}),
        entry("/new", status=302, answer_headers={"Location": "http://127.0.0.1:8080/new/"}, at_s=0.2),
        entry("/new/", "<title>New</title>", at_s=0.4),
    )  # fmt: skip
    (step,) = found.steps
    assert ([call.status for call in step.answers], step.title, step.follows) == ([301, 302, 200], "New", True)


def test_a_redirect_to_another_host_is_not_followed(tmp_path):
    goal = "https://login.example.org/"
    (step,) = steps(tmp_path, entry("/", status=302, answer_headers={"Location": goal}), entry(goal, at_s=0.2)).steps
    assert (len(step.answers), step.follows) == (1, False)


def test_a_transaction_begins_with_a_document_and_after_a_pause_of_two_seconds(tmp_path):
    found = steps(
        tmp_path, entry("/", "<title>Shop</title>", headers=OWN_PAGE),
        entry("/api/1", kind="application/json", at_s=0.5, headers=OF_SCRIPT),
        entry("/api/2", kind="application/json", at_s=5, headers=OF_SCRIPT),
        entry("/cart", "<title>Cart</title>", at_s=5.5, headers=OWN_PAGE),
    )  # fmt: skip
    assert [step.title for step in found.steps] == ["Shop", "", "GET /api/2", "Cart"]
    assert [round(step.pause_s, 1) for step in found.steps] == [0.0, 0.4, 4.4, 0.4]


def test_a_frame_begins_no_transaction(tmp_path):
    frame = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    found = steps(tmp_path, entry("/"), entry("/ad", "<title>Ad</title>", at_s=0.3, headers=frame))
    assert found.steps[1].title == ""


def test_a_form_gives_its_transaction_the_text_of_its_button(tmp_path):
    found = steps(
        tmp_path, entry("/", SIGN_IN), entry("/in", method="POST", body="t=x7&user=ann&pw=opensesame", at_s=9)
    )
    assert found.steps[1].title == "Sign in"


def test_what_a_person_types_is_known_by_the_form(tmp_path):
    found = steps(
        tmp_path, entry("/", SIGN_IN), entry("/in", method="POST", body="t=x7&user=ann&pw=opensesame", at_s=9)
    )
    fields = {one.name: one for one in found.steps[1].fields if one.where is Where.FORM}
    assert {name: (one.typed, one.is_secret) for name, one in fields.items()} == {
        "t": ("", False), "user": ("user", False), "pw": ("pw", True),
    }  # fmt: skip


def test_without_the_page_the_names_of_the_fields_tell(tmp_path):
    (step,) = steps(tmp_path, entry("/in", method="POST", body="csrf_token=9f3&username=ann&password=opensesame")).steps
    assert {one.name: (one.typed, one.is_secret) for one in step.fields if one.where is Where.FORM} == {
        "csrf_token": ("", False), "username": ("username", False), "password": ("password", True),
    }  # fmt: skip


def test_headers_of_the_browser_are_left_out_and_the_origin_becomes_that_of_the_target(tmp_path):
    headers = {
        "Host": "x", "Cookie": "a=b", "Sec-Fetch-Mode": "cors", "User-Agent": "Firefox", "If-None-Match": "w",
        "Origin": "http://127.0.0.1:8080", "X-Requested-With": "XMLHttpRequest",
    }  # fmt: skip
    (step,) = steps(tmp_path, entry("/", headers=headers)).steps
    sent = {one.name: one.text for one in step.fields if one.where is Where.HEADER}
    assert sent == {"Origin": "${origin}", "X-Requested-With": "XMLHttpRequest"}


def test_fields_with_one_name_are_all_sent(tmp_path):
    (step,) = steps(tmp_path, entry("/?tag=a&tag=b%20c&x")).steps
    assert [(one.name, one.text) for one in step.fields if one.where is Where.QUERY] == [
        ("tag", "a"), ("tag#2", "b c"), ("x", ""),
    ]  # fmt: skip


BUTTONS = (
    '<form action="/in" method="post"><input name="user"><button type="button">Show password</button>'
    "<button>Save  draft</button><button>Publish</button></form>"
)


@pytest.mark.parametrize(("headers", "title"), [(OWN_PAGE, "Save draft"), (OF_SCRIPT, "POST /in")])
def test_what_a_script_sends_is_not_named_by_one_of_several_buttons(tmp_path, headers, title):
    sent = entry("/in", method="POST", body="user=ann", at_s=9, headers=headers)
    assert steps(tmp_path, entry("/", BUTTONS), sent).steps[1].title == title


def test_the_address_of_the_target_is_replaced_in_all_that_is_sent(tmp_path):
    here = "http://127.0.0.1:8080"
    (step,) = steps(tmp_path, entry(f"/?to={here}/a", method="POST", body=f"back={here}%2Fb")).steps
    (raw,) = steps(tmp_path, entry("/", method="POST", body=f'{{"u": "{here}"}}', body_type="application/json")).steps
    sent = (*step.fields, *raw.fields)
    assert [one.text for one in sent if one.where not in (Where.PATH, Where.HEADER)] == [
        "${origin}/a", "${origin}/b", '{"u": "${origin}"}',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ("{}", "application/json", ["application/json"]),
        ("a=1", FORM, []),  # JMeter sends it itself
        ("a=1", f"{FORM}; charset=UTF-8", [f"{FORM}; charset=UTF-8"]),
        ("x", "", []),
    ],
)
def test_a_type_that_only_the_body_of_a_recording_has_is_sent(tmp_path, body, kind, sent):
    (step,) = steps(tmp_path, entry("/", method="PUT", body=body, body_type=kind)).steps
    assert [one.text for one in step.fields if one.where is Where.HEADER] == sent
    named = entry("/", method="PUT", body=body, body_type=kind, headers={"content-type": kind} if kind else {})
    (again,) = steps(tmp_path, named).steps
    assert [one.text for one in again.fields] == [one.text for one in step.fields]
