"""The same samples in two files of one run are refused: they would count twice."""

import random

import pytest

from harness.base.errors import UsageError
from harness.jtl.inputs import resolve
from harness.metrics.files import read_tally

HEAD = "timeStamp,elapsed,label,responseCode,threadName,success,bytes,allThreads"


def rows_of(seed, count=400):
    numbers = random.Random(seed)
    outcomes = [("500", "false"), *[("200", "true")] * 4]
    rows = []
    for number in range(count):
        code, is_ok = outcomes[number % 5]
        start_ms = 1_700_000_000_000 + 50 * number + numbers.randrange(40)
        rows.append(f"{start_ms},{numbers.randrange(50, 150)},Pay,{code},Users 1-{number % 9},{is_ok},300,9")
    return rows


def jtl(path, rows):
    path.write_text("\n".join([HEAD, *rows, ""]))
    return str(path)


@pytest.mark.real
@pytest.mark.parametrize("which", ["failures", "part", "end", "merged first"])
def test_a_file_of_which_another_one_has_much_is_refused(tmp_path, which):
    whole, other = rows_of(1), rows_of(2)
    some = {
        "failures": [row for row in whole if ",500," in row],
        "part": whole,
        "end": whole[200:],
        "merged first": other,
    }[which]
    merged = sorted([*whole, *other]) if which in ("part", "merged first") else whole
    names = [jtl(tmp_path / "a.jtl", merged), jtl(tmp_path / "b.jtl", some)]
    with pytest.raises(UsageError, match=r"contains samples that .* contains, too"):
        read_tally(resolve(names))
    assert read_tally(resolve(names), may_be_alike=True).row_count == len(merged) + len(some)


@pytest.mark.parametrize("joined", [sorted, lambda rows: [one for row in rows[::2] for one in (row, row)]])
def test_a_file_that_has_its_rows_twice_is_refused(tmp_path, joined):
    rows = rows_of(1)
    path = jtl(tmp_path / "a.jtl", joined([*rows, *rows]))
    with pytest.raises(UsageError, match=r"a\.jtl: \d+ of its first 500 samples are repeated, to the milli"):
        read_tally(resolve([path]))
    assert read_tally(resolve([path]), may_be_alike=True).row_count > 0  # of a run's own folder its report is written


def test_a_transaction_and_its_request_and_short_requests_of_two_generators_are_no_repeated_rows(tmp_path):
    head = HEAD + ",responseMessage"
    message = '"Number of samples in transaction : 1, number of failing samples : 0"'
    both = [f"{row},{end}" for row in rows_of(1) for end in ("OK", message)]
    short = [f"{1_700_000_000_000 + number},1,Pay,200,Users 1-1,true,300,1,OK" for number in range(300)]
    for rows in (both, sorted([*short, *short])):
        path = tmp_path / "a.jtl"
        path.write_text("\n".join([head, *rows, ""]))
        assert read_tally(resolve([str(path)])).row_count == len(rows)


@pytest.mark.real
def test_files_of_load_generators_of_the_same_time_are_added_up(tmp_path):
    names = [jtl(tmp_path / f"{seed}.jtl", rows_of(seed)) for seed in range(4)]
    assert read_tally(resolve(names)).row_count == 1600
