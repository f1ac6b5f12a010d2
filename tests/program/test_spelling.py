"""One spelling: texts name commands and options as lth types them, and make reads its own."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.cli import spelling
from harness.cli.spelling import spelled_for
from tests.support.paths import ROOT

# Who names the other programs: what is in a clone, and what earlier versions wrote into reports and records.
NAMED = {"base/project.py", "jtl/readers.py", "report/next_steps.py"}
SUFFIXES = (".py", ".j2", ".js", ".html", ".toml", ".java")
OTHER_PROGRAM = re.compile(r"aggregate\.py|(?<![\w.])scripts/")


@pytest.mark.real
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
        ("lth is missing", "lth is missing"),
    ],
)
def test_a_message_for_make_has_variables_and_commands_of_the_clone(text, make):
    assert spelled_for("make", text) == make


@pytest.fixture(autouse=True)
def _of_clone(monkeypatch):
    """A clone whose user has no lth on the PATH."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(ROOT)


TEXT = "--users: run lth sweep --users=1,2; `lth s3 push` or lth help too-short; lth itself"


@pytest.mark.parametrize("program", ["lth", "scripts/run", "aggregate.py"])
def test_the_commands_of_a_clone_are_spelled_with_its_path_from_here(program, tmp_path, monkeypatch):
    there = "--users: run {0} sweep --users=1,2; `{0} s3 push` or {0} help too-short; lth itself"
    assert spelled_for(program, TEXT) == there.format("scripts/lth")
    monkeypatch.chdir(tmp_path)
    assert spelled_for(program, TEXT) == there.format(ROOT / "scripts/lth")


@pytest.mark.parametrize("program", ["lth", "scripts/run", "aggregate.py"])
def test_who_has_lth_reads_lth(program, tmp_path, monkeypatch):
    (tmp_path / "lth").symlink_to(ROOT / "scripts" / "lth")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path), prepend=":")
        assert spelled_for(program, TEXT) == TEXT
    monkeypatch.setattr(spelling, "CHECKOUT", None)
    assert spelled_for(program, TEXT) == TEXT


@pytest.mark.real
def test_a_clone_prints_commands_that_can_be_pasted_and_stores_those_of_lth(tmp_path):
    """In the help, in an error, below a table, and after a run that is reported: each is called as it is printed."""
    jtl = tmp_path / "two.jtl"
    rows = "".join(f"{1_700_000_000_000 + 100 * n},{20 + n % 2},Pay,true\n" for n in range(1600))
    jtl.write_text(2 * f"timeStamp,elapsed,label,success\n{rows}")

    def output(*words: str) -> str:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
        return done.stdout + done.stderr

    report = tmp_path / "reports" / "x" / "run-01_1"
    texts = {
        "a table": output("scripts/lth", "table", str(jtl)),
        "a table of make": output("make", "--no-print-directory", "table", f"INPUT={jtl}"),
        "a report": output("./aggregate.py", "report", str(jtl), "--into", str(report)),
        "an error": output("scripts/lth", "shop.jmx"),
        "help": output("./aggregate.py", "bisect", "-h"),
        "help of the tool": output("scripts/lth", "help"),
    }
    printed = {
        name: set(re.findall(r"\S*lth (?:table|run|bisect|compare|help)\b", text)) for name, text in texts.items()
    }
    assert printed["a table"] == printed["a table of make"] == {"scripts/lth table"}
    assert printed["an error"] == {"scripts/lth run"}
    assert printed["help"] == {"scripts/lth bisect"}
    assert printed["help of the tool"] == {f"scripts/lth {verb}" for verb in ("run", "compare", "help")}
    assert [
        name for name, text in texts.items() if re.search(r"(?<![\w/])lth (?:table|run|compare|help|bisect) ", text)
    ] == []
    stored = [path.read_text(encoding="utf-8") for path in report.parent.rglob("*.[mj][ds]*")]
    assert len(stored) >= 2
    assert [text for text in stored if OTHER_PROGRAM.search(text)] == []
    assert output("scripts/lth", "table", "-h").startswith("usage: lth table ")
