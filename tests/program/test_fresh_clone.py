"""What a fresh clone does before it downloads anything."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

WEEKLY = pytest.mark.counterpart

pytestmark = pytest.mark.real
OTHERS = {"bench", "check-otava", "lock", "lth", "python", "setup"}
PROGRAMS = sorted(f"scripts/{path.name}" for path in (ROOT / "scripts").iterdir() if path.name not in OTHERS)


WRONG_SUITE = """format_version = 1
title = "A suite with a plan that does not exist"
budget = "1h"
[[run]]
plan = "nope"
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A checkout without .venv and build/, and a Python without packages."""
    folder = tmp_path_factory.mktemp("fresh") / "clone"
    for name in ("harness", "scripts", "plans", "env", "systems", "jmeter"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("aggregate.py", "Makefile", "loadtest.toml", "pyproject.toml", "requirements.txt"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "env" / "wrong.toml").write_text(WRONG_SUITE)
    return folder


def answer(clone: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the clone with the Python that .venv was made of; fail when it made anything."""
    base = Path(sys.base_prefix) / "bin"
    variables = {
        "PATH": f"{base}:{os.environ['PATH']}",
        "HOME": str(clone),
        "PYTHONPYCACHEPREFIX": str(clone / "pycache"),
        "PIP_NO_INDEX": "1",  # a set-up fails at once
    }
    ended = subprocess.run(
        command.split(), cwd=clone, env=variables, capture_output=True, text=True, timeout=60, check=False
    )
    assert not {".venv", "build", "reports", ".cache"} & {path.name for path in clone.iterdir()}, ended.stderr
    return ended


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("make run USERS=ten", "make run: USERS=ten: not a whole number from 1 to 100000"),
        pytest.param(
            "make run PLAN=nope",
            "make run: PLAN=nope: unknown; there are: folio-checkin",
            marks=WEEKLY,
        ),
        pytest.param("make run PLAN=lb-nginx P90=abc", "make run: P90=abc: not a whole number", marks=WEEKLY),
        pytest.param("make sweep USERS=1,x", "make sweep: USERS=x", marks=WEEKLY),
        pytest.param("make check PLAN=lb-nginx MAX=x", "make check: MAX=x: not a duration", marks=WEEKLY),
        pytest.param(
            "make ab A=local B=x=1 PLAN=nope",
            "make ab: A=local: PLAN=nope: unknown; there are: folio-checkin",
            marks=WEEKLY,
        ),
        pytest.param(
            "make ab A=local B=lokal PLAN=lb-nginx",
            "make ab: B=lokal: neither a profile nor a commit",
            marks=WEEKLY,
        ),
        pytest.param(
            "make ab A=local B=http://127.0.0.1:1 PLAN=lb-nginx USERS=ten",
            "make ab: USERS=ten: not a whole number",
            marks=WEEKLY,
        ),
        pytest.param(
            "make tune PLAN=nope SET=x=1,2",
            "make tune: SET=x=1: PLAN=nope: unknown; there are: folio-checkin",
            marks=WEEKLY,
        ),
        pytest.param("make tune PLAN=lb-nginx SET=x=1,2 ENV=lokal", "ENV=lokal: unknown", marks=WEEKLY),
        pytest.param(
            "make tune PLAN=thruzero SET=page_count=1,2 MAX=soon",
            "make tune: MAX=soon: not a duration",
            marks=WEEKLY,
        ),
        pytest.param(
            "make overload PLAN=nope",
            "make overload: PLAN=nope: unknown; there are: folio-checkin",
            marks=WEEKLY,
        ),
        pytest.param("make overload PLAN=lb-nginx ENV=lokal", "make overload: ENV=lokal: unknown", marks=WEEKLY),
        ("scripts/nightly --suite env/wrong.toml", "scripts/nightly: wrong.toml: nope: --plan=nope: unknown"),
        ("./aggregate.py nope", "aggregate.py: nope: no such verb"),
        pytest.param("./aggregate.py sweep --nope", "aggregate.py: SWEEP is missing", marks=WEEKLY),
    ],
)
def test_a_wrong_value_is_refused_before_anything_is_downloaded(clone, command, message):
    ended = answer(clone, command)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "setup:" not in ended.stderr + ended.stdout


EACH_HELP = """
import contextlib, io, json, runpy, sys
texts = {}
for program in sys.argv[1:]:
    sys.argv = [program, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        runpy.run_path(program, run_name="__main__")
    texts[program] = out.getvalue()
print(json.dumps(texts))
"""


def test_help_needs_no_download(clone):
    """One process runs them all, which is quicker, and one program starts as a user calls it."""
    (clone / "each_help").write_text(EACH_HELP)
    ended = answer(clone, f"python3 each_help {' '.join(PROGRAMS)}")
    assert (ended.returncode, ended.stderr) == (0, "")
    texts = json.loads(ended.stdout)
    assert [program for program in PROGRAMS if not texts[program].startswith(f"usage: {program} ")] == []
    alone = answer(clone, "scripts/nightly --help")
    assert (alone.returncode, alone.stderr, alone.stdout) == (0, "", texts["scripts/nightly"])


@pytest.mark.parametrize(
    "command",
    [
        "scripts/run --help",
        *(pytest.param(one, marks=WEEKLY) for one in ("scripts/run --users ten", "scripts/ab --plan nope --a x=1")),
    ],
)
def test_an_answer_takes_less_than_a_second_of_cpu(clone, command):
    answer(clone, command)  # stores the compiled modules
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer(clone, command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
