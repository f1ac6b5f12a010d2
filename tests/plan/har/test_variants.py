"""Passes that leave out several extractors show the same as passes that leave out one each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plan.har.variants import Item, Passes, decide, groups_of, reached_by

STEPS = 12


def passes_with(items: list[Item], effects: dict[str, set[int]]) -> Passes:
    """Return what passes show in which an extractor has its effects whatever else is left out."""
    groups = groups_of(items)
    differs = [[any(step in effects[name] for name in group) for step in range(STEPS)] for group in groups]
    return Passes(groups, differs)


@pytest.mark.parametrize(("count", "passes"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (15, 4), (60, 6)])
def test_so_many_passes_tell_the_effects_of_independent_extractors_apart(count, passes):
    items = [Item(str(number), number, frozenset((number,))) for number in range(count)]
    assert len(groups_of(items)) == passes


def test_extractors_of_one_request_are_never_left_out_together():
    items = [Item(name, step, frozenset((step,))) for name, step in (("a", 1), ("b", 1), ("c", 2), ("d", 2), ("e", 3))]
    groups = groups_of(items)
    assert not any({"a", "b"} <= group or {"c", "d"} <= group for group in groups)
    assert frozenset().union(*groups) == set("abcde")


@pytest.mark.real
@given(st.data())
def test_a_decision_is_that_of_passes_of_one_extractor_each(data):
    """Whatever each one changes, at once or later, alone or with others: an effect is shown at its first step."""
    count = data.draw(st.integers(1, 9))
    items, effects = [], {}
    for number in range(count):
        first = data.draw(st.integers(0, STEPS - 1))
        effects[str(number)] = set(data.draw(st.lists(st.integers(first, STEPS - 1), max_size=3)))
        more = data.draw(st.sets(st.integers(first, STEPS - 1), max_size=2))
        items.append(Item(str(number), first, frozenset({first, *more})))
    found = decide(items, passes := passes_with(items, effects))
    for name, (number, step) in found.shown.items():
        assert step == min(effects[name])
        assert name in passes.left_out[number]
    assert all(not effects[name] for name in found.needless)
    assert {*found.shown, *found.needless, *found.still_open} == set(effects)


@given(st.sets(st.integers(0, STEPS - 1), min_size=1), st.data())
def test_nothing_stays_open_where_each_one_changes_its_own_request_alone(steps, data):
    items = [Item(str(step), step, frozenset((step,))) for step in sorted(steps)]
    effects = {one.name: {one.first} if data.draw(st.booleans()) else set() for one in items}
    found = decide(items, passes_with(items, effects))
    assert found.still_open == []
    assert set(found.needless) == {name for name in effects if not effects[name]}


def test_one_that_breaks_all_later_steps_leaves_open_what_it_hides_and_never_decides_it_wrongly():
    items = [Item("in", 0, frozenset((0,))), *(Item(str(step), step, frozenset((step,))) for step in (2, 4, 6))]
    effects = {"in": set(range(STEPS)), "2": {2}, "4": set(), "6": {6}}
    found = decide(items, passes_with(items, effects))
    assert found.shown["in"][1] == 0
    assert not {"2", "6"} & set(found.needless)
    assert "4" not in found.shown


def test_without_a_useful_pass_all_is_open():
    items = [Item("a", 1, frozenset((1,)))]
    assert decide(items, Passes([], [])).still_open == ["a"]


def test_a_variable_reaches_what_is_sent_of_the_answers_that_it_changes():
    reached = reached_by({"a": {1}, "b": {3}, "c": {5}}, {"a": 0, "b": 1, "c": 2})
    assert reached == {"a": {1, 3}, "b": {3}, "c": {5}}
