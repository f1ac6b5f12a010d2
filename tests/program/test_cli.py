"""The table of verbs: every entry can be called, and a verb imports only what it needs."""

import importlib
import re
import subprocess
import sys
from functools import partial

import pytest

from harness import __version__
from harness.base import log
from harness.base.errors import UsageError
from harness.cli import completion
from harness.cli import verbs as cli
from harness.cli.options import OPTIONS
from harness.cli.spelling import spelled_for
from tests.support.paths import ROOT
from tests.support.report_folder import add_run


@pytest.mark.parametrize("name", [*cli.VERBS, *cli.DEVELOPMENT])
def test_every_verb_of_the_table_has_options_and_a_description(name):
    module = importlib.import_module(cli._module((cli.VERBS.get(name) or cli.DEVELOPMENT[name]).module).__name__)
    assert cli.parser_of(name).description
    assert callable(module.run)


def test_every_python_script_is_a_verb():
    texts = {path.name: path.read_text() for path in (ROOT / "scripts").iterdir()}
    python = {name for name, text in texts.items() if "harness.cli.entry" in text} - {"lth"}
    assert python <= {*cli.VERBS, *cli.ALIASES, *cli.DEVELOPMENT}


@pytest.mark.parametrize("verb", cli.VERBS)
def test_no_two_options_of_a_verb_have_the_same_spelling_and_none_is_declared_elsewhere(verb):
    known = {key.partition("/")[0] for key in OPTIONS} | {
        other for option in OPTIONS.values() for other in option.other
    }
    flags = [flag for action in cli.parser_of(verb)._actions for flag in action.option_strings]
    assert len(flags) == len(set(flags))
    assert {flag[2:] for flag in flags if flag.startswith("--")} - {"help"} <= known


def test_every_option_is_used_by_a_verb():
    used = set()
    for verb in [*cli.VERBS, *cli.DEVELOPMENT]:
        used |= {(action.help, action.metavar) for action in cli.parser_of(verb)._actions}
    helps = {text for text, _ in used}
    assert [key for key, option in OPTIONS.items() if option.help not in helps] == []


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_completion_is_valid_shell(shell):
    done = subprocess.run(["bash", "-n"], input=getattr(completion, shell)(), text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_bash_completes_verbs_and_options():
    script = completion.bash() + "COMP_WORDS=(lth run --us); COMP_CWORD=2; _lth; echo ${COMPREPLY[@]}; "
    script += "COMP_WORDS=(lth ov); COMP_CWORD=1; _lth; echo ${COMPREPLY[@]}"
    done = subprocess.run(["bash", "-c", script], text=True, capture_output=True, check=True)
    assert done.stdout.splitlines() == ["--users", "overload"]


@pytest.mark.parametrize(
    ("program", "words", "name"),
    [
        ("lth", ["sweep"], "sweep"), ("aggregate.py", ["sweep"], "sweep_report"), ("lth", ["capacity"], "sweep"),
        ("scripts/capacity", [], "sweep"), ("lth", ["s3", "push"], "storage"),
        ("lth", ["publish", "comment"], "comment"),
        ("aggregate.py", ["ab"], "experiment_report"), ("lth", ["pin"], "pin"), ("lth", ["baseline"], "pin"),
    ],
)  # fmt: skip
def test_older_and_longer_names_are_the_same_verbs(program, words, name, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*words, "--help"], program)
    assert ended.value.code == 0
    usage = capsys.readouterr().out
    assert importlib.import_module(f"harness.commands.{name}").__doc__
    module = cli.VERBS[
        cli.OF_AGGREGATE.get(words[0], words[0]) if program == cli.AGGREGATE else _target(program, words)
    ]
    assert module.module == name
    assert usage.startswith("usage: ")


def _target(program, words):
    word = program.removeprefix("scripts/") if program.startswith("scripts/") else words[-1]
    return cli.ALIASES.get(word, (word,))[0]


