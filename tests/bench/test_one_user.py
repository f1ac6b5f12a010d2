"""One user of JMeter next to wrk: the differences are those within a round."""

import pytest

from bench.runs.one_user import OneUser, added_aim, one_user_table, read_wrk
from harness.base.errors import StartError

_WRK = """Running 10s test @ http://127.0.0.1:40000/
  1 threads and 1 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    62.50us   14.00us   1.20ms   95.00%
    Req/Sec    15.20k   500.00    16.00k    80.00%
  151000 requests in 10.00s, 20.00MB read
Requests/sec:  15100.25
Transfer/sec:      2.00MB
"""


def test_the_mean_and_the_rate_of_wrk_are_read():
    assert read_wrk(_WRK) == OneUser(62.5, 15100.25)
    assert read_wrk(_WRK.replace("62.50us", "1.25ms")).mean_us == 1250


@pytest.mark.parametrize("output", ["", _WRK + "  Non-2xx or 3xx responses: 3\n"])
def test_a_wrk_without_good_answers_is_an_error(output):
    with pytest.raises(StartError):
        read_wrk(output)


@pytest.mark.parametrize(("third", "added", "is_met"), [(97, "17.0 µs", True), (105, "25.0 µs", False)])
def test_what_jmeter_adds_is_the_median_of_the_rounds(third, added, is_met):
    # The machine is half as fast in the second round: only the differences within a round compare.
    wrk = [OneUser(60, 15_000), OneUser(120, 7_500), OneUser(80, 12_000)]
    jmeter = [OneUser(70, 9_000), OneUser(200, 4_000), OneUser(third, 7_000)]
    aim = added_aim(jmeter, wrk)
    assert (aim.measured, aim.is_met) == (added, is_met)
    assert one_user_table(jmeter, wrk).splitlines()[2] == "| wrk, one connection | 80.0 | 12000 |"
