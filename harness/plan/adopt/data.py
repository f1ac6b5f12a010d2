"""Fixes the files that a JMX reads: they become files below plans/data, with samples of absent ones."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from uuid import NAMESPACE_DNS, uuid5
from xml.etree import ElementTree  # types only

from harness.plan.adopt.draft import Fix
from harness.plan.adopt.own_files import is_own
from harness.plan.adopt.variables import Variables
from harness.plan.checks.finding import Finding, Rule
from harness.plan.jmx.csv_data import KINDS, delimiter_of, variable_names
from harness.plan.jmx.data_files import file_names_of, names_in_functions
from harness.plan.jmx.tree import CODE, VARIABLE, VARIABLE_TABLES, Node

# A file that is read again from its start needs few rows; each row of one that is used up is one iteration.
_ROWS, _ROWS_USED_UP = 100, 5000
_PROPERTY = re.compile(r"(\$\{__P\([^,()$]+,)[^,()$]*(\)\})")
_UNSAFE = re.compile(r"[^\w.-]+")
_EVALUATED = re.compile(r"\$\{__eval\((\$\{[\w.-]+\})\)\}")
# Each run gets a copy of its files.
_UPLOADS_MOST_BYTES = 20_000_000
_ID = re.compile(r"(?i)(^|[_.\s-])(uu)?ids?$|[a-z](I|UUI)[dD]s?$|uuid|hrid")
# The value of a variable that is a file of somebody's machine, and not the path of a URL.
_FOREIGN = re.compile(r"([A-Za-z]:[\\/]|\\\\|/(home|Users|root|tmp|mnt|opt|var)/)[^\"'<>|*?\n]*\.\w{2,5}")
# A script that reads a file: its name is the text.
_OPENED = r"new\s+(?:[a-z.]+\.)?(?:FileReader|FileInputStream|HTTPFileArg)\(\s*"
_READERS = "text|getText|readLines|eachLine|splitEachLine|bytes|readBytes|withReader|newReader"
_READ = rf"new\s+(?:java\.io\.)?File\(\s*(?=[\"'][^\"'\n]*[\"']\s*\)\s*\.\s*(?:{_READERS})\b(?!\s*=[^=]))"
_NAME = r"([\"'])((?:(?!\1)[^\n])+\.\w{2,5})\1"
_IN_SCRIPT = re.compile(f"(?:{_OPENED}|{_READ}){_NAME}")
_OWN = "data/"


@dataclass(frozen=True)
class DataFile:
    """A file that a plan reads: its name relative to plans/, and where it is now (None for a sample).

    `columns` are those of a CSV file; `text` is the content of a sample, `left` a file that is there and not its own.
    """

    name: str
    source: Path | None
    columns: tuple[str, ...]
    text: str = ""
    left: Path | None = None


def fix_data(
    mapping: Variables, files: dict[str, DataFile], folders: Sequence[Path], plan_name: str
) -> Iterator[Finding]:
    """Point each file name of the plan at a file in data/<plan>, add it to `files`, and yield names of absent ones.

    The files may be in `folders`; the first one is the folder of the original JMX. Only its files are copied.
    """
    for node in mapping.nodes:
        for prop in file_names_of(node):
            raw = prop.text or ""
            where = f"data/{plan_name}/uploads"
            if file := _file_of(mapping, node, raw, folders, plan_name):
                # A file name that is a property stays one.
                name, match = _unique(file, files).name, _PROPERTY.fullmatch(raw)
                mapping.draft.set_text(prop, f"{match[1]}{name}{match[2]}" if match else name, Fix.DATA)
            elif found := _uploads(mapping, raw, folders, where) or _sample_upload(mapping, raw, folders, plan_name):
                files |= {one.name: one for one in found}
                mapping.draft.set_text(prop, f"{where}/{_last(raw)}", Fix.DATA)
            else:
                todo = f"store its files in plans/{where}, and write {where}/{_last(raw)}"
                yield Finding.at(node, Rule.MISSING_FILE, f"reads the file {raw}", todo)
    for prop, raw in _foreign_names(mapping):
        if file := _named_file(mapping, raw, folders, plan_name):
            mapping.draft.set_text(prop, (prop.text or "").replace(raw, _unique(file, files).name), Fix.DATA)
    yield from _fix_functions(mapping, files, folders, plan_name)


def _fix_functions(
    mapping: Variables, files: dict[str, DataFile], folders: Sequence[Path], plan_name: str
) -> Iterator[Finding]:
    """Point the file names in functions at files in data/<plan>; yield those that are absent."""
    where = f"data/{plan_name}/uploads"
    for node in mapping.nodes:
        for prop in node.element.iter():
            names = dict.fromkeys(names_in_functions(prop.text or ""))
            for raw in (name for name in names if not name.startswith(_OWN)):
                file = _named_file(mapping, raw, folders, plan_name)
                if file and file.source:
                    name = _unique(file, files).name
                elif found := _uploads(mapping, raw, folders, where):
                    files |= {one.name: one for one in found}
                    name = f"{where}/{_last(raw)}"
                else:
                    todo = f"store it as plans/data/{plan_name}/{_last(raw)}, and write that name"
                    yield Finding.at(node, Rule.MISSING_FILE, f"a function reads the file {raw}", todo)
                    continue
                mapping.draft.set_text(prop, (prop.text or "").replace(raw, name), Fix.DATA)


def _unique(file: DataFile, files: dict[str, DataFile]) -> DataFile:
    """Return the file under a name that no other file has, and add it to the files."""
    before = files.setdefault(file.name, file)
    if before.source == file.source and (file.source or before.columns == file.columns):
        return before
    path = PurePosixPath(file.name)
    return _unique(replace(file, name=str(path.with_stem(f"{path.stem}-2"))), files)


def _file_of(mapping: Variables, node: Node, raw: str, folders: Sequence[Path], plan_name: str) -> DataFile | None:
    """Return the file of an element; None for an absent script, and for a name that only the run knows."""
    is_csv = node.kind in KINDS
    named = _named(mapping.known(raw) or _without_variables(mapping, raw), folders)
    # An empty CSV file ends its users at once: it is replaced like an absent one.
    source = next((path for path in named.paths if path.stat().st_size or not is_csv), None)
    target = f"data/{plan_name}/{named.name or 'data.csv'}"
    if not is_csv:
        is_fixed = named.name and (mapping.known(raw) is not None or "${" not in _last(raw))
        is_upload = not CODE.match(node.kind)
        sample = f"sample of {named.name}\n" if is_upload and not source else ""
        return DataFile(target, source, (), sample, named.left) if is_fixed and (source or is_upload) else None
    columns = tuple(variable_names(node, source) or _unset_variables(mapping, node) or ("value",))
    sample = "" if source else _sample(node, columns, _upload_variables(mapping))
    return DataFile(target, source, columns, sample, named.left)


def _named_file(mapping: Variables, raw: str, folders: Sequence[Path], plan_name: str) -> DataFile | None:
    """Return the file that a variable or a script names; a sample with one column where it is absent."""
    named = _named(_without_variables(mapping, raw), folders)
    if not named.name or "${" in _last(raw):
        return None
    source = next(iter(named.paths), None)
    rows = "".join(f"{_value(PurePosixPath(named.name).stem, number)}\n" for number in range(1, _ROWS + 1))
    return DataFile(f"data/{plan_name}/{named.name}", source, (), "" if source else rows, named.left)


class _Named(NamedTuple):
    """A file's name without unsafe characters, and the files at its path, relative to the JMX, or beside it.

    `left` is one that is not the plan's own.
    """

    name: str
    paths: list[Path]
    left: Path | None


def _named(text: str, folders: Sequence[Path]) -> _Named:
    path = text.replace("\\", "/")
    last = PurePosixPath(path).name
    tails = (path, path.lstrip("/"), last) if path else ()
    found = [file for folder in folders for tail in tails if (file := folder / tail).is_file()]
    paths = [file for file in found if _is_of_plan(file, folders)]
    left = next((file for file in found if not paths), None)
    return _Named(_UNSAFE.sub("-", last).strip("-."), paths, left)


def _is_of_plan(path: Path, folders: Sequence[Path]) -> bool:
    return any(is_own(path, folder / "any.jmx") for folder in folders)


def _uploads(mapping: Variables, raw: str, folders: Sequence[Path], where: str) -> list[DataFile]:
    """Return the possible files of an upload whose name only the run knows: those in its folder whose names match.

    None without a folder below that of the JMX, or when they are too many to be copied into each run.
    """
    own = _without_variables(mapping, raw.replace("\\", "/").rpartition("/")[0]).strip("/")
    last = _EVALUATED.sub(r"\1", _last(raw))
    if not own or ".." in own or "${__" in last:
        return []
    fits = re.compile(".+".join(map(re.escape, VARIABLE.split(last)[::2]))).fullmatch
    folder = next((folder / own for folder in folders if (folder / own).is_dir()), None)
    inside = (path for path in folder.iterdir() if path.is_file() and fits(path.name)) if folder else ()
    paths = sorted(path for path in inside if _is_of_plan(path, folders))
    if sum(path.stat().st_size for path in paths) > _UPLOADS_MOST_BYTES:
        return []
    return [DataFile(f"{where}/{path.name}", path, ()) for path in paths]


def _sample_upload(mapping: Variables, raw: str, folders: Sequence[Path], plan_name: str) -> list[DataFile]:
    """Return a sample for an upload whose name comes from an absent CSV file: that has one name in all rows."""
    variable = VARIABLE.fullmatch(_last(raw))
    setters = mapping.values.setters.get(variable[1], ()) if variable else ()
    for setter in setters:
        file = _file_of(mapping, setter, setter.value("filename"), folders, plan_name) if setter.kind in KINDS else None
        if file is None or file.source:
            return []
    names = {_value(variable[1], 1)} if variable and setters else set()
    return [DataFile(f"data/{plan_name}/uploads/{name}", None, (), f"sample of {name}\n") for name in names]


def _upload_variables(mapping: Variables) -> set[str]:
    uploads = (prop for node in mapping.nodes if node.kind not in KINDS for prop in file_names_of(node))
    return {name for prop in uploads for name in VARIABLE.findall(_last(prop.text or ""))}


def _last(raw: str) -> str:
    return raw.replace("\\", "/").rpartition("/")[2]


def _without_variables(mapping: Variables, raw: str) -> str:
    """Return a file name with the variables that are known, and without functions and other variables."""
    text = VARIABLE.sub(lambda match: mapping.known(match[0]) or "", raw)
    while (start := text.rfind("${")) >= 0:
        end = text.find("}", start)
        text = text[:start] + (text[end + 1 :] if end >= 0 else "")
    return text


def _unset_variables(mapping: Variables, node: Node) -> Sequence[str]:
    """Return the variables that elements beside and below the data set read and nothing sets, in file order."""
    known = mapping.values.variables.keys() | mapping.values.setters.keys()
    texts = (text for other in (node.parent.walk() if node.parent else ()) for text in other.element.itertext())
    names = (name for text in texts for name in re.findall(r"\$\{([A-Za-z]\w*)\}", text))
    return [name for name in dict.fromkeys(names) if name not in known]


def _sample(node: Node, columns: Sequence[str], uploads: Collection[str]) -> str:
    """Return rows with made-up values, below a header where the data set expects one; `uploads` are the same in all."""
    count = _ROWS if node.value("recycle") != "false" else _ROWS_USED_UP
    delimiter = delimiter_of(node)
    has_header = not node.value("variableNames") or node.value("ignoreFirstLine") == "true"
    rows = [
        delimiter.join(_value(column, 1 if column in uploads else number) for column in columns)
        for number in range(1, count + 1)
    ]
    return "\n".join([delimiter.join(columns), *rows] if has_header else rows) + "\n"


def _value(column: str, number: int) -> str:
    if _ID.search(column):
        return str(uuid5(NAMESPACE_DNS, f"{column}-{number}"))
    if "barcode" in column.lower():
        return f"{3_000_000_000 + number}"
    return f"{_UNSAFE.sub('-', column)}-{number}"


def _foreign_names(mapping: Variables) -> Iterator[tuple[ElementTree.Element, str]]:
    """Yield each file name in the text of a property that is not below data/, with the property.

    The names that are whole properties, such as those of CSV Data Sets, are not among them.
    """
    named = {id(prop) for node in mapping.nodes for prop in file_names_of(node)}
    for node in mapping.nodes:
        if node.kind in VARIABLE_TABLES:
            for prop in node.element.iterfind(".//stringProp[@name='Argument.value']"):
                text = (prop.text or "").strip()
                if _FOREIGN.fullmatch(text):
                    yield prop, text
        elif CODE.match(node.kind):
            for prop in node.element.iter():
                if id(prop) not in named:
                    names = dict.fromkeys(match[2] for match in _IN_SCRIPT.finditer(prop.text or ""))
                    yield from ((prop, name) for name in names if not name.startswith(_OWN))
