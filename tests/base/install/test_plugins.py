"""The jars of a plan's plugins: with what they need, locked, from Maven, files of the project, and addresses."""

from __future__ import annotations

import hashlib
import http.server
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import HarnessError, UsageError
from harness.base.install import plugins, toolchain
from harness.base.install.plugin_list import PluginList
from harness.base.install.plugins import ensure_plugins, is_own_lock
from harness.run.jmeter.process import JMeterHome
from tests.support.local_server import serving

SHOP = "com.acme:shop-plugin:1.2"
TREE = """harness:jmeter-plugins:pom:1
+- com.acme:shop-plugin:jar:1.2:compile
|  +- org.lib:core:jar:2.1:compile
|  |  \\- org.lib:base:jar:linux:2.0:runtime
|  +- commons-io:commons-io:jar:2.5:runtime (version selected from constraint [2,3))
|  +- (org.lib:core:jar:2.1:compile - omitted for duplicate)
|  \\- org.lib:page:pom:1:compile
"""


@pytest.fixture
def plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a plan; JMeter, in the folder above, has one library, and build/ is there, too."""
    for module in (toolchain, plugins):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "commons-io-2.15.1.jar").touch()
    (tmp_path / "plans").mkdir()
    return tmp_path / "plans"


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a Maven that finds the first tree, and the next ones when it is asked again, and copies what a POM lists.

    Return the file to which it writes its POMs. With `says` it fails, and prints that.
    """

    def write(*trees: str, says: str = "") -> Path:
        poms = tmp_path / "poms"
        for number, tree in enumerate(trees, 1):
            (tmp_path / f"tree{number}").write_text(tree)
        program = tmp_path / "bin" / "mvn"
        program.parent.mkdir(exist_ok=True)
        ending = f'echo "[ERROR] {says}"; exit 1' if says else ""
        program.write_text(f"""#!/bin/sh
[ "$1" = -v ] && echo "Apache Maven 3.8.7" && exit
for word; do case $word in
-Dplugins.home=*) home=${{word#*=}};;
-DoutputFile=*) tree=${{word#*=}};;
esac; done
cat "$home/pom.xml" >> {poms}
{ending}
if [ "$tree" ]; then
    cp "{tmp_path}/tree$(( $(cat {tmp_path}/asked 2>/dev/null || echo 0) + 1 ))" "$tree"
    echo 1 > {tmp_path}/asked
    exit
fi
grep '<exclu' "$home/pom.xml" | sed -e 's|<exclusions>.*||' -e 's|.*<artifactId>||' \\
    -e 's|</artifactId><version>|-|' -e 's|</version><classifier>| |' -e 's|<.*||' |
    while read -r jar classifier; do echo "$jar" > "$home/$jar${{classifier:+-$classifier}}.jar"; done
""")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return poms

    return write


def of(plans: Path, *listed: str) -> PluginList:
    return PluginList(listed, plans / "shop.toml")


def jars(folder: Path | None) -> list[str]:
    assert folder is not None
    return sorted(path.name for path in folder.glob("*.jar"))


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def packed(path: Path, *names: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"{name}.class", b"\xca\xfe\xba\xbe\0\0\0\x3d")
    return path


def test_what_a_plugin_needs_comes_along_unless_jmeter_has_it(plans: Path, maven: Callable[..., Path]) -> None:
    poms = maven(TREE)
    folder = ensure_plugins(of(plans, SHOP), plans.parent)
    assert jars(folder) == ["base-2.0-linux.jar", "core-2.1.jar", "shop-plugin-1.2.jar"]
    assert poms.read_text().count("<groupId>org.apache.jmeter</groupId><artifactId>*</artifactId>") == 1
    assert folder
    home = JMeterHome(plans.parent, "17", plugin_folder=folder)
    assert home.versions()["shop-plugin"] == "1.2"
    assert home.options == (f"-Jsearch_paths={folder}",)


def test_the_lock_beside_the_plan_has_each_jar_and_no_start_resolves_again(
    plans: Path, maven: Callable[..., Path]
) -> None:
    poms = maven(TREE)
    folder = ensure_plugins(of(plans, SHOP), plans.parent)
    lines = (plans / "shop.lock").read_text().splitlines()
    assert lines[1:] == [
        f"# plugins: {SHOP}",
        f"{sha256('shop-plugin-1.2' + chr(10))}  {SHOP}",
        f"{sha256('base-2.0' + chr(10))}  org.lib:base:2.0:linux",
        f"{sha256('core-2.1' + chr(10))}  org.lib:core:2.1",
    ]
    poms.unlink()
    maven(says="no network")
    assert ensure_plugins(of(plans, SHOP), plans.parent) == folder
    assert not poms.exists()


