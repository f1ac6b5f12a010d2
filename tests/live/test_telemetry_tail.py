"""The newest use of each process in a telemetry.csv that grows."""

from harness.live.telemetry_tail import TailUse, TelemetryTail

HEAD = "time_ms,process,cpu_cores,rss_bytes,thread_count\n"


def test_only_new_rows_are_read_and_cpu_time_adds_up(tmp_path):
    path = tmp_path / "telemetry.csv"
    tail = TelemetryTail(tmp_path)
    assert tail.uses() == {}  # the file does not exist yet
    path.write_text(HEAD + "10000,jmeter,0.500,100,9\n10000,web,0.100,50,3\n11000,jmeter,1.000,200,9\n")
    # The first rows are about a second.
    assert tail.uses() == {"jmeter": TailUse("jmeter", 1.0, 200, 1.5), "web": TailUse("web", 0.1, 50, 0.1)}
    with path.open("a") as stream:
        stream.write("13000,jmeter,0.250,300,9\n13000,web,0.0")
    assert tail.uses()["jmeter"] == TailUse("jmeter", 0.25, 300, 2.0)  # two seconds passed
    assert tail.uses()["web"] == TailUse("web", 0.1, 50, 0.1)  # its row is not complete
    with path.open("a") as stream:
        stream.write("50,60,3\n")
    assert tail.uses()["web"] == TailUse("web", 0.05, 60, 0.2)


def test_a_row_of_another_kind_is_left_out(tmp_path):
    path = tmp_path / "telemetry.csv"
    path.write_text(HEAD + "soon,jmeter,1,100,9\n10000,web,much,50,3\n10000,host,1.500,,\n")
    assert TelemetryTail(tmp_path).uses() == {"host": TailUse("host", 1.5, 0, 1.5)}
