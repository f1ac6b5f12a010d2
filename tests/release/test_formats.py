"""The HTML file and the storage format of Confluence: made of the Markdown page, and valid."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.release.confluence import storage_format
from tests.release.test_release import release
from tests.support.releases import NOTE, save_release

# Confluence declares these itself.
SPACES = {"ac": "http://atlassian.com/content", "ri": "http://atlassian.com/resource/identifier"}


def parsed(text: str) -> ElementTree.Element:
    names = " ".join(f'xmlns:{name}="{address}"' for name, address in SPACES.items())
    return ElementTree.fromstring(f"<page {names}>{text}</page>")


def macros(page: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [
        one for one in page.iter(f"{{{SPACES['ac']}}}structured-macro") if one.get(f"{{{SPACES['ac']}}}name") == name
    ]


def parameter(macro: ElementTree.Element, name: str) -> str | None:
    found = [
        one.text for one in macro.iter(f"{{{SPACES['ac']}}}parameter") if one.get(f"{{{SPACES['ac']}}}name") == name
    ]
    return found[0] if found else None


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the folder of a release whose Pay label regressed, with a person's notes in its page."""
    reports = tmp_path_factory.mktemp("formats") / "reports"
    save_release(reports, "01", levels=(2,))
    save_release(reports, "02", {"Search": 30.0, "Pay": 65.0}, levels=(2,), started_at="2026-02-01T00:00:00Z")
    release(reports)
    page = reports / "tiny" / "release-sweep-01-sweep-02.md"
    notes = "rendered again -->\nAsk <the team> & see [PROJ-863](https://jira.example.org/863).\n"
    page.write_text(page.read_text().replace("rendered again -->\n", notes, 1))
    release(reports)
    return page.parent


# What Confluence documents in "Confluence Storage Format", "Confluence Macro Parameters" and the pages of the macros
# (Data Center 9.1): the elements with their attributes, the macros with their parameters and their bodies.
AC, RI = (f"{{{SPACES[name]}}}" for name in ("ac", "ri"))
ELEMENTS = {
    **dict.fromkeys(["h2", "h3", "h4", "h5", "h6", "strong", "em", "code", "pre"], frozenset()),
    **dict.fromkeys(["ul", "ol", "li", "br", "hr"], frozenset()),
    **dict.fromkeys(["table", "tbody", "tr", "del", "s", "u", "sub", "sup", "blockquote"], frozenset()),
    "p": {"style"}, "th": {"colspan", "rowspan"}, "td": {"colspan", "rowspan"}, "a": {"href", "title"},
    f"{AC}structured-macro": {f"{AC}name"}, f"{AC}parameter": {f"{AC}name"},
    f"{AC}rich-text-body": set(), f"{AC}plain-text-body": set(),
    f"{AC}image": {f"{AC}alt", f"{AC}width", f"{AC}height", f"{AC}title", f"{AC}thumbnail", f"{AC}align"},
    f"{RI}attachment": {f"{RI}filename"},
}  # fmt: skip
MACROS = {
    "toc": ({"maxLevel", "minLevel", "printable", "style", "type", "outline"}, None),
    "status": ({"colour", "title", "subtle"}, None),
    "expand": ({"title"}, "rich-text-body"),
    "warning": ({"title", "icon"}, "rich-text-body"),
    "code": ({"language", "title", "collapse", "linenumbers", "theme", "firstline"}, "plain-text-body"),
}
COLOURS = {"Grey", "Red", "Yellow", "Green", "Blue"}


def assert_is_documented(page: ElementTree.Element) -> None:
    for element in page.iter():
        if element is page:
            continue
        assert element.tag in ELEMENTS
        assert set(element.keys()) <= ELEMENTS[element.tag], element.tag
        if element.tag == f"{AC}structured-macro":
            parameters, body = MACROS[element.get(f"{AC}name", "")]
            named = {one.get(f"{AC}name") for one in element.findall(f"{AC}parameter")}
            bodies = [one.tag.removeprefix(AC) for one in element if one.tag.endswith("-body")]
            assert named <= parameters
            assert bodies == ([body] if body else [])
        if element.tag == "p":
            assert element.get("style", "text-align: right;") == "text-align: right;"
    for table in page.iter("table"):
        assert [child.tag for child in table] == ["tbody"]
    assert {parameter(one, "colour") for one in macros(page, "status")} <= COLOURS


