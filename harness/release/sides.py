"""Pairs a value of the earlier release with that of the release of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from harness.compare.result import RunResult

_Value_co = TypeVar("_Value_co", covariant=True)
# The results of the runs of a sweep, by users.
Runs = Mapping[int, Sequence[RunResult]]


class Sides(NamedTuple, Generic[_Value_co]):
    """A value of the earlier release (`base`) and of the release of the page (`new`)."""

    base: _Value_co
    new: _Value_co
