"""The options of JMeter's JVM about its heap."""

from dataclasses import replace

import pytest

from harness.plan.load.memory import Heap
from harness.plan.spec import load_profile
from harness.run.jmeter.command import environment
from tests.support.paths import ROOT

HEAP = Heap(first_mb=275, limit_mb=1024, young_mb=112)


@pytest.mark.parametrize(
    ("jvm_args", "heap", "has", "lacks"),
    [
        ("", HEAP, "-Xms275m -Xmx1024m -XX:MaxMetaspaceSize=256m -Xmn112m -XX:InitialSurvivorRatio=6 ", "-Xmn275m"),
        ("-XX:+UseG1GC", HEAP, "-Xms275m -Xmx1024m ", "-Xmn"),  # other collectors choose it themselves
        ("-XX:+UseG1GC", HEAP, "-Xms275m -Xmx1024m ", "Survivor"),
        ("", Heap(97, 97), "-Xms97m -Xmx97m ", "-Xmn"),
    ],
)
def test_the_heap_is_that_of_the_load_or_of_the_profile(jvm_args, heap, has, lacks):
    profile = replace(load_profile(ROOT / "env", "local"), generator_jvm_args=jvm_args)
    found = environment(profile, heap)
    assert has in found["HEAP"]
    assert lacks not in found["HEAP"]
    assert found["JVM_ARGS"].endswith(jvm_args)
