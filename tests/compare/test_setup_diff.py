"""Set-up differences of two sides, from literal records."""

from dataclasses import replace
from pathlib import Path

from harness.compare.setup_diff import Difference, setup_differences
from harness.run.record import GeneratorRecord, HostRecord
from tests.support.factories import closed_load, record
from tests.support.results import run_result


def run(name: str, **changes):
    return run_result(name, run=record(name=name, **changes))


def test_runs_with_equal_set_ups_have_no_differences():
    first = run("A", properties={"users": "2", "run_id": "A-1", "dump_dir": "/a", "port": "1234", "amount": "10"})
    second = run(
        "B",
        properties={"users": "2", "run_id": "B-2", "dump_dir": "/b", "port": "5678", "amount": "10"},
        started_at="2026-02-02T00:00:00Z",
        note="the second",
        command="lth run --series=2",
    )
    assert setup_differences([first], [second]) == ()


def test_every_setting_of_a_run_is_compared():
    first = run("A", properties={"amount": "10"}, system_settings={"heap_mb": 512, "cpus": 0, "options": []})
    second = run(
        "B",
        load=closed_load(users=4, duration_s=50.5),
        properties={"amount": "20", "fresh": "true"},
        system_settings={"heap_mb": 1024, "cpus": 0, "options": ["-Xint", "-Xlog"]},
        system_facts=(("heap", "1024 MB"),),
        versions={"java": "21", "jmeter": "5.6.3"},
        host=HostRecord("Test CPU", 4, 8 * 1024**3, "Linux 6", "3.11.7"),
        git_changed=True,
    )
    assert setup_differences([first], [second]) == (
        Difference("load: users", "2", "4"),
        Difference("load: duration_s", "none", "50.5"),
        Difference("tiny: heap_mb", "512", "1024"),
        Difference("tiny: options", "none", "-Xint -Xlog"),
        Difference("tiny: heap", "512 MB", "1024 MB"),
        Difference("property amount", "10", "20"),
        Difference("version of java", "17.0.15", "21"),
        Difference("cores", "2", "4"),
        Difference("commit of the harness", "0123456789ab", "0123456789ab with changes"),
        Difference("property fresh", "none", "true"),
    )


def test_a_header_of_all_requests_that_differs_is_a_difference():
    first, second = run("A", headers={"X-Tenant": "blue"}), run("B", headers={"X-Tenant": "green", "X-New": "1"})
    assert setup_differences([first], [second]) == (
        Difference("header X-Tenant", "blue", "green"), Difference("header X-New", "none", "1")
    )  # fmt: skip


def test_sources_are_compared_by_their_hashes_and_not_by_the_commit_where_all_runs_have_them():
    hashes = {"harness": "aaaaaaaaaaaa", "plan": "bbbbbbbbbbbb", "profile": "cccccccccccc"}
    first, moved = run("A", source_hashes=hashes), run("B", source_hashes=hashes, git_commit="f" * 40, git_changed=True)
    assert setup_differences([first], [moved]) == ()
    edited = run("C", source_hashes={**hashes, "plan": "dddddddddddd"})
    assert setup_differences([first], [edited]) == (Difference("files of the plan", "bbbbbbbbbbbb", "dddddddddddd"),)
    older = run("D", git_commit="f" * 40)
    assert setup_differences([older], [first]) == (Difference("commit of the harness", "f" * 12, "0123456789ab"),)


def test_a_setting_that_is_also_a_fact_is_one_difference():
    bare = run("A", system_settings={"dropped_indexes": [], "workers": 2}, system_facts=(("workers", "2 threads"),))
    indexes = {"dropped_indexes": ["payments.id"], "workers": 4}
    facts = (("dropped indexes", "payments.id"), ("workers", "4 threads"), ("nginx", "1.31"))
    assert setup_differences([bare], [run("B", system_settings=indexes, system_facts=facts)]) == (
        Difference("tiny: dropped_indexes", "none", "payments.id"),
        Difference("tiny: workers", "2", "4"),
        Difference("tiny: nginx", "none", "1.31"),
    )
    # The settings of a target are unknown: its facts remain.
    target = run("C", target="http://a:80", system_settings={}, system_facts=(("workers", "2 threads"),))
    other = run("D", target="http://a:80", system_settings={}, system_facts=(("workers", "4 threads"),))
    assert setup_differences([target], [other]) == (Difference("tiny: workers", "2 threads", "4 threads"),)


