"""Guesses what a value is that no response has given: a time, a UUID, a random number."""

from __future__ import annotations

import re
from typing import NamedTuple

from harness.base.units import MS_PER_S

_DAY_S = 86_400
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Guess(NamedTuple):
    """What a value may be, and what to write instead."""

    what: str = ""
    todo: str = ""


def guess_of(value: str, name: str, sent_s: float) -> Guess:
    """Return what a value without a source may be and what to write instead; empty texts when it is not known.

    `name` is that of its field.
    """
    if name in ("code_challenge", "code_verifier"):
        return Guess("PKCE, RFC 7636", "nothing to do: every user may send the recorded pair")
    if value.isdigit():
        if abs(int(value) / MS_PER_S - sent_s) < _DAY_S:
            return Guess("time in ms", "write ${__time()}")
        if abs(int(value) - sent_s) < _DAY_S:
            return Guess("time in s", "write ${__time(/1000)}")
    if _UUID.fullmatch(value):
        return Guess("UUID", "write ${__UUID}")
    if re.fullmatch(r"0?\.\d{8,}|\d{9,}", value):
        return Guess("random number", f"write ${{__Random(1,{10 ** min(9, len(value.lstrip('0.')))})}}")
    if re.fullmatch(r"[0-9a-f]{16,}", value):
        return Guess(
            "random hexadecimal number, or a hash",
            f"if random, write ${{__RandomString({len(value)},0123456789abcdef)}}",
        )
    return Guess()
