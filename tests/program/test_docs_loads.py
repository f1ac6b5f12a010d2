"""Every command of README.md and docs/ that sends a load gets as far as JMeter, in a project made here."""

import re
import shutil
from collections import Counter
from http.server import BaseHTTPRequestHandler
from itertools import takewhile

import pytest

from harness.base.install import before_setup
from harness.base.project import current_project, read_project
from harness.cli.verbs import ALIASES, LOADS
from tests.program.test_docs_commands import COMMANDS, PLACEHOLDER, words_of
from tests.support.ab_tests import git
from tests.support.commands import command
from tests.support.local_server import serving
from tests.support.report_folder import add_run

_TARGETS = """
[targets]
local = "http://127.0.0.1:8080"
staging = "http://127.0.0.1:8081"
test = "http://10.0.0.5:8080"
"""
_PROFILE = 'format_version = 1\ntitle = "Test machine"\n'
_SUITE = (
    'format_version = 1\ntitle = "Nightly"\nbudget = "20m"\n[gate]\nmetrics = ["average"]\n[[run]]\nplan = "shop"\n'
)
_PIN = 'format_version = 1\n[pins]\nrelease-4 = "run-01_1"\n'
# What the project does not have: the words with which a command is refused, and what it needs.
_NEEDS = {
    "--users is missing": "a verb in a sentence",
    "A and B are missing": "a verb in a sentence",
    "--good is missing": "a verb in a sentence",
    "--set is missing": "a verb in a sentence",
    "give its --target": "a verb in a sentence",
    "the capacity is not known": "a stored experiment",
    "--plan=static: unknown": "the plan of add-a-system, which test_add_a_system makes",
    "not like this run": "a stored experiment",
    "--resume": "a stored experiment",
    "the label Check-Out": "a label of Kill Bill's plan",
    "version is neither a setting": "a system with versions",
}


class Service(BaseHTTPRequestHandler):
    """Answers, so that it may be a target."""

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def ports():
    """The ports of two services, by that which the pages name."""
    with serving(Service) as one, serving(Service) as other:
        yield {"8080": one, "8081": other}


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """A project with a target, and one with the Kill Bill of this repository, of which many pages speak."""
    made = []
    for name in ("shop", "killbill-stripe"):
        here = tmp_path_factory.mktemp(name)
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(here)
            forget_projects()
            assert command("lth", "init", "http://127.0.0.1:8080/items", "--plan=shop").returncode == 0
        own = 'target = "local"\n' if name == "shop" else ""
        (here / "loadtest.toml").write_text(f'format_version = 1\nplan = "{name}"\n{own}{_TARGETS}')
        for profile, text in (("staging", _PROFILE), ("nightly", _SUITE)):
            (here / "env").mkdir(exist_ok=True)
            (here / "env" / f"{profile}.toml").write_text(text)
        (here / "path" / "to").mkdir(parents=True)
        for jmx in ("shop.jmx", "path/to/shop.jmx"):
            shutil.copy(here / "plans" / "shop.jmx", here / jmx)
        (here / "shop.jfr").touch()
        add_run(here / "reports", f"{name}/run-01_1", users=50)
        (here / "reports" / name / "pinned.toml").write_text(_PIN)
        git(here, "init", "-q", "-b", "main")
        for tag in ("v1.4", "v1.5"):
            (here / "version.txt").write_text(tag)
            git(here, "add", "-A")
            git(here, "commit", "-q", "-m", tag)
            git(here, "tag", tag)
        git(here, "update-ref", "refs/remotes/origin/main", "v1.4")
        made.append(here)
    forget_projects()
    return made


def forget_projects():
    current_project.cache_clear()
    read_project.cache_clear()


def why_not(words, project, monkeypatch):
    """Return why a command does not get as far as JMeter; empty if it does, and for one that needs no load."""
    monkeypatch.chdir(project)
    forget_projects()
    try:
        done = command("lth", *words)
    except before_setup.SetUpNeededError:
        return ""
    finally:
        forget_projects()
    return done.stderr.strip() or f"exit code {done.returncode}" if done.returncode else ""


@pytest.mark.counterpart
def test_every_command_that_sends_a_load_gets_as_far_as_jmeter(projects, ports, monkeypatch):
    """The few that need what these projects have not are counted: see the printed line."""
    monkeypatch.setattr(before_setup, "_is_ahead", True)
    wrong, count = [], Counter()
    for page, text in COMMANDS:
        words = words_of(text)
        if not words or ALIASES.get(words[0], words)[0] not in LOADS or PLACEHOLDER.search(text):
            continue
        here = [re.sub(r"(?<=127\.0\.0\.1:)808[01]", lambda port: str(ports[port[0]]), word) for word in words]
        whys = list(takewhile(bool, (why_not(here, one, monkeypatch) for one in projects)))
        if len(whys) < len(projects):
            count["as far as JMeter"] += 1
            continue
        need = next((need for said, need in _NEEDS.items() if any(said in why for why in whys)), "")
        count[need] += 1
        if not need:
            wrong.append(f"{page}: {text}: {whys}")
    print(dict(count))
    assert not wrong, "\n".join(wrong)
    assert count["as far as JMeter"] >= 80


# The loads of the first pages, in little: what a reader types, and what this test types.
_IN_LITTLE = (
    (r"^\d+m$", "3"), (r"^(20|50|100)$", "2"), (r"^(--users=)\d+$", r"\g<1>2"), (r"^1,5,10,25,50$", "1,2"),
)  # fmt: skip
_MORE = {
    "sweep": ("--warmup=0", "-d", "3"),
    "capacity": ("--most=4", "-d", "3", "--warmup=0"),
    "nightly": ("--dry-run",),
}


@pytest.mark.counterpart
@pytest.mark.parametrize("page", ["README.md", "docs/five-minutes.md"])
def test_the_first_pages_work_with_real_loads_in_the_order_of_their_commands(page, ports, tmp_path, monkeypatch):
    """Each in one new folder, with the real JMeter against a service here; only counts and times are smaller."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "nightly.toml").write_text(_SUITE)
    done = []
    for text in (text for name, text in COMMANDS if name == page):
        words = words_of(text)
        if not words or PLACEHOLDER.search(text) or words[0] == "ab" or "shop.jmx" in text:
            continue
        here = [re.sub(r"(?<=127\.0\.0\.1:)808[01]", lambda port: str(ports[port[0]]), word) for word in words]
        for pattern, little in _IN_LITTLE:
            here = [re.sub(pattern, little, word) for word in here]
        forget_projects()
        if words == ["compare"]:  # "after a second run"
            assert command("lth", "run", "-u", "2", "-d", "3").returncode in (0, 3)
        end = command("lth", *here, *_MORE.get(words[0], ()), DISPLAY="", WAYLAND_DISPLAY="", BROWSER="")
        done.append((text, end.returncode, end.stderr.strip()[-300:]))
        if words[0] == "init":
            with (tmp_path / "loadtest.toml").open("a") as file:  # the pages speak of a plan shop, and of staging
                file.write(f'staging = "http://127.0.0.1:{ports["8081"]}"\n')
            for made in (tmp_path / "plans").glob("*.*"):
                shutil.copy(made, made.with_name(f"shop{made.suffix}"))
    forget_projects()
    print(*done, sep="\n")
    assert [one for one in done if one[1] not in (0, 1, 3)] == []  # 3: a run of 3 s may be INVALID
    assert len(done) >= 6
