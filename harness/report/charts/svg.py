"""SVG text of a chart's parts: card, title, legend, axes, lines, bars. No scripts, no links, the same bytes each time.

GitHub shows an SVG file as an image, whose `prefers-color-scheme` follows the reader's system and not GitHub's theme.
So a chart has its own opaque background card, and all its colours switch with the card.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape  # that of xml.sax.saxutils loads all of urllib
from itertools import pairwise
from typing import NamedTuple

from harness.report.charts.axes import Axis

WIDTH = 640  # narrow, so that texts are readable on a phone, where the chart is 400 px wide
HEIGHT = 300
LEFT, RIGHT = 84, 616  # of every plot, so that charts are aligned
HEAD_PX = 44  # above the legend: title and unit
FOOT_PX = 58  # below the plot: tick texts and the axis's title
LEAST_PLOT_PX = 140  # a chart grows where its legend would leave less
TEXT_PX, TITLE_PX = 16, 18
LINE_PX = 22  # one row of a legend
SWATCH_PX = 34
_KEY_GAP_PX = 24
# Colour-blind readers can distinguish both sets. The first also has a contrast of 3:1 on the dark card, for viewers
# that do not switch.
COLOURS = ("#1673c4", "#d9620b", "#0b8f6f", "#b04fa0", "#78828c", "#7a5c00")
COLOURS_ON_DARK = ("#4493f8", "#f28c45", "#33c29a", "#d873c9", "#98a2ad", "#efe08a")
MAIN, WARNING, CONTEXT = 0, 1, 4  # indexes in both sets
# The shades of the cells of a heat map: opacities of the main colour, from few samples to many.
SHADES = (0.18, 0.32, 0.47, 0.63, 0.8, 1.0)
DASHES = ("", "9 3", "3 3", "12 3 3 3", "6 2 2 2 2 2", "1.5 2.5")
CARD, CARD_DARK = "#ffffff", "#0d1117"
BAND, BAND_DARK = "#eaf1fa", "#15233a"
_FONT = "-apple-system,BlinkMacSystemFont,'Segoe UI','Noto Sans',Helvetica,Arial,sans-serif"


def _colour_rules(colours: Sequence[str]) -> str:
    return "".join(f".c{index}{{color:{colour}}}" for index, colour in enumerate(colours))


_SHADE_RULES = "".join(f".s{index}{{fill-opacity:{opacity:g}}}" for index, opacity in enumerate(SHADES))
_STYLE = (
    f"text{{font:{TEXT_PX}px {_FONT};fill:#1f2328}}"
    f".title{{font-size:{TITLE_PX}px;font-weight:600}}.muted{{font-size:{TEXT_PX}px;font-weight:400;fill:#59636e}}"
    ".middle{text-anchor:middle}.end{text-anchor:end}"
    f".card{{fill:{CARD};stroke:#d1d9e0}}.grid{{stroke:#e0e5ea}}.axis{{stroke:#818b98}}"
    f".band{{fill:{BAND}}}.edge{{stroke:#9fb6d3;stroke-dasharray:2 2}}.mark{{stroke:#1f2328;fill:none}}"
    ".shift{stroke:currentColor;stroke-width:3}"
    ".line{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}"
    f".bar{{fill:currentColor}}.cell{{fill:currentColor;shape-rendering:crispEdges}}{_SHADE_RULES}"
    f".halo{{fill:none;stroke:{CARD};stroke-width:4.5;stroke-linejoin:round}}.ink{{color:#1f2328}}"
    f".hollow{{fill:{CARD};stroke:currentColor;stroke-width:2}}"
    ".shade{fill:currentColor;fill-opacity:.25}"
    f"{_colour_rules(COLOURS)}"
    "@media (prefers-color-scheme:dark){"
    "text{fill:#f0f6fc}.muted{fill:#9198a1}"
    f".halo{{stroke:{CARD_DARK}}}.ink{{color:#f0f6fc}}.hollow{{fill:{CARD_DARK}}}"
    f".card{{fill:{CARD_DARK};stroke:#3d444d}}.grid{{stroke:#2a313c}}.axis{{stroke:#656c76}}"
    f".band{{fill:{BAND_DARK}}}.edge{{stroke:#3c5f8f}}.mark{{stroke:#f0f6fc}}.shade{{fill-opacity:.35}}"
    f"{_colour_rules(COLOURS_ON_DARK)}}}"
)
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(content: str) -> str:
    """Return text for XML: one line, escaped, characters that XML forbids replaced."""
    return escape(" ".join(_FORBIDDEN.sub("\ufffd", content).split()), quote=False)


def text_width(content: str) -> float:
    """Return the approximate width of a text in px: rather too wide, since the reader's font is not known."""
    return TEXT_PX * sum(_em(letter) for letter in content)


