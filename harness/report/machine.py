"""The table of a run's machines: waiting, switches, network, disks and frequency within the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.base import units
from harness.report.tables import cell, table
from harness.run.telemetry import MachineFigure, process_title


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _megabytes(value: float) -> str:
    return units.mb_text(value, 1)


def _cores(value: float) -> str:
    return units.percent_text(value, 1)


class _Column(NamedTuple):
    """A column of the table: its figure, its title, and the format of its values."""

    figure: str
    title: str
    text: Callable[[float], str]


# Every figure of MACHINE_COLUMNS.
COLUMNS = (
    _Column("iowait_cores", "iowait % of one core", _cores),
    _Column("runnable_threads", "run queue", lambda value: f"{value:.1f}"),
    _Column("switches_per_s", "context switches/s", _whole),
    _Column("received_bytes_per_s", "received MB/s", _megabytes),
    _Column("sent_bytes_per_s", "sent MB/s", _megabytes),
    _Column("read_bytes_per_s", "disk read MB/s", _megabytes),
    _Column("written_bytes_per_s", "disk written MB/s", _megabytes),
    _Column("cpu_mhz", "CPU MHz", _whole),
)


def machine_table(figures: Sequence[MachineFigure]) -> str:
    """Return a row per machine with mean and range of each known figure; empty without figures."""
    found = {(figure.process, figure.figure): figure for figure in figures}
    columns = [column for column in COLUMNS if any(figure.figure == column.figure for figure in figures)]
    if not columns:
        return ""
    rows = [
        [cell(process_title(process)), *(_cell(found.get((process, one.figure)), one.text) for one in columns)]
        for process in dict.fromkeys(figure.process for figure in figures)
    ]
    return table(("machine, mean (range)", *(column.title for column in columns)), rows)


def _cell(figure: MachineFigure | None, show: Callable[[float], str]) -> str:
    if figure is None:
        return ""
    return f"{show(figure.mean)} ({show(figure.minimum)}-{show(figure.maximum)})"
