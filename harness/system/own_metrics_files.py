"""Reads the metrics that the processes of a system publish, during a load, and stores the answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.background_threads import BackgroundThreads, Wait
from harness.system.jcmd import Problems
from harness.system.own_metrics import (
    OwnMetrics,
    answer_line,
    head_line,
    read_own_metrics,
    sources_elsewhere,
    values_of,
)
from harness.system.recorder import Recorder, Recording, Started
from harness.system.system import MetricsSource

if TYPE_CHECKING:
    import urllib.request

_PERIOD_S = 1.0
_PERIOD_MOST_S = 5.0
# A process may spend this share of the time on its answers; a busy one gets fewer requests.
_SHARE_MOST = 0.01
_TIMEOUT_S = 2.0
_BYTES_MOST = 20_000_000
_PREFIX = "own-metrics-"


@cache
def _directly() -> urllib.request.OpenerDirector:
    """Return what opens an address without a proxy or redirects: a run must not reach other hosts."""
    import urllib.request  # deferred, as below: a report reads stored answers only

    from harness.base.http_client import NoRedirect

    return urllib.request.build_opener(urllib.request.ProxyHandler({}), NoRedirect)


class OwnMetricsWriter:
    """A thread per process that appends its metrics to own-metrics-<process>.jsonl, from entering to leaving it.

    `problems` has (process, why its metrics are incomplete): it did not answer at all, or the disk was full. Problems
    never end a run.
    """

    def __init__(self, folder: Path, sources: Mapping[str, MetricsSource]) -> None:
        self._folder = folder
        self.problems: list[tuple[str, str]] = []
        self._threads = BackgroundThreads(
            {f"metrics of {process}": partial(self._run, process, source) for process, source in sources.items()}
        )

    def __enter__(self) -> OwnMetricsWriter:
        self._threads.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.__exit__()

    def _run(self, process: str, source: MetricsSource, wait: Wait) -> None:
        path, why, has_answered = self._folder / f"{_PREFIX}{process}.jsonl", "", False
        try:
            self._folder.mkdir(exist_ok=True)
            with path.open("w", encoding="utf-8", buffering=1) as lines:
                lines.write(head_line(source.metrics))
                while True:
                    began_s = time.monotonic()
                    answer = _ask(source)
                    if isinstance(answer, str):
                        why = why or answer
                    else:
                        has_answered = True
                        lines.write(answer_line(time.time_ns() // 1_000_000, answer))
                    took_s = time.monotonic() - began_s
                    period_s = min(max(_PERIOD_S, took_s / _SHARE_MOST), _PERIOD_MOST_S)
                    if wait(max(0.0, period_s - took_s)):
                        break
        except OSError as error:
            self.problems.append((process, error.strerror or str(error)))
        else:
            if not has_answered:
                self.problems.append((process, why))


def answering(sources: Mapping[str, MetricsSource]) -> dict[str, MetricsSource]:
    """Return the sources that publish at least one of their metrics now."""
    return {
        process: source
        for process, source in sources.items()
        if not isinstance(answer := _ask(source), str) and any(value is not None for value in answer)
    }


def _ask(source: MetricsSource) -> list[float | None] | str:
    """Return the values of the metrics at this moment, or why there is no answer."""
    from http.client import HTTPException

    from harness.base.http_client import within

    def answer() -> bytes:
        with _directly().open(source.url, timeout=_TIMEOUT_S) as found:
            return bytes(found.read(_BYTES_MOST))

    try:
        document = json.loads(within(_TIMEOUT_S, answer))
    except (OSError, HTTPException) as error:
        return f"{source.url}: {getattr(error, 'reason', None) or error or type(error).__name__}"
    except (ValueError, RecursionError):
        return f"{source.url} does not answer with JSON"
    return values_of(document, source.metrics)


def own_metrics(folder: Path, first_ms: int, last_ms: int) -> tuple[OwnMetrics, ...]:
    """Return the metrics of each process whose answers are in a folder, between two instants (epoch ms)."""
    metrics = []
    for path in sorted(folder.glob(f"{_PREFIX}*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            metrics.append(read_own_metrics(path.stem.removeprefix(_PREFIX), lines, first_ms, last_ms))
    return tuple(metrics)


def _start(of: Recording) -> Started | None:
    """Return what fetches the metrics that the processes of the system publish; None without any."""
    sources: Mapping[str, MetricsSource] = of.system.metrics_sources if of.system else {}
    if of.spec.target and of.manifest:
        sources = answering(sources_elsewhere(of.manifest, of.spec.target.url))
    if not sources:
        return None
    writer = OwnMetricsWriter(of.logs, sources)

    def stored() -> Problems:
        for process, why in writer.problems:
            of.log(f"{process}: its own metrics are not known ({why})")
        return tuple(writer.problems)

    return Started(writer, stored)


RECORDER = Recorder("own metrics", start=_start, read=lambda of: {"own_metrics": own_metrics(of.logs, *of.window_ms)})
