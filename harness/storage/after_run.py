"""Uploads a finished run to S3; write access is checked before the run starts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, HarnessError
from harness.base.log import Log
from harness.base.paths import shown
from harness.base.toolchain import ROOT
from harness.plan.spec import Profile
from harness.run.directory import RunDirectory
from harness.storage.s3 import Place, check_writable, open_place, push


def place_to_keep(url: str | None, profile: Profile) -> Place | None:
    """Return the S3 location for a run, after a check of write access; None when no upload was requested."""
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


def keep(directory: RunDirectory, place: Place, code: int, log: Log) -> Kept:
    """Push a run with its report. Its exit code stays or, if that is 0 and the push failed, is the push's.

    A failed push loses nothing: a message gives the command to repeat it.
    """
    failed = EXIT_OK
    if code == EXIT_INTERRUPTED:
        problem = "interrupted, therefore not pushed"
    else:
        try:
            push(directory, place, log)
            return Kept(code)
        except KeyboardInterrupt:
            problem = "the push was interrupted"
            failed = EXIT_INTERRUPTED
        except HarnessError as error:
            problem = f"not pushed: {error}"
            failed = EXIT_INVALID
    log(problem)
    log(f"the run is complete on this machine; to push it: {push_command(directory, place)}")
    return Kept(code or failed, problem)


def push_command(directory: RunDirectory, place: Place) -> str:
    """Return the command that pushes a run."""
    reports = directory.path.parent.parent
    words = ["./aggregate.py", "push", f"{directory.plan}/{directory.name}", place.location.url]
    words += ["--endpoint-url", place.endpoint_url] if place.endpoint_url else []
    words += [] if reports == ROOT / "reports" else ["--reports", shown(reports)]
    return shlex.join(words)
