"""One way into each kind of text: only the named modules write a text of a JMX, or print."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from harness.base.plain_text import printable, without_control
from harness.plan.jmx_writer import Expression, call, joined
from tests.support.imports import MODULES, name_of

WRITER, DRAFT = "harness.plan.jmx_writer", "harness.plan.adopt.draft"
# They take texts of the JMX that they write, expressions of a checked TOML, or numbers of ours into expressions.
OF_JMX = {
    WRITER,
    "harness.plan.adopt.adopt",
    "harness.plan.har.jmx",
    "harness.plan.jmx.headers",
    "harness.plan.jmx.job_threads",
    "harness.plan.jmx.think_time",
    "harness.plan.jmx.thread_groups",
    "harness.run.replay.one_pass",
}


@cache
def trees(word: str) -> list[tuple[str, ast.Module]]:
    """Return the modules with a word, parsed."""
    texts = ((name_of(path), path.read_text(encoding="utf-8")) for path in MODULES)
    return [(name, ast.parse(text)) for name, text in texts if word in text]


def has_jmx(tree: ast.Module) -> bool:
    """Return whether a module handles elements of XML."""
    named = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return any(
        (one.module or "").startswith(
            ("xml.etree", "defusedxml", "harness.plan.jmx.tree", "harness.plan.jmx.thread_groups")
        )
        for one in named
    )


def called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def writes_xml(node: ast.AST) -> bool:
    """Return whether a statement makes an element, or sets its text or an attribute, without the writer."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        parts = [part for target in targets for part in ast.walk(target)]
        return any(isinstance(part, ast.Attribute) and part.attr in ("text", "tail", "tag", "attrib") for part in parts)
    is_set = called(node) == "set" and isinstance(node, ast.Call) and len(node.args) == 2
    is_table = called(node) == "update" and ".attrib." in ast.unparse(node)
    return called(node) in ("SubElement", "Element", "makeelement") or is_set or is_table


@pytest.mark.real
def test_only_the_writer_and_the_draft_make_elements_of_a_jmx_and_set_their_texts():
    found = {
        name for name, tree in trees("xml") + trees("jmx") if has_jmx(tree) and any(map(writes_xml, ast.walk(tree)))
    }
    assert found == {WRITER, DRAFT}


@pytest.mark.real
def test_an_expression_is_a_constant_of_ours():
    wrong = []
    for name, tree in trees("jmx_writer"):
        for node in ast.walk(tree):
            if called(node) == "Expression" and isinstance(node, ast.Call) and name != WRITER:
                names = {part.id for part in ast.walk(node.args[0]) if isinstance(part, ast.Name)}
                if any(not one.lstrip("_").isupper() for one in names):
                    wrong.append((name, ast.unparse(node)))
    assert wrong == []
    assert {
        name for name, tree in trees("jmx_writer") if any(called(node) == "of_jmx" for node in ast.walk(tree))
    } == OF_JMX - {WRITER}


def test_only_one_module_prints_and_it_prints_no_sign_that_controls_a_terminal():
    # Rich's consoles print what `clean` has returned; the guardian runs without the packages, and prints names of ours.
    bare = {
        name
        for name, tree in trees("print(")
        if any(isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print" for node in ast.walk(tree))
    }
    assert bare == {"harness.base.log", "harness.base.guardian"}
    assert printable("a\x1b\tb\u200dc\xa0d\u202ee\n ü") == "a\ufffd\ufffdb\ufffdc\ufffdd\ufffde\ufffd ü"
    assert without_control("a\x1b]0;b\x07\r\tc\n\x9b1m\u202e") == "a\ufffd]0;b\ufffd\ufffd\tc\n\ufffd1m\ufffd"


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        (["a\\b"], "a\\b"),  # without a reference JMeter uses backslashes as they are
        (["${a}\\"], "${__char(36)}{a}\\\\"),
        (["$${a}"], "${__char(36)}${__char(36)}{a}"),
        (["a$", "{b}"], "a${__char(36)}{b}"),
        (["a$", Expression("${v}"), "{b}\\"], "a${__char(36)}${v}{b}\\\\"),
        (["\x01\ud800"], "${__char(1)}\ufffd"),
        ([call("__P", "a,b", "$)\\{")], "${__P(a${__char(44)}b,${__char(36)}${__char(41)}${__char(92)}${__char(123)})}"),  # noqa: E501
        ([f"{Expression('${v}')}"], "${__char(36)}{v}"),  # made by str's own methods: a text again
    ],
)  # fmt: skip
def test_a_foreign_text_is_written_so_that_jmeter_reads_that_very_text(parts, written):
    assert joined(*parts) == written
