"""A chart: an SVG file in the folder of a report."""

from __future__ import annotations

from dataclasses import dataclass

from defusedxml.ElementTree import fromstring

_SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Chart:
    """A chart: the name and the text of its file."""

    name: str
    svg: str

    @property
    def alternative(self) -> str:
        """The text alternative of the chart: its title and description."""
        root = fromstring(self.svg)
        return f"{root.findtext(f'{_SVG}title')}: {root.findtext(f'{_SVG}desc')}"
