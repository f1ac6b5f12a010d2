"""Every command that our texts, examples and next steps name is one: the parser of its verb takes its options."""

import argparse
import ast
import functools
import json
import re
import shlex

import pytest

from harness.base.command import Command
from harness.cli import verbs as cli
from tests.support.every_report import make_reports
from tests.support.paths import ROOT

HARNESS = ROOT / "harness"
SUFFIXES = (".py", ".j2", ".js", ".html", ".toml")
# What stands for a value that is known only when a text is printed.
VALUE = "VALUE"
VERBS = (*cli.VERBS, *cli.ALIASES)
# Other programs are named where makefiles, old reports and the programs themselves are read.
OTHER_PROGRAM = re.compile(rf"aggregate\.py|(?<![\w.])scripts/(?!bench)[a-z]|\bmake (?=(?:{'|'.join(VERBS)})(?![\w-]))")
_COMMAND = re.compile(rf"(?<![\w./-])lth (?:s3 |publish )?({'|'.join(VERBS)})(?![\w-])((?:(?!\blth )[^;()\n`])*)")
_LONG = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")


@functools.cache
def parser_of(verb: str) -> argparse.ArgumentParser:
    return cli.parser_of(cli.ALIASES.get(verb, (verb,))[0], name=verb)


def options_of(verb: str) -> set[str]:
    return {name.lstrip("-") for name in parser_of(verb)._option_string_actions}