def test_another_machine_fetches_what_is_locked_and_nothing_that_it_resolves(
    plans: Path, maven: Callable[..., Path]
) -> None:
    maven(TREE)
    ensure_plugins(of(plans, SHOP), plans.parent)
    shutil.rmtree(plugins.BUILD)
    poms = maven("+- com.acme:shop-plugin:jar:1.2:compile\n")
    poms.unlink()
    assert jars(ensure_plugins(of(plans, SHOP), plans.parent)) == [
        "base-2.0-linux.jar",
        "core-2.1.jar",
        "shop-plugin-1.2.jar",
    ]
    assert poms.read_text().count("<project") == 1
    assert not is_own_lock(of(plans, SHOP))


def test_a_jar_that_is_not_as_locked_is_refused(plans: Path, maven: Callable[..., Path]) -> None:
    maven(TREE)
    ensure_plugins(of(plans, SHOP), plans.parent)
    assert is_own_lock(of(plans, SHOP))
    lock = plans / "shop.lock"
    lock.write_text(lock.read_text().replace(sha256("core-2.1\n"), "0" * 64))
    assert not is_own_lock(of(plans, SHOP))
    with pytest.raises(HarnessError, match=r"core:2\.1 from Maven is another jar than that of plans/shop\.lock"):
        ensure_plugins(of(plans, SHOP), plans.parent)


def test_a_changed_list_is_resolved_again(plans: Path, maven: Callable[..., Path]) -> None:
    maven("+- com.acme:shop-plugin:jar:1.1:compile\n", TREE)
    assert jars(ensure_plugins(of(plans, "com.acme:shop-plugin:1.1"), plans.parent)) == ["shop-plugin-1.1.jar"]
    assert "core-2.1.jar" in jars(ensure_plugins(of(plans, SHOP), plans.parent))
    assert f"# plugins: {SHOP}\n" in (plans / "shop.lock").read_text()


OTHER = "org.other:other:3.0"


def two(older: str, newer: str) -> str:
    return f"""+- com.acme:shop-plugin:jar:1.2:compile
|  \\- org.lib:core:jar:{older}:compile
\\- org.other:other:jar:3.0:compile
   \\- (org.lib:core:jar:{newer}:compile - omitted for conflict with {older})
"""


@pytest.mark.parametrize(("older", "newer"), [("1.9", "2.1"), ("0.3.1", "0.4.0")])
def test_two_plugins_that_need_different_versions_of_a_library_are_refused(
    plans: Path, maven: Callable[..., Path], older: str, newer: str
) -> None:
    maven(two(older, newer))
    with pytest.raises(UsageError) as error:
        ensure_plugins(of(plans, SHOP, OTHER), plans.parent)
    assert str(error.value) == (
        f"plans/shop.toml [jmeter] plugins: {OTHER} needs org.lib:core:{newer}, and {SHOP} {older}; JMeter can load "
        f'one of them: list it, such as "org.lib:core:{newer}", or remove a plugin'
    )
    assert not (plans / "shop.lock").exists()


def test_of_versions_that_fit_the_newer_one_is_taken(plans: Path, maven: Callable[..., Path]) -> None:
    poms = maven(two("2.0", "2.1"), two("2.1", "2.1"))
    assert "core-2.1.jar" in jars(ensure_plugins(of(plans, SHOP, OTHER), plans.parent))
    managed = "<dependency><groupId>org.lib</groupId><artifactId>core</artifactId><version>2.1</version></dependency>"
    assert managed in poms.read_text()


