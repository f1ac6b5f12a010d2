"""What the requests of a recorded plan replace: values of responses, what a person typed, and secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.base.credentials import credentials_in
from harness.base.spellings import LEAST_LENGTH
from harness.plan.har.extract import Coding, Extractor
from harness.plan.har.steps import Field


class Use(NamedTuple):
    """Where a value is sent: the step, the key of its field, the recorded text, and what replaces it.

    One that `is_part` of a text is replaced anywhere in it, also within a text of JSON.
    """

    step: int
    key: tuple[str, str]
    text: str
    expression: str
    is_part: bool = False


@dataclass
class Variable:
    """A value that the extractor reads from the responses of step `source`, and its uses.

    `values` are what the recordings send, `given` is what the response of the first one has.
    """

    name: str
    values: tuple[str, ...]
    given: str
    source: int
    extractor: Extractor
    coding: Coding
    uses: list[Use] = field(default_factory=list)


class Typed(NamedTuple):
    """A value that a person typed: a column of the data file, or a secret; `may_vary` as in Field."""

    column: str
    value: str
    is_secret: bool
    may_vary: bool = False


class Unexplained(NamedTuple):
    """A value that no response has: where it is sent, what it may be, and what to do."""

    step: int
    where: str
    value: str
    guess: str
    todo: str


@dataclass
class Correlation:
    """What the requests of a plan replace.

    `rows` has what was typed in each further recording, by column.
    """

    variables: list[Variable] = field(default_factory=list)
    typed: dict[Typed, list[Use]] = field(default_factory=dict)
    unexplained: list[Unexplained] = field(default_factory=list)
    unmatched: list[int] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)

    def uses(self) -> Iterator[Use]:
        """Yield what is replaced by variables, columns and secrets."""
        for variable in self.variables:
            yield from variable.uses
        for uses in self.typed.values():
            yield from uses


def add_typed(found: Correlation, number: int, one: Field, typed: Typed, others: Sequence[str | None] = ()) -> None:
    """Add a typed value; one that is equal to an earlier one shares its column, another one gets a new name.

    `others` are the values of further recordings, None where they are not known.
    """
    texts = (typed.value, typed.value.replace('\\"', '"'))  # the latter as JSON has it
    inner = [one.value for text in texts for one in credentials_in(typed.column, text)]
    if typed.value in inner:
        typed = typed._replace(is_secret=True, may_vary=False)
    elif inner and not typed.is_secret:
        return  # it is sent as it was recorded, without the secret in it
    if typed.is_secret and len(typed.value) < LEAST_LENGTH:
        typed = typed._replace(is_secret=False)  # too short to be masked
    same = next((other for other in found.typed if other.value == typed.value and other.is_secret), None)
    if same is None or not typed.is_secret:
        base, count = typed.column, 1
        while any(other.column == typed.column and other != typed for other in found.typed):
            count += 1
            typed = typed._replace(column=f"{base}_{count}")
        same = typed
    found.typed.setdefault(same, []).append(Use(number, one.key, typed.value, same.column))
    for row, other in zip(found.rows, others, strict=False):
        if other is not None:
            row.setdefault(same.column, other)
