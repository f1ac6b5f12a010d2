"""The documentation: its links lead somewhere, and it stays short."""

import re
from pathlib import Path

import pytest

from tests.support.paths import ROOT

DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [
    *DOCS,
    *(
        page
        for place in ("CONTRIBUTING.md", "docs/examples/*.md", "plans/*.md", "systems/*/*.md")
        for page in sorted(ROOT.glob(place))
    ),
]
WORDS_MOST = 45_000
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return a page without its code."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        shown = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("&lt;", "<").replace("&gt;", ">")
        slug = re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")
        number = next(n for n in range(99) if (slug if n == 0 else f"{slug}-{n}") not in found)
        found.add(slug if number == 0 else f"{slug}-{number}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for path, anchor in LINK.findall(prose(page)):
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{path}#{anchor}")
    assert broken == []


def test_examples_of_reports_name_no_folder_of_a_machine() -> None:
    files = [file for file in (ROOT / "docs" / "examples").rglob("*") if file.suffix in (".md", ".svg")]
    own = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|Users|var)/")
    assert [name_of(file) for file in files if own.search(file.read_text(encoding="utf-8"))] == []


def test_the_index_links_every_page() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in DOCS[1:] if page.name != "README.md" and f"({page.name}" not in text] == []


def test_readme_and_documentation_stay_short() -> None:
    """Count words: neither the bars and rules of tables nor other signs that stand alone."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
    own = ROOT / "docs" / "what-jmeter-does.md"  # is generated from the advice, and has a limit of its own
    assert sum(words_in(page) for page in DOCS if page != own) <= WORDS_MOST
    assert words_in(own) <= 1_500


def words_in(page: Path) -> int:
    return sum(re.search(r"\w", word) is not None for word in page.read_text(encoding="utf-8").split())


def test_the_changes_of_a_version_fit_on_two_screens() -> None:
    """The newest section may be unreleased; no other one is, and each has what users see and the methodology."""
    _, *versions = re.split(r"^(?=## )", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    headings = [version.splitlines()[0] for version in versions]
    assert [line for line in headings if not re.fullmatch(r"## \d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", line)] in (
        [],
        [line for line in headings[:1] if re.fullmatch(r"## \d+\.\d+\.\d+ \(unreleased\)", line)],
    )
    for heading, version in zip(headings, versions, strict=True):
        assert re.findall(r"^### (.*)$", version, flags=re.MULTILINE) == ["Tool", "Methodology"], heading
        lines = version.splitlines()
        assert (len(lines) <= 120, len(version.split()) <= 1500, max(map(len, lines)) <= 200) == (True,) * 3, heading
