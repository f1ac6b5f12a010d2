"""What arrives of a part: its rows are those that JMeter wrote there, with the times of this machine's clock."""

import ast
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.jtl.inputs import Input
from harness.report.jtls import Counting, summary_of_jtls
from harness.run.parts import relay
from harness.run.parts.channel import Channel, Rows
from harness.run.parts.launchers import parse_places
from harness.run.parts.places import HERE, PYTHON_THERE, Place

HEAD = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes\n"
AHEAD_MS = 700


def rows_text(count, ahead_ms=0, first=0):
    def row(number):
        message = f'"1700000000000 is a number\n1700000000000 ""too""\n{number}"' if number % 3 == 0 else "OK"
        start_ms, elapsed_ms = 1_700_000_000_000 + 10 * number + ahead_ms, number * number % 977
        return f"{start_ms},{elapsed_ms},Pay,200,{message},Users 1-1,true,,5,7\n"

    return HEAD + "".join(row(number) for number in range(first, first + count))


def written(path, data, cuts, ahead_ms):
    rows = Rows(path, ahead_ms, 1_700_000_000_000)
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        rows.write(data[begin:end])
    rows.close()
    return path.read_bytes()


@given(st.lists(st.integers(0, 400), max_size=8).map(sorted), st.sampled_from([0, AHEAD_MS, -AHEAD_MS]))
def test_rows_are_the_same_however_they_arrive_with_their_times_corrected(tmp_path_factory, cuts, ahead_ms):
    path = tmp_path_factory.getbasetemp() / "samples.jtl"
    data = rows_text(9, ahead_ms).encode()
    assert written(path, data, [min(cut, len(data)) for cut in cuts], ahead_ms) == rows_text(9).encode()


@pytest.mark.real
def test_counts_and_percentiles_of_two_parts_are_those_of_one_list_to_the_sample(tmp_path):
    (tmp_path / "whole.jtl").write_text(rows_text(4000))
    written(tmp_path / "samples.jtl", rows_text(1500).encode(), [99, 10_000], 0)
    written(tmp_path / "samples-2.jtl", rows_text(2500, AHEAD_MS, first=1500).encode(), [77_777], AHEAD_MS)

    def figures(*names):
        summary = summary_of_jtls([Input(name, tmp_path / name) for name in names], Counting())
        return summary.groups[0].labels

    whole, parts = figures("whole.jtl"), figures("samples.jtl", "samples-2.jtl")
    assert whole[0].sample_count == 4000
    assert len(set(whole[0].percentiles_ms.values())) > 3
    assert parts == whole


def test_a_part_without_rows_leaves_an_empty_file_and_a_torn_row_stays(tmp_path):
    assert written(tmp_path / "a.jtl", b"", [], AHEAD_MS) == b""
    assert written(tmp_path / "b.jtl", HEAD.encode() + b"1700000000,7", [], 0) == HEAD.encode() + b"1700000000,7\n"
    assert written(tmp_path / "c.jtl", b"timeStamp,elap", [], 0) == b""


@pytest.mark.real
def test_a_relay_on_this_machine_answers_and_its_clock_is_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (place,) = parse_places("local:1")
    channel = Channel(place)
    assert channel.receive("hello", 20.0)[0]["system"].startswith(("Linux", "Darwin"))
    assert channel.measure_clock() == 0
    channel.send("resume", run="run-01_1-none-1")
    assert channel.receive("ready", 20.0)[0]["is"] == "gone"
    channel.close()
    assert channel._process.returncode == 0


@pytest.mark.real
@pytest.mark.parametrize("is_busy", [False, True])
def test_why_a_machine_cannot_be_used_is_the_last_line_of_its_errors(is_busy, monkeypatch):
    if is_busy:  # here the command has ended before the next thread starts
        start = threading.Thread.start
        monkeypatch.setattr(threading.Thread, "start", lambda self: (start(self), time.sleep(0.5)))
    channel = Channel(Place("gen1", (sys.executable, "-c", "import sys; sys.exit('ssh: no route to host')")))
    assert channel.receive("hello", 20.0) is None
    assert channel.lost == "ssh: no route to host"
    channel.close()


@pytest.mark.parametrize("argv", [HERE, ("sh", "-c", PYTHON_THERE)])
def test_a_relay_imports_no_module_of_the_folder_in_which_it_starts(tmp_path, argv):
    modules = sorted({name.split(".")[0] for name in relay_imports()})
    for name in modules:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r})\n")
    program = "".join(f"import {name}\n" for name in modules).encode() + b"print('all imported')"
    done = subprocess.run(
        argv, input=b"%d\n%s" % (len(program), program), capture_output=True, cwd=tmp_path, check=True, timeout=60
    )
    assert len(modules) > 10
    assert done.stdout == b"all imported\n"
    assert not (tmp_path / "ran").exists()


def relay_imports():
    for node in ast.walk(ast.parse(Path(relay.__file__).read_text())):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
