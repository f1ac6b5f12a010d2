"""The error rates that docs/benchmarks.md states of release pages, on fewer pages."""

from __future__ import annotations

import numpy as np
import pytest

from bench.statistics.release_pages import rates
from bench.statistics.scatter import KINDS

BY_NAME = {kind.name: kind for kind in KINDS}


@pytest.mark.counterpart
@pytest.mark.parametrize(
    ("name", "repeat"),
    [
        ("unequal cells", 3),
        *(
            pytest.param(*case, marks=pytest.mark.counterpart)
            for case in (
                ("unequal cells", 1),
                ("few errors", 1),
                ("few errors", 3),
                ("larger cells scatter more", 1),
                ("larger cells scatter more", 3),
            )
        ),
    ],
)
def test_a_page_on_which_nothing_changed_is_hardly_ever_regressed(name, repeat):
    found = rates(np.random.default_rng(1000), BY_NAME[name], repeat, 40)
    assert found.regressed <= 0.05, "docs/benchmarks.md: at most 5 % of pages"
    assert found.agree == 1.0, "the page is REGRESSED exactly when a cell is"
    assert found.covered >= 0.93


@pytest.mark.counterpart
def test_a_change_of_15_percent_is_found_on_nearly_every_page():
    assert rates(np.random.default_rng(2000), BY_NAME["unequal cells"], 3, 15, 0.15).regressed >= 0.9
