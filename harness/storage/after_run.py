"""Keeps a run in S3 at its end; the place is tried before anything is measured."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, HarnessError
from harness.base.paths import shown
from harness.base.toolchain import ROOT
from harness.plan.spec import Profile
from harness.run.directory import RunDirectory
from harness.storage.s3 import Place, check_writable, open_place, push


def place_to_keep(url: str | None, profile: Profile) -> Place | None:
    """Return where a run is to be kept, once it is sure that it can be written there; None when nobody asked for it."""
    url = url or profile.storage.get("s3")
    if url is None:
        return None
    place = open_place(url, profile.storage.get("endpoint_url"))
    check_writable(place)
    return place


@dataclass(frozen=True)
class Kept:
    """The exit code of a run after its push, and why it is not in S3; empty when it is."""

    exit_code: int
    problem: str = ""


def keep(directory: RunDirectory, place: Place, code: int, say: Callable[[str], None]) -> Kept:
    """Push a run that has its report; where the push fails and the run's exit code is 0, it becomes one for that.

    Nothing is lost by a push that failed: it is said how to repeat it.
    """
    failed = EXIT_OK
    if code == EXIT_INTERRUPTED:
        problem = "interrupted, and therefore not pushed"
    else:
        try:
            push(directory, place, say)
            return Kept(code)
        except KeyboardInterrupt:
            problem = "the push was interrupted"
            failed = EXIT_INTERRUPTED
        except HarnessError as error:
            problem = f"not pushed: {error}"
            failed = EXIT_INVALID
    say(problem)
    say(f"the run is here, whole; to push it: {push_command(directory, place)}")
    return Kept(code or failed, problem)


def push_command(directory: RunDirectory, place: Place) -> str:
    """Return the command that pushes a run."""
    reports = directory.path.parent.parent
    words = ["./aggregate.py", "push", f"{directory.plan}/{directory.name}", place.location.url]
    words += ["--endpoint-url", place.endpoint_url] if place.endpoint_url else []
    words += [] if reports == ROOT / "reports" else ["--reports", shown(reports)]
    return shlex.join(words)
