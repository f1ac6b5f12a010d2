"""A report without its files: nothing that needs them, and never longer than the limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from harness.forge.excerpt import cut, without_files

LINES = st.lists(st.sampled_from(["```", "| a | b |", "text", "ü" * 9, ""]), max_size=30).map("\n".join)


def test_what_needs_files_is_left_out() -> None:
    text = "# A\n<!-- notes -->\n![chart](a.svg)\n\n\n\n[run-1](run-1.md) [docs](https://example.org)\n"
    assert without_files(text) == "# A\n\nrun-1 [docs](https://example.org)\n"


def test_a_code_block_that_is_cut_is_closed() -> None:
    text = "```\n" + "line\n" * 20 + "```\n"
    # The last line takes 35 characters with the number 22: there is room for two fences and six lines.
    assert cut(text, 35 + 2 * 4 + 6 * 5, "x.md") == (
        "```\n" + "line\n" * 6 + "```\n" + "\n… cut here: 15 more lines in x.md\n"
    )


@given(LINES, st.integers(60, 400))
def test_any_text_is_within_the_limit_and_no_code_block_is_open(text: str, limit: int) -> None:
    for size in (len, lambda one: len(one.encode())):
        result = cut(text, limit, "x.md", size)
        assert size(result) <= limit
        if "cut here" in result:
            assert result.count("```") % 2 == 0
