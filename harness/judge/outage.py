"""Finds since when all requests failed: the cause of a run that mostly failed, which its first line names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from harness.base import units
from harness.metrics.figures import ErrorKind
from harness.metrics.load_seconds import spells_of
from harness.metrics.timeline import SecondFigures, total

# A cause is named when it explains this share of the failures.
_EXPLAINED_RATIO = 0.9
# Failures of fewer seconds at the end may be those of the last requests, which the end of the load cut off.
_LEAST_S = 3
_HOST = re.compile(r"[Cc]onnect to ([^\s\[]+)")


def find_outage(seconds: Sequence[SecondFigures], errors: Sequence[ErrorKind]) -> str:
    """Return since when all requests failed, and how: `127.0.0.1:80 refused connections from 0:05 on`.

    Empty where requests also succeeded later, or where nothing but their number is known. `seconds` has one entry per
    second since the load began, by the ends of samples.
    """
    spells = spells_of(seconds)
    succeeded = [one.from_s for one in spells if one.value.sample_count > one.value.error_count]
    failed_count = total(seconds).error_count
    since_s = succeeded[-1] + 1 if succeeded else 0
    later_count = total(seconds[since_s:]).error_count
    if not failed_count or len(seconds) - since_s < _LEAST_S or later_count < _EXPLAINED_RATIO * failed_count:
        return ""
    errors = [kind for kind in errors if kind.last_s >= 0 and kind.first_s < len(seconds)]  # of the load
    for is_cause, text in _CAUSES:
        kinds = [kind for kind in errors if is_cause(kind)]
        if sum(kind.count for kind in kinds) >= _EXPLAINED_RATIO * failed_count:
            return text(kinds, _since(kinds, since_s))
    return f"all requests failed {_since(errors, since_s)}" if succeeded else ""


def _since(kinds: Sequence[ErrorKind], since_s: int) -> str:
    """Return when these failures began, of a system without a success from `since_s` on."""
    # A sample that succeeded may have ended in the second in which the failures begin.
    first_s = min((int(kind.first_s) for kind in kinds), default=since_s)
    from_s = first_s if first_s >= since_s - 1 else since_s
    return f"from {units.clock_text(from_s)} on" if from_s > 0 else "from the start"


def _is_refused(kind: ErrorKind) -> bool:
    """Return whether nothing listened. The code also says so, unless the connection had a time limit."""
    text = f"{kind.cause} {kind.example}"
    return "Connection refused" in text or (kind.code.endswith(".HttpHostConnectException") and "timed out" not in text)


def _refused(kinds: Sequence[ErrorKind], since: str) -> str:
    host = next((found[1] for kind in kinds if (found := _HOST.search(kind.example))), "the system")
    return f"{host} refused connections {since}"


def _is_unanswered(kind: ErrorKind) -> bool:
    """Return whether the request was sent and got no answer until a time limit or the end of the run."""
    return any(word in f"{kind.code} {kind.cause} {kind.example}" for word in ("Socket closed", "timed out"))


def _unanswered(kinds: Sequence[ErrorKind], since: str) -> str:
    count = units.plural(sum(kind.count for kind in kinds), "request")
    return f"the system did not answer {since}: {count} got no answer"


_CAUSES: Sequence[tuple[Callable[[ErrorKind], bool], Callable[[Sequence[ErrorKind], str], str]]] = (
    (_is_refused, _refused),
    (_is_unanswered, _unanswered),
)
