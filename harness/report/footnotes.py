"""The warnings of a report as numbered footnotes, and the marks that refer to them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.parts import Part
from harness.report.tables import cell
from harness.report.warnings import RunWarning

# Warnings about these parts are printed below them.
_PRINTED_BELOW = (Part.VERDICT, Part.WINDOW)


class Footnotes:
    """The footnotes of one report, numbered in the order of their first mark.

    Warnings that only concern the verdict and the measured window have none: the report prints them below.
    """

    def __init__(self, found: Sequence[RunWarning]) -> None:
        parts = {warning: [part for part in warning.concerns if part not in _PRINTED_BELOW] for warning in found}
        ordered = sorted((warning for warning in found if parts[warning]), key=lambda warning: min(parts[warning]))
        self._numbered = tuple(enumerate(ordered, start=1))

    def mark(self, part: Part, subject: str = "") -> str:
        """Return the marks of a value: the numbers of its footnotes, each after a blank."""
        numbers = (number for number, one in self._numbered if part in one.concerns and one.subject == subject)
        return "".join(f" [^{number}]" for number in numbers)

    @property
    def lines(self) -> list[str]:
        """The footnotes themselves, as Markdown."""
        return [f"[^{number}]: {cell(warning.text)}" for number, warning in self._numbered]