def test_load_generators_are_part_of_the_set_up():
    near, other, far = (
        tuple(GeneratorRecord(name, 1, None, "5.6.3", "17", 0, False) for name in names)
        for names in (("127.0.0.1:1099", "127.0.0.1:1101"), ("127.0.0.1:4000", "127.0.0.1:4002"), ("10.0.0.7:1099",))
    )
    first = run("A", generators=near)
    assert setup_differences([first], [run("B", generators=other)]) == ()
    assert setup_differences([first], [run("B", generators=far)]) == (
        Difference("generators", "127.0.0.1 127.0.0.1", "10.0.0.7:1099"),
    )
    assert setup_differences([first], [run("B")]) == (Difference("generators", "127.0.0.1 127.0.0.1", "none"),)


def test_a_restarted_machine_is_the_same_and_one_with_more_memory_differs():
    host = record().host
    first, later, more = (
        run(name, host=replace(host, memory_bytes=round(gb * 1024**3)))
        for name, gb in (("A", 7.76), ("B", 7.75), ("C", 15.5))
    )
    assert setup_differences([first], [later]) == ()
    assert setup_differences([first], [more]) == (Difference("memory GB", "8", "16"),)


def test_the_values_of_a_group_are_listed_together():
    base = [run("A", versions={"java": "17"}), run("B", versions={"java": "21"}), run("C", versions={"java": "17"})]
    new = [run("D", versions={"java": "21"})]
    assert setup_differences(base, new) == (Difference("version of java", "17, 21", "21"),)


def test_local_ports_and_passwords_are_not_differences():
    first = run("A", target="http://127.0.0.1:8080", properties={"plugin": "url=http://127.0.0.1:41001/v1"})
    second = run("B", target="http://127.0.0.1:9090", properties={"plugin": "url=http://127.0.0.1:41002/v1"})
    assert setup_differences([first], [second]) == ()
    first, second = (run(name, system_settings={"database_password": name}) for name in "AB")
    assert setup_differences([first], [second]) == ()
    (difference,) = setup_differences([run("A", target="http://a:80")], [run("B", target="http://b:80")])
    assert difference == Difference("target", "http://a:80", "http://b:80")


def test_the_set_up_of_a_run_without_a_record_is_unknown():
    one, other, bare = run("A"), run("B", versions={"java": "21", "jmeter": "5.6.3"}), run_result("C", run=None)
    assert setup_differences([one], [bare]) == (Difference("run.json", "there", "none of C"),)
    assert setup_differences([bare], [bare]) == (Difference("run.json", "none of C", "none of C"),)
    assert setup_differences([one], [other, bare]) == (
        Difference("run.json", "there", "none of C"),
        Difference("version of java", "17.0.15", "21"),
    )


def test_where_the_plans_of_both_runs_are_stored_their_changes_are_listed(tmp_path):
    text = '<jmeterTestPlan><hashTree><TestPlan testname="{}"/></hashTree></jmeterTestPlan>'
    first, second = (
        replace(
            run(name, source_hashes={"harness": "a", "plan": name, "profile": "c"}), jmx=str(tmp_path / f"{name}.jmx")
        )
        for name in "AB"
    )
    for one in (first, second):
        Path(one.jmx).write_text(text.format(one.name))
    hashes = Difference("files of the plan", "A", "B")
    assert setup_differences([first], [second]) == (
        hashes,
        Difference("test plan: test plan *A* renamed", "none", "to *B*"),
    )
    Path(second.jmx).write_text("masked")
    assert setup_differences([first], [second]) == (hashes,)
    assert setup_differences([first], [replace(second, jmx="")]) == (hashes,)
