"""The scatter of repeats: expected values are worked out by hand."""

from __future__ import annotations

import math

import pytest

from harness.release.repeats import Block
from harness.release.scatter import SINGLE_RUNS, CellValues, scatters, single_scatters


def cell(step: float, within: float = 0.0, shift: float = 0.0) -> CellValues:
    """Return a cell of two runs a side whose logarithms are 2 × `step` apart: their variance is 2 × step²."""
    sides = [[math.exp(base - step), math.exp(base + step)] for base in (0.0, shift)]
    return CellValues(Block(*sides), within)


def test_cells_whose_repeats_are_alike_share_half_of_their_variance():
    # Variances 2e-4 and 8e-4, mean 5e-4; half own, half shared; two degrees of freedom become four.
    found = scatters({1: cell(0.01), 2: cell(0.02)})
    assert found[1].deviation ** 2 == pytest.approx(3.5e-4)
    assert found[2].deviation ** 2 == pytest.approx(6.5e-4)
    assert found[1].freedom == found[2].freedom == 4


def test_cells_that_contradict_each_other_share_nothing():
    found = scatters({1: cell(0.001), 2: cell(0.1), 3: cell(0.0012), 4: cell(0.09)})
    assert found[1].deviation ** 2 == pytest.approx(2e-6)
    assert found[2].deviation ** 2 == pytest.approx(0.02)
    assert {one.freedom for one in found.values()} == {2}


def test_no_scatter_is_below_the_noise_within_the_runs():
    found = scatters({1: cell(0.001, within=4e-4), 2: cell(0.0, within=1e-4)})
    assert [found[key].deviation for key in (1, 2)] == pytest.approx([0.02, 0.01])


def test_equal_repeats_without_noise_have_no_scatter():
    assert [one.deviation for one in scatters({1: cell(0.0), 2: cell(0.0)}).values()] == [0.0, 0.0]


def single(change: float, within: float = 0.0) -> CellValues:
    return CellValues(Block([1.0], [math.exp(change)]), within)


def test_single_runs_scatter_by_what_is_assumed_or_by_more_if_their_changes_do():
    alike = single_scatters({at: single(0.2, within=7e-4) for at in range(4)})
    assert alike[0].deviation ** 2 == pytest.approx(SINGLE_RUNS**2 + 7e-4)
    # Changes of 0, 0.1, 0.2: variance 0.01, half of it is that of a run.
    apart = single_scatters({at: single(0.1 * at) for at in range(3)})
    assert apart[0].deviation ** 2 == pytest.approx(0.005)
