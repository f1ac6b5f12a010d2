"""Reads the settings of a system from a command line, such as `killbill.plugin_threads=60 heap_max_mb=1024`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from harness.base.errors import UsageError
from harness.base.secrecy import is_secret_name
from harness.system.system import Manifest, Setting, Settings, there_is

_TRUTH = {"true": True, "false": False}


def with_given(manifest: Manifest, settings: Settings, text: str, of_plan: Mapping[str, object]) -> Settings:
    """Return a system's settings, changed by those in a text; a name may have the system's name in front.

    UsageError for an unknown name, a value of another type or out of range, a secret, and a setting of which the
    plan's `of_plan` has another value, because the plan's name would then be misleading.
    """
    given: dict[str, Setting] = {}
    for word in words_of(text):
        name, equals, value = word.partition("=")
        bare = name.removeprefix(f"{manifest.name}.")
        if not equals or bare not in manifest.settings:
            what = f"SETTINGS: {name}: {manifest.name} has no such setting" if equals else f"SETTINGS: {word}"
            raise UsageError(what, there_is(bare, manifest.settings) if equals else "give name=value")
        if bare in given:
            raise UsageError(f"SETTINGS: {bare} occurs twice", "give each setting once")
        if is_secret_name(bare):
            raise UsageError(f"SETTINGS: {bare} is a secret, and a report has the command", "set it in a profile")
        given[bare] = _typed(value, manifest.settings[bare])
        if of_plan.get(bare, given[bare]) != given[bare]:
            what = f"SETTINGS: {bare}={value}, but the plan sets {of_plan[bare]!r}"
            raise UsageError(what, "leave it out, or choose another plan")
    return manifest.resolve_settings({**settings, **given})


def words_of(text: str) -> list[str]:
    """Return the words of a text, in which quotes join words; UsageError for a quote that nothing ends."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{text}: {str(error).lower()}", "close the quote") from None


def _typed(value: str, default: Setting) -> Setting:
    """Return a value with the type of the setting's default; the text itself when it has another type."""
    if isinstance(default, bool):
        return _TRUTH.get(value.lower(), value)
    if isinstance(default, list):
        return [part.strip() for part in value.split(",") if part.strip()]
    try:
        return int(value) if isinstance(default, int) else float(value) if isinstance(default, float) else value
    except ValueError:
        return value
