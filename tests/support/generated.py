"""All files that are generated from the code: `make generated` writes them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from harness.cli import completion
from harness.report.schema import generate
from tests.support import example_accounts, jmeter_page, json_page, warning_pages
from tests.support.paths import ROOT

GENERATED: Mapping[Path, Callable[[], str]] = {
    generate.SCHEMA: generate.schema_text,
    json_page.PAGE: json_page.page,
    jmeter_page.PAGE: jmeter_page.page,
    ROOT / "docs" / "reference.md": completion.markdown,
    warning_pages.DOUBTFUL: warning_pages.doubtful_page,
    warning_pages.FORMAT: warning_pages.format_page,
    **example_accounts.PAGES,
}


def write_again(files: Mapping[Path, Callable[[], str]] = GENERATED) -> list[Path]:
    """Write what has changed, and return these files."""
    texts = {path: text() for path, text in files.items()}
    changed = [path for path, text in texts.items() if _stored(path) != text]
    for path in changed:
        path.parent.mkdir(exist_ok=True)
        path.write_text(texts[path], encoding="utf-8", newline="\n")
    return changed


def _stored(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


if __name__ == "__main__":
    for path in write_again():
        print(f"wrote {path.relative_to(ROOT)}")
