"""Which hosts JMeter may connect to, and how its attempts to reach others are reported."""

from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.plan.spec import parse_target
from harness.run.directory import RunDirectory
from harness.run.jmeter.connections import (
    agent_option,
    allowed_connections,
    connection_reasons,
    foreign_reasons,
    other_addresses,
    take_list,
)


@pytest.mark.parametrize(
    ("target", "hosts", "allowed"),
    [
        ("http://10.0.0.5:8080/app", (), ("10.0.0.5:8080",)),
        ("https://Shop.example.", (), ("shop.example:443",)),
        ("http://[fd00::5]", ("[fd00::6]:81",), ("[fd00::5]:80", "[fd00::6]:81")),
        ("http://10.0.0.5", ("api.example", "https://b.example:9"), ("10.0.0.5:80", "api.example:0", "b.example:9")),
    ],
)
def test_target_and_allowed_hosts_may_be_reached(target, hosts, allowed):
    assert allowed_connections(parse_target(target), hosts) == allowed


def test_a_path_with_blanks_is_one_option(tmp_path):
    option = agent_option(tmp_path / "my project" / "a.jar", Path("/my tmp/list.txt"), ("10.0.0.5:80", "b:0"))
    assert option == f'"-javaagent:{tmp_path}/my project/a.jar=/my tmp/list.txt=10.0.0.5:80,b:0"'


@pytest.mark.parametrize(("folder", "quoted"), [("it's", '"{}"'), ('19" rack', "'{}'")])
def test_a_path_with_a_quotation_mark_is_one_option(folder, quoted):
    option = agent_option(Path(f"/{folder}/a.jar"), Path("/tmp/list.txt"), ())
    assert option == quoted.format(f"-javaagent:/{folder}/a.jar=/tmp/list.txt=")


@pytest.mark.parametrize("folder", ["it's 19\"", "a=b"])
def test_a_path_that_java_cannot_read_is_refused(folder):
    with pytest.raises(UsageError, match=f"/{folder}: Java cannot .*; move the checkout to another folder"):
        agent_option(Path(f"/{folder}/a.jar"), Path("/tmp/list.txt"), ())


def test_a_run_without_foreign_connections_has_no_reason():
    assert foreign_reasons("allowed: this machine, 10.0.0.5:80\n", ("10.0.0.5:80",)) == ()


def test_foreign_addresses_are_counted_and_named_most_frequent_first():
    lines = ["allowed: x", "a:1", "b:2 (b.example)", "b:2 (b.example)", "c:3", "c:3", "c:3", "d:4"]
    assert foreign_reasons("\n".join(lines), ("10.0.0.5:80",)) == (
        "7 connections to hosts that are not allowed were refused: c:3 (3×), b:2 (b.example) (2×), a:1 (1×) and 1 "
        "more; allowed: 10.0.0.5:80",
    )


def test_a_truncated_list_of_connections_has_an_at_least():
    reasons = foreign_reasons("allowed: x\n" + "a:1\n" * 1000, ("10.0.0.5:80",))
    assert reasons[0].startswith("at least 1000 connections to hosts that are not allowed were refused: a:1 (1000×)")


def test_a_missing_file_of_the_agent_makes_the_run_invalid(tmp_path):
    directory = RunDirectory(tmp_path)
    for name in ("samples.jtl", "foreign-connections.txt"):
        (tmp_path / name).write_text("allowed: 10.0.0.5:80\n")
    assert connection_reasons(directory, ("10.0.0.5:80",)) == ()
    (tmp_path / "foreign-connections.txt").unlink()
    (reason,) = connection_reasons(directory, ("10.0.0.5:80",))
    assert "foreign-connections.txt is missing" in reason


def test_a_run_without_samples_needs_no_file_of_an_agent(tmp_path):
    assert connection_reasons(RunDirectory(tmp_path), ("10.0.0.5:80",)) == ()


def test_connections_that_were_made_are_told_from_refused_ones():
    made_twice = ("made a:1 (curl)",) * 2
    lines = ("allowed: x", "other addresses: watched", "a:1 (curl)", "made b:2 udp (curl)", *made_twice)
    refused, made = foreign_reasons("\n".join(lines), ("10.0.0.5:80",))
    assert refused.startswith("1 connection to hosts that are not allowed were refused: a:1 (curl) (1×); allowed")
    assert made == (
        "3 connections to hosts that are not allowed were made: a:1 (curl) (2×), b:2 udp (curl) (1×); "
        "allowed: 10.0.0.5:80"
    )


def test_what_was_seen_from_outside_becomes_a_part_of_the_agents_list(tmp_path):
    directory = RunDirectory(tmp_path / "run")
    directory.path.mkdir()
    listed = tmp_path / "connections-1" / "foreign-connections.txt"
    listed.parent.mkdir()
    listed.write_text("allowed: this machine, 10.0.0.5:80\na:1\n")
    (listed.parent / "outside.txt").write_text("made b:2 (curl)\nother addresses: watched\n")
    take_list(listed, directory)
    text = (directory.path / "foreign-connections.txt").read_text()
    assert text == "allowed: this machine, 10.0.0.5:80\nother addresses: watched\na:1\nmade b:2 (curl)\n"
    assert other_addresses(directory) == "watched"
    assert not listed.parent.exists()
