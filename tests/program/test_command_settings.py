"""The command is the settings: what is stored, what a child gets and what resumes follow from the parsed options."""

import argparse
import shlex

import pytest

from harness.base.command import Command, changed_command
from harness.cli import options
from harness.cli import verbs as cli
from harness.cli.make_variables import add_stored
from harness.cli.spelling import spelled_for
from harness.run.arguments import OptionScope, command_of, run_arguments, settings_of

LOADS = ["run", "soak", "sweep", "capacity", "ab", "tune", "bisect", "trust", "overload"]
# A command of each kind as version 1.1.0 stored it, and as it is given today.
STORED = [
    (
        "make sweep PLAN=killbill-stripe USERS=1,5,10 REPEAT=3 FRESH=1 DURATION=5m SET='heap_mb=512' PROFILE=1",
        "sweep killbill-stripe -u 1,5,10 --repeat 3 --fresh -d 5m --set heap_mb=512 --profile --max 2h",
    ),
    (
        "make capacity PLAN=lb-nginx P90=1000 FROM=20 LEVEL_DURATION=100",
        "capacity lb-nginx --p90 1000 --from 20 -d 100",
    ),
    ("lth capacity --plan=lb-nginx --p90=1000 --level-duration=100", "sweep --find lb-nginx --p90 1000 --duration 100"),
    (
        "make ab A=delay_ms=10 B='HEAD delay_ms=11' PLAN=lb-nginx USERS=50 DURATION=60 MAX=2h NOTE='why we looked'",
        "ab lb-nginx --a delay_ms=10 --b 'HEAD delay_ms=11' -u 50 -d 60",
    ),
    (
        "lth ab --a=local --b=folio --plan=shop --env=staging '--header=A: b' '--header=C: d' --profile",
        "ab shop --a local --b folio -e staging -H 'A: b' -H 'C: d' --profile --note other",
    ),
    (
        "make tune SET='plugin_threads=30,60 log_level=WARN,INFO' PLAN=thruzero REPEAT=2 TARGET=http://127.0.0.1:8080",
        "tune thruzero --set 'plugin_threads=30,60 log_level=WARN,INFO' --repeat 2 -t http://127.0.0.1:8080",
    ),
    ("make bisect GOOD=v1.4 BAD=HEAD METRIC=p95 PLAN=shop", "bisect shop --good v1.4 --metric p95"),
    ("make trust PLAN=lb-nginx USERS=50 DETECT=5% DURATION=2m", "trust lb-nginx -u 50 -d 2m --max 1h"),
    (
        "make overload PLAN=thruzero SET='accept_count=10,1000' GOAL='p90<2s' RATE=1.5 LEVEL_DURATION=15",
        "overload thruzero --set accept_count=10,1000 -g 'p90<2s' -r 1.5 -d 15",
    ),
    ("make nightly SUITE=env/mine.toml S3=s3://bucket/x MAX=1h", "nightly --suite env/mine.toml"),
    ("make nightly", "nightly --summary out.md --html"),
]


def parsed(words: str) -> argparse.Namespace:
    found = cli._parsed(shlex.split(words), "lth")
    if getattr(found.options, "find", False):
        found.options.verb, found.options.implied = "capacity", ["find"]
    return found.options


@pytest.mark.parametrize(("stored", "today"), STORED)
def test_a_stored_command_of_an_earlier_version_is_resumed_by_the_same_one_of_today(stored, today):
    given = parsed(today)
    command = str(command_of(given))
    assert settings_of(stored, given) == settings_of(command, given)
    other = parsed(f"{today} --properties x=1") if "nightly" not in today else parsed("nightly --suite env/other.toml")
    assert settings_of(stored, given) != settings_of(str(command_of(other)), other)


@pytest.mark.parametrize(("stored", "today"), STORED)
def test_a_stored_command_is_read_back_into_its_options(stored, today):
    verb = Command.parse(stored).verb
    parser = cli.parser_of({"capacity": "sweep"}.get(verb, verb), name=verb)
    empty = parser.parse_args([])
    add_stored(empty, parser, stored)
    empty.implied, empty.plan = ["find"], getattr(parsed(today), "plan", None)
    empty.plan or delattr(empty, "plan")
    assert settings_of(str(command_of(empty)), empty) == settings_of(str(command_of(parsed(today))), parsed(today))


