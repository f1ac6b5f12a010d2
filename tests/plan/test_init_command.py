"""`scripts/init`: what it writes, prints and refuses."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.cli.verbs import main
from harness.plan.checks.lint import lint
from harness.plan.load.model import LoadArguments, parse_load, resolve_load
from harness.plan.plan import load_plan
from harness.run.preflight import check_request
from tests.support.har import entry, write
from tests.support.off_host import element, jmx, request
from tests.support.requests import request_of

OWN = Path(__file__).parent / "adopt" / "a_users_own.jmx"
TARGET = "http://127.0.0.1:8098"


def init(home: Path, *arguments: str) -> None:
    assert main([*arguments, "--home", str(home), "--build", str(home / "build")], "scripts/init") == 0


def test_a_jmx_is_copied_described_and_offered_fixes(home: Path, capsys) -> None:
    init(home, "--plan", "shop", "--jmx", str(OWN))
    assert (home / "plans" / "shop.jmx").read_bytes() == OWN.read_bytes()
    data = tomllib.loads((home / "plans" / "shop.toml").read_text())
    assert data == {
        "format_version": 1, "title": "Shop", "shape": "shop.jmx",
        "load": {"users": 8, "ramp_per_user_s": 10, "duration_s": 180}, "allow": {"scripts": True},
    }  # fmt: skip
    toml = (home / "plans" / "shop.toml").read_text()
    assert "# thread group Check In: 8 users, ramp-up 80 s, 180 s" in toml
    assert "# CSV file ${base}/data/barcodes.csv: barcode;item_id;name" in toml
    assert "Login > POST login > Keep token (line 64): JSR223PostProcessor, 2 lines" in toml
    printed = capsys.readouterr().out
    assert "lth init --plan=shop --fix applies them" in printed
    assert '- <stringProp name="HTTPSampler.protocol">https</stringProp>' in (
        (home / "build" / "init" / "shop.diff").read_text().replace("-        ", "- ")
    )


@pytest.mark.real
def test_fix_after_init_gives_a_plan_that_a_run_accepts(home: Path, capsys) -> None:
    init(home, "--plan", "shop", "--jmx", str(OWN))
    toml = (home / "plans" / "shop.toml").read_text()
    init(home, "--plan", "shop", "--fix")
    assert (home / "plans" / "shop.toml").read_text() == toml.replace(
        'shape = "shop.jmx"', 'shape = "shop.jmx"\nsecrets = ["SHOP_PASSWORD"]'
    )
    assert tomllib.loads((home / "secrets.toml").read_text()) == {"format_version": 1, "SHOP_PASSWORD": "opensesame77"}
    assert lint(home / "plans" / "shop.jmx") == ()
    request = request_of(home, home, "shop", "local", TARGET)
    for load in (LoadArguments(users="3", duration="30"), LoadArguments(users="1", loops="1")):
        check_request(request, resolve_load(parse_load(load), request.plan.load))
    assert (
        "plans/data/shop/barcodes.csv: SAMPLE values (barcode, item_id, name): replace them" in capsys.readouterr().out
    )


def test_init_names_what_check_refuses_of_the_fixed_plan(home: Path, tmp_path: Path, capsys) -> None:
    plan = jmx(request() + element("JDBCSampler", "Query") + element("com.shop.Graph", "Graph"))
    (tmp_path / "own.jmx").write_text(plan)
    line = plan[: plan.index('testname="Query"')].count("\n") + 1
    for more in ([], ["--fix"]):
        init(home, "--plan", "shop", "--jmx", str(tmp_path / "own.jmx"), "--force", *more)
        printed = capsys.readouterr().out
        assert f"plans/shop.jmx:{line}: Off host > Users > Query: may reach another host (JDBCSampler)" in printed
        assert "Graph: is an unknown element (com.shop.Graph); remove it, or find out what it sends" in printed


def test_init_names_the_plugin_of_a_class_that_jmeter_lacks_and_lists_it(home: Path, tmp_path: Path, capsys) -> None:
    name = "kg.apc.jmeter.perfmon.PerfMonCollector"
    (tmp_path / "own.jmx").write_text(jmx(request() + element(name, "Server") + element("net.xmeter.Gone", "Gone")))
    init(home, "--plan", "shop", "--jmx", str(tmp_path / "own.jmx"), "--fix")
    assert 'plugins = ["kg.apc:jmeter-plugins-perfmon:2.1"]' in (home / "plans" / "shop.toml").read_text()
    printed = capsys.readouterr().out
    assert "Server: may reach another host (PerfMonCollector)" in printed
    assert "the plan lists" not in printed
    written = (home / "plans" / "shop.toml").read_text()
    assert "plugin kg.apc:jmeter-plugins-perfmon:2.1 (1 element): listed below" in written
    assert "plugin net.xmeter.Gone (1 element): not part of" in written


def test_init_says_once_what_to_do_about_several_elements(home: Path, tmp_path: Path, capsys) -> None:
    kinds = [f"eu.luminis.jmeter.wssampler.{name}WebSocketSampler" for name in ("Open", "SingleRead", "Close")]
    (tmp_path / "own.jmx").write_text(jmx("".join(element(kind, kind[28:32]) for kind in kinds)))
    init(home, "--plan", "shop", "--jmx", str(tmp_path / "own.jmx"), "--fix")
    printed = capsys.readouterr().out
    assert printed.count("other_protocols = true under [allow]") == 1
    assert "Open: may reach another host (OpenWebSocketSampler) (also Sing, Clos); add other_protocols" in printed
    assert "samplers: 1 OpenWebSocketSampler, 1 SingleReadWebSocketSampler, 1 CloseWebSocketSampler;" in printed
    written = (home / "plans" / "shop.toml").read_text()
    assert "# plugin net.luminis.jmeter:jmeter-websocket-samplers:1.3.1 (3 elements): listed below" in written


@pytest.mark.parametrize("path", ["http.jmx", "https.jmx", "some/where/else/shop.jmx"])
def test_a_relative_path_is_in_messages_as_it_was_given(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for text, what in (("<x/>", "XML, but not a JMeter test plan"), ("x", "not XML"), (None, "there is no such file")):
        if text:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        with pytest.raises(UsageError) as raised:
            init(home, path, "--fix")
        assert str(raised.value).startswith(f"{path}: {what}")
        Path(path).unlink(missing_ok=True)


RECORDED = "https://shop.example.org"


@pytest.mark.parametrize("target", [RECORDED, f"{RECORDED}:443", f"{RECORDED}/", "https://SHOP.example.org"])
def test_a_target_with_the_port_of_its_scheme_is_a_host_of_the_recording(home: Path, capsys, target: str) -> None:
    file = write(home / "visit.har", entry("https://cdn.example.org/"), entry(f"{RECORDED}/cart", at_s=1))
    init(home, "shop", "--har", str(file), "--no-replay", "-t", target)
    assert "plans/shop.toml: 1 request in 1 transaction to https://shop.example.org" in capsys.readouterr().out


def test_without_a_jmx_a_plan_with_one_request_is_made(home: Path) -> None:
    init(home, "--plan", "new")
    assert lint(home / "plans" / "new.jmx") == ()
    request = request_of(home, home, "new", "local", TARGET)
    check_request(request, resolve_load(parse_load(LoadArguments(users="2")), request.plan.load))
    assert load_plan(home / "plans", "new").load.users == 5


def test_a_curl_command_is_kept_under_a_name_and_its_secrets_are_not_in_the_plan(home: Path, capsys) -> None:
    curl = "curl 'http://127.0.0.1:8098/api/items?a=1' -H 'Authorization: Bearer abc-def-123' --data-raw '{}'"
    init(home, "items", "--curl", curl, "-H", "X-Tenant: $TENANT")
    assert "a plan with one request, POST /api/items" in capsys.readouterr().out
    secrets = tomllib.loads((home / "secrets.toml").read_text())
    assert secrets == {"format_version": 1, "ITEMS_AUTHORIZATION_HEADER": "Bearer abc-def-123"}
    plan = load_plan(home / "plans", "items")
    assert plan.headers["X-Tenant"] == "$TENANT"
    assert plan.headers["Authorization"] == "$ITEMS_AUTHORIZATION_HEADER"
    assert lint(plan.jmx_path) == ()
    for words in (["a", "b", TARGET], ["a", TARGET, "--plan", "b"], [TARGET, "--jmx", str(OWN)], ["-H", "a: b"]):
        with pytest.raises(UsageError):
            init(home, *words)
    with pytest.raises(UsageError, match="not an address"):
        init(home, "http://[127.0.0.1/")


@pytest.mark.real
def test_an_existing_plan_is_not_overwritten(home: Path) -> None:
    init(home, "--plan", "shop", "--jmx", str(OWN))
    (home / "plans" / "shop.toml").write_text("mine")
    for arguments in ([], ["--jmx", str(OWN)], ["--jmx", str(OWN), "--fix"]):
        with pytest.raises(UsageError, match=r"plans/shop.jmx exists; give another --plan; --force replaces it"):
            init(home, "--plan", "shop", *arguments)
    assert (home / "plans" / "shop.toml").read_text() == "mine"
    init(home, "--plan", "shop", "--jmx", str(OWN), "--force")
    assert (home / "plans" / "shop.toml").read_text() != "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--plan", "a/b"], "--plan=a/b: not a name of a plan"),
        (["--plan", "x", "--jmx", "absent.jmx"], "absent.jmx: there is no such file"),
        (["--plan", "x", "--jmx", __file__], "not XML"),
    ],
)
def test_wrong_use_writes_nothing(home: Path, arguments: list[str], message: str) -> None:
    before = sorted(home.rglob("*"))
    with pytest.raises(UsageError, match=message):
        init(home, *arguments)
    assert sorted(home.rglob("*")) == before


def test_the_path_of_a_jmx_is_a_plan_for_a_first_look(home: Path, tmp_path: Path, capsys) -> None:
    own = OWN.read_text()
    script = own[own.index("          <JSR223PostProcessor") : own.index("</JSR223PostProcessor>")]
    (tmp_path / "my shop.jmx").write_text(own.replace(script + "</JSR223PostProcessor>\n          <hashTree/>\n", ""))
    request = request_of(home, home / "build", str(tmp_path / "my shop.jmx"), "local", TARGET)
    check_request(request, resolve_load(parse_load(LoadArguments()), request.plan.load))
    assert (request.plan.name, request.plan.load.users, request.plan.load.duration_s) == ("my-shop", 1, 60)
    said = capsys.readouterr().out
    assert said.startswith("my shop.jmx: 1 user for 60 s unless options say more, not its own load (")
    assert "users, ramp-up " in said
    assert "--fix makes it a plan" in said
    assert said.endswith("; then lth run --plan=my-shop runs that load\n")


def test_a_first_look_at_a_jmx_with_scripts_or_at_a_foreign_target_is_refused(home: Path) -> None:
    with pytest.raises(UsageError, match=r"has 1 script, which can reach any host; list and permit them: lth init"):
        request_of(home, home / "build", str(OWN), "local", TARGET)
    with pytest.raises(UsageError, match="is not this machine"):
        request_of(home, home / "build", "tiny", "local", "http://shop.example.org")
