"""The live page of one run: counts what JMeter writes, and serves it to viewers until the report exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.base.log import Log
from harness.compare.result import RunResult
from harness.jtl.sample import Sample
from harness.live.page import live_page
from harness.live.server import LiveServer
from harness.live.state import LiveState
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.load import load_record
from harness.plan.spec import RunSpec
from harness.report.setup import load_text
from harness.report.summary import RunSummary
from harness.report.verdict import headline
from harness.run.directory import RunDirectory
from harness.site.body import state_of, tiles

# So many of the last points may have changed since a viewer got them: JMeter writes rows a little late.
_CHANGING = 10


class LiveRun:
    """The live page of a run; `log` prints its address, `stop` ends the load as Ctrl-C does.

    `charts` contains the chart library. A port that is taken is reported, and the run goes on without the page.
    """

    def __init__(self, port: int, charts: Path, stop: Callable[[], None], log: Log) -> None:
        self._charts, self._stop, self._log, self._port = charts, stop, log, port
        self._server: LiveServer | None = None
        self._state: LiveState | None = None
        self._now: dict[str, Any] | None = None
        self._end: dict[str, Any] | None = None
        self._telemetry: TelemetryTail | None = None
        self._run = ""
        self._is_stopping = False
        self._is_broken = False

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Serve the page of the run that starts in a directory."""
        state = LiveState(spec.plan.goal, spec.load.duration_s, spec.plan.once_labels)
        try:
            server = LiveServer(self._port, self._message, self._asked_to_stop)
        except OSError as error:
            self._log(f"LIVE: port {self._port} cannot be used ({error.strerror}); the run has no live page")
            return
        self._state, self._telemetry = state, TelemetryTail(directory.telemetry)
        self._run = identity = f"{directory.plan}/{directory.name}"
        server.page = live_page(
            identity, f"Load: {load_text(load_record(spec.load, spec.plan.load))}.", server.token, self._charts
        )
        self._server = server
        self._log(f"live page: {server.url}")

    def add(self, samples: Sequence[Sample], passed_s: float) -> None:
        """Count the samples of the last second and send them to the viewers."""
        if self._server is None or self._state is None or self._is_broken:
            return
        try:
            self._state.add(samples, passed_s)
            if self._server.viewer_count and self._telemetry:
                self._state.uses = self._telemetry.uses()
                self._now = self._state.now()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # The run is worth more than its page.
            self._is_broken = True
            self._log(f"LIVE: the page is not updated any more ({error!r}); the run goes on")
        self._server.publish()

    def finish(self) -> None:
        """Go on as before: the page shows the verdict at the end."""

    def end(self, summary: RunSummary, report: str) -> None:
        """Send the verdict and the key metrics of the report, which is the file `report`."""
        result = RunResult.of(summary)
        if self._state and not self._is_broken:
            self._now = self._state.now()
        self._end = {
            "verdict": headline(summary.verdict),
            "state": state_of(result).replace(" ", "-"),
            "tiles": [[tile.title, tile.value, tile.unit] for tile in tiles(result)],
            "report": report,
        }

    def __enter__(self) -> LiveRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._server:
            self._server.end()

    def _asked_to_stop(self) -> None:
        if self._is_stopping:
            return  # a second request would end JMeter at once, as a second Ctrl-C does
        self._is_stopping = True
        self._log("stop: asked for on the live page")
        self._stop()

    def _message(self, sent_count: int) -> dict[str, Any]:
        """Return the newest points, the tables, and the end when it is known.

        A viewer has `sent_count` points already; the last of them may have changed, and at the end any.
        """
        first = 0 if self._end else max(0, sent_count - _CHANGING)
        points = self._state.points(first, is_ended=self._end is not None) if self._state else []
        return {"run": self._run, "from": first, "points": points, "now": self._now, "end": self._end}
