"""The variables of make are the options of lth: unknown ones are refused, and every text arrives as it was written."""

import argparse
import json
import os
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.cli.make_variables import arguments_of, given_variables
from harness.cli.options import OPTIONS
from harness.cli.verbs import ALIASES, VERBS
from harness.cli.verbs import parser_of as parser_of_verb
from tests.support.paths import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PRINTED = "from harness.cli.make_variables import given_variables; print(json.dumps(given_variables()))"
PROBE = '.DEFAULT:\n\t@{python} -c \'import json, sys; sys.path.insert(0, "{root}"); ' + PRINTED + "'\n"


@pytest.fixture(autouse=True)
def without_variables(monkeypatch):
    for key, option in OPTIONS.items():
        if option.help != argparse.SUPPRESS:
            monkeypatch.delenv(key.partition("/")[0].upper().replace("-", "_"), raising=False)


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """Return the variables that a program started by a real make reads."""
    makefile = tmp_path_factory.mktemp("make") / "Makefile"
    makefile.write_text(PROBE.format(python=sys.executable, root=ROOT))

    def called(*words: str) -> dict[str, str]:
        command = ["make", "-f", str(makefile), "--no-print-directory", "run", *words]
        environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKEOVERRIDES")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    return called


def parser_of(verb: str) -> argparse.ArgumentParser:
    return parser_of_verb(ALIASES.get(verb, (verb,))[0])


def given_by_make(monkeypatch, **variables: str) -> None:
    text = " ".join(f"{name}={value}".replace("\\", r"\\").replace(" ", r"\ ") for name, value in variables.items())
    monkeypatch.setenv("MAKEFLAGS", f" -- {text.replace('$', '$$')}")


@pytest.mark.real
@pytest.mark.parametrize(
    "text",
    ["p95<1", "a b  c", "it's", 'say "x"', "50%", "#1", "$HOME $(x) `y`", "back\\slash", "ends with \\", "a=b c=d",
     "two\nlines", "ü ß €", "*.md", "$$", "a:b;c&d|e>f<g"],
)  # fmt: skip
def test_a_value_arrives_as_it_was_written(received, text):
    assert received(f"NOTE={text}", "USERS=5") == {"NOTE": text, "USERS": "5"}


@pytest.mark.real
@given(text=st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).map(str.strip))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_arrives_as_it_was_written(received, text):
    assert received(f"NOTE={text}") == {"NOTE": text}


def test_a_variable_of_the_environment_is_used_unless_the_command_line_has_it(monkeypatch):
    """As make does: workflows pass texts of others in the environment, where no shell reads them."""
    monkeypatch.setenv("USERS", "99")
    monkeypatch.setenv("NOTE", "x y $HOME")
    monkeypatch.setenv("USERZ", "1")
    monkeypatch.setenv("HOME", "/of/the/user")  # --home is for processes of the tool itself
    given_by_make(monkeypatch, USERS="5")
    assert arguments_of("run", parser_of("run")) == ["--users=5", "--note=x y $HOME"]


def test_the_width_of_the_terminal_is_no_list_of_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("MAKEFLAGS", raising=False)
    assert arguments_of("table", parser_of("table")) == []
    given_by_make(monkeypatch, COLUMNS="timeStamp,elapsed")
    assert arguments_of("table", parser_of("table")) == ["--columns=timeStamp,elapsed"]


def test_flags_of_make_are_no_variables(monkeypatch):
    monkeypatch.setenv("MAKEFLAGS", "k -j2 --jobserver-auth=3,4 -- USERS=1")
    assert given_variables() == {"USERS": "1"}


@pytest.mark.parametrize("verb", [*VERBS, *ALIASES])
def test_a_misspelt_variable_is_refused_by_every_verb(monkeypatch, verb):
    given_by_make(monkeypatch, USERZ="5")
    with pytest.raises(UsageError, match=f"USERZ: make {verb} has no such variable"):
        arguments_of(verb, parser_of(verb))


def test_the_nearest_variable_is_suggested(monkeypatch):
    given_by_make(monkeypatch, USER="10")
    with pytest.raises(UsageError, match="did you mean USERS"):
        arguments_of("run", parser_of("run"))


@pytest.mark.parametrize(("value", "arguments"), [("1", ["--html"]), ("yes", ["--html"]), ("0", []), ("", [])])
def test_a_switch_is_on_or_off(monkeypatch, value, arguments):
    given_by_make(monkeypatch, HTML=value)
    assert arguments_of("compare", parser_of("compare")) == arguments


