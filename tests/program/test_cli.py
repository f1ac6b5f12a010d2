"""The table of verbs: every entry can be called, and a verb imports only what it needs."""

import argparse
import importlib
import shutil
import subprocess
import sys
import tomllib

import pytest

from harness import cli
from harness.base.errors import UsageError
from tests.support.paths import ROOT

COMMANDS = {**cli.VERBS, **cli.SCRIPTS}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_has_options_and_a_description(name):
    module = importlib.import_module(COMMANDS[name].module)
    parser = argparse.ArgumentParser()
    parser.set_defaults(verb=name)
    module.add_arguments(parser)
    assert parser.description
    assert callable(module.run)


def test_every_python_script_is_in_the_table():
    python = {f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir() if "harness.entry" in path.read_text()}
    assert python == set(cli.SCRIPTS)


def test_every_console_script_is_a_program_of_the_table():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    programs = {f"scripts/{name.removeprefix('harness-')}" for name in scripts if name != "harness"}
    assert "harness" in scripts
    assert programs < set(cli.SCRIPTS)


def test_a_console_script_without_its_checkout_is_one_line_that_says_how_to_install_it(tmp_path):
    shutil.copytree(ROOT / "harness" / "base", tmp_path / "harness" / "base")
    for name in ("__init__.py", "entry.py", "program.py"):
        shutil.copy(ROOT / "harness" / name, tmp_path / "harness")
    code = "import sys; sys.argv = ['bin/harness-run']; from harness.entry import console_script; console_script()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    what = f"scripts/run: {tmp_path} is no checkout of the harness; run pip install -e . in a checkout"
    assert (done.returncode, done.stderr) == (2, f"{what}, or its scripts/\n")


def test_a_table_imports_no_package_that_it_does_not_need(tmp_path):
    code = "import sys; from harness.cli import main; main(['table', sys.argv[1], '--format', 'csv'])\n"
    code += "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    samples = tmp_path / "samples.jtl"
    samples.write_text("timeStamp,elapsed,label,success\n1700000000000,5,Buy,true\n")
    done = subprocess.run([sys.executable, "-c", code, samples], capture_output=True, text=True, check=True, cwd=ROOT)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert loaded & {"harness", "pandas", "numpy", "scipy", "boto3", "jinja2", "rich", "markdown_it"} == {"harness"}


def test_a_report_can_count_samples_before_what_writes_it_is_loaded():
    code = "import sys, harness.commands.report; print('harness.run.counted' in sys.modules, *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    counts, *loaded = done.stdout.split()
    assert counts == "True"
    assert not {"harness.report.files", "harness.report.summary", "harness.compare.result", "jinja2"} & {*loaded}


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
        cli.check(options, program) if program != "aggregate.py" else cli.main(options)
    assert str(raised.value) == f"{message}: not UTF-8 text; type it in a terminal that uses UTF-8"


def test_a_file_whose_name_is_not_utf_8_is_read(tmp_path, capsys):
    samples = tmp_path / "caf\udce9.jtl"
    samples.write_text("timeStamp,elapsed,label,success\n1700000000000,5,Buy,true\n")
    assert cli.main(["table", str(samples)]) == 0
    assert "| Buy | 1 |" in capsys.readouterr().out


def test_the_version_is_that_of_the_project(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == "load-test-harness 1.0.0\n"
