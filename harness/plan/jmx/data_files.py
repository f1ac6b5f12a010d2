"""Finds the files that a plan reads: CSV data, uploads and scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree  # types only

from harness.plan.jmx.csv_data import KINDS
from harness.plan.jmx.tree import CODE, VARIABLE_TABLES, Node, enabled_nodes, function_parameters, plan_tree, reads_in

# An upload whose name only the run knows, in a folder of the plan's data.
_UPLOADS = re.compile(r"(data/[\w./-]+)/[^/]*\$\{[^/]*")
_FUNCTION = re.compile(r"\$\{__(?:FileToString|StringFromFile|CSVRead|XPath)\(")
_FOLDERS = ("GRPCSampler.protoFolder", "GRPCSampler.libFolder")
_FILES_MOST = 1000
# A file that a variable or a script names.
_NAMED = re.compile(r"data/[\w./-]+\.\w+")


def data_files(jmx: Path) -> tuple[str, ...]:
    """Return the files that the plan reads (CSV data, uploads, scripts), relative to its folder as in JMeter.

    A property counts with its default; absolute names and names with other variables are left out. An upload
    data/…/${name} can be each file of its folder. User Defined Variables and scripts name files in data/ that exist.
    """
    names = (
        name
        for node in enabled_nodes(plan_tree(jmx))
        for name in (
            *data_files_of(node),
            *(name for prop in file_names_of(node) for name in _in_folder(prop.text or "", jmx.parent)),
            *_named_in_texts(node, jmx.parent),
            *_read_by_functions(node, jmx.parent),
            *_below_folders(node, jmx.parent),
        )
    )
    return tuple(dict.fromkeys(names))


def data_files_of(node: Node) -> Iterator[str]:
    """Yield the files that an element certainly reads, as `data_files` has them."""
    for prop in file_names_of(node):
        defaults = [read.default for read in reads_in(prop.text or "")]
        name = defaults[0] or "" if defaults else prop.text or ""
        if name and "${" not in name and not Path(name).is_absolute():
            yield name


def file_names_of(node: Node) -> Iterator[ElementTree.Element]:
    """Yield the properties of an element that are the name of a file: of CSV data, an upload or a script."""
    names = {"File.path"}
    if node.kind in KINDS or CODE.match(node.kind):
        names |= {"filename", "BeanShellSampler.filename"}
    yield from (prop for prop in node.element.iter() if prop.get("name") in names and prop.text)


def folders_of(node: Node) -> Iterator[str]:
    """Yield the folders beside the plan that an element reads, as those of a gRPC request with its .proto files."""
    for name in (node.value(field).strip() for field in _FOLDERS):
        if name and "${" not in name and not Path(name).is_absolute() and ".." not in Path(name).parts:
            yield name


def names_in_functions(text: str) -> Iterator[str]:
    """Yield the file names in the calls of functions that read files, such as ${__FileToString(order.json)}."""
    for match in _FUNCTION.finditer(text):
        name = function_parameters(text, match.end()).texts[0].strip()
        if name and not name.startswith("*"):  # *NAME is a file that another call has opened
            yield name


def _in_folder(name: str, plans: Path) -> Iterator[str]:
    """Yield the files that the name of a file may mean when only the run knows it."""
    folder = _UPLOADS.fullmatch(name)
    if folder and (plans / folder[1]).is_dir():
        yield from (f"{folder[1]}/{file.name}" for file in sorted((plans / folder[1]).iterdir()) if file.is_file())


def _below_folders(node: Node, plans: Path) -> Iterator[str]:
    for name in folders_of(node):
        files = sorted(file for file in (plans / name).rglob("*") if file.is_file())
        yield from (file.relative_to(plans).as_posix() for file in files[:_FILES_MOST])


def _read_by_functions(node: Node, plans: Path) -> Iterator[str]:
    for name in (name for text in node.element.itertext() for name in names_in_functions(text)):
        yield from [name] if name.startswith("data/") and (plans / name).is_file() else _in_folder(name, plans)


def _named_in_texts(node: Node, plans: Path) -> Iterator[str]:
    if node.kind in VARIABLE_TABLES or CODE.match(node.kind):
        for text in node.element.itertext():
            yield from (name for name in _NAMED.findall(text) if ".." not in name and (plans / name).is_file())
