import csv
import io
import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.base.records import to_plain
from harness.jtl.sample import TRANSACTION_MESSAGE
from harness.judge.summarise import SummaryOptions, summarise
from harness.metrics.figures import LOAD, SETUP
from harness.metrics.interval import IntervalMs
from harness.metrics.tally import Scope
from harness.metrics.window import Window
from harness.report.columns import CLASSIC, DEFAULT, LAYOUTS, WIDE, columns_of, parse_percentiles, parse_sort
from harness.report.export import csv_head, csv_rows, json_lines, json_object
from harness.report.selection import Selection, parse_pattern
from harness.report.tables import Shown, cell, classic_table, group_table, titled_tables
from harness.report.terminal import FAILED, SLOWEST, screen_table
from tests.support.factories import failed, sample, tally_of
from tests.support.paths import ROOT

# Two samples of one second in all, worked out by hand below.
TWO = (
    sample(elapsed_ms=100, start_ms=0, latency_ms=40, connect_ms=10),
    failed(elapsed_ms=200, start_ms=800, latency_ms=60, connect_ms=20),
)


def summary_of(samples, **options):
    return summarise(tally_of(samples), "tiny.jtl", options=SummaryOptions(**options))


def view_of(samples, **selection):
    return Selection(**selection).view(summary_of(samples), "tiny.jtl")


def load_of(samples):
    return summary_of(samples).group(LOAD)


def labels_of(view):
    return [label.label for group in view.groups for label in group.labels]


def three():
    """Three labels: B has the slowest average, C the slowest p90, A is first and the only one with errors."""
    return [
        failed("A", elapsed_ms=10),
        sample("B", elapsed_ms=70),
        sample("B", elapsed_ms=70),
        sample("C", elapsed_ms=1),
        sample("C", elapsed_ms=90),
    ]


def test_the_default_table_has_the_usual_columns():
    assert group_table(load_of(TWO)) == (
        "| label | count | average ms | p50 ms | p90 ms | min ms | max ms | errors % | errors | req/s "
        "| KB/s received | KB/s sent |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| Pay | 2 | 150 | 100 | 200 | 100 | 200 | 50.00 | 1 | 2.00 | 0.59 | 0.20 |\n"
        "| TOTAL | 2 | 150 | 100 | 200 | 100 | 200 | 50.00 | 1 | 2.00 | 0.59 | 0.20 |"
    )


def test_the_wide_table_has_every_metric():
    text = group_table(load_of(TWO), columns_of(WIDE))
    assert text.splitlines()[0] == (
        "| label | count | average ms | p50 ms | p75 ms | p90 ms | p95 ms | p99 ms | p99.9 ms | min ms "
        "| max ms | stddev ms | errors % | errors | req/s | successful req/s | KB/s received | KB/s sent "
        "| average bytes | latency ms | first byte p50 ms | first byte p90 ms | first byte p95 ms | first byte p99 ms "
        "| connect ms | connect p95 ms | connect p99 ms "
        "| waiting ms | receiving ms |"
    )
    assert text.splitlines()[2] == (
        "| Pay | 2 | 150 | 100 | 200 | 200 | 200 | 200 | 200 | 100 | 200 "
        "| 50 | 50.00 | 1 | 2.00 | 1.00 | 0.59 | 0.20 | 300.0 "
        "| 50 | 40 | 60 | 60 | 60 | 15 | 20 | 20 | 35 | 100 |"
    )


def test_the_classic_table_is_padded_as_in_2015_and_its_values_are_right():
    samples = [sample(elapsed_ms=18, start_ms=0, received_bytes=0), failed(elapsed_ms=82, start_ms=918)]
    group = load_of([*samples, *[sample(elapsed_ms=50, start_ms=500, received_bytes=770) for _ in range(6)]])
    # 8 samples in a second; of 300 + 6 * 770 bytes; the p90 is of rank floor(7.2 + 0.5) = 7
    assert classic_table(group, columns_of(CLASSIC)) == (
        "|                                 | #count | average | median | 90% |  min |   max |    errors | bandwidth |\n"
        "| ------------------------------- | ------ | ------- | ------ | --- | ---- | ----- | --------- | --------- |\n"
        "|                             Pay |      8 |      50 |     50 |  50 |   18 |    82 | 12.50000% | 4.80 KB/s |\n"
        "|                           TOTAL |      8 |      50 |     50 |  50 |   18 |    82 | 12.50000% | 4.80 KB/s |"
    )


def test_a_classic_table_grows_with_its_cells():
    (label,) = load_of(TWO).labels
    wide = replace(label, label="L" * 40, percentiles_ms={"50": 6689, "90": 13222})
    lines = classic_table(Shown(LOAD, (wide,), None, False), columns_of(CLASSIC)).splitlines()
    assert lines[0].split("|")[4:6] == [" median ", "   90% "]
    assert lines[2].split("|")[4:6] == ["   6689 ", " 13222 "]
    assert len({len(line) for line in lines}) == 1


