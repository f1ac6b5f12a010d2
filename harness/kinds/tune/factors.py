"""Reads the settings of a designed experiment, such as `plugin_threads=30,60,100 log_level=WARN,INFO`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from harness.base.errors import UsageError
from harness.run.set_values import split_text

# The index of the value of each factor, in the order of the factors.
Cell = tuple[int, ...]
_EXAMPLE = '--set="plugin_threads=30,60 dao_max_active=50,80"'


@dataclass(frozen=True)
class Factor:
    """A setting of the system or a property of the plan, with the values to try; the first one is the baseline."""

    name: str
    values: tuple[str, ...]

    def assignment(self, level: int) -> str:
        """Return a value as an assignment of SET, such as plugin_threads=30."""
        return f"{self.name}={self.values[level]}"


def parse_factors(text: str) -> tuple[Factor, ...]:
    """Return the factors of SET, name=value,value,… each; UsageError unless each has two or more different values."""
    factors: list[Factor] = []
    for part in split_text(text):
        name, equals, rest = part.partition("=")
        values = tuple(value.strip() for value in rest.split(","))
        if not equals or not name or not all(values):
            raise UsageError(f"{part} is not name=value,value", f"give {_EXAMPLE}")
        if len(values) == 1:
            todo = f"give several, such as {name}={values[0]},…; a fixed value belongs in the profile"
            raise UsageError(f"{part}: one value only, so there is nothing to compare", todo)
        if len(set(values)) < len(values):
            raise UsageError(f"{part}: a value occurs twice", "give each value once")
        if name in (factor.name for factor in factors):
            raise UsageError(f"{name} occurs twice", "give all of its values in one word")
        factors.append(Factor(name, values))
    if not factors:
        raise UsageError("--set is missing", f"give the settings with the values to try: {_EXAMPLE}")
    return tuple(factors)


def combination_count(factors: Sequence[Factor]) -> int:
    """Return the number of combinations of all values."""
    return math.prod(len(factor.values) for factor in factors)


def combinations(factors: Sequence[Factor]) -> Iterator[Cell]:
    """Yield all combinations; the first one is the baseline."""
    return product(*(range(len(factor.values)) for factor in factors))


def assignments(factors: Sequence[Factor], cell: Sequence[int | None]) -> list[str]:
    """Return a combination as assignments of SET, without the factors whose index is None."""
    return [factor.assignment(level) for factor, level in zip(factors, cell, strict=True) if level is not None]


def set_text(factors: Sequence[Factor], cell: Sequence[int | None]) -> str:
    """Return a combination as SET takes it; a value with blanks is quoted."""
    return shlex.join(assignments(factors, cell))
