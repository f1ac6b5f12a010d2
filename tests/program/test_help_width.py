"""What `make`, `lth` and their help print in a window of 80 columns: no line is longer, and no word is cut."""

import re
import shlex

import pytest

from harness.cli import verbs as cli
from harness.cli.help_text import HelpFormatter

CALLS = [
    *((program, words) for program in (cli.LTH, cli.MAKE) for words in ([], ["help"], ["help", "all"])),
    *((cli.LTH, [verb, "-h"]) for verb in [*cli.VERBS, *cli.ALIASES, *cli.DEVELOPMENT]),
    *((cli.MAKE, ["help", verb]) for verb in cli.VERBS),
    *((cli.AGGREGATE, words) for words in (["-h"], *([verb, "-h"] for verb in cli.OF_AGGREGATE))),
]


def printed(program, words, capsys, monkeypatch, columns=80):
    """Return what a call prints in a window of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as ended:
        cli.main(words, program)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.real
@pytest.mark.parametrize(
    ("program", "words"), CALLS, ids=lambda part: part if isinstance(part, str) else " ".join(part)
)
def test_no_line_is_longer_than_80_columns_and_no_word_is_cut(program, words, capsys, monkeypatch):
    lines = printed(program, words, capsys, monkeypatch).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    # In a window in which nothing is wrapped the same words are printed.
    wide = printed(program, words, capsys, monkeypatch, columns=100)
    known = {*re.split(r"[\s\[\]]+", wide)}
    assert {*re.split(r"[\s\[\]]+", "\n".join(lines))} - known <= {"\\"}


def formatted(text, columns, monkeypatch):
    """Return the lines of a text as the epilog of a parser in a window of so many columns."""
    monkeypatch.setenv("COLUMNS", str(columns))
    formatter = HelpFormatter("lth")
    formatter.add_text(text)
    return formatter.format_help().rstrip("\n").splitlines()


def test_remarks_are_in_one_column_and_those_of_long_commands_below(monkeypatch):
    text = "\n".join(
        (
            "examples:",
            "  lth run   the default load of the plan of this project",
            "  lth run shop -u 5  five users",
            "  lth run shop --target http://127.0.0.1:8080  a system that runs",
        )
    )
    assert formatted(text, 54, monkeypatch) == [
        "examples:",
        "  lth run            the default load of the plan of",
        "                     this project",
        "  lth run shop -u 5  five users",
        "  lth run shop --target http://127.0.0.1:8080",
        "                     a system that runs",
    ]


def test_a_long_command_can_be_pasted(monkeypatch):
    command = "lth run shop --goal 'p95<1500, errors<1%, Pay: p99<3s' --stop 'errors>50% for 10s' --sure"
    lines = formatted(f"  {command}", 60, monkeypatch)
    assert lines == [
        "  lth run shop --goal 'p95<1500, errors<1%, Pay: p99<3s' \\",
        "      --stop 'errors>50% for 10s' --sure",
    ]
    assert shlex.split("\n".join(lines).replace("\\\n", "")) == shlex.split(command)


def test_text_breaks_neither_in_an_option_nor_in_a_path(monkeypatch):
    lines = formatted("Give --level-duration or read docs/long-page-of-the-docs.md about it.", 24, monkeypatch)
    assert lines == ["Give --level-duration", "or read", "docs/long-page-of-the-docs.md", "about it."]
