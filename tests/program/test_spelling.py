"""One spelling: texts name commands and options as lth types them, and make reads its own."""

import re
from pathlib import Path

import pytest

from harness.cli.spelling import for_make
from tests.support.paths import ROOT

# Who names the other programs: the table of programs and its page, what is in a clone, and what earlier versions wrote.
NAMED = {
    "cli/verbs.py", "cli/program.py", "cli/completion.py", "cli/spelling.py", "base/install/integrity.py",
    "plan/adopt/project_files.py", "jtl/readers.py", "report/next_steps.py",
}  # fmt: skip
SUFFIXES = (".py", ".j2", ".js", ".html", ".toml", ".java")
OTHER_PROGRAM = re.compile(r"aggregate\.py|(?<![\w.])scripts/(?!bench)[a-z]")


def test_no_text_names_a_program_that_an_installed_user_does_not_have():
    harness = ROOT / "harness"
    files = [path for path in harness.rglob("*") if path.suffix in SUFFIXES]
    naming = {str(path.relative_to(harness)) for path in files if OTHER_PROGRAM.search(_without_comments(path))}
    assert naming == NAMED


def _without_comments(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    return re.sub(r"(?m)^\s*# .*$|  # .*$", "", text) if path.suffix == ".py" else text


@pytest.mark.parametrize(
    ("text", "make"),
    [
        ("--users=ten: not a whole number", "USERS=ten: not a whole number"),
        ("leave --html out, or give --anyway", "leave HTML=1 out, or give ANYWAY=1"),
        ("--level-duration=5", "LEVEL_DURATION=5"),
        ("run: lth trust --plan=shop --users=5; or --max=2h", "run: make trust PLAN=shop USERS=5; or MAX=2h"),
        ("pin another run: lth pin", "pin another run: make pin"),
        ("lth init --plan=shop --fix (writes it)", "make init PLAN=shop FIX=1 (writes it)"),
        ("lth init --plan=shop --fix applies them:", "make init PLAN=shop FIX=1 applies them:"),
        ("lth run '--goal=p95<1s, errors<1%' --html", "make run GOAL='p95<1s, errors<1%' HTML=1"),
        ("lth sweep --users 1,2 --repeat 3", "make sweep USERS=1,2 REPEAT=3"),
        ("What it means: lth help too-short", "What it means: make help too-short"),
        ("`lth soak`, --profile", "`make soak`, PROFILE=1"),
        # Make has no arguments without a name, no option twice, and no verb behind which a sentence goes on.
        ("run: lth trust shop --users=5; or give --max=2h", "run: scripts/lth trust shop --users=5; or give MAX=2h"),
        ("lth report tiny/run-01_1", "scripts/lth report tiny/run-01_1"),
        ("lth table --each reports/*/*/samples.jtl", "scripts/lth table --each reports/*/*/samples.jtl"),
        ("lth run --header=A --header=B", "scripts/lth run --header=A --header=B"),
        ("lth check shop -t http://127.0.0.1", "scripts/lth check shop -t http://127.0.0.1"),
        ("an option --of-others=1 and health of lth run", "an option --of-others=1 and health of make run"),
        ("lth compare checks whether", "scripts/lth compare checks whether"),
        ("what's--html is a word", "what's--html is a word"),
    ],
)
def test_a_message_for_make_has_variables_and_commands_of_the_clone(text, make):
    assert for_make(text) == make
