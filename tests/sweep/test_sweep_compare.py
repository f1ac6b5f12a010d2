"""Two sweeps level by level: published differences come out to the last digit."""

import re
from dataclasses import replace

import pytest

from harness.base.records import to_plain
from harness.compare.comparison import CANNOT_TELL, INVALID, REGRESSED
from harness.judge.verdict import DOUBTFUL, Verdict
from harness.sweep.levels import Figures, LevelRun, Sweep, levels_of
from harness.sweep.pairs import compare_sweeps, headline, sentence
from tests.support.sweeps import BROKEN, sweep

# FOLIO's check-in, average and 75 % line (ms) of two releases, and the differences it published; two rounds.
FIRST = {
    1: ((414, 459, 10.87), (461, 549, 19.09)),
    5: ((435, 460, 5.75), (458, 483, 5.46)),
    8: ((505, 502, -0.59), (531, 529, -0.38)),
    20: ((851, 975, 14.57), (914, 1093, 19.58)),
}
SECOND = {
    1: ((410, 463, 12.93), (455, 559, 22.86)),
    5: ((420, 466, 10.95), (442, 486, 9.95)),
    8: ((471, 523, 11.04), (499, 550, 10.22)),
    20: ((851, 988, 16.10), (909, 1072, 17.93)),
}


def sides(published):
    return (
        sweep(
            name,
            {users: Figures(average_ms=a[at], percentiles_ms={"75": q[at]}) for users, (a, q) in published.items()},
        )
        for at, name in enumerate(("FF", "GR"))
    )


@pytest.mark.parametrize("published", [FIRST, SECOND], ids=["first round", "second round"])
def test_every_published_difference_is_reproduced(published):
    average, p75 = compare_sweeps(*sides(published)).figures
    for index, (users, cells) in enumerate(published.items()):
        for figure, (*_, percent) in zip((average, p75), cells, strict=True):
            assert figure.deltas[index].users == users
            assert f"{figure.deltas[index].delta_ratio * 100:.2f}" == f"{percent:.2f}"


def test_one_sentence_states_the_range_in_which_a_side_is_slower():
    found = compare_sweeps(*sides(SECOND))
    # 10.95 to 16.10, widened to whole percent.
    assert sentence(found, found.figures[0]) == "GR is about 10 to 17 % slower than FF (average, 4 levels)."


def test_a_range_with_both_signs_has_no_verdict():
    found = compare_sweeps(*sides(FIRST))
    assert sentence(found, found.figures[0]).startswith(
        "GR is between 1 % faster and 15 % slower than FF (average, 4 levels)."
    )


@pytest.mark.parametrize(
    ("base", "new", "words"),
    [
        ({1: 100, 5: 100}, {1: 102, 5: 97}, "new is within 3 % of base at every level"),
        ({1: 100, 5: 100}, {1: 80, 5: 88}, "new is about 12 to 20 % faster than base"),
        ({1: 100}, {1: 110}, "new is about 10 % slower than base (average, 1 level"),
    ],
)
def test_every_case_has_a_text(base, new, words):
    found = compare_sweeps(
        *(
            sweep(name, {users: Figures(average_ms=ms) for users, ms in levels.items()})
            for name, levels in (("base", base), ("new", new))
        )
    )
    assert sentence(found, found.figures[0]).startswith(words)


def test_throughput_is_called_lower_and_not_slower():
    base, new = (sweep(name, {1: Figures(rate_per_s=rate)}) for name, rate in (("base", 100.0), ("new", 75.0)))
    found = compare_sweeps(base, new)
    assert sentence(found, found.figures[0]).startswith("new is about 25 % lower than base (throughput")


def test_levels_on_one_side_only_are_listed_and_not_compared():
    found = compare_sweeps(
        sweep("a", {1: Figures(average_ms=1), 5: Figures(average_ms=2)}),
        sweep("b", {5: Figures(average_ms=2), 9: Figures(average_ms=3)}),
    )
    assert (found.only_base, found.only_new) == ((1,), (9,))
    assert [delta.users for delta in found.figures[0].deltas] == [5]


def test_an_invalid_level_has_no_difference():
    broken = Sweep(
        "b", levels_of([(1, LevelRun("x", Figures(average_ms=1), BROKEN)), (5, LevelRun("y", Figures(average_ms=3)))])
    )
    found = compare_sweeps(sweep("a", {1: Figures(average_ms=2), 5: Figures(average_ms=2)}), broken)
    assert [delta.delta_ratio for delta in found.figures[0].deltas] == [None, 0.5]
    assert found.figures[0].level_count == 1


@pytest.mark.parametrize("verdict", [CANNOT_TELL, INVALID])
def test_no_direction_is_claimed_when_the_verdict_is_cannot_tell(verdict):
    found = replace(compare_sweeps(*sides(SECOND)), verdict=verdict, reason="a run at 5 users is DOUBTFUL")
    # 10.95 and 16.10 are the published extremes.
    text = sentence(found, found.figures[0])
    assert text == "CANNOT TELL whether GR differs. Seen: average within ±16.1 % over 4 levels."
    for reason in (
        "only at 5 users a change exceeds its threshold: one run per level is not enough",
        "a run is DOUBTFUL",
    ):
        text = headline(replace(found, verdict=verdict, reason=reason))
        assert not re.search(r"\b(slower|faster|lower|higher|worse|better)\b", text)
    assert "slower than" in sentence(replace(found, verdict=REGRESSED), found.figures[0])


def test_side_by_side_no_direction_is_claimed_of_doubtful_runs():
    doubtful = Verdict(DOUBTFUL, ("Little's law is off",), (), ())
    base = sweep("a", {5: Figures(average_ms=100.0)})
    new = Sweep("b", levels_of([(5, LevelRun("y", Figures(average_ms=119.0), doubtful))]))
    found = compare_sweeps(base, new)
    assert headline(found) == "CANNOT TELL whether b differs. Seen: average within ±19.0 % over 1 level."
    assert "slower" not in headline(found)
    assert "is_doubtful" not in to_plain(compare_sweeps(base, base))
