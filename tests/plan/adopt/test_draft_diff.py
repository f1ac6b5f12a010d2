"""The fixes as text: only changed elements change, and the diff is one that patch applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.plan.adopt.adopt import adopt
from harness.plan.adopt.draft import Draft
from harness.plan.adopt.draft_diff import unified

OWN = Path(__file__).parent / "a_users_own.jmx"
SMALL = '<jmeterTestPlan><hashTree><TestPlan testname="{}"/>{}</hashTree></jmeterTestPlan>'


def test_patch_turns_the_original_into_the_fixed_plan(tmp_path: Path) -> None:
    draft = adopt(OWN, "shop", tmp_path).draft
    (tmp_path / "own.jmx").write_bytes(OWN.read_bytes())
    (tmp_path / "fixes.diff").write_text(unified(draft, "own.jmx", "own.jmx"))
    subprocess.run(["patch", "-s", "own.jmx", "fixes.diff"], cwd=tmp_path, check=True)
    assert (tmp_path / "own.jmx").read_bytes() == draft.text()


def test_an_unchanged_draft_has_its_bytes_and_no_diff() -> None:
    draft = Draft.read(OWN)
    assert draft.text() == OWN.read_bytes()
    assert unified(draft, "a", "b") == ""


@pytest.mark.parametrize(
    ("encoding", "newline", "name"),
    [("UTF-8", "\n", "Größe"), ("ISO-8859-1", "\r\n", "Größe"), ("UTF-8", "\n", "a > b")],
)
def test_encoding_and_line_ends_are_those_of_the_file(tmp_path: Path, encoding: str, newline: str, name: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?>\n' + SMALL.format(
        name, '<hashTree>\n  <ThreadGroup testname="ä"/>\n  <hashTree/>\n</hashTree>'
    )
    (tmp_path / "own.jmx").write_bytes(text.replace("\n", newline).encode(encoding))
    draft = Draft.read(tmp_path / "own.jmx")
    (group,) = draft.plan.walk()
    draft.set_attribute(group, "testname", 'ü & "x"', "a")
    draft.set_value(group, "comment", "é <b>", "b")
    comment = '<stringProp name="comment">é &lt;b&gt;</stringProp>'
    expected = text.replace(
        '<ThreadGroup testname="ä"/>', f"<ThreadGroup testname='ü &amp; \"x\"'>\n    {comment}\n  </ThreadGroup>"
    )
    assert draft.text().decode(encoding) == expected.replace("\n", newline)
