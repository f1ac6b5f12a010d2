"""Raises the limit of open files: every virtual user needs a connection in JMeter and one in the system."""

from __future__ import annotations

import resource

from harness.base.errors import UsageError
from harness.base.units import plural

# Files that JMeter and the system open besides the users' connections: jars, logs, pools.
_OTHER_FILES = 1000


def allow_open_files(users: int) -> None:
    """Raise the soft limit of open files for this number of users. UsageError when the hard limit is too low."""
    needed = users + _OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _is_enough(soft, needed):
        return
    if not _is_enough(hard, needed):
        raise UsageError(
            f"{plural(users, 'user')} need {needed} open files, but the limit is {hard}",
            f"raise it for this shell: sudo prlimit --pid $$ --nofile={needed}:{needed}",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def allow_most_open_files() -> None:
    """Raise the soft limit of open files to the hard limit, when the number of users is not known yet."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _is_enough(limit: int, needed: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= needed
