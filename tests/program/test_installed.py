"""The tool as a team installs it: a wheel, and a service repository with a load test of its own."""

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from harness import __version__
from harness.cli.verbs import ALIASES, VERBS
from tests.support.local_server import serving
from tests.support.paths import FAKE_JMETER, ROOT
from tests.support.tiny import TINY_PROFILE, TINY_SYSTEM

pytestmark = pytest.mark.real
LOAD = """format_version = 1
title = "The shop"
shape = "shop.jmx"
system = "shop"
[load]
users = 2
duration_s = 3
[goal]
error_ratio = 0.01
"""
SUITE = 'format_version = 1\ntitle = "Nightly"\nbudget = "5m"\nrepeats = 1\n[[run]]\nplan = "shop"\n'
CI = "script:\n  - pipx install load-test-harness\n  - lth run shop -d 3 --sure\n"


EACH_HELP = """
import contextlib, io, json, sys
from harness.cli import entry
texts = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["lth", *words]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        entry.code_of("lth")
    texts.append(out.getvalue())
print(json.dumps(texts))
"""


@pytest.fixture(scope="module")
def lth(tmp_path_factory):
    """Return `lth` of a wheel that is installed beside the packages of .venv, with the JMeter that is built already."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    names = ("harness", "plans", "env", "systems", "jmeter", "docs", "requirements")
    for name in names:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (
        *ROOT.glob("*.txt"),
        *(ROOT / name for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE")),
    ):
        shutil.copy(path, source)
    pip = [sys.executable, "-m", "venv", str(folder / "venv")]
    subprocess.run(pip, check=True)
    python = folder / "venv" / "bin" / "python"
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    (packages / "venv-of-the-checkout.pth").write_text(sysconfig.get_path("purelib") + "\n")
    options = ["--quiet", "--no-compile", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([python, "-m", "pip", "install", *options, str(source)], check=True)
    cache = folder / "cache" / "load-test-harness" / __version__
    cache.mkdir(parents=True)
    for name in ("jmeter", "connections", "counter", "sampler", "site-charts"):
        if (ROOT / "build" / name).is_dir():  # Java's class data know the paths of both
            (cache / name).symlink_to(ROOT / "build" / name)
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder), "HARNESS_RUN_ID": ""}
    variables.pop("PYTHONPATH", None)

    def run(here: Path, *words: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        command = [folder / "venv" / "bin" / "lth", *words]
        done = subprocess.run(
            command, cwd=here, env={**variables, **more}, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    run.packages, run.python = packages / "harness", python
    return run


def digest(folder: Path) -> str:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return hashlib.sha256(b"".join(str(path).encode() + path.read_bytes() for path in files)).hexdigest()


def git(here: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(here), *identity, *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def service(tmp_path_factory, lth):
    """A repository of a service: its code, its load test with a system manifest, and its CI file; two commits."""
    here = tmp_path_factory.mktemp("shop")
    load = here / "load"
    (load / "systems" / "shop").mkdir(parents=True)
    (load / "env").mkdir()
    (here / ".gitlab-ci.yml").write_text(CI)
    (load / "systems" / "shop" / "system.toml").write_text(TINY_SYSTEM)
    (load / "env" / "local.toml").write_text(TINY_PROFILE)
    (load / "env" / "nightly.toml").write_text(SUITE)
    lth(load, "init", "--plan", "shop")
    (load / "plans" / "shop.toml").write_text(LOAD)
    git(here, "init", "-q")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "one")
    (here / "code.txt").write_text("two")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "two")
    return load


def test_init_makes_a_project_of_three_files_and_a_gitignore(lth, tmp_path):
    here = tmp_path / "shop"
    here.mkdir()
    lth(here, "init")
    files = {str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()}
    assert files == {"loadtest.toml", ".gitignore", "plans/shop.jmx", "plans/shop.toml"}
    assert "lth check --plan=shop" in lth(here, "init", "http://127.0.0.1:8080/cart?x=1", "--plan=cart").stdout + (
        "lth check --plan=shop"
    )
    assert "/cart?x=1</stringProp>" in (here / "plans" / "cart.jmx").read_text()
    again = lth(here, "init", code=2)
    assert again.stderr.startswith("lth init: loadtest.toml exists: this is a project; lth init shop.jmx adds a plan")


# The other runs have a JMeter that answers at once: they take long, and the real one ran before.
FAKE = {"JMETER_HOME": str(FAKE_JMETER)}


def changed_folders(service):
    """The folders in which git sees changes."""
    changed = subprocess.run(["git", "-C", service, "status", "--porcelain"], capture_output=True, text=True).stdout
    return {line.split()[1].partition("/")[2].partition("/")[0] for line in changed.splitlines()}


@pytest.mark.counterpart
def test_runs_of_a_service_repository_are_compared_and_change_nothing_of_the_tool(lth, service):
    before = digest(lth.packages)
    first = lth(service, "run", "-u", "2", "-d", "3")
    assert "shop/run-01_1" in first.stdout
    report = json.loads((service / "reports" / "shop" / "run-01_1.json").read_text())
    assert report["run"]["command"].startswith("lth run --plan=shop")
    (short,) = [one["text"] for one in report["caveats"] if one["code"] == "too-short"]
    assert re.search(r"Run again with --duration=\d+s\.", short)
    lth(service / "plans", "run", "shop", "-d", "1", **FAKE)  # from a folder below
    assert "run-01_2" in lth(service, "compare", "run-01_1", "run-01_2", "--anyway").stdout
    assert digest(lth.packages) == before
    assert changed_folders(service) <= {"reports"}


@pytest.mark.counterpart
def test_every_command_works_in_a_service_repository_and_changes_nothing_of_the_tool(lth, service):
    before = digest(lth.packages)
    assert "1 request, 0 failed" in lth(service, "check").stdout
    lth(service, "run", "-d", "1", **FAKE)
    lth(service, "sweep", "--users=1,2", "-d", "1", "--warmup=0", **FAKE)
    assert (service / "reports" / "shop" / "sweep-02.md").is_file()
    lth(service, "ab", "--a=HEAD~1", "--b=HEAD", "-d", "1", "--max=2m", **FAKE)
    assert (service / "reports" / "ab" / "shop" / "ab-01.md").is_file()
    lth(service, "nightly", **FAKE)
    assert list((service / "reports" / "nightly").glob("20*.md"))
    lth(service, "history", "--plan=shop")
    lth(service, "summary")
    lth(service, "site", "-o", "site")
    assert (service / "site" / "index.html").is_file()
    lth(service, "baseline", "run-01_1")
    lth(service, "report", "run-01_1", "--html")
    assert digest(lth.packages) == before
    assert changed_folders(service) <= {"reports", "site"}


def test_a_shipped_plan_is_known_in_an_empty_folder(lth, tmp_path):
    done = lth(tmp_path, "run", "lb-ngin", code=2)
    assert re.match(r"lth run: --plan=lb-ngin: unknown; did you mean lb-nginx\? there are: ", done.stderr)
    assert "--plan is missing; give --plan=lb-nginx" in lth(tmp_path, "run", code=2).stderr


class Items(BaseHTTPRequestHandler):
    """Answers only with the token."""

    def do_GET(self):
        self.send_response(200 if self.headers["Authorization"] == "Bearer token-of-today" else 401)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.counterpart
def test_an_address_runs_in_an_empty_folder_and_the_stored_command_repeats_the_run(lth, tmp_path):
    with serving(Items) as port:
        words = [f"http://127.0.0.1:{port}/api/items?q=1", "-H", "Authorization: Bearer $ITEMS_TOKEN"]
        assert "1 request, 0 failed" in lth(tmp_path, "check", *words, ITEMS_TOKEN="token-of-today").stdout
        lth(tmp_path, "run", *words, "-u", "1", "--loops=2", ITEMS_TOKEN="token-of-today")
        assert {path.name for path in tmp_path.iterdir()} == {"reports"}
        reports = tmp_path / "reports" / "127.0.0.1-api-items"
        command = shlex.split(json.loads((reports / "run-01_1.json").read_text())["run"]["command"])
        lth(tmp_path, *command[1:], ITEMS_TOKEN="token-of-today")
    assert command[:2] == ["lth", "run"]
    assert (reports / "run-01_2" / "effective.jmx").is_file()
    assert (
        "shop.example.org is not this machine" in lth(tmp_path, "run", "https://shop.example.org/items", code=2).stderr
    )


def test_tables_need_no_cache_and_work_in_a_home_that_cannot_be_written(lth, tmp_path):
    (tmp_path / "samples.jtl").write_text("timeStamp,elapsed,label,success\n1700000000000,5,Pay,true\n")
    done = lth(tmp_path, "table", "samples.jtl", HOME="/proc/none", XDG_CACHE_HOME="/proc/none")
    assert "| Pay | 1 |" in done.stdout
    assert "load-test-harness" in lth(tmp_path, "--version", HOME="/proc/none", XDG_CACHE_HOME="/proc/none").stdout


@pytest.mark.counterpart
def test_the_help_of_every_verb_names_only_lth(lth, tmp_path):
    """One process of the installed Python prints them all: starting it 45 times takes 15 s of CPU."""
    verbs = [*VERBS, *ALIASES]
    calls = [*([verb, "-h"] for verb in verbs), ["help", "all"], ["help", "doubtful"]]
    done = subprocess.run(
        [lth.python, "-c", EACH_HELP, json.dumps(calls)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    texts = json.loads(done.stdout)
    assert texts[0] == lth(tmp_path, *calls[0]).stdout
    other = re.compile(rf"aggregate\.py|(?<![\w.])scripts/|\bmake (?=(?:{'|'.join(verbs)})(?![\w-]))")
    assert [text[:30] for verb, text in zip(verbs, texts, strict=False) if f"usage: lth {verb} " not in text] == []
    assert [found[0] for text in texts for found in other.finditer(text)] == []


def test_help_explains_why_a_run_is_doubtful_and_prints_every_page(lth, tmp_path):
    assert lth(tmp_path, "help", "stolen-cpu").stdout.startswith("stolen-cpu\n\nSeen. The hypervisor")
    assert lth(tmp_path, "help", "goals").stdout.startswith("GOALS\n\nA goal limits a metric")
    shipped = {path.name for path in (lth.packages / "shipped" / "docs").iterdir()}
    assert shipped == {path.name for path in (ROOT / "docs").glob("*.md")}


def test_a_run_says_that_the_cache_cannot_be_written(lth, tmp_path):
    done = lth(tmp_path, "run", "lb-nginx", HOME="/proc/none", XDG_CACHE_HOME="/proc/none", code=2)
    assert len(done.stderr.splitlines()) == 1
    assert "/proc/none" in done.stderr


def test_an_optional_package_that_is_missing_says_how_to_add_it(lth, tmp_path):
    code = "import sys; sys.modules['pyarrow'] = None; from harness.base.install import python_packages as p\n"
    code += "p.importlib.util.find_spec = lambda name: None\ntry: p.ensure_pyarrow()\n"
    code += "except Exception as error: print(error)"
    done = subprocess.run([lth.python, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith("pyarrow, for Parquet files: not installed; pipx inject load-test-harness")


@pytest.mark.counterpart
def test_a_target_that_the_project_does_not_list_is_refused_with_the_line_to_add(lth, tmp_path):
    """Nothing is sent to it: the refusal comes before any connection."""
    lth(tmp_path, "init", "http://127.0.0.1:8080/", "--plan=shop")
    done = lth(tmp_path, "run", "shop", "-t", "http://shop.example.org", code=2)
    assert "loadtest.toml does not list it; if you may load it, write a line such as staging = " in done.stderr
    assert "neither an address nor a name in [targets]" in lth(tmp_path, "run", "shop", "-t", "stagin", code=2).stderr
    (tmp_path / "loadtest.toml").write_text('requires = ">=9"\n')
    assert "requires load-test-harness >=9, this is" in lth(tmp_path, "check", code=2).stderr
