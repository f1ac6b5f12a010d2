"""Reads the variants of an overload test out of SET: `accept_count=10,1000 max_threads=20` are two."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from harness.base.errors import UsageError
from harness.run.set_values import split_text

VARIANTS_MOST = 12


def parse_variants(text: str, list_settings: Collection[str]) -> tuple[str, ...]:
    """Return the values of SET of each variant: every combination of the values with commas between them.

    Settings that are lists themselves (`list_settings`) have one value. Without a text there is one variant, whose text
    is empty. UsageError for an empty or repeated value, and for too many variants.
    """
    choices = [_choices(assignment, list_settings) for assignment in split_text(text)]
    variants = tuple(shlex.join(assignments) for assignments in product(*choices))
    if len(variants) > VARIANTS_MOST:
        raise UsageError(f"SET has {len(variants)} variants", f"give values for at most {VARIANTS_MOST}")
    return variants


def common_assignments(variants: Collection[str]) -> tuple[str, ...]:
    """Return the assignments that all variants have, sorted."""
    sets = [set(split_text(variant)) for variant in variants]
    return tuple(sorted(set.intersection(*sets))) if sets else ()


def variant_names(variants: Sequence[str]) -> Mapping[str, str]:
    """Return the names of variants for people: the assignments in which they differ."""
    common = common_assignments(variants) if len(variants) > 1 else ()
    own = {variant: [one for one in split_text(variant) if one not in common] for variant in variants}
    return {variant: shlex.join(assignments) or "the plan's settings" for variant, assignments in own.items()}


def _choices(assignment: str, list_settings: Collection[str]) -> list[str]:
    name, equals, values = assignment.partition("=")
    if not equals or name.rpartition(".")[2] in list_settings or "," not in values:
        return [assignment]
    found = [value.strip() for value in values.split(",")]
    if not all(found) or len(set(found)) < len(found):
        todo = f"give each value once, as in {name}=10,1000"
        raise UsageError(f"SET: {assignment} has an empty or a repeated value", todo)
    return [f"{name}={value}" for value in found]
