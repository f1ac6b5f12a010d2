"""Reads the variants of an overload test out of SET: `accept_count=10,1000 max_threads=20` are two."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from harness.base.errors import UsageError
from harness.run.set_values import words_of

VARIANTS_MOST = 12


def parse_variants(text: str, list_settings: Collection[str]) -> tuple[str, ...]:
    """Return the values of SET of each variant: every combination of the values with commas between them.

    Settings that are lists themselves (`list_settings`) have one value. Without a text there is one variant, whose text
    is empty. UsageError for an empty or repeated value, and for too many variants.
    """
    choices = [_choices(word, list_settings) for word in words_of(text)]
    variants = tuple(shlex.join(words) for words in product(*choices))
    if len(variants) > VARIANTS_MOST:
        raise UsageError(f"SET has {len(variants)} variants", f"give values for at most {VARIANTS_MOST}")
    return variants


def fixed_words(variants: Collection[str]) -> tuple[str, ...]:
    """Return the words that all variants have, sorted."""
    sets = [set(words_of(variant)) for variant in variants]
    return tuple(sorted(set.intersection(*sets))) if sets else ()


def variant_names(variants: Sequence[str]) -> Mapping[str, str]:
    """Return the names of variants for people: the words in which they differ."""
    fixed = fixed_words(variants) if len(variants) > 1 else ()
    own = {variant: [word for word in words_of(variant) if word not in fixed] for variant in variants}
    return {variant: shlex.join(words) or "the plan's settings" for variant, words in own.items()}


def _choices(word: str, list_settings: Collection[str]) -> list[str]:
    name, equals, values = word.partition("=")
    if not equals or name.rpartition(".")[2] in list_settings or "," not in values:
        return [word]
    found = [value.strip() for value in values.split(",")]
    if not all(found) or len(set(found)) < len(found):
        raise UsageError(f"SET: {word} has an empty or a repeated value", f"give each value once, as in {name}=10,1000")
    return [f"{name}={value}" for value in found]