def _em(letter: str) -> float:
    if letter in " ijlI.,:;'|!":
        return 0.34
    if letter in "frt()[]-/":
        return 0.42
    if letter in "mwMW%@" or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.8 if letter.isupper() else 0.64


def shortened(content: str, most_px: float) -> str:
    """Return the text, with its middle removed if it is wider than `most_px`."""
    shown, letter_count = content, len(content)
    while letter_count > 2 and text_width(shown) > most_px:
        letter_count -= 1
        shown = content[: (letter_count + 1) // 2] + "…" + content[-(letter_count // 2) :]
    return shown


def spread(centres: Sequence[float], widths: Sequence[float], low: float, high: float) -> list[float]:
    """Return the ascending centres, moved as little as possible so that no widths overlap and all are in low..high.

    Overlapping items become one block, centred on the middle of their wanted positions.
    """
    blocks: list[_Block] = []
    for centre, width in zip(centres, widths, strict=True):
        block = _Block(max(low, min(centre - width / 2, high - width)), [width])
        while blocks and blocks[-1].right > block.left:
            before, count = blocks.pop(), len(block.widths)
            middle = before.left * len(before.widths) + (block.left - sum(before.widths)) * count
            parts = before.widths + block.widths
            block = _Block(max(low, min(middle / len(parts), high - sum(parts))), parts)
        blocks.append(block)
    items = ((block, index) for block in blocks for index in range(len(block.widths)))
    return [block.left + sum(block.widths[:index]) + block.widths[index] / 2 for block, index in items]


class _Block(NamedTuple):
    """Items side by side: the left end of the first, and their widths."""

    left: float
    widths: list[float]

    @property
    def right(self) -> float:
        return self.left + sum(self.widths)


def number(value: float) -> str:
    """Return a coordinate with at most one decimal, as short as SVG allows."""
    return _tenths(round(value * 10))


def _tenths(tenths: int) -> str:
    whole, part = divmod(abs(tenths), 10)
    digits = (str(whole) if whole or not part else "") + (f".{part}" if part else "")
    return f"-{digits}" if tenths < 0 else digits


def text(x: float, y: float, content: str, style: str = "") -> str:
    """Return a text element; `style` defines whether x is its start, middle or end."""
    kind = f' class="{style}"' if style else ""
    return f'<text x="{number(x)}" y="{number(y)}"{kind}>{plain(content)}</text>'


def tick_text(x: float, y: float, content: str) -> str:
    """Return a text centred on x, moved inwards if it would leave the card."""
    room = text_width(content) / 2 + 6
    return text(min(max(x, room), WIDTH - room), y, content, "middle")


def straight(x1: float, y1: float, x2: float, y2: float, style: str) -> str:
    """Return a straight line of a style."""
    ends = " ".join(f'{name}="{number(at)}"' for name, at in (("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)))
    return f'<line {ends} class="{style}"/>'


def bent(start: tuple[float, float], bend: tuple[float, float], end: tuple[float, float], style: str) -> str:
    """Return a line of two parts with a style."""
    points = " ".join(f"{number(x)},{number(y)}" for x, y in (start, bend, end))
    return f'<polyline points="{points}" class="{style}"/>'


def rectangle(x: float, y: float, width: float, height: float, style: str) -> str:
    """Return a rectangle of a style."""
    return f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}" class="{style}"/>'


def figure(value: float) -> str:
    """Return a value for text: whole from 100 up, three digits below."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


class Bar(NamedTuple):
    """A bar from 0 to `value` on the y axis, from `start` to `end` on the x axis."""

    start: float
    end: float
    value: float


class Cell(NamedTuple):
    """A rectangle from `start` to `end` on the x axis and `low` to `high` on the y axis, with one of the SHADES."""

    start: float
    end: float
    low: float
    high: float
    shade: int


class LeastSize(NamedTuple):
    """The least size of a bar in px: a smaller one would be invisible."""

    width_px: float
    height_px: float


class Range(NamedTuple):
    """The least and the greatest value at an x."""

    x: float
    least: float
    most: float


@dataclass(frozen=True)
class Plot:
    """The area between the axes; it converts values to px."""

    x: Axis
    y: Axis
    top: float
    bottom: float
    left: float = LEFT
    right: float = RIGHT

    def x_px(self, value: float) -> float:
        """Return the px of a value on the x axis."""
        return self.left + self.x.share(value) * (self.right - self.left)

    def y_px(self, value: float) -> float:
        """Return the px of a value on the y axis; downwards is positive."""
        return self.bottom - self.y.share(value) * (self.bottom - self.top)

    def axes(self, x_title: str) -> str:
        """Return grid, ticks, tick texts and the title of the x axis."""
        title = text((self.left + self.right) / 2, self.bottom + 44, x_title, "muted middle")
        return "\n".join([self.grid(), self.x_ticks(), title])

    def grid(self, *, has_texts: bool = True) -> str:
        """Return the lines of the grid, with the texts of the y axis."""
        parts = []
        for value, label in self.y.ticks:
            y = self.y_px(value)
            parts.append(straight(self.left, y, self.right, y, "grid" if value else "axis"))
            parts += [text(self.left - 8, y + 5, label, "end")] if has_texts else []
        return "\n".join(parts)

    def x_ticks(self) -> str:
        """Return the ticks of the x axis with their texts."""
        parts = []
        for value, label in self.x.ticks:
            x = self.x_px(value)
            parts += [straight(x, self.bottom, x, self.bottom + 5, "axis"), tick_text(x, self.bottom + 21, label)]
        return "\n".join(parts)

    def band(self, from_x: float, to_x: float) -> list[str]:
        """Return the ground of a range of x, and then its two edges."""
        left, right = self.x_px(from_x), self.x_px(to_x)
        return [
            rectangle(left, self.top, right - left, self.bottom - self.top, "band"),
            *(straight(at, self.top, at, self.bottom, "edge") for at in (left, right)),
        ]

    def line(self, points: Sequence[tuple[float, float]], colour: int | str, dash: str, style: str = "line") -> str:
        """Return a line through points; a single point is a dot. `colour` is an index, or the name of a style."""
        look = f"c{colour}" if isinstance(colour, int) else colour
        tenths = [(round(self.x_px(x) * 10), round(self.y_px(y) * 10)) for x, y in points]
        if len(tenths) == 1:
            x, y = tenths[0]
            return f'<circle cx="{_tenths(x)}" cy="{_tenths(y)}" r="2.5" class="bar {look}"/>'
        return f'<path class="{style} {look}" d="{_through(tenths)}"{dashed(dash)}/>'

    def level(self, value: float, dash: str) -> str:
        """Return a line across the plot at a value: a goal."""
        y = number(self.y_px(value))
        return f'<path class="mark" d="M{number(self.left)} {y}H{number(self.right)}"{dashed(dash)}/>'

    def whisker(self, ends: Range, colour: int, cap_px: int) -> str:
        """Return an upright line over a range, with a bar of twice `cap_px` at both ends."""
        cap = f"m-{cap_px} 0h{2 * cap_px}m-{cap_px} 0"
        top, bottom = number(self.y_px(ends.most)), number(self.y_px(ends.least))
        return f'<path class="line c{colour}" d="M{number(self.x_px(ends.x))} {top}{cap}V{bottom}{cap}"/>'

    def shade(self, ranges: Sequence[Range], colour: int) -> str:
        """Return the area between the least and the greatest values."""
        outline = [(one.x, one.most) for one in ranges] + [(one.x, one.least) for one in reversed(ranges)]
        tenths = [(round(self.x_px(x) * 10), round(self.y_px(y) * 10)) for x, y in outline]
        return f'<path class="shade c{colour}" d="{_through(tenths)}z"/>'

    def bars(self, bars: Sequence[Bar], colour: int, least: LeastSize, style: str = "bar") -> str:
        """Return bars that are at least as large as `least`."""
        steps = []
        for bar in bars:
            left, right = self.x_px(bar.start), self.x_px(bar.end)
            spare = max(0.0, least.width_px - (right - left)) / 2
            left, right = left - spare, right + spare
            height = max(least.height_px, self.bottom - self.y_px(bar.value))
            corner = _pair(round(left * 10), round(self.bottom * 10))
            wide, high = round(right * 10) - round(left * 10), round(height * 10)
            steps.append(f"M{corner}v{_tenths(-high)}h{_tenths(wide)}v{_tenths(high)}z")
        return f'<path class="{style} c{colour}" d="{"".join(steps)}"/>'

    def cells(self, cells: Iterable[Cell]) -> list[str]:
        """Return the cells of a heat map: a path for each shade."""
        steps: dict[int, list[str]] = {}
        for cell in cells:
            left, right = round(self.x_px(cell.start) * 10), round(self.x_px(cell.end) * 10)
            top, bottom = round(self.y_px(cell.high) * 10), round(self.y_px(cell.low) * 10)
            wide, high = _tenths(right - left), _tenths(bottom - top)
            steps.setdefault(cell.shade, []).append(f"M{_pair(left, top)}h{wide}v{high}h-{wide}z")
        return [f'<path class="cell c{MAIN} s{shade}" d="{"".join(found)}"/>' for shade, found in sorted(steps.items())]


def _through(points: Sequence[tuple[int, int]]) -> str:
    """Return the path through points in tenths of a px; steps are relative to the point before, which is shorter."""
    steps = [_pair(x - before_x, y - before_y) for (before_x, before_y), (x, y) in pairwise(points)]
    parted = [step if index == 0 or step.startswith("-") else " " + step for index, step in enumerate(steps)]
    return f"M{_pair(*points[0])}l{''.join(parted)}"


def _pair(x: int, y: int) -> str:
    return _tenths(x) + ("" if y < 0 else " ") + _tenths(y)


def dashed(dash: str) -> str:
    """Return the attribute of a dashed line; nothing for a solid one."""
    return f' stroke-dasharray="{dash}"' if dash else ""


@dataclass(frozen=True)
class Key:
    """An entry of the legend: its name, and its swatch drawn with the left end at (x, y)."""

    name: str
    swatch: Callable[[float, float], str]


def line_key(name: str, colour: int | str, dash: str) -> Key:
    """Return the entry of a line."""
    style = f"line c{colour}" if isinstance(colour, int) else f"line {colour}"
    return _stroke_key(name, style, dash)


def goal_key(name: str, dash: str) -> Key:
    """Return the entry of a goal."""
    return _stroke_key(name, "mark", dash)


def _stroke_key(name: str, style: str, dash: str) -> Key:
    def swatch(x: float, y: float) -> str:
        return f'<path class="{style}" d="M{number(x)} {number(y)}h{SWATCH_PX}"{dashed(dash)}/>'

    return Key(name, swatch)


def box_key(name: str, style: str) -> Key:
    """Return the entry of bars or of a shaded area."""
    return Key(name, lambda x, y: rectangle(x, y - 6, SWATCH_PX, 12, style))


class Legend(NamedTuple):
    """The rows of a legend as SVG text, and the px where they end."""

    rows: str
    end: float


def legend(keys: Sequence[Key], top: float) -> Legend:
    """Return the legend whose rows begin at `top`."""
    parts, x, y = [], float(LEFT), top
    for key in keys:
        name = shortened(key.name, RIGHT - LEFT - SWATCH_PX - 7)
        width = SWATCH_PX + 7 + text_width(name) + _KEY_GAP_PX
        if x > LEFT and x + width - _KEY_GAP_PX > WIDTH - 12:
            x, y = float(LEFT), y + LINE_PX
        parts += [key.swatch(x, y + LINE_PX / 2), text(x + SWATCH_PX + 7, y + LINE_PX / 2 + 5, name)]
        x += width
    return Legend("\n".join(parts), y + LINE_PX if keys else top)


def document(title: str, unit: str, description: str, height: float, body: Sequence[str]) -> str:
    """Return a whole SVG file: the card with title, unit and `body`."""
    room = (WIDTH - 48 - text_width(unit)) * TEXT_PX / (TITLE_PX * 1.1)  # bold letters are wider
    heading = f'<tspan>{plain(shortened(title, room))}</tspan><tspan class="muted" dx="8">{plain(unit)}</tspan>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{number(height)}" '
            f'viewBox="0 0 {WIDTH} {number(height)}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{plain(title)}</title>',
            f'<desc id="desc">{plain(description)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{number(height - 1)}" rx="6" class="card"/>',
            f'<text x="20" y="30" class="title">{heading}</text>',
            *body,
            "</svg>\n",
        ]
    )
