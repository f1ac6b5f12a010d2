"""A report without its files: nothing that needs them, and never longer than the limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.commands.comment import read_report
from harness.forge.comment import CommentSubject, ComparisonReport, comment_text, cut, without_direction, without_files
from harness.judge.result import Result

FOLD = "<details><summary>Set-up</summary>"
LINES = st.lists(st.sampled_from(["```", "| a | b |", "text", "ü" * 9, "", FOLD, "</details>"]), max_size=30).map(
    "\n".join
)


def test_what_needs_files_is_left_out() -> None:
    text = "# A\n<!-- notes -->\n![chart](a.svg)\n\n\n\n[run-1](run-1.md) [docs](https://example.org)\n"
    assert without_files(text) == "# A\n\nrun-1 [docs](https://example.org)\n"


def test_a_code_block_that_is_cut_is_closed() -> None:
    text = "```\n" + "line\n" * 20 + "```\n"
    # The last line takes 35 characters with the number 22: there is room for two fences and six lines.
    assert cut(text, 35 + 2 * 4 + 6 * 5, "x.md") == (
        "```\n" + "line\n" * 6 + "```\n" + "\n… cut here: 15 more lines in x.md\n"
    )


def test_folded_parts_stay_folded_and_other_html_is_shown_as_it_is_written() -> None:
    text = f"{FOLD}\n\nx <b>y</b>\n\n</details>\n<details><summary><b>x</b></summary>\n<details>\n"
    shown = "&lt;details>&lt;summary>&lt;b>x&lt;/b>&lt;/summary>\n&lt;details>\n"
    assert without_files(text) == f"{FOLD}\n\nx &lt;b>y&lt;/b>\n\n</details>\n{shown}"
    assert without_files(f"```\n{FOLD}\n```\n") == f"```\n{FOLD}\n```\n"


def test_a_folded_part_that_is_cut_is_closed() -> None:
    text = f"{FOLD}\n" + "line\n" * 30 + "</details>\n"
    result = cut(text, 140, "x.md")
    assert result.startswith(f"{FOLD}\nline\n")
    assert result.count("line\n") + int(result.split("cut here: ")[1].split()[0]) == 31
    assert "line\n\n</details>\n\n… cut here: " in result


@pytest.mark.real
@given(LINES, st.integers(60, 400))
def test_any_text_is_within_the_limit_and_no_code_block_is_open(text: str, limit: int) -> None:
    for size in (len, lambda one: len(one.encode())):
        result = cut(text, limit, "x.md", size)
        assert size(result) <= limit
        if "cut here" in result:
            assert result.count("```") % 2 == 0


def test_a_table_that_is_cut_has_its_head_and_a_row_or_is_left_out() -> None:
    text = "Before\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n\n| c |\n| --- |\n| 5 |\n" + "end\n" * 20
    for limit in range(45, len(text)):
        result = cut(text, limit, "x.md")
        assert len(result) <= limit
        for head, rows in (("| a | b |\n", "| --- | --- |\n| 1 | 2 |\n"), ("| c |\n", "| --- |\n| 5 |\n")):
            assert head not in result or head + rows in result
    assert cut(text, len(text) - 1, "x.md").count("| --- |") == 2


@pytest.mark.real
@pytest.mark.parametrize("character", ["x", "\U0001f600", "\u00fc", "@a ", "<b>"])
def test_a_comment_is_never_longer_than_the_limit_of_its_forge(character: str) -> None:
    table = "| label | p95 |\n| --- | --- |\n" + f"| {character * 30} | 1 |\n" * 5000
    changes = tuple(f"plans/{number}.jmx: {character * 70_000}" for number in range(40))
    report = ComparisonReport(f"# Result\n\n{table}", Result("OK", "OK: equal"), changes)
    for link, rest in (("https://ci.example/1", "[the report](https://ci.example/1)"), ("", "the report")):
        body = comment_text(report, CommentSubject("performance", "a" * 40, link), "b" * 40, 65_536)
        assert len(body.encode("utf-16-le")) // 2 <= 65_536
        assert f"more lines in {rest}" in body
        last = body[: body.index("\n\u2026 cut here")].splitlines()[-1]
        assert last.startswith("| ")
        assert last.endswith(" | 1 |")
        assert body.count("```") == 2


def test_html_and_reference_images_are_shown_as_text_and_not_loaded() -> None:
    code = "```\n<a> ![z][ref]\n```\n"
    text = "<img src=https://x/a.png> a<b 1 < 2\n![x][ref] ![y]\n\n[ref]: https://x/b.png\n"
    shown = "&lt;img src=https://x/a.png> a&lt;b 1 < 2\n[x][ref] [y]\n\n[ref]: https://x/b.png\n"
    assert without_files(text + code) == shown + code


def test_a_text_keeps_its_direction() -> None:
    assert without_direction("OK\u202eDESSERGER\u2066") == "OKDESSERGER"


def test_a_report_that_is_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ab-01.md")
    with pytest.raises(UsageError, match="not a file"):
        read_report(tmp_path / "ab-01.md")


def test_a_result_has_no_characters_that_turn_its_text(tmp_path: Path) -> None:
    (tmp_path / "ab-01.md").write_text("# OK\u202e")
    (tmp_path / "ab-01.json").write_text('{"verdict": "OK\u202e", "headline": "fine\u2067"}')
    assert read_report(tmp_path) == ComparisonReport("# OK", Result(verdict="OK", headline="fine"))
