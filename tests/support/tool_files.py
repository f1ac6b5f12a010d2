"""Files that other tools wrote, and what a command makes of them."""

from __future__ import annotations

import json
import lzma

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from tests.support.paths import ROOT

TOOL_FILES = ROOT / "tests" / "data" / "tools"


def text_of(name):
    path = TOOL_FILES / name
    return lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()


def table(capsys, *arguments):
    """Return the JSON of a table: TOTAL of the load, and the remarks and warnings as one text."""
    assert main(["table", "--format", "json", "--percentiles", "50,75,90,95,99", *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    texts = [*printed["remarks"], *(one["text"] for one in printed["caveats"])]
    return printed["groups"][0]["total"], "\n".join(texts)


def refusal(capsys, *arguments):
    """Return the one line with which a command refuses its arguments."""
    with pytest.raises(UsageError) as refused:
        main([*arguments])
    assert capsys.readouterr().out == ""
    (line,) = str(refused.value).splitlines()
    return line
