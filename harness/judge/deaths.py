"""Says which users an Error or an exception of JMeter ended, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.base import units
from harness.judge.evidence import Evidence

if TYPE_CHECKING:
    from harness.run.record import DeathRecord

_CAUSES_NAMED = 3
_HEAP = "java.lang.OutOfMemoryError: Java heap space"
_NO_THREAD = "unable to create native thread"


def dead_users(evidence: Evidence) -> list[str]:
    """Return why the run is INVALID: users that an Error or an exception ended did not do what they were to do."""
    run = evidence.run
    if run is None or not run.deaths:
        return []
    whole = sum(death.count for death in run.deaths)
    users = sum(death.count for death in run.deaths if death.what == "user")
    first = min(run.deaths, key=lambda death: death.first_ms)
    if not users:
        who = f"{units.plural(whole, 'download')} of embedded resources"
    elif run.load.users and users <= run.load.users:
        who = f"{users} of {units.plural(run.load.users, 'user')}"
    else:
        who = units.plural(users, "user")
    causes = [_cause_text(death) for death in (first, *(one for one in run.deaths if one is not first))]
    named = "; ".join(dict.fromkeys(causes[:_CAUSES_NAMED]))
    when = ""
    if evidence.origin_s is not None:
        when = f", first at {max(0, first.first_ms // units.MS_PER_S - evidence.origin_s)} s"
    return [f"{who} died: {named}{when}; {_remedy(run.deaths, run.generator_heap_mb)}"]


def _cause_text(death: DeathRecord) -> str:
    """Return the cause without the packages of its class."""
    name, colon, message = death.cause.partition(": ")
    return f"{name.rpartition('.')[2]}{colon}{message}"


def _remedy(deaths: Sequence[DeathRecord], heap_mb: int) -> str:
    causes = [death.cause for death in deaths]
    if any(_NO_THREAD in cause for cause in causes):
        return "raise the limit of threads (ulimit -u, or pids of the container), or drive fewer users"
    if any(cause.startswith(_HEAP) or "GC overhead" in cause for cause in causes):
        return f"set heap_mb = {2 * heap_mb} in [generator] of the profile"
    if any("Metaspace" in cause for cause in causes):
        return "set jvm_args = '-XX:MaxMetaspaceSize=512m' in [generator] of the profile"
    if any("StackOverflowError" in cause for cause in causes):
        return "set jvm_args = '-Xss4m' in [generator] of the profile"
    return "jmeter.log has more"
