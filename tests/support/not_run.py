"""What a machine lacks for the tests: how many did not run for which program, and the one command that installs all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

# The reason that `tests.support.programs.program` gives for a skipped test.
_REASON = re.compile(r"NOT CHECKED: no (?P<programs>.+) on this machine: install the package (?P<package>[\w.+-]+)")
# What .ci/install installs only for make test-real.
_REAL = ("buildah", "debootstrap", "bubblewrap", "golang", "openssh-server", "faketime")


def summary_of(reasons: Iterable[str]) -> list[str]:
    """Return the lines for the end of a test run from the reasons of skipped tests; none when nothing is missing."""
    found = [match for match in map(_REASON.search, reasons) if match]
    if not found:
        return []
    counts = Counter((match["package"], match["programs"].split(" or ")[0]) for match in found)
    lacking = ", ".join(f"{count} without {program}" for (_, program), count in counts.most_common())
    real = " real" if any(package in _REAL for package, _ in counts) else ""
    are = "test was" if len(found) == 1 else "tests were"
    return [
        f"{len(found)} {are} not run for missing programs: {lacking}.",
        f"This command installs them on Debian and Ubuntu: .ci/install{real}",
    ]