@pytest.mark.parametrize(
    ("layout", "requested", "titles"),
    [
        (DEFAULT, ("99.9", "95"), ["p50 ms", "p90 ms", "p95 ms", "p99.9 ms"]),
        (WIDE, ("99",), ["p50 ms", "p90 ms", "p99 ms"]),
        (CLASSIC, ("95",), ["median", "90%", "95%"]),
    ],
)
def test_requested_percentiles_are_next_to_median_and_p90(layout, requested, titles):
    heads = [column.title for column in columns_of(layout, requested)]
    assert [head for head in heads if re.fullmatch(r"p[\d.]+ ms|[\d.]+%|median", head)] == titles


@pytest.mark.parametrize(
    ("text", "percentiles"),
    [("50,90", ("50", "90")), ("99.90", ("99.9",)), (" 95 , 99", ("95", "99")), ("100", ("100",)), ("5e1", ("50",))],
)
def test_percentiles_are_read_in_their_shortest_form(text, percentiles):
    assert parse_percentiles(text) == percentiles


@pytest.mark.parametrize("text", ["101", "0", "-5", "nan", "", "50,,90", "fifty", "50,90,50.0"])
def test_an_invalid_percentile_is_refused(text):
    with pytest.raises(UsageError, match="--percentiles"):
        parse_percentiles(text)


def test_a_label_with_pipes_newlines_and_markdown_cannot_break_a_table():
    assert cell("a|b\n*c* `d` [e]") == r"a\|b \*c\* \`d\` \[e\]"
    assert cell("<b>x</b> &lt; $a$ ~~s~~") == r"\<b\>x\</b\> \&lt; \$a\$ \~\~s\~\~"
    assert cell("Login & Pay") == "Login & Pay"


def test_a_label_cannot_act_on_a_terminal_or_reverse_the_direction_of_writing():
    assert cell("\x1b]0;title\x07") == "\ufffd\\]0;title\ufffd"
    assert cell("\u202etxt.exe") == "\ufffdtxt.exe"


@pytest.mark.real
@settings(max_examples=15)
@given(st.text())
def test_any_label_is_one_complete_row_in_every_layout(label):
    group = load_of([sample(label)])
    for layout in LAYOUTS:
        columns = columns_of(layout)
        for text in (group_table(group, columns), classic_table(group, columns)):
            lines = text.splitlines()
            assert len(lines) == 4
            bars = [line.replace(r"\\", "").replace(r"\|", "").count("|") for line in lines]
            assert bars == [len(columns) + 2] * 4


def test_tables_have_titles_only_if_there_are_several_groups():
    groups = summary_of([sample(), sample("Tenant", thread_name="setUp 1-1")]).groups
    assert titled_tables(groups, ["one", "two"]) == "**Load**\n\none\n\n**setUp**\n\ntwo\n"
    assert titled_tables(groups[:1], ["one"]) == "one\n"


@pytest.mark.parametrize("text", ["average ms", "average", "average_ms", "Average MS"])
def test_a_column_sorts_by_title_or_key_largest_first(text):
    assert labels_of(view_of(three(), order=parse_sort(text))) == ["B", "C", "A"]


def test_a_minus_reverses_the_order_and_equal_labels_keep_theirs():
    assert labels_of(view_of(three(), order=parse_sort("-average"))) == ["A", "C", "B"]
    assert labels_of(view_of(three(), order=parse_sort("count"))) == ["B", "C", "A"]
    assert labels_of(view_of(three(), order=parse_sort("-label"))) == ["C", "B", "A"]


def test_a_hidden_column_can_sort():
    assert labels_of(view_of(three(), order=parse_sort("p99"))) == ["C", "B", "A"]
    assert labels_of(view_of(three(), order=parse_sort("stddev")))[0] == "C"


def test_a_label_without_the_value_comes_last_in_either_direction():
    samples = [sample("none", latency_ms=None), sample("low", latency_ms=1), sample("high", latency_ms=2)]
    assert labels_of(view_of(samples, order=parse_sort("latency"))) == ["high", "low", "none"]
    assert labels_of(view_of(samples, order=parse_sort("-latency"))) == ["low", "high", "none"]


def test_an_unknown_column_is_refused_with_the_nearest_one():
    with pytest.raises(
        UsageError, match=r"--sort averge ms: no such column; did you mean average ms\? there are: label"
    ):
        parse_sort("averge ms")


