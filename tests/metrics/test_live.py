import pytest

from harness.metrics.live import LiveTally
from harness.run.jmeter.progress import JtlTail
from harness.run.jmeter.progress_line import plain_line
from tests.support.factories import failed, sample

HEADER = "timeStamp,elapsed,label,responseCode,threadName,success,allThreads\n"


def test_rates_and_times_cover_the_last_ten_seconds_and_counts_the_whole_run():
    tally = LiveTally()
    tally.tick(0.0, [], 0)
    for second in range(1, 21):
        figures = tally.tick(float(second), [sample(elapsed_ms=100 if second <= 10 else 900, all_threads=7)] * 5, 5)
    assert (figures.sample_count, figures.users, figures.rate_per_s) == (100, 7, 5.0)
    assert [(metric.name, ms) for metric, ms in figures.times_ms.items()] == [
        ("average", 900.0),
        ("p90", 900),
        ("p95", 900),
    ]


def test_the_rate_of_the_first_seconds_does_not_count_the_time_before_them():
    tally = LiveTally()
    for second in range(5):
        tally.tick(float(second), [], 0)
    assert tally.tick(5.0, [sample()] * 30, 30).rate_per_s == 30.0
    assert tally.tick(6.0, [], 0).rate_per_s == 15.0


def test_the_users_of_several_generators_add_up():
    first = sample(thread_name="10.0.0.7:1099-Users 1-1", all_threads=3)
    second = sample(thread_name="10.0.0.8:1099-Users 1-1", all_threads=2)
    tally = LiveTally()
    assert tally.tick(1.0, [first, second, first], 3).users == 5
    assert tally.tick(2.0, [second], 1).users == 5


def test_the_users_are_those_of_now_while_no_request_ends():
    tally = LiveTally()
    assert tally.tick(1.0, [sample(all_threads=1)], 1).users == 1
    assert tally.tick(2.0, [], 0, active_users=5800).users == 5800


def test_errors_are_counted_over_the_whole_run():
    assert LiveTally().tick(1.0, [failed(), sample()], 2).error_count == 1


def test_errors_of_a_part_of_the_rows_are_scaled_up_and_marked_as_an_estimate():
    tally = LiveTally()
    tally.tick(0.0, [], 0)
    figures = tally.tick(1.0, [failed(), sample(), sample(), sample()], 1000)
    assert (figures.sample_count, figures.error_count, figures.rate_per_s) == (1000, 250, 1000.0)
    assert "errors about 250 (25.00 %)" in plain_line(figures, 1, 100)


@pytest.mark.real
def test_when_many_rows_arrive_the_last_are_read_and_all_are_counted(tmp_path):
    path = tmp_path / "samples.jtl"
    path.write_text(HEADER + "".join(f"{number},10,a,200,Users 1-1,true,1\n" for number in range(20_000)))
    rows = JtlTail(path).new_rows()
    assert rows.row_count == 20_000
    assert 5_000 < len(rows.samples) < 10_000
    assert rows.samples[-1].start_ms == 19_999


@pytest.mark.real
def test_a_tail_that_is_wanted_whole_has_every_row(tmp_path):
    path = tmp_path / "samples.jtl"
    path.write_text(HEADER + "".join(f"{number},10,a,200,Users 1-1,true,1\n" for number in range(20_000)))
    rows = JtlTail(path, is_whole=True).new_rows()
    assert (len(rows.samples), rows.row_count) == (20_000, 20_000)


# As JMeter 5.6.3 writes them: the name of a sample variable is quoted in the header, and no field of the rows is.
TRACED = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,"
    'grpThreads,allThreads,Latency,IdleTime,Connect,"trace_id"\n'
)
TRACED_ROW = "1764000000000,12,Pay,500,Error,Users 1-1,false,,300,120,5,10,1,0,3,{}\n"


def test_the_trace_ids_of_rows_as_jmeter_writes_them_are_read(tmp_path):
    path = tmp_path / "samples.jtl"
    path.write_text(TRACED + TRACED_ROW.format("0a" * 16) + TRACED_ROW.format("0b" * 16))
    assert [one.trace_id for one in JtlTail(path, is_whole=True).new_rows().samples] == ["0a" * 16, "0b" * 16]


def test_a_record_that_is_written_in_two_parts_is_read_once_and_whole(tmp_path):
    path = tmp_path / "samples.jtl"
    tail = JtlTail(path)
    path.write_text(TRACED + TRACED_ROW.partition(",300")[0] + '"expected 1\n')
    assert tail.new_rows() == ([], 0)
    with path.open("a") as out:
        out.write('found 2",300,120,5,10,1,0,3,a\n')
    assert [one.failure for one in tail.new_rows().samples] == ["expected 1\nfound 2"]


def test_the_rows_of_a_file_without_a_header_are_read_once(tmp_path):
    path = tmp_path / "samples.jtl"
    tail = JtlTail(path)
    for number in range(3):
        with path.open("a") as out:
            out.write(f"{number},10,a,200,OK,Users 1-1,text,true,,3,4,1,1,5,0,0\n")
        assert [one.start_ms for one in tail.new_rows().samples] == [number]


def test_setup_samples_are_never_counted(tmp_path):
    path = tmp_path / "samples.jtl"
    tail = JtlTail(path)
    of_setup = "".join(f"{number},1,a,200,setUp: warm-up 1-1,true,1\n" for number in range(20_000))
    path.write_text(HEADER + "1,1,a,200,setUp 1-1,true,1\n2,2,a,200,Users 1-1,true,1\n")
    rows = tail.new_rows()
    assert ([found.elapsed_ms for found in rows.samples], rows.row_count) == ([2], 1)
    with path.open("a") as out:
        out.write(of_setup + "3,3,a,200,Users 1-1,true,1\n")
    rows = tail.new_rows()
    assert ([found.elapsed_ms for found in rows.samples], rows.row_count) == ([3], 1)


def test_the_tail_of_a_growing_file_yields_every_complete_row_once(tmp_path):
    path = tmp_path / "samples.jtl"
    tail = JtlTail(path)
    assert tail.new_rows() == ([], 0)
    seen = []
    with path.open("w") as out:
        for text in (
            HEADER + "1,10,a,200,Users 1-1,true,1\n2,2",
            "0,a,200,Users 1-1,true,2\n",
            "",
            "3,30,a,200,U,true,3\n",
        ):
            out.write(text)
            out.flush()
            seen.append([found.elapsed_ms for found in tail.new_rows().samples])
    assert seen == [[10], [20], [], [30]]
