"""Reads CSV Data Sets: their variables and values, and their lines divided among several load generators."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from harness.base.regular import regular
from harness.plan.jmx.tree import Node, enabled_nodes, reads_in

KIND = "CSVDataSet"
# The plugin bzm - Random CSV Data Set Config has the same properties, but no `recycle`.
RANDOM_KIND = "com.blazemeter.jmeter.RandomCSVDataSetConfig"
KINDS = (KIND, RANDOM_KIND)
_LINES_READ_MOST = 1_000_000


def variable_names(node: Node, file: Path | None) -> list[str] | None:
    """Return the variables that a CSV Data Set sets; None when they are in an unreadable file."""
    names = node.value("variableNames")
    if names:
        return [name.strip().strip('"') for name in names.split(delimiter_of(node))]
    rows = _rows(node, file)
    return [name.strip() for name in rows[0]] if rows else None


def column(node: Node, file: Path | None, variable: str) -> list[str] | None:
    """Return all values of a variable; None when the file is unreadable."""
    names, rows = variable_names(node, file), _rows(node, file)
    if names is None or rows is None or variable not in names:
        return None
    at = names.index(variable)
    return [row[at] for row in rows if len(row) > at]


def row_count(node: Node, file: Path | None, most: int) -> int | None:
    """Return the number of data rows of a CSV Data Set, counted up to `most`; None when the file is unreadable."""
    if file is None:
        return None
    try:
        with regular(file, math.inf).open("rb") as lines:
            return sum(1 for _ in islice(filter(bytes.strip, lines), most + has_head(node))) - has_head(node)
    except OSError:
        return None


def blank_line(node: Node, file: Path | None) -> int | None:
    """Return the first blank line of a CSV Data Set that JMeter takes for its end, counted from 1; None without one.

    With quotes a blank line is a row of nothing. The end of the file is where it seems to be unless it is read again.
    """
    if file is None or node.value("quotedData") == "true":
        return None
    try:
        with regular(file, math.inf).open("rb") as lines:
            blank = [not line.strip(b"\r\n") for line in islice(lines, _LINES_READ_MOST)]
    except OSError:
        return None
    while blank and blank[-1] and node.value("recycle") != "true":
        blank.pop()
    return blank.index(True) + 1 if True in blank else None


def is_head_data(node: Node, file: Path | None) -> bool:
    """Return whether a CSV Data Set that names its variables takes a first line with these names for data."""
    rows = None if has_head(node) else _rows(node, file, 1)
    if not rows:
        return False
    names = [name.lower() for name in variable_names(node, file) or []]
    return [cell.strip().lower() for cell in rows[0][: len(names)]] == names[: len(rows[0])]


def has_head(node: Node) -> bool:
    """Return whether the first line of a CSV Data Set is a header."""
    return node.value("ignoreFirstLine") == "true" or not node.value("variableNames")


def delimiter_of(node: Node) -> str:
    """Return the character between the columns of a CSV Data Set."""
    delimiter = node.value("delimiter").replace("\\t", "\t")
    return delimiter if len(delimiter) == 1 else ","


def _rows(node: Node, file: Path | None, most: int | None = None) -> list[list[str]] | None:
    if file is None:
        return None
    try:
        with regular(file, math.inf).open(encoding="utf-8", errors="replace", newline="") as lines:
            return list(islice(csv.reader(lines, delimiter=delimiter_of(node)), most))
    except (OSError, csv.Error):
        return None


@dataclass(frozen=True)
class DataSet:
    """A data set of CSV: the file `name`, or the value of the property `property_name` instead.

    With `has_head` the first line is a header. Unless it `is_shared`, each user reads all lines.
    """

    property_name: str | None
    name: str
    has_head: bool
    is_shared: bool = True

    def file(self, properties: Mapping[str, str]) -> str:
        """Return the file that it reads with these properties; "" when its name is not a property."""
        name = properties.get(self.property_name, self.name) if self.property_name else self.name
        return "" if "${" in name else name


def data_sets(tree: Node) -> tuple[DataSet, ...]:
    """Return the enabled CSV Data Sets of a plan in file order."""
    sets = []
    for node in enabled_nodes(tree):
        if node.kind in KINDS:
            name = node.value("filename")
            read = next(reads_in(name), None)
            name = (read.default or "") if read else name
            sets.append(DataSet(read.name if read else None, name, has_head(node), has_shared_lines(node)))
    return tuple(sets)


def has_shared_lines(node: Node) -> bool:
    """Return whether users take the lines of a data set in turn, instead of each all of them."""
    if node.kind == RANDOM_KIND:
        return node.value("independentListPerThread") != "true"
    return node.value("shareMode") != "shareMode.thread"


def divided(lines: Sequence[bytes], has_head: bool, count: int) -> tuple[list[bytes], ...]:
    """Return the lines of `count` parts, distributed round-robin so that no two parts share a line.

    Each part begins with the header.
    """
    head, rest = (list(lines[:1]), lines[1:]) if has_head else ([], lines)
    return tuple([*head, *rest[part::count]] for part in range(count))
