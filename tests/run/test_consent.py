"""A project that was not made on this machine says once what it may do, and asks; later only about what is new."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli import entry
from harness.run.consent import _file
from tests.support.foreign_folder import TARGET, Project
from tests.support.off_host import element, jmx, request, script, text
from tests.support.paths import ROOT
from tests.support.requests import request_of

ALLOW = "[allow]\nscripts = true"


@pytest.fixture(autouse=True)
def _user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who has accepted nothing yet."""
    monkeypatch.delenv("LTH_TRUST")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SHOP_TOKEN", "long-secret-token")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shop")


def test_without_a_terminal_it_is_refused_in_one_line_that_says_what_to_do(project):
    project.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:8098"\n[headers]\nX = "Bearer $SHOP_TOKEN"')
    said = project.refusal(None)
    assert "was not made on this machine. Its plan may load http://127.0.0.1:8098, the target that you name; " in said
    assert "read $SHOP_TOKEN; read it, then give --yes or set LTH_TRUST=1" in said
    assert "\n" not in said


def test_ci_alone_is_no_consent(project, monkeypatch):
    monkeypatch.setenv("CI", "true")
    assert "was not made on this machine" in project.refusal()
    monkeypatch.setenv("LTH_TRUST", "1")
    assert project.refusal() == ""
    monkeypatch.delenv("LTH_TRUST")
    assert "was not made on this machine" in project.refusal()  # nothing was remembered


