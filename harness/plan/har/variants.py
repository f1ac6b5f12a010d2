"""Decides which extractors a pass of a replay leaves out together, and which of them an answer depends on.

A pass that leaves out one extractor shows its effect, but n of them repeat the recording n times. Here k passes leave
out several each: each extractor another set of the k passes, so that an answer that differs in these passes and in no
other one is its effect (group testing: an item that was in a pass without a difference is none of the causes; one
that is the only possible cause left in a pass with a difference is the cause). What stays open is tried in further
passes, at last alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

# Whether the answer to a step differs, of each step; a pass without these is useless for a decision.
Differs = Sequence[bool]


@dataclass(frozen=True)
class Item:
    """An extractor: the step from which on its value is sent, and the steps that may not get it from another one.

    Items that share one of `steps` are never left out together: the answer would not tell which of them it is about.
    """

    name: str
    first: int
    steps: frozenset[int]


@dataclass(frozen=True)
class Passes:
    """The names that each pass leaves out, and where its answers differ."""

    left_out: Sequence[frozenset[str]]
    differs: Sequence[Differs]


@dataclass
class Decided:
    """The pass and the step that show the effect of an extractor, by its name; those without any; and open ones."""

    shown: dict[str, tuple[int, int]] = field(default_factory=dict)
    needless: list[str] = field(default_factory=list)
    still_open: list[str] = field(default_factory=list)


def groups_of(items: Sequence[Item]) -> list[frozenset[str]]:
    """Return what to leave out in each pass, so that the effects can be told apart.

    Of c items that may be left out together, k passes with 2^k > c suffice. An earlier item is never left out only
    where a later one is: so a pass has the later one left out and the earlier one not, or the reverse.
    """
    passes: list[frozenset[str]] = []
    for members in _classes(sorted(items, key=lambda one: one.first)):
        count = len(members).bit_length()
        words = [set(word) for size in range(1, count + 1) for word in combinations(range(count), size)]
        chosen = sorted(words[: len(members)], key=len, reverse=True)
        for number in range(count):
            names = frozenset(one.name for one, word in zip(members, chosen, strict=True) if number in word)
            passes.append(names)
    return passes


def _classes(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items in classes of which no two share a step."""
    classes: list[list[Item]] = []
    for item in items:
        own = next((one for one in classes if not any(item.steps & other.steps for other in one)), None)
        if own is None:
            classes.append([item])
        else:
            own.append(item)
    return classes


def decide(items: Sequence[Item], passes: Passes) -> Decided:
    """Return what the passes show, as passes that leave out one item each would show it."""
    decided = Decided()
    if not passes.differs:
        decided.still_open = [one.name for one in items]
        return decided
    causes = [_possible(items, passes, step) for step in range(len(passes.differs[0]))]
    for item in items:
        step = next((at for at in range(item.first, len(causes)) if item.name in causes[at]), None)
        if step is None:
            decided.needless.append(item.name)
        elif (number := _only(item.name, passes, causes[step], step)) is not None:
            decided.shown[item.name] = (number, step)
        else:
            decided.still_open.append(item.name)
    return decided


def _possible(items: Sequence[Item], passes: Passes, step: int) -> set[str]:
    """Return the items that may be a cause of differences at a step: those left out in no pass without one."""
    return {
        item.name
        for item in items
        if item.first <= step
        and all(
            differs[step] for names, differs in zip(passes.left_out, passes.differs, strict=True) if item.name in names
        )
    }


def _only(name: str, passes: Passes, causes: Collection[str], step: int) -> int | None:
    """Return a pass in which an item is the only possible cause at a step, the one that leaves out least."""
    fits = [
        number for number, (names, differs) in enumerate(zip(passes.left_out, passes.differs, strict=True))
        if differs[step] and names.intersection(causes) == {name}
    ]  # fmt: skip
    return min(fits, key=lambda number: len(passes.left_out[number]), default=None)


def reached_by(uses: Mapping[str, Collection[int]], sources: Mapping[str, int]) -> dict[str, frozenset[int]]:
    """Return the steps that each variable may change: those that send it, and those that send what these give.

    `uses` are the steps that send a variable, `sources` the step whose answer gives it.
    """

    def reached(name: str, seen: set[str]) -> Iterator[int]:
        for step in uses[name]:
            yield step
            for other, source in sources.items():
                if source == step and other not in seen:
                    yield from reached(other, seen | {other})

    return {name: frozenset(reached(name, {name})) for name in uses}