def test_with_a_filter_total_covers_the_labels_shown_and_a_remark_states_it():
    view = view_of(three(), pattern=parse_pattern("^[AB]$"))
    assert labels_of(view) == ["A", "B"]
    # of 10, 70 and 70 ms
    assert (view.groups[0].total.sample_count, view.groups[0].total.average_ms) == (3, 50.0)
    assert view.remarks[0].startswith("DOUBTFUL: ")
    assert view.remarks[1:] == (
        "TOTAL includes 2 of 3 labels: those that match --label ^[AB]$. Warnings apply to all.",
    )


def test_a_group_in_which_no_label_matches_is_not_shown():
    samples = [sample("Pay"), sample("Tenant", thread_name="setUp 1-1")]
    assert [group.name for group in view_of(samples, pattern=parse_pattern("Ten")).groups] == [SETUP]


def test_a_filter_without_matches_lists_the_labels():
    with pytest.raises(UsageError, match=r"tiny\.jtl: no label matches --label zzz; there are: A, B, C"):
        view_of(three(), pattern=parse_pattern("zzz"))
    many = [sample(f"L{number}") for number in range(25)]
    with pytest.raises(UsageError, match="L18, L19 and 5 more"):
        view_of(many, pattern=parse_pattern("zzz"))


def test_an_invalid_regular_expression_is_refused():
    with pytest.raises(UsageError, match=r"--label \(: not a regular expression"):
        parse_pattern("(")


def test_only_total_is_the_row_of_the_load_alone():
    view = view_of([sample("Pay"), sample("Tenant", thread_name="setUp 1-1")], only="TOTAL")
    assert [(group.name, group.labels, group.total.sample_count) for group in view.groups] == [(LOAD, (), 1)]


def test_only_a_label_is_its_row_without_total():
    (group,) = view_of(three(), only="B").groups
    assert ([label.label for label in group.labels], group.total) == (["B"], None)
    with pytest.raises(UsageError, match=r"--only Bb: no such label; did you mean B\? there are: A, B, C, TOTAL"):
        view_of(three(), only="Bb")


def test_the_table_states_whether_total_counts_transaction_controllers():
    samples = [sample("Order", message=f"{TRANSACTION_MESSAGE} 2, number of failing samples : 0"), sample(), sample()]
    assert view_of(samples).remarks[1:] == (
        "TOTAL excludes the rows of 1 Transaction Controller; it includes those of their samplers, if any. See "
        "--transactions.",
    )
    counted = Selection().view(summary_of(samples, with_transactions=True), "tiny.jtl")
    assert counted.remarks[1:] == ("TOTAL includes the rows of 1 Transaction Controller and those of their samplers.",)
    assert view_of(samples[:1]).remarks == (
        "DOUBTFUL: Too few samples: 1 measured, 100 needed.",
        "TOTAL is of 1 Transaction Controller: their samplers have no rows.",
    )


def test_an_unreliable_file_has_a_warning_below_its_table():
    assert view_of([failed()]).remarks == (
        "INVALID: all 1 samples failed: response times of errors are not meaningful.",
    )


def windowed(samples, **selection):
    """Return the view of samples cut to those that end within the first second."""
    counted = Scope(window_ms=IntervalMs(0, 1000)).tally()
    for one in samples:
        counted.add(one)
    window = Window("given", 0, 1, 1, 2)
    return Selection(**selection).view(summary_of(samples, window=window, counted=counted), "tiny.jtl")


def test_the_effect_of_the_window_is_printed():
    view = windowed([sample(start_ms=0, elapsed_ms=500), sample(start_ms=500, elapsed_ms=1500)])
    assert view.remarks[1:] == (
        "Measured window: 0 s to 1 s of 2 s.",
        "Whole run → measured window: average 1000 → 500 ms, p90 1500 → 500 ms, 1.00 → 1.00 req/s, 2 → 1 samples.",
    )
    assert (view.whole.total.sample_count, view.groups[0].total.sample_count) == (2, 1)


def test_a_window_without_samples_of_the_load_is_refused():
    with pytest.raises(UsageError, match="no sample of the load ended within --window"):
        windowed([sample(start_ms=500, elapsed_ms=1500)])


def csv_of(samples, columns=None):
    columns = columns or columns_of(WIDE)
    return csv_head(columns) + csv_rows(view_of(samples), columns)


def test_csv_has_a_line_per_row_in_full_precision_under_the_json_keys():
    assert csv_of([sample(elapsed_ms=100, start_ms=0), sample(elapsed_ms=101), sample(elapsed_ms=101)], columns_of(
        DEFAULT)[:3]) == (
        "source,group,label,is_total,is_transaction,sample_count,average_ms,p50_ms\n"
        "tiny.jtl,load,Pay,false,false,3,100.66666666666667,101\n"
        "tiny.jtl,load,TOTAL,true,false,3,100.66666666666667,101\n"
    )  # fmt: skip