@pytest.mark.real
def test_a_table_imports_no_package_that_it_does_not_need(tmp_path):
    code = "import sys; from harness.cli.verbs import main; main(['table', sys.argv[1], '--format', 'csv'])\n"
    code += "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    samples = tmp_path / "samples.jtl"
    samples.write_text("timeStamp,elapsed,label,success\n1700000000000,5,Buy,true\n")
    done = subprocess.run([sys.executable, "-c", code, samples], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert loaded & {"harness", "pandas", "numpy", "scipy", "boto3", "jinja2", "rich", "markdown_it"} == {"harness"}


@pytest.mark.real
def test_a_list_of_runs_imports_nothing_that_only_a_report_or_a_start_needs(tmp_path):
    add_run(tmp_path, "tiny/run-01_1")
    code = "import sys; from harness.cli.verbs import main; main(['list', '--reports', sys.argv[1]])\n"
    code += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "run-01_1" in done.stdout
    loaded = set(done.stderr.splitlines()[-1].split())
    slow = {
        "system.system",
        "system.heap",
        "cloudwatch.points",
        "plan.plan",
        "plan.spec",
        "report.files",
        "run.context",
    }
    assert not {"pandas", "numpy", "scipy", "boto3", "psutil", *(f"harness.{name}" for name in slow)} & loaded


@pytest.mark.real
@pytest.mark.parametrize(
    ("verb", "counts"), [("report", "harness.run.counted"), ("table", "harness.metrics.counter_process")]
)
def test_samples_can_be_counted_before_what_writes_the_numbers_is_loaded(verb, counts):
    code = f"import sys, harness.cli.verbs, harness.commands.{verb}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert counts in loaded
    late = {"report.files", "report.summary", "report.summarise", "report.verdict", "plan.plan", "compare.result"}
    assert not {"jinja2", *(f"harness.{name}" for name in late)} & loaded


@pytest.mark.real
def test_a_run_holds_nothing_while_it_waits_that_only_systems_and_statistics_need():
    code = "import sys, harness.commands.run, harness.run.jmeter.progress; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stdout.split())
    assert {"harness.run.measure", "psutil", "rich"} <= loaded
    assert not {"jinja2", "pandas", "numpy", "scipy", "boto3", "mcp", "markdown_it"} & loaded


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        ("scripts/run", ("--plan=killbill-stripe", "--note=caf\udce9"), r"--note=caf\xe9"),
        ("scripts/run", ("--plan=killbill-stripe", "--properties", "amount=\udcff"), r"amount=\xff"),
        ("scripts/sweep", ("--plan=\udcff",), r"--plan=\xff"),
        ("scripts/run", ("--reports=/tmp/a\udcff",), r"--reports=/tmp/a\xff"),
        ("aggregate.py", ("accept", "--since=2026-01-01", "--plan=x", "--reason=\udcff"), r"--reason=\xff"),
        ("aggregate.py", ("compare", "no-run\udcff", "run-01_1"), r"no-run\xff"),
    ],
)
def test_a_text_that_is_not_utf_8_is_refused_before_anything_is_written(program, options, message):
    with pytest.raises(UsageError) as raised:
        cli.check(options, program) if program != "aggregate.py" else cli.main(options, program)
    assert str(raised.value) == f"{message}: not UTF-8 text; type it in a terminal that uses UTF-8"


def test_a_file_whose_name_is_not_utf_8_is_read(tmp_path, capsys):
    samples = tmp_path / "caf\udce9.jtl"
    samples.write_text("timeStamp,elapsed,label,success\n1700000000000,5,Buy,true\n")
    assert cli.main(["table", str(samples)]) == 0
    assert "| Buy | 1 |" in capsys.readouterr().out


def test_the_version_has_the_commit(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert re.fullmatch(rf"load-test-harness {__version__} \(commit [0-9a-f]{{10}}\)\n", capsys.readouterr().out)


def test_the_list_of_verbs_begins_with_those_to_learn_first(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([], "lth")
    assert ended.value.code == 0
    first = capsys.readouterr().out.partition("First:\n")[2].partition("\n\n")[0]
    assert [line.split()[0] for line in first.splitlines()] == ["init", "check", "run", "sweep", "compare", "nightly"]


@pytest.mark.parametrize("program", ["lth", "make"])
def test_help_explains_a_reason_of_doubtful(program, monkeypatch, capsys):
    monkeypatch.setattr(log, "_spell", partial(spelled_for, program))
    with pytest.raises(SystemExit, match="0"):
        cli.main(["help", "too-short"], program)
    text = capsys.readouterr().out
    assert text.startswith("too-short\n\nSeen. Less than 50 s are left")
    assert ("--duration=1m" in text, "DURATION=1m" in text) == (program == "lth", program == "make")
    assert max(map(len, text.splitlines())) <= 80
    with pytest.raises(SystemExit, match="0"):
        cli.main(["help", "doubtful"], program)
    page = capsys.readouterr().out
    assert page.startswith("What DOUBTFUL means, and what to do now\n")
    assert "\nstolen-cpu\n" in page
