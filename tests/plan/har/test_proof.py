"""What the answers of a replay show."""

from __future__ import annotations

import json

import pytest

from harness.plan.har.correlate import Use, Variable
from harness.plan.har.extract import PLAIN, Extractor, ExtractorKind
from harness.plan.har.proof import ReplayAnswer, difference, failures
from tests.support.har import ORIGIN, entry, steps

LABELS = ["GET /edit", "POST /save", "GET /list"]
VARIABLE = Variable(
    "t", ("rec0rded",), "rec0rded", 0, Extractor(ExtractorKind.CSS, 'input[name="t"]', "value"), PLAIN,
    [Use(1, ("field", "t"), "rec0rded", "${t}")],
)  # fmt: skip
SENT = ["own1", "own2", "own3"]
FORM = '<form action="/save"><input name="t"><input name="text"></form>'


def page(title: str, body: str = "") -> str:
    return f"<title>{title}</title><p>{body}</p>"


def answers(*texts: str, codes=("200", "200", "200"), paths=("/edit", "/save", "/list")) -> list[ReplayAnswer]:
    return [ReplayAnswer(code, ORIGIN + path, text) for code, path, text in zip(codes, paths, texts, strict=True)]


def full(number: int = 0) -> list[ReplayAnswer]:
    return answers(page("Edit"), page("Saved", f"Thank you, order {number + 10}"), page("List"))


def without(other: list[ReplayAnswer | None]) -> str:
    return difference(VARIABLE, 1, LABELS, [full(n) for n in range(3)], other, SENT)


def test_nothing_differs():
    assert without(full(3)) == ""


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ReplayAnswer("403", f"{ORIGIN}/save", ""), "answers 403"),
        (ReplayAnswer("200", f"{ORIGIN}/login", page("Saved")), "leads to /login"),
        (ReplayAnswer("200", f"{ORIGIN}/save", page("Sorry")), 'shows "Sorry"'),
        (ReplayAnswer("200", f"{ORIGIN}/save", page("Saved", "Thank you, order 5") + FORM), "shows /save t text"),
        (ReplayAnswer("200", f"{ORIGIN}/save", page("Saved", "order 5")), "lacks Thank, you"),
        (ReplayAnswer("200", f"{ORIGIN}/save", page("Saved", "Thank you, order expired")), "adds expired"),
        (None, "is not reached"),
    ],
    ids=["code", "path", "title", "form", "missing-words", "new-words", "no-answer"],
)
def test_the_first_step_that_differs_is_named(answer, text):
    assert without([full()[0], answer, full()[2]]) == f"step 2 POST /save {text}"


def test_json_with_another_value_of_a_word_differs():
    def of(**data: object) -> list[ReplayAnswer]:
        return answers(page("Edit"), json.dumps(data), page("List"))

    users = [of(ok=True, id=number) for number in range(3)]
    assert difference(VARIABLE, 1, LABELS, users, of(ok=True, id=9), SENT) == ""
    assert difference(VARIABLE, 1, LABELS, users, of(ok=False, id=9), SENT) == "step 2 POST /save lacks true"


def test_an_answer_with_the_recorded_value_in_place_of_the_own_one_differs():
    users = [answers(page("Edit"), page("Item", f"no {own}"), page("List")) for own in SENT]
    other = answers(page("Edit"), page("Item", "no rec0rded"), page("List"))
    assert difference(VARIABLE, 1, LABELS, users, other, SENT) == "step 2 POST /save answers for the recorded value"


def test_what_differs_among_users_with_all_extractors_is_not_compared():
    users = [answers(page("Edit"), page(f"Hello {name}"), page("List")) for name in ("Ann", "Bob", "Eve")]
    assert difference(VARIABLE, 1, LABELS, users, answers(page("Edit"), page("Hello Joe"), page("List")), SENT) == ""


def test_a_refusal_before_the_value_is_sent_has_another_reason():
    other = [ReplayAnswer("409", f"{ORIGIN}/edit", ""), *full()[1:]]
    assert without(other) == "not tested: step 1 GET /edit answers 409"


def test_after_another_page_before_the_value_only_refusals_count():
    """An earlier pass has left its data: the pages differ without this extractor's doing."""
    first = ReplayAnswer("200", f"{ORIGIN}/edit", page("Edit", "Remove") + FORM)
    assert without([first, full()[1], ReplayAnswer("200", f"{ORIGIN}/list", page("List") + FORM)]) == ""
    assert without([first, ReplayAnswer("403", f"{ORIGIN}/save", ""), full()[2]]) == "step 2 POST /save answers 403"


def failed(tmp_path, *texts: str, codes=("200", "200"), paths=("/edit", "/save")) -> list[str]:
    saved = entry("/save", page("Saved 1"), method="POST", body="t=1", at_s=4)
    recorded = steps(tmp_path, entry("/edit", page("Edit") + FORM), saved)
    return list(failures(recorded.steps, LABELS[:2], answers(*texts, codes=codes, paths=paths)))


def test_a_user_who_sees_the_recorded_pages_passes(tmp_path):
    assert failed(tmp_path, page("Edit") + FORM, page("Saved 2")) == []


def test_other_codes_pages_and_forms_are_failures(tmp_path):
    good = page("Edit") + FORM
    assert failed(tmp_path, good, "", codes=("200", "403")) == ["step 2 POST /save: expected 200, got 403"]
    assert failed(tmp_path, good, page("Saved"), paths=("/edit", "/login")) == [
        "step 2 POST /save: expected /save, got /login"
    ]
    assert failed(tmp_path, good, page("Saved 1") + FORM) == ["step 2 POST /save: shows its form again: /save t text"]
    assert failed(tmp_path, good, page("Error")) == ['step 2 POST /save: expected the page "Saved #", got "Error"']


def test_a_page_from_the_cache_passes(tmp_path):
    assert failed(tmp_path, "", page("Saved 1"), codes=("304", "200")) == []


def test_a_step_that_was_not_reached_is_a_failure(tmp_path):
    recorded = steps(tmp_path, entry("/edit", page("Edit")))
    assert list(failures(recorded.steps, LABELS, [None])) == ["step 1 GET /edit: was not reached"]