@pytest.mark.parametrize("verb", LOADS)
@pytest.mark.parametrize("switch", [False, True], ids=["value", "switch"])
def test_a_new_option_of_a_run_reaches_every_verb_its_command_and_its_children(verb, switch, monkeypatch):
    added = options.Option("the pace of users", "" if switch else "N", of=OptionScope.LOAD)
    monkeypatch.setitem(options.OPTIONS, "pace", added)
    word = "--pace" if switch else "--pace=3"
    given = parsed(f"{verb} tiny {word}")
    assert word.removeprefix("--") in str(command_of(given))
    assert word in run_arguments(given)
    assert word in run_arguments(given, (OptionScope.LOAD,))
    without = parsed(f"{verb} tiny")
    assert word not in run_arguments(without)
    commands = [str(command_of(one)) for one in (given, without)]
    assert settings_of(commands[0], given) != settings_of(commands[1], given)
    assert parsed_again(commands[0]).pace == given.pace


def parsed_again(command: str) -> argparse.Namespace:
    return parsed(command.removeprefix("lth "))


@pytest.mark.parametrize("verb", LOADS)
@pytest.mark.parametrize("words", ["--think=2s", "-H 'A: b'", "--sampler=jmeter", "--trace"])
def test_what_sends_the_load_is_an_option_of_every_verb(verb, words):
    given = parsed(f"{verb} tiny {words}")
    assert run_arguments(given, (OptionScope.LOAD,))


@pytest.mark.parametrize("verb", ["run", "soak", "ab", "tune", "bisect", "overload"])
def test_what_runs_children_takes_several_machines(verb):
    given = parsed(f"{verb} tiny --on local:2")
    assert "--on=local:2" in run_arguments(given)


def test_files_folders_and_what_follows_a_run_are_not_in_its_command(tmp_path):
    given = parsed(f"run tiny -u 5 --reports {tmp_path} --live 1 --html --note x --series 7 --sure")
    assert str(command_of(given)) == "lth run --plan=tiny --users=5"


def test_a_file_is_named_as_seen_from_the_project():
    given = parsed("run tiny -t http://127.0.0.1:1 --jfr /somewhere/else/shop.jfr")
    assert "--jfr=shop.jfr" in str(command_of(given))
    given = parsed("nightly --suite env/mine.toml")
    assert str(command_of(given)) == "lth nightly --suite=env/mine.toml"


def test_secrets_are_not_in_the_command():
    given = parsed("run tiny -H 'Authorization: Bearer abcdefgh12345678' --properties 'token=abcdefgh12345678 a=b'")
    command = command_of(given, ["abcdefgh12345678"], "token=••• a=b")
    assert "abcdefgh" not in str(command)
    assert dict(command.options)["properties"] == "token=••• a=b"


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("make sweep PLAN=tiny USERS=1,2", "make sweep PLAN=tiny USERS=1,2 DURATION=60s"),
        ("make sweep DURATION=1 GOAL='p90<2s'", "make sweep GOAL='p90<2s' DURATION=60s"),
        ("lth sweep --plan=tiny --duration=1", "lth sweep --plan=tiny --duration=60s"),
    ],
)
def test_a_command_is_changed_in_the_spelling_that_it_has(command, changed):
    assert changed_command(command, duration="60s") == changed


def test_an_option_without_a_value_is_added_once():
    assert changed_command("lth run --plan=tiny --users=2", profile=None) == "lth run --plan=tiny --users=2 --profile"
    assert changed_command("lth run --profile --plan=tiny", profile=None) == "lth run --plan=tiny --profile"
    assert changed_command("make run NOTE='a b'", profile=None) == "make run NOTE='a b' PROFILE=1"


@pytest.mark.parametrize(
    ("command", "make"),
    [
        ("lth run --plan=shop '--header=A: $B'", "make run PLAN=shop HEADER='A: $B'"),
        ("lth ab --plan=lb-nginx --resume=01 --profile", "make ab PLAN=lb-nginx RESUME=01 PROFILE=1"),
        ("lth run '--header=A: $B' '--header=C: d'", "lth run '--header=A: $B' '--header=C: d'"),
        ("lth pin tiny/run-01_1", "lth pin tiny/run-01_1"),
    ],
)
def test_a_command_is_printed_as_its_caller_types_it(command, make):
    assert spelled_for("make", command) == make
    assert spelled_for("lth", command) == command
    assert Command.parse(make).values == Command.parse(command).values
    assert spelled_for("lth", make) == make  # only make knows which of its variables are switches
