"""Reads the names of classes, and what they extend, in jars: as much of the class file format as that needs."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

_INTERFACE, _ABSTRACT = 0x0200, 0x0400
# The bytes after the tag of an entry of the constant pool; a text (1) has its own length.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}


class JavaClass(NamedTuple):
    """A class and the names of its superclass and interfaces."""

    name: str
    is_concrete: bool
    parents: tuple[str, ...]


def concrete_classes(jars: Iterable[Path], base: str) -> set[str]:
    """Return the names of the classes in the jars that are a `base` and can be instantiated."""
    classes = {one.name: one for jar in jars for one in _classes(jar)}

    def is_base(name: str) -> bool:
        return name == base or (name in classes and any(is_base(parent) for parent in classes[name].parents))

    return {name for name, one in classes.items() if one.is_concrete and is_base(name)}


def _classes(jar: Path) -> list[JavaClass]:
    with zipfile.ZipFile(jar) as archive:
        names = [name for name in archive.namelist() if name.endswith(".class") and not name.startswith("META-INF")]
        return [_parsed(archive.read(name)) for name in names]


def _parsed(data: bytes) -> JavaClass:
    count, position = struct.unpack_from(">H", data, 8)[0], 10
    texts: dict[int, str] = {}
    numbers: dict[int, int] = {}
    index = 1
    while index < count:
        tag = data[position]
        if tag == 1:
            size = struct.unpack_from(">H", data, position + 1)[0]
            texts[index] = data[position + 3 : position + 3 + size].decode("utf-8", "replace")
            position += 3 + size
        else:
            if tag == 7:
                numbers[index] = struct.unpack_from(">H", data, position + 1)[0]
            position += 1 + _SIZES[tag]
        index += 2 if tag in (5, 6) else 1
    flags, *own, interfaces = struct.unpack_from(">HHHH", data, position)
    parents = struct.unpack_from(f">{interfaces}H", data, position + 8)
    name, *others = (texts[numbers[one]].replace("/", ".") for one in (*own, *parents) if one)
    return JavaClass(name, not flags & (_INTERFACE | _ABSTRACT), tuple(others))
