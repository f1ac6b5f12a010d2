"""What CONTRIBUTING says of an addition is done here: it is in all places that the recipe promises, for few edits.

Other recipes: tests/metrics/test_metric.py, tests/site/test_charts_table.py, tests/run/test_recorders.py,
tests/experiment/test_new_kind.py, tests/program/test_add_a_system.py.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

from harness import __version__
from harness.base.errors import UsageError
from harness.base.project import BUILD
from harness.cli import completion, verbs
from harness.cli.options import take
from harness.jtl import readers
from harness.jtl.readers import Reader
from harness.jtl.sample import Sample
from harness.notify.delivery import deliver
from harness.notify.message import CHATS, Message
from harness.notify.recipients import recipients_of
from harness.notify.settings import parse_notify
from harness.run import kinds
from harness.run.directory import json_text
from harness.run.parts import launchers
from harness.run.parts.launchers import Launcher
from harness.run.parts.places import Place
from tests.run.parts.test_hostile_run import HEAD, RELAY
from tests.support.bytecode import share_bytecode
from tests.support.factories import record as run_record
from tests.support.message_servers import chat_server
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.tiny import arguments_of_run, tiny_home

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {part.partition("\n")[0]: part for part in re.split(r"^## (?=Add )", PAGE, flags=re.MULTILINE)[1:]}

# The edits of an option of a run with a value, as the recipe lists them: file, the line before, the new line.
OPTION = (
    (
        "harness/cli/options.py",
        '    "loops": Option(',
        '    "pace": Option("pace of the users", "NAME", of=LOAD),\n',
    ),
    (
        "harness/run/prepare.py",
        '        "dump_dir": DUMP_DIR,\n',
        '        "pace": "".join(spec.options.get("pace", ())),\n',
    ),
    (
        "harness/run/prepare.py",
        "        is_soak=spec.is_soak,\n",
        '        pace="".join(spec.options.get("pace", ())),\n',
    ),
    ("harness/run/record.py", "    is_soak: bool = False\n", '    pace: str = ""\n'),
    (
        "harness/report/setup.py",
        '        ("soak", soak if run.is_soak else None),\n',
        '        ("pace", run.pace or None),\n',
    ),
)


def test_each_recipe_names_the_test_that_follows_it():
    assert len(RECIPES) >= 10
    for title, text in RECIPES.items():
        tests = re.findall(r"`(tests/[\w/]+\.py)`", text)
        assert tests, title
        assert all("\ndef test_" in (ROOT / test).read_text(encoding="utf-8") for test in tests), title


def names_of(source):
    """Return what a module defines: classes, functions, parameters, and what gets a value."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


@pytest.mark.real
def test_each_name_in_a_recipe_is_defined_in_the_file_beside_it_or_in_some_file():
    known = {name for path in (ROOT / "harness").rglob("*.py") for name in names_of(path.read_text(encoding="utf-8"))}
    text = "".join(RECIPES.values())
    named = re.findall(r"`([A-Za-z_]\w*)(?:\([^`]*\))?`", text)
    assert len(named) > 40
    assert set(named) - known == set()
    beside = re.findall(r"`([A-Za-z_]\w*)`(?: \(| in | of | to )`(harness/[\w/]+\.py)`", text)
    assert len(beside) > 10
    for name, path in beside:
        assert name in set(names_of((ROOT / path).read_text(encoding="utf-8"))), path


def test_each_path_with_a_part_to_choose_has_examples():
    paths = {path for text in RECIPES.values() for path in re.findall(r"`(harness/[\w/<>.]*<\w+>[\w/<>.]*)`", text)}
    assert len(paths) >= 3
    for path in paths:
        assert len(list(ROOT.glob(re.sub(r"<\w+>", "*", path.rstrip("/"))))) > 4, path


