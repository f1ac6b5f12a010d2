"""Levels that others published: CSV and Markdown tables, and checks of their differences."""

import pytest

from harness.base.errors import UsageError
from harness.sweep.levels import Figures
from harness.sweep.published import parse_csv, parse_markdown

# A page as published: no bars at the lines' ends, % signs here and there, and a row that has lost its first cell.
PUBLISHED = """Running this test on the release before gives the following comparison:
Virtual Users | FF Average (ms) | GR Average (ms) | Delta % | FF 75th% tile (ms) | GR 75th %tile (ms) | Delta% |
---|---|---|---|---|---|---|
1 | 414 | 459 | 10.87 | 461 | 549 | 19.09 |
5 | 435 | 460 | 5.75% | 458 | 483 | 5.46 |
505 | 502 | -0.59 | 531 | 529 | -0.38 | |
20 | 851 | 978 | 14.57 | 914 | 1093 | 19.58 |
"""


def figures(sweep):
    return {level.users: level.figures for level in sweep.levels}


def test_a_csv_of_levels_may_lack_columns_and_cells():
    text = "# read off the graph\nusers,rate_per_s,p90_ms\n\n10,31.4,\n1,5.6,210.5\n"
    [sweep] = parse_csv(text, "site.csv")
    assert figures(sweep) == {1: Figures(rate_per_s=5.6, percentiles_ms={"90": 210.5}), 10: Figures(rate_per_s=31.4)}


def test_a_csv_may_contain_several_sweeps_and_repeats():
    text = "sweep,users,average_ms\nnginx,500,47\ndirect,500,11\nnginx,500,49\n"
    nginx, direct = parse_csv(text, "lb.csv")
    assert (nginx.name, direct.name) == ("nginx", "direct")
    assert nginx.levels[0].figures.average_ms == 48
    assert nginx.levels[0].range_of("average_ms") == (47, 49)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "site.csv: is empty"),
        ("rate_per_s\n5\n", "site.csv:1: the column users is missing"),
        ("users,rate_per\n1,2\n", "site.csv:1: no such column: rate_per; did you mean rate_per_s"),
        ("# x\nusers,rate_per_s\n1\n", "site.csv:3: 1 cells for 2 columns"),
        ("users,rate_per_s\n0,5\n", "site.csv:2: users=0"),
        ("users,rate_per_s\n1.5,5\n", "site.csv:2: users=1.5"),
        ("users,rate_per_s\n1,fast\n", "site.csv:2: rate_per_s = fast"),
        ("users,rate_per_s\n1,-3\n", "site.csv:2: rate_per_s = -3"),
        ("users,error_ratio\n1,2\n", "site.csv:2: error_ratio = 2"),
        ("users,rate_per_s\n1,inf\n", "site.csv:2: rate_per_s = inf"),
    ],
)
def test_an_invalid_csv_is_refused_with_its_line(text, message):
    with pytest.raises(UsageError) as error:
        parse_csv(text, "site.csv")
    assert message in str(error.value).replace("?", "")


@pytest.mark.parametrize("p90", ["90 % ms", "p90 ms"])
def test_a_table_with_a_column_of_users_is_a_sweep(p90):
    text = f"""
| concurrency | samples | throughput (req/s) | mean latency (s) | {p90} | errors % |
|---|---|---|---|---|---|
| 500 | 1,000,000 | 12,083 | 0.047 | 90 | 0.5 |
"""
    [sweep] = parse_markdown(text, "lb.md")
    assert figures(sweep) == {
        500: Figures(
            sample_count=1_000_000, rate_per_s=12083, average_ms=47, percentiles_ms={"90": 90}, error_ratio=0.005
        )
    }


def test_columns_side_by_side_are_two_sweeps():
    old, new = parse_markdown(PUBLISHED, "page.md")
    assert (old.name, new.name) == ("FF", "GR")
    assert figures(old)[5] == Figures(average_ms=435, percentiles_ms={"75": 458})
    assert figures(new)[5] == Figures(average_ms=460, percentiles_ms={"75": 483})


def test_a_wrong_difference_is_reported_with_the_right_value():
    *_, last = parse_markdown(PUBLISHED, "page.md")
    # (978 - 851) / 851 is 14.92 %; 14.57 % more than 851 are 975.
    assert last.remarks[1:] == (
        "20 users: 851 → 978 is +14.92 % in the average, the table has +14.57: one of the three is wrong; 14.57 fits "
        "975.",
    )


def test_a_row_without_its_users_is_ignored_and_reported():
    old, new = parse_markdown(PUBLISHED, "page.md")
    assert list(figures(old)) == [1, 5, 20]
    assert "505 | 502 | -0.59 … lacks its first cell" in new.remarks[0]


def test_a_table_with_right_differences_has_no_remarks():
    text = PUBLISHED.replace("978", "975").replace(
        "505 | 502 | -0.59 | 531 | 529 | -0.38 | |\n", "8 | 505 | 502 | -0.59 | 531 | 529 | -0.38 |\n"
    )
    sweeps = parse_markdown(text, "page.md")
    assert [sweep.remarks for sweep in sweeps] == [(), ()]
    assert list(figures(sweeps[0])) == [1, 5, 8, 20]


def test_one_of_several_tables_must_be_named():
    text = PUBLISHED + "\n" + PUBLISHED.replace("459", "463")
    with pytest.raises(UsageError, match=r"2 tables have a column of users \(lines 2, 10\); name one: page.md#1"):
        parse_markdown(text, "page.md")
    assert figures(parse_markdown(text, "page.md", 2)[1])[1].average_ms == 463
    with pytest.raises(UsageError, match=r"page.md#3: there is no such table"):
        parse_markdown(text, "page.md", 3)


@pytest.mark.parametrize("text", ["", "no table", "| users | colour |\n|---|---|\n| 1 | red |\n"])
def test_a_file_without_levels_is_refused(text):
    with pytest.raises(UsageError, match="no table with a column of users"):
        parse_markdown(text, "page.md")
