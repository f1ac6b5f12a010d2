"""Flame graphs of a profiled run: written with its report, and by nothing that only reads it."""

import gzip

import pytest

from harness.base.install import toolchain
from harness.report.files import summary_of_run, write_report
from harness.system import profile_files
from tests.support.report_folder import START_MS, add_run

CONVERTER = """\
#!/usr/bin/env python3
import sys

options = dict(zip(sys.argv, sys.argv[1:]))
with open(sys.argv[-1], "w") as out:
    out.write(f"{options['--from']} to {options['--to']}")
"""


@pytest.fixture
def profiled(tmp_path, monkeypatch):
    """A run of 120 s with a recording and samples of running threads in each second."""
    directory = add_run(tmp_path, "tiny/run-01_1", is_profiled=True)
    first_s = START_MS // 1000
    events = [f"E\tcpu\t{first_s + second}\t0\t\t\t10\t0\t0" for second in range(120)]
    with gzip.open(directory.path / "profile.tsv.gz", "wt") as out:
        out.write("\n".join(["P\tshop", "S\t0\tshop.Cart.sum", "T\tcpu\t10 ms", *events, ""]))
    directory.system_logs.mkdir()
    (directory.system_logs / "profile-shop.jfr").touch()
    converter = tmp_path / "java"
    converter.write_text(CONVERTER)
    converter.chmod(0o755)
    monkeypatch.setattr(profile_files, "java_path", lambda: str(converter))
    monkeypatch.setattr(toolchain, "flame_graphs_jar", lambda: tmp_path / "converter.jar")
    return directory


def graphs_of(summary):
    (profile,) = summary.observed.profiles
    return profile.flame_graphs


def test_reading_a_run_writes_no_flame_graph(profiled):
    assert graphs_of(summary_of_run(profiled)) == ()
    assert list(profiled.path.glob("*.html")) == []
    (profiled.path / "profile-shop-cpu.html").touch()
    assert graphs_of(summary_of_run(profiled)) == ("profile-shop-cpu.html",)


@pytest.mark.real
def test_the_report_has_a_flame_graph_of_the_window_for_each_kind_of_events(profiled):
    summary = write_report(profiled)
    assert graphs_of(summary) == ("profile-shop-cpu.html",)
    # There are neither locks nor allocations.
    assert [path.name for path in profiled.path.glob("*.html")] == ["profile-shop-cpu.html"]
    first_ms = summary.origin_s * 1000
    window = summary.window
    assert (profiled.path / "profile-shop-cpu.html").read_text() == (
        f"{first_ms + window.from_s * 1000} to {first_ms + window.to_s * 1000}"
    )
    assert "Flame graphs of the window: [cpu](run-01_1/profile-shop-cpu.html)." in profiled.report.read_text()


@pytest.mark.real
def test_a_report_without_a_recording_keeps_what_is_there(profiled):
    write_report(profiled)
    before = profiled.summary_json.read_bytes(), profiled.report.read_bytes()
    (profiled.system_logs / "profile-shop.jfr").unlink()
    write_report(profiled)
    assert (profiled.summary_json.read_bytes(), profiled.report.read_bytes()) == before
    # As in a checkout, which has neither samples nor flame graphs.
    profiled.samples.unlink()
    (profiled.path / "profile-shop-cpu.html").unlink()
    write_report(profiled)
    assert (profiled.summary_json.read_bytes(), profiled.report.read_bytes()) == before


@pytest.mark.real
def test_a_converter_that_fails_leaves_the_report_without_flame_graphs(profiled, monkeypatch):
    monkeypatch.setattr(profile_files, "java_path", lambda: "/nowhere/java")
    assert graphs_of(write_report(profiled)) == ()
    assert "Flame graphs" not in profiled.report.read_text()
    assert "Hottest methods" in profiled.report.read_text()
