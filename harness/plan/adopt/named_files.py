"""Finds the files that a JMX names in the middle of texts: in User Defined Variables and in scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree  # types only

from harness.plan.adopt.variables import Variables
from harness.plan.data_files import file_names_of
from harness.plan.jmx import CODE

# The value of a variable that is a file of somebody's machine, and not the path of a URL.
_FOREIGN = re.compile(r"([A-Za-z]:[\\/]|\\\\|/(home|Users|root|tmp|mnt|opt|var)/)[^\"'<>|*?\n]*\.\w{2,5}")
# A script that reads a file: its name is the text.
_OPENED = r"new\s+(?:[a-z.]+\.)?(?:FileReader|FileInputStream|HTTPFileArg)\(\s*"
_READERS = "text|getText|readLines|eachLine|splitEachLine|bytes|readBytes|withReader|newReader"
_READ = rf"new\s+(?:java\.io\.)?File\(\s*(?=[\"'][^\"'\n]*[\"']\s*\)\s*\.\s*(?:{_READERS})\b(?!\s*=[^=]))"
_NAME = r"([\"'])((?:(?!\1)[^\n])+\.\w{2,5})\1"
_IN_SCRIPT = re.compile(f"(?:{_OPENED}|{_READ}){_NAME}")
_OWN = "data/"


class NamedFile(NamedTuple):
    """A file name, and the property of the JMX whose text has it."""

    prop: ElementTree.Element
    file_name: str


def foreign_names(mapping: Variables) -> Iterator[NamedFile]:
    """Yield each file name in a text that is not below data/.

    The names that are whole properties, such as those of CSV Data Sets, are not among them.
    """
    named = {id(prop) for node in mapping.nodes for prop in file_names_of(node)}
    for node in mapping.nodes:
        if node.kind in ("TestPlan", "Arguments"):
            for prop in node.element.iterfind(".//stringProp[@name='Argument.value']"):
                text = (prop.text or "").strip()
                if _FOREIGN.fullmatch(text):
                    yield NamedFile(prop, text)
        elif CODE.match(node.kind):
            for prop in node.element.iter():
                if id(prop) not in named:
                    names = dict.fromkeys(match[2] for match in _IN_SCRIPT.finditer(prop.text or ""))
                    yield from (NamedFile(prop, name) for name in names if not name.startswith(_OWN))
