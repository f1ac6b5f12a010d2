"""Reads the files of CSV Data Sets: the variables that they set, and their values."""

from __future__ import annotations

import csv
from pathlib import Path

from harness.plan.jmx import Node

KIND = "CSVDataSet"
# The plugin bzm - Random CSV Data Set Config has the same properties, but no `recycle`.
RANDOM_KIND = "com.blazemeter.jmeter.RandomCSVDataSetConfig"
KINDS = (KIND, RANDOM_KIND)


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


def delimiter_of(node: Node) -> str:
    """Return the character between the columns of a CSV Data Set."""
    delimiter = node.value("delimiter").replace("\\t", "\t")
    return delimiter if len(delimiter) == 1 else ","


def _rows(node: Node, file: Path | None) -> list[list[str]] | None:
    if file is None:
        return None
    try:
        with file.open(encoding="utf-8", errors="replace", newline="") as lines:
            return list(csv.reader(lines, delimiter=delimiter_of(node)))
    except (OSError, csv.Error):
        return None
