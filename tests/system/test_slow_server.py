"""Proof by injection: a real JVM is made slow in known ways, and the account of its tail recovers each of them."""

import pytest

from tests.support.java_program import java_of
from tests.support.slow_server import Load, tail_of, tomcat_jars

# An injected time is recovered within this share of it.
WITHIN = 0.15
LIVE_OBJECTS = 4_000_000
CASES = {
    "/lock.300": {"lock Slow$Till at Slow.lock": 300},
    "/pool.300": {"pool Slow.pool": 300},
    "/statement.300": {"statement Slow.statement": 300},
    "/service.300": {"service Slow.service": 300},
    "/lock.300/statement.200": {"lock Slow$Till at Slow.lock": 300, "statement Slow.statement": 200},
    "/pool.300/service.200": {"pool Slow.pool": 300, "service Slow.service": 200},
}


def load_on(threads: str, *, live_objects: int = 0, tomcat: str = "") -> Load:
    java = java_of(21) if threads == "virtual" else "java"
    if java is None:
        pytest.skip("no Java with virtual threads is installed")
    return Load(threads, java, live_objects, tomcat=tomcat)


def assert_recovered(path: str, folder, threads: str, tomcat: str = ""):
    found = tail_of(path, folder, load_on(threads, tomcat=tomcat))
    assert found is not None
    recovered = {f"{one.kind} {one.name}": one.ms for one in found.causes}
    for name, injected_ms in CASES[path].items():
        assert recovered.pop(name) == pytest.approx(injected_ms, rel=WITHIN)
    # The machine may have other work, so that threads also wait for a CPU; nothing else is claimed.
    assert {name.partition(" ")[0] for name in recovered} <= {"queue", "cpu", "stop"}
    assert abs(found.unexplained_ms) < 0.2 * found.excess_ms


@pytest.mark.real
@pytest.mark.parametrize("threads", ["platform", pytest.param("virtual", marks=pytest.mark.counterpart)])
def test_the_time_for_which_a_lock_was_held_is_recovered(threads, tmp_path):
    assert_recovered("/lock.300", tmp_path, threads)


@pytest.mark.counterpart
@pytest.mark.parametrize("threads", ["platform", "virtual"])
@pytest.mark.parametrize("path", [path for path in CASES if path != "/lock.300"])
def test_each_injected_time_is_recovered_alone_and_in_pairs(path, threads, tmp_path):
    assert_recovered(path, tmp_path, threads)


@pytest.mark.counterpart
@pytest.mark.parametrize("threads", ["platform", "virtual"])
def test_tomcat_11_with_and_without_virtual_threads_has_the_same_causes(threads, tmp_path):
    assert_recovered("/lock.300/statement.200", tmp_path, threads, tomcat_jars("11.0.14"))


@pytest.mark.counterpart
def test_full_collections_are_recovered(tmp_path):
    """Their length is that of the difference: nothing else is slow."""
    found = tail_of("/gc", tmp_path, load_on("platform", live_objects=LIVE_OBJECTS))
    assert found is not None
    (cause,) = (one for one in found.causes if one.kind == "stop")
    assert (cause.name, cause.ms) == ("", pytest.approx(found.excess_ms, rel=WITHIN))


@pytest.mark.counterpart
def test_a_lock_and_a_collection_are_told_apart(tmp_path):
    # A collection stops the other users' requests, too: shorter than the lock, theirs are not near p99.
    load = load_on("platform", live_objects=LIVE_OBJECTS // 4)._replace(length_s=20.0)
    found = tail_of("/lock.300/gc", tmp_path, load)
    assert found is not None
    recovered = {one.kind: one.ms for one in found.causes}
    assert recovered["lock"] == pytest.approx(300, rel=WITHIN)
    assert recovered["stop"] == pytest.approx(found.excess_ms - 300, rel=WITHIN)


@pytest.mark.counterpart
def test_a_cpu_quota_is_waiting_for_a_cpu(tmp_path):
    found = tail_of("/use.80", tmp_path, load_on("platform")._replace(quota=0.4, length_s=20.0))
    assert found is not None
    recovered = {one.kind: one.ms for one in found.causes}
    assert recovered["queue"] == pytest.approx(found.excess_ms - 80, rel=WITHIN)
    assert set(recovered) <= {"queue", "cpu", "stop"}


@pytest.mark.counterpart
def test_work_is_cpu_time_and_waiting_for_a_cpu(tmp_path):
    found = tail_of("/work.150", tmp_path, load_on("platform"))
    assert found is not None
    together = sum(one.ms for one in found.causes if one.kind == "queue" or one.name == "Slow.spin")
    assert together == pytest.approx(150, rel=WITHIN)


@pytest.mark.counterpart
def test_a_wait_that_no_recorder_sees_is_unexplained_and_no_cause_is_claimed(tmp_path):
    """Locks that other threads wait for meanwhile are no causes."""
    found = tail_of("/hidden.300", tmp_path, load_on("platform"))
    assert found is not None
    assert not found.is_told
    assert {one.kind for one in found.causes} <= {"queue", "cpu"}


@pytest.mark.counterpart
def test_a_virtual_thread_in_native_code_is_said_to_run_or_to_be_there(tmp_path):
    """Dumps have it; the time of its carrier, which fits as well, is not taken for that of a thread of its own."""
    found = tail_of("/hidden.300", tmp_path, load_on("virtual"))
    assert found is not None
    recovered = {f"{one.kind} {one.name}": one.ms for one in found.causes}
    assert recovered.pop("run Slow.hidden") == pytest.approx(300, rel=WITHIN)
    assert {name.partition(" ")[0] for name in recovered} <= {"queue", "cpu", "stop"}


@pytest.mark.counterpart
def test_of_a_server_that_answers_from_a_timer_no_wait_of_other_threads_is_claimed(tmp_path):
    found = tail_of("/slow", tmp_path, Load(is_later=True))
    assert found is not None
    assert (found.is_told, found.found_count) == (False, 0)
    assert {one.kind for one in found.causes} <= {"stop"}


@pytest.mark.counterpart
def test_without_an_injection_no_lock_pool_statement_or_service_is_a_cause(tmp_path):
    found = tail_of("/", tmp_path, load_on("platform"))
    assert not found or {one.kind for one in found.causes} <= {"queue", "cpu", "stop"}
