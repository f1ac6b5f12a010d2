"""The files that are generated from the code are what it gives now."""

import re

import pytest

from tests.support.generated import GENERATED
from tests.support.paths import ROOT


@pytest.mark.parametrize("path", GENERATED, ids=lambda path: path.name)
def test_make_generated_changes_nothing(path):
    assert path.read_text(encoding="utf-8") == GENERATED[path](), "run: make generated"


def test_make_generated_writes_these_files():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^generated:.*\n\t@\$\(setup\) --tests\n\t@.* -m tests\.support\.generated$", makefile, re.M)
