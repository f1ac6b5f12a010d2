"""Decides which extractors of a recorded plan are needed, of passes that leave out several of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.plan.har.correlation import Variable
from harness.plan.har.proof import Answers, difference, differences, is_for_recorded
from harness.plan.har.recorded import Recorded
from harness.plan.har.steps import Where
from harness.plan.har.variants import Item, Passes, decide, groups_of, reached_by

# Returns the answers of a pass for each group of names, which it leaves out.
Without = Callable[[Sequence[Collection[str]]], list[Answers]]


def items_of(recorded: Recorded, variables: Sequence[Variable]) -> list[Item]:
    """Return the extractors with the steps that they may change: those that get their values, and a log-in all later.

    A log-in is a step that sends a password.
    """
    uses = {one.name: {use.step for use in one.uses} for one in variables}
    reached = reached_by(uses, {one.name: one.source for one in variables})
    places = (Where.FORM, Where.BODY)
    secret = (uses for typed, uses in recorded.found.typed.items() if typed.is_secret)
    log_ins = {use.step for uses in secret for use in uses if use.key[0] in places}
    last = len(recorded.steps)
    return [
        Item(
            name,
            min(uses[name]),
            frozenset(steps).union(*(range(step, last) for step in uses[name] & log_ins)),
        )
        for name, steps in reached.items()
    ]


def group_count(recorded: Recorded) -> int:
    """Return how many passes leave out the extractors in groups."""
    return len(groups_of(items_of(recorded, recorded.found.variables)))


@dataclass(frozen=True)
class Tried:
    """Extractors, the answers of users with all of them, `full`, and the values that these users sent."""

    recorded: Recorded
    variables: Sequence[Variable]
    full: Sequence[Answers]
    sent: Mapping[str, Sequence[str]]

    def needed(self, without: Without) -> dict[str, str]:
        """Return what differs without each needed extractor. Those that the groups leave open get a pass alone."""
        items, values = items_of(self.recorded, self.variables), dict[str, str]()
        groups, alone = groups_of(items), [one.name for one in items]
        if len(groups) < len(items):
            passes = self._passes(items, groups, without(groups))
            decided = decide(items, Passes([one.group for one in passes], [one.differs for one in passes]))
            texts = {name: self._text(name, step, passes[number]) for name, (number, step) in decided.shown.items()}
            values = {name: text for name, text in texts.items() if text}
            alone = [one.name for one in items if one.name not in values and one.name not in decided.needless]
        for name, other in zip(alone, without([{name} for name in alone]) if alone else (), strict=True):
            variable = self._variable(name)
            first = min(use.step for use in variable.uses)
            if what := difference(variable, first, self.recorded.labels(), self.full, other, self.sent[name]):
                values[name] = what
        return {one.name: values[one.name] for one in self.variables if one.name in values}

    def _variable(self, name: str) -> Variable:
        return next(one for one in self.variables if one.name == name)

    def _passes(
        self, items: Sequence[Item], groups: Sequence[frozenset[str]], answers: Sequence[Answers]
    ) -> list[_Pass]:
        """Return where the passes differ, without those that differ before they leave anything out."""
        passes = []
        for group, other in zip(groups, answers, strict=True):
            own = [one for one in items if one.name in group]
            first = min(one.first for one in own)
            whats = differences(first, self.full, other)
            if any(whats[:first]):
                continue
            differs = [
                bool(what) or any(one.first <= at and self._is_for_recorded(one.name, at, other) for one in own)
                for at, what in enumerate(whats)
            ]
            passes.append(_Pass(group, other, whats, differs))
        return passes

    def _is_for_recorded(self, name: str, at: int, other: Answers) -> bool:
        return is_for_recorded(self._variable(name).values[0], at, self.full, other, self.sent[name])

    def _text(self, name: str, step: int, one: _Pass) -> str:
        """Return how the answer to a step differs in a pass in which an extractor is the only cause of it."""
        what = one.whats[step]
        if not what and self._is_for_recorded(name, step, one.answers):
            what = "answers for the recorded value"
        return f"step {step + 1} {self.recorded.labels()[step]} {what}" if what else ""


class _Pass(NamedTuple):
    """A pass that leaves out a group: its answers, how and whether each differs."""

    group: frozenset[str]
    answers: Answers
    whats: list[str]
    differs: list[bool]
