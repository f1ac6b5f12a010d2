"""The limit of open files: every user of the generator holds a connection, and so does the system's other end."""

from __future__ import annotations

import resource

from harness.base.errors import UsageError
from harness.base.units import plural

# What JMeter and the system open beside the users' connections: jars, logs, pools.
_OTHER_FILES = 1000


def allow_open_files(users: int) -> None:
    """Raise the soft limit of open files as far as so many users need; UsageError when the hard one is too low."""
    needed = users + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _holds(soft, needed):
        return
    if not _holds(hard, needed):
        raise UsageError(
            f"{plural(users, 'user')} want {needed} open files, and the limit is {hard}",
            f"raise it for this shell: sudo prlimit --pid $$ --nofile={needed}:{needed}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def allow_most_open_files() -> None:
    """Raise the soft limit of open files to the hard one: how many users will come is not known yet."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _holds(limit: int, needed: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= needed
