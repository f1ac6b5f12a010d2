"""The table of a run's machines: waiting, switches, network, disks and frequency within the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from harness.base import units
from harness.report.tables import cell, table
from harness.run.telemetry import MachineFigure, process_title


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _megabytes(value: float) -> str:
    return units.mb_text(value, 1)


def _cores(value: float) -> str:
    return units.percent_text(value, 1)


# Figure, title, format; every figure of MACHINE_COLUMNS.
COLUMNS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("iowait_cores", "iowait % of one core", _cores),
    ("runnable_threads", "run queue", lambda value: f"{value:.1f}"),
    ("switches_per_s", "context switches/s", _whole),
    ("received_bytes_per_s", "received MB/s", _megabytes),
    ("sent_bytes_per_s", "sent MB/s", _megabytes),
    ("read_bytes_per_s", "disk read MB/s", _megabytes),
    ("written_bytes_per_s", "disk written MB/s", _megabytes),
    ("cpu_mhz", "CPU MHz", _whole),
)


def machine_table(figures: Sequence[MachineFigure]) -> str:
    """Return a row per machine with mean and range of each known figure; empty without figures."""
    found = {(figure.process, figure.figure): figure for figure in figures}
    columns = [column for column in COLUMNS if any(figure.figure == column[0] for figure in figures)]
    if not columns:
        return ""
    rows = [
        [cell(process_title(process)), *(_cell(found.get((process, name)), show) for name, _, show in columns)]
        for process in dict.fromkeys(figure.process for figure in figures)
    ]
    return table(("machine, mean (range)", *(title for _, title, _ in columns)), rows)


def _cell(figure: MachineFigure | None, show: Callable[[float], str]) -> str:
    if figure is None:
        return ""
    return f"{show(figure.mean)} ({show(figure.minimum)}-{show(figure.maximum)})"
