"""Each text of a run and of an experiment that somebody else stored, and each name: none is active on any surface."""

from __future__ import annotations

import copy
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.base.errors import HarnessError
from harness.base.plain_text import CONTROL
from harness.cli.verbs import main
from tests.experiment.test_stored import KINDS, STORED
from tests.program.test_hostile_texts import Html, check_markdown, check_plain
from tests.support.full_run import add_profile, add_snapshots, run_directory
from tests.support.report_folder import add_run

BOMB = "<img src=x onerror=x>|\x1b[31m\u202e|a\nb`c`[d](javascript:1)@team ${__P(x,evaluated)} --> </script><b> {{7*7}}"
NAMES = ("pl|an<img src=x>", "a\x1b[31mred", "two\nlines`x`", "@team $(id) ${__P(x)}", "[d](javascript:1)", "\u202egnp")
Say = Callable[..., str]


def places(node: Any, found: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Yield the path of each text and each key (True) of plain data; of a list only those of its first item."""
    for key, one in node.items() if isinstance(node, dict) else enumerate(node[:1]) if isinstance(node, list) else ():
        if isinstance(node, dict):
            yield (*found, key), True
        if isinstance(one, str):
            yield (*found, key), False
        yield from places(one, (*found, key))


def with_bomb(node: Any, path: tuple[Any, ...], *, is_key: bool) -> Any:
    """Return a copy of plain data with the bomb at one place."""
    made = copy.deepcopy(node)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    if is_key:
        inner[f"{path[-1]}{BOMB}"] = inner.pop(path[-1])
    else:
        inner[path[-1]] += BOMB
    return made


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Run a command; what it says is plain, and a refusal is one line."""

    def say(*words: object) -> str:
        try:
            main([str(word) for word in words], "lth")
            error = ""
        except HarnessError as refused:
            error = str(refused)
            assert "\n" not in error
        said = "".join(capsys.readouterr()) + error
        assert not CONTROL.search(said), said
        return said

    return say


def check_pages(folder: Path) -> None:
    for page in folder.rglob("*.md"):
        # The titles of folded parts are texts of ours, and of a variant's settings. Notes are Markdown of a person.
        text, notes = page.read_text("utf-8"), re.compile(r"(?s)(?<=<!-- notes:begin).*?(?=<!-- notes:end -->)")
        check_plain(text)
        check_markdown(re.sub(r"<summary>[\w ,./=-]+</summary>", "<summary>x</summary>", notes.sub(" -->", text)))
    for page in folder.rglob("*.html"):
        text = re.sub(r"<script>.*?</script>", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert Html(text).active == []
        check_plain(text)


@pytest.mark.real
@pytest.mark.usefixtures("charts")
def test_a_folder_with_any_name_is_only_a_text(tmp_path, say):
    reports = tmp_path / "reports"
    for name in NAMES:
        for number in (1, 2):
            add_run(reports, f"shop/run-01_{number}")
        shutil.move(reports / "shop", reports / name)
        one, two = reports / name / "run-01_1", reports / name / "run-01_2"
        say("report", one, "--html")
        say("table", one)
        say("compare", one, two, "--save", f"--reports={reports}")
        say("history", reports, f"--plan={name}")
    site = ["site", reports, "--output", tmp_path / "s"]
    for words in (["summary", reports], ["list", f"--reports={reports}"], site):
        assert "Traceback" not in say(*words)
    check_pages(tmp_path)
    assert len(list((tmp_path / "s").rglob("*.html"))) > len(NAMES)


@pytest.mark.parametrize("key", ["plan", "name"])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_whose_record_has_such_a_name_is_refused(tmp_path, say, key, name):
    directory = add_run(tmp_path, "shop/run-01_1")
    record = json.loads(directory.run_json.read_text())
    directory.run_json.write_text(json.dumps({**record, key: name}))
    assert "run.json: not the JSON of a run (" in say("report", directory.path)
    say("list", f"--reports={tmp_path}")
    say("summary", tmp_path)
    check_pages(tmp_path)


@pytest.mark.parametrize("log", ["../../../../notes.txt", "/etc/hostname", "a\0b"])
def test_a_run_with_a_log_outside_of_its_folder_is_refused(tmp_path, say, log):
    directory = add_run(tmp_path, "shop/run-01_1")
    record = json.loads(directory.run_json.read_text())
    directory.run_json.write_text(json.dumps({**record, "exception_logs": [log]}))
    assert "is not in system/" in say("report", directory.path)


@pytest.mark.counterpart
def test_each_text_of_a_run(tmp_path, say):
    directory = run_directory(tmp_path)
    add_profile(directory)
    add_snapshots(directory)
    reports = tmp_path / "reports"
    add_run(reports, "tiny/run-01_2")
    say("report", directory.path)
    count = 0
    for path, ways in (
        (directory.run_json, (["report", directory.path], ["list", "--reports", reports], ["summary", reports])),
        (directory.summary_json, (["list", "--reports", reports], ["history", reports, "--plan=tiny", "--save"])),
    ):
        whole = path.read_text()
        for place, is_key in places(json.loads(whole)):
            path.write_text(json.dumps(with_bomb(json.loads(whole), place, is_key=is_key)))
            for words in ways:
                say(*words)
            check_pages(reports)
            count += 1
        path.write_text(whole)
        say("report", directory.path)
    assert count > 500


@pytest.mark.counterpart
@pytest.mark.parametrize("kind", KINDS)
def test_each_text_of_an_experiment(tmp_path, say, kind):
    with tarfile.open(STORED) as archive:
        archive.extractall(tmp_path, filter="data")
    _, name, _ = KINDS[kind]
    reports = tmp_path / kind
    (path,) = [one for one in reports.rglob("*.json") if one.stem == Path(name).name]
    whole = path.read_text()
    found = [*places(json.loads(whole))]
    for place, is_key in found:
        path.write_text(json.dumps(with_bomb(json.loads(whole), place, is_key=is_key)))
        say("experiment", name, "--reports", reports)
        check_pages(path.parent)
    assert len(found) > 30