def texts_of(path) -> list[str]:
    """Return the texts of a file: of Python its string constants, with VALUE in place of what is put in."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return [re.sub(r"\{\{.*?\}\}|\$\{.*?\}", VALUE, text)]
    nodes = [*ast.walk(ast.parse(text))]
    inner = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    whole = [
        "".join(str(part.value) if isinstance(part, ast.Constant) else VALUE for part in node.values)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
    ]
    single = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in inner]
    return [*whole, *(value for value in single if isinstance(value, str))]


def files():
    return sorted(path for path in HARNESS.rglob("*") if path.suffix in SUFFIXES)


def named_commands() -> set[tuple[str, str, str]]:
    """Return file, verb and the rest of the clause of each command that a text names."""
    return {
        (str(path.relative_to(HARNESS)), match[1], match[2].rstrip())
        for path in files()
        for text in texts_of(path)
        for match in _COMMAND.finditer(text)
    }


@pytest.mark.real
def test_every_option_of_a_command_in_a_text_is_one_of_its_verb():
    commands = named_commands()
    assert len({verb for _, verb, _ in commands}) > 30
    unknown = {
        (file, f"lth {verb}{rest}", name)
        for file, verb, rest in commands
        for name in _LONG.findall(rest)
        if name not in options_of(verb)
    }
    assert unknown == set()


def made_commands() -> list[tuple[str, str, tuple[str, ...]]]:
    """Return file, verb (empty: one that a record stores) and options of each command that is made as a value."""
    found = []
    for path in HARNESS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                names = tuple(word.arg.replace("_", "-") for word in node.keywords if word.arg)
                if name == "Command.of" and isinstance(node.args[0], ast.Constant):
                    found.append((str(path.relative_to(HARNESS)), node.args[0].value, names))
                elif name == "changed_command":
                    found.append((str(path.relative_to(HARNESS)), "", names))
    return found


@pytest.mark.real
def test_every_option_of_a_command_that_is_made_as_a_value_is_one_of_its_verb():
    made = made_commands()
    assert {"ab", "trust", "overload", "capacity", "compare", "bisect"} <= {verb for _, verb, _ in made}
    loads = set().union(*(options_of(verb) for verb in cli.LOADS))
    assert [
        (file, verb, name)
        for file, verb, names in made
        for name in names
        if name not in (options_of(verb) if verb else loads)
    ] == []


def examples() -> list[str]:
    """Return the lines with commands in the help of all verbs and of the tool."""
    texts = [parser_of(verb).epilog or "" for verb in cli.VERBS] + [cli._EPILOG]
    lines = (line for text in texts for line in text.replace("\\\n", "").splitlines())
    return sorted({line.strip() for line in lines if line.startswith("  lth ")})


def commands_of(line: str) -> list[list[str]]:
    """Return the words of each command of a line, without its remark and what does not belong to lth."""
    lexer = shlex.shlex(re.split(r" {2,}(?!-)", line)[0].replace("…", VALUE), posix=True, punctuation_chars="|>&")
    lexer.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|>&"):
            commands.append([])
        else:
            commands[-1].append(word)
    return [words[1:] for words in commands if words[:1] == ["lth"]]


@pytest.mark.parametrize("line", examples())
def test_every_example_of_a_help_text_is_parsed(line, monkeypatch):
    commands = commands_of(line)
    assert commands
    for words in commands:
        assert_parsed(words, monkeypatch)


def assert_parsed(words: list[str], monkeypatch) -> None:
    """Check that the parser of the tool accepts a command, whose plan or experiment need not exist."""
    monkeypatch.setattr(cli, "_complete", lambda *_: None)
    try:
        parsed = cli._parsed(words, "lth")
    except SystemExit:
        pytest.fail(f"not a command: {shlex.join(['lth', *words])}")
    assert parsed.name in VERBS


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_names_only_lth(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([verb, "-h"], "lth")
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: lth {verb} ")
    assert OTHER_PROGRAM.findall(text) == []
    assert re.findall(r"(?<!-)--\w[\w-]* --\w[\w-]*(?=[\]\s])", text.partition("\n\n")[0]) == []


@pytest.mark.parametrize("kind", cli.EXPERIMENTS, ids=lambda kind: kind.key)
def test_the_command_that_resumes_an_experiment_is_parsed(kind, monkeypatch):
    options = {"resume": "01"} if kind.verb == "nightly" else {"plan": "tiny", "resume": "01"}
    command = str(Command.of(kind.verb, **options))
    assert_parsed(shlex.split(command)[1:], monkeypatch)


# What writes a page again and measures nothing.
WRITING = ("report", "experiment", "sweeps", "compare", "history", "release", "summary")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "reports").mkdir()
    make_reports(folder)
    return {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}


@pytest.mark.real
def test_the_first_line_of_a_page_names_the_command_that_writes_it_again(pages, monkeypatch):
    first = {text.partition("; only")[0].partition(" -->")[0] for text in pages.values() if text[:2] == "<!"}
    commands = {line for line in first if "/aggregate.py report" not in line}  # pages that an earlier version stored
    assert len(commands) > 10
    for command in commands:
        program, verb, *words = shlex.split(command.removeprefix("<!-- generated by "))
        assert (program, verb) in {("lth", name) for name in WRITING}, command
        assert_parsed([verb, *words], monkeypatch)


def steps_of(value) -> list[str]:
    """Return the commands of all next steps in a JSON file."""
    if isinstance(value, list):
        return [command for part in value for command in steps_of(part)]
    if not isinstance(value, dict):
        return []
    own = [step["command"] for step in value.get("next_steps", ()) if step.get("command")]
    return own + [command for part in value.values() for command in steps_of(part)]


@pytest.mark.real
def test_every_command_of_a_next_step_is_parsed(pages, monkeypatch):
    written = [path.with_suffix(".json") for path, text in pages.items() if text.startswith("<!-- generated by lth ")]
    commands = {command for path in written if path.is_file() for command in steps_of(json.loads(path.read_text()))}
    assert len({Command.parse(command).verb for command in commands}) >= 3
    for command in commands:
        if command.startswith("make "):  # of a record of an earlier version
            verb = Command.parse(command).verb
            assert set(Command.parse(command).values) <= options_of(verb) | {"level-duration"}, command
        else:
            assert command.startswith("lth "), command
            assert_parsed(shlex.split(command)[1:], monkeypatch)