def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch):
    given_by_make(monkeypatch, SURE="2x")
    with pytest.raises(UsageError, match="SURE=2x: neither on nor off"):
        arguments_of("compare", parser_of("compare"))


def test_several_values_and_arguments_without_a_name(monkeypatch):
    given_by_make(monkeypatch, BASE="run-01_1 run-01_2", NEW="run-02_1", THRESHOLD="p95=20% errors=1%")
    assert arguments_of("compare", parser_of("compare")) == [
        "--base", "run-01_1", "run-01_2", "--contender", "run-02_1", "--threshold=p95=20%", "--threshold=errors=1%",
    ]  # fmt: skip
    given_by_make(monkeypatch, RUN="shop/run-01_1", PLAN="shop")
    assert arguments_of("report", parser_of("report")) == ["shop/run-01_1", "--plan=shop"]


def test_a_header_and_a_curl_command_are_one_text_with_their_dollars(monkeypatch):
    curl = "curl http://127.0.0.1/ -H 'a: $B'"
    given_by_make(monkeypatch, TARGET="http://127.0.0.1", HEADER="Authorization: Bearer $TOKEN", CURL=curl)
    assert arguments_of("run", parser_of("run")) == [
        "--target=http://127.0.0.1", "--header=Authorization: Bearer $TOKEN", f"--curl={curl}",
    ]  # fmt: skip


def test_an_operation_of_an_openapi_file_is_one_text(monkeypatch):
    given_by_make(monkeypatch, PLAN="shop", OPENAPI="api.yaml", ONLY="GET /pets*")
    words = arguments_of("init", parser_of("init"))
    assert words == ["--plan=shop", "--openapi=api.yaml", "--only=GET /pets*"]


def test_help_is_printed_instead_of_a_run(monkeypatch):
    given_by_make(monkeypatch, USERS="5", HELP="1")
    assert arguments_of("run", parser_of("run")) == ["--help"]


def test_the_older_names_of_a_level_still_work(monkeypatch):
    given_by_make(monkeypatch, USERS="1,5", LEVEL_DURATION="80", LEVEL_REQUESTS="1000")
    assert arguments_of("sweep", parser_of("sweep")) == ["--users=1,5", "--duration=80", "--requests=1000"]


def test_the_makefile_is_short_and_knows_no_option():
    assert len(MAKEFILE.splitlines()) < 60
    assert not [name for name in ("USERS", "PLAN", "TARGET", "DURATION") if name in MAKEFILE.replace("$(PLAN)", "")]


@pytest.mark.real
def test_make_runs_the_verb_with_the_variables_of_its_command_line():
    command = ["make", "-C", str(ROOT), "--no-print-directory", "run", "PLAN=nope nope", "USERS=5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0].split(";")[0]) == (2, "make run: PLAN=nope nope: unknown")


@pytest.mark.real
def test_make_alone_and_help_list_the_verbs():
    for words in ([], ["help"], ["help", "all"]):
        done = subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", *words], capture_output=True, text=True)
        assert done.returncode == 0
        assert "  run            run one load test" in done.stdout
        assert max(map(len, done.stdout.splitlines())) <= 80
        assert ("  tally " in done.stdout) == ("all" in words)


@pytest.mark.real
def test_make_help_verb_explains_it():
    command = ["make", "-C", str(ROOT), "--no-print-directory", "help", "run"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "--users" in done.stdout


def test_make_dry_run_starts_nothing():
    command = ["make", "-n", "-C", str(ROOT), "--no-print-directory", "run", "PLAN=lb-nginx"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["scripts/python harness/__main__.py make run"]


@pytest.mark.parametrize("verb", sorted({*VERBS, *ALIASES} - {"setup", "completion"}))  # make has both itself
def test_the_page_in_a_clone_is_true_for_each_option_and_argument_of_each_verb(verb, monkeypatch):
    parser = parser_of(verb)
    page = (ROOT / "docs" / "in-a-clone.md").read_text()
    for action in parser._actions[1:]:
        if action.help == argparse.SUPPRESS:
            continue
        value = action.choices[0] if action.choices else "1"
        of_value = [] if action.nargs in (0, "?") and action.option_strings else [value]
        for flag in [flag for flag in action.option_strings if flag.startswith("--")] or [f"--{action.dest}"]:
            variable = flag[2:].upper().replace("-", "_")
            given_by_make(monkeypatch, **{variable: value})
            words = [part for word in arguments_of(verb, parser) for part in word.split("=", 1)]
            if words == [value]:  # an argument without a name
                assert f"`{variable}`" in page or flag in parser._option_string_actions
            else:
                assert words[0] in action.option_strings and words[1:] == of_value, flag