def test_a_chat_is_one_function_and_one_entry(monkeypatch, capsys):
    monkeypatch.setitem(CHATS, "pigeon", lambda message: {"text": f"coo: {message.title}"})
    with chat_server() as chat:
        settings = parse_notify({"pigeon": "$PIGEON_WEBHOOK"}, "env/x.toml [notify]")
        recipients = recipients_of(settings, {"PIGEON_WEBHOOK": chat.address}, "env/x.toml")
        assert deliver(Message("OK: nothing changed.", (), "page.md"), recipients, print) == ()
    assert chat.texts == ["coo: OK: nothing changed."]
    assert "sent to pigeon" in capsys.readouterr().out
    with pytest.raises(UsageError, match=r"pigeon must name an environment variable.*PIGEON_WEBHOOK"):
        parse_notify({"pigeon": "coo"}, "env/x.toml [notify]")
    with pytest.raises(UsageError, match=r"unknown key pigoen; did you mean pigeon\?"):
        parse_notify({"pigoen": "$X"}, "env/x.toml [notify]")


@pytest.mark.real
def test_a_verb_is_one_module_and_one_entry(monkeypatch, capsys):
    module = ModuleType("harness.commands.weather")

    def add_arguments(parser):
        parser.description = "Print the weather."
        take(parser, "users note")

    module.__dict__.update(add_arguments=add_arguments, run=lambda given: print(f"sun for {given.users}") or 1)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(verbs.VERBS, "weather", verbs.Verb("weather", "what weather is it?", "show"))
    for program in ("lth", "aggregate.py"):
        assert verbs.main(["weather", "--users=3"], program) == 1
        assert capsys.readouterr().out == "sun for 3\n"
    monkeypatch.setenv("MAKEFLAGS", " -- USERS=4")
    assert verbs.main(["weather"], "make") == 1
    assert capsys.readouterr().out == "sun for 4\n"
    for text in (completion.bash(), completion.markdown()):
        assert "weather" in text
    for words in (["help"], ["weather", "-h"]):
        with pytest.raises(SystemExit):
            verbs.main(words, "lth")
    printed = capsys.readouterr().out
    assert "weather        what weather is it?" in printed
    assert "Print the weather." in printed
    assert "--users" in printed


def test_a_reader_is_one_module_and_one_entry(monkeypatch, tmp_path, capsys):
    def read(stream, _name, _dropped, _columns):
        for line in stream.read().decode().splitlines()[1:]:
            start_ms, elapsed_ms = map(int, line.split())
            yield Sample(start_ms, elapsed_ms, "sky", "200", "", "Users 1-1", True, "", 0, 0, 1)

    monkeypatch.setattr(
        readers,
        "READERS",
        (Reader("weather", lambda text: text.startswith(b"WEATHER"), read), *readers.READERS),
    )
    path = tmp_path / "results.txt"
    path.write_text("WEATHER\n" + "".join(f"{1_700_000_000_000 + 100 * n} {20 + n % 2}\n" for n in range(100)))
    assert verbs.main(["table", str(path), "--format=json"]) == 0
    (load,) = json.loads(capsys.readouterr().out)["groups"]
    assert (load["total"]["sample_count"], load["total"]["average_ms"]) == (100, 20.5)
    other = shutil.copy(path, tmp_path / "other.txt")
    other.write_text(other.read_text().replace(" 2", " 3"))
    verbs.main(["compare", str(path), str(other), "--format=json"])
    assert [one["label"] for one in json.loads(capsys.readouterr().out)["labels"]] == ["sky"]


@pytest.mark.real
def test_a_launcher_is_one_function_and_one_entry(run, target, tmp_path, monkeypatch):
    relay, record = tmp_path / "relay.py", tmp_path / "record.json"
    relay.write_text(RELAY)
    record.write_text(json_text(run_record(versions={"jmeter": "5.6.3", "java": "17.0.1"}, other_runs=())))
    variables = {"RECORD": str(record), "HEAD": HEAD, "VERSION": __version__}

    def lab(text, _what):
        places = (f"127.0.0.{number}" for number in text.split("+"))
        return tuple(
            Place(name, (sys.executable, "-S", str(relay), name), is_here=True, environment=variables)
            for name in places
        )

    monkeypatch.setitem(launchers.LAUNCHERS, "lab", Launcher(lab, "lab:4+5"))
    wrong = run("--on=moon:2", f"--target={target}")
    assert (wrong.returncode, "or lab:4+5" in wrong.stderr) == (2, True)
    done = run("--on=lab:4+5", f"--target={target}", "--duration=1", "--compare=0")
    assert done.returncode != 2, done.stdout + done.stderr
    (stored,) = (json.loads(path.read_text()) for path in (tmp_path / "reports" / "tiny").glob("run-*/run.json"))
    assert [one["name"] for one in stored["generators"]] == ["127.0.0.4", "127.0.0.5"], done.stdout + done.stderr


