"""The simulated pages of `scripts/bench answers`, on few pages: each kind of page finds a change and no other."""

from __future__ import annotations

import re

import numpy as np
import pytest

from bench.statistics.answers import PAGES
from bench.statistics.scatter import KINDS, RunFactors, run_of
from tests.support import stated_rates
from tests.support.paths import ROOT
from tests.support.weekly import often

UNEQUAL = next(kind for kind in KINDS if kind.name == "unequal cells")


@pytest.mark.real
@pytest.mark.parametrize("page", often(5, PAGES), ids=lambda page: page.name)
def test_each_page_finds_its_change_and_none_without_one(page):
    kind = UNEQUAL if UNEQUAL in page.kinds else page.kinds[0]
    assert page.simulate(np.random.default_rng(1), kind, 6, 0.0).regressed <= 1 / 6
    if page.change is not None:
        assert page.simulate(np.random.default_rng(2), kind, 4, 2 * page.change).regressed >= 0.75


@pytest.mark.counterpart
@pytest.mark.parametrize("name", ["neighbours correlate by 0.8", "runs scatter by 5 %"])
def test_a_search_claims_too_many_users_on_at_most_5_percent_of_pages(name):
    kind = next(kind for kind in KINDS if kind.name == name)
    [page] = [page for page in PAGES if page.name == "find"]
    found = page.simulate(np.random.default_rng(11), kind, 80, 0.0)
    assert found.regressed <= 0.05 and found.covered >= 0.93


def test_a_run_has_the_labels_samples_and_errors_of_its_kind():
    kind = next(kind for kind in KINDS if kind.name == "30 labels")
    random = np.random.default_rng(3)
    run = run_of(random, kind, "A", RunFactors(random, kind).next(), 5)
    assert run.total and (len(run.labels), run.total.sample_count) == (30, 30 * 20 * 5)
    assert run.total.sample_count == sum(label.sample_count or 0 for label in run.labels)


def test_a_change_of_a_label_is_in_its_average_only():
    kind = UNEQUAL
    before = run_of(np.random.default_rng(4), kind, "A", 0.0, 50)
    after = run_of(np.random.default_rng(4), kind, "B", 0.0, 50, [0.5])
    ratios = [b.average_ms / a.average_ms for a, b in zip(before.labels, after.labels, strict=True)]
    assert ratios[0] == pytest.approx(np.exp(0.5), abs=0.01)
    assert ratios[1:] == [1.0] * 5


# What writes the pages on which intervals are right in less than 95 % of cases.
STATED_IN = {
    "release, jobs": "release/templates/ptf.md.j2",
    "release, databases": "release/templates/ptf.md.j2",
    "trust": "kinds/trust/templates/trust.md.j2",
    "overload": "kinds/overload/templates/overload.md.j2",
    "DURATION=auto": "report/setup.py",
}


@pytest.mark.parametrize("page", stated_rates.pages())
def test_a_page_that_misses_an_aim_states_the_rate_that_it_has(page):
    assert stated_rates.most_false(page) <= 5.0
    least = stated_rates.least_covered(page)
    if page in STATED_IN:
        text = (ROOT / "harness" / STATED_IN[page]).read_text()
        assert re.search(rf"\b{least:.0f} (to \d+ )?%", text)
    else:
        assert least is None or least >= 92.5
