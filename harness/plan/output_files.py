"""Finds listeners and functions of a plan that would overwrite files of the run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from harness.plan.finding import Finding, Rule
from harness.plan.jmx import Node
from harness.plan.jmx_values import UnknownValueError, Values, functions_in

_SAVER = "FileSaver.filename"
_WRITERS = re.compile(r"(Collector|Writer)$|\.vizualizers\.")
_TODO = "disable it, or give it a name of its own, such as answers/order"


class _Output(NamedTuple):
    """The name of a file that an element writes, as in the JMX; JMeter adds a number and an ending to a prefix."""

    raw: str
    attribute: str
    is_prefix: bool


def overwriting(nodes: Sequence[Node], values: Values, run_files: Collection[str]) -> Iterator[Finding]:
    """Yield a finding for each element that would write a file of the run, or one outside of the run's folder.

    `run_files` are the names of the run's files and folders.
    """
    for node in nodes:
        for output in _outputs(node):
            if what := _problem(output, values, run_files):
                yield Finding.at(node, Rule.FILE_OF_RUN, what, _TODO, output.attribute)


def _outputs(node: Node) -> Iterator[_Output]:
    if node.value(_SAVER).strip():
        yield _Output(node.value(_SAVER), _SAVER, is_prefix=True)
    if _WRITERS.search(node.kind) and node.value("filename").strip():
        yield _Output(node.value("filename"), "filename", is_prefix=False)
    for call in functions_in(node):
        if call.name == "__StringToFile":
            yield _Output(call.parameters[0], "", is_prefix=False)


def _problem(output: _Output, values: Values, run_files: Collection[str]) -> str:
    """Return what is wrong with the name of a file, else an empty text."""
    try:
        name, unknown = values.text(output.raw).strip(), ""
    except UnknownValueError as error:
        name, unknown = error.known_start.strip(), f"writes to the file {output.raw}, known only at run time ({error})"
    path = PurePosixPath(name)
    if ".." in path.parts:
        return f"writes to the file {name}, outside of the run's folder"
    if unknown and (name.startswith("/") or name.endswith("/") or not name):
        return unknown
    is_open_ended = output.is_prefix or bool(unknown)
    for part in path.parts:
        own = next((own for own in run_files if _is_same(part, own, is_open_ended and part == path.name)), "")
        if own:
            return f"writes to {own}, a file of the run"
    return ""


def _is_same(name: str, own: str, is_prefix: bool) -> bool:
    return own == name or (is_prefix and bool(re.fullmatch(rf"{re.escape(name)}\d*(\..*)?", own)))
