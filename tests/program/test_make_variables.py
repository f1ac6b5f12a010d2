"""The variables of make: unknown ones are refused, and every text reaches the scripts as it was written."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.paths import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TAKES = {
    target: words.split()
    for target, words in re.findall(
        r"^(\S+)=(.*)$",
        subprocess.run(
            ["make", "-f", "-", "-C", str(ROOT), "--no-print-directory", "takes"],
            input="include Makefile\ntakes:\n\t@$(foreach target,$(targets),echo $(target)=$(takes.$(target));)",
            capture_output=True, text=True, check=True,
        ).stdout,
        re.MULTILINE,
    )
}  # fmt: skip
PAIRS = [(target, name) for target, names in TAKES.items() for name in names]
# A target with nearly every kind of variable; the others are left to `make test`.
QUICK = "compare"
# What a target cannot do without.
NEEDED = {
    "init": {"PLAN": "p"},
    "report": {"RUN": "r"}, "export": {"RUN": "r"},
    "merge": {"RUNS": "r"}, "compare": {"BASE": "b", "NEW": "n"}, "metrics": {"RUN": "r"},
    "comment": {"PR": "1"}, "release": {"BASE": "b", "NEW": "n"},
}  # fmt: skip
WORDS = {"RUN", "RUNS", "BASE", "THRESHOLD", "TESTS", "BENCH"}
# One name, where other targets take several.
ONE_NAME = {
    ("report", "RUN"), ("export", "RUN"), ("notify", "RUN"), ("pin", "RUN"), ("run", "BASE"),
    ("release", "BASE"), ("soak", "BASE"),
}  # fmt: skip
# On or off, except where a target takes a text by this name.
SWITCHES = {
    "ALL", "ANYWAY", "SURE", "FRESH", "REPLACE", "VERIFY", "FIGURES_ONLY", "DRY_RUN", "FIX", "FORCE", "PROFILE",
    "TRACE", "NEW", "RESUME", "HTML", "COMPARE",
}  # fmt: skip
TEXTS = {("check", "HTML"), ("sweep", "RESUME"), ("capacity", "RESUME"), ("compare", "NEW"), ("release", "NEW")}
SAYS_NOTHING = {("sweep", "S3"), ("capacity", "S3"), ("capacity", "REMOTES")}
FAKE = r"""#!/bin/sh
printf '%s\n' "$#" >>"$RECORD"
for word do printf '%s\000' "$word" >>"$RECORD"; done
"""


@pytest.fixture
def argv(tmp_path):
    """Return what make passes on to the scripts: a list of words for each call of one of them."""
    fake = tmp_path / "python"
    fake.write_text(FAKE)
    fake.chmod(0o755)
    record = tmp_path / "record"

    def called(target: str, given: dict[str, str], from_environment: bool = False) -> list[list[str]]:
        record.write_text("")
        words = [f"{name}={value}" for name, value in given.items()]
        done = subprocess.run(
            ["make", "-C", str(ROOT), "--no-print-directory", f"python={fake}", f"pytest={fake}", target]
            + ([] if from_environment else words),
            env={**os.environ, "RECORD": str(record), **(given if from_environment else {})},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        calls, text = [], record.read_text(encoding="utf-8")
        while text:
            count, _, text = text.partition("\n")
            *call, text = text.split("\0", int(count))
            calls.append(call)
        assert calls or done.returncode == 2, done.stderr
        return calls

    return called


def is_switch(target: str, name: str) -> bool:
    return name in SWITCHES and (target, name) not in TEXTS


def hostile(folder: Path) -> list[str]:
    touch = f"touch {folder}/touched"
    return [
        f"'; {touch}; '$(shell {touch})$({touch})`{touch}`$HOME${{HOME}}$$\"x\\'|&<>*?[a]{{b,c}}~#%!,)(=:\\",
        "-dash and first line\nit's the 'second'\n\n$(x)\\\nlast",
    ]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (target, name) if target == QUICK else pytest.param(target, name, marks=pytest.mark.real)
        for target, name in PAIRS
    ],
)
def test_every_value_of_every_variable_reaches_the_script_unchanged(target, name, argv, tmp_path):
    given = NEEDED.get(target, {})
    is_words = (target, name) not in ONE_NAME and (name in WORDS or (target, name) == ("compare", "NEW"))
    pattern = argv(target, {**given, name: "BENIGN"})
    assert is_switch(target, name) or (target, name) in SAYS_NOTHING or "BENIGN" in str(pattern)
    for value in hostile(tmp_path):
        words = value.split() if is_words else [value]
        expected = []
        for call in pattern:
            expected.append([])
            for word in call:
                texts = words if "BENIGN" in word else [""]
                dashed = word == "BENIGN" and name != "TESTS"
                expected[-1] += [
                    word.replace("BENIGN", f"./{text}" if dashed and text.startswith("-") else text) for text in texts
                ]
        assert argv(target, {**given, name: value}) == expected
        assert argv(target, {**given, name: value}, from_environment=True) == expected
    assert not (tmp_path / "touched").exists()


def recipe_of(target: str) -> str:
    text = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    for macro in ("run_options", "sweep_options", "followed_options", "stored", "chosen", "tests", "sure", "html"):
        if f"$({macro})" in text:
            text += re.search(rf"^{macro} = ((?:.*\\\n)*.*)", MAKEFILE, re.MULTILINE)[1]
    return text


@pytest.mark.parametrize("target", re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))
def test_a_target_takes_the_variables_of_its_recipe_and_no_others(target):
    used = set(re.findall(r"\$\((?:call given,)?([A-Z][A-Z0-9_]*)\)", recipe_of(target))) - {"MAKEFILE_LIST"}
    used |= set(re.findall(r"call (?:refused|given),([A-Z0-9]+)", recipe_of(target)))
    assert used == set(TAKES.get(target, []))


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["run", "USER=10"],
            "USER: no such variable; did you mean USERS? make help VERB lists them; nothing was started",
        ),
        (["run", "users=10"], "users: no such variable; did you mean USERS? "),
        (["USRES=10"], "USRES: no such variable; did you mean USERS? "),
        (["run", "LEVEL_DURATION=5"], "LEVEL_DURATION: make run does not take it; these do: capacity overload sweep; "),
        (["compare", "BASE=a", "NEW=b", "USERS=3"], "USERS: make compare does not take it; these do: ab accept "),
        (["lint", "TESTS=x"], "TESTS: make lint does not take it; these do: test test-fast; nothing was started"),
    ],
)  # fmt: skip
def test_a_variable_that_the_target_does_not_take_is_refused_before_anything_starts(words, line):
    done = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert line in done.stderr
    assert len(done.stderr.splitlines()) == 1


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "-n", *words],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", sorted(SWITCHES))
def test_a_value_that_is_neither_on_nor_off_is_refused_before_anything_starts(name):
    target = next(target for target, taken in PAIRS if taken == name and is_switch(target, taken))
    words = [target, *(f"{one}={value}" for one, value in NEEDED.get(target, {}).items())]
    line = f"{name}=2x: neither on nor off; give {name}=1 or {name}=0; nothing was started"
    for done in (make(*words, f"{name}=2x"), make(*words, **{name: "2x"})):
        assert (done.returncode, done.stdout) == (2, "")
        assert line in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_switch_is_on_for_four_words_only():
    lines = {value: make("run", f"TRACE={value}").stdout for value in ("1", "yes", "on", "true", "0", "false", "")}
    assert [value for value, line in lines.items() if " --trace " in line] == ["1", "yes", "on", "true"]


def test_a_switch_of_two_words_is_refused_and_a_text_of_the_same_name_is_not():
    assert "TRACE=1 1: neither on nor off" in make("run", "TRACE=1 1").stderr
    assert "--resume='07'" in make("sweep", "RESUME=07").stdout
    assert "RESUME=07: neither on nor off" in make("nightly", "RESUME=07").stderr


def test_compare_is_on_unless_a_word_switches_it_off():
    lines = [make("run", f"COMPARE={value}").stdout for value in ("0", "no", "1", "yes", "")]
    assert ["--compare=0" in line for line in lines] == [True, True, False, False, False]


def help_of(*words: str) -> str:
    return subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "python=false", *words],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


@pytest.mark.parametrize(
    "target", [target if target == QUICK else pytest.param(target, marks=pytest.mark.real) for target in TAKES]
)
def test_help_of_a_target_explains_each_of_its_variables_and_starts_nothing(target):
    text = help_of("help", target)
    assert (
        text
        == help_of(target, "HELP=1")
        == help_of(target, "HELP=1", *sorted(f"{name}=$(x)" for name in TAKES[target]))
    )
    first, *lines = text.splitlines()
    assert first.startswith(f"make {target}: ")
    explained = [re.fullmatch(r"  ([A-Z0-9_]+)=.*\S  +\S.*", line)[1] for line in lines if line.startswith("  ")]
    assert explained == TAKES[target]


def test_help_of_an_unknown_target_is_an_error():
    done = subprocess.run(["make", "-C", str(ROOT), "help", "rnu"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "rnu: no such target; make lists them" in done.stderr


def test_help_in_the_environment_changes_nothing(argv):
    assert argv("run", {"HELP": "1"}, from_environment=True) == argv("run", {})
    assert argv("run", {"HELP": "0"}) == argv("run", {})


@pytest.mark.parametrize("name", ["PYTHON", "CHROME", "JAVA_HOME", "JMETER_HOME", "AWS_REGION", "NO_COLOR"])
def test_environment_variables_of_the_scripts_are_accepted_by_make(name, argv):
    assert argv("run", {name: "value"}) == argv("run", {})


def test_messages_to_make_users_name_variables(monkeypatch):
    from harness.program import with_variables

    text = "not comparable; compare others, or pass --anyway; --base and --new; --anyway-not; --figures-only"
    assert with_variables(text) == text
    monkeypatch.setenv("MAKE_VARIABLES", "BASE NEW ANYWAY FIGURES_ONLY")
    assert with_variables(text) == (
        "not comparable; compare others, or pass ANYWAY=1; BASE and NEW; --anyway-not; FIGURES_ONLY=1"
    )


@pytest.mark.real
def test_the_error_for_incomparable_runs_names_the_make_variable(tmp_path):
    from tests.support.report_folder import add_run

    add_run(tmp_path, "tiny/run-01_1", users=2)
    add_run(tmp_path, "tiny/run-01_2", users=9)
    done = subprocess.run(
        ["make", "-C", str(ROOT), "--no-print-directory", "compare", "BASE=run-01_1", "NEW=run-01_2",
         f"REPORTS={tmp_path}"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "or pass ANYWAY=1\n" in done.stderr


def test_a_make_that_is_called_by_a_script_gets_no_variables(tmp_path):
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nmake -C "{ROOT}" --no-print-directory -n ls >"{tmp_path}/inner" 2>&1\n')
    fake.chmod(0o755)
    subprocess.run(["make", "-C", str(ROOT), f"python={fake}", "run", "USERS=3"], capture_output=True, check=True)
    assert (tmp_path / "inner").read_text().startswith("scripts/python aggregate.py ls")