@pytest.mark.real
def test_the_storage_format_has_only_what_confluence_documents(files):
    page = parsed((files / "release-sweep-01-sweep-02.confluence.xml").read_text())
    assert_is_documented(page)
    assert "Labels" in {parameter(one, "title") for one in macros(page, "expand")}
    (folded,) = (one for one in macros(page, "expand") if parameter(one, "title") == "Labels")
    assert "Pay" in "".join(folded.find(f"{AC}rich-text-body").itertext())


@pytest.mark.parametrize(
    "markdown",
    [
        "> a\n>\n> - b\n",
        "|a|b|\n|---|---:|\n|c|met|\n",
        "|a|b|\n|---|---:|\n",
        "1. *a* **b** `c` ~~d~~\n\n---\n\n![e](f/g.svg)\n",
        "<details><summary>A & B</summary>\n\ntext\n\n</details>\n",
    ],
)
def test_each_element_of_markdown_becomes_documented_ones(markdown):
    assert_is_documented(parsed(storage_format(f"# t\n\n{markdown}")))


@pytest.mark.real
def test_the_storage_format_is_well_formed_and_has_macros_tables_and_notes(files):
    page = parsed((files / "release-sweep-01-sweep-02.confluence.xml").read_text())
    assert len(macros(page, "toc")) == 1
    (panel,) = macros(page, "warning")
    assert NOTE in "".join(panel.itertext())
    colours = {(parameter(one, "title"), parameter(one, "colour")) for one in macros(page, "status")}
    assert {("REGRESSED", "Red"), ("missed", "Red"), ("met", "Green"), ("VALID", "Green")} <= colours
    text = "".join(page.itertext())
    assert "Ask <the team> & see PROJ-863." in text
    assert [link.get("href") for link in page.iter("a")] == ["https://jira.example.org/863"]
    assert page.find("h1") is None
    heads = [heading.text for heading in page.iter("h2")]
    assert heads[:5] == ["Overview", "Summary", "Recommendations", "What this page cannot tell", "Test runs"]


@pytest.mark.real
def test_charts_of_the_storage_format_are_attachments_that_exist_as_files(files):
    page = parsed((files / "release-sweep-01-sweep-02.confluence.xml").read_text())
    names = [one.get(f"{{{SPACES['ri']}}}filename") for one in page.iter(f"{{{SPACES['ri']}}}attachment")]
    assert names
    for name in names:
        assert (files / "release-sweep-01-sweep-02" / name).read_text().startswith("<?xml ")


def test_the_html_file_has_its_charts_and_style_and_loads_nothing(files):
    html = (files / "release-sweep-01-sweep-02.html").read_text()
    charts = list((files / "release-sweep-01-sweep-02").iterdir())
    assert html.count('src="data:image/svg+xml;base64,') == len(charts) > 0
    assert not re.search(r'(src|href)="(?!data:|https://jira)', re.sub(r"(?s)<script>.*?</script>", "", html))
    assert "default-src 'none'" in html
    assert "Ask &lt;the team&gt; &amp; see" in html
    assert NOTE in html


def test_verdicts_outside_of_tables_stay_text():
    assert 'ac:name="status"' not in storage_format("# t\n\nREGRESSED\n\n- met\n")


def test_code_with_the_end_of_a_cdata_section_stays_code():
    page = parsed(storage_format("# t\n\n```\na ]]> b <c>\n```\n"))
    (macro,) = macros(page, "code")
    assert "".join(macro.itertext()).strip() == "a ]]> b <c>"


@pytest.mark.real
@given(st.text(max_size=200))
def test_any_text_in_the_notes_is_well_formed_in_the_storage_format(text):
    parsed(storage_format(f"# title\n\n{text}\n"))