POWERS: dict[str, tuple[str, Callable[[Project], None]]] = {
    "variable": ("read $SHOP_TOKEN", lambda one: one.write(keys='secrets = ["SHOP_TOKEN"]')),
    "header of the plan": ("read $SHOP_TOKEN", lambda one: one.write(more='[headers]\nX = "$SHOP_TOKEN"')),
    "variable in the JMX": (
        "read $SHOP_TOKEN", lambda one: one.write(request(path='/${__groovy(System.getenv("SHOP_TOKEN"))}')),
    ),
    "script": (
        "run 1 script element of shop.jmx",
        lambda one: one.write(script("JSR223Sampler", "A", "1"), more=ALLOW),
    ),
    "function": (
        "run 1 script element",
        lambda one: one.write(request(path="/${__groovy(new Date(1).getTime())}"), more=ALLOW),
    ),
    "file": ("read the file /etc/passwd", lambda one: one.write(request(path="/${__FileToString(/etc/passwd)}"))),
    "file of a data set": (
        "read the file /etc/passwd",
        lambda one: one.write(request() + element("CSVDataSet", "R", text("filename", "/etc/passwd"))),
    ),
    "file that a variable names": (
        "read the file ${name}",
        lambda one: one.write(request(path="/${__FileToString(${name})}")),
    ),
    "file of a property": (
        "read the file /etc/passwd",
        lambda one: one.write(request(path="/${__FileToString(${__P(f,)})}"), more='[properties]\nf = "/etc/passwd"'),
    ),
    "plugin": (
        "let JMeter load the plugin a:b:1", lambda one: one.write(more='[jmeter]\nplugins = ["a:b:1"]'),
    ),
    "embedded resources": (
        "load embedded resources", lambda one: one.write(more="[allow]\nembedded_resources = true"),
    ),
    "host": ("load 127.0.0.1:99", lambda one: one.write(more='[allow]\nhosts = ["127.0.0.1:99"]')),
    "code": (
        "let JMeter load user.classpath=x.jar",
        lambda one: one.write(
            request(path="/x${__P(user.classpath,)}"), more=f'[properties]\n"user.classpath" = "x.jar"\n{ALLOW}'
        ),
    ),
    "target": (
        "load http://127.0.0.1:7777",
        lambda one: one.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:7777"'),
    ),
    "profile": (
        "send results to s3://bucket at http://127.0.0.1:9",
        lambda one: (one.folder / "env" / "local.toml").write_text(
            'format_version = 1\ntitle = "L"\n[storage]\ns3 = "s3://bucket"\nendpoint_url = "http://127.0.0.1:9"\n'
        ) and None,
    ),
    "mail": (
        "send results to a@example.org by smtp.example.org:587, with $SHOP_TOKEN",
        lambda one: (one.folder / "env" / "local.toml").write_text(
            'format_version = 1\ntitle = "L"\n[notify.mail]\nto = "a@example.org"\nfrom = "b@example.org"\n'
            'server = "smtp.example.org:587"\nuser = "x"\npassword = "$SHOP_TOKEN"\n'
        ) and None,
    ),
    "CloudWatch": (
        "read CloudWatch with the AWS keys of this machine at http://127.0.0.1:9",
        lambda one: one.profile('[cloudwatch]\nendpoint_url = "http://127.0.0.1:9"\nrds = ["db"]'),
    ),
    "database": (
        "load the database postgresql://perf@127.0.0.1:9/shop, with the password that psql finds",
        lambda one: one.profile('[database]\nurl = "postgresql://perf@127.0.0.1:9/shop"'),
    ),
    "pods": (
        "run the image own:1 in pods",
        lambda one: one.profile('[kubernetes]\nimage = "own:1"\n[kubernetes.pod]\nx = 1'),
    ),
    "build": (
        "run make all (to build a commit)",
        lambda one: (one.folder / "env" / "local.toml").write_text(
            'format_version = 1\ntitle = "L"\nbuild = ["make", "all"]\n'
        ) and None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", POWERS)
def test_each_power_is_named_first_and_asked_about_again_when_it_is_new(project, monkeypatch, kind):
    what, change = POWERS[kind]
    target = None if kind == "target" else TARGET
    project.accept(monkeypatch)
    assert project.refusal() == ""
    change(project)
    said = project.refusal(target)
    assert f"{project.folder.name} may now {what}" in said
    project.accept(monkeypatch)
    assert project.refusal(target) == ""


def test_a_changed_script_is_asked_about_and_a_changed_load_is_not(project, monkeypatch):
    allow = "[allow]\nscripts = true"
    project.write(request() + script("JSR223Sampler", "A", "1"), more=allow)
    project.accept(monkeypatch)
    project.write(
        request(path="/other") + script("JSR223Sampler", "A", "1"), more=f"{allow}\n[goal]\nerror_ratio = 0.1"
    )
    assert project.refusal() == ""
    project.write(request() + script("JSR223Sampler", "A", "2"), more=allow)
    assert "may now run 1 script element of shop.jmx, which changed; " in project.refusal()
    project.write(request())
    assert project.refusal() == ""  # fewer powers


def test_a_changed_jar_and_a_lock_file_of_somebody_else_are_asked_about(project, monkeypatch):
    project.accept(monkeypatch)
    own = project.folder / "plans" / "lib" / "own.jar"
    own.parent.mkdir()
    for content, more in (("1", ", the plugin a:b:1"), ("2", ", which changed")):
        with zipfile.ZipFile(own, "w") as archive:
            archive.writestr("text", content)
        project.write(more='[jmeter]\nplugins = ["lib/own.jar", "a:b:1"]')
        assert f"may now let JMeter load the plugin lib/own.jar{more}; " in project.refusal()
        project.accept(monkeypatch)
    (project.folder / "plans" / "shop.lock").write_text("# plugins: a:b:1\n" + "0" * 64 + "  evil:jar:1\n")
    assert "may now let JMeter load the jars in shop.lock; " in project.refusal()


def test_the_programs_of_a_system_and_each_of_its_files_count(home, monkeypatch):
    def run() -> None:
        request_of(home, home, "tiny", "local")

    with pytest.raises(UsageError, match="run the programs of systems/tiny"):
        run()
    monkeypatch.setenv("LTH_TRUST", "yes")
    run()
    monkeypatch.delenv("LTH_TRUST")
    run()
    program = home / "systems" / "tiny" / "start.sh"
    changes = {
        "a new file": lambda: program.write_text("true"),
        "its text": lambda: program.write_text("false"),
        "executable": lambda: program.chmod(0o755),
        "its name": lambda: program.rename(program.with_name("begin.sh")),
    }
    for change in changes.values():
        change()
        with pytest.raises(UsageError, match="run the programs of systems/tiny, which changed"):
            run()
        monkeypatch.setenv("LTH_TRUST", "yes")
        run()
        monkeypatch.delenv("LTH_TRUST")
    program.with_name("begin.sh").chmod(0o775)  # git keeps no other bits: a clone may have these
    run()


def test_a_copy_of_an_accepted_project_is_accepted_and_a_mixture_of_two_is_not(project, tmp_path, monkeypatch):
    project.write(keys='secrets = ["SHOP_TOKEN"]')
    project.accept(monkeypatch)
    copy = Project(tmp_path / "copy")
    copy.write(keys='secrets = ["SHOP_TOKEN"]')
    assert copy.refusal() == ""
    other = Project(tmp_path / "other")
    other.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:7777"')
    other.accept(monkeypatch)
    copy.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:7777"')
    assert "was not made on this machine" in copy.refusal(None)


def test_what_the_user_types_needs_no_consent(tmp_path):
    assert request_of(ROOT, tmp_path / "build", TARGET, "local").target
    curl = f"curl {TARGET}/ -H 'Authorization: Bearer abcdefgh'"
    assert request_of(ROOT, tmp_path / "build", "", curl=curl).secrets
    alone = tmp_path / "alone.jmx"
    alone.write_text(jmx(request()))
    assert request_of(ROOT, tmp_path / "build", str(alone), "local", TARGET).target
    alone.write_text(jmx(request(path='/${__groovy(System.getenv("SHOP_TOKEN"))}')))
    with pytest.raises(UsageError, match=r"read \$SHOP_TOKEN"):
        request_of(ROOT, tmp_path / "build", str(alone), "local", TARGET)


def test_the_plans_of_the_tool_itself_need_none(tmp_path):
    assert request_of(ROOT, tmp_path, "lb-nginx", "local").manifest
    assert request_of(tmp_path, tmp_path, "lb-nginx", "local").manifest  # an installed tool, any folder


def test_a_terminal_shows_at_most_five_lines_and_asks(project, monkeypatch, capsys):
    project.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:8098"\n[headers]\nX = "\\u001b$SHOP_TOKEN"')
    project.project('target = "shop"\n[targets]\nshop = "http://127.0.0.1:8098"\n[headers]\nX = "$SHOP_TOKEN"')
    project.write(script("JSR223Sampler", "A", "1"), more='[allow]\nscripts = true\n[jmeter]\nplugins = ["a:b:1"]')
    for answer, is_accepted in (("\n", False), ("n\n", False), ("y\n", True)):
        terminal = io.StringIO(answer)
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        assert ("" if is_accepted else "is not trusted; nothing was started") in (said := project.refusal(None))
        shown = capsys.readouterr()
        assert bool(said) != is_accepted
        assert len([line for line in shown.out.splitlines() if line.startswith("  ")]) <= 5
        assert shown.err.endswith("Run it? [y/N] ")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert project.refusal(None) == ""


def test_an_answer_that_others_could_have_written_does_not_count(project, monkeypatch):
    project.accept(monkeypatch)
    assert _file().stat().st_mode & 0o077 == 0
    assert json.loads(_file().read_text())["format_version"] == 1
    _file().chmod(0o666)
    assert "was not made on this machine" in project.refusal()
    _file().chmod(0o600)
    assert project.refusal() == ""
    _file().write_text("{")
    assert "was not made on this machine" in project.refusal()


def test_an_init_that_is_refused_writes_and_trusts_nothing(tmp_path, monkeypatch):
    plans = tmp_path / "theirs" / "plans"
    plans.mkdir(parents=True)
    (plans / "shop.jmx").write_text(jmx(request() + script("JSR223Sampler", "A", "1")))
    (plans / "shop.toml").write_text("format_version = 1\n[allow]\nscripts = true\n")
    monkeypatch.chdir(plans.parent)
    monkeypatch.setattr(sys, "argv", ["lth", "init", f"{TARGET}/", "shop"])
    assert entry.code_of("lth") == 2
    assert [path.name for path in plans.parent.iterdir()] == ["plans"]
    assert not _file().exists()


@pytest.mark.real
def test_a_project_that_init_has_made_is_trusted_at_once_and_a_foreign_one_not_by_it(tmp_path, monkeypatch, project):
    def init(folder: Path, *words: str) -> None:
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        from harness.base.project import current_project, read_project

        current_project.cache_clear()
        read_project.cache_clear()
        monkeypatch.setattr(sys, "argv", ["lth", "init", *words])
        assert entry.code_of("lth") == 0

    init(tmp_path / "mine", TARGET, "shop")
    for target in (None, "local", TARGET):
        if target:
            request_of(tmp_path / "mine", tmp_path, "shop", "local", target)
    init(tmp_path / "mine", "--curl", f"curl -u bob:pw {TARGET}/basket", "basket")
    request_of(tmp_path / "mine", tmp_path, "basket", "local", TARGET)
    foreign = jmx(request() + script("JSR223Sampler", "A", "1"))
    (tmp_path / "foreign.jmx").write_text(foreign)
    init(tmp_path / "theirs", str(tmp_path / "foreign.jmx"))
    with pytest.raises(UsageError, match=r"may now run 1 script element of foreign\.jmx"):
        request_of(tmp_path / "theirs", tmp_path, "foreign", "local", TARGET)
    project.project('[headers]\nX = "$SHOP_TOKEN"')
    init(project.folder, f"{TARGET}/more", "more")
    with pytest.raises(UsageError, match=r"read \$SHOP_TOKEN"):
        request_of(project.folder, tmp_path, "more", "local", TARGET)
