"""Download histories from S3 and upload runs to it; failures do not end a nightly run."""

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
from harness.storage.server import check_writable, open_storage

# More days than the gate uses.
_HISTORY_DAYS = 90


class NightlyStorage:
    """A location in S3; `problems` are the failed downloads and uploads, as sentences."""

    def __init__(self, url: str, endpoint_url: str | None) -> None:
        self._storage = open_storage(url, endpoint_url)
        self.problems: tuple[str, ...] = ()

    def fetch(self, reports: Path, loads: tuple[Load, ...]) -> None:
        """Download the metrics of earlier nightly runs; raise UsageError early when the location is not writable."""
        since = (datetime.now(UTC) - timedelta(days=_HISTORY_DAYS)).date().isoformat()
        try:
            check_writable(self._storage, log)
            for plan in dict.fromkeys(load.plan for load in loads):
                pulled = s3.pull(self._storage, reports, log, plan=plan, since=since, figures_only=True)
                if pulled.refused:
                    self._note(
                        f"not downloaded, because other local runs have the same names: {', '.join(pulled.refused)}"
                    )
                for problem in pulled.damaged:
                    self._note(f"not downloaded: {problem}")
        except ServiceError as error:
            self._note(f"metrics of earlier nightly runs were not downloaded: {error.what}")

    def push(self, directory: RunDirectory) -> None:
        """Upload a finished run."""
        run = directory.read_run()
        if run is None or run.state != FINISHED:
            return
        try:
            s3.push(directory, self._storage, log)
        except HarnessError as error:
            again = push_command(directory, self._storage)
            self._note(f"{directory.plan}/{directory.name} was not uploaded: {error.what}; repeat with: {again}")

    def _note(self, problem: str) -> None:
        log(problem)
        self.problems = (*self.problems, problem)
