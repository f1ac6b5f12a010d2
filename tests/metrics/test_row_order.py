"""Rows that somebody sorted by a column are no clock that was set; one that was set is found in rows as written."""

from random import Random

import pytest

from harness.jtl.inputs import Input
from harness.judge.summarise import summarise
from harness.metrics.files import read_tally
from harness.metrics.row_order import sorted_by
from tests.judge.test_account_lines import line
from tests.support.factories import sample

RANDOM = Random(5)
LATE_MS = 2300


def rows(users=20, count=60, threads="Users 1-{}", codes=("200",)):
    """Return rows of users in the order in which they end: five minutes of three labels."""
    found = []
    for user in range(users):
        at_ms = 1_700_000_000_000 + 50 * user
        for number in range(count):
            took_ms = RANDOM.randint(150, 300)
            more = {"thread_name": threads.format(user + 1, number), "received_bytes": RANDOM.randint(500, 900)}
            found.append(sample(f"Page {number % 3}", took_ms, at_ms, code=RANDOM.choice(codes), **more))
            at_ms += took_ms + 4800
    return sorted(found, key=lambda one: one.end_ms)


def set_back(found, by_ms, share=0.5):
    at = round(share * len(found))
    return [*found[:at], *(one._replace(start_ms=one.start_ms - by_ms) for one in found[at:])]


MIXED = rows(codes=("200", "200", "200", "404"))
SORTED = {
    "label": sorted(MIXED, key=lambda one: one.label),
    "thread": sorted(MIXED, key=lambda one: one.thread_name),
    "response code": sorted(MIXED, key=lambda one: one.code),
    "label, code and thread": sorted(MIXED, key=lambda one: (one.label, one.code, one.thread_name, one.elapsed_ms)),
    "time, latest first": MIXED[::-1],
    "response time": sorted(MIXED, key=lambda one: one.elapsed_ms),
    "response time, slowest first": sorted(MIXED, key=lambda one: -one.elapsed_ms),
    "bytes": sorted(MIXED, key=lambda one: one.received_bytes),
    "no column": RANDOM.sample(MIXED, len(MIXED)),
}
ONCE = [one._replace(label="Log in") for one in MIXED[:100]] + [one._replace(label="Pay") for one in MIXED[100:]]
ARRIVALS = rows(threads="Users {}-{}")
SET_BACK = {
    "by a minute": set_back(MIXED, 60_000),
    "by an hour": set_back(MIXED, 3_600_000),
    "near the end": set_back(MIXED, 200_000, 0.9),
    "twice": set_back(set_back(MIXED, 60_000), 90_000, 0.8),
    "of one label after a login": set_back(ONCE, 60_000),
    "of one label": set_back([one._replace(label="Pay") for one in MIXED], 60_000),
    "of one user": set_back(rows(users=1, count=300), 60_000),
    "of users who each send one request": set_back(ARRIVALS, 60_000),
    "of two generators whose clocks differ": sorted(
        [*MIXED, *(one._replace(thread_name=f"b{one.thread_name}", start_ms=one.start_ms - 60_000) for one in rows())],
        key=lambda one: one.end_ms + 60_000 * one.thread_name.startswith("b"),
    ),
    "of two files that were put together": [*MIXED, *rows()],
}


@pytest.mark.parametrize(("name", "found"), SORTED.items())
def test_the_column_by_which_rows_were_sorted_is_found(name, found):
    assert sorted_by(found, LATE_MS) == name


@pytest.mark.parametrize(("name", "found"), SET_BACK.items())
def test_rows_in_the_order_in_which_they_were_written_are_not_sorted(name, found):
    assert sorted_by(found, LATE_MS) == "", name


def summary_of(path, found):
    cells = ([one.start_ms, one.elapsed_ms, one.label, one.code, one.thread_name, "true", 500] for one in found)
    text = "".join(",".join(map(str, row)) + "\n" for row in cells)
    path.write_text(f"timeStamp,elapsed,label,responseCode,threadName,success,bytes\n{text}")
    return summarise(read_tally([Input(path.name, path)]), path.name)


@pytest.mark.real
def test_a_sorted_file_has_the_same_numbers_and_no_doubt_and_a_clock_that_was_set_back_is_found(tmp_path):
    kinds = {"written": MIXED, "label": SORTED["label"], "back": SET_BACK["twice"]}
    written, by_label, back = (summary_of(tmp_path / f"{name}.jtl", found) for name, found in kinds.items())
    assert [one.total for one in by_label.groups] == [one.total for one in written.groups]
    assert line(by_label, "offered-read").right == "1200 rows read, sorted by label"
    assert [one.code for one in by_label.warnings] == [one.code for one in written.warnings]
    assert "clock-step" in [one.code for one in back.warnings]
