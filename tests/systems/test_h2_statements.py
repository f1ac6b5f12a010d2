"""The statements of the H2 inside KillBill: a real H2 in a JVM with the class of the launcher, without KillBill."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.base.ports import free_port
from harness.system import database_files
from harness.system.database_files import DatabaseReader, databases
from harness.system.manifest import load_manifest
from harness.system.statements import DatabaseUse, StatementInterval
from harness.system.supervisor import Supervisor
from harness.system.system import StatementCommands
from tests.support.paths import ROOT
from tests.support.processes import QUICK_JVM
from tests.support.snapshots import wait_for_snapshot

MANIFEST = load_manifest(ROOT / "systems" / "killbill")
BUILD = ROOT / "build"
# As in Tomcat, H2 is loaded by the web application, and known to its threads only.
WEB = """\
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.PreparedStatement;
import java.util.Properties;

public final class Web {
    static final class TestWebappClassLoader extends URLClassLoader {
        TestWebappClassLoader(URL jar) { super(new URL[] {jar}); }
    }

    public static void main(String[] arguments) throws Exception {
        ClassLoader loader = new TestWebappClassLoader(Path.of(arguments[0]).toUri().toURL());
        Thread.currentThread().setContextClassLoader(loader);
        Properties account = new Properties();
        account.setProperty("user", "killbill");
        account.setProperty("password", "secret");
        Driver driver = (Driver) loader.loadClass("org.h2.Driver").getDeclaredConstructor().newInstance();
        Connection connection = driver.connect(arguments[1], account);
        connection.createStatement().execute("CREATE TABLE payments (id INT PRIMARY KEY, account INT)");
        H2Statements.listen(Integer.parseInt(arguments[2]));
        System.out.println("ready");
        System.in.read();
        for (int id = 0; id < 30; id++) {
            run(connection, "INSERT INTO payments\\n  VALUES (?, 1)", id);
        }
        run(connection, "SELECT * FROM payments WHERE id = ?", 1);
        run(connection, "SELECT * FROM payments WHERE account = ?", 1);
        System.out.println("done");
        System.in.read();
    }

    private static void run(Connection connection, String sql, int value) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setInt(1, value);
            statement.execute();
        }
    }
}
"""


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    with Supervisor(MANIFEST, MANIFEST.settings, build_dir=BUILD, log_dir=tmp_path / "prepare") as supervisor:
        supervisor.prepare()
    (tmp_path / "Web.java").write_text(WEB)
    prepared = BUILD / "systems" / "killbill" / "classes"
    subprocess.run(["javac", "-d", tmp_path, "-classpath", prepared, tmp_path / "Web.java"], check=True)
    return tmp_path


@pytest.fixture
def web(classes: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A JVM with H2, which runs 32 statements when it gets a line, and the port of its statements."""
    url, port = f"jdbc:h2:file:{classes}/killbill;MODE=MYSQL;DB_CLOSE_DELAY=-1;DB_CLOSE_ON_EXIT=FALSE", str(free_port())
    properties = classes / "killbill.properties"
    account = ("user=killbill", "password=secret")
    properties.write_text("\n".join(f"org.killbill.dao.{one}" for one in (f"url={url}", *account)) + "\n")
    killbill = BUILD / "systems" / "killbill"
    (jar,) = (killbill / "webapp" / "WEB-INF" / "lib").glob("h2-*.jar")
    options = [
        f"-Dorg.killbill.server.properties=file://{properties}",
        "-cp",
        f"{classes}:{killbill / 'classes'}",
        "Web",
    ]
    argv = ["java", *QUICK_JVM.split(), *options, str(jar), url, port]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        try:
            yield process, port
        finally:
            process.kill()


def commands(port: str) -> StatementCommands:
    """Return the commands of the manifest for a port."""
    script = str(MANIFEST.folder / "statements.py")
    reset, read, look = ((sys.executable, script, port, order) for order in ("reset", "read", "look"))
    return StatementCommands(reset, read, snapshot=look)


@pytest.mark.real
def test_the_statements_of_a_real_h2_are_those_since_the_reset_with_their_full_scans(
    web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, port = web
    folder = tmp_path / "system"
    folder.mkdir()
    snapshots = folder / "snapshots-h2.jsonl"
    monkeypatch.setattr(database_files, "SNAPSHOT_PERIOD_S", 0.1)
    monkeypatch.setattr(database_files, "SHARE_MOST", 1.0)
    with DatabaseReader({"h2": commands(port)}, folder, {}) as reader:
        wait_for_snapshot(snapshots)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        wait_for_snapshot(snapshots)
    assert reader.unknown == []
    (found,) = databases(folder)
    check_statements(found)
    # The same between two snapshots, one before and one after all of them.
    (within,) = databases(folder, 0, 2**62, lambda *ends_ms: StatementInterval(*ends_ms, request_count=8))
    check_statements(within)
    assert within.of_whole_load == ("count_without_index",)
    assert not any(use.longest_is_bound for use in within.statements)


def check_statements(found: DatabaseUse) -> None:
    assert (found.process, found.count) == ("h2", 32)
    assert {use.statement: (use.count, use.count_without_index) for use in found.statements} == {
        "INSERT INTO payments VALUES (?, 1)": (30, 0),
        "SELECT * FROM payments WHERE id = ?": (1, 0),
        "SELECT * FROM payments WHERE account = ?": (1, 1),
    }
    assert all(0 < use.mean_ms <= use.longest_ms <= use.total_ms for use in found.statements)


def test_a_killbill_that_does_not_answer_is_named_with_the_reason(tmp_path: Path) -> None:
    with DatabaseReader({"h2": commands(str(free_port()))}, tmp_path, {}) as reader:
        pass
    ((name, why),) = reader.unknown
    assert (name, why) == ("h2", "its statements cannot be read (code 1: error: Connection refused)")


@pytest.mark.real
def test_half_a_table_of_a_killbill_that_dies_is_no_table(tmp_path: Path) -> None:
    def answer_half() -> None:
        for text in ("reset\n", "statement\tcount\ttotal_ms\nSELECT 1\t4"):
            client, _ = server.accept()
            with client:
                client.recv(100)
                client.sendall(text.encode())

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer_half)
        thread.start()
        with DatabaseReader({"h2": commands(str(server.getsockname()[1]))}, tmp_path, {}) as reader:
            pass
        thread.join()
    why = "its statements cannot be read (code 1: error: the answer ends early)"
    assert (reader.unknown, list(tmp_path.iterdir())) == ([("h2", why)], [])


def test_only_a_killbill_with_h2_prints_statements() -> None:
    (killbill,) = (one for one in MANIFEST.processes if one.name == "killbill")
    assert killbill.statements is not None
    assert (killbill.statements.name, killbill.statements.reset[-1]) == ("h2", "reset")
    # The other orders end what H2 sums up.
    assert killbill.statements.snapshot[-1] == "look"
    assert killbill.statements.when == "settings.database == 'h2' and not settings.database_url"