@pytest.mark.parametrize("more", [("org.lib:core:2.1",), ()])
def test_a_listed_library_and_one_of_jmeter_settle_it(
    plans: Path, maven: Callable[..., Path], more: tuple[str, ...]
) -> None:
    if not more:
        (plans.parent / "lib" / "core-1.9.jar").touch()
    listed = "".join(f"+- {one.replace(':2.1', ':jar:2.1')}:compile\n" for one in more)
    maven(two("1.9", "2.1") + listed)
    assert jars(ensure_plugins(of(plans, SHOP, OTHER, *more), plans.parent))


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            "Could not find artifact com.acme:shop-plugin:jar:1.2 in central (https://example.org)",
            "plans/shop.toml [jmeter] plugins: com.acme:shop-plugin:1.2 is in none of Maven's repositories; correct it",
        ),
        (
            "org.lib:gone:jar:1 was not found in https://example.org during a previous attempt",
            "plans/shop.toml [jmeter] plugins: org.lib:gone:1, which com.acme:shop-plugin:1.2 needs, is in none of",
        ),
        (
            "Unknown host example.org",
            "plans/shop.toml [jmeter] plugins: com.acme:shop-plugin:1.2 cannot be fetched; check the network",
        ),
    ],
)
def test_a_plugin_that_does_not_resolve_is_one_line_and_leaves_nothing(
    plans: Path, maven: Callable[..., Path], output: str, message: str
) -> None:
    maven(says=output)
    with pytest.raises(UsageError) as error:
        ensure_plugins(of(plans, SHOP), plans.parent)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert not [path for path in plugins.BUILD.iterdir() if path.is_dir()]


def test_a_file_of_the_project_is_a_plugin_and_a_changed_one_is_taken(plans: Path) -> None:
    own = packed(plans / "lib" / "own.jar", "A")
    first = ensure_plugins(of(plans, "lib/own.jar"), plans.parent)
    assert jars(first) == ["own.jar"]
    assert of(plans, "lib/own.jar").described == (f"lib/own.jar sha256:{hashlib.sha256(own.read_bytes()).hexdigest()}",)
    packed(own, "A", "B")
    second = ensure_plugins(of(plans, "lib/own.jar"), plans.parent)
    assert second
    assert second != first
    assert (second / "own.jar").read_bytes() == own.read_bytes()
    assert not (plans / "shop.lock").exists()


def test_a_jar_at_an_address_is_fetched_and_must_have_its_sum(plans: Path, tmp_path: Path) -> None:
    content = packed(tmp_path / "x.jar", "A").read_bytes()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/own-1.0.jar" else 404)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as port:
        there, good = f"http://127.0.0.1:{port}", hashlib.sha256(content).hexdigest()
        folder = ensure_plugins(of(plans, f"{there}/own-1.0.jar#sha256={good}"), plans.parent)
        assert folder
        assert (folder / "own-1.0.jar").read_bytes() == content
        for address, problem in (
            (f"{there}/own-1.0.jar#sha256={'0' * 64}", f"/own-1.0.jar has another SHA-256, {good}"),
            (f"{there}/gone.jar#sha256={good}", "/gone.jar is answered with 404"),
        ):
            with pytest.raises(UsageError, match=problem):
                ensure_plugins(of(plans, address), plans.parent)
    # It is not fetched again.
    assert ensure_plugins(of(plans, f"{there}/own-1.0.jar#sha256={good}"), plans.parent) == folder
    with pytest.raises(UsageError, match="cannot be fetched"):
        ensure_plugins(of(plans, f"{there}/more.jar#sha256={good}"), plans.parent)


@pytest.mark.parametrize(
    ("listed", "problem"),
    [
        (("lib/gone.jar",), "plans/lib/gone.jar does not exist"),
        (("lib/text.jar",), "plans/lib/text.jar is no jar"),
        (("../own.jar",), "'../own.jar' is no Maven coordinate, file or address"),
        (("https://example.org/own.jar",), "is no Maven coordinate, file or address"),
        (("kg.apc:functions",), "'kg.apc:functions' is no Maven coordinate, file or address"),
        (("lib/own.jar", "more/own.jar"), "two entries have the file name own.jar"),
    ],
)
def test_an_entry_that_cannot_be_one_is_refused(plans: Path, listed: tuple[str, ...], problem: str) -> None:
    packed(plans / "lib" / "own.jar", "A")
    packed(plans / "more" / "own.jar", "A")
    (plans / "lib" / "text.jar").write_text("text")
    with pytest.raises(UsageError, match=f"plans/shop.toml .jmeter. plugins: .*{problem.replace('.', '[.]')}"):
        of(plans, *listed).check()


def test_no_plugins_need_no_folder(plans: Path) -> None:
    assert ensure_plugins(of(plans), plans.parent) is None
