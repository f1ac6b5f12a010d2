"""The options of JMeter's JVM about its heap."""

import os
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from harness.base.java import jmeter_java_path
from harness.plan.load.memory import Heap
from harness.plan.spec import load_profile
from harness.run import prepare
from harness.run.jmeter.command import environment
from tests.support.paths import ROOT

HEAP = Heap(first_mb=275, limit_mb=1024, young_mb=112)
CROWDED = replace(HEAP, survivor_ratio=6)


@pytest.mark.parametrize(
    ("jvm_args", "heap", "has", "lacks"),
    [
        ("", HEAP, "-Xms275m -Xmx1024m -XX:MaxMetaspaceSize=256m -Xmn112m", "Survivor"),
        (
            "",
            CROWDED,
            "-Xmn112m -XX:-UsePSAdaptiveSurvivorSizePolicy -XX:InitialSurvivorRatio=6 ",
            "-Xmn275m",
        ),
        ("-XX:+UseG1GC", HEAP, "-Xms275m -Xmx1024m ", "-Xmn"),  # other collectors choose it themselves
        ("-XX:+UseG1GC", CROWDED, "-Xms275m -Xmx1024m ", "Survivor"),
        ("", Heap(97, 97), "-Xms97m -Xmx97m ", "-Xmn"),
    ],
)
def test_the_heap_is_that_of_the_load_or_of_the_profile(jvm_args, heap, has, lacks):
    profile = replace(load_profile(ROOT / "env", "local"), generator_jvm_args=jvm_args)
    found = environment(profile, heap, 2)
    assert has in found["HEAP"]
    assert lacks not in found["HEAP"]
    assert found["JVM_ARGS"].endswith(jvm_args)


@pytest.mark.parametrize(("core_count", "has"), [(1, True), (2, True), (3, True), (4, False), (64, False)])
def test_java_has_no_fewer_compilers_than_it_would_choose(core_count, has):
    found = environment(load_profile(ROOT / "env", "local"), HEAP, core_count)
    assert ("-XX:CICompilerCount=3" in found["HEAP"]) is has


def test_the_compiler_repeats_small_methods_only_unless_the_profile_says_otherwise():
    profile = replace(load_profile(ROOT / "env", "local"), generator_jvm_args="-XX:InlineSmallCode=2500")
    found = environment(profile, HEAP, 2)
    assert "-XX:InlineSmallCode=1000 -XX:FreqInlineSize=150" in found["HEAP"]
    assert found["JVM_ARGS"].endswith("-XX:InlineSmallCode=2500")  # is behind it, and the last one counts


@pytest.mark.real
def test_this_java_starts_with_all_options_of_the_heap():
    options = environment(load_profile(ROOT / "env", "local"), CROWDED, 2)["HEAP"]
    done = subprocess.run(
        [jmeter_java_path(), *options.split(), "-XX:+UseParallelGC", "-version"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    assert "warning" not in done.stdout + done.stderr


@pytest.mark.parametrize(("of_container", "usable"), [(None, 24_000), (512, 512), (90_000, 24_000)])
def test_the_memory_of_a_generator_is_that_of_the_machine_or_its_container(of_container, usable, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=24_000))
    monkeypatch.setattr(prepare, "memory_limit_of", {os.getpid(): of_container}.get)
    assert prepare.usable_memory_bytes() == usable
