"""Reads what a chart draws: texts, lines, bars and boxes, by the coordinates in its SVG."""

import re
from itertools import combinations
from xml.etree import ElementTree

from harness.report.charts import svg

SVG = "{http://www.w3.org/2000/svg}"


def parsed(chart):
    return ElementTree.fromstring(chart)


def texts(chart):
    return ["".join(element.itertext()) for element in parsed(chart).iter(f"{SVG}text")]


def description(chart):
    return parsed(chart).find(f"{SVG}desc").text


def elements(chart, tag, style):
    return [element for element in parsed(chart).iter(SVG + tag) if style in element.get("class", "").split()]


def lines(chart):
    """The paths of lines, without the legend's swatches."""
    return [path.get("d") for path in elements(chart, "path", "line") if "h" not in path.get("d")]


def points_of(path):
    """The corners of a path of relative steps: [(x, y)]."""
    numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", path)]
    x, y = 0.0, 0.0
    found = []
    for step_x, step_y in zip(numbers[::2], numbers[1::2], strict=True):
        x, y = x + step_x, y + step_y
        found.append((round(x, 1), round(y, 1)))
    return found


def bars(path):
    """Left, width and height of each bar of a path."""
    number = r"(-?\d*\.?\d+)"
    pattern = rf"M{number} ?{number}v-{number}h{number}v{number}z"
    return [(float(left), float(width), float(height)) for left, _, height, width, _ in re.findall(pattern, path)]


def boxes(chart):
    """The boxes of all texts, with letters of 0.55 em, about as wide as those of Arial: [(content, left, right, y)]."""
    found = []
    for element in parsed(chart).iter(f"{SVG}text"):
        content = "".join(element.itertext())
        width = len(content) * 0.55 * 15
        x, style = float(element.get("x")), element.get("class", "")
        left = x - width / 2 if "middle" in style else x - width if "end" in style else x
        found.append((content, left, left + width, float(element.get("y"))))
    return found


def assert_texts_do_not_overlap(chart):
    height = float(parsed(chart).get("height"))
    for content, left, right, y in boxes(chart):
        assert left >= 0 and right <= svg.WIDTH and 15 <= y < height - 4, content
    for one, other in combinations(boxes(chart), 2):
        apart = abs(one[3] - other[3]) >= 14 or one[2] <= other[1] or other[2] <= one[1]
        assert apart, (one, other)
