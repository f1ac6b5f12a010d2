"""Finds Java for manifests: the values of `{{ java }}`, `{{ java_bin }}` and `{{ java_version }}`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from harness.base.toolchain import java_path


def java_context() -> Mapping[str, str]:
    """Return `java`, `java_bin` (the JDK's bin folder) and `java_version`; nothing without Java.

    A manifest that needs no Java then still works; one that does fails with the name of the missing value.
    """
    found = shutil.which(java_path())
    if found is None:
        return {}
    # /usr/bin/java is a chain of links into the JDK. The JDK's other tools may not be on PATH.
    java = Path(os.path.realpath(found))
    return {"java": str(java), "java_bin": str(java.parent), "java_version": _version(java.parent.parent)}


def _version(home: Path) -> str:
    try:
        match = re.search(r'^JAVA_VERSION="(.+)"$', (home / "release").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        match = None
    return match[1] if match else "of unknown version"
