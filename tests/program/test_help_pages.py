"""`lth help TOPIC`: the pages of the documentation, and sections of them, as text for a terminal."""

import re

import pytest

from harness.cli.help_pages import page_text
from harness.cli.verbs import ALIASES, VERBS
from tests.support.commands import command
from tests.support.paths import ROOT

PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md") if path.name != "README.md")


def printed(*words):
    done = command("lth", "help", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        ("goals", "A goal limits a metric of TOTAL or of a label."),
        ("think-time", "--think=2s"),
        ("jmeter", "COMING FROM JMETER"),
        ("jenkins", "stage('load test')"),
        ("environment", "TMPDIR"),
        ("secrets", "secrets.toml"),
        ("other protocols", "JDBC"),
        ("generators", "SEVERAL LOAD GENERATORS"),
        ("docs/ab.md", "A/B TESTS"),
        ("clone", "make VERB A=b is lth VERB --a=b"),
        ("plans", "A PLAN OF YOUR OWN"),
    ],
)
def test_a_topic_is_a_page_or_a_section(topic, text):
    assert text in printed(*topic.split())


def test_a_verb_is_still_its_own_help_and_a_code_its_section():
    assert printed("ab").startswith("usage: lth ab")
    assert printed("too-short").startswith("too-short")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_printed_whole_and_without_marks_of_markdown(page):
    text = page_text(f"{page}.md")
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("  "))
    assert re.findall(r"\]\([^)]|^#{1,6} |^\||```", text, re.MULTILINE) == re.findall(r"\*\*", prose) == []
    source = (ROOT / "docs" / f"{page}.md").read_text()
    plain = re.sub(r"\]\([^)]*\)|<!--.*?-->|^```\w+|</?(details|summary)>", "", source, flags=re.DOTALL | re.MULTILINE)
    assert [word for word in set(re.findall(r"\b[a-z]{5,}\b", plain)) if word not in text.lower()] == []


@pytest.mark.parametrize("page", ["five-minutes", "project", "from-jmeter", "install"])
def test_paragraphs_lists_and_tables_of_two_columns_fit_into_80_columns(page):
    lines = [line for line in page_text(f"{page}.md").splitlines() if not line.startswith("  ")]
    assert [line for line in lines if len(line) > 80 and " " in line[80:]] == []


def test_the_topics_are_all_pages_each_with_its_title():
    names = [line.split()[0] for line in printed("topics").splitlines()]
    assert sorted(names) == sorted([*PAGES, "plans"])


def test_an_unknown_topic_is_one_line_with_the_nearest_one():
    done = command("lth", "help", "goels")
    assert done.returncode == 2
    assert done.stderr == (
        "lth help: goels: no such verb or page; did you mean goals? "
        "lth help topics lists the pages, lth help all the verbs\n"
    )


@pytest.mark.real
def test_every_page_that_a_text_of_the_harness_names_can_be_printed():
    """`lth help X` in a message is a page, a section, a code or a verb; no message names a file of docs/."""
    named = set()
    for path in (ROOT / "harness").rglob("*.py"):
        named |= set(re.findall(r"lth help ([a-z][\w.-]*)", path.read_text()))
    unknown = []
    for name in named - {*VERBS, *ALIASES, "all", "topics"}:
        done = command("lth", "help", name)
        unknown += [name] if done.returncode else []
    assert unknown == []
