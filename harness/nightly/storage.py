"""The place in S3 that a night's histories come from and its runs go to; what fails there ends no night."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from harness.base.errors import HarnessError, ServiceError
from harness.base.log import log
from harness.nightly.record import Load
from harness.run.directory import RunDirectory
from harness.run.record import FINISHED
from harness.storage import s3
from harness.storage.after_run import push_command

# More nights than the gate looks at.
_HISTORY_DAYS = 90


class NightStorage:
    """A place in S3; `problems` are what could not be fetched or pushed, in sentences."""

    def __init__(self, url: str, endpoint_url: str | None) -> None:
        self._storage = s3.open_storage(url, endpoint_url)
        self.problems: tuple[str, ...] = ()

    def fetch(self, reports: Path, loads: tuple[Load, ...]) -> None:
        """Fetch the figures of earlier nights; UsageError when nothing could be pushed there: better now than later."""
        since = (datetime.now(UTC) - timedelta(days=_HISTORY_DAYS)).date().isoformat()
        try:
            s3.check_writable(self._storage)
            for plan in dict.fromkeys(load.plan for load in loads):
                pulled = s3.pull(self._storage, reports, log, plan=plan, since=since, figures_only=True)
                if pulled.refused:
                    self._note(f"not fetched, for other runs of the same names are here: {', '.join(pulled.refused)}")
                for problem in pulled.damaged:
                    self._note(f"not fetched: {problem}")
        except ServiceError as error:
            self._note(f"figures of earlier nights were not fetched: {error.what}")

    def push(self, directory: RunDirectory) -> None:
        """Push a run that came to its end."""
        data = directory.read_run()
        if data is None or data["state"] != FINISHED:
            return
        try:
            s3.push(directory, self._storage, log)
        except HarnessError as error:
            again = push_command(directory, self._storage)
            self._note(f"{directory.plan}/{directory.name} was not pushed: {error.what}; again: {again}")

    def _note(self, problem: str) -> None:
        log(problem)
        self.problems = (*self.problems, problem)
