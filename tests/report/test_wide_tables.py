"""Tables that are split to fit a page of GitHub."""

from harness.report.wide_tables import narrow_tables
from tests.support.markdown_rows import tables_of

# A column is as wide as its longest word: 10 px a character, 12 px a capital, and 27 px of padding. The first one and
# eight others of 107 px fit in 1,012 px.
HEADS = ["level", *(f"{number}2345678" for number in range(12))]
ROWS = [["1", *map(str, range(12))], ["2", *map(str, range(100, 112))]]


def test_a_table_that_fits_is_one_table():
    assert len(tables_of(narrow_tables(HEADS[:9], [row[:9] for row in ROWS]))) == 1


def test_a_wide_table_is_split_and_each_part_begins_with_the_kept_columns():
    first, second = tables_of(narrow_tables(HEADS, ROWS))
    assert [*first[0]] == HEADS[:9]
    assert [*second[1].values()] == ["2", "108", "109", "110", "111"]
    assert "| --- | ---: |" in narrow_tables(HEADS, ROWS)


def test_columns_that_belong_together_are_not_separated():
    for table in tables_of(narrow_tables(HEADS, ROWS, together=4)):
        assert len(table[0]) % 4 == 1


def test_the_target_of_a_link_and_words_that_wrap_take_no_width():
    assert len(tables_of(narrow_tables(["level", *["VERDICT"] * 9], [["1"] * 10]))) == 2  # 9 times 111 px
    assert len(tables_of(narrow_tables(["level", *["verdict"] * 9], [["1"] * 10]))) == 1  # 9 times 97 px, without 77
    long = [["1", f"[run](very/{'long/' * 50}run.md) " + "word " * 50]]
    assert len(tables_of(narrow_tables(["level", *["run"] * 6], [[*long[0], *long[0][1:] * 5]]))) == 1
