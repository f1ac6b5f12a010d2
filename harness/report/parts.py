"""The parts of a report that a warning can concern."""

from __future__ import annotations

from enum import IntEnum, auto


class Part(IntEnum):
    """A part of a report, in the order of the report.

    Warnings about the verdict and the measured window are printed below them; other parts have footnote marks.
    """

    VERDICT = auto()
    WINDOW = auto()
    COUNT = auto()
    MEDIAN = auto()
    TAIL = auto()
    ERRORS = auto()
    LAW = auto()
    GENERATORS = auto()
    CODE = auto()
    HOST = auto()
    GENERATOR = auto()
    LOAD = auto()
    SYSTEM = auto()
