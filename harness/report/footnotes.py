"""The caveats of a report as numbered footnotes: which places of the report point at which of them."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, auto

from harness.report import warnings as caveats
from harness.report.tables import cell
from harness.report.warnings import Caveat


class Place(IntEnum):
    """The places that a footnote can be pointed at from, in the order of the report."""

    VERDICT = auto()
    LOAD = auto()
    SYSTEM = auto()
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


# A doubt about the run as a whole stands behind the verdict, too: who reads no further has seen it.
_PLACES = {
    caveats.LONG_SPAN: (Place.VERDICT,),
    caveats.NOT_STEADY: (Place.VERDICT, Place.WINDOW),
    caveats.FAST_WARM_UP: (Place.VERDICT, Place.WINDOW),
    caveats.DROPPED_ROWS: (Place.VERDICT, Place.COUNT),
    caveats.SUB_SAMPLES: (Place.COUNT,),
    caveats.LITTLES_LAW: (Place.VERDICT, Place.LAW),
    caveats.TOO_FEW_SAMPLES: (Place.VERDICT, Place.COUNT),
    caveats.MANY_ERRORS: (Place.VERDICT, Place.ERRORS),
    caveats.ABSENT_GENERATOR: (Place.VERDICT, Place.GENERATORS),
    caveats.SLOW_GENERATOR: (Place.VERDICT, Place.GENERATORS),
    caveats.FAILING_GENERATOR: (Place.VERDICT, Place.GENERATORS),
    caveats.SEPARATE_CLOCKS: (Place.GENERATORS,),
    caveats.CLOCK_STEP: (Place.VERDICT, Place.WINDOW),
    caveats.GAP: (Place.VERDICT, Place.WINDOW),
    caveats.APPENDED: (Place.VERDICT, Place.COUNT),
    caveats.STALL: (Place.VERDICT, Place.TAIL),
    caveats.PAUSE: (Place.WINDOW,),
    caveats.CLOCKS_APART: (Place.GENERATORS,),
    caveats.UNWATCHED_GENERATOR: (Place.GENERATOR,),
    caveats.GENERATOR_CPU: (Place.VERDICT, Place.GENERATOR),
    caveats.HOST_CPU: (Place.VERDICT, Place.HOST),
    caveats.OTHER_CPU: (Place.VERDICT, Place.HOST),
    caveats.OTHER_RUN: (Place.VERDICT, Place.HOST),
    caveats.CLOSED_MODEL: (Place.LOAD,),
    caveats.PLAN: (Place.SYSTEM,),
    caveats.COARSE_CLOCK: (Place.MEDIAN,),
    caveats.FEW_SAMPLES: (Place.TAIL,),
    caveats.ERRORS_IN_FIGURES: (Place.ERRORS,),
    caveats.UNEXPECTED_CODE: (Place.CODE,),
}


def _places(caveat: Caveat) -> tuple[Place, ...]:
    """Return where a caveat is shown; one of an older version that no longer exists is shown at the verdict."""
    return _PLACES.get(caveat.code, (Place.VERDICT,))


class Footnotes:
    """The footnotes of one report, numbered in the order in which they are first pointed at."""

    def __init__(self, found: Sequence[Caveat]) -> None:
        ordered = sorted(found, key=lambda caveat: _places(caveat)[0])
        self._numbered = tuple(enumerate(ordered, start=1))

    def mark(self, place: Place, subject: str = "") -> str:
        """Return what is put behind a figure: the numbers of its footnotes, each with a blank before it."""
        return "".join(
            f" [^{number}]"
            for number, caveat in self._numbered
            if place in _places(caveat) and caveat.subject == subject
        )

    @property
    def lines(self) -> list[str]:
        """The footnotes themselves, as Markdown."""
        return [f"[^{number}]: {cell(caveat.text)}" for number, caveat in self._numbered]
