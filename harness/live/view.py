"""The live page of a command: counts what JMeter writes in each run, and serves it until the last report exists."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from harness.base.log import Log
from harness.base.plain_text import without_control
from harness.jtl.sample import Sample
from harness.judge.summary import RunSummary
from harness.live.page_address import LiveAddress
from harness.live.server import LiveServer
from harness.live.state import CELL_EDGES_MS, SECOND, TIMES, LiveState, goal_rows
from harness.live.telemetry_tail import TelemetryTail
from harness.plan.load.model import LoadRecord, load_record
from harness.plan.spec import RunSpec
from harness.report.charts.run_charts import CHARTS
from harness.report.run_result import RunResult
from harness.report.setup import load_text
from harness.report.watchers import Watcher
from harness.run.directory import RunDirectory
from harness.run.record import RunRecord
from harness.site.body import tone_of
from harness.site.files import asset_text, library_scripts
from harness.site.html import filled
from harness.site.single import single_page

# So many of the last points may have changed since a viewer got them: JMeter writes rows a little late.
_CHANGING = 10
# The tables of many labels with many different times are made less often than each second: they take at most this share
# of a core.
_TABLES_RATIO = 0.02
# Tables that are older than this, and are not made seldom because they take long, are not sent to a new viewer.
_CURRENT_S = 2.0


class LiveView(Watcher):
    """The live page of a command; `log` prints its address, `stop` ends `stops` as Ctrl-C does.

    `stops` is such as "the load", `charts` contains the chart library. The page is served from the first run that is
    announced or begins. An address that cannot be used is reported, and the runs continue without the page.
    """

    def __init__(self, address: LiveAddress, charts: Path, stops: str, stop: Callable[[], None], log: Log) -> None:
        self._address, self._charts, self._stops, self._stop, self._log = address, charts, stops, stop, log
        self._server: LiveServer | None = None
        self._is_refused = False
        self._is_stopping = False
        self._run: _LiveRun | None = None
        self._name = ""
        self._heading = ""
        self._is_starting = False
        self._earlier: list[list[str]] = []

    def announce(self, heading: str) -> None:
        """Show which run of the series is next; the results of the one before are shown until it begins."""
        server = self._opened()
        if server:
            self._heading, self._is_starting = heading, True
            server.publish()

    def begin(self, directory: RunDirectory, spec: RunSpec) -> None:
        """Show the run that starts in a directory."""
        load = load_record(spec.load, spec.plan.load)
        self._show(directory, LiveState(spec.plan.goal, load.duration_s, spec.plan.once_labels, spec.hidden), load)

    def show(self, directory: RunDirectory, record: RunRecord, hidden: Sequence[str]) -> None:
        """Show a run of another process; `hidden` are the secrets that no text may contain."""
        state = LiveState(record.goal, record.load.duration_s, record.once_labels, hidden)
        self._show(directory, state, record.load)

    def _show(self, directory: RunDirectory, state: LiveState, load: LoadRecord) -> None:
        server = self._opened()
        if server is None:
            return
        name = f"{directory.plan}/{directory.name}"
        page = self._page(server, name, f"Load: {load_text(load)}.")
        run = _LiveRun(state, directory.path)
        with server.changed:
            self._run, self._name, self._is_starting = run, name, False
            server.page = page
        server.publish()

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None = None) -> None:
        """Count the samples of the last second and send them to the viewers."""
        if self._server is None or self._run is None or self._run.is_broken:
            return
        try:
            self._run.add(samples, passed_s, active_users, is_viewed=self._server.viewer_count > 0)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # An error of the page must not end the run.
            self._run.is_broken = True
            self._log(f"--live: the page is not updated any more ({error!r}); the run goes on")
        self._server.publish()

    def end(self, summary: RunSummary, report: str) -> None:
        """Send the verdict and the key metrics of the report, which is the file `report`."""
        if self._server and self._run:
            self._run.end(summary, report)
            self._server.publish()

    def conclude(self, line: str) -> None:
        """List the result of the run that was announced last."""
        what, _, left = self._heading.rpartition(";")
        self._earlier.append([what or left, line])

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server:
            self._server.end()

    def _opened(self) -> LiveServer | None:
        """Return the server, which is started by the first call; None when its address cannot be used."""
        if self._server is None and not self._is_refused:
            try:
                server = LiveServer(self._address, self._message, self._request_stop)
            except OSError as error:
                self._is_refused = True
                where = f"{self._address.host}:{self._address.port}" if self._address.token else str(self._address.port)
                self._log(f"--live={where} cannot be used ({error.strerror}); there is no live page")
                return None
            server.page = self._page(server, "", "")
            self._server = server
            self._log(f"live page: {server.url}")
        return self._server

    def _page(self, server: LiveServer, name: str, load: str) -> bytes:
        """Return the page of a run, which has no name before the first one begins."""
        times = [metric.phrase for metric in TIMES]
        drawn = [
            {
                "key": kind.name,
                "title": kind.title,
                "unit": kind.unit,
                "lines": {name: SECOND.index(name) for name in kind.live},
                "cells": SECOND.index("cells") if kind.has_cells else None,
            }
            for kind in CHARTS
            if kind.live
        ]
        own_names = {"run": name, "stops": self._stops, "token": server.stop_token}
        about = {**own_names, "times": times, "charts": drawn, "edges": CELL_EDGES_MS}
        # A script cannot be ended by what has no "<".
        start = f"startLive({json.dumps(about)});\n".replace("<", "\\u003c")
        own = (resources.files("harness.live") / "assets" / "live.js").read_text(encoding="utf-8")
        scripts = [*library_scripts(self._charts), asset_text("charts.js"), own, start]
        title = name or "Before the first run"
        body = filled("live.html.j2", "harness.live", title=title, load=load, stops=self._stops)
        return single_page(f"{title}, live", body, asset_text("site.css"), scripts, connects=True).encode()

    def _request_stop(self) -> None:
        if self._is_stopping:
            return  # a second request would end JMeter at once, as a second Ctrl-C does
        self._is_stopping = True
        self._log("stop: requested on the live page")
        self._stop()

    def _message(self, sent_count: int) -> dict[str, Any]:
        """Return the newest points of the run, its tables, its end when it is known, and the runs before it.

        A viewer has `sent_count` points already; the last of them may have changed, and at the end any.
        """
        run = self._run
        end = run.result if run else None
        first = 0 if end else max(0, sent_count - _CHANGING)
        return {
            "run": self._name,
            "from": first,
            "points": run.state.points(first, is_ended=end is not None) if run else [],
            "clock": run.state.clock() if run else "",
            "now": run.tables() if run else None,
            "end": end,
            "heading": without_control(self._heading),
            "starting": self._is_starting,
            "earlier": _plain(self._earlier),
            "over": self._server is not None and self._server.is_ended,
        }


class _LiveRun:
    def __init__(self, state: LiveState, folder: Path) -> None:
        self.state = state
        self.now: dict[str, Any] | None = None
        self.result: dict[str, Any] | None = None
        self.is_broken = False
        self._telemetry = TelemetryTail(folder)
        self._made_s = self._next_s = 0.0

    def add(self, samples: Sequence[Sample], passed_s: float, active_users: int | None, *, is_viewed: bool) -> None:
        """Count samples, and make the tables if somebody sees them and they are due."""
        self.state.add(samples, passed_s, active_users)
        if is_viewed and passed_s >= self._next_s:
            began_s = time.thread_time()
            self.state.uses = self._telemetry.uses()
            self.now = _plain(self.state.now())
            self._made_s = passed_s
            self._next_s = passed_s + (time.thread_time() - began_s) / _TABLES_RATIO

    def tables(self) -> dict[str, Any] | None:
        """Return the newest tables; None while they are those that the last viewer left."""
        is_current = self.result is not None or self.state.passed_s <= max(self._next_s, self._made_s + _CURRENT_S)
        return self.now if is_current else None

    def end(self, summary: RunSummary, report: str) -> None:
        """Set the last tables, and the verdict, goals and tiles of the report."""
        if not self.is_broken:
            self.now = _plain(self.state.now())
        result = RunResult.of(summary)
        stated = result.stated
        self.result = _plain(
            {
                "verdict": stated.headline,
                "tone": tone_of(stated, result),
                "goals": goal_rows(summary.verdict.goals),
                "tiles": [[one.name, one.value, one.unit] for one in stated.key_figures],
                "report": report,
            }
        )


def _plain(value: Any) -> Any:
    """Return tables and texts without characters that control a terminal or the direction of text."""
    if isinstance(value, str):
        return without_control(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
