"""Rows of transactions that the end of their user cut, and of transactions without a time, are in no table."""

import gzip

import pytest

from harness.jtl.inputs import resolve
from harness.judge.account import Balance
from harness.metrics import large_files
from harness.metrics.files import read_tally
from harness.metrics.tally import Scope
from harness.metrics.tally_file import from_bytes, to_bytes
from harness.report.jtls import Counting, summary_of_jtls

START_MS = 1_700_000_000_000

HEAD = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,allThreads"
)
WHOLE = '"Number of samples in transaction : 2, number of failing samples : 0"'


def rows_of(count, cut=("200,,", ",,"), untimed=0, request="GET /"):
    """Return rounds of two users: a request, and the parent transaction; at the end one transaction of each is cut."""
    rows = []
    for number in range(count):
        at_ms, user = START_MS + 500 * number, number % 2 + 1
        rows.append(f"{at_ms},40,{request},200,OK,Users 1-{user},true,,300,100,2")
        rows.append(f"{at_ms},45,Buy,200,{WHOLE},Users 1-{user},true,,300,100,2")
    rows += [f"{START_MS + 500 * count},0,Inner,200,{WHOLE},,true,,300,100,0"] * untimed
    if untimed:  # the end of its user cut the last one
        rows.append(f"{START_MS + 500 * count},0,Inner,,{WHOLE.replace('failing samples : 0', 'failing samples : 1')},"
                    "Users 1-1,false,,0,0,2")  # fmt: skip
    for number, outcome in enumerate(cut, 1):
        code, message, failure = outcome.split(",")
        is_ok = "true" if code else "false"
        elapsed = 5700 if code else 0
        end_ms = START_MS + 500 * count
        rows.append(f"{end_ms - elapsed},{elapsed},Buy,{code},{message},Users 1-{number},{is_ok},{failure},0,0,2")
    return rows


def summary(path, rows):
    path.write_text("\n".join([HEAD, *rows, ""]))
    return summary_of_jtls(resolve([str(path)]), Counting(with_transactions=True))


def test_transactions_that_the_end_cut_are_named_and_in_no_table(tmp_path):
    found, without = (summary(tmp_path / f"{n}.jtl", rows_of(50, cut)) for n, cut in enumerate((("200,,", ",,no"), ())))
    assert found.groups == without.groups
    assert (found.codes, found.errors, found.verdict) == (without.codes, (), without.verdict)
    assert {(one.label, one.sample_count, one.max_ms) for one in found.groups[0].labels} == {
        ("GET /", 50, 40),
        ("Buy", 50, 45),
    }
    (line,) = (one for one in found.account if one.code == "offered-read")
    assert (line.balance, line.left) == (Balance.BALANCED, "102 rows in the file")
    assert line.right == "102 rows read, 2 transactions cut by the end left out (Buy)"


def test_a_request_without_a_message_is_none_and_neither_is_one_with_the_name_of_a_transaction(tmp_path):
    empty = [row.replace(",OK,", ",,") for row in rows_of(50, ())]
    assert summary(tmp_path / "a.jtl", empty).groups[0].labels[0].sample_count == 50
    same = summary(tmp_path / "b.jtl", rows_of(50, (), request="Buy"))
    assert [(one.label, one.is_transaction, one.sample_count) for one in same.groups[0].labels] == [
        ("Buy", False, 50), ("Buy", True, 50),
    ]  # fmt: skip


def test_a_transaction_without_a_time_is_named_and_in_no_table(tmp_path):
    found = summary(tmp_path / "a.jtl", rows_of(50, (), untimed=3))
    assert {one.label for one in found.groups[0].labels} == {"GET /", "Buy"}
    (line,) = (one for one in found.account if one.code == "offered-read")
    assert line.right == (
        "104 rows read, 1 transaction cut by the end left out (Inner), 3 transactions without a time left out (Inner)"
    )


def test_a_failed_transaction_of_0_ms_that_is_timed_counts(tmp_path):
    rows = [row.replace(",45,", ",0,").replace(",true,", ",false,") for row in rows_of(50, ())]
    found = summary(tmp_path / "a.jtl", rows)
    assert ("Buy", 50) in {(one.label, one.sample_count) for one in found.groups[0].labels}


def test_a_parent_transaction_with_pauses_is_no_clock_that_was_set(tmp_path):
    rows = []
    for number in range(40):  # two users; the requests of one are written when its transaction ends, 9 s later
        begin_ms = START_MS + 5000 * number
        for at_ms in (0, 9000):
            rows.append(f"{begin_ms + at_ms},40,GET /,200,OK,Users 1-{number % 2},true,,300,100,2")
        rows.append(f"{begin_ms},80,Buy,200,{WHOLE},Users 1-{number % 2},true,,300,100,2")
    assert summary(tmp_path / "a.jtl", rows).verdict.state == "VALID"
    joined = [*rows, *(row.replace(str(START_MS)[:6], "169999", 1) for row in rows)]
    assert summary(tmp_path / "b.jtl", joined).verdict.state == "DOUBTFUL"


@pytest.mark.real
@pytest.mark.parametrize("untimed", [0, 2])
def test_all_readers_leave_out_the_same_rows(tmp_path, monkeypatch, untimed):
    path = tmp_path / "a.jtl"
    path.write_text("\n".join([HEAD, *rows_of(3000, untimed=untimed), ""]))
    inputs = resolve([str(path)])
    plain = read_tally(inputs)
    monkeypatch.setattr("harness.metrics.files.LARGE_BYTES", 1)
    used = []
    count = large_files.count_file
    monkeypatch.setattr(large_files, "count_file", lambda *given: used.append(1) or count(*given))
    counted = read_tally(inputs)
    stored = from_bytes(gzip.decompress(to_bytes(plain, None)), "a.tally", 0)
    assert used == [1]
    for tally in (counted, stored):
        assert (tally.labels, tally.codes, tally.kinds) == (plain.labels, plain.codes, plain.kinds)
        assert (tally.cut, tally.untimed, tally.row_count) == (plain.cut, plain.untimed, plain.row_count)
    cut = {"Inner": 1} if untimed else {}
    assert (plain.cut, plain.row_count) == ({"Buy": 2, **cut}, 6002 + untimed + len(cut))
    assert Scope().tally().row_count == 0


@pytest.mark.real
def test_a_transaction_of_which_none_was_whole_is_cut_if_the_agent_counted_it(tmp_path, monkeypatch):
    path = tmp_path / "a.jtl"
    path.write_text("\n".join([HEAD, *(row for row in rows_of(3000) if WHOLE not in row), ""]))
    inputs, known = resolve([str(path)]), Scope(cut_labels=("Buy",))
    assert {key.label for key in read_tally(inputs).labels} == {"GET /", "Buy"}
    plain = read_tally(inputs, known)
    monkeypatch.setattr("harness.metrics.files.LARGE_BYTES", 1)
    for tally in (plain, read_tally(inputs, known)):
        assert ({key.label for key in tally.labels}, tally.cut, tally.row_count) == ({"GET /"}, {"Buy": 2}, 3002)
