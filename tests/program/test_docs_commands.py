"""Every command of README.md and docs/: the parser takes it, and one that needs no load runs in a project made here."""

import re
import shlex
from collections import Counter

import pytest

from harness.base.errors import UsageError
from harness.base.project import current_project
from harness.cli import verbs as cli
from tests.program.test_docs import DOCS, name_of
from tests.support.commands import command
from tests.support.releases import save_release
from tests.support.report_folder import add_run

VERBS = {*cli.VERBS, *cli.ALIASES}
# What they need instead, if they are only parsed here; those with a load are started in test_docs_loads.py.
NEEDS = {
    "a load": {*cli.LOADS, "capacity", "system", "gui", "record", "init"},
    "AWS, a forge, a chat or a download": {"push", "pull", "ls", "metrics", "comment", "notify", "setup", "mcp"},
    "stored experiments or recordings": {"experiment", "release", "heap", "profile", "accept", "diff", "doctor"},
}
PLACEHOLDER = re.compile(r"…|<[a-z]+>|\b[A-Z]+/|/SWEEP|s3://|\bFILE\b|\bVERB\b|\bTOPIC\b|\bNAME\b|\$|\*/\*")
FENCE = re.compile(r"^ *```(?:sh|bash)?\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"(?<!`)`(lth [^`\n]+)`")
FILES = ("samples.jtl", "gen1.jtl", "gen2.jtl", "A.jtl", "B.jtl")


def commands_of(page):
    text = page.read_text(encoding="utf-8")
    lines = [line.strip() for block in FENCE.findall(text) for line in block.splitlines()]
    found = [line for line in lines if line.startswith("lth ")] + INLINE.findall(FENCE.sub("", text))
    return [re.split(r" {2,}#| # |;| \| | > ", line)[0].strip() for line in found]


COMMANDS = [(name_of(page), text) for page in DOCS for text in dict.fromkeys(commands_of(page))]


def words_of(text):
    words = shlex.split(text.replace("\\n", " "))[1:]
    return words[1:] if words[:1] and words[0] in cli.PREFIXES else words


@pytest.mark.real
def test_every_command_of_the_documentation_is_one_that_the_parser_takes():
    wrong = []
    for page, text in COMMANDS:
        words = words_of(text)
        if not words or words[0] in ("help", "-h", "--version") or not words[0].islower():
            continue
        if words[0] not in VERBS:
            wrong.append(f"{page}: {text}: no such verb")
            continue
        if len(words) == 1 or "-h" in words:  # `lth ab` in a sentence
            continue
        parser = cli.parser_of(cli.ALIASES.get(words[0], (words[0],))[0], name=words[0])
        for action in parser._actions:
            action.required, action.choices = False, None
            action.nargs = "*" if not action.option_strings and action.nargs is None else action.nargs
        try:
            parser.parse_intermixed_args(words[1:])
        except (UsageError, TypeError) as error:
            if "expected one argument" in str(error):  # an option that a sentence names without its value
                continue
            wrong.append(f"{page}: {text}: {error}")
    assert not wrong, "\n".join(wrong)
    assert len(COMMANDS) > 200


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project with the runs, sweeps and files that the pages name."""
    folder = tmp_path_factory.mktemp("shop")
    reports = folder / "reports"
    (folder / "loadtest.toml").write_text('format_version = 1\nplan = "shop"\n')
    for plan in ("shop", "killbill-stripe"):
        for number, name in enumerate(("01_1", "01_2", "07_1", "07_2", "09_3"), start=1):
            add_run(reports, f"{plan}/run-{name}", started_at=f"2026-11-{number:02}T00:00:00Z", elapsed_ms=100 + number)
        for number in range(1, 6):
            for series in ("02", "03", "08"):
                day = f"2026-11-1{number}T0{series[1]}:00:00Z"
                add_run(reports, f"{plan}/run-{series}_{number}", started_at=day, elapsed_ms=120 + number)
    for number in ("01", "02"):
        save_release(reports, number)
    for kind in ("ab", "nightly"):
        add_run(reports / kind, "killbill-stripe/run-01_1", users=10, started_at="2026-11-21T00:00:00Z")
    for number, name in enumerate(FILES):  # of different samples: none counts twice
        other = add_run(folder / "files", f"shop/run-01_{number + 1}", began_ms=1_700_000_000_000 + 10**6 * number)
        (folder / name).write_text(other.samples.read_text())
    return folder


@pytest.mark.real
def test_every_command_that_needs_no_load_runs_in_a_project(project, monkeypatch):
    """Those with a placeholder, and those that need more, are counted: see the printed line."""
    monkeypatch.chdir(project)
    current_project.cache_clear()
    wrong, count = [], Counter()
    for page, text in COMMANDS:
        words = words_of(text)
        why = next((why for why, verbs in NEEDS.items() if words and words[0] in verbs), "")
        if not words or PLACEHOLDER.search(text):
            why = "a placeholder"
        elif len(words) == 1 and words[0] in ("table", "tally", "compare", "export", "report", "sweeps", "completion"):
            why = "a verb in a sentence"
        elif any(
            ("/" in word or word.endswith((".md", ".csv", ".gz", ".json")))
            and not (project / word).exists()
            and not (project / "reports" / f"{word}.json").exists()
            for word in words[1:]
            if word[:1] != "-"
        ):
            why = "files of others"
        count[why or "run"] += 1
        if why:
            continue
        done = command("lth", *words, DISPLAY="", WAYLAND_DISPLAY="", BROWSER="")
        if done.returncode not in (0, 1, 3):
            wrong.append(f"{page}: {text}: {done.returncode} {done.stderr.strip()}")
    current_project.cache_clear()
    print(dict(count))
    assert not wrong, "\n".join(wrong)
    assert count["run"] >= 25
