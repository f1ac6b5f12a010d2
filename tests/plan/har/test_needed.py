"""Which extractors are needed: passes that leave out several say what a pass without each one says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pytest

from harness.plan.har import needed
from harness.plan.har.needed import Tried, group_count
from harness.plan.har.proof import ReplayAnswer
from harness.plan.har.recorded import Recorded
from tests.support.har import correlated, entry

PARTS = 6
ONE_EACH = [[f"t{part}"] for part in range(PARTS)]


def token(part: int, user: str) -> str:
    return f"{part}f3c01aa7be244d1{user}"


def recorded(folder, names: Sequence[Sequence[str]]) -> Recorded:
    """Return a recording of forms, each with hidden fields of these names, and what is sent of each."""
    entries = []
    for part, fields in enumerate(names):
        inputs = "".join(f'<input type="hidden" name="{name}" value="{name}{token(part, "0")}">' for name in fields)
        body = "&".join(f"{name}={name}{token(part, '0')}" for name in fields)
        page = f'<title>Edit</title><form method="post" action="/save{part}">{inputs}</form>'
        entries += [entry(f"/edit{part}", page, at_s=6 * part), entry(f"/save{part}", "<title>Saved</title>",
        method="POST",
                    body=body, at_s=6 * part + 3)]  # fmt: skip
    first, found = correlated(folder, entries)
    return Recorded("shop", first, found, [0.0] * len(first))


Serve = Callable[[int, set[str]], str]


def tried(plan: Recorded, serve: Serve) -> tuple[dict[str, str], int]:
    """Return what differs without each extractor, and the number of passes.

    `serve` answers a step, given the names of the extractors that are left out.
    """
    passes = 0

    def answers(left_out: Collection[str]) -> list[ReplayAnswer]:
        codes = [serve(number, set(left_out)) for number in range(len(plan.steps))]
        return [ReplayAnswer(code, f"http://127.0.0.1{step.path}", f"<title>{code}</title>")
                for code, step in zip(codes, plan.steps, strict=True)]  # fmt: skip

    def without(groups: Sequence[Collection[str]]) -> list[list[ReplayAnswer]]:
        nonlocal passes
        passes += len(groups)
        return [answers(group) for group in groups]

    sent = {one.name: [f"own{user}" for user in "123"] for one in plan.found.variables}
    found = Tried(plan, plan.found.variables, [answers(())] * 3, sent).needed(without)
    return found, passes


def alone(monkeypatch, plan: Recorded, serve: Serve) -> dict[str, str]:
    """Return the same of a pass for each extractor."""
    monkeypatch.setattr(needed, "groups_of", lambda items: [frozenset((one.name,)) for one in items])
    return tried(plan, serve)[0]


def sends(plan: Recorded, number: int) -> set[str]:
    return {one.name for one in plan.found.variables for use in one.uses if use.step == number}


def own_request(plan: Recorded) -> Serve:
    return lambda number, left_out: "403" if sends(plan, number) & left_out else "200"


def all_later(plan: Recorded) -> Serve:
    """The first form is a log-in: without its token all later pages are those of the log-in."""
    first = min(one.name for one in plan.found.variables)
    return lambda number, left_out: "401" if first in left_out and number else own_request(plan)(number, left_out)


def pairs(plan: Recorded) -> Serve:
    """Of two tokens of a request both must be old, or both new."""
    return lambda number, left_out: "403" if len(sends(plan, number) & left_out) == 1 else "200"


def later_list(plan: Recorded) -> Serve:
    """The last page lacks what a form without its token did not save; a wrong token of an even form does nothing."""

    def serve(number: int, left_out: set[str]) -> str:
        odd = {one.name for one in plan.found.variables if one.source % 4}
        return "404" if number == len(plan.steps) - 1 and odd & left_out else "200"

    return serve


@pytest.mark.parametrize("behaviour", [own_request, all_later, pairs, later_list])
@pytest.mark.parametrize(
    "names", [[[f"t{part}"] for part in range(PARTS)], [["a", "b"], ["c"], ["d", "e"], ["f"]], [["a"]]]
)
def test_groups_say_what_a_pass_without_each_one_says(tmp_path, monkeypatch, names, behaviour):
    plan = recorded(tmp_path, names)
    assert len(plan.found.variables) == sum(map(len, names))
    found, _ = tried(plan, behaviour(plan))
    assert found == alone(monkeypatch, plan, behaviour(plan))


def test_six_forms_with_a_token_each_need_three_passes(tmp_path):
    plan = recorded(tmp_path, ONE_EACH)
    found, passes = tried(plan, own_request(plan))
    assert (len(found), passes, group_count(plan)) == (PARTS, 3, 3)
    assert found["t2"] == "step 6 POST /save2 answers 403"