def test_an_option_of_a_run_edits_at_most_five_files_of_harness():
    assert len({file for file, *_ in OPTION}) <= 5


@pytest.mark.real
def test_an_option_of_a_run_is_in_every_verb_acts_and_is_in_the_report(tmp_path):
    copy = tmp_path / "copy"
    names = ("harness", "scripts", "jmeter", "requirements", "requirements.txt", "pyproject.toml", "tests/support")
    for name in names:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy2)(ROOT / name, copy / name)
    for file, before, line in OPTION:
        text = (copy / file).read_text(encoding="utf-8")
        assert text.count(before) == 1, (file, before)
        new = line + before if before.endswith("(") else before + line
        (copy / file).write_text(text.replace(before, new), encoding="utf-8")
    (copy / ".venv").symlink_to(sys.prefix)
    (copy / "build").mkdir()
    for name in ("connections", "counter", "sampler"):
        (copy / "build" / name).symlink_to(BUILD / name)
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ, **share_bytecode(copy), "JMETER_HOME": str(FAKE_JMETER), "FAKE_JMETER": "works",
        "TMPDIR": str(tmp_path / "tmp"),
    }  # fmt: skip
    loads = [verb for verb in verbs.LOADS if verb not in ("check", "nightly")]
    program = "from harness.cli import verbs\n" + "\n".join(
        f"print({verb!r}, '--pace' in verbs.parser_of({verbs.ALIASES.get(verb, (verb,))[0]!r}).format_help())"
        for verb in loads
    )
    told = subprocess.run(
        [sys.executable, "-c", program], cwd=copy, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert told.splitlines() == [f"{verb} True" for verb in loads]
    for verb, users in (("run", "1"), ("sweep", "1,2")):
        given = (f"--users={users}", "--duration=1", "--pace=slow", *(["--warmup=0"] if verb == "sweep" else []))
        if not (tmp_path / "home").exists():
            tiny_home(tmp_path)
        arguments = arguments_of_run(tmp_path / "home", tmp_path, given)
        done = subprocess.run(
            [sys.executable, "harness/__main__.py", verb, *arguments],
            cwd=copy, env=environment, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        run = tmp_path / "reports" / "tiny" / ("run-01_1" if verb == "run" else "run-02_2")
        assert run.is_dir(), done.stdout + done.stderr
        stored = json.loads((run / "run.json").read_text())
        assert (stored["pace"], stored["properties"]["pace"]) == ("slow", "slow")
        assert "\n- pace: slow\n" in run.with_suffix(".md").read_text()


@pytest.mark.real
def test_a_kind_of_experiment_edits_at_most_four_files_beside_its_own():
    edited = {kind.verb: {"harness/run/kinds.py"} for kind in kinds.EXPERIMENTS}
    for path in (ROOT / "harness").rglob("*.py"):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        for verb in [verb for verb in edited if f'"{verb}"' in text]:
            own = ("harness/sweep/", f"harness/kinds/{verb}/", f"harness/commands/{verb}.py")
            if not name.startswith(own) and _has_entry(ast.parse(text), verb):
                edited[verb].add(name)
    assert {
        verb: files for verb, files in edited.items() if len(files) > 4 or "harness/cli/verbs.py" not in files
    } == {}


def _has_entry(tree, verb):
    """Whether a table of a module has an entry of the verb: a key of a dict, or a word of a tuple."""
    for node in tree.body:
        value = getattr(node, "value", None)
        words = [*value.keys] if isinstance(value, ast.Dict) else value.elts if isinstance(value, ast.Tuple) else []
        if any(isinstance(word, ast.Constant) and word.value == verb for word in words):
            return True
    return False
