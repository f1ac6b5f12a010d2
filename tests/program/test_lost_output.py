"""Output that cannot be written: a pipe whose reader has gone, a full disk, closed descriptors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT


@pytest.fixture
def table_command(tmp_path) -> list[str]:
    """The command that prints a table which is longer than a pipe holds."""
    samples = tmp_path / "samples.jtl"
    rows = "".join(
        f"{1_700_000_000_000 + n},5,label {n},200,OK,T 1-1,text,true,,1,1,1,1,u,5,0,1\n" for n in range(2000)
    )
    samples.write_text(
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,"
        f"sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n{rows}"
    )
    return [sys.executable, str(ROOT / "aggregate.py"), "table", str(samples)]


@pytest.mark.real
def test_a_table_into_a_closed_pipe_ends_quietly(table_command):
    process = subprocess.Popen(table_command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


@pytest.mark.real
def test_no_further_table_is_computed_after_the_pipe_is_closed(table_command, tmp_path):
    big = tmp_path / "later.fifo"
    os.mkfifo(big)  # nobody writes: whoever reads it waits for ever
    process = subprocess.Popen([*table_command, str(big), "--each"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0


@pytest.mark.real
@pytest.mark.parametrize("program", ["aggregate.py", "scripts/lth"])
def test_a_table_that_cannot_be_written_is_an_error_in_one_line(table_command, program):
    command = [sys.executable, str(ROOT / program), *table_command[2:]]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"{Path(program).name}: not all of the output could be written (No space left on device)\n"


@pytest.mark.real
def test_help_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([ROOT / "scripts" / "run", "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2


@pytest.mark.real
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", "2>&-"])
def test_a_table_with_closed_descriptors_has_no_traceback(table_command, closed):
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *table_command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
