"""The bench of scale: its files and their true contents, the space it needs, and a run of the whole."""

import csv
import re
import shutil
import signal
import subprocess
from types import SimpleNamespace

import pytest

from bench.readers import file as bench_file
from bench.readers import scale
from bench.readers.scale_files import many_labels, many_seconds, moved, repeated
from bench.readers.truth import LabelTruth
from harness.base.errors import UsageError
from harness.base.project import BUILD
from tests.support.paths import ROOT
from tests.support.processes import wait_for


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return bench_file.ensure(tmp_path_factory.mktemp("base"), 1, 400, print)


def counted(path):
    """Return what the csv module reads: per label the figures that LabelTruth has, in the same order."""
    by_label = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_label.setdefault(row["label"], []).append(row)
    found = {}
    for label, rows in by_label.items():
        elapsed = [int(row["elapsed"]) for row in rows]
        starts = [int(row["timeStamp"]) for row in rows]
        found[label] = LabelTruth(
            label,
            {value: elapsed.count(value) for value in set(elapsed)},
            sum(row["success"] == "false" for row in rows),
            sum(int(row["bytes"]) for row in rows),
            sum(int(row["sentBytes"]) for row in rows),
            min(starts),
            max(map(sum, zip(starts, elapsed, strict=True))),
        )
    return found


def truth_of(file):
    return {label.label: label for label in file.truth.labels}


def test_a_repeated_file_has_the_rows_of_the_base_one_after_the_other(base, tmp_path):
    file = repeated(base, range(3), tmp_path / "3.jtl", print)
    assert file.row_count == 1200
    assert file.size_bytes == file.path.stat().st_size
    assert counted(file.path) == truth_of(file)
    total, once = file.truth.total(""), base.truth.total("")
    assert total.last_ms - total.first_ms == 3 * (once.last_ms - once.first_ms)
    ends = [int(row["timeStamp"]) + int(row["elapsed"]) for row in csv.DictReader(file.path.open(newline=""))]
    assert ends == sorted(ends)


def test_a_file_can_begin_where_others_end(base, tmp_path):
    second = repeated(base, (1,), tmp_path / "second.jtl", print)
    assert counted(second.path) == truth_of(second)
    assert second.truth.total("").first_ms == base.truth.total("").last_ms


def test_time_stamps_are_moved_and_nothing_else():
    lines = b'1700000000999,7,Pay,200,"a\n17 b"\n1700000000000,17,1700,200,c\n'
    later = b'1700000001000,7,Pay,200,"a\n17 b"\n1700000000001,17,1700,200,c\n'
    assert moved(lines.replace(b"\n17 b", b"\n 17 b"), 1) == later.replace(b"\n17 b", b"\n 17 b")
    assert moved(lines, 0) is lines


@pytest.mark.real
def test_files_of_many_labels_and_many_seconds_contain_their_truth(tmp_path):
    labels = many_labels(tmp_path / "labels.jtl", 30, 4)
    assert counted(labels.path) == truth_of(labels)
    assert (len(labels.truth.labels), labels.row_count) == (30, 120)
    days = many_seconds(tmp_path / "days.jtl", 1, 2)
    seconds = {line[:10] for line in days.path.read_text().splitlines()[1:]}
    assert (len(seconds), days.row_count) == (24 * 3600, 2 * 24 * 3600)


def test_too_little_space_is_refused_before_anything_is_written(monkeypatch, capsys):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1024**3))
    with pytest.raises(UsageError, match="1024 MB are free, but 18692 MB are needed"):
        scale._check_space(14 * 10_000_000 * 140)
    assert "needs up to 18692 MB" in capsys.readouterr().err


SMALL = ["--rows", "20000", "--times", "2", "--files", "2", "--labels", "300", "--repeat", "1"]


@pytest.mark.counterpart
def test_the_bench_measures_every_part_and_removes_its_files():
    command = [ROOT / "scripts" / "bench", "scale", *SMALL, "--parts", "sizes,files,labels"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    for name in ("40,000 rows", "one file of 40,000 rows", "2 files of 20,000 rows", "300 labels"):
        assert re.search(rf"^\| {name} \|.*\| right \|$", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert "| 40,000 rows: time ÷ that of 20,000 rows |" in done.stdout
    assert done.returncode == (1 if "NOT met" in done.stdout else 0)
    assert not list((BUILD / "bench").glob("scale-*"))


@pytest.mark.real
def test_an_interrupted_bench_removes_its_files():
    command = [ROOT / "scripts" / "bench", "scale", *SMALL, "--parts", "days", "--days", "30"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: list((BUILD / "bench").glob("scale-*/days.jtl")), seconds=60)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    assert not list((BUILD / "bench").glob("scale-*"))
