"""Stores the counts and the users of seconds in little memory: 16 neighbouring seconds share an array.

A second of a run of days takes about 35 bytes of counts and 20 of users; in a dictionary of lists it takes 250.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, MutableSequence
from typing import ClassVar, NamedTuple, TypeVar

from harness.metrics.interval import SecondSpan

_BITS = 4
_PAGE_S = 1 << _BITS
_Value = TypeVar("_Value")


class Counts(NamedTuple):
    """The samples that ended in a second."""

    sample_count: int
    error_count: int
    elapsed_sum_ms: int


class CountColumns(NamedTuple):
    """The counts of consecutive seconds: lists with a number per second, 0 without samples."""

    sample_counts: list[int]
    error_counts: list[int]
    elapsed_sums_ms: list[int]


class _PerSecond(Mapping[int, _Value]):
    """Maps seconds (since 1970, in rising order) to numbers; the first number of a second that is there is above 0."""

    _width: ClassVar[int]

    def __init__(self) -> None:
        self._empty = array("q", bytes(8 * self._width * _PAGE_S))
        # By the upper bits of the seconds; 0 for a second that is not there.
        self._pages: dict[int, MutableSequence[int]] = {}

    def _page(self, second: int) -> MutableSequence[int]:
        """Return the numbers of a second and its neighbours, created if necessary."""
        if (page := self._pages.get(second >> _BITS)) is None:
            page = self._pages[second >> _BITS] = self._empty[:]
        return page

    def _widen(self, second: int) -> MutableSequence[int]:
        """Make room for numbers of any size in a damaged file; return the numbers of a second and its neighbours."""
        page = self._pages[second >> _BITS] = list(self._pages[second >> _BITS])
        return page

    def _seconds_of(self, number: int) -> list[int]:
        """Return the seconds that are there in the page with this number."""
        page = self._pages[number]
        return [number << _BITS | index for index in range(_PAGE_S) if page[index * self._width]]

    def __iter__(self) -> Iterator[int]:
        for number in sorted(self._pages):
            yield from self._seconds_of(number)

    def __len__(self) -> int:
        return sum(_PAGE_S - page[:: self._width].count(0) for page in self._pages.values())

    def __bool__(self) -> bool:
        return bool(self._pages)

    def within(self, first_s: int, last_s: int) -> Iterator[int]:
        """Yield the seconds that are there from the first to the last, both included, in order."""
        for number in sorted(self._pages):
            if first_s >> _BITS <= number <= last_s >> _BITS:
                yield from (second for second in self._seconds_of(number) if first_s <= second <= last_s)

    @property
    def span_s(self) -> SecondSpan | None:
        """The first and the last second; None without any."""
        if not self._pages:
            return None
        return SecondSpan(self._seconds_of(min(self._pages))[0], self._seconds_of(max(self._pages))[-1])


class SecondCounts(_PerSecond[Counts]):
    """Samples, errors and the sum of elapsed ms, by the second in which the samples ended."""

    _width = 3

    def add(self, second: int, sample_count: int, error_count: int, elapsed_sum_ms: int) -> None:
        """Add the counts of one sample or more."""
        if not sample_count:
            return
        page, at = self._page(second), (second & _PAGE_S - 1) * 3
        counts = page[at] + sample_count, page[at + 1] + error_count, page[at + 2] + elapsed_sum_ms
        try:
            page[at], page[at + 1], page[at + 2] = counts
        except OverflowError:
            self._widen(second)[at : at + 3] = counts

    def __getitem__(self, second: int) -> Counts:
        page, at = self._pages[second >> _BITS], (second & _PAGE_S - 1) * 3
        if not page[at]:
            raise KeyError(second)
        return Counts(page[at], page[at + 1], page[at + 2])

    @property
    def sample_count(self) -> int:
        """The number of samples in all seconds."""
        return sum(sum(page[::3]) for page in self._pages.values())

    def between(self, first_s: int, last_s: int) -> CountColumns:
        """Return the counts of each second from the first to the last, both included."""
        columns = CountColumns([], [], [])
        for number in range(first_s >> _BITS, (last_s >> _BITS) + 1):
            page = self._pages.get(number, self._empty)
            begin = max(0, first_s - (number << _BITS)) * 3
            end = min(_PAGE_S, last_s + 1 - (number << _BITS)) * 3
            for index, column in enumerate(columns):
                column += page[begin + index : end : 3]
        return columns


class SecondUsers(_PerSecond[int]):
    """The most active users, by second."""

    # One more than the users: 0 of them are known to be there.
    _width = 1

    def raise_to(self, second: int, users: int) -> None:
        """Record the users that were active in a second."""
        page, at = self._page(second), second & _PAGE_S - 1
        if users >= page[at]:
            try:
                page[at] = users + 1
            except OverflowError:
                self._widen(second)[at] = users + 1

    def __getitem__(self, second: int) -> int:
        if not (users := self._pages[second >> _BITS][second & _PAGE_S - 1]):
            raise KeyError(second)
        return users - 1

    def between(self, first_s: int, last_s: int) -> Iterator[int | None]:
        """Yield the users of each second from the first to the last, both included; None where they are not known."""
        for number in range(first_s >> _BITS, (last_s >> _BITS) + 1):
            page = self._pages.get(number, self._empty)
            begin, end = max(0, first_s - (number << _BITS)), min(_PAGE_S, last_s + 1 - (number << _BITS))
            yield from (users - 1 if users else None for users in page[begin:end])
