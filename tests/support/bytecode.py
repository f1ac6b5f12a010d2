"""The compiled modules of this checkout, for its copies: each Python there would compile them again."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from tests.support.paths import ROOT


def share_bytecode(copy: Path) -> dict[str, str]:
    """Link the compiled modules into build/pycache of a copy of the checkout; return the environment that names it.

    Python uses only those whose source has the same time and size there. Without PYTHONPYCACHEPREFIX none are linked.
    """
    theirs = copy / "build" / "pycache"
    if sys.pycache_prefix:
        for source, root in ((ROOT, copy), (Path(sys.base_prefix), Path(sys.base_prefix))):
            compiled = Path(sys.pycache_prefix) / source.relative_to("/")
            if compiled.is_dir():
                shutil.copytree(compiled, theirs / root.relative_to("/"), copy_function=_link, dirs_exist_ok=True)
    return {"PYTHONPYCACHEPREFIX": str(theirs)}


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or another worker has just replaced it
        if Path(source).exists():
            shutil.copy2(source, target)
