"""JMeter connects only to the allowed hosts: a real JMeter against a server on an alias of the loopback.

127.0.0.2 and the like are this machine by our rules, so the server that must hear nothing has an address of its own,
which these tests add to the loopback interface and remove again: that needs root.
"""

from __future__ import annotations

import csv
import http.server
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.base.install import toolchain
from harness.run.jmeter.connections import agent_argument
from tests.support.java_program import java_command
from tests.support.local_server import serving
from tests.support.off_host import ALIAS, element, flag, host, jmx, request, script, text
from tests.support.paths import FAKE_JMETER

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def foreign() -> Iterator[http.server.ThreadingHTTPServer]:
    """A server that counts its requests, at an address that no run may reach unless it is allowed."""
    change = ["ip", "addr", "add", f"{ALIAS}/32", "dev", "lo"]
    try:
        done = subprocess.run(change, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("NOT TESTED that load stays at its target: there is no `ip` to add an address with")
    if done.returncode and "exists" not in done.stderr:
        pytest.skip(f"NOT TESTED that load stays at its target: no address can be added ({done.stderr.strip()})")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.server.paths.append(self.path)  # type: ignore[attr-defined]
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer((ALIAS, 0), Handler)
    server.paths = []  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()
    if not done.returncode:
        subprocess.run(["ip", "addr", "del", *change[3:]], check=True)


@pytest.fixture
def redirecting(foreign: http.server.ThreadingHTTPServer) -> Iterator[str]:
    """A target on this machine that sends everybody on to the foreign server, as its page's picture does."""
    there = f"http://{ALIAS}:{foreign.server_address[1]}"

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = f'<html><img src="{there}/picture.png"></html>'.encode()
            self.send_response(302 if self.path.startswith("/redirect") else 200)
            self.send_header("Location", f"{there}/redirected")
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving(Handler) as port:
        yield f"http://127.0.0.1:{port}"


Drive = Callable[..., tuple[int, str, Path]]


@pytest.fixture
def drive(home: Path, tmp_path: Path, run, redirecting: str, foreign: http.server.ThreadingHTTPServer) -> Drive:
    """Run a plan with a real JMeter; return the exit code, all that is printed, and the run directory."""
    foreign.paths.clear()  # type: ignore[attr-defined]

    def driven(plan: str, allow: str, profile: str = "", *more: str) -> tuple[int, str, Path]:
        (home / "plans" / "tiny.jmx").write_text(plan, encoding="utf-8")
        (home / "plans" / "rows.csv").write_text(f"{ALIAS},http://{ALIAS}:{foreign.server_address[1]}\n")
        toml = home / "plans" / "tiny.toml"
        toml.write_text(f"{toml.read_text()}\n[allow]\n{allow}\n")
        env = home / "env" / "local.toml"
        env.write_text(profile + env.read_text().replace("overrun_s = 30", "overrun_s = 60"))
        arguments = ("--target", redirecting, "--users", "1", "--loops", "1", *more)
        done = run(*arguments, JMETER_HOME=str(toolchain.ensure_jmeter()))
        return done.returncode, done.stdout + done.stderr, tmp_path / "reports" / "tiny" / "run-01_1"

    return driven


GROOVY = {
    "URL": 'new URL("{url}").text',
    "Socket": 'new Socket("{host}", {port}).withCloseable {{ it << "GET /s HTTP/1.0\\n\\n"; it.inputStream.text }}',
    "HttpClient": (
        "java.net.http.HttpClient.newHttpClient().send(java.net.http.HttpRequest.newBuilder("
        'URI.create("{url}")).build(), java.net.http.HttpResponse.BodyHandlers.ofString())'
    ),
    "channel": "java.nio.channels.SocketChannel.open(new InetSocketAddress('{host}', {port}))",
    "asynchronous channel": (
        "java.nio.channels.AsynchronousSocketChannel.open().connect(new InetSocketAddress('{host}', {port})).get()"
    ),
    "datagram": (
        "new DatagramSocket().send(new DatagramPacket(new byte[1], 1, InetAddress.getByName('{host}'), {port}))"
    ),
    "ping": "InetAddress.getByName('{host}').isReachable(500)",
    "SOCKS proxy of this machine": (
        "new Socket(new Proxy(Proxy.Type.SOCKS, new InetSocketAddress('127.0.0.1', {port})))"
        ".connect(new InetSocketAddress('{host}', {port}))"
    ),
    "forged name": "new Socket(InetAddress.getByAddress('localhost', InetAddress.getByName('{host}').address), {port})",
}


JAVA = text("HTTPSampler.implementation", "Java")
REDIRECTS = ("follow_redirects", "auto_redirects")


def everything(port: int, there: str, start: str, more: str = "") -> str:
    """A plan that tries to reach the foreign server, whose host is `there`, in every way of JMeter, and does `more`."""
    url = f"http://{ALIAS}:{port}/script"
    address = (host(there), text("HTTPSampler.port", str(port)))
    tcp = {"classname": "TCPClientImpl", "server": there, "port": str(port), "request": "GET /tcp", "timeout": "500"}
    return jmx(
        element(
            "CSVDataSet", "Rows", text("filename", "rows.csv"), text("variableNames", "there,start"), flag("recycle")
        )
        + request(*address, name="HttpClient4")
        + request(*address, text("HTTPSampler.implementation", "Java"), name="Java")
        + request(name="address in path", path=f"{start}/path")
        + request(text("HTTPSampler.proxyHost", there), text("HTTPSampler.proxyPort", str(port)), name="proxy")
        + request(flag("HTTPSampler.follow_redirects"), name="redirect", path="/redirect")
        + request(flag("HTTPSampler.auto_redirects"), name="automatic redirect", path="/redirect")
        + "".join(request(JAVA, flag(f"HTTPSampler.{one}"), name=f"Java {one}", path="/redirect") for one in REDIRECTS)
        + request(flag("HTTPSampler.image_parser"), name="resources", path="/page")
        + request(name="function", path=f'/${{__groovy(new URL("{url}").text)}}')
        + request(name="beanshell", path=f'/${{__BeanShell(new java.net.URL("{url}").getContent())}}')
        + "".join(
            script("JSR223Sampler", name, code.format(url=url, host=ALIAS, port=port)) for name, code in GROOVY.items()
        )
        + element("TCPSampler", "tcp", *(text(f"TCPSampler.{name}", value) for name, value in tcp.items()))
        + more
    )


EVERY_OPT_IN = "scripts = true\nembedded_resources = true\nother_protocols = true\nhosts = [{hosts}]"


def test_no_connection_of_any_allowed_plan_reaches_another_host(drive, foreign):
    port = foreign.server_address[1]
    # hosts allows values that only the run knows; the one that it names is not the foreign server.
    # The list of refused connections is not where the plan can write.
    erase = script("JSR223Sampler", "Erase", 'new File("foreign-connections.txt").text = ""')
    plan = everything(port, "${there}", "${start}", erase)
    code, output, directory = drive(plan, EVERY_OPT_IN.format(hosts='"127.0.0.2:1"'))
    assert foreign.paths == []
    assert code == 3, output
    rows = (directory / "samples.jtl").read_text()
    attempts = (directory / "foreign-connections.txt").read_text().splitlines()
    assert attempts[0].startswith("allowed: this machine, 127.0.0.1:")
    assert attempts[1].startswith("other addresses: refused ")
    assert {line.split(" (")[0] for line in attempts[2:]} == {f"{ALIAS}:{port}", f"{ALIAS} ping"}
    assert len(attempts) > 16
    verdict = json.loads(directory.with_suffix(".json").read_text())["verdict"]
    assert verdict["state"] == "INVALID"
    refused = f"connections to hosts that are not allowed were refused: {ALIAS}:{port} ("
    assert any(refused in reason for reason in verdict["reasons"])
    for name in (*GROOVY, "Java", *(f"Java {one}" for one in REDIRECTS)):
        assert re.search(rf",{name},.*refused by the load test: {ALIAS}(:{port}| ping)", rows), name
    report = directory.with_suffix(".md").read_text()
    assert "- plan may: run scripts and programs; fetch embedded resources;" in report
    assert "reach 127.0.0.2:1" in report


@pytest.mark.counterpart
def test_a_plan_reaches_a_host_that_plan_and_profile_allow_and_java_options_of_the_user_are_passed_on(
    drive, foreign, monkeypatch
):
    monkeypatch.setitem(os.environ, "JDK_JAVA_OPTIONS", "-Duser.timezone=Etc/GMT-7")
    answer = script("JSR223Sampler", "Answer", 'System.getProperty("user.timezone") == "Etc/GMT-7" ?: 1 / 0')
    port = foreign.server_address[1]
    allowed = f'"{ALIAS}:{port}"'
    code, output, directory = drive(
        everything(port, ALIAS, f"http://{ALIAS}:{port}", answer),
        EVERY_OPT_IN.format(hosts=allowed),
        f"allowed_targets = [{allowed}]\n",
    )
    listed = (directory / "foreign-connections.txt").read_text().splitlines()
    assert [line.partition(": ")[0] for line in listed] == ["allowed", "other addresses"], output
    assert {"/", "/path", "/redirected", "/picture.png", "/script", "/s"} <= set(foreign.paths)
    assert "hosts that are not allowed" not in output
    assert code in (0, 1, 3)  # a server that does not speak the protocol fails some of the samples
    with (directory / "samples.jtl").open(newline="") as lines:
        assert [row["success"] for row in csv.DictReader(lines) if row["label"] == "Answer"] == ["true"], output


SOCKETS = """
import java.net.*;
public class Sockets {
    public static void main(String[] arguments) throws Exception {
        byte[] none = new byte[1];
        InetAddress here = InetAddress.getByName("0.0.0.0"); // this machine, and by the agent's rules another one
        try { new Socket(here, 9); } catch (ConnectException error) { System.out.println(error.getMessage()); }
        try { new DatagramSocket().send(new DatagramPacket(none, 1, here, 9)); }
        catch (ConnectException error) { System.out.println(error.getMessage()); }
    }
}
"""


def test_the_sockets_of_java_17_without_channels_are_not_used(tmp_path):
    options = [f"-Djdk.net.usePlain{kind}SocketImpl=true" for kind in ("", "Datagram")]
    agent = agent_argument(toolchain.ensure_agent(), tmp_path / "list.txt", ("10.0.0.5:80",))
    done = subprocess.run(java_command("Sockets", SOCKETS, *options, agent), capture_output=True, text=True, check=True)
    assert done.stdout.count("refused by the load test: 0.0.0.0:9 ") == 2, done.stdout + done.stderr
    assert [line.split()[0] for line in (tmp_path / "list.txt").read_text().splitlines()[1:]] == ["0.0.0.0:9"] * 2


def test_jmeter_without_the_agent_is_noticed(run, target, tmp_path):
    """An installation whose script drops the environment: the run is INVALID, as nothing watched it."""
    start = tmp_path / "another jmeter" / "bin" / "jmeter"
    start.parent.mkdir(parents=True)
    # Without its agent JMeter leaves no list of connections, and the fake one neither.
    start.write_text(f'#!/bin/sh\nunset JDK_JAVA_OPTIONS\nexec "{FAKE_JMETER}/bin/jmeter" "$@"\n')
    start.chmod(0o755)
    done = run("--target", target, "--duration", "1", JMETER_HOME=str(start.parents[1]))
    assert done.returncode == 3
    assert "JMeter ran without the agent that watches its connections" in done.stdout


# What a program that a plan starts does, with the foreign server's host and port: no agent of Java sees it.
_PROGRAM = """
import os, socket, sys
port = int(sys.argv[2])
there = (sys.argv[1], port)
def tried(family, kind, address, way):
    with socket.socket(family, kind) as one:
        try:
            one.connect(address) if way == "connect" else one.sendto(b"x", address)
            if way == "connect":
                one.send(b"GET /program HTTP/1.0\\r\\n\\r\\n")
                one.settimeout(1)
                one.recv(1)
        except OSError as error:
            print(error)
tried(socket.AF_INET, socket.SOCK_STREAM, there, "connect")
tried(socket.AF_INET6, socket.SOCK_STREAM, (f"::ffff:{there[0]}", port), "connect")
for way in ("connect", "send"):
    tried(socket.AF_INET, socket.SOCK_DGRAM, there, way)
if os.fork() == 0:  # its own session, without its parent, and without its environment
    os.setsid()
    if os.fork() == 0 and "again" not in sys.argv:
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:], "again"], {})
    os._exit(0)
"""


def started_by_jmeter(port: int, code: str) -> str:
    """A plan whose script starts a program with the foreign server's address."""
    words = (sys.executable, "-c", code, ALIAS, str(port))
    groovy = f"[{', '.join(json.dumps(word) for word in words)}].execute().text".replace("$", r"\$")
    answer = 'System.getProperty("io.netty.transport.noNative") == "true" ?: 1 / 0'
    named = request(host("shop.test"), text("HTTPSampler.port", str(port)), name="name of another address")
    return jmx(
        script("JSR223Sampler", "Script", groovy) + script("JSR223Sampler", "Netty", answer) + request() + named,
        element(
            "DNSCacheManager",
            "Names",
            flag("DNSCacheManager.isCustomResolver"),
            '<collectionProp name="DNSCacheManager.servers"/><collectionProp name="DNSCacheManager.hosts">'
            f'<elementProp name="shop.test" elementType="StaticHost">{text("StaticHost.Name", "shop.test")}'
            f"{text('StaticHost.Address', ALIAS)}</elementProp></collectionProp>",
        ),
    )


def test_no_program_that_a_plan_starts_reaches_another_host(drive, foreign):
    port = foreign.server_address[1]
    opt_in = f'scripts = true\nhosts = ["shop.test:{port}"]'
    profile = f'allowed_targets = ["shop.test:{port}"]\n'
    code, output, directory = drive(started_by_jmeter(port, _PROGRAM), opt_in, profile)
    assert code == 3, output
    assert foreign.paths == []
    attempts = (directory / "foreign-connections.txt").read_text().splitlines()
    how = "other addresses: refused by the kernel, to JMeter and to the programs that it starts"
    assert attempts[1] == how
    assert f"- {how}\n" in directory.with_suffix(".md").read_text()
    # The plan maps an allowed name to another address.
    assert f"{ALIAS}:{port}" in attempts
    with (directory / "samples.jtl").open(newline="") as rows:
        assert [row["success"] for row in csv.DictReader(rows) if row["label"] == "Netty"] == ["true"], output
    of_program = [line for line in attempts if line.endswith("(python)")]
    # It starts itself again: two connections and two datagrams each time.
    assert sorted(of_program) == [f"{ALIAS}:{port} (python)"] * 4 + [f"{ALIAS}:{port} udp (python)"] * 4


NETTY = """
import io.grpc.netty.shaded.io.netty.bootstrap.Bootstrap
import io.grpc.netty.shaded.io.netty.channel.ChannelInboundHandlerAdapter
import io.grpc.netty.shaded.io.netty.channel.epoll.*
System.setProperty("io.grpc.netty.shaded.io.netty.transport.noNative", "false")
if (!Epoll.isAvailable()) throw new Error(Epoll.unavailabilityCause())
def group = new EpollEventLoopGroup(1)
def made = new Bootstrap().group(group).channel(EpollSocketChannel).handler(new ChannelInboundHandlerAdapter())
def cause = made.connect("{host}", {port}).await().cause()
group.shutdownGracefully()
if (cause) throw cause
"""


@pytest.mark.counterpart
def test_the_native_transport_of_grpc_reaches_no_other_host(drive, foreign):
    port = foreign.server_address[1]
    plan = jmx(
        script("JSR223Sampler", "Epoll", NETTY.replace("{host}", ALIAS).replace("{port}", str(port))) + request()
    )
    opt_in = 'scripts = true\n[jmeter]\nplugins = ["io.grpc:grpc-netty-shaded:1.68.1"]'
    code, output, directory = drive(plan, opt_in)
    assert code == 3, output
    assert f"{ALIAS}:{port} (JMeter)" in (directory / "foreign-connections.txt").read_text().splitlines()
    with (directory / "samples.jtl").open(newline="") as rows:
        (message,) = [row["responseMessage"] for row in csv.DictReader(rows) if row["label"] == "Epoll"]
    assert "Operation not permitted" in message
