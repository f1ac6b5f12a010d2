"""Uploads a finished run to S3; write access is checked before the run starts."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from harness.base.errors import EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, HarnessError
from harness.base.log import Log, log
from harness.base.paths import shown
from harness.base.project import current_project
from harness.plan.spec import Profile
from harness.run.directory import RunDirectory
from harness.storage.bucket import Storage, check_writable, open_storage
from harness.storage.s3 import push


def storage_for_run(url: str | None, profile: Profile) -> Storage | None:
    """Return the S3 location for a run, after a check of write access; None when no upload was requested."""
    url = url or profile.storage.get("s3")
    if url is None:
        return None
    storage = open_storage(url, profile.storage.get("endpoint_url"))
    check_writable(storage, log)
    return storage


@dataclass(frozen=True)
class PushOutcome:
    """The exit code of a run after its push, and the reason when it is not in S3, else an empty text."""

    exit_code: int
    problem: str = ""


def push_after_run(directory: RunDirectory, storage: Storage, code: int, log: Log) -> PushOutcome:
    """Push a run with its report. Return its exit code or, if that is 0 and the push failed, the push's code.

    A failed push loses nothing: a message gives the command to repeat it.
    """
    failed = EXIT_OK
    if code == EXIT_INTERRUPTED:
        problem = "interrupted, therefore not pushed"
    else:
        try:
            push(directory, storage, log)
            return PushOutcome(code)
        except KeyboardInterrupt:
            problem = "the push was interrupted"
            failed = EXIT_INTERRUPTED
        except HarnessError as error:
            problem = f"not pushed: {error}"
            failed = EXIT_INVALID
    log(problem)
    log(f"the run is complete on this machine; to push it: {push_command(directory, storage)}")
    return PushOutcome(code or failed, problem)


def push_command(directory: RunDirectory, storage: Storage) -> str:
    """Return the command that pushes a run."""
    reports = directory.path.parent.parent
    arguments = ["push", f"{directory.plan}/{directory.name}", storage.location.url]
    arguments += ["--endpoint-url", storage.endpoint_url] if storage.endpoint_url else []
    arguments += [] if reports == current_project().reports else ["--reports", shown(reports)]
    return shlex.join(["lth", *arguments])