def test_an_unknown_value_is_an_empty_cell_in_csv_and_null_in_json():
    samples = [sample(sent_bytes=None)]
    (row, _) = csv.DictReader(io.StringIO(csv_of(samples)))
    assert (row["sent_bytes_per_s"], row["sample_count"]) == ("", "1")
    assert json.loads(json_lines(view_of(samples), ("50",)).splitlines()[0])["sent_bytes_per_s"] is None


@pytest.mark.real
@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))))
def test_csv_and_json_lines_preserve_any_label(label):
    row, total = csv.DictReader(io.StringIO(csv_of([sample(label)]), newline=""))
    apostrophe = "'" * row["label"].startswith(("'=", "'+", "'-", "'@", "'\t", "'\r"))  # a formula for a spreadsheet
    assert row["label"] in (label, apostrophe + label)
    assert (row["is_total"], total["label"], total["is_total"]) == ("false", "TOTAL", "true")
    lines = json_lines(view_of([sample(label)]), ("50",)).split("\n")
    assert [json.loads(line)["label"] for line in lines[:-1]] == [label, "TOTAL"]


def test_json_has_the_keys_of_a_runs_json_and_the_requested_percentiles():
    data = json_object(view_of(TWO), ("50", "99"))
    whole = to_plain(summary_of(TWO))
    assert set(data) - {"remarks"} < set(whole)
    (group,) = data["groups"]
    assert set(group) == set(whole["groups"][0])
    assert set(group["labels"][0]) == set(whole["groups"][0]["labels"][0]) - {"counts"}
    assert group["total"]["percentiles_ms"] == {"50": 100, "99": 200}


@pytest.mark.real
def test_a_table_of_10000_labels_has_all_of_them():
    samples = [sample(f"label {number}") for number in range(10_000)]
    lines = group_table(load_of(samples)).splitlines()
    assert len(lines) == 10_003
    assert len(json_lines(view_of(samples), ("50",)).splitlines()) == 10_001


def test_in_a_terminal_errors_and_the_slowest_label_have_a_sign():
    table = screen_table(load_of(three()), columns_of(DEFAULT), 200)
    signs = {
        (label, head): cell.sign
        for label, cells in table.rows
        for head, cell in zip(table.heads[1:], cells, strict=True)
        if cell.sign
    }
    assert signs == {
        ("B", "average ms"): SLOWEST,
        ("C", "p90 ms"): SLOWEST,
        ("A", "errors %"): FAILED,
        ("A", "errors"): FAILED,
        ("TOTAL", "errors %"): FAILED,
        ("TOTAL", "errors"): FAILED,
    }


def test_a_single_label_is_not_the_slowest():
    assert screen_table(load_of([sample(), sample(elapsed_ms=900)]), columns_of(WIDE), 300).signs == frozenset()


def test_labels_with_one_sample_have_no_slowest():
    setup = [sample("Create Tenant", elapsed_ms=900), sample("Upload Catalogue", elapsed_ms=20), sample("Configure")]
    assert screen_table(load_of(setup), columns_of(DEFAULT), 200).signs == frozenset()
    table = screen_table(load_of([*three(), sample("D", elapsed_ms=900)]), columns_of(DEFAULT), 200)
    marked = {label for label, cells in table.rows for cell in cells if cell.sign == SLOWEST}
    assert marked == {"B", "C"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_a_table_fits_the_terminal_or_lists_what_it_omits(layout, width):
    table = screen_table(load_of([*three(), sample("Stripe (Default) Payment Method")]), columns_of(layout), width)
    assert table.width <= width
    titles = [column.title for column in columns_of(layout)]
    assert sorted([*table.heads[1:], *table.left_out]) == sorted(titles)
    for _, cells in table.rows:
        for cell_, cell_width in zip(cells, table.widths[1:], strict=True):
            assert len(cell_.sign + cell_.text) <= cell_width


def test_a_narrow_terminal_keeps_count_average_p90_and_errors():
    assert screen_table(load_of(three()), columns_of(DEFAULT), 10).heads == (
        "label", "count", "average ms", "p90 ms", "errors %",
    )  # fmt: skip


def test_the_format_page_defines_every_column_and_key():
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    for column in columns_of(WIDE, ()):
        assert column.title.removesuffix(" ms") in page
        assert f"`{column.key}`" in page


@pytest.mark.parametrize(("late_s", "says"), [(0, False), (60, True)])
def test_labels_whose_rates_do_not_add_up_to_total_say_so(late_s, says):
    samples = [
        sample(label, 90, 1000 * at_s) for at_s in range(120) for label in ("a", "b") if at_s >= late_s * (label == "b")
    ]
    view = view_of(samples)
    assert any(remark.endswith("of its own row: they do not add up to TOTAL.") for remark in view.remarks) is says
    assert not any("add up" in remark for remark in view_of(samples, only="TOTAL").remarks)
